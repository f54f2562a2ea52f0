// One instruction of a loop nest as an instruction of a tile program: which function does it, and how the elements that
// it reads or writes lie in memory.

#include <algorithm>

#include "tenon/backends/cpu/tile/build_parts.h"

namespace tenon::backends::cpu {
namespace {

using ir::Instr;
using ir::Op;

constexpr size_t kFarBytes = 48 << 20;  // a result of this size is not in a cache any more when it is read

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool has_map(const Instr& instr) {
  return instr.kind != Instr::Kind::apply && instr.kind != Instr::Kind::number && instr.kind != Instr::Kind::reduce;
}

// What is written where it was read lies in the caches already. Storing past them made AdamW's update of DistilGPT-2
// take 189 ms on two cores of a Xeon, a quarter of what memory allows.
bool overwrites(const ir::LoopNest& nest, uint32_t buffer) {
  return !nest.in_place.empty() && nest.in_place[buffer - nest.inputs] != ir::LoopNest::kFresh;
}

bool is_dense(const ir::LoopNest& nest, const Instr& instr) {
  const ir::View& view = instr.map.views()[0];
  const size_t rank = instr.per_row ? nest.row_rank : nest.space.size();
  if (view.masked() || view.strides.size() != rank) return false;
  int64_t stride = 1;
  for (size_t axis = rank; axis-- > 0;) {
    if (nest.space[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= nest.space[axis];
  }
  return true;
}

TileAccess access_of(const ir::LoopNest& nest, const Instr& instr) {
  const ir::View& view = instr.map.views()[0];
  const bool strided = instr.map.views().size() == 1;
  if (instr.kind != Instr::Kind::gather)
    return {strided, strided && is_dense(nest, instr), false, false, view, instr.map};
  const auto is_still_from = [&](size_t axis) { return instr.map.is_constant_along(axis); };
  const Dims axes = ir::iota_dims(view.shape.size());
  const bool plain = strided && !view.masked();
  const bool same =
      plain && std::all_of(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(nest.row_rank), is_still_from);
  return {strided, false, same, same && std::all_of(axes.begin(), axes.end(), is_still_from), view, instr.map};
}

void choose_store(const ir::LoopNest& nest, TileInstr& made, TileCode& code) {
  const bool far = !made.per_row && !overwrites(nest, made.buffer) &&
                   static_cast<size_t>(ir::count(nest.space)) * size_of(made.dtype) >= kFarBytes;
  made.streams = far && !is_half(made.dtype);
  made.store = made.streams ? tile_stream(made.dtype) : tile_store(made.dtype);
  made.stores_in_place = !far && !is_half(made.dtype) && !made.per_row && !made.per_column;
  code.streams = code.streams || far;
}

}  // namespace

TileInstr translate(const TileSource& source, uint32_t i, uint32_t out, const Operands& args, TileCode& code) {
  const ir::LoopNest& nest = source.nest;
  const Instr& instr = nest.code[i];
  TileInstr made;
  made.kind = instr.kind;
  made.op = instr.op;
  made.dtype = instr.dtype;
  made.per_row = instr.per_row;
  made.per_column = instr.per_column;
  made.scalar = i;
  made.out = out;
  made.args = args;
  made.buffer = instr.buffer;
  made.bits = instr.bits;
  switch (instr.kind) {
    case Instr::Kind::load:
      made.load = tile_load(instr.dtype);
      made.loads_in_place = !is_half(instr.dtype) && !instr.per_row;
      break;
    case Instr::Kind::gather:
      made.load = tile_load(instr.dtype);
      made.index = nest.code[instr.args[0]].dtype;
      made.pick = tile_pick(instr.dtype, made.index);
      made.stride = instr.stride;
      made.axis = instr.axis;
      made.use = instr.use;
      made.loads_in_place = !is_half(instr.dtype) && number_operand(nest, i) != kNoRegister;
      break;
    case Instr::Kind::store: choose_store(nest, made, code); break;
    case Instr::Kind::apply:
      made.apply = tile_instruction(instr.op, nest.code[instr.args.back()].dtype, instr.dtype);
      break;
    case Instr::Kind::reduce:
      if (!instr.per_column) made.fold = tile_fold(instr.op, instr.dtype);
      break;
    default: break;
  }
  if (const uint32_t number = number_operand(nest, i); number != kNoRegister) {
    made.numbers = static_cast<uint8_t>(1u << number);
    if (instr.kind == Instr::Kind::apply) {
      made.apply_numbers = tile_function_with_numbers(instr.op, instr.dtype, number);
      made.number_varies = !source.is_constant(instr.args[number]);
    }
  }
  if (has_map(instr)) {
    made.access = static_cast<uint32_t>(code.accesses.size());
    code.accesses.push_back(access_of(nest, instr));
  }
  return made;
}

uint32_t number_operand(const ir::LoopNest& nest, uint32_t i) {
  const Instr& instr = nest.code[i];
  const auto is_row_value = [&](uint32_t which) { return nest.code[instr.args[which]].per_row; };
  if (instr.per_row) return kNoRegister;
  if (instr.kind == Instr::Kind::gather) return is_row_value(0) ? 0 : kNoRegister;
  if (instr.kind != Instr::Kind::apply) return kNoRegister;
  if (instr.op == Op::where) return is_row_value(0) ? 0 : kNoRegister;
  if (instr.args.size() != 2) return kNoRegister;
  for (const uint32_t which : {0u, 1u}) {
    if (is_row_value(which) && !is_row_value(1 - which) && tile_function_with_numbers(instr.op, instr.dtype, which))
      return which;
  }
  return kNoRegister;
}

}  // namespace tenon::backends::cpu
