// What tests of gradients share: leaves without a pattern, and finite differences to compare with.

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

using Reals = std::vector<double>;

inline Reals reals(const Tensor& x) { return x.to_vector<double>(); }

/// A leaf of f64 values.
inline Tensor leaf(const Reals& values, const Dims& shape) { return from_vector(values, shape).requires_grad_(); }
inline Tensor leaf(const Reals& values) { return leaf(values, {static_cast<int64_t>(values.size())}); }
inline Tensor leaf(double value) { return leaf({value}, {}); }

/// Values in -1..1 without a pattern.
inline Reals scattered(int64_t count, double phase) {
  Reals values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::sin(static_cast<double>(i * i) * 0.37 + phase * 1.7 + 0.5 * static_cast<double>(i)));
  return values;
}
inline Tensor scattered_leaf(const Dims& shape, double phase) {
  return leaf(scattered(ir::count(shape), phase), shape);
}

/// Equal within a tolerance that grows with the value; the first difference is enough to read.
inline void expect_near(const Reals& seen, const Reals& expected, double tolerance) {
  ASSERT_EQ(seen.size(), expected.size());
  for (size_t i = 0; i < seen.size(); ++i)
    ASSERT_NEAR(seen[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << "element " << i;
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Central differences of a function to a single number, for one of its inputs.
inline Reals differences(const Function& f, const std::vector<Tensor>& inputs, size_t which) {
  constexpr double kStep = 1e-5;
  Reals slopes;
  const Reals at = reals(inputs[which]);
  for (size_t i = 0; i < at.size(); ++i) {
    double side[2];
    for (int s : {0, 1}) {
      Reals moved = at;
      moved[i] += s ? kStep : -kStep;
      std::vector<Tensor> changed = inputs;
      changed[which] = leaf(moved, inputs[which].shape());
      side[s] = f(changed).item<double>();
    }
    slopes.push_back((side[1] - side[0]) / (2 * kStep));
  }
  return slopes;
}

/// The gradient of f is that of finite differences.
inline void expect_gradient(const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor y = f(inputs);
  const auto slopes = grad(std::span(&y, 1), inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(fmt::format("input {}", i));
    expect_near(reals(slopes[i]), differences(f, inputs, i), 1e-7);
  }
}

/// The function whose gradient is f's second derivative: the gradients of f, weighted and added up.
inline Function weighted_gradient(const Function& f) {
  return [f](const std::vector<Tensor>& inputs) {
    const Tensor y = f(inputs);
    GradOptions options;
    options.create_graph = true;
    const auto slopes = grad(std::span(&y, 1), inputs, options);
    Tensor total;
    for (size_t i = 0; i < slopes.size(); ++i) {
      const Tensor weight = from_vector(scattered(slopes[i].numel(), 5 + static_cast<double>(i)), slopes[i].shape());
      const Tensor part = sum(slopes[i] * weight);
      total = total.defined() ? total + part : part;
    }
    return total;
  };
}

}  // namespace tenon
