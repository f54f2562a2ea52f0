// A loop nest compiled for the CPU: stages over a row, cut at reductions, each a short list of tile instructions.

#pragma once

#include <memory>

#include "tenon/backends/cpu/arguments.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::backends::cpu {

class TileProgram {
 public:
  virtual ~TileProgram() = default;
  virtual void run(const Arguments& args) const = 0;
};

std::unique_ptr<TileProgram> compile_tiles(const ir::LoopNest& nest);

/// Whether neighbouring rows, not the elements of a row, lie together in memory.
bool better_across(const ir::LoopNest& nest);
/// The same nest run many rows at a time; the same bits.
std::unique_ptr<TileProgram> compile_across(const ir::LoopNest& nest);

}  // namespace tenon::backends::cpu
