// Changes of shape in place, as Python's x.unsqueeze_(0), x.t_() and x.squeeze_() are.

#pragma once

#include <string_view>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// Makes the handle one of `reshaped`, a view of it that shows all its elements. As in PyTorch, a tensor that owned its
/// memory stands for that memory still: hooks on it, and retain_grad(), see the gradients of writes through its views.
/// Fails for a view of a leaf that requires grad, unless under NoGrad.
void replace_by(std::string_view op, Tensor& tensor, const Tensor& reshaped);

}  // namespace tenon
