// The compilers of the single calls, and what they share.

#pragma once

#include "tenon/backends/cpu/calls/calls.h"
#include "tenon/backends/cpu/calls/input.h"

namespace tenon::backends::cpu {

std::unique_ptr<CallKernel> compile_contract(const ir::Call& call);
std::unique_ptr<CallKernel> compile_attention(const ir::Call& call);
std::unique_ptr<CallKernel> compile_attention_backward(const ir::Call& call);
std::unique_ptr<CallKernel> compile_convolution(const ir::Call& call);
std::unique_ptr<CallKernel> compile_max_pool(const ir::Call& call);
std::unique_ptr<CallKernel> compile_max_pool_backward(const ir::Call& call);
std::unique_ptr<CallKernel> compile_gather(const ir::Call& call);
std::unique_ptr<CallKernel> compile_scatter(const ir::Call& call);
std::unique_ptr<CallKernel> compile_scatter_add(const ir::Call& call);
std::unique_ptr<CallKernel> compile_sort(const ir::Call& call);
std::unique_ptr<CallKernel> compile_random_order(const ir::Call& call);
std::unique_ptr<CallKernel> compile_scan(const ir::Call& call);
std::unique_ptr<CallKernel> compile_arg_extreme(const ir::Call& call);
std::unique_ptr<CallKernel> compile_running_extremes(const ir::Call& call);
std::unique_ptr<CallKernel> compile_grid_sample(const ir::Call& call);
std::unique_ptr<CallKernel> compile_grid_sample_backward(const ir::Call& call);
std::unique_ptr<CallKernel> compile_store(const ir::Call& call);
std::unique_ptr<CallKernel> compile_contiguous(const ir::Call& call);

/// A shape cut at one axis.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  Lines(const Dims& shape, int64_t axis) : length(shape[static_cast<size_t>(axis)]) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i < static_cast<size_t>(axis)) outer *= shape[i];
      if (i > static_cast<size_t>(axis)) inner *= shape[i];
    }
  }
};

}  // namespace tenon::backends::cpu
