// How far the f32 functions are from the true values, over all floats: every 2003rd bit pattern, two million a
// function.

#include <bit>
#include <cstdio>
#include <random>

#include "tenon/codegen/functions.h"
#include "tenon/ir/library.h"
#include "tests/cpu/tile_support.h"

namespace tenon::backends::cpu {
namespace {

using ir::Op;

class TileAccuracy : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, TileAccuracy, testing::ValuesIn(target_names()), target_of);

constexpr uint32_t kEvery = 2003;

struct Function {
  Op op;
  double (*exact)(double);
};
/// Those of tenon/math that take one number.
const std::vector<Function>& functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> found;
    const auto note = [&]<Op kOp>() {
      if constexpr (ir::InLibrary<kOp, double>)
        if (codegen::is_function(kOp)) found.push_back({kOp, ir::library_of_one<kOp>});
    };
#define TENON_OP(name, ...) note.operator()<Op::name>();
#include "tenon/ir/ops.def"
    return found;
  }();
  return all;
}

/// The largest distance seen, and where.
struct Worst {
  double ulps = 0;
  float at = 0, power = 0;
  void see(double distance, float x, float y = 0) {
    if (!(distance <= ulps)) *this = {distance, x, y};
  }
};

Worst sweep(const Function& function, uint32_t first, uint64_t end, uint32_t every) {
  const TileFn run = tile_function(function.op, DType::f32);
  Worst worst;
  std::vector<float> in(kTile), out(kTile);
  for (uint64_t bits = first; bits < end;) {
    size_t n = 0;
    for (; n < kTile && bits < end; ++n, bits += every) in[n] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const void* from = in.data();
    run(out.data(), &from, n);
    for (size_t i = 0; i < n; ++i) worst.see(ulps(DType::f32, out[i], function.exact(in[i])), in[i]);
  }
  return worst;
}

TEST_P(TileAccuracy, FunctionsAreWithinTwoUlpsOfAllFloats) {
  for (const Function& function : functions()) {
    const Worst worst = sweep(function, 0, uint64_t{1} << 32, kEvery);
    std::printf("%-6s %-8s %.3f ulp at %g\n", GetParam().c_str(), std::string(ir::name(function.op)).c_str(),
                worst.ulps, static_cast<double>(worst.at));
    EXPECT_LE(worst.ulps, 2) << ir::name(function.op) << " at " << worst.at;
  }
}

// Where values matter most a random pattern rarely falls: densely between 1/4 and 4, and both signs.
TEST_P(TileAccuracy, FunctionsAreWithinTwoUlpsAroundOne) {
  for (const Function& function : functions()) {
    for (float sign : {1.0f, -1.0f}) {
      const auto first = std::bit_cast<uint32_t>(sign * 0.25f), last = std::bit_cast<uint32_t>(sign * 4.0f);
      const Worst worst = sweep(function, first, uint64_t{last} + 1, 61);
      EXPECT_LE(worst.ulps, 2) << ir::name(function.op) << " at " << worst.at;
    }
  }
}

TEST_P(TileAccuracy, PowersAreWithinTwoUlps) {
  const TileFn run = tile_function(Op::pow, DType::f32);
  std::mt19937_64 random(1);
  const auto bits = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  const auto between = [&](double low, double high) {
    return static_cast<float>(low + (high - low) * std::ldexp(static_cast<double>(random() >> 11), -53));
  };
  Worst worst;
  std::vector<float> a(kTile), b(kTile), out(kTile);
  for (int round = 0; round < 4000; ++round) {
    for (size_t i = 0; i < kTile; ++i) {
      switch (round % 4) {
        case 0: a[i] = bits(), b[i] = bits(); break;
        case 1: a[i] = between(0, 1000), b[i] = between(-20, 20); break;
        case 2: a[i] = between(0.9, 1.1), b[i] = between(-2000, 2000); break;
        default: a[i] = between(-20, 20), b[i] = std::floor(between(-10, 11)); break;
      }
    }
    const void* from[] = {a.data(), b.data()};
    run(out.data(), from, kTile);
    for (size_t i = 0; i < kTile; ++i)
      worst.see(ulps(DType::f32, out[i], std::pow(double{a[i]}, double{b[i]})), a[i], b[i]);
  }
  std::printf("%-6s pow      %.3f ulp at %g, %g\n", GetParam().c_str(), worst.ulps, static_cast<double>(worst.at),
              static_cast<double>(worst.power));
  EXPECT_LE(worst.ulps, 2) << worst.at << " to the " << worst.power;
}

float value(Op op, float x) {
  const void* from = &x;
  float out;
  tile_function(op, DType::f32)(&out, &from, 1);
  return out;
}

TEST_P(TileAccuracy, LimitsAreExact) {
  const float inf = INFINITY;
  for (const Function& function : functions()) {
    EXPECT_TRUE(std::isnan(value(function.op, NAN))) << ir::name(function.op);
    for (float x : {inf, -inf, 0.0f, -0.0f, 1.0f}) {
      const auto want = static_cast<float>(function.exact(x));
      const bool is_limit = std::isinf(x) || x == 0 || function.op == Op::log;
      if (!is_limit) continue;
      EXPECT_EQ(ulps(DType::f32, value(function.op, x), want), 0) << ir::name(function.op) << " of " << x;
    }
  }
  EXPECT_EQ(value(Op::exp, 88.72284f), inf);
  EXPECT_EQ(value(Op::exp, -104.0f), 0.0f);
  EXPECT_EQ(value(Op::exp, -103.9f), 1.4e-45f);
  EXPECT_EQ(value(Op::log1p, -1.0f), -inf);
  EXPECT_TRUE(std::isnan(value(Op::log1p, -1.5f)));
  EXPECT_TRUE(std::isnan(value(Op::log, -1e-45f)));
  EXPECT_EQ(value(Op::tanh, 10.0f), 1.0f);
  EXPECT_EQ(value(Op::erf, -4.0f), -1.0f);
  EXPECT_EQ(value(Op::expm1, -30.0f), -1.0f);
  for (Op op : {Op::expm1, Op::log1p, Op::tanh, Op::sin}) EXPECT_EQ(value(op, 1e-45f), 1e-45f) << ir::name(op);
}

}  // namespace
}  // namespace tenon::backends::cpu
