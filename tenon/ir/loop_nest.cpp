// Hash and text of loop nests.

#include "tenon/ir/loop_nest.h"

#include <fmt/format.h>

#include "tenon/base/hash.h"

namespace tenon::ir {

uint64_t hash(const Instr& instr) {
  uint64_t h = static_cast<uint64_t>(instr.kind) | static_cast<uint64_t>(instr.op) << 8 |
               static_cast<uint64_t>(instr.dtype) << 16 | static_cast<uint64_t>(instr.per_row) << 24 |
               static_cast<uint64_t>(instr.per_column) << 25 |
               static_cast<uint64_t>(instr.axis) << 26 |
               static_cast<uint64_t>(instr.buffer) << 32;
  h = base::mix(base::mix(base::mix_all(h, instr.args), instr.bits), static_cast<uint64_t>(instr.stride));
  if (instr.use != LookUp::of_op) h = base::mix(h, static_cast<uint64_t>(instr.use));
  const bool has_map = instr.kind != Instr::Kind::apply && instr.kind != Instr::Kind::number;
  return has_map ? base::mix(h, instr.map.hash()) : h;
}

uint64_t hash(const LoopNest& nest) {
  uint64_t h = base::mix_all(base::mix(nest.row_rank, nest.column_blocks), nest.space);
  for (const Instr& instr : nest.code) h = base::mix(h, hash(instr));
  return base::mix_all(h, nest.in_place);
}

std::string to_string(const LoopNest& nest) {
  constexpr std::string_view kKinds[] = {"load", "gather", "number", "ramp", "valid", "random", "apply", "reduce", "store"};
  std::string text = fmt::format("for {} with {} row axes\n", to_string(nest.space), nest.row_rank);
  for (size_t n = 0; n < nest.code.size(); ++n) {
    const Instr& i = nest.code[n];
    text += fmt::format("  %{} = {}", n, kKinds[static_cast<size_t>(i.kind)]);
    if (i.kind == Instr::Kind::apply || i.kind == Instr::Kind::reduce) text += fmt::format(" {}", name(i.op));
    for (uint32_t arg : i.args) text += fmt::format(" %{}", arg);
    const bool addresses = i.kind == Instr::Kind::load || i.kind == Instr::Kind::gather ||
                           i.kind == Instr::Kind::store;
    if (addresses) text += fmt::format(" buffer {} {}", i.buffer, i.map.to_string());
    text += fmt::format(" : {}{}\n", tenon::name(i.dtype), i.per_row ? " per row" : i.per_column ? " per column" : "");
  }
  return text;
}

}  // namespace tenon::ir
