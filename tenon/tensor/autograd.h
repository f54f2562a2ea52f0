// Gradients: grad(), no_grad, custom functions.

#pragma once

#include <concepts>
#include <functional>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// While alive, ops of this thread record no gradient.
///   NoGrad no_grad;
///   Tensor y = x * 2;
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// While alive, ops of this thread record gradients even inside NoGrad.
///   NoGrad no_grad;
///   EnableGrad but_here;
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

/// Whether ops of this thread record gradients.
///   grad_enabled();  // true
bool grad_enabled();

/// How grad() computes gradients.
struct GradOptions {
  std::vector<Tensor> grad_outputs;  // one per output; may be left out for outputs of one element
  bool create_graph = false;         // make the gradients differentiable in turn
  bool allow_unused = false;         // an input that plays no part gives an undefined tensor instead of an error
};

/// The gradients of the outputs' sum with respect to the inputs; changes no leaf's grad(). Tensors of retain_grad() on
/// the way to an input get theirs, as in PyTorch. Each tensor has a gradient of its own: two that were computed by the
/// same expression are two, although it is computed once.
///   Tensor w = tensor({1.0, 2.0}).requires_grad_();
///   grad((w * w).sum(), w);  // [2. 4.]
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         const GradOptions& options = {});
Tensor grad(const Tensor& output, const Tensor& input, bool create_graph = false);

/// backward() of several tensors in one pass: what they give a leaf is added up before its hooks see it. A gradient
/// that is left out, or not defined, is 1, of a tensor of one element.
///   Tensor w = tensor({1.0, 2.0}).requires_grad_();
///   backward(std::vector{(w * 2).sum(), w.sum()});
///   w.grad();  // [3. 3.]
void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients = {}, bool retain_graph = false,
              bool create_graph = false);

/// A function with its own gradient rule. Tensors that the rule needs are inputs too, if only to be given no gradient:
/// one that it captured would be read as it is by then, and a weight whose gradient comes of the function would never
/// be freed, because each keeps the other.
///   using Tensors = std::span<const Tensor>;
///   CustomFunction square{"square", [](Tensors in) { return std::vector{in[0] * in[0]}; },
///                         [](Tensors in, Tensors g) { return std::vector{g[0] * 2 * in[0]}; }};
///   Tensor y = apply(square, x);
struct CustomFunction {
  std::string name;                                                            // what errors call it
  std::function<std::vector<Tensor>(std::span<const Tensor> inputs)> forward;  // from the inputs to the results
  /// From the inputs and the results' gradients (undefined where none arrived) to the inputs' gradients.
  std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> grads)> backward;
};
/// What the function gives, with its own gradient rule.
///   CustomFunction sign{"sign", [](std::span<const Tensor> in) { return std::vector{in[0].sign()}; },
///                       [](std::span<const Tensor>, std::span<const Tensor> g) { return std::vector{g[0]}; }};
///   apply(sign, tensor({-3.0, 4.0}));  // [-1. 1.]
std::vector<Tensor> apply(const CustomFunction& function, std::span<const Tensor> inputs);
struct SavingFunction;
std::vector<Tensor> apply(const SavingFunction& function, std::span<const Tensor> inputs);
/// For a vector, which argument-dependent lookup would otherwise hand to std::apply: this is the same template, for
/// these types alone.
template <typename Function, typename Inputs>
requires(std::same_as<std::remove_cvref_t<Function>, CustomFunction> ||
         std::same_as<std::remove_cvref_t<Function>, SavingFunction>) &&
    std::same_as<std::remove_cvref_t<Inputs>, std::vector<Tensor>> std::vector<Tensor> apply(Function&& function,
                                                                                             Inputs&& inputs) {
  return apply(static_cast<const std::remove_cvref_t<Function>&>(function), std::span<const Tensor>(inputs));
}
/// For a function of one tensor that gives one.
Tensor apply(const CustomFunction& function, const Tensor& input);

/// What a function keeps from its forward pass for its backward pass.
///   SavingFunction cube{"cube",
///                       [](FunctionContext& context, std::span<const Tensor> in) {
///                         context.save_for_backward({in[0]});
///                         return std::vector{in[0].pow(3)};
///                       },
///                       [](const FunctionContext& context, std::span<const Tensor> g) {
///                         return std::vector{g[0] * 3 * context.saved_tensors()[0].square()};
///                       }};
///   apply(cube, tensor({2.0}));  // [8.]
class FunctionContext {
 public:
  /// Inputs, results or anything computed on the way. Second derivatives go through inputs and results.
  void save_for_backward(std::vector<Tensor> tensors) { saved_ = std::move(tensors); }
  const std::vector<Tensor>& saved_tensors() const { return saved_; }

 private:
  std::vector<Tensor> saved_;
};

/// A function with its own gradient rule that sees what forward() saved.
///   SavingFunction twice{"twice",
///                        [](FunctionContext&, std::span<const Tensor> in) { return std::vector{in[0] * 2}; },
///                        [](const FunctionContext&, std::span<const Tensor> g) { return std::vector{g[0] * 2}; }};
///   apply(twice, tensor({2.0}));  // [4.]
struct SavingFunction {
  std::string name;  // what errors call it
  /// From the inputs to the results.
  std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> inputs)> forward;
  /// From the results' gradients (undefined where none arrived) to the inputs' gradients, which may be undefined.
  std::function<std::vector<Tensor>(const FunctionContext& context, std::span<const Tensor> grads)> backward;
};
Tensor apply(const SavingFunction& function, const Tensor& input);

/// Compares the gradients of f with differences (f(x + eps) - f(x - eps)) / (2 eps) at these inputs, of f64, of which
/// those that require grad are looked at. Fails with the first that differ by more than atol + rtol * |difference|.
///   Tensor w = randn({3}, float64).requires_grad_();
///   gradcheck([](const Tensor& v) { return (v * v).sum(); }, w);  // true
bool gradcheck(const std::function<Tensor(std::span<const Tensor>)>& f, std::span<const Tensor> inputs,
               double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3);
bool gradcheck(const std::function<Tensor(const Tensor&)>& f, const Tensor& input, double eps = 1e-6,
               double atol = 1e-5, double rtol = 1e-3);

}  // namespace tenon
