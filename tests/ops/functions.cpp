// Comparison of tensors with written-out numbers.

#include "tests/ops/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tenon/tensor/access.h"

namespace tenon::ops_test {

testing::AssertionResult is(const Tensor& got, const Numbers& wanted, double tolerance) {
  const auto right = [&](double x, double y) {
    if (std::isnan(y) || std::isinf(y)) return x == y || (std::isnan(x) && std::isnan(y));
    return std::fabs(x - y) <= tolerance * std::max(1.0, std::fabs(y));
  };
  const Numbers numbers = got.to_vector<double>();
  if (std::equal(numbers.begin(), numbers.end(), wanted.begin(), wanted.end(), right))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << fmt::format("got {}, wanted {}", numbers, wanted);
}

testing::AssertionResult is_exactly(const Tensor& got, const Numbers& wanted) {
  return same(read(value_of(got)), Host(value_of(got).type(), wanted));
}

testing::AssertionResult is_whole(const Tensor& got, const Wholes& wanted) {
  if (is_float(got.dtype())) return testing::AssertionFailure() << "the result is " << name(got.dtype());
  const Wholes values = got.to_vector<int64_t>();
  if (values == wanted) return testing::AssertionSuccess();
  return testing::AssertionFailure() << fmt::format("got {}, wanted {}", values, wanted);
}

}  // namespace tenon::ops_test
