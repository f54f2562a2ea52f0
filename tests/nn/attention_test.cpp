// Attention, rotary positions and the cache: token by token gives what all tokens at once give.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/exec/eval.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

// ---- rotary ----

TEST(Rotary, HalvesTurnElementsHalfAWidthApart) {
  const nn::RotaryEmbedding rotary(4, 8, 100);
  const Tensor x = tensor({{1.0, 2.0, 3.0, 4.0}});
  EXPECT_EQ(values(rotary.apply(x, 0)), values(x));
  // Position 2: angles 2 and 2 * 100^(-1/2) = 0.2.
  const float c = std::cos(2.0f), s = std::sin(2.0f), c2 = std::cos(0.2f), s2 = std::sin(0.2f);
  expect_near(rotary.apply(x, 2), {c - 3 * s, 2 * c2 - 4 * s2, 3 * c + s, 4 * c2 + 2 * s2});
}

TEST(Rotary, InterleavedTurnsNeighbours) {
  const nn::RotaryEmbedding rotary(4, 8, 100, nn::RotaryLayout::interleaved);
  const float c = std::cos(2.0f), s = std::sin(2.0f), c2 = std::cos(0.2f), s2 = std::sin(0.2f);
  expect_near(rotary.apply(tensor({{1.0, 2.0, 3.0, 4.0}}), 2),
              {c - 2 * s, 2 * c + s, 3 * c2 - 4 * s2, 4 * c2 + 3 * s2});
}

class RotaryIn : public testing::TestWithParam<nn::RotaryLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, RotaryIn, testing::Values(nn::RotaryLayout::halves, nn::RotaryLayout::interleaved));

TEST_P(RotaryIn, RowsFollowEachOther) {
  const nn::RotaryEmbedding rotary(6, 16, 10000, GetParam());
  const Tensor x = randn({2, 3, 5, 6});
  const Tensor all = rotary(x, 4);
  for (int64_t t = 0; t < 5; ++t)
    EXPECT_EQ(values(all.narrow(2, t, 1)), values(rotary.apply(x.narrow(2, t, 1), 4 + t))) << t;
}

TEST_P(RotaryIn, PositionsMayBeATensor) {
  const nn::RotaryEmbedding rotary(6, 16, 10000, GetParam());
  const Tensor x = randn({2, 5, 6});
  EXPECT_EQ(values(rotary.apply(x, arange(3, 8))), values(rotary.apply(x, 3)));
}

TEST_P(RotaryIn, ProductsDependOnTheDistanceOnly) {
  const nn::RotaryEmbedding rotary(6, 32, 10000, GetParam());
  const Tensor q = randn({1, 6}), k = randn({1, 6});
  const auto product = [&](int64_t i, int64_t j) { return sum(rotary.apply(q, i) * rotary.apply(k, j)).item<float>(); };
  EXPECT_NEAR(product(3, 1), product(27, 25), 1e-5);
  EXPECT_GT(std::abs(product(3, 1) - product(3, 2)), 1e-3);
}

TEST(Rotary, RoundsOnceIn16Bits) {
  const nn::RotaryEmbedding rotary(6, 16);
  const Tensor x = randn({5, 6}).to(DType::bf16);
  EXPECT_EQ(rotary.apply(x, 7).dtype(), DType::bf16);
  EXPECT_EQ(values(rotary.apply(x, 7)), values(rotary.apply(x.to(DType::f32), 7).to(DType::bf16)));
}

TEST(Rotary, TablesAreNoStateAndErrorsSayWhy) {
  const nn::RotaryEmbedding rotary(4, 8);
  EXPECT_TRUE(rotary.state_dict().empty());
  EXPECT_EQ(rotary.named_buffers().size(), 2u);
  EXPECT_EQ(text_of([&] {
              rotary.apply(ones({3, 4}), 6);
            }),
            "[rotary] positions 6 to 8 are out of range for a table of 8");
  EXPECT_EQ(text_of([&] { rotary.apply(ones({3, 6})); }), "[rotary] takes (..., time, 4), got shape (3, 6)");
  EXPECT_EQ(text_of([] { nn::RotaryEmbedding(5, 8); }), "[rotary] the width must be positive and even, got 5");
}

// ---- attention ----

// The same with plain products and a softmax.
Tensor by_hand(const nn::MultiHeadAttention& a, const Tensor& x, int64_t heads, int64_t kv_heads, bool causal) {
  const int64_t b = x.size(0), t = x.size(1), w = x.size(2), d = w / heads;
  const auto divided = [&](const nn::Linear& proj, int64_t n) {
    const Tensor y = proj(x).reshape({b, t, n, d}).transpose(1, 2);
    if (n == heads) return y;
    return y.unsqueeze(2).expand({b, n, heads / n, t, d}).reshape({b, heads, t, d});
  };
  Tensor scores = matmul(divided(a.q_proj, heads), divided(a.k_proj, kv_heads).transpose(-1, -2)) / std::sqrt(1.0 * d);
  if (causal) scores = scores.masked_fill(triu(ones({t, t}, DType::boolean), 1), -1e30);
  const Tensor mixed = matmul(softmax(scores, -1), divided(a.v_proj, kv_heads));
  return a.out_proj(mixed.transpose(1, 2).reshape({b, t, w}));
}

TEST(Attention, IsSoftmaxOfScoresTimesValues) {
  manual_seed(3);
  const Tensor x = randn({2, 5, 8});
  for (const bool causal : {false, true}) {
    for (const int64_t kv_heads : {4, 2, 1}) {
      nn::AttentionConfig config;
      config.kv_heads = kv_heads;
      config.causal = causal;
      const nn::MultiHeadAttention attention(8, 4, config);
      EXPECT_TRUE(allclose(attention(x).detach(), by_hand(attention, x, 4, kv_heads, causal).detach(), 1e-4, 1e-5));
    }
  }
}

TEST(Attention, SharedHeadsHaveSmallerProjections) {
  const nn::MultiHeadAttention attention(8, 4, {.kv_heads = 2, .bias = false});
  EXPECT_EQ(attention.k_proj.weight.shape(), (Dims{4, 8}));
  EXPECT_EQ(attention.parameters().size(), 4u);
}

TEST(Attention, GradientsReachAllParameters) {
  auto rotary = std::make_shared<nn::RotaryEmbedding>(4, 16);
  const nn::MultiHeadAttention attention(8, 2, {.kv_heads = 1, .causal = true, .rotary = rotary});
  sum(square(attention(randn({2, 5, 8})))).backward();
  for (const auto& [name, p] : attention.named_parameters()) EXPECT_TRUE(p.grad().defined()) << name;
}

TEST(Attention, AMaskHidesColumns) {
  const nn::MultiHeadAttention attention(8, 2);
  Tensor x = randn({1, 4, 8}).eval();
  const Tensor mask = arange(4) < 3;
  const Floats before = values(attention(x, nullptr, mask).narrow(1, 0, 3));
  x.narrow(1, 3, 1).fill_(100);
  EXPECT_EQ(values(attention(x, nullptr, mask).narrow(1, 0, 3)), before);
}

TEST(Attention, ARowThatMayLookAtNothingGivesZero) {
  const Floats looks{0, 0, 0, 1, 0, 0, 1, 1, 0};
  for (const char* device : {"cpu", "cpu_unfused", "reference"}) {
    const Options on{Device(device)};
    const Tensor seen = from_vector(looks, {3, 3}, on) > 0.0;
    for (const Tensor& mask : {seen, where(seen, 0.0, -INFINITY)}) {
      const Tensor q = zeros({1, 1, 3, 2}, on).requires_grad_(),
                   k = from_vector(Floats{1, 0, 0, 1, 5, 5}, {1, 1, 3, 2}, on).requires_grad_(),
                   v = from_vector(Floats{1, 2, 3, 4, 5, 6}, {1, 1, 3, 2}, on).requires_grad_();
      const Tensor y = nn::scaled_dot_product_attention(q, k, v, {.mask = mask, .scale = 1});
      EXPECT_EQ(values(y), Floats({0, 0, 1, 2, 2, 3})) << device;
      y.sum().backward();
      EXPECT_EQ(values(q.grad()), Floats({0, 0, 0, 0, -1, 1})) << device;
      EXPECT_EQ(values(k.grad()), Floats(6, 0)) << device;
      EXPECT_EQ(values(v.grad()), Floats({1.5, 1.5, 0.5, 0.5, 0, 0})) << device;
    }
  }
}

TEST(Attention, DropsWeightsInTrainingOnly) {
  nn::MultiHeadAttention attention(8, 2, {.dropout = 0.5});
  const Tensor x = randn({1, 6, 8}).eval();
  EXPECT_NE(values(attention(x)), values(attention(x)));
  attention.eval();
  EXPECT_EQ(values(attention(x)), values(attention(x)));
}

TEST(Attention, ErrorsNameTheProjection) {
  nn::MultiHeadAttention attention(8, 2);
  attention.set_name("attn");
  EXPECT_EQ(text_of([&] {
              attention(ones({1, 2, 6}));
            }),
            "[linear] input (1, 2, 6) and weight (8, 8) do not fit: the last size of the input must be 8 "
            "(in attn.q_proj)");
  EXPECT_EQ(text_of([&] {
              attention(ones({2, 8}));
            }),
            "[attention] takes (batch, time, width), got shape (2, 8) (in attn)");
  EXPECT_EQ(text_of([] { nn::MultiHeadAttention(8, 3); }), "[attention] a width of 8 cannot be divided among 3 heads");
  EXPECT_EQ(text_of([] { nn::MultiHeadAttention(8, 4, {.kv_heads = 3}); }),
            "[attention] 4 heads cannot share 3 key/value heads evenly");
}

// ---- the cache ----

struct CacheCase {
  int64_t kv_heads;
  bool rotary;
  friend std::ostream& operator<<(std::ostream& out, const CacheCase& one) {
    return out << one.kv_heads << " key/value heads" << (one.rotary ? ", rotary" : "");
  }
};

class Cache : public testing::TestWithParam<CacheCase> {
 protected:
  Cache() {
    manual_seed(4);
    nn::AttentionConfig config;
    config.kv_heads = GetParam().kv_heads;
    config.causal = true;
    if (GetParam().rotary) config.rotary = std::make_shared<nn::RotaryEmbedding>(4, 32);
    attention.emplace(16, 4, config);
    attention->eval();
    x = randn({2, kTime, 16}).eval();
    full = (*attention)(x).detach().eval();
  }
  Tensor token(int64_t t) const { return x.narrow(1, t, 1).clone().eval(); }
  void expect_rows(const Tensor& y, int64_t start) const {
    EXPECT_TRUE(allclose(y, full.narrow(1, start, y.size(1)), 1e-4, 1e-5)) << "from token " << start;
  }

  static constexpr int64_t kTime = 9;
  NoGrad inference;
  std::optional<nn::MultiHeadAttention> attention;
  Tensor x, full;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Cache, testing::Values(CacheCase{4, false}, CacheCase{2, true}, CacheCase{1, true}));

TEST_P(Cache, TokenByTokenIsTheFullPass) {
  nn::KvCache cache = attention->make_cache(2, 12);
  for (int64_t t = 0; t < kTime; ++t) {
    expect_rows((*attention)(token(t), &cache), t);
    cache.advance(1);
  }
  EXPECT_EQ(cache.position().item<int64_t>(), kTime);
}

TEST_P(Cache, OneCapturedStepServesEveryToken) {
  nn::KvCache cache = attention->make_cache(2, 12);
  auto step = compile([&](const Tensor& token) {
    Tensor y = (*attention)(token, &cache);
    cache.advance(1);
    return y;
  });
  const size_t before = exec::stats().replays;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t t = 0; t < kTime; ++t) expect_rows(step(token(t)), t);
    cache.rewind();
  }
  EXPECT_EQ(step.recordings(), 1u);
  EXPECT_GE(exec::stats().replays - before, 2u * kTime - 3);
}

TEST_P(Cache, APromptMayComeFirstInPieces) {
  nn::KvCache cache = attention->make_cache(2, 12);
  int64_t start = 0;
  for (const int64_t tokens : {4, 2, 1, 2}) {
    expect_rows((*attention)(x.narrow(1, start, tokens), &cache), start);
    cache.advance(tokens);
    start += tokens;
  }
}

TEST_P(Cache, RewindingForgetsTheLastTokens) {
  nn::KvCache cache = attention->make_cache(2, 12);
  (*attention)(x.narrow(1, 0, 4), &cache);
  cache.advance(4);
  (*attention)(x.narrow(1, 7, 2), &cache);  // a wrong guess
  cache.advance(2);
  cache.rewind(4);
  expect_rows((*attention)(x.narrow(1, 4, 2), &cache), 4);
}

TEST_P(Cache, A16BitCacheIsCloseToTheFullPass) {
  const int64_t kv_heads = GetParam().kv_heads;
  nn::KvCache cache(2, kv_heads, 12, 4, DType::bf16);
  for (int64_t t = 0; t < kTime; ++t) {
    EXPECT_TRUE(allclose((*attention)(token(t), &cache), full.narrow(1, t, 1), 0.05, 0.02)) << t;
    cache.advance(1);
  }
}

TEST(KvCache, LayersShareThePosition) {
  auto caches = nn::KvCache::for_layers(3, 1, 2, 8, 4);
  ASSERT_EQ(caches.size(), 3u);
  caches[0].advance(2);
  for (const nn::KvCache& cache : caches) EXPECT_EQ(cache.position().item<int64_t>(), 2);
  caches[1].append(ones({1, 2, 1, 4}), ones({1, 2, 1, 4}));
  EXPECT_EQ(sum(caches[1].keys()).item<float>(), 8);
  EXPECT_EQ(sum(caches[1].keys().select(2, 2)).item<float>(), 8);
  EXPECT_EQ(sum(caches[0].keys()).item<float>(), 0);
}

TEST(KvCache, TokensLookAtThoseBefore) {
  nn::KvCache cache(1, 1, 5, 2);
  cache.advance(1);
  using Bits = std::vector<int64_t>;
  EXPECT_EQ(cache.mask(2).to(DType::i64).to_vector<int64_t>(), (Bits{1, 1, 0, 0, 0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(cache.mask(2, false).to(DType::i64).to_vector<int64_t>(), (Bits{1, 1, 1, 0, 0, 1, 1, 1, 0, 0}));
}

TEST(KvCache, SequencesMayStartAtDifferentColumns) {
  nn::KvCache cache(2, 1, 4, 2);
  cache.set_starts(from_vector(std::vector<int64_t>{0, 2}, {2}));
  EXPECT_EQ(cache.positions(3).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 0, 0, 0}));
  const Tensor mask = cache.mask(3);
  EXPECT_EQ(mask.shape(), (Dims{2, 1, 3, 4}));
  EXPECT_EQ(mask.to(DType::i32).to_vector<int32_t>(), (std::vector<int32_t>{1, 0, 0, 0,  //
                                                                            1, 1, 0, 0,  //
                                                                            1, 1, 1, 0,  //
                                                                            1, 0, 0, 0,  // before the start: itself
                                                                            0, 1, 0, 0,  //
                                                                            0, 0, 1, 0}));
  EXPECT_EQ(text_of([&] { cache.set_starts(zeros({3}, DType::i64)); }),
            "[kv_cache] starts are i64 of shape (2,), got i64(3,)");
}

TEST(KvCache, ATokenTooManyIsAnErrorAndChangesNothing) {
  nn::KvCache cache(1, 1, 3, 2);
  cache.append(ones({1, 1, 3, 2}), ones({1, 1, 3, 2}));
  cache.advance(3);
  wait({cache.keys(), cache.values(), cache.position()});
  cache.append(zeros({1, 1, 1, 2}), zeros({1, 1, 1, 2}));
  EXPECT_EQ(text_of([&] { cache.keys().to_vector<float>(); }), "[index_select] index 3 is out of range for axis 0 of size 3");
  EXPECT_EQ(values(cache.keys()), Floats(6, 1));
  EXPECT_EQ(text_of([&] {
              cache.append(ones({1, 1, 4, 2}), ones({1, 1, 4, 2}));
            }),
            "[kv_cache] 4 tokens do not fit a cache of 3");
}

TEST(KvCache, ErrorsSayWhatDoesNotFit) {
  nn::KvCache cache(1, 2, 3, 4);
  EXPECT_EQ(text_of([&] {
              cache.append(ones({1, 2, 1, 4}), ones({1, 2, 1, 5}));
            }),
            "[kv_cache] keys (1, 2, 1, 4) and values (1, 2, 1, 5) do not fit a cache of (1, 2, 3, 4)");
  EXPECT_EQ(text_of([&] { cache.rewind(4); }), "[kv_cache] 4 tokens do not fit a cache of 3");
  EXPECT_EQ(text_of([] { nn::KvCache(1, 2, 0, 4); }), "[kv_cache] all sizes must be positive, got (1, 2, 0, 4)");
  EXPECT_EQ(text_of([] { nn::KvCache(1, 2, 3, 4, {}, zeros({1})); }),
            "[kv_cache] a position is i64 of shape (), got f32(1,)");
}

}  // namespace
}  // namespace tenon
