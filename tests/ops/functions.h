// What the tests of tensor/ops.h share: small tensors on the device under test, and comparison with written-out
// numbers.

#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {

using Numbers = std::vector<double>;
using Wholes = std::vector<int64_t>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

class FunctionTest : public testing::TestWithParam<std::string> {
 protected:
  Device device() const { return Device(GetParam()); }
  Options of(DType dtype) const { return Options(dtype, device()); }

  Tensor reals(const Numbers& values, const Dims& shape, DType dtype = DType::f32) const {
    return from_vector(values, shape, of(dtype));
  }
  Tensor reals(const Numbers& values, DType dtype = DType::f32) const { return reals(values, length(values), dtype); }
  Tensor wholes(const Wholes& values, const Dims& shape, DType dtype = DType::i64) const {
    return from_vector(values, shape, of(dtype));
  }
  Tensor wholes(const Wholes& values, DType dtype = DType::i64) const { return wholes(values, length(values), dtype); }
  Tensor bools(const std::vector<bool>& values) const {
    return from_vector(values, length(values), of(DType::boolean));
  }
  Tensor number(double value) const { return from_vector(Numbers{value}, Dims(), of(DType::f32)); }
  /// 0, 1, 2, ... in this shape.
  Tensor counting(const Dims& shape, DType dtype = DType::f32) const {
    return arange(ir::count(shape), of(dtype)).reshape(shape);
  }

  template <typename V>
  static Dims length(const V& values) {
    return {static_cast<int64_t>(values.size())};
  }
};

/// The numbers, to within a few units of the last place of f32; NaN and infinities exactly.
testing::AssertionResult is(const Tensor& got, const Numbers& wanted, double tolerance = 1e-6);
/// The numbers to the last bit, with -0 told from 0.
testing::AssertionResult is_exactly(const Tensor& got, const Numbers& wanted);
/// A tensor of integers or bool with these values.
testing::AssertionResult is_whole(const Tensor& got, const Wholes& wanted);

inline std::string device_name(const testing::TestParamInfo<std::string>& tested) { return test_name(tested.param); }
inline std::string shape_of(const Tensor& x) { return ir::to_string(x.shape()); }
inline std::string dtype_of(const Tensor& x) { return std::string(name(x.dtype())); }

}  // namespace tenon::ops_test
