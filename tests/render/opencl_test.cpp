// What rendered kernels compute, on an OpenCL device, against plain C++.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels.h"
#include "opencl_runner.h"
#include "tenon/base/half.h"
#include "tenon/ir/philox.h"

namespace tenon::render {
namespace {

using ir::Op;

class OpenClKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_opencl().empty()) GTEST_SKIP() << why_no_opencl();
  }
};

template <typename T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<T, bool>) return Scalar::boolean;
  if constexpr (std::is_same_v<T, int32_t>) return Scalar::i32;
  if constexpr (std::is_same_v<T, uint32_t>) return Scalar::u32;
  if constexpr (std::is_same_v<T, int64_t>) return Scalar::i64;
  if constexpr (std::is_same_v<T, uint64_t>) return Scalar::u64;
  if constexpr (std::is_same_v<T, float>) return Scalar::f32;
  if constexpr (std::is_same_v<T, double>) return Scalar::f64;
}

template <typename T>
T expected(Op op, T a, T b, T count) {
  switch (op) {
    case Op::maximum: return a < b ? b : a;
    case Op::less: return static_cast<T>(a < b);
    case Op::equal: return static_cast<T>(a == b);
    case Op::where: return a < b ? a : b;
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::neg: return -a;
      case Op::abs: return std::abs(a);
      case Op::add: return a + b;
      case Op::mul: return a * b;
      case Op::div: return a / b;
      case Op::mod: return std::fmod(a, b);
      case Op::sqrt: return std::sqrt(a);
      case Op::exp: return std::exp(a);
      case Op::expm1: return std::expm1(a);
      case Op::log: return std::log(a);
      case Op::log2: return std::log2(a);
      case Op::log1p: return std::log1p(a);
      case Op::sin: return std::sin(a);
      case Op::cos: return std::cos(a);
      case Op::tanh: return std::tanh(a);
      case Op::erf: return std::erf(a);
      case Op::floor: return std::floor(a);
      case Op::round: return std::nearbyint(a);
      case Op::pow: return std::pow(a, b);
      default: break;
    }
  } else {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // wraps; on bytes that are truths as well
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    switch (op) {
      case Op::neg: return static_cast<T>(U{0} - x);
      case Op::abs: return a < T{0} ? static_cast<T>(U{0} - x) : a;
      case Op::add: return static_cast<T>(x + y);
      case Op::mul: return static_cast<T>(x * y);
      case Op::div:
      case Op::idiv: return static_cast<T>(a / b);
      case Op::mod: return static_cast<T>(a % b);
      case Op::bit_and: return static_cast<T>(x & y);
      case Op::bit_or: return static_cast<T>(x | y);
      case Op::bit_xor: return static_cast<T>(x ^ y);
      case Op::shl: return static_cast<T>(x << static_cast<U>(count));
      case Op::shr: return static_cast<T>(a >> count);
      default: break;
    }
  }
  ADD_FAILURE() << "no expectation of " << ir::name(op);
  return T{};
}

template <typename T>
void expect_ops(const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& counts, Scalar type) {
  const std::vector<Op> ops = ops_of(type);
  const size_t n = a.size();
  Launch launch{.buffers = {bytes_of(a), bytes_of(b), bytes_of(counts), Bytes(ops.size() * n * sizeof(T))},
                .numbers = {n},
                .blocks = {2, 1, 1}};
  run_on_opencl(ops_kernel(type, ops), launch);
  const std::vector<T> got = values_of<T>(launch.buffers[3]);
  for (size_t k = 0; k < ops.size(); ++k) {
    for (size_t i = 0; i < n; ++i) {
      SCOPED_TRACE(fmt::format("{} of {} and {} (count {})", ir::name(ops[k]), a[i], b[i], counts[i]));
      const T want = expected(ops[k], a[i], b[i], counts[i]), is = got[k * n + i];
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(is)) << is;
        } else if (std::isinf(want) || ir::info(ops[k]).kind != ir::Kind::unary) {
          if (ops[k] == Op::pow) {
            EXPECT_NEAR(is / want, 1, 16 * std::numeric_limits<T>::epsilon());
          } else {
            EXPECT_EQ(is, want);
          }
        } else {
          EXPECT_NEAR(is, want, 4 * std::numeric_limits<T>::epsilon() * std::max(std::abs(want), T{1e-3}));
        }
      } else {
        EXPECT_EQ(is, want);
      }
    }
  }
}

template <typename T>
void expect_integer_ops() {
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const T minus = static_cast<T>(T{0} - T{7});
  const T lowest_divisor = kLow == 0 ? T{1} : kLow;  // x86 traps on a division by 0, here and in the kernel
  expect_ops<T>({0, 1, 12345, kHigh, kLow, minus, kHigh, kLow}, {3, 1, minus, kHigh, lowest_divisor, 2, 2, 5},
                {0, 1, 5, 31, 31, 2, 1, 30}, scalar_of<T>());
}

TEST_F(OpenClKernels, IntegersWrapInAllFourTypes) {
  expect_integer_ops<int32_t>();
  expect_integer_ops<uint32_t>();
  expect_integer_ops<int64_t>();
  expect_integer_ops<uint64_t>();
}

TEST_F(OpenClKernels, FloatOpsAreThoseOfTheLibrary) {
  const auto expect = [](auto zero) {
    using T = decltype(zero);
    expect_ops<T>({0.5, 1, 2.25, 10, T(0.1), 3, T(1e-4), -2, T(-0.3)}, {2, 3, T(-0.7), T(0.3), 4, 3, 1, 2, 7},
                  std::vector<T>(9, 0), scalar_of<T>());
  };
  expect(0.0f);
  expect(0.0);
}

TEST_F(OpenClKernels, OpsOnTruthsAreLogical) {
  // Bytes hold them.
  expect_ops<uint8_t>({0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 0}, Scalar::boolean);
}

template <typename From, typename To>
void expect_bits(const std::vector<From>& from, const Bytes& got, Op op) {
  for (size_t i = 0; i < from.size(); ++i) {
    To is{}, want{};
    std::memcpy(&is, got.data() + i * sizeof(To), sizeof(To));
    if (op == Op::bitcast) {
      std::memcpy(&want, &from[i], sizeof(To));
    } else {
      want = static_cast<To>(from[i]);
    }
    EXPECT_EQ(std::memcmp(&is, &want, sizeof(To)), 0)  // of bits, as NaNs differ from themselves
        << is << " for " << want << ", " << name(scalar_of<From>()) << " " << from[i] << " to "
        << name(scalar_of<To>());
  }
}

template <typename From, typename... To>
void expect_casts(std::vector<From> from, Op op) {
  from.resize(16);
  Launch launch{.buffers = {bytes_of(from), Bytes(16 * sizeof(To))...}};
  run_on_opencl(casts_kernel(scalar_of<From>(), {scalar_of<To>()...}, op), launch);
  size_t k = 1;
  (expect_bits<From, To>(from, launch.buffers[k++], op), ...);
}

template <typename From>
void expect_casts_to_all(const std::vector<From>& from) {
  expect_casts<From, bool, int32_t, uint32_t, int64_t, uint64_t, float, double>(from, Op::cast);
}

TEST_F(OpenClKernels, CastsFromAndToAllTypes) {
  expect_casts_to_all<int32_t>({0, 1, 77, -3, INT32_MIN, INT32_MAX, 16777217});
  expect_casts_to_all<uint32_t>({0, 1, 77, UINT32_MAX, 16777217, 16777219});
  expect_casts_to_all<int64_t>({0, 1, -3, INT64_MIN, INT64_MAX, 16777217, (int64_t{1} << 53) + 1});
  expect_casts_to_all<uint64_t>({0, 1, UINT64_MAX, uint64_t{1} << 32, (uint64_t{1} << 53) + 3});
  expect_casts_to_all<float>({0, 1, 2.5f, 77.9f, 1e9f});
  expect_casts_to_all<double>({0, 1, 2.5, 77.9, 0.1, 1e9, 1 / 3.0});
}

TEST_F(OpenClKernels, TruthsCastToZeroAndOne) {
  Bytes truths(16);
  truths[1] = truths[5] = 1;
  Launch launch{.buffers = {truths, Bytes(64), Bytes(128)}};
  run_on_opencl(casts_kernel(Scalar::boolean, {Scalar::f32, Scalar::i64}, Op::cast), launch);
  EXPECT_EQ(values_of<float>(launch.buffers[1])[1], 1);
  EXPECT_EQ(values_of<float>(launch.buffers[1])[2], 0);
  EXPECT_EQ(values_of<int64_t>(launch.buffers[2])[5], 1);
}

TEST_F(OpenClKernels, BitcastsKeepTheBits) {
  expect_casts<float, int32_t, uint32_t, float>({0, 1, -2.5f, 1e-40f}, Op::bitcast);
  expect_casts<int32_t, int32_t, uint32_t, float>({0, 1, -1000, 0x3f800000}, Op::bitcast);
  expect_casts<uint32_t, int32_t, uint32_t, float>({0, 1, 0x80000000, 0x3f800000}, Op::bitcast);
  expect_casts<double, int64_t, uint64_t, double>({0, 1, -2.5, 1e-310}, Op::bitcast);
  expect_casts<int64_t, int64_t, uint64_t, double>({0, 1, -1000, 0x3ff0000000000000}, Op::bitcast);
  expect_casts<uint64_t, int64_t, uint64_t, double>({0, 1, uint64_t{1} << 63, 0x3ff0000000000000}, Op::bitcast);
}

TEST_F(OpenClKernels, CopyInAllWidthsOfAllElements) {
  for (const Scalar element : kElementTypes) {
    const size_t size = size_of(element);
    Bytes from(32 * size), want;
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<uint8_t>(element == Scalar::boolean ? i % 3 == 0 : 1 + i * 7 % 100);
    for (size_t copy = 0; copy < 6; ++copy) want.insert(want.end(), from.begin(), from.end());
    for (size_t i = 4 * 32 + 1; i < 6 * 32; i += 2) std::fill_n(&want[i * size], size, uint8_t{0});
    Launch launch{.buffers = {from, Bytes(6 * 32 * size)}};
    run_on_opencl(copy_kernel(element), launch);
    EXPECT_EQ(launch.buffers[1], want) << name(element);
  }
}

template <typename T>
void expect_constants(const std::vector<T>& values) {
  std::vector<uint64_t> bits;
  for (const T value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      bits.push_back(std::bit_cast<uint64_t>(static_cast<double>(value)));
    } else {
      bits.push_back(static_cast<uint64_t>(value));
    }
  }
  Launch launch{.buffers = {Bytes(values.size() * sizeof(T))}};
  run_on_opencl(constants_kernel(scalar_of<T>(), bits), launch);
  EXPECT_EQ(launch.buffers[0], bytes_of(values)) << name(scalar_of<T>());
}

TEST_F(OpenClKernels, ConstantsAreExact) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  expect_constants<float>({0, -0.0f, 0.1f, -1 / 3.0f, 3e38f, 1e-45f, 1e7f, kInf, -kInf, 999999, -5});
  expect_constants<double>({0, -0.0, 0.1, -1 / 3.0, 1e308, 5e-324, 1e15, INFINITY, -INFINITY});
  expect_constants<int32_t>({0, -1, INT32_MIN, INT32_MAX});
  expect_constants<uint32_t>({0, 1, UINT32_MAX});
  expect_constants<int64_t>({0, -1, INT64_MIN, INT64_MAX, INT32_MIN});
  expect_constants<uint64_t>({0, 1, UINT64_MAX});
}

TEST_F(OpenClKernels, ANanStaysOne) {
  Launch launch{.buffers = {Bytes(8)}};
  run_on_opencl(constants_kernel(Scalar::f32, {std::bit_cast<uint64_t>(std::nan("")), 0}), launch);
  EXPECT_TRUE(std::isnan(values_of<float>(launch.buffers[0])[0]));
}

TEST_F(OpenClKernels, LoopsBranchesSharedMemoryAndVariables) {
  std::vector<float> x(64);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i + 1);
  Launch launch{.buffers = {bytes_of(x), Bytes(256)}};
  run_on_opencl(control_kernel(), launch);
  const auto y = values_of<float>(launch.buffers[1]);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], 2080 - x[i]);
}

TEST_F(OpenClKernels, ArraysHoldEveryElementType) {
  for (const Scalar element : kElementTypes) {
    const size_t size = size_of(element);
    Bytes from(16 * size), want(16 * size);
    for (size_t i = 0; i < 16; ++i) {
      from[i * size] = static_cast<uint8_t>(element == Scalar::boolean ? i % 3 == 0 : i);
      want[(15 - i) * size] = from[i * size];
    }
    Launch launch{.buffers = {from, Bytes(16 * size)}};
    run_on_opencl(arrays_kernel(element), launch);
    EXPECT_EQ(launch.buffers[1], want) << name(element);
  }
}

TEST_F(OpenClKernels, SharedMemoryIsReadAndWrittenInVectors) {
  for (const uint32_t width : {2u, 4u}) {
    std::vector<float> x(16), want;
    for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    for (size_t vector = 16 / width; vector-- > 0;)
      for (size_t i = 0; i < width; ++i) want.push_back(x[vector * width + i]);
    Launch launch{.buffers = {bytes_of(x), Bytes(64)}};
    run_on_opencl(vectors_kernel(Scalar::f32, width), launch);
    EXPECT_EQ(values_of<float>(launch.buffers[1]), want);
  }
}

// z is i - j / 8 at (i, j), which 16 bits hold.
TEST_F(OpenClKernels, MatrixTilesMultiply) {
  if (!has_matrix_tiles()) GTEST_SKIP() << "no matrix tiles";
  for (const bool is_bf16 : {false, true}) {
    for (const bool turns_left : {false, true}) {
      for (const bool turns_right : {false, true}) {
        std::vector<uint16_t> x(256), z(256);
        const auto half = [&](double value) {
          return is_bf16 ? base::double_to_bf16(value) : base::double_to_f16(value);
        };
        std::vector<float> want(256);
        for (size_t i = 0; i < 16; ++i) {
          // The left factor moves rows: row i of y is 2 times row (i + 3) % 16 of z.
          x[turns_left ? (i + 3) % 16 * 16 + i : i * 16 + (i + 3) % 16] = half(2);
          for (size_t j = 0; j < 16; ++j) {
            z[turns_right ? j * 16 + i : i * 16 + j] = half(static_cast<double>(i) - static_cast<double>(j) / 8);
            want[i * 16 + j] = 2 * (static_cast<float>((i + 3) % 16) - static_cast<float>(j) / 8);
          }
        }
        Launch launch{.buffers = {bytes_of(x), bytes_of(z), Bytes(1024)}};
        run_on_opencl(tile_kernel(is_bf16, turns_left, turns_right), launch);
        EXPECT_EQ(values_of<float>(launch.buffers[2]), want) << is_bf16 << turns_left << turns_right;
      }
    }
  }
}

TEST_F(OpenClKernels, FmaRoundsOnceAndAProductWithASumTwice) {
  // (1 + e) (1 - e) - 1 is -e^2, which a product alone rounds away.
  constexpr float e = 0x1p-13f;
  Launch launch{.buffers = {bytes_of<float>({1 + e, 1 - e, -1}), Bytes(8)}};
  run_on_opencl(fma_kernel(Scalar::f32), launch);
  EXPECT_EQ(values_of<float>(launch.buffers[1]), (std::vector<float>{-e * e, 0}));
  constexpr double d = 0x1p-30;
  Launch wide{.buffers = {bytes_of<double>({1 + d, 1 - d, -1}), Bytes(16)}};
  run_on_opencl(fma_kernel(Scalar::f64), wide);
  EXPECT_EQ(values_of<double>(wide.buffers[1]), (std::vector<double>{-d * d, 0}));
}

TEST_F(OpenClKernels, PhiloxAndUpperHalves) {
  std::vector<uint32_t> x(16), y(16);
  for (uint32_t i = 0; i < 16; ++i) {
    x[i] = 0x9E3779B9u * (i + 1);
    y[i] = 0xBB67AE85u * (i + 3);
  }
  Launch launch{.buffers = {bytes_of(x), bytes_of(y), Bytes(128)}};
  run_on_opencl(words_kernel(), launch);
  const auto got = values_of<uint32_t>(launch.buffers[2]);
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(got[2 * i], static_cast<uint32_t>(uint64_t{x[i]} * y[i] >> 32));
    EXPECT_EQ(got[2 * i + 1], ir::philox(uint64_t{y[i]} << 32 | x[i], uint64_t{7} << 32 | i)[i % 4]);
  }
}

TEST_F(OpenClKernels, AllHalvesUnpackAndNeighboursRound) {
  std::vector<uint32_t> bits(65536);
  std::vector<float> x(65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    bits[i] = i;
    // Every 65,521st float from 0 on: both signs, all exponents, infinities and NaNs.
    x[i] = std::bit_cast<float>(i * 65521u + (i << 4));
  }
  x[1] = 65519.99f, x[2] = 65520.0f, x[3] = 0x1p-25f, x[4] = 0x1.8p-25f, x[5] = INFINITY, x[6] = 1.0f + 0x1p-11f;
  Launch launch{.buffers = {bytes_of(x), bytes_of(bits), Bytes(4 * 65536), Bytes(4 * 65536)}, .blocks = {1024, 1, 1}};
  run_on_opencl(half_kernel(), launch);
  const auto packed = values_of<uint32_t>(launch.buffers[2]);
  const auto back = values_of<float>(launch.buffers[3]);
  for (uint32_t i = 0; i < 65536; ++i) {
    const float value = static_cast<float>(base::f16_to_double(static_cast<uint16_t>(i)));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(back[i])) << i;
    } else {
      ASSERT_EQ(back[i], value) << i;
    }
    if (std::isnan(x[i])) {
      ASSERT_GT(packed[i] & 0x7fff, 0x7c00) << i;
    } else {
      ASSERT_EQ(packed[i], base::double_to_f16(x[i])) << x[i];
    }
  }
}

TEST_F(OpenClKernels, ShufflesAddASubgroup) {
  if (!has_shuffles()) GTEST_SKIP() << "this OpenCL device has no subgroups";
  std::vector<float> x(64);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i < 32 ? 1 : i);
  Launch launch{.buffers = {bytes_of(x), Bytes(256), Bytes(256), Bytes(256)}};
  run_on_opencl(shuffle_kernel(), launch);
  const auto y = values_of<float>(launch.buffers[1]);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i < 32 ? 32 : 1520);
  EXPECT_EQ(values_of<int32_t>(launch.buffers[2])[4], 5);
  EXPECT_EQ(values_of<uint32_t>(launch.buffers[3])[4], 6);
}

TEST_F(OpenClKernels, TheFirstFaultStays) {
  const std::vector<float> x{0, 10, 20, 30, 40, 50, 60, 70};
  Launch launch{.buffers = {bytes_of(x), bytes_of<int64_t>({1, -5, 7, 2}), Bytes(16)}};
  run_on_opencl(fault_kernel(), launch);
  EXPECT_EQ(values_of<float>(launch.buffers[2]), (std::vector<float>{10, 0, 70, 20}));
  EXPECT_EQ(launch.faults, (std::array<int32_t, 8>{1, static_cast<int>(Op::gather), 2, -5, -1, 8, 0, 0}));
  launch.buffers[1] = bytes_of<int64_t>({1, 99, 7, 2});
  run_on_opencl(fault_kernel(), launch);
  EXPECT_EQ(launch.faults[3], -5);
}

TEST_F(OpenClKernels, GuardedKernelsDoNothingAfterAFault) {
  Launch launch{.buffers = {bytes_of<int32_t>(std::vector<int32_t>(16, 4)), Bytes(64)}, .blocks = {2, 2, 2}};
  launch.faults[0] = 1;
  run_on_opencl(grid_kernel(), launch);
  EXPECT_EQ(values_of<int32_t>(launch.buffers[1]), std::vector<int32_t>(16, 5));
  launch.buffers[1] = Bytes(64);
  launch.guards = true;
  run_on_opencl(grid_kernel(), launch);
  EXPECT_EQ(values_of<int32_t>(launch.buffers[1]), std::vector<int32_t>(16, 0));
}

}  // namespace
}  // namespace tenon::render
