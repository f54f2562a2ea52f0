// A loop nest cut into stages: what every code generator needs to know of it, whatever it generates.
//
// A row reduction is known only when its whole row has been folded, so what reads it belongs to a later stage. A stage
// is: some instructions once for the row, then some for each of its elements, at whose end its reductions are known.
// What is kept between stages is the generator's choice. One that holds a row's values (a row in tile registers, or in
// the registers of a block of threads) does `first_time` of each stage and reads the rest where it still lies; one that
// walks a long row again and again does `per_element` and so computes anew what an earlier stage has computed already.

#pragma once

#include <cstdint>
#include <vector>

#include "tenon/ir/loop_nest.h"

namespace tenon::codegen {

/// Along what a value changes: bit 0 from row to row, bit 1 from element to element of a row. A value made of two
/// others has both their bits.
enum class Scope : uint8_t { constant = 0, row = 1, column = 2, element = 3 };

constexpr Scope operator|(Scope a, Scope b) {
  return static_cast<Scope>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

inline constexpr uint32_t kNone = ~0u;  // no instruction, no stage

/// What is known of the value of one instruction.
struct ValueInfo {
  Scope scope = Scope::element;
  uint32_t made = kNone;   // the stage that first computes it; kNone: no store needs it, nobody should
  uint32_t known = kNone;  // the stage from which on it can be read: for a row reduction the one after `made`
  /// The last one that reads it, where the values of a row are kept: that nobody computes it a second time is assumed.
  uint32_t last_stage = kNone, last_reader = kNone;
};

/// Instructions are given by their number in the nest, and in its order.
struct Stage {
  std::vector<uint32_t> per_row;       // once for each row, before its elements
  std::vector<uint32_t> per_element;   // all that its reductions and stores need, and these
  std::vector<uint32_t> first_time;    // those of per_element that no earlier stage has had
  std::vector<uint32_t> row_folds;     // reductions of per_element that are known at the end of the row
  std::vector<uint32_t> column_folds;  // and those that are known when all rows are done
  std::vector<uint32_t> last_reader;  // for each instruction of the nest the last of this stage that reads it, or kNone
};

struct Stages {
  std::vector<ValueInfo> values;        // one for each instruction of the nest
  std::vector<uint32_t> constants;      // instructions done once, before all rows
  std::vector<Stage> stages;            // at least one
  std::vector<uint32_t> column_stores;  // done once, behind all rows

  /// Whether an element's value is read in a later stage than the one that makes it: what has to be kept or made again.
  bool outlives_its_stage(uint32_t i) const {
    const ValueInfo& value = values[i];
    return value.scope >= Scope::column && value.made != kNone && value.last_stage != kNone &&
           value.last_stage > value.made;
  }
};

Stages stages(const ir::LoopNest& nest);

}  // namespace tenon::codegen
