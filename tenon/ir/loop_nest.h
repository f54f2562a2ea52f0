// A fused kernel as plain data: one pass over rows, each a run of elements, with a short list of instructions.
//
// The iteration space is `space`; its first `row_rank` axes number the rows, the others the elements of a row. An
// instruction gives one value per element, or one per row when everything it reads is constant along the row.
// Reductions fold the elements of a row into one value per row, which later instructions use again: so softmax and
// layer_norm are single loop nests. A column reduction folds one element position over all rows: its result is complete
// only when the nest is, and nothing but a store may read it.

#pragma once

#include <algorithm>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/ir/attrs.h"
#include "tenon/ir/view.h"

namespace tenon::ir {

struct Instr {
  enum class Kind : uint8_t {
    load,    // the element of buffer `buffer` that `map` leads to; 0 where that is padding
    gather,  // the same, args[0] times `stride` elements further on; a fault where args[0] is not in 0 .. bits - 1
    number,  // a constant: `bits` as in ConstantAttrs
    ramp,    // the position that `map` leads to, as a number (an iota seen through views)
    valid,   // bool: whether `map` leads to an element and not to padding
    random,  // word n + position of the Philox stream whose state is buffer `buffer`; n is number `bits` of the launch
    apply,   // elementwise op `op` on `args`
    reduce,  // folds args[0] over the row, or over all rows when per_column, with sum, max or prod
    store,   // writes args[0] to buffer `buffer` through `map`
  };
  Kind kind = Kind::apply;
  Op op = Op::add;
  DType dtype = DType::f32;
  bool per_row = false;
  bool per_column = false;
  base::SmallVector<uint32_t, 3> args;
  uint32_t buffer = 0;
  IndexMap map;  // over the whole space; over the rows only when per_row, over a row's elements when per_column
  uint64_t bits = 0;
  int64_t stride = 0;
  uint32_t axis = 0;  // of the table, for the message of a fault
  LookUp use = LookUp::of_op;
  bool operator==(const Instr&) const = default;
};

struct LoopNest {
  Dims space;
  size_t row_rank = 0;
  std::vector<Instr> code;  // operands before users
  uint32_t inputs = 0;      // buffers 0..inputs-1 are read, the following ones written
  uint32_t outputs = 0;
  uint32_t numbers = 0;  // that come with a launch
  /// Per output the input whose memory it is, or kFresh; empty: none. Such an input is read at the element that is
  /// written and nowhere else, and all stores stand behind all loads.
  std::vector<uint32_t> in_place;
  static constexpr uint32_t kFresh = ~0u;
  /// Parts in which column reductions fold the rows, at most; see column_block.
  uint32_t column_blocks = 32;
  bool operator==(const LoopNest&) const = default;

  int64_t rows() const { return count(Dims(space.begin(), space.begin() + row_rank)); }
  int64_t row_size() const { return count(Dims(space.begin() + row_rank, space.end())); }
};

/// Rows that a column reduction folds one after another before it starts afresh; the blocks' results are folded one
/// after another at the end. So blocks can be shared out, and the bits depend on the number of rows only.
inline int64_t column_block(int64_t rows, int64_t blocks = 32) {
  constexpr int64_t kLeast = 64, kMost = 256;  // a longer sum would lose the digits of what is added to it
  return std::clamp((rows + blocks - 1) / blocks, kLeast, kMost);
}

uint64_t hash(const Instr& instr);
uint64_t hash(const LoopNest& nest);
std::string to_string(const LoopNest& nest);

}  // namespace tenon::ir
