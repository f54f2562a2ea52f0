// GLSL as pipelines of the driver, by glslang.

#pragma once

#include <string>
#include <vector>

#include "tenon/backends/gpu/compiler.h"
#include "tenon/backends/vulkan/driver.h"

namespace tenon::backends::vulkan {

struct Built : gpu::Built {
  VkDevice device = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  std::vector<uint32_t> code;           // SPIR-V
  std::vector<std::byte> cached;        // what the driver made of it
  std::vector<uint32_t> element_bytes;  // of each buffer, in which the kernel counts where it begins

  Built() = default;
  Built(const Built&) = delete;
  ~Built() override;
};

class Toolchain : public gpu::Toolchain {
 public:
  Toolchain(const Found& on, const ir::Limits& limits, Driver& driver) : on_(on), limits_(limits), driver_(driver) {}

  std::string backend() const override { return "vulkan"; }
  std::string chip() const override { return on_.name(); }
  render::Language language() const override { return render::Language::glsl; }
  codegen::Lacks lacks() const override { return lacks_of(on_); }
  std::string depends_on() const override;
  gpu::BuiltRef build(const std::string& source, const codegen::KernelIr& kernel) override;
  std::vector<std::byte> binary_of(const gpu::Built& built) const override;
  gpu::BuiltRef load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) override;

 private:
  gpu::BuiltRef make(std::vector<uint32_t> code, std::span<const std::byte> cached, const codegen::KernelIr& kernel);

  const Found& on_;
  const ir::Limits limits_;
  Driver& driver_;
};

}  // namespace tenon::backends::vulkan
