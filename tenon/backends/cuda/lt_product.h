// Products by cuBLASLt: algorithms are chosen when a program is made, and run with memory that the program brings. And
// the compiler that leaves to it, and to kernels for one chip, what these take.

#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tenon/backends/cuda/driver.h"
#include "tenon/backends/cuda/product.h"
#include "tenon/backends/gpu/compiler.h"

namespace tenon::backends::cuda {

/// A call with its algorithm.
class LtRun : public Runnable {
 public:
  /// None where the library has no algorithm for it.
  static std::shared_ptr<LtRun> make(LtHandle handle, const LtCall& call, uint32_t alignment);
  ~LtRun() override;

  size_t workspace_bytes() const { return workspace_bytes_; }
  /// Where the launch brings the workspace.
  void set_workspace(uint32_t arg, size_t offset) {
    workspace_arg_ = arg;
    workspace_offset_ = offset;
  }
  Result run(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words, Stream stream) const override;

 private:
  LtRun(LtHandle handle, const LtCall& call, uint32_t alignment);
  /// The best first, by the library's own reckoning; none that cuts sums into parts.
  std::vector<LtProposal> proposals(uint32_t reductions) const;
  bool choose();

  LtHandle handle_;
  LtCall call_;
  uint32_t alignment_;
  LtProduct product_ = nullptr;
  LtLayout left_ = nullptr, right_ = nullptr, result_ = nullptr;
  LtAlgorithm algorithm_{};
  size_t workspace_bytes_ = 0, workspace_offset_ = 0;
  uint32_t workspace_arg_ = 0;
};

/// The compiler of kernels, which leaves products to the library and attention to kernels of the chip where these take
/// them.
class Compiler : public gpu::Compiler {
 public:
  Compiler(gpu::Toolchain& toolchain, const ir::Limits& limits, Driver& driver, const Found& on);

  std::vector<ir::Way> ways(const ir::Call& call) const override;

 protected:
  codegen::Module lower(const device::Kernel& kernel) const override;
  std::vector<gpu::Step> library_steps(const device::Kernel& kernel) override;

 private:
  struct Taken {
    codegen::Module rest;
    std::vector<std::shared_ptr<LtRun>> runs;
    std::vector<bool> writes_results;
  };
  /// None where our own kernels do it.
  std::shared_ptr<const Taken> taken(const device::Kernel& kernel) const;
  std::shared_ptr<const Taken> take(const ir::Call& call) const;

  Driver& driver_;
  const bool has_attention_;  // of the chip's own
  mutable std::mutex mutex_;
  mutable LtHandle handle_ = nullptr;
  struct CallHash {
    size_t operator()(const ir::Call& call) const { return ir::hash(call); }
  };
  mutable std::unordered_map<ir::Call, std::shared_ptr<const Taken>, CallHash> known_;
};

}  // namespace tenon::backends::cuda
