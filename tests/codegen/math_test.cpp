// Our own f32 functions against f64: over all floats by steps, densely where they bend, and at their ends.

#include "tenon/codegen/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;
  std::function<Tensor(const Tensor&)> ours;
  std::function<double(double)> truth;
};

const Function kTanh{"tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }};
const Function kSigmoid{"sigmoid", [](const Tensor& x) { return sigmoid(x); },
                        [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }};
const Function kExpm1{"expm1", [](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); }};
const Function kLog1p{"log1p", [](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); }};
const Function kErf{"erf", [](const Tensor& x) { return erf(x); }, [](double x) { return std::erf(x); }};

class OwnMath : public testing::TestWithParam<Function> {
 protected:
  static std::vector<float> of(const std::vector<float>& x) {
    const Tensor on_gpu = from_vector(x, {static_cast<int64_t>(x.size())}, Options(DType::f32, "simulated"));
    return GetParam().ours(on_gpu).to_vector<float>();
  }
  static float of(float x) { return of(std::vector<float>{x})[0]; }

  /// The largest distance from the truth, in units of the last place of it.
  static double error(const std::vector<float>& x) {
    const std::vector<float> got = of(x);
    double most = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = GetParam().truth(x[i]);
      const auto near = static_cast<float>(want);
      if (std::isnan(want) || std::isinf(near)) {
        const bool is_right = std::isnan(want) ? std::isnan(got[i]) : got[i] == near || std::abs(want) < 3.5e38;
        EXPECT_TRUE(is_right) << GetParam().name << " of " << x[i] << " is " << got[i];
        continue;
      }
      const double unit = std::nextafter(std::abs(near), kInfinity) - static_cast<double>(std::abs(near));
      most = std::max(most, std::abs(got[i] - want) / unit);
    }
    return most;
  }
};

TEST_P(OwnMath, IsWithinTwoUnitsOverAllFloats) {
  std::vector<float> x;
  for (uint32_t bits = 1; bits < 0x7F800000; bits += 20011) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  EXPECT_LE(error(x), 2.0);
}

TEST_P(OwnMath, IsWithinTwoUnitsWhereItBends) {
  std::vector<float> x;
  for (int i = -100'000; i <= 100'000; ++i) x.push_back(static_cast<float>(i) * 1.0e-4f + 3.0e-6f);
  EXPECT_LE(error(x), 2.0);
}

TEST_P(OwnMath, LetsNanThroughAndKeepsTheSignOf0) {
  EXPECT_TRUE(std::isnan(of(kNan)));
  if (GetParam().truth(0) != 0) return;
  EXPECT_EQ(std::bit_cast<uint32_t>(of(0.0f)), 0u);
  EXPECT_EQ(std::bit_cast<uint32_t>(of(-0.0f)), 0x80000000u);
}

TEST_P(OwnMath, HasItsLimits) {
  for (const float x : {kInfinity, -kInfinity, 3.4e38f, -3.4e38f, 20.0f}) {
    const auto want = static_cast<float>(GetParam().truth(x));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(of(x))) << x;
    } else if (std::isinf(x) || want == 1.0f || want == -1.0f || want == 0.0f) {
      EXPECT_EQ(of(x), want) << x;
    }
  }
}

TEST_P(OwnMath, NeverFalls) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.005f);
  const std::vector<float> y = of(x);
  for (size_t i = 1; i < x.size(); ++i) {
    if (std::isnan(y[i - 1])) continue;
    EXPECT_GE(y[i], y[i - 1]) << GetParam().name << " at " << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, OwnMath, testing::Values(kTanh, kSigmoid, kExpm1, kLog1p, kErf),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(OwnMathAlone, TheRemainderIsExact) {
  const std::vector<float> values = {0.0f,      -0.0f,      1.0f,      -7.25f,      3.0f,     0.1f,
                                     1e30f,     3e38f,      1e-30f,    1e-38f,      1e-45f,   -1.3e-41f,
                                     kInfinity, -kInfinity, kNan,      16777217.0f, -1234.5f, 2.5e-7f,
                                     3.14159f,  1e10f,      0x1p-126f, 0x1.8p-127f, 255.75f,  6.0f};
  std::vector<float> x, y;
  for (const float a : values) {
    for (const float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const auto on_gpu = [](const std::vector<float>& all) {
    return from_vector(all, {static_cast<int64_t>(all.size())}, Options(DType::f32, "simulated"));
  };
  const std::vector<float> got = fmod(on_gpu(x), on_gpu(y)).to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const float want = std::fmod(x[i], y[i]);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got[i])) << x[i] << " mod " << y[i];
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want)) << x[i] << " mod " << y[i];
    }
  }
}

TEST(OwnMathAlone, TanhAndErfReachOne) {
  const Tensor x = from_vector(std::vector<float>{9.1f, -9.1f, 4.0f, -4.0f}, {4}, Options(DType::f32, "simulated"));
  EXPECT_EQ(tanh(x).to_vector<float>()[0], 1.0f);
  EXPECT_EQ(tanh(x).to_vector<float>()[1], -1.0f);
  EXPECT_EQ(erf(x).to_vector<float>()[2], 1.0f);
  EXPECT_EQ(erf(x).to_vector<float>()[3], -1.0f);
}

}  // namespace
}  // namespace tenon
