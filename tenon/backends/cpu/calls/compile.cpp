// From an op to its kernel.

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/base/error.h"
#include "tenon/ir/composition.h"

namespace tenon::backends::cpu {
namespace {

std::unique_ptr<CallKernel> compile_composed(const ir::Call& call) {
  const ir::Composition& what = *std::get<ir::ComposedAttrs>(call.attrs).what;
  switch (what.routine) {
    case ir::Routine::arg_extreme: return compile_arg_extreme(call);
    case ir::Routine::running_extremes: return compile_running_extremes(call);
    case ir::Routine::random_order: return compile_random_order(call);
    case ir::Routine::grid_sample: return compile_grid_sample(call);
    case ir::Routine::grid_sample_backward: return compile_grid_sample_backward(call);
    case ir::Routine::none: break;
  }
  base::fail(what.name, "the cpu device has no such routine");
}

}  // namespace

std::unique_ptr<CallKernel> compile_call(const ir::Call& call) {
  switch (call.op) {
    case ir::Op::contract: return compile_contract(call);
    case ir::Op::attention: return compile_attention(call);
    case ir::Op::attention_backward: return compile_attention_backward(call);
    case ir::Op::conv:
    case ir::Op::conv_transpose:
    case ir::Op::conv_weight: return compile_convolution(call);
    case ir::Op::max_pool: return compile_max_pool(call);
    case ir::Op::max_pool_backward: return compile_max_pool_backward(call);
    case ir::Op::gather: return compile_gather(call);
    case ir::Op::scatter: return compile_scatter(call);
    case ir::Op::scatter_add: return compile_scatter_add(call);
    case ir::Op::sort: return compile_sort(call);
    case ir::Op::scan: return compile_scan(call);
    case ir::Op::composed: return compile_composed(call);
    case ir::Op::store: return compile_store(call);
    case ir::Op::bitcast:
    case ir::Op::contiguous: return compile_contiguous(call);
    default: base::fail(ir::name(call.op), "the cpu device has no such call");
  }
}

}  // namespace tenon::backends::cpu
