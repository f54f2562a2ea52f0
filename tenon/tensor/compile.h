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
// replayed from then on and the function itself is not called any more. A call gives what the plain function would
// give: results and everything held are values that no later call changes, tensors written inside (weights, moments)
// are written, gradients are left. A replaced parameter, another shape, train() or eval() are noticed and recorded
// anew. What cannot be seen, a number or a branch of the host, is looked for at replays 1, 2, 4, 8, ...: the function
// is called without computing anything, and a change is an error that says what to do. See docs/capture.md.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "tenon/tensor/scalar.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

/// How a captured function is watched.
struct CompileOptions {
  /// Compares every n-th replay with the function, 0: none. Left out: replays 1, 2, 4, 8, ... The environment variable
  /// TENON_VERIFY_CAPTURE has the last word; with 1 it also compares all results and states bit for bit.
  std::optional<size_t> verify_every = {};
};

/// A captured function of any number of tensors, for programs that do not know it when they are compiled.
///   CompiledFunction twice([](std::span<const Tensor> in) { return std::vector{in[0] * 2}; });
///   twice.call(std::vector{tensor({1, 2})})[0];  // [2 4]
class CompiledFunction {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  explicit CompiledFunction(Function function, const CompileOptions& options = {});
  ~CompiledFunction();
  CompiledFunction(CompiledFunction&&) noexcept;
  CompiledFunction& operator=(CompiledFunction&&) noexcept;

  /// Several threads may call; they take turns.
  std::vector<Tensor> call(std::span<const Tensor> arguments);
  /// The same for a function of one result; allocates nothing when it replays.
  Tensor call_for_one(std::span<const Tensor> arguments);

  /// Recordings that are kept, the latest eight: one per combination of shapes, dtypes, devices and switches.
  size_t recordings() const;

 private:
  struct Impl;
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// A captured function with the arguments and the result of the original.
///   Compiled<Tensor, 1> twice = compile([](const Tensor& v) { return v * 2; });
template <typename Result, size_t kCount>
class Compiled {
 public:
  explicit Compiled(CompiledFunction::Function function, const CompileOptions& options = {})
      : function_(std::move(function), options) {}

  /// Calls the function, or replays what it did.
  template <typename... Arguments>
  requires(sizeof...(Arguments) == kCount && (std::is_convertible_v<const Arguments&, const Tensor&> && ...)) Result
  operator()(const Arguments&... arguments) {
    if constexpr (kCount == 0) {
      return call({});
    } else {
      const Tensor list[] = {static_cast<const Tensor&>(arguments)...};
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

// How many tensors a function takes; kNoArity for one that takes anything else.
inline constexpr size_t kMostArguments = 15, kNoArity = kMostArguments + 1;

template <typename F, typename... Tensors>
constexpr size_t arity() {
  if constexpr (std::is_invocable_v<F&, Tensors...>)
    return sizeof...(Tensors);
  else if constexpr (sizeof...(Tensors) == kMostArguments)
    return kNoArity;
  else
    return arity<F, Tensors..., const Tensor&>();
}

// What compile() gives for a function that it refuses: the one error is then that of the static_assert.
struct Refused {
  template <typename... Arguments>
  Tensor operator()(const Arguments&...) const;
  size_t recordings() const;
};

}  // namespace detail

/// Captures a function of tensors that returns a tensor or a vector of tensors.
///   auto twice = compile([](const Tensor& v) { return v * 2; });
///   twice(tensor({1, 2}));  // [2 4]
template <typename F>
auto compile(F function, const CompileOptions& options = {}) {
  constexpr size_t kCount = detail::arity<F>();
  if constexpr (kCount == detail::kNoArity) {
    static_assert(kCount != detail::kNoArity,
                  "[compile] the function must take const Tensor& arguments alone, at most 15; capture anything else");
    return detail::Refused();
  } else if constexpr (!std::is_copy_constructible_v<F>) {
    static_assert(std::is_copy_constructible_v<F>,
                  "[compile] the function must be copyable; capture by reference what cannot be copied");
    return detail::Refused();
  } else {
    using Result = decltype(detail::call_with<F, kCount>(function, std::span<const Tensor>()));
    if constexpr (std::is_same_v<Result, Tensor> || std::is_same_v<Result, std::vector<Tensor>>) {
      return Compiled<Result, kCount>(
          [function = std::move(function)](std::span<const Tensor> list) mutable {
            if constexpr (std::is_same_v<Result, Tensor>)
              return std::vector<Tensor>{detail::call_with<F, kCount>(function, list)};
            else
              return detail::call_with<F, kCount>(function, list);
          },
          options);
    } else {
      static_assert(!std::is_void_v<Result>,
                    "[compile] the function returns nothing; return a Tensor or a std::vector<Tensor>");
      static_assert(std::is_void_v<Result>, "[compile] the function must return a Tensor or a std::vector<Tensor>");
      return detail::Refused();
    }
  }
}

}  // namespace tenon
