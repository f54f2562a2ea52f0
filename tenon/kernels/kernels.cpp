// Which calls have a kernel, and where it is written.

#include "tenon/kernels/kernels.h"

#include "tenon/base/error.h"
#include "tenon/codegen/lower.h"
#include "tenon/kernels/attention.h"
#include "tenon/kernels/contract.h"
#include "tenon/kernels/convolution.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/scan.h"
#include "tenon/kernels/scatter.h"
#include "tenon/kernels/sort.h"

namespace tenon::kernels {

// Looking up is done inside of kernels; convolutions are those whose channels come last.
ir::EnumSet<ir::Op> missing_calls() {
  return {ir::Op::gather,      ir::Op::conv,     ir::Op::conv_transpose,
          ir::Op::conv_weight, ir::Op::max_pool, ir::Op::max_pool_backward,
          ir::Op::composed};
}

codegen::Module lower(const ir::Call& call, const ir::Limits& limits) {
  switch (call.op) {
    case ir::Op::attention: return lower_attention(call, limits);
    case ir::Op::attention_backward: return lower_attention_backward(call, limits);
    case ir::Op::contract:
      return call.way.empty() ? lower_contract(call, limits) : lower_contract(call, limits, contract_tile_of(call.way));
    case ir::Op::conv:
    case ir::Op::conv_transpose:
    case ir::Op::conv_weight: return lower_convolution(call, limits);
    case ir::Op::bitcast: return lower_bitcast(call, limits);
    case ir::Op::contiguous: return lower_contiguous(call, limits);
    case ir::Op::scan: return lower_scan(call, limits);
    case ir::Op::scatter: return lower_scatter(call, limits);
    case ir::Op::scatter_add: return lower_scatter_add(call, limits);
    case ir::Op::sort: return lower_sort(call, limits);
    case ir::Op::store: return lower_store(call, limits);
    default: base::fail(ir::name(call.op), "there is no GPU kernel for this call");
  }
}

codegen::Module lower(const std::variant<ir::Call, ir::LoopNest>& kernel, const ir::Limits& limits) {
  if (const auto* nest = std::get_if<ir::LoopNest>(&kernel)) return codegen::lower(*nest, limits);
  return lower(std::get<ir::Call>(kernel), limits);
}

std::vector<ir::Way> ways(const ir::Call& call, const ir::Limits& limits) {
  if (std::holds_alternative<ir::ConvAttrs>(call.attrs)) return convolution_ways(call, limits);
  return call.op == ir::Op::contract ? contract_ways(call, limits) : std::vector<ir::Way>();
}

bool takes(const ir::Call& call) { return takes_convolution(call); }

}  // namespace tenon::kernels
