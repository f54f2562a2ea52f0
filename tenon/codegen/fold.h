// Folds what the threads of a row hold into one value that all of them know.

#pragma once

#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/schedule.h"

namespace tenon::codegen {

/// Several at once pairwise: ((a, b), (c, d)).
Id fold_pairwise(Builder& b, ir::Op op, DType dtype, std::vector<Id> values);

/// Of all threads of the row; every thread of the block must come here.
Id fold_threads(Builder& b, const RowSchedule& schedule, ir::Op op, DType dtype, Id value);

}  // namespace tenon::codegen
