// Products by cuBLASLt: algorithms are chosen when a program is made, and run with memory that the program brings. And
// the compiler that leaves to it, and to kernels for one chip, what these take.
//
// An algorithm is named by numbers that mean the same in the next process: id, tile, stages, inner shape, cluster
// shape, custom option and swizzle. They are the way of a call. Without one the library's first proposal is taken.
//
// Algorithms sum in orders of their own, so that a product could have other bits with a bias than without. What may
// follow the same sums (a bias or none, results of 16 or 32 bits) therefore shares one choice, and only algorithms that
// the library has for all of it compete.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/backends/cuda/dnn_convolution.h"
#include "tenon/backends/cuda/driver.h"
#include "tenon/backends/cuda/product.h"
#include "tenon/backends/gpu/compiler.h"

namespace tenon::backends::cuda {

/// A call with its algorithm.
class LtRun : public Runnable {
 public:
  /// None where the library has no algorithm for it, or not the one that is named.
  static std::shared_ptr<LtRun> make(LtHandle handle, const LtCall& call, uint32_t alignment,
                                     const ir::Way& algorithm = {});
  /// The algorithms that do it, and with the same bits what differs from it only in what follows the sums; those that
  /// the library thinks the best of first.
  static std::vector<ir::Way> algorithms(LtHandle handle, const LtCall& call, uint32_t alignment);
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
  /// At most so many, the best first by the library's own reckoning; none that cuts sums into parts.
  std::vector<LtProposal> proposals(int most) const;
  std::vector<LtProposal> proposals(int most, uint32_t reductions) const;
  /// The algorithm of this name: among so many proposals, or else made anew and found good by the library.
  std::optional<LtProposal> named(const ir::Way& name, const std::vector<LtProposal>& proposed) const;
  std::optional<LtProposal> made_anew(const ir::Way& name) const;
  bool is_well_aligned() const;
  bool choose(const ir::Way& algorithm);

  LtHandle handle_;
  LtCall call_;
  uint32_t alignment_;
  LtProduct product_ = nullptr;
  LtLayout left_ = nullptr, right_ = nullptr, result_ = nullptr;
  LtAlgorithm algorithm_{};
  size_t workspace_bytes_ = 0, workspace_offset_ = 0;
  uint32_t workspace_arg_ = 0;
};

/// The compiler of kernels, which leaves products and convolutions to the libraries and attention to kernels of the
/// chip where these take them.
class Compiler : public gpu::Compiler {
 public:
  Compiler(gpu::Toolchain& toolchain, const ir::Limits& limits, Driver& driver, const Found& on);

  bool takes(const ir::Call& call) const override;
  std::vector<ir::Way> ways(const ir::Call& call) const override;
  bool has_way(const ir::Call& call, const ir::Way& way) const override;
  std::optional<ir::Call> timed_as(const ir::Call& call) const override;
  std::string timed_on() const override;

 protected:
  codegen::Module lower(const device::Kernel& kernel) const override;
  std::vector<gpu::Step> library_steps(const device::Kernel& kernel) override;
  std::string_view library_name(const device::Kernel& kernel) const override;

 private:
  struct Taken {
    codegen::Module rest;
    std::vector<gpu::Step> steps;
  };
  using TakenRef = std::shared_ptr<const Taken>;
  /// None where our own kernels do it.
  TakenRef taken(const device::Kernel& kernel) const;
  // With the lock held.
  TakenRef known_or_taken(const ir::Call& call) const;
  TakenRef take(const ir::Call& call) const;
  TakenRef take_convolution(const ir::Call& call) const;
  std::shared_ptr<const DnnRun::Problem> problem_of(const ir::Call& call) const;
  std::vector<ir::Way> ways_to_convolve(const ir::Call& call) const;

  Driver& driver_;
  const bool has_attention_;  // of the chip's own
  const std::string chip_;
  mutable std::mutex mutex_;
  mutable LtHandle handle_ = nullptr;
  struct CallHash {
    size_t operator()(const ir::Call& call) const { return ir::hash(call); }
  };
  mutable std::unordered_map<ir::Call, TakenRef, CallHash> known_;
  mutable DnnLibrary dnn_;
  mutable std::unordered_map<ir::Call, std::shared_ptr<const DnnRun::Problem>, CallHash> problems_;
};

}  // namespace tenon::backends::cuda
