// OpenCL C as programs of the driver.

#pragma once

#include <atomic>
#include <string>

#include "tenon/backends/gpu/compiler.h"
#include "tenon/backends/opencl/inventory.h"

namespace tenon::backends::opencl {

struct Built : gpu::Built {
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;  // whoever sets its arguments holds the lock of the queue
  mutable std::atomic<bool> has_run{false};

  Built(cl_program program, const std::string& name);
  Built(const Built&) = delete;
  ~Built() override;
};

/// Gives a kernel everything that the launch brings.
void set_arguments(cl_kernel kernel, const gpu::Step& step, const device::Launch& launch, uint64_t fault_words);

class Toolchain : public gpu::Toolchain {
 public:
  Toolchain(const Found& on, cl_context context) : on_(on), context_(context) {}

  std::string backend() const override { return "opencl"; }
  std::string chip() const override { return on_.name; }
  render::Language language() const override { return render::Language::opencl; }
  codegen::Lacks lacks() const override;
  std::string depends_on() const override;
  gpu::BuiltRef build(const std::string& source, const codegen::KernelIr& kernel) override;
  std::vector<std::byte> binary_of(const gpu::Built& built) const override;
  gpu::BuiltRef load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) override;

 private:
  const Found& on_;
  cl_context context_;
};

}  // namespace tenon::backends::opencl
