// What the launches of a plan move and what its step keeps, counted without running it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/plan/plan.h"

namespace tenon::test {

/// Bytes that a nest's loads and stores touch: an argument may span an arena of which little is read.
inline uint64_t bytes_touched(const ir::LoopNest& nest, const plan::Launch& launch) {
  std::vector<uint64_t> touched(launch.args.size(), 0);
  std::vector<std::pair<uint32_t, ir::IndexMap>> seen;
  for (const ir::Instr& instr : nest.code) {
    const bool moves = instr.kind == ir::Instr::Kind::load || instr.kind == ir::Instr::Kind::store ||
                       instr.kind == ir::Instr::Kind::gather;
    const std::pair<uint32_t, ir::IndexMap> access{instr.buffer, instr.map};
    if (!moves || std::find(seen.begin(), seen.end(), access) != seen.end()) continue;
    seen.push_back(access);
    const ir::View& view = instr.map.views().back();
    uint64_t elements = 1;
    for (size_t axis = 0; axis < view.shape.size(); ++axis) {
      const bool repeats = view.strides[axis] == 0 && instr.kind != ir::Instr::Kind::gather;
      elements *= repeats ? 1 : static_cast<uint64_t>(view.shape[axis]);
    }
    touched[instr.buffer] += elements * size_of(instr.dtype);
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < touched.size(); ++i) bytes += std::min<uint64_t>(touched[i], launch.args[i].bytes);
  return bytes;
}

/// Of all launches; a call moves its arguments once.
inline uint64_t bytes_moved(const plan::Plan& plan) {
  uint64_t bytes = 0;
  for (const plan::Launch& launch : plan.launches) {
    if (const auto* nest = std::get_if<ir::LoopNest>(&plan.kernels[launch.kernel])) {
      bytes += bytes_touched(*nest, launch);
    } else {
      for (const plan::Argument& arg : launch.args) bytes += arg.bytes;
    }
  }
  return bytes;
}

/// All memory that the step needs: its arena, and what is there before and after it.
inline uint64_t planned_peak(const plan::Plan& plan) {
  uint64_t bytes = plan.arena_bytes;
  for (const plan::Slot& slot : plan.slots) {
    const bool is_new = slot.place == plan::Slot::Place::result && plan.overwritten[slot.index] == plan::Plan::kNone;
    if (slot.within == plan::Plan::kNone && (slot.place == plan::Slot::Place::leaf || is_new)) bytes += slot.bytes;
  }
  return bytes;
}

}  // namespace tenon::test
