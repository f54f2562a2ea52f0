// The ops of the CPU device that are not loops over elements: products, attention, indexing, sorting, scans and copies.
//
// A call is compiled once and run many times: whatever depends only on shapes, strides and dtypes is decided while
// compiling. Results do not depend on the number of threads, and the order in which an element is accumulated depends
// on shapes only.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "tenon/backends/cpu/arguments.h"
#include "tenon/ir/call.h"

namespace tenon::backends::cpu {

/// A call compiled for this CPU.
class CallKernel {
 public:
  virtual ~CallKernel() = default;
  /// Memory that a run takes as one more argument, behind the outputs.
  virtual size_t scratch_bytes() const { return 0; }
  /// The library that computes it, if any.
  virtual std::string_view library() const { return {}; }
  /// Outputs are row-major. Several threads may run one kernel at once, each with scratch memory of its own. Indices
  /// are checked before anything is written.
  virtual void run(const Arguments& args) const = 0;
};

/// For contract, gather, scatter, scatter_add, sort, scan, attention, attention_backward, conv and its gradients,
/// max_pool and its gradient, store, contiguous, 16-bit bitcasts and the routines of ir/composition.h; fails, naming
/// the op, for any other. The output of a store may be its base: then only the target is written.
std::unique_ptr<CallKernel> compile_call(const ir::Call& call);

}  // namespace tenon::backends::cpu
