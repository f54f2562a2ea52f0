// attention and attention_backward against the reference.

#include <cmath>
#include <cstring>

#include "calls_support.h"
#include "tenon/backends/cpu/tile/targets.h"

namespace tenon::backends::cpu {
namespace {

struct Sizes {
  int64_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1, value_width = 1;
};

struct Operands {
  Given q, k, v, o_grad;
  std::vector<Given> mask;   // none or one
  std::vector<Given> state;  // of random numbers: with one, a third of the weights is dropped
};

Operands dense(DType dtype, const Sizes& z) {
  return {given(dtype, {z.batch, z.heads, z.queries, z.width}, {}, 1),
          given(dtype, {z.batch, z.groups, z.keys, z.width}, {}, 2),
          given(dtype, {z.batch, z.groups, z.keys, z.value_width}, {}, 3),
          given(dtype, {z.batch, z.heads, z.queries, z.value_width}, {}, 4),
          {},
          {}};
}

// Forward against the reference, then backward from the reference's own forward results, so that errors do not add up.
void expect_attention(const Operands& x, bool causal, double slack = 8) {
  const ir::AttentionAttrs attrs{0.7 / std::sqrt(static_cast<double>(std::max<int64_t>(1, x.q.shape()[3]))), causal,
                                 !x.mask.empty(), x.state.empty() ? 0 : 1. / 3, 7};
  const DType dtype = x.q.dtype();
  const Dims &q = x.q.shape(), &v = x.v.shape();
  const ir::Type o{dtype, {q[0], q[1], q[2], v[3]}}, lse{accumulator(dtype), {q[0], q[1], q[2]}};
  std::vector<Given> inputs{x.q, x.k, x.v};
  inputs.insert(inputs.end(), x.mask.begin(), x.mask.end());
  inputs.insert(inputs.end(), x.state.begin(), x.state.end());
  const ir::Call forward = call_of(ir::Op::attention, attrs, inputs, {o, lse});
  expect_as_reference(forward, inputs, slack);

  const Results saved = run_on_reference(forward, inputs);
  inputs.push_back({{o.dtype, ir::IndexMap(o.shape)}, saved[0]});
  inputs.push_back({{lse.dtype, ir::IndexMap(lse.shape)}, saved[1]});
  inputs.push_back(x.o_grad);
  std::vector<ir::Type> outputs{{dtype, q}, {dtype, x.k.shape()}, {dtype, v}};
  if (!x.mask.empty()) outputs.push_back({x.mask[0].dtype(), x.mask[0].shape()});
  expect_as_reference(call_of(ir::Op::attention_backward, attrs, inputs, outputs), inputs, 4 * slack);
}

TEST(Attention, OddSizes) {
  for (const Sizes& z : {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{2, 3, 3, 5, 7, 3, 5}, Sizes{1, 2, 2, 65, 130, 20, 33},
                         Sizes{1, 1, 1, 200, 63, 64, 64}, Sizes{1, 1, 1, 3, 64, 17, 16}}) {
    for (const bool causal : {false, true}) expect_attention(dense(DType::f32, z), causal);
  }
}

// Causality cuts tiles on the diagonal by blocks of rows: lengths and widths that end within a block or a vector, and
// keys that outnumber the queries or the other way round.
TEST(Attention, CausalTilesAreCutAnywhere) {
  for (const auto& [queries, keys] :
       {std::pair{64, 64}, {5, 64}, {61, 61}, {63, 66}, {70, 64}, {128, 131}, {190, 65}}) {
    for (const auto& [width, value_width] : {std::pair{32, 32}, {40, 48}, {17, 19}}) {
      Operands x = dense(DType::f32, {1, 2, 1, queries, keys, width, value_width});
      expect_attention(x, true);
      x.mask = {given(DType::f32, {1, 2, queries, keys})};
      expect_attention(x, true);
    }
  }
}

TEST(Attention, DroppedWeights) {
  for (const bool causal : {false, true}) {
    Operands x = dense(DType::f32, {1, 4, 2, 70, 75, 12, 20});
    x.state = {exactly(DType::i64, {2}, {1234, 56})};
    expect_attention(x, causal, 16);
    x.mask = {given(DType::f32, {1, 4, 70, 75})};
    expect_attention(x, causal, 16);
  }
}

TEST(Attention, GroupedHeads) {
  expect_attention(dense(DType::f32, {2, 6, 2, 70, 70, 16, 16}), true);
  expect_attention(dense(DType::f32, {1, 4, 1, 40, 90, 8, 12}), false);
}

// Few groups for the threads: the gradients are computed in two parts, and must have the bits of one.
TEST(Attention, LargeEnoughForThreads) {
  expect_attention(dense(DType::f32, {1, 1, 1, 300, 300, 32, 32}), true, 16);
  expect_attention(dense(DType::f32, {1, 3, 3, 260, 200, 32, 32}), false, 16);
}

TEST(Attention, EveryDtype) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    expect_attention(dense(dtype, {2, 2, 2, 37, 70, 24, 20}), false);
    expect_attention(dense(dtype, {2, 2, 1, 70, 70, 24, 20}), true);
  }
}

// Up to four queries read keys and values where they lie.
TEST(Attention, FewQueriesOfEveryDtype) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const int64_t queries : {1, 2, 4, 5}) {
      expect_attention(dense(dtype, {2, 2, 2, queries, 70, 64, 64}), false);
      expect_attention(dense(dtype, {1, 6, 2, queries, 133, 27, 38}), false);
      expect_attention(dense(dtype, {1, 2, 1, queries, 6, 5, 3}), true);
    }
  }
}

TEST(Attention, FewQueriesReadViewsAndMasks) {
  const Sizes z{2, 4, 2, 1, 67, 24, 24};
  const Dims full{z.batch, z.heads, z.queries, z.keys};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    // Keys and values as (batch, key, head, width), and keys that lie the other way round.
    Operands x = dense(dtype, z);
    x.k = given(dtype, {z.batch, z.keys, z.groups, z.width}, {permuted({0, 2, 1, 3})}, 2);
    x.v = given(dtype, {z.batch, z.keys, z.groups, z.value_width}, {permuted({0, 2, 1, 3})}, 3);
    expect_attention(x, false);
    x.mask = {given(dtype, {z.batch, 1, 1, z.keys}, {expanded(full)})};
    expect_attention(x, false);
    x.k = given(dtype, {z.batch, z.groups, z.width, z.keys}, {permuted({0, 1, 3, 2})}, 2);
    expect_attention(x, false);
  }
}

TEST(Attention, MasksOfEveryLayoutAndDtype) {
  const Sizes z{2, 2, 1, 70, 67, 16, 16};
  const Dims full{z.batch, z.heads, z.queries, z.keys};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Given& mask : {given(dtype, full), given(dtype, {1, 1, z.queries, z.keys}, {expanded(full)}),
                              given(dtype, {z.batch, 1, 1, z.keys}, {expanded(full)}),
                              given(dtype, {z.batch, z.heads, z.keys, z.queries}, {permuted({0, 1, 3, 2})})}) {
      Operands x = dense(DType::f32, z);
      x.mask = {mask};
      for (const bool causal : {false, true}) expect_attention(x, causal);
    }
  }
}

// q, k and v as they lie in the result of one projection: (B, T, 3, H, D).
TEST(Attention, StridedOperands) {
  const int64_t batch = 2, heads = 3, time = 66, width = 16;
  const auto part = [&](int64_t which) {
    return given(DType::f32, {batch, time, 3, heads, width},
                 {cut({0, 0, which, 0, 0}, {batch, time, 1, heads, width}, {1, 1, 1, 1, 1}),
                  reshaped({batch, time, heads, width}), permuted({0, 2, 1, 3})});
  };
  Operands x{part(0), part(1), part(2), given(DType::f32, {batch, time, heads, width}, {permuted({0, 2, 1, 3})}, 4),
             {},      {}};
  expect_attention(x, true);
  x.q = given(DType::f32, {batch, heads, width, time}, {permuted({0, 1, 3, 2})});
  x.k = given(DType::f32, {batch, heads, time - 2, width}, {padded({0, 0, 1, 0}, {0, 0, 1, 0})});
  expect_attention(x, false);
}

// The same elements with the last two axes exchanged in memory.
Given turned(const Given& dense) {
  const Dims& shape = dense.shape();
  const std::vector<double> from = numbers(dense.dtype(), dense.bytes);
  std::vector<double> to(from.size());
  const auto rows = static_cast<size_t>(shape[2]), columns = static_cast<size_t>(shape[3]);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t block = i / (rows * columns), row = i / columns % rows, column = i % columns;
    to[(block * columns + column) * rows + row] = from[i];
  }
  Given made = exactly(dense.dtype(), {shape[0], shape[1], shape[3], shape[2]}, to);
  made.operand.map.apply(std::vector<ir::Move>{permuted({0, 1, 3, 2})});
  return made;
}

TEST(Attention, LayoutsChangeNoBit) {
  const Operands x = dense(DType::f32, {2, 2, 2, 70, 70, 20, 24});
  const ir::AttentionAttrs attrs{0.2, true, false};
  const std::vector<Given> plain{x.q, x.k, x.v}, other{turned(x.q), turned(x.k), turned(x.v)};
  const std::vector<ir::Type> results{{DType::f32, x.o_grad.shape()}, {DType::f32, {2, 2, 70}}};
  const Results expected = run_on_cpu(call_of(ir::Op::attention, attrs, plain, results), plain);
  EXPECT_EQ(run_on_cpu(call_of(ir::Op::attention, attrs, other, results), other), expected);

  std::vector<Given> saved{{{DType::f32, ir::IndexMap(results[0].shape)}, expected[0]},
                           {{DType::f32, ir::IndexMap(results[1].shape)}, expected[1]},
                           x.o_grad};
  const auto gradients = [&](std::vector<Given> inputs) {
    inputs.insert(inputs.end(), saved.begin(), saved.end());
    return run_on_cpu(call_of(ir::Op::attention_backward, attrs, inputs,
                              {{DType::f32, x.q.shape()}, {DType::f32, x.k.shape()}, {DType::f32, x.v.shape()}}),
                      inputs);
  };
  const Results slopes = gradients(plain);
  saved[2] = turned(x.o_grad);
  EXPECT_EQ(gradients(other), slopes);
}

TEST(Attention, RowsThatSeeLateKeysOrNothing) {
  const Sizes z{1, 1, 1, 3, 130, 8, 8};
  Operands x = dense(DType::f32, z);
  std::vector<double> mask(3 * 130, 0.0);
  for (size_t s = 0; s < 130; ++s) {
    mask[s] = s < 129 ? -INFINITY : 0;  // row 0 sees the last key only, row 2 none
    mask[2 * 130 + s] = -INFINITY;
  }
  x.mask = {exactly(DType::f32, {1, 1, 3, 130}, mask)};
  expect_attention(x, false);
}

TEST(Attention, TilesWithRowsThatSeeNothing) {
  const Sizes z{1, 1, 1, 70, 130, 8, 8};
  Operands x = dense(DType::f32, z);
  std::vector<double> mask(70 * 130, 0.0);
  for (size_t t = 0; t < 70; t += 3) std::fill_n(mask.begin() + static_cast<ptrdiff_t>(t * 130), 130, -INFINITY);
  x.mask = {exactly(DType::f32, {1, 1, 70, 130}, mask)};
  for (const bool causal : {false, true}) expect_attention(x, causal);
}

// A mask of the lowest number leaves a row that sees nothing the average of the values, where -inf leaves it 0.
TEST(Attention, MaskOfTheLowestNumberAverages) {
  Operands x = dense(DType::f32, {1, 1, 1, 2, 70, 8, 1});
  std::vector<double> mask(2 * 70, 0.0);
  for (size_t s = 0; s < 70; ++s) mask[70 + s] = -3.4028234663852886e38;
  const std::vector<Given> inputs{x.q, x.k, x.v, exactly(DType::f32, {1, 1, 2, 70}, mask)};
  const ir::Call call = call_of(ir::Op::attention, ir::AttentionAttrs{1, false, true}, inputs,
                                {{DType::f32, {1, 1, 2, 1}}, {DType::f32, {1, 1, 2}}});
  double average = 0;
  for (const double value : numbers(DType::f32, x.v.bytes)) average += value / 70;
  EXPECT_NEAR(numbers(DType::f32, run_on_cpu(call, inputs)[0])[1], average, 1e-6);
}

TEST(Attention, NanSpreadsOnlyWhereItBelongs) {
  Operands x = dense(DType::f32, {1, 2, 2, 4, 70, 8, 8});
  const float nan = NAN;
  std::memcpy(x.q.bytes.data() + 9 * sizeof(float), &nan, sizeof(float));
  const ir::Call call = call_of(ir::Op::attention, ir::AttentionAttrs{1, false, false}, {x.q, x.k, x.v},
                                {{DType::f32, {1, 2, 4, 8}}, {DType::f32, {1, 2, 4}}});
  expect_as_reference(call, {x.q, x.k, x.v}, 16);
}

TEST(Attention, EmptyAxes) {
  expect_attention(dense(DType::f32, {0, 2, 2, 3, 3, 4, 4}), false);
  expect_attention(dense(DType::f32, {1, 2, 2, 0, 3, 4, 4}), true);
  expect_attention(dense(DType::f32, {1, 2, 2, 3, 0, 4, 4}), false);
  expect_attention(dense(DType::f32, {1, 2, 2, 3, 3, 0, 4}), false);
  expect_attention(dense(DType::f32, {1, 2, 2, 3, 3, 4, 0}), true);
}

TEST(Attention, EveryInstructionSet) {
  for (const std::string_view target : tile_targets()) {
    SCOPED_TRACE(target);
    use_tile_target(target);
    expect_attention(dense(DType::f32, {1, 2, 2, 70, 70, 20, 20}), true);
    expect_attention(dense(DType::bf16, {1, 2, 1, 30, 70, 20, 20}), false);
    expect_attention(dense(DType::f32, {1, 2, 1, 1, 70, 37, 43}), false);
    expect_attention(dense(DType::f16, {1, 2, 1, 2, 70, 37, 43}), false);
  }
  use_tile_target("");
}

}  // namespace
}  // namespace tenon::backends::cpu
