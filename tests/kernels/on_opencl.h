// Tests of kernels compute the same on the cpu and on the OpenCL device, where there is one.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tenon/device/registry.h"
#include "tenon/tenon.h"

namespace tenon::kernels_test {

/// Skips, saying why, where there is no OpenCL device.
class OnOpenCl : public testing::Test {
 protected:
  void SetUp() override {
    for (const device::Absent& one : device::absent()) {
      if (one.name == "opencl") GTEST_SKIP() << one.why;
    }
  }
};

/// Whole numbers from -range to range, in no order that a person could see.
inline std::vector<float> scrambled(int64_t count, int64_t range) {
  std::vector<float> made(static_cast<size_t>(count));
  uint64_t state = 12345;
  for (float& each : made) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    each = static_cast<float>(static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(2 * range + 1)) - range);
  }
  return made;
}

/// The same values on both devices.
struct Twice {
  Tensor cpu, opencl;
};
inline Twice twice(int64_t range, const Dims& shape, DType dtype = DType::f32) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const std::vector<float> values = scrambled(count, range);
  return {from_vector(values, shape, Options(dtype, "cpu")), from_vector(values, shape, Options(dtype, "opencl"))};
}

inline testing::AssertionResult same_bits(const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape())
    return testing::AssertionFailure() << "another dtype or shape";
  const std::vector<std::byte> a = got.to_bytes(), b = wanted.to_bytes();
  if (a == b) return testing::AssertionSuccess();
  const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
  const auto element = at / (static_cast<int64_t>(a.size()) / got.numel());
  return testing::AssertionFailure() << "element " << element << " of " << got.numel() << " differs";
}

/// Every |got - wanted| <= tolerance * max(1, |wanted|).
inline testing::AssertionResult close(const Tensor& got, const Tensor& wanted, double tolerance) {
  const std::vector<double> a = got.to_vector<double>(), b = wanted.to_vector<double>();
  if (a.size() != b.size()) return testing::AssertionFailure() << "another number of elements";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(b[i]))))
      return testing::AssertionFailure() << "element " << i << " is " << a[i] << ", not " << b[i];
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon::kernels_test
