// Attention's kernels: on the OpenCL device and on simulated ones, with matrix tiles and without, against the
// reference, and as CUDA for a GPU through its compiler.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "../nvrtc.h"
#include "tenon/backends/simulated/simulated_device.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::kernels {
namespace {

using ir::AttentionAttrs;
using ir::Op;
using ir::Value;

struct Case {
  int64_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  bool causal = false, masked = false;
  double dropout = 0;
  DType dtype = DType::f32;

  AttentionAttrs attrs() const {
    return {0.7 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width))), causal, masked, dropout, 11};
  }
  Dims scores() const { return {batch, heads, queries, keys}; }
};

struct Array {
  ir::Type type;
  std::vector<std::byte> bytes;
};

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Array reals(const Dims& shape, uint32_t seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(static_cast<size_t>(ir::count(shape)));
  for (float& value : values) value = between(draw);
  return {{DType::f32, shape}, bytes_of(values)};
}

std::vector<double> numbers(const Value& value) {
  const Value wide = value.dtype() == DType::f64 ? value : ir::cast(value, DType::f64);
  const std::vector<std::byte> bytes = exec::read(wide);
  std::vector<double> made(bytes.size() / sizeof(double));
  if (!made.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

std::vector<Value> results_of(Op op, const std::vector<Value>& in, const AttentionAttrs& attrs) {
  const ir::NodeRef node = ir::Node::make(op, ir::Operands(in.begin(), in.end()), attrs);
  std::vector<Value> results;
  for (uint32_t i = 0; i < node->results(); ++i) results.push_back({node, i});
  exec::eval(results);
  return results;
}

constexpr const char* kWithoutTiles = "simulated_without_tiles";

class AttentionKernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const device::Absent& one : device::absent()) {
      if (one.name == GetParam()) GTEST_SKIP() << one.why;
    }
    if (GetParam() == kWithoutTiles) {
      static const ir::DeviceId id = device::add({kWithoutTiles, backends::simulated::open_without_tiles});
      device_ = id;
    } else {
      device_ = device::find(GetParam());
    }
    reference_ = device::find("reference");
  }

  static Value upload(const Array& array, DType dtype, ir::DeviceId device) {
    const Value made = exec::upload(array.bytes, array.type, device);
    return array.type.dtype == DType::f32 && dtype != DType::f32 ? ir::cast(made, dtype) : made;
  }

  // The operands of a forward, rounded to the dtype of the case.
  std::vector<Value> inputs(const Case& c, ir::DeviceId device) const {
    std::vector<Value> made{upload(reals({c.batch, c.heads, c.queries, c.width}, 1), c.dtype, device),
                            upload(reals({c.batch, c.groups, c.keys, c.width}, 2), c.dtype, device),
                            upload(reals({c.batch, c.groups, c.keys, c.value_width}, 3), c.dtype, device)};
    if (c.masked) made.push_back(upload(mask_.bytes.empty() ? reals(c.scores(), 4) : mask_, c.dtype, device));
    if (c.dropout > 0)
      made.push_back(exec::upload(bytes_of(std::vector<int64_t>{1234, 56}), {DType::i64, {2}}, device));
    return made;
  }
  // The operands of the gradient: o and its logarithms of sums lie as the forward leaves them.
  static std::vector<Value> with_results(std::vector<Value> in, const Case& c, ir::DeviceId device,
                                         const std::vector<Value>& forward) {
    const Value o = ir::permute(forward[0], {0, 2, 1, 3});
    in.push_back(exec::upload(exec::read(ir::contiguous(o)), o.type(), device));
    in.push_back(exec::upload(exec::read(forward[1]), forward[1].type(), device));
    in.push_back(upload(reals({c.batch, c.heads, c.queries, c.value_width}, 5), c.dtype, device));
    return in;
  }

  static double tolerance(DType dtype) {
    switch (dtype) {
      case DType::f16: return 4e-3;
      case DType::bf16: return 3e-2;
      case DType::f64: return 1e-11;
      default: return 4e-5;
    }
  }

  static void expect_close(const std::vector<Value>& got, const std::vector<Value>& wanted, double allowed) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t r = 0; r < got.size(); ++r) {
      const std::vector<double> a = numbers(got[r]), b = numbers(wanted[r]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) {
        const bool is_close = std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) <= allowed * std::max(1.0, std::fabs(b[i]))
                                                  : a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        ASSERT_TRUE(is_close) << "result " << r << ", element " << i << ": " << a[i] << ", wanted " << b[i];
      }
    }
  }

  void expect_as_reference(const Case& c) const {
    SCOPED_TRACE(testing::Message() << "heads " << c.heads << "/" << c.groups << ", queries " << c.queries << ", keys "
                                    << c.keys << ", width " << c.width << "/" << c.value_width);
    const std::vector<Value> here = inputs(c, device_), there = inputs(c, reference_);
    const std::vector<Value> wanted = results_of(Op::attention, there, c.attrs());
    expect_close(results_of(Op::attention, here, c.attrs()), wanted, tolerance(c.dtype));
    expect_close(results_of(Op::attention_backward, with_results(here, c, device_, wanted), c.attrs()),
                 results_of(Op::attention_backward, with_results(there, c, reference_, wanted), c.attrs()),
                 4 * tolerance(c.dtype));
  }

  ir::DeviceId device_{}, reference_{};
  Array mask_;  // in place of a random one
};

INSTANTIATE_TEST_SUITE_P(On, AttentionKernels, testing::Values("simulated", kWithoutTiles, "opencl"),
                         [](const auto& row) { return row.param; });

TEST_P(AttentionKernels, SizesThatAreNoMultiplesOfTiles) {
  expect_as_reference({.queries = 1, .keys = 1, .width = 1, .value_width = 1});
  expect_as_reference({.batch = 2, .heads = 2, .groups = 2, .queries = 5, .keys = 17, .width = 7, .value_width = 3});
  expect_as_reference({.queries = 65, .keys = 130, .width = 32, .value_width = 64});
  expect_as_reference({.queries = 17, .keys = 64, .width = 80, .value_width = 80});
}

TEST_P(AttentionKernels, CausalTilesAreCutAnywhere) {
  expect_as_reference({.queries = 64, .keys = 64, .width = 64, .value_width = 64, .causal = true});
  expect_as_reference({.queries = 65, .keys = 17, .width = 8, .value_width = 12, .causal = true});
  expect_as_reference({.queries = 17, .keys = 130, .width = 7, .value_width = 7, .causal = true});
}

TEST_P(AttentionKernels, HeadsShareKeys) {
  expect_as_reference(
      {.batch = 2, .heads = 6, .groups = 2, .queries = 40, .keys = 40, .width = 16, .value_width = 16, .causal = true});
  expect_as_reference({.heads = 4, .groups = 1, .queries = 17, .keys = 33, .width = 8, .value_width = 8});
}

TEST_P(AttentionKernels, HeadsOf256AndBeyond) {
  expect_as_reference({.queries = 18, .keys = 33, .width = 256, .value_width = 200});
  expect_as_reference({.queries = 5, .keys = 9, .width = 300, .value_width = 64});
}

TEST_P(AttentionKernels, EveryDtype) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
    expect_as_reference({.heads = 2,
                         .groups = 1,
                         .queries = 21,
                         .keys = 37,
                         .width = 20,
                         .value_width = 24,
                         .causal = true,
                         .dtype = dtype});
  }
}

TEST_P(AttentionKernels, MaskedRowsThatSeeLateKeysOrNothing) {
  const Case c{.queries = 3, .keys = 70, .width = 8, .value_width = 8, .masked = true};
  std::vector<float> mask(3 * 70, 0);
  for (size_t s = 0; s < 70; ++s) {
    if (s < 69) mask[s] = -INFINITY;  // row 0 sees the last key only, row 2 none
    mask[2 * 70 + s] = -INFINITY;
  }
  mask_ = {{DType::f32, c.scores()}, bytes_of(mask)};
  expect_as_reference(c);
}

TEST_P(AttentionKernels, MasksAndDroppedWeights) {
  expect_as_reference({.heads = 2,
                       .groups = 1,
                       .queries = 33,
                       .keys = 41,
                       .width = 16,
                       .value_width = 16,
                       .causal = true,
                       .masked = true});
  expect_as_reference({.heads = 4,
                       .groups = 2,
                       .queries = 35,
                       .keys = 37,
                       .width = 12,
                       .value_width = 20,
                       .causal = true,
                       .masked = true,
                       .dropout = 0.3});
}

// Of 16 bits, with more queries than a block has rows, keys and widths that end anywhere in tiles.
TEST_P(AttentionKernels, SixteenBitsInEveryShape) {
  const Case cases[] = {
      {.batch = 2, .heads = 2, .groups = 2, .queries = 140, .keys = 70, .width = 64, .value_width = 64},
      {.heads = 2, .groups = 1, .queries = 131, .keys = 131, .width = 32, .value_width = 48, .causal = true},
      {.heads = 1, .queries = 17, .keys = 40, .width = 20, .value_width = 33},
      {.queries = 70, .keys = 35, .width = 80, .value_width = 96, .causal = true},
      {.queries = 65, .keys = 96, .width = 128, .value_width = 128, .causal = true},
      {.queries = 33, .keys = 33, .width = 64, .value_width = 128, .causal = true},
      {.queries = 20, .keys = 18, .width = 256, .value_width = 256, .causal = true},
      {.queries = 20, .keys = 18, .width = 192, .value_width = 64},
  };
  for (Case c : cases) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      c.dtype = dtype;
      expect_as_reference(c);
    }
  }
}

TEST_P(AttentionKernels, SixteenBitsWithMasksAndDroppedWeights) {
  const Case cases[] = {
      {.heads = 2, .groups = 1, .queries = 40, .keys = 37, .width = 32, .value_width = 32, .masked = true},
      {.queries = 35, .keys = 70, .width = 24, .value_width = 16, .causal = true, .masked = true},
      {.heads = 2,
       .groups = 2,
       .queries = 33,
       .keys = 34,
       .width = 16,
       .value_width = 16,
       .causal = true,
       .dropout = 0.3},
      {.heads = 2,
       .groups = 1,
       .queries = 70,
       .keys = 41,
       .width = 16,
       .value_width = 32,
       .masked = true,
       .dropout = 0.5},
  };
  for (Case c : cases) {
    c.dtype = DType::bf16;
    expect_as_reference(c);
  }
}

// Queries of 0 see all keys alike, and rows of the unit matrix show each weight by itself: it is 0 where the reference
// drops it, and nowhere else, in the result and in every gradient.
TEST_P(AttentionKernels, DropTheSameWeightsEverywhere) {
  constexpr size_t kSize = 37;  // lines of weights begin anywhere in a block of random words
  const Case c{.heads = 2,
               .groups = 2,
               .queries = kSize,
               .keys = kSize,
               .width = kSize,
               .value_width = kSize,
               .dropout = 0.4,
               .dtype = DType::bf16};
  std::vector<float> units, first;
  for (size_t i = 0; i < 2 * kSize * kSize; ++i) {
    units.push_back(i % kSize == i / kSize % kSize ? 1 : 0);
    first.push_back(i % kSize == 0 ? 1 : 0);
  }
  const Dims shape{1, 2, kSize, kSize};
  const auto upload_all = [&](const std::vector<float>& values, ir::DeviceId device) {
    return upload({{DType::f32, shape}, bytes_of(values)}, DType::bf16, device);
  };
  // Which elements are 0 of o, of the gradient of the values, and of that of the queries.
  const auto zeros_of = [&](ir::DeviceId device) {
    std::vector<Value> in = inputs(c, device);
    in[0] = upload_all(std::vector<float>(2 * kSize * kSize, 0), device);
    in[1] = upload_all(units, device);
    in[2] = upload_all(units, device);
    const std::vector<Value> forward = results_of(Op::attention, in, c.attrs());
    const auto gradients = [&](const std::vector<float>& values, const std::vector<float>& o_grad) {
      std::vector<Value> all = in;
      all[2] = upload_all(values, device);
      all.push_back(upload_all(std::vector<float>(2 * kSize * kSize, 0), device));
      all.push_back(forward[1]);
      all.push_back(upload_all(o_grad, device));
      return results_of(Op::attention_backward, all, c.attrs());
    };
    std::vector<bool> made;
    for (const Value& value : {forward[0], gradients(units, units)[2], gradients(first, first)[0]}) {
      for (const double each : numbers(value)) made.push_back(each == 0);
    }
    return made;
  };
  const std::vector<bool> wanted = zeros_of(reference_);
  const auto dropped = static_cast<double>(std::count(wanted.begin(), wanted.end(), true));
  EXPECT_NEAR(dropped / static_cast<double>(wanted.size()), 0.4, 0.05);
  EXPECT_EQ(zeros_of(device_), wanted);
}

TEST_P(AttentionKernels, ScoresAreScaledBeforeTheyOverflow) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case c{.queries = 20, .keys = 20, .width = 64, .value_width = 16, .dtype = dtype};
    const std::vector<float> large(20 * 64, 0x1p126f);
    const auto operands = [&](ir::DeviceId device) {
      std::vector<Value> in = inputs(c, device);
      in[0] = upload({{DType::f32, {1, 1, 20, 64}}, bytes_of(large)}, dtype, device);
      in[1] = upload({{DType::f32, {1, 1, 20, 64}}, bytes_of(std::vector<float>(20 * 64, 1))}, dtype, device);
      return in;
    };
    AttentionAttrs attrs = c.attrs();
    attrs.scale = 0x1p-126;  // each product is 2^126, 64 of them no float; each score is 64
    const std::vector<double> got = numbers(results_of(Op::attention, operands(device_), attrs)[1]);
    for (const double lse : got) ASSERT_NEAR(lse, 64 + std::log(20), 1e-4);
  }
}

// What is not finite and hidden, by causality or a mask, reaches nothing; what is seen reaches those who see it.
TEST_P(AttentionKernels, HiddenNumbersReachNothing) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const bool masked : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(dtype) << (masked ? ", masked" : ""));
      const Case c{.heads = 2,
                   .groups = 1,
                   .queries = 40,
                   .keys = 40,
                   .width = 16,
                   .value_width = 16,
                   .causal = !masked,
                   .masked = masked,
                   .dtype = dtype};
      // Key 30 is seen by queries from 30 on; NaN stands in its key, infinity in the value of key 31.
      std::vector<float> mask(2 * 40 * 40, 0);
      for (size_t row = 0; row < 80; ++row) {
        for (size_t key = row % 40 + 1; key < 40; ++key) mask[row * 40 + key] = -INFINITY;
      }
      mask_ = {{DType::f32, c.scores()}, bytes_of(mask)};
      const auto operands = [&](ir::DeviceId device) {
        std::vector<Value> in = inputs(c, device);
        Array k = reals({1, 1, 40, 16}, 2), v = reals({1, 1, 40, 16}, 3);
        const float nan = NAN, infinity = INFINITY;
        std::memcpy(&k.bytes[(30 * 16 + 3) * 4], &nan, 4);
        std::memcpy(&v.bytes[(20 * 16 + 5) * 4], &infinity, 4);
        std::memcpy(&v.bytes[(31 * 16 + 7) * 4], &nan, 4);
        in[1] = upload(k, dtype, device);
        in[2] = upload(v, dtype, device);
        return in;
      };
      const std::vector<Value> here = operands(device_), there = operands(reference_);
      const std::vector<Value> wanted = results_of(Op::attention, there, c.attrs());
      const std::vector<double> o = numbers(wanted[0]);
      EXPECT_TRUE(std::isfinite(o[(19 * 2 + 0) * 16 + 5]));
      EXPECT_EQ(o[(20 * 2 + 0) * 16 + 5], INFINITY);
      EXPECT_TRUE(std::isfinite(o[(29 * 2 + 1) * 16 + 7]));
      EXPECT_TRUE(std::isnan(o[(30 * 2 + 1) * 16 + 0]));
      expect_close(results_of(Op::attention, here, c.attrs()), wanted, tolerance(dtype));
      const std::vector<Value> got =
          results_of(Op::attention_backward, with_results(here, c, device_, wanted), c.attrs());
      const std::vector<double> dq = numbers(got[0]), dk = numbers(got[1]);
      for (size_t i = 0; i < 20 * 2 * 16; ++i) ASSERT_TRUE(std::isfinite(dq[i])) << i;
      for (size_t i = 0; i < 16; ++i) ASSERT_TRUE(std::isnan(dq[30 * 2 * 16 + i])) << i;
      ASSERT_TRUE(std::isnan(dk[0]));  // seen by the queries that see key 30
    }
  }
}

// A query that is NaN reaches the gradients of the keys that it sees.
TEST_P(AttentionKernels, HiddenQueriesReachNoGradient) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case c{.queries = 40, .keys = 40, .width = 16, .value_width = 16, .causal = true, .dtype = dtype};
    Array q = reals({1, 1, 40, 16}, 1);
    const float nan = NAN;
    std::memcpy(&q.bytes[(10 * 16 + 3) * 4], &nan, 4);
    std::vector<Value> in = inputs(c, device_);
    in[0] = upload(q, dtype, device_);
    const std::vector<Value> forward = results_of(Op::attention, in, c.attrs());
    const std::vector<Value> got = results_of(Op::attention_backward, with_results(in, c, device_, forward), c.attrs());
    for (const size_t result : {1, 2}) {
      const std::vector<double> gradient = numbers(got[result]);
      for (size_t i = 0; i < 40 * 16; ++i) ASSERT_EQ(std::isnan(gradient[i]), i < 11 * 16) << result << ", " << i;
    }
  }
}

TEST_P(AttentionKernels, NoKeysGiveZerosAndNoQueriesNoGradient) {
  expect_as_reference({.heads = 2, .groups = 2, .queries = 3, .keys = 0, .width = 4, .value_width = 4});
  expect_as_reference({.heads = 2, .groups = 2, .queries = 0, .keys = 3, .width = 4, .value_width = 4});
  expect_as_reference({.queries = 3, .keys = 3, .width = 0, .value_width = 4});
  expect_as_reference({.queries = 3, .keys = 3, .width = 4, .value_width = 0});
}

TEST_P(AttentionKernels, OneQueryHasABlockOfItsOwn) {
  expect_as_reference({.heads = 4, .groups = 2, .queries = 1, .keys = 1030, .width = 16, .value_width = 16});
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    expect_as_reference(
        {.batch = 2, .heads = 3, .groups = 3, .keys = 192, .width = 64, .value_width = 32, .dtype = dtype});
    expect_as_reference({.heads = 2, .keys = 33, .width = 32, .value_width = 64, .causal = true, .dtype = dtype});
    expect_as_reference({.heads = 2, .keys = 1, .width = 8, .value_width = 8, .masked = true, .dtype = dtype});
    // The first head sees keys below 100, the second none; NaN stands in what nobody sees.
    const Case c{.heads = 2, .groups = 1, .keys = 300, .width = 16, .value_width = 16, .masked = true, .dtype = dtype};
    std::vector<float> mask(600, -INFINITY);
    for (size_t key = 0; key < 100; ++key) mask[key] = static_cast<float>(key % 7) / 7;
    mask_ = {{DType::f32, c.scores()}, bytes_of(mask)};
    const auto operands = [&](ir::DeviceId device) {
      std::vector<Value> in = inputs(c, device);
      Array k = reals({1, 1, 300, 16}, 2), v = reals({1, 1, 300, 16}, 3);
      const float nan = NAN;
      std::memcpy(&k.bytes[(100 * 16 + 3) * 4], &nan, 4);
      std::memcpy(&v.bytes[(299 * 16 + 5) * 4], &nan, 4);
      in[1] = upload(k, dtype, device);
      in[2] = upload(v, dtype, device);
      return in;
    };
    const std::vector<Value> wanted = results_of(Op::attention, operands(reference_), c.attrs());
    EXPECT_TRUE(std::isfinite(numbers(wanted[0])[5]));
    EXPECT_EQ(numbers(wanted[0])[16], 0);
    expect_close(results_of(Op::attention, operands(device_), c.attrs()), wanted, tolerance(dtype));
    mask_ = {};
  }
}

TEST_P(AttentionKernels, LongKeysOfFewQueriesAreReadInParts) {
  expect_as_reference({.heads = 4, .groups = 2, .queries = 2, .keys = 1030, .width = 16, .value_width = 16});
  expect_as_reference({.heads = 4, .groups = 2, .queries = 1, .keys = 1030, .width = 20, .value_width = 16});
  expect_as_reference(
      {.heads = 1, .queries = 3, .keys = 600, .width = 8, .value_width = 8, .causal = true, .dropout = 0.2});
}

// Of a joined gradient each token has its queries', then its keys', then its values'.
TEST_P(AttentionKernels, JoinedGradientsHaveTheSameBits) {
  const Case c{
      .batch = 2, .heads = 4, .groups = 2, .queries = 19, .keys = 19, .width = 12, .value_width = 12, .causal = true};
  AttentionAttrs attrs = c.attrs();
  const std::vector<Value> in = inputs(c, device_);
  const std::vector<Value> all = with_results(in, c, device_, results_of(Op::attention, in, attrs));
  const std::vector<Value> apart = results_of(Op::attention_backward, all, attrs);
  attrs.joined = true;
  const std::vector<Value> joined = results_of(Op::attention_backward, all, attrs);
  ASSERT_EQ(joined.size(), 1);
  const std::vector<double> whole = numbers(joined[0]);
  const int64_t heads[] = {c.heads, c.groups, c.groups};
  int64_t first = 0;
  for (size_t part = 0; part < 3; ++part) {
    const std::vector<double> one = numbers(apart[part]);
    for (int64_t i = 0; i < static_cast<int64_t>(one.size()); ++i) {
      const int64_t token = i / (heads[part] * c.width), inside = i % (heads[part] * c.width);
      ASSERT_EQ(whole[static_cast<size_t>(token * 8 * c.width + first * c.width + inside)],
                one[static_cast<size_t>(i)]);
    }
    first += heads[part];
  }
}

// ---- for a GPU ----

ir::Limits limits_of_a_gpu() {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 132;
  limits.shared_bytes = 49152;
  limits.vector = 4;
  limits.has_fma = true;
  limits.tile_dtypes = {DType::f16, DType::bf16};
  limits.has_tile_places = true;
  return limits;
}

ir::Call call_of(Op op, const Case& c) {
  const Dims q{c.batch, c.heads, c.queries, c.width}, k{c.batch, c.groups, c.keys, c.width},
      v{c.batch, c.groups, c.keys, c.value_width}, o{c.batch, c.heads, c.queries, c.value_width};
  const auto by_tokens = [](const Dims& shape) { return Dims{shape[0], shape[2], shape[1], shape[3]}; };
  const DType sums = accumulator(c.dtype);
  ir::Call call;
  call.op = op;
  call.attrs = c.attrs();
  ir::take_numbers(call);
  const auto take = [&](DType dtype, const Dims& shape) { call.inputs.push_back({dtype, ir::IndexMap(shape)}); };
  take(c.dtype, q);
  take(c.dtype, k);
  take(c.dtype, v);
  if (c.masked) take(c.dtype, c.scores());
  if (c.dropout > 0) take(DType::i64, {2});
  const ir::Type lse{sums, {c.batch, c.heads, c.queries}};
  if (op == Op::attention) {
    call.outputs = {{c.dtype, by_tokens(o)}, lse};
    return call;
  }
  take(c.dtype, o);
  take(lse.dtype, lse.shape);
  take(c.dtype, o);
  call.outputs = {{c.dtype, by_tokens(q)}, {c.dtype, by_tokens(k)}, {c.dtype, by_tokens(v)}};
  if (c.masked) call.outputs.push_back({c.dtype, c.scores()});
  return call;
}

const Case kGpuCases[] = {
    {.batch = 8,
     .heads = 12,
     .groups = 12,
     .queries = 1024,
     .keys = 1024,
     .width = 64,
     .value_width = 64,
     .causal = true,
     .dtype = DType::bf16},
    {.batch = 4,
     .heads = 8,
     .groups = 2,
     .queries = 500,
     .keys = 300,
     .width = 128,
     .value_width = 128,
     .masked = true,
     .dropout = 0.1},
    {.batch = 4,
     .heads = 8,
     .groups = 8,
     .queries = 256,
     .keys = 256,
     .width = 256,
     .value_width = 256,
     .causal = true,
     .dtype = DType::f16},
    {.heads = 8, .groups = 2, .queries = 1, .keys = 4096, .width = 80, .value_width = 80},
    {.heads = 2, .groups = 2, .queries = 100, .keys = 100, .width = 64, .value_width = 33, .dtype = DType::f64},
    {.heads = 12, .groups = 12, .keys = 1024, .width = 64, .value_width = 64, .masked = true, .dtype = DType::bf16},
};

TEST(AttentionForGpus, SharedMemoryAndThreadsAreWithinLimits) {
  const ir::Limits limits = limits_of_a_gpu();
  for (const Case& c : kGpuCases) {
    for (const Op op : {Op::attention, Op::attention_backward}) {
      for (const codegen::Dispatch& dispatch : lower(call_of(op, c), limits).dispatches) {
        size_t bytes = 0;
        for (const codegen::KernelArray& array : dispatch.kernel.shared) bytes += array.count * size_of(array.element);
        EXPECT_LE(bytes, limits.shared_bytes) << dispatch.kernel.name << " of width " << c.width;
        EXPECT_LE(dispatch.kernel.threads, limits.max_threads);
      }
    }
  }
}

TEST(AttentionForGpus, LargeTilesWhereThereIsWorkForAll) {
  const codegen::Module made = lower(call_of(Op::attention, kGpuCases[0]), limits_of_a_gpu());
  ASSERT_EQ(made.dispatches.size(), 1);
  EXPECT_EQ(made.dispatches[0].kernel.threads, 128);
  EXPECT_EQ(made.dispatches[0].blocks, (std::array<uint64_t, 3>{1024 / 128 * 12 * 8, 1, 1}));
}

TEST(AttentionForGpus, LargeTilesOfLanesWhereTheDeviceHasNoMatrixTiles) {
  ir::Limits limits = limits_of_a_gpu();
  limits.has_tile_places = false;
  const codegen::Module made = lower(call_of(Op::attention, kGpuCases[0]), limits);
  ASSERT_EQ(made.dispatches.size(), 1);
  EXPECT_EQ(made.dispatches[0].kernel.threads, 256);
  EXPECT_EQ(made.dispatches[0].blocks, (std::array<uint64_t, 3>{1024 / 64, 12, 8}));
}

TEST(AttentionForGpus, AllScoresOfOneQueryAreHeld) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case c{.batch = 3, .heads = 8, .groups = 2, .keys = 4096, .width = 64, .value_width = 128, .dtype = dtype};
    const codegen::Module made = lower(call_of(Op::attention, c), limits_of_a_gpu());
    ASSERT_EQ(made.dispatches.size(), 1);
    EXPECT_EQ(made.dispatches[0].kernel.name, "attention_of_a_query");
    EXPECT_EQ(made.dispatches[0].blocks, (std::array<uint64_t, 3>{1, 8, 3}));
  }
}

TEST(AttentionForGpus, OneQueryOfOddWidthIsSharedOutByItsKeys) {
  const codegen::Module made = lower(call_of(Op::attention, kGpuCases[3]), limits_of_a_gpu());
  ASSERT_EQ(made.dispatches.size(), 2);
  EXPECT_EQ(made.dispatches[0].blocks, (std::array<uint64_t, 3>{4096 / 256, 8, 1}));
}

TEST(AttentionForGpus, NvrtcCompilesEveryKernel) {
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  for (const Case& c : kGpuCases) {
    for (const Op op : {Op::attention, Op::attention_backward}) {
      for (const codegen::Dispatch& dispatch : lower(call_of(op, c), limits_of_a_gpu()).dispatches) {
        EXPECT_EQ(compile_cuda(nvrtc, render::render(dispatch.kernel, render::Language::cuda)), "");
      }
    }
  }
}

}  // namespace
}  // namespace tenon::kernels
