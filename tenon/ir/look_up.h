// Which function an index is for: a bad one that only the device finds is refused in that function's name.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/ir/op.h"

namespace tenon::ir {

enum class LookUp : uint8_t {
  of_op,  // none: the op's own name
  index_select,
  one_hot,
  embedding,
  cross_entropy,  // this and what follows: a class
  nll_loss,
  multi_margin_loss,
  ctc_loss,
};

std::string_view name_of(Op op, LookUp use);
/// What is wrong, in one line.
std::string bad_index(LookUp use, int64_t index, int64_t axis, int64_t size);

}  // namespace tenon::ir
