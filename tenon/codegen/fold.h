// Folds what the threads of a row hold into one value that all of them know.

#pragma once

#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/schedule.h"

namespace tenon::codegen {

/// Several at once pairwise: ((a, b), (c, d)).
Id fold_pairwise(Builder& b, ir::Op op, DType dtype, std::vector<Id> values);

/// What one thread folds of its elements, each place of the vector by itself.
///
/// The larger of floats is found by one comparison; that there was a NaN, or a 0 that is not -0, is noted beside it.
/// All of it in every step would be ten operations for each element, and be what a softmax takes longest for.
class Accumulator {
 public:
  Accumulator(Builder& b, ir::Op op, DType dtype, uint32_t lanes);
  void add(Builder& b, uint32_t lane, Id value);
  /// All places as one.
  Id result(Builder& b) const;

 private:
  ir::Op op_;
  DType dtype_;
  std::vector<Id> totals_;  // variables
};

/// Of all threads of the row; every thread of the block must come here. `is_repeated`: it stands in a loop in which no
/// other barrier keeps the threads together, so that one more is needed before its memory is written again.
Id fold_threads(Builder& b, const RowSchedule& schedule, ir::Op op, DType dtype, Id value, bool is_repeated = true);

}  // namespace tenon::codegen
