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

/// How derivatives are computed.
struct DerivativeOptions {
  /// Derivatives may be differentiated in turn, and lead to inputs that need gradients.
  bool create_graph = false;
  /// A result that does not depend on an input is an error; else its derivative is 0.
  bool strict = false;
};

/// [i][j]: every element of result i by every element of input j, of the shape of the result, then that of the input.
/// Rows are computed together, by vmap(), where all ops on the way have a rule, else one by one.
///   autograd::jacobian([](const Tensor& v) { return v * v; }, tensor({1.0, 2.0}));  // [[2. 0.] [0. 4.]]
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f, std::span<const Tensor> inputs,
                                          const DerivativeOptions& options = {});
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
                const DerivativeOptions& options = {});

/// [i][j]: the second derivatives of a function that gives a single number by inputs i and j.
///   autograd::hessian([](const Tensor& v) { return (v * v).sum(); }, tensor({1.0, 2.0}));  // [[2. 0.] [0. 2.]]
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, std::span<const Tensor> inputs,
                                         const DerivativeOptions& options = {});
Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
               const DerivativeOptions& options = {});

/// What the function gives, and a product with one of its derivatives.
struct Product {
  std::vector<Tensor> outputs, products;  // what the function gives, and the products
};

/// The Jacobian times a vector: how results change along v, which has a tensor for each input. Computed as the gradient
/// of a gradient. v may be left out for a single number.
///   const TensorFunction f = [](std::span<const Tensor> in) { return std::vector{in[0] * in[0]}; };
///   autograd::jvp(f, std::vector{tensor({1.0, 2.0})}, std::vector{ones({2})}).products[0];  // [2. 4.]
Product jvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});
/// A vector times the Jacobian: the gradients of the inputs where those of the results are v.
///   const TensorFunction f = [](std::span<const Tensor> in) { return std::vector{in[0] * in[0]}; };
///   autograd::vjp(f, std::vector{tensor({1.0, 2.0})}, std::vector{ones({2})}).products[0];  // [2. 4.]
Product vjp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});
/// The Hessian times a vector, of a function that gives a single number.
///   const TensorFunction f = [](std::span<const Tensor> in) { return std::vector{(in[0] * in[0]).sum()}; };
///   autograd::hvp(f, std::vector{tensor({1.0, 2.0})}, std::vector{ones({2})}).products[0];  // [2. 2.]
Product hvp(const TensorFunction& f, std::span<const Tensor> inputs, std::span<const Tensor> v = {},
            const DerivativeOptions& options = {});

}  // namespace tenon::autograd
