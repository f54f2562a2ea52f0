// Derivatives of functions: Jacobians, Hessians and their products with vectors.
//
//   Tensor J = autograd::jacobian([](const Tensor& x) { return x * x; }, x);  // of shape (n, n)
//
// The names are those of torch.autograd.functional. Inputs are floats; the function sees leaves of its own, so nothing
// is left in anybody's grad().

#pragma once

#include "tenon/tensor/autograd.h"
#include "tenon/tensor/vmap.h"

namespace tenon::autograd {

struct DerivativeOptions {
  /// Derivatives may be differentiated in turn, and lead to inputs that need gradients.
  bool create_graph = false;
  /// A result that does not depend on an input is an error; else its derivative is 0.
  bool strict = false;
};

/// [i][j]: every element of result i by every element of input j, of the shape of the result, then that of the input.
/// Rows are computed together, by vmap(), where all ops on the way have a rule, else one by one.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f, std::span<const Tensor> inputs,
                                          const DerivativeOptions& options = {});
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
                const DerivativeOptions& options = {});

/// [i][j]: the second derivatives of a function that gives a single number by inputs i and j.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, std::span<const Tensor> inputs,
                                         const DerivativeOptions& options = {});
Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
               const DerivativeOptions& options = {});

/// What the function gives, and a product with one of its derivatives.
struct Product {
  std::vector<Tensor> outputs, products;
};

/// The Jacobian times a vector: how results change along v, which has a tensor for each input. Computed as the gradient
/// of a gradient. v may be left out for a single number.
Product jvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});
/// A vector times the Jacobian: the gradients of the inputs where those of the results are v.
Product vjp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});
/// The Hessian times a vector, of a function that gives a single number.
Product hvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});

}  // namespace tenon::autograd
