// Targets that name a class each: every one is a class, or does not count.

#pragma once

#include <string_view>

#include "tenon/ir/look_up.h"
#include "tenon/tensor/tensor.h"

namespace tenon::nn {

/// Says which target is out of range, of those that are known by now.
void require_classes(std::string_view op, const Tensor& target, int64_t classes, int64_t ignore_index);

/// The same targets. Those that are still to be computed are looked up in 0, 1, ..., so that the device finds one that
/// is out of range, which is refused in the name of `use`.
Tensor checked(ir::LookUp use, const Tensor& target, int64_t classes, int64_t ignore_index);
/// Where none is ignored: of lengths, say.
Tensor checked(ir::LookUp use, const Tensor& numbers, int64_t size);

}  // namespace tenon::nn
