// CUDA C++ as cubins for one chip, by NVRTC. Where it is not there, cubins that were kept on disk still run.

#pragma once

#include <string>

#include "tenon/backends/cuda/driver.h"
#include "tenon/backends/gpu/compiler.h"

namespace tenon::backends::cuda {

class Toolchain : public gpu::Toolchain {
 public:
  Toolchain(const Found& on, Driver& driver) : on_(on), driver_(driver) {}

  std::string backend() const override { return "cuda"; }
  std::string chip() const override { return on_.name; }
  render::Language language() const override { return render::Language::cuda; }
  codegen::Lacks lacks() const override;
  std::string depends_on() const override;
  gpu::BuiltRef build(const std::string& source, const codegen::KernelIr& kernel) override;
  std::vector<std::byte> binary_of(const gpu::Built& built) const override;
  gpu::BuiltRef load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) override;

 private:
  const Found& on_;
  Driver& driver_;
};

/// A cubin of a source for a chip (sm_90a); throws gpu::Refused. Needs no GPU.
std::vector<std::byte> compile(const CompilerApi& nvrtc, const std::string& source, const std::string& architecture);

}  // namespace tenon::backends::cuda
