// Which instructions of a stage become links of chains, and whether chains pay.
//
// Neighbouring instructions that have links are one pass over the tile instead of one each. A load in place is no pass
// over the tile, so it neither makes a chain nor ends one.

#include <algorithm>

#include "tenon/backends/cpu/tile/build_parts.h"

namespace tenon::backends::cpu {
namespace {

using ir::Instr;
using ir::Op;

// Elements of a chain from which on any is worth its links. Below, on NEON, only what exp gains from many vectors at
// once is (softmax: 7.0 against 8.2 ms), what a store past the caches saves (an addition: 6.3 against 7.9 ms), and
// several results that are never written (AdamW: 2.6 against 3.4 ms), while layer_norm took 65 instead of 61 µs.
constexpr size_t kWideChain = 128;
constexpr int kManyUnwritten = 3;

bool is_contiguous(const TileSource& source, const TileAccess& access) {
  if (source.shares_tiles()) return access.dense;
  return access.strided && !access.view.masked() && source.nest.space.size() == source.nest.row_rank + 1 &&
         access.view.strides.back() == 1;
}

// One of two operands for all elements of all rows: a chain goes on with it.
bool is_choice(const TileInstr& instr) { return instr.numbers != 0 && !instr.number_varies; }

bool can_chain(const TileSource& source, const TileCode& code, const TileInstr& instr) {
  const auto& args = source.nest.code[instr.scalar].args;
  const auto is_f32 = [&](uint32_t arg) { return source.nest.code[arg].dtype == DType::f32; };
  const auto reaches_memory = [&] { return is_contiguous(source, code.accesses[instr.access]); };
  switch (instr.kind) {
    case Instr::Kind::load:
    case Instr::Kind::gather: return instr.loads_in_place && reaches_memory();
    case Instr::Kind::store: return instr.dtype == DType::f32 && !instr.per_row && reaches_memory();
    case Instr::Kind::reduce: return instr.op == Op::sum && instr.dtype == DType::f32;
    case Instr::Kind::apply:
      if (instr.op == Op::where) return instr.dtype == DType::f32 && is_choice(instr);
      return instr.dtype == DType::f32 && std::all_of(args.begin(), args.end(), is_f32) &&
             instr.links[args.size() == 1 ? 0 : 1] != nullptr;
    default: return false;
  }
}

}  // namespace

void find_chains(const TileSource& source, const TileCode& code, size_t stage, TileStage& made) {
  TileInstr* before = nullptr;
  bool saves = false, pays = chain_width() >= kWideChain;
  int unwritten = 0;
  for (TileInstr& instr : made.tile_code) {
    for (size_t form = 0; form < kLinkForms && instr.kind == Instr::Kind::apply; ++form)
      instr.links[form] = link_of(instr.op, static_cast<LinkForm>(form));
    instr.chains = can_chain(source, code, instr);
    made.chained_by_rows |= instr.chains && (instr.kind == Instr::Kind::reduce || instr.number_varies);
    if (instr.chains && (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::gather)) continue;
    if (before && before->chains && instr.chains) {
      saves = true;
      before->kept = !source.is_last_use(stage, instr.scalar, before->scalar);
      unwritten += before->kind == Instr::Kind::apply && !before->kept;
    }
    pays = pays || instr.streams || (instr.kind == Instr::Kind::apply && instr.op == Op::exp);
    before = &instr;
  }
  for (TileInstr& fold : made.folds) fold.chains = can_chain(source, code, fold);
  made.chained = saves && (pays || unwritten >= kManyUnwritten);
}

}  // namespace tenon::backends::cpu
