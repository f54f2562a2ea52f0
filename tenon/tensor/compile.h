// Captured functions: recorded once, then replayed with almost no host work.
//
//   Scalar lr(1e-3);
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     Tensor loss = nn::mse_loss(model(x), y);
//     loss.backward();
//     NoGrad updating;
//     w.sub_(w.grad() * lr);
//     w.zero_grad();
//     return loss;
//   });
//   for (...) { lr.set(...); Tensor loss = step(x, y); }
//
// The function runs as usual in its first calls; when two calls in a row have recorded the same operations, these are
// replayed from then on and the function itself is not called any more. Arguments are copied into fixed memory, state
// that the function writes (weights, moments) stays where it is, results lie in fixed memory and are valid until the
// next call. What would make a replay differ from a call is refused, with a line that says what to do.

#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "tenon/tensor/scalar.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

class CompiledFunction {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  explicit CompiledFunction(Function function);
  ~CompiledFunction();
  CompiledFunction(CompiledFunction&&) noexcept;
  CompiledFunction& operator=(CompiledFunction&&) noexcept;

  std::vector<Tensor> call(std::span<const Tensor> arguments);
  /// The same for a function of one result; allocates nothing when it replays.
  Tensor call_for_one(std::span<const Tensor> arguments);

  /// Recordings made so far: one per combination of shapes, dtypes and devices, of which the latest few are kept.
  size_t recordings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A captured function with the arguments and the result of the original.
template <typename Result>
class Compiled {
 public:
  explicit Compiled(CompiledFunction::Function function) : function_(std::move(function)) {}

  template <typename... Arguments>
  Result operator()(const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      return call({});
    } else {
      const Tensor list[] = {Tensor(arguments)...};
      return call(list);
    }
  }
  size_t recordings() const { return function_.recordings(); }

 private:
  Result call(std::span<const Tensor> list) {
    if constexpr (std::is_same_v<Result, Tensor>)
      return function_.call_for_one(list);
    else
      return function_.call(list);
  }

  CompiledFunction function_;
};

namespace detail {

template <typename F, size_t kCount, typename... Tensors>
auto call_with(F& f, std::span<const Tensor> list, const Tensors&... arguments) {
  if constexpr (kCount == 0)
    return f(arguments...);
  else
    return call_with<F, kCount - 1>(f, list.first(kCount - 1), list[kCount - 1], arguments...);
}

template <typename F, typename... Tensors>
constexpr size_t arity() {
  if constexpr (std::is_invocable_v<F&, Tensors...>) {
    return sizeof...(Tensors);
  } else {
    static_assert(sizeof...(Tensors) < 16, "a captured function takes tensors, up to 15 of them");
    return arity<F, Tensors..., const Tensor&>();
  }
}

}  // namespace detail

/// Captures a function of tensors that returns a tensor or a vector of tensors.
template <typename F>
auto compile(F function) {
  constexpr size_t kCount = detail::arity<F>();
  using Result = decltype(detail::call_with<F, kCount>(function, std::span<const Tensor>()));
  static_assert(std::is_same_v<Result, Tensor> || std::is_same_v<Result, std::vector<Tensor>>,
                "a captured function returns a Tensor or a std::vector<Tensor>");
  return Compiled<Result>([function = std::move(function)](std::span<const Tensor> list) mutable {
    if constexpr (std::is_same_v<Result, Tensor>)
      return std::vector<Tensor>{detail::call_with<F, kCount>(function, list)};
    else
      return detail::call_with<F, kCount>(function, list);
  });
}

}  // namespace tenon
