// Functions that write what they make of a tensor into it, as x.abs_() writes abs(x).

#pragma once

#include <string_view>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// The tensor as a write in place reads it. As in PyTorch, gradients of a view that is written lead to the tensor it is
/// a view of, past what hooks and retain_grad() do with gradients of views.
///   Tensor y = ones({2});
///   assign("twice_", y, before_write(y) * 2);
Tensor before_write(const Tensor& tensor);
/// Writes what arithmetic made of the tensor into it, in its dtype; fails where that cannot hold the result.
///   Tensor y = ones({2});
///   assign("twice_", y, before_write(y) * 2);  // [2. 2.]
Tensor& assign(std::string_view op, Tensor& tensor, const Tensor& result);

/// x = f(x), in the memory of x: write_in_place("twice_", x, [](const Tensor& x) { return x * 2; }).
///   Tensor y = ones({2});
///   write_in_place("twice_", y, [](const Tensor& before) { return before * 2; });  // [2. 2.]
template <typename F>
Tensor& write_in_place(std::string_view op, Tensor& x, F&& f) {
  return assign(op, x, f(before_write(x)));
}

}  // namespace tenon
