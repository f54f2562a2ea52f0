// Results that are computed where they are stored: a result that is stored as it is needs no pass from its register to
// memory, unless the memory still holds something that is read.

#include <algorithm>

#include "tenon/backends/cpu/tile/build_parts.h"

namespace tenon::backends::cpu {
namespace {

using ir::Instr;

bool has_result(const TileInstr& instr) {
  return instr.kind != Instr::Kind::store && instr.kind != Instr::Kind::reduce;
}

// Whether the memory that `store` writes still holds an operand of instruction i or of a later one.
bool is_read_from(const ir::LoopNest& nest, const TileCode& code, const std::vector<TileInstr>& tile_code, uint32_t i,
                  uint32_t store) {
  if (nest.in_place.empty()) return false;
  if (code.folds > 0) return true;  // registers live on from earlier stages
  const uint32_t input = nest.in_place[tile_code[store].buffer - nest.inputs];
  if (input == ir::LoopNest::kFresh) return false;
  uint32_t reg = kNoRegister;  // the one that stands for the memory, from its load until another result takes it
  for (uint32_t at = 0; at < tile_code.size(); ++at) {
    const TileInstr& instr = tile_code[at];
    if (instr.kind == Instr::Kind::load && instr.buffer == input) {
      if (at > i) return true;
      reg = instr.out;
      continue;
    }
    if (reg == kNoRegister) continue;
    if (at >= i && std::find(instr.args.begin(), instr.args.end(), reg) != instr.args.end()) return true;
    if (instr.out == reg && has_result(instr)) reg = kNoRegister;
  }
  return false;
}

}  // namespace

void find_direct_stores(const ir::LoopNest& nest, const TileCode& code, std::vector<TileInstr>& tile_code) {
  for (uint32_t store = 0; store < tile_code.size(); ++store) {
    if (tile_code[store].kind != Instr::Kind::store || !tile_code[store].stores_in_place) continue;
    for (uint32_t i = store; i-- > 0;) {
      TileInstr& instr = tile_code[i];
      if (instr.out != tile_code[store].args[0] || !has_result(instr)) continue;
      if (instr.kind == Instr::Kind::apply && instr.stored_by == kNoRegister &&
          !is_read_from(nest, code, tile_code, i, store))
        instr.stored_by = store;
      break;
    }
  }
}

}  // namespace tenon::backends::cpu
