// A copy is a loop nest of two instructions, and becomes a kernel like any other.

#include "tenon/kernels/copy.h"

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/lower.h"
#include "tenon/codegen/schedule.h"

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
  // Where the target begins comes with the launch: stores into the parts of one buffer are one kernel.
  constexpr int64_t kAligned = 16;
  int64_t begin = 0;
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  const ir::View& target = written.views()[0];
  if (written.is_strided() && std::ranges::all_of(target.strides, [](int64_t stride) { return stride >= 0; }))
    begin = target.offset * bytes / kAligned * kAligned;
  store.map.shift(-begin / bytes);
  nest.code = {load, store};
  codegen::Module made = codegen::lower(nest, limits);
  for (codegen::Dispatch& dispatch : made.dispatches) {
    for (codegen::Dispatch::Binding& binding : dispatch.buffers) {
      if (binding.arg != 0) binding.offset += static_cast<uint64_t>(begin);
      binding.arg = binding.arg == 0 ? from : to;
    }
  }
  return made;
}

codegen::Module lower_contiguous(const ir::Call& call, const ir::Limits& limits) {
  return copy_kernel(call.outputs[0].dtype, 0, call.inputs[0].map, 1, ir::IndexMap(call.outputs[0].shape), limits);
}

codegen::Module lower_bitcast(const ir::Call& call, const ir::Limits& limits) {
  using codegen::Id;
  using codegen::Scalar;
  const ir::IndexMap& map = call.inputs[0].map;
  const int64_t total = ir::count(map.shape());
  codegen::Module made;
  if (total == 0) return made;
  const uint32_t threads = codegen::flat_threads(limits);
  const bool is_small = codegen::fits_32(map) && total < int64_t{1} << 31;
  const Scalar index = is_small ? Scalar::u32 : Scalar::u64;
  codegen::Builder b("bits", threads);
  const uint32_t from = b.add_buffer(Scalar::u16, false), to = b.add_buffer(Scalar::u16, true);
  const Id at = b.add(b.mul(b.convert(b.block(), index), b.whole(index, threads)), b.convert(b.thread(), index));
  b.leave_if(b.is_not(b.less(at, b.whole(index, total))));
  const codegen::Located place =
      codegen::locate(b, index, map, codegen::unravel(b, at, {map.shape().data(), map.shape().size()}));
  b.store(to, at, b.load(from, place.at, place.valid));
  const auto blocks = static_cast<uint64_t>(base::ceil_div(total, threads));
  made.dispatches.push_back({b.finish(), {blocks, 1, 1}, {{0, 0}, {1, 0}}});
  return made;
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
