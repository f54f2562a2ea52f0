// A copy is a loop nest of two instructions, and becomes a kernel like any other.

#include "tenon/kernels/copy.h"

#include "tenon/codegen/lower.h"

namespace tenon::kernels {

using ir::Instr;

codegen::Module copy_kernel(DType dtype, uint32_t from, const ir::IndexMap& read, uint32_t to,
                            const ir::IndexMap& written, const ir::Limits& limits) {
  ir::LoopNest nest;
  nest.space = read.shape();
  nest.row_rank = nest.space.empty() ? 0 : nest.space.size() - 1;
  nest.inputs = nest.outputs = 1;
  Instr load, store;
  load.kind = Instr::Kind::load;
  store.kind = Instr::Kind::store;
  load.dtype = store.dtype = dtype;
  load.map = read;
  store.map = written;
  store.buffer = 1;
  store.args.push_back(0);
  nest.code = {load, store};
  codegen::Module made = codegen::lower(nest, limits);
  for (codegen::Dispatch& dispatch : made.dispatches) {
    for (codegen::Dispatch::Binding& binding : dispatch.buffers) binding.arg = binding.arg == 0 ? from : to;
  }
  return made;
}

codegen::Module lower_contiguous(const ir::Call& call, const ir::Limits& limits) {
  return copy_kernel(call.outputs[0].dtype, 0, call.inputs[0].map, 1, ir::IndexMap(call.outputs[0].shape), limits);
}

codegen::Module lower_store(const ir::Call& call, const ir::Limits& limits) {
  const ir::Type& out = call.outputs[0];
  codegen::Module made = copy_kernel(out.dtype, 0, call.inputs[0].map, 2, ir::IndexMap(out.shape), limits);
  if (call.inputs[0].map.is_contiguous()) {
    for (codegen::Dispatch& dispatch : made.dispatches) dispatch.unless_same = {0, 2};
  }
  ir::IndexMap target(out.shape);
  target.apply(std::get<ir::StoreAttrs>(call.attrs).target);
  codegen::Module written = copy_kernel(out.dtype, 1, call.inputs[1].map, 2, target, limits);
  for (codegen::Dispatch& dispatch : written.dispatches) {
    dispatch.kernel.name += "_into";
    made.dispatches.push_back(std::move(dispatch));
  }
  return made;
}

}  // namespace tenon::kernels
