// Decides how tiles lie over the rows of a loop nest, and how long they are.
//
// When a row's values fit into the near caches, a tile is a whole row and keeps its registers between stages; a longer
// row is walked in tiles once per stage, and what a stage needs is computed again. Several short rows share a tile,
// because an instruction costs as much to dispatch for 16 elements as for 1000: what is computed per row is computed
// for all rows of the tile at once, and what is the same for all rows only once.

#include "tenon/backends/cpu/tile/build.h"

#include <algorithm>

#include "tenon/backends/cpu/tile/build_parts.h"
#include "tenon/base/divide.h"

namespace tenon::backends::cpu {
namespace {

using ir::Instr;

constexpr int64_t kLongestTile = kLongestWithoutBlocks;
constexpr size_t kNearBytes = 160 << 10;  // of registers that stay in the second-level cache beside the operands
// What goes past the caches hardly uses them, so that long tiles cost nothing: an addition of 16M took 12.7 ms with
// 8192 elements and 16.5 with 512 (one core of a Xeon).
constexpr int64_t kStreamedTile = 8192;
constexpr uint32_t kFewRegisters = 4;
// Tiles are long enough to pay for the dispatch of their instructions and short enough to leave the registers in the
// nearest caches: softmax and layer_norm over rows of 50257 took 8.3 and 3.7 ms with 512 elements, 8.0 and 3.0 with
// 1024.
constexpr int64_t kPartTile = 1024;
constexpr int64_t kSharedTile = 2048;  // of several rows, which need instructions of their own
constexpr int64_t kMostRows = 256;
constexpr size_t kRegisterPadding = 128;  // registers at equal offsets in different pages would evict each other

// Rows along the last row axis.
int64_t last_row_axis(const ir::LoopNest& nest) {
  return nest.row_rank > 0 ? std::max<int64_t>(nest.space[nest.row_rank - 1], 1) : 1;
}

// Rows that share a tile: the last row axis a whole number of times, where it fits.
int64_t rows_together(const ir::LoopNest& nest) {
  const int64_t fit = kSharedTile / std::max<int64_t>(nest.row_size(), 1);
  const int64_t most = std::min({nest.rows(), fit, kMostRows}), axis = last_row_axis(nest);
  return most > axis ? most - most % axis : most;
}

// Blocks of rows that are folded into columns begin anywhere.
bool begins_with_axis(const ir::LoopNest& nest) {
  return rows_together(nest) % last_row_axis(nest) == 0 &&
         std::none_of(nest.code.begin(), nest.code.end(), [](const Instr& instr) { return instr.per_column; });
}

// Positions are made in the dtype that is asked for instead of being converted from i64.
ir::LoopNest with_cast_ramps(ir::LoopNest nest) {
  for (Instr& instr : nest.code) {
    if (instr.kind != Instr::Kind::apply || instr.op != ir::Op::cast) continue;
    const Instr& from = nest.code[instr.args[0]];
    if (from.kind != Instr::Kind::ramp || from.dtype != DType::i64) continue;
    instr.kind = Instr::Kind::ramp;
    instr.map = from.map;
    instr.args.clear();
  }
  return nest;
}

// Bytes of the widest element that has to stand in a register.
size_t widest_element(const ir::LoopNest& nest) {
  size_t widest = 4;
  for (uint32_t i = 0; i < nest.code.size(); ++i) {
    const auto& args = nest.code[i].args;
    const uint32_t number = number_operand(nest, i);
    for (uint32_t which = 0; which < args.size(); ++which) {
      if (which != number) widest = std::max(widest, tile_element_size(nest.code[args[which]].dtype));
    }
  }
  return widest;
}

class Chooser {
 public:
  explicit Chooser(const ir::LoopNest& nest)
      : nest_(nest), cut_(codegen::stages(nest)), element_(widest_element(nest)), row_(nest.row_size()) {}

  TileCode run() const {
    const bool folds = cut_.stages.size() > 1;
    if (const int64_t together = rows_together(nest_); together > 1) {
      TileCode code = several_rows(together);
      if (folds ? is_near(code) || row_ > kLongestTile : !code.streams) return code;
    }
    if (folds && row_ <= kLongestTile) {
      TileCode code = assembled(Tiling::whole_rows);
      set_tile(code, row_);
      if (row_ <= kPartTile || is_near(code)) return code;
    }
    TileCode code = assembled(Tiling::parts_of_rows);
    if (code.folds > 0 && folds_in_blocks(row_))
      set_tile(code, kBlock);
    else
      set_tile(code, code.streams && code.registers <= kFewRegisters ? kStreamedTile : part_of_row());
    return code;
  }

 private:
  // A tile that ends where an inner axis does lies in memory as one piece.
  int64_t part_of_row() const {
    const bool has_axes = nest_.space.size() > nest_.row_rank + 1;
    const int64_t width = has_axes ? nest_.space.back() : 0;
    return width >= kPartTile / 2 && width <= 2 * kPartTile && width % static_cast<int64_t>(kLanes) == 0 ? width
                                                                                                         : kPartTile;
  }

  TileCode assembled(Tiling tiling) const {
    return assemble({nest_, cut_, tiling, tiling == Tiling::several_rows && begins_with_axis(nest_)});
  }

  // As many rows as leave the registers in the near caches.
  TileCode several_rows(int64_t together) const {
    TileCode code = assembled(Tiling::several_rows);
    const int64_t axis = last_row_axis(nest_);
    const int64_t unit = std::max<int64_t>(together % axis == 0 ? axis : 1, 2);
    while (together >= unit + 2 && code.registers * register_bytes(together * row_) > kNearBytes) together -= unit;
    code.rows_per_tile = together;
    set_tile(code, together * row_);
    return code;
  }

  size_t register_bytes(int64_t tile) const {
    return static_cast<size_t>(base::round_up(tile, 16)) * element_ + kRegisterPadding;
  }
  void set_tile(TileCode& code, int64_t elements) const {
    code.tile = std::max<int64_t>(elements, 1);
    code.register_bytes = register_bytes(code.tile);
  }
  static bool is_near(const TileCode& code) { return code.registers * code.register_bytes <= kNearBytes; }

  const ir::LoopNest& nest_;
  const codegen::Stages cut_;
  const size_t element_;
  const int64_t row_;
};

}  // namespace

TileCode build_tiles(const ir::LoopNest& nest) {
  const ir::LoopNest ready = with_cast_ramps(nest);
  return Chooser(ready).run();
}

}  // namespace tenon::backends::cpu
