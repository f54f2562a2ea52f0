// Random numbers: the bits of Philox, streams and seeds, and distributions within five standard deviations.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tenon/backends/reference/reference_device.h"
#include "tenon/device/registry.h"
#include "tenon/ir/philox.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;
using Block = std::array<uint32_t, 4>;

Reals reals(const Tensor& x) { return x.to_vector<double>(); }
Wholes wholes(const Tensor& x) { return x.to_vector<int64_t>(); }

// ---- Philox ----

// Philox 4x32-10 written from the paper, with the whole counter and key.
Block philox_of_the_paper(Block counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t{0xD2511F53u} * counter[0], right = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(right),
               static_cast<uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(left)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// kat_vectors of Random123, philox4x32 10.
TEST(Random, ThePapersPhiloxGivesTheKnownAnswers) {
  EXPECT_EQ(philox_of_the_paper({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_of_the_paper({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_of_the_paper({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, PhiloxIsThatOfThePaper) {
  EXPECT_EQ(ir::philox(0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0x299f31d0a4093822}, ~uint64_t{0}}) {
    for (uint64_t counter : {uint64_t{0}, uint64_t{1}, uint64_t{0x85a308d3243f6a88}, ~uint64_t{0}}) {
      const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
      const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
      EXPECT_EQ(ir::philox(seed, counter),
                philox_of_the_paper({low(counter), high(counter), 0, 0}, {low(seed), high(seed)}));
    }
  }
}

std::vector<uint32_t> words(const Tensor& bits) {
  std::vector<uint32_t> seen;
  for (int32_t word : bits.to_vector<int32_t>()) seen.push_back(static_cast<uint32_t>(word));
  return seen;
}

TEST(Random, AGeneratorGivesTheStreamWordByWord) {
  Generator generator(0);
  EXPECT_EQ(words(generator.bits(4, Device())),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  Generator other(0x123456789abcdef0);
  const auto drawn = words(other.bits(10, Device()));
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], ir::philox_word(0x123456789abcdef0, i));
}

TEST(Random, EveryDrawStartsOnABlockOfItsOwn) {
  Generator generator(7);
  generator.bits(5, Device());
  EXPECT_EQ(words(generator.bits(2, Device())), (std::vector<uint32_t>{ir::philox_word(7, 8), ir::philox_word(7, 9)}));
}

// ---- streams ----

TEST(Random, TheSameSeedGivesTheSameBits) {
  manual_seed(42);
  const Reals u = reals(rand({100})), n = reals(randn({100})), p = reals(randperm(50));
  manual_seed(42);
  EXPECT_EQ(reals(rand({100})), u);
  EXPECT_EQ(reals(randn({100})), n);
  EXPECT_EQ(reals(randperm(50)), p);
}

TEST(Random, DifferentSeedsAndDifferentDrawsDiffer) {
  manual_seed(1);
  const Reals first = reals(rand({100})), second = reals(rand({100}));
  manual_seed(2);
  const Reals other = reals(rand({100}));
  EXPECT_NE(first, second);
  EXPECT_NE(first, other);
  manual_seed(uint64_t{1} << 32);  // the upper half of the seed counts
  EXPECT_NE(reals(rand({100})), first);
  manual_seed(0);
  EXPECT_NE(reals(rand({100})), first);
}

TEST(Random, DrawsAreTakenWhenRecordedNotWhenRead) {
  manual_seed(3);
  const Tensor a = rand({8}), b = rand({8});
  const Reals late = reals(b), early = reals(a);
  manual_seed(3);
  EXPECT_EQ(reals(rand({8})), early);
  EXPECT_EQ(reals(rand({8})), late);
}

TEST(Random, ALazyDrawSurvivesANewSeed) {
  manual_seed(4);
  const Reals expected = reals(rand({8}));
  manual_seed(4);
  const Tensor lazy = rand({8});
  manual_seed(5);
  rand({8}).eval();
  EXPECT_EQ(reals(lazy), expected);
  EXPECT_EQ(reals(lazy), expected);
}

TEST(Random, GeneratorsAreIndependent) {
  Generator a(9), b(9);
  manual_seed(9);
  const Reals first = reals(rand({8}, {}, &a));
  EXPECT_NE(reals(rand({8}, {}, &a)), first);  // a goes on
  EXPECT_EQ(reals(rand({8}, {}, &b)), first);  // b does not notice
  EXPECT_EQ(reals(rand({8})), first);          // nor does the default one
  a.manual_seed(9);
  EXPECT_EQ(reals(rand({8}, {}, &a)), first);
  EXPECT_EQ(a.seed(), 9u);
}

TEST(Random, EveryFunctionTakesAGenerator) {
  const auto draws = [](uint64_t seed) {
    Generator g(seed);
    const Tensor half = full({16}, 0.5);
    return std::vector<Reals>{reals(rand({16}, {}, &g)),
                              reals(randn({16}, {}, &g)),
                              reals(randint(0, 1000, {16}, {}, &g)),
                              reals(randperm(16, {}, &g)),
                              reals(bernoulli(half, &g)),
                              reals(multinomial(half, 8, false, &g)),
                              reals(multinomial(half, 16, true, &g)),
                              reals(rand_like(half, &g)),
                              reals(randn_like(half, &g)),
                              reals(nn::dropout(half, 0.5, true, &g))};
  };
  manual_seed(1);
  const auto first = draws(5);
  manual_seed(2);  // the default generator plays no part
  EXPECT_EQ(draws(5), first);
  EXPECT_NE(draws(6), first);
}

TEST(Random, AnotherDeviceDrawsTheSameNumbers) {
  static const Device other = device::add({"reference_for_random", backends::reference::open});
  manual_seed(11);
  const Reals here = reals(rand({16})), normal_here = reals(randn({16}));
  manual_seed(11);
  EXPECT_EQ(reals(rand({16}, other)), here);
  const Reals normal_there = reals(randn({16}, other));  // logarithms and cosines are each device's own
  for (size_t i = 0; i < normal_here.size(); ++i) EXPECT_NEAR(normal_there[i], normal_here[i], 1e-6);
}

// ---- uniform ----

TEST(Random, NormalNumbersOfAnotherDeviceAreTheSameToTheirLastDigits) {
  for (const auto& [dtype, nearness] : {std::pair(DType::f32, 1e-6), std::pair(DType::f64, 4e-15)}) {
    const auto drawn = [&, type = dtype](const char* device) {
      Generator generator(11);
      return randn({20000}, Options(type, device), &generator).to_vector<double>();
    };
    const std::vector<double> here = drawn("cpu"), there = drawn("reference");
    double furthest = 0;
    for (size_t i = 0; i < here.size(); ++i)
      furthest = std::max(furthest, std::fabs(here[i] - there[i]) / std::max(1.0, std::fabs(there[i])));
    EXPECT_LE(furthest, nearness) << name(dtype);
  }
}

TEST(Random, UniformNumbersLieInZeroToOne) {
  manual_seed(21);
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const Reals drawn = reals(rand({50000}, dtype));
    EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 0) << name(dtype);
    EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), 1) << name(dtype);
  }
}

// The largest word gives the largest number below 1, so no draw can ever round up to 1.
TEST(Random, UniformNumbersAreTheTopBitsOfTheirWords) {
  const std::pair<DType, int> fractions[] = {{DType::f32, 24}, {DType::f16, 11}, {DType::bf16, 8}};
  for (const auto& [dtype, bits] : fractions) {
    Generator generator(22);
    const Reals drawn = reals(rand({1000}, dtype, &generator));
    for (size_t i = 0; i < drawn.size(); ++i) {
      ASSERT_EQ(drawn[i], std::ldexp(ir::philox_word(22, i) >> (32 - bits), -bits)) << name(dtype);
    }
  }
}

TEST(Random, UniformNumbersOf16BitsReachTheirLargestValue) {
  manual_seed(23);
  const Reals half = reals(rand({50000}, DType::f16)), brain = reals(rand({50000}, DType::bf16));
  EXPECT_EQ(*std::max_element(half.begin(), half.end()), 2047.0 / 2048);
  EXPECT_EQ(*std::max_element(brain.begin(), brain.end()), 255.0 / 256);
  EXPECT_EQ(*std::min_element(brain.begin(), brain.end()), 0);
}

TEST(Random, UniformF64UsesMoreThan32Bits) {
  manual_seed(24);
  for (double value : reals(rand({100}, DType::f64))) {
    const double scaled = std::ldexp(value, 53);
    EXPECT_EQ(scaled, std::floor(scaled));
  }
  std::set<double> low_bits;
  for (double value : reals(rand({100}, DType::f64))) low_bits.insert(std::fmod(std::ldexp(value, 32), 1.0));
  EXPECT_GT(low_bits.size(), 90u);
}

struct Moments {
  double mean = 0, variance = 0, third = 0, fourth = 0;  // the last two about the mean
};

Moments moments(const Reals& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (double x : values) m.mean += x / n;
  for (double x : values) {
    const double d = x - m.mean;
    m.variance += d * d / n;
    m.third += d * d * d / n;
    m.fourth += d * d * d * d / n;
  }
  return m;
}

double lag_correlation(const Reals& values) {
  const Moments m = moments(values);
  double total = 0;
  for (size_t i = 0; i + 1 < values.size(); ++i) total += (values[i] - m.mean) * (values[i + 1] - m.mean);
  return total / (static_cast<double>(values.size() - 1) * m.variance);
}

TEST(Random, UniformMoments) {
  manual_seed(25);
  constexpr double n = 40000;
  for (DType dtype : {DType::f32, DType::f64}) {
    const Reals values = reals(rand({static_cast<int64_t>(n)}, dtype));
    const Moments m = moments(values);
    EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1 / 12.0 / n));
    EXPECT_NEAR(m.variance, 1 / 12.0, 5 * std::sqrt(1 / 180.0 / n));
    EXPECT_NEAR(lag_correlation(values), 0, 5 / std::sqrt(n));
  }
}

TEST(Random, UniformNumbersFillEveryTenthEvenly) {
  manual_seed(26);
  constexpr double n = 40000;
  std::array<double, 10> counts{};
  for (double value : reals(rand({static_cast<int64_t>(n)}))) ++counts[static_cast<size_t>(value * 10)];
  for (double count : counts) EXPECT_NEAR(count, n / 10, 5 * std::sqrt(n * 0.1 * 0.9));
}

TEST(Random, NormalMoments) {
  manual_seed(27);
  constexpr double n = 40000;
  for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
    const Reals values = reals(randn({200, 200}, dtype));
    const Moments m = moments(values);
    EXPECT_NEAR(m.mean, 0, 5 / std::sqrt(n)) << name(dtype);
    EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2 / n)) << name(dtype);
    EXPECT_NEAR(m.third, 0, 5 * std::sqrt(15 / n)) << name(dtype);
    EXPECT_NEAR(m.fourth, 3, 5 * std::sqrt(96 / n)) << name(dtype);
    EXPECT_NEAR(lag_correlation(values), 0, 5 / std::sqrt(n)) << name(dtype);
  }
}

TEST(Random, NormalTails) {
  manual_seed(28);
  constexpr double n = 40000;
  double beyond_one = 0, beyond_two = 0, positive = 0;
  for (double value : reals(randn({static_cast<int64_t>(n)}))) {
    beyond_one += std::fabs(value) > 1;
    beyond_two += std::fabs(value) > 2;
    positive += value > 0;
  }
  const auto within = [&](double count, double p) { EXPECT_NEAR(count, n * p, 5 * std::sqrt(n * p * (1 - p))); };
  within(beyond_one, 0.317310507863);
  within(beyond_two, 0.045500263896);
  within(positive, 0.5);
}

TEST(Random, ScalarsAndEmptyShapes) {
  EXPECT_EQ(rand({}).shape(), Dims{});
  EXPECT_EQ(randn({0, 3}).shape(), (Dims{0, 3}));
  EXPECT_TRUE(reals(rand({0})).empty());
  EXPECT_EQ(randint(0, 5, {2, 2}).shape(), (Dims{2, 2}));
}

// ---- integers ----

TEST(Random, RandintIsEvenOverItsRange) {
  manual_seed(31);
  constexpr double n = 30000;
  std::array<double, 7> counts{};
  const Tensor drawn = randint(-3, 4, {static_cast<int64_t>(n)});
  EXPECT_EQ(drawn.dtype(), DType::i64);
  for (int64_t value : wholes(drawn)) {
    ASSERT_GE(value, -3);
    ASSERT_LT(value, 4);
    ++counts[static_cast<size_t>(value + 3)];
  }
  for (double count : counts) EXPECT_NEAR(count, n / 7, 5 * std::sqrt(n / 7 * 6 / 7));
}

TEST(Random, RandintOfOneValueAndOfManyBits) {
  EXPECT_EQ(wholes(randint(5, 6, {3})), Wholes({5, 5, 5}));
  manual_seed(32);
  const Wholes wide = wholes(randint(0, int64_t{1} << 31, {10000}));
  EXPECT_LT(*std::max_element(wide.begin(), wide.end()), int64_t{1} << 31);
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), (int64_t{1} << 31) / 100 * 99);
  EXPECT_GE(*std::min_element(wide.begin(), wide.end()), 0);
  const Wholes far = wholes(randint(int64_t{1} << 60, (int64_t{1} << 60) + 3, {100}));
  for (int64_t value : far) EXPECT_TRUE(value >= int64_t{1} << 60 && value < (int64_t{1} << 60) + 3);
}

TEST(Random, RandintTakesADtype) {
  EXPECT_EQ(randint(0, 5, {2}, DType::u8).dtype(), DType::u8);
  EXPECT_EQ(randint(0, 5, {2}, DType::f32).dtype(), DType::f32);
}

TEST(Random, RandpermIsAPermutation) {
  manual_seed(33);
  for (int64_t n : {0, 1, 2, 10, 1000, 20000, 140000}) {
    Wholes order = wholes(randperm(n));
    std::sort(order.begin(), order.end());
    Wholes counted(static_cast<size_t>(n));
    std::iota(counted.begin(), counted.end(), int64_t{0});
    EXPECT_EQ(order, counted);
  }
  EXPECT_EQ(randperm(3, DType::i32).dtype(), DType::i32);
  EXPECT_NE(wholes(randperm(100)), wholes(randperm(100)));
}

TEST(Random, EveryPermutationOfThreeIsEquallyLikely) {
  manual_seed(34);
  constexpr double n = 3000;
  std::map<Wholes, double> counts;
  for (int i = 0; i < static_cast<int>(n); ++i) ++counts[wholes(randperm(3))];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, n / 6, 5 * std::sqrt(n / 6 * 5 / 6));
}

// ---- bernoulli and multinomial ----

TEST(Random, BernoulliFollowsItsProbabilities) {
  manual_seed(41);
  constexpr double n = 20000;
  for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
    for (double p : {0.0, 0.125, 0.5, 0.875, 1.0}) {
      const Tensor drawn = bernoulli(full({static_cast<int64_t>(n)}, p, dtype));
      EXPECT_EQ(drawn.dtype(), dtype);
      EXPECT_NEAR(sum(drawn.to(DType::f64)).item<double>(), n * p, 5 * std::sqrt(n * p * (1 - p)));
    }
  }
}

TEST(Random, BernoulliTakesNoGradient) {
  Tensor p = full({4}, 0.5).requires_grad_();
  EXPECT_FALSE(bernoulli(p).requires_grad());
}

TEST(Random, MultinomialWithReplacementFollowsItsWeights) {
  manual_seed(42);
  constexpr double n = 20000;
  const Tensor weights = tensor({0.0, 1.0, 3.0, 0.0, 4.0, 0.0});
  const Tensor drawn = multinomial(weights, static_cast<int64_t>(n), true);
  EXPECT_EQ(drawn.dtype(), DType::i64);
  EXPECT_EQ(drawn.shape(), (Dims{static_cast<int64_t>(n)}));
  std::array<double, 6> counts{};
  for (int64_t category : wholes(drawn)) ++counts[static_cast<size_t>(category)];
  for (size_t i : {0, 3, 5}) EXPECT_EQ(counts[i], 0) << "a category of weight 0";
  for (const auto& [i, p] : {std::pair<size_t, double>{1, 0.125}, {2, 0.375}, {4, 0.5}}) {
    EXPECT_NEAR(counts[i], n * p, 5 * std::sqrt(n * p * (1 - p)));
  }
}

TEST(Random, WhatNothingCanBeDrawnByIsRefused) {
  for (const char* name : {"cpu", "remote", "simulated"}) {
    const auto weights = [&](std::vector<double> values) {
      return from_vector(values, {1, 2}, Options(DType::f32, Device(name)));
    };
    const std::string bad = "[multinomial] a weight is negative, infinite or NaN";
    for (const bool replacement : {true, false}) {
      const auto text = [&](const Tensor& w) { return text_of([&] { multinomial(w, 1, replacement); }); };
      EXPECT_EQ(text(weights({1, -1})), bad) << name;
      EXPECT_EQ(text(weights({1, 0}) / 0.0), bad) << name;
      EXPECT_EQ(text(softmax(weights({1, INFINITY}), 1)), bad) << name;
      EXPECT_EQ(text(cat({weights({1, 1}), weights({0, 0})})), "[multinomial] the weights of a draw sum to 0") << name;
    }
    for (const double p : {-0.5, 1.5, static_cast<double>(NAN)})
      EXPECT_EQ(text_of([&] { bernoulli(weights({0.5, p})); }), "[bernoulli] a probability does not lie in 0..1") << p;
  }
}

TEST(Random, MultinomialTakesARowOfWeightsEach) {
  manual_seed(43);
  const Tensor drawn = multinomial(tensor({{1.0, 0.0, 0.0}, {0.0, 0.0, 5.0}}), 4, true);
  EXPECT_EQ(drawn.shape(), (Dims{2, 4}));
  EXPECT_EQ(wholes(drawn), Wholes({0, 0, 0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(multinomial(tensor({1.0, 1.0}, DType::f16), 1).dtype(), DType::i64);
}

// Drawing two of three without replacement: P(i first) = w_i, P(j second) = w_j / (1 - w_i).
TEST(Random, MultinomialWithoutReplacementFollowsItsWeights) {
  manual_seed(44);
  constexpr int64_t kRows = 20000;
  const double n = kRows, w[] = {0.2, 0.3, 0.5};
  const Wholes drawn = wholes(multinomial(tensor({2.0, 3.0, 5.0, 0.0}).expand({kRows, 4}), 2));
  double pairs[3][3] = {};
  for (size_t row = 0; row < kRows; ++row) {
    const int64_t first = drawn[2 * row], second = drawn[2 * row + 1];
    ASSERT_NE(first, second);
    ASSERT_LT(std::max(first, second), 3) << "a category of weight 0";
    ++pairs[first][second];
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double p = i == j ? 0 : w[i] * w[j] / (1 - w[i]);
      EXPECT_NEAR(pairs[i][j], n * p, 5 * std::sqrt(n * p * (1 - p))) << i << " then " << j;
    }
  }
}

TEST(Random, DrawingEveryCategoryIsAPermutation) {
  manual_seed(45);
  Wholes drawn = wholes(multinomial(rand({50}) + 0.1, 50));
  std::sort(drawn.begin(), drawn.end());
  for (size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], static_cast<int64_t>(i));
}

TEST(Random, MultinomialTakesTinyWeightsSeriously) {
  manual_seed(46);
  const Wholes drawn = wholes(multinomial(tensor({0.0, 1e-38, 0.0}), 100, true));
  EXPECT_EQ(drawn, Wholes(100, 1));
  EXPECT_EQ(wholes(multinomial(tensor({0.0, 1e-38, 0.0}), 1)), Wholes({1}));
}

// ---- dropout ----

TEST(Random, DropoutKeepsTheMean) {
  manual_seed(51);
  constexpr double n = 40000;
  for (double p : {0.1, 0.5, 0.9}) {
    const Reals out = reals(nn::dropout(ones({static_cast<int64_t>(n)}), p));
    double zeros_seen = 0, total = 0;
    for (double value : out) {
      zeros_seen += value == 0;
      total += value;
      if (value == 0) continue;
      ASSERT_FLOAT_EQ(static_cast<float>(value), static_cast<float>(1 / (1 - p)));
    }
    EXPECT_NEAR(zeros_seen, n * p, 5 * std::sqrt(n * p * (1 - p)));
    EXPECT_NEAR(total / n, 1, 5 * std::sqrt(p / (1 - p) / n));
  }
}

TEST(Random, DropoutAtTheEdges) {
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_EQ(reals(nn::dropout(x, 0.0)), Reals({1, 2}));
  EXPECT_EQ(reals(nn::dropout(x, 1.0)), Reals({0, 0}));
  EXPECT_EQ(reals(nn::dropout(x, 0.9, false)), Reals({1, 2}));
}

TEST(Random, TwoDropoutsOfOneTensorDiffer) {
  manual_seed(52);
  const Tensor x = ones({100});
  EXPECT_NE(reals(nn::dropout(x)), reals(nn::dropout(x)));
  const Tensor a = nn::dropout(x), b = nn::dropout(x);
  EXPECT_FALSE(equal(a, b));
}

// The gradient is 2 exactly where the output is not 0: the mask is that of the forward pass.
void expect_mask_of_forward(const Tensor& out, const Tensor& gradient) {
  const Reals seen = reals(out), slope = reals(gradient);
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(slope[i], seen[i] == 0 ? 0 : 2) << i;
}

TEST(Random, BackwardRegeneratesTheMask) {
  manual_seed(53);
  Tensor x = (rand({1000}) + 0.5).detach().clone().requires_grad_();
  const Tensor out = nn::dropout(x, 0.5);
  sum(out).backward();
  expect_mask_of_forward(out, x.grad());
}

TEST(Random, BackwardRegeneratesTheMaskInALaterPlan) {
  manual_seed(54);
  Tensor x = ones({1000}).requires_grad_();
  Tensor out = nn::dropout(x, 0.5);
  const Reals forward = reals(out);  // evaluated before the gradient is even recorded
  rand({100}).eval();
  manual_seed(99);
  nn::dropout(x, 0.5).eval();
  sum(out).backward();
  rand({100}).eval();
  EXPECT_EQ(reals(out), forward);
  expect_mask_of_forward(out, x.grad());
}

TEST(Random, DropoutOf16BitValues) {
  manual_seed(55);
  Tensor x = ones({1000}, DType::f16).requires_grad_();
  const Tensor out = nn::dropout(x, 0.5);
  EXPECT_EQ(out.dtype(), DType::f16);
  sum(out).backward();
  expect_mask_of_forward(out, x.grad());
}

}  // namespace
}  // namespace tenon
