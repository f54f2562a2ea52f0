// Interning, the end of nodes, long chains, many threads.

#include "tenon/ir/node.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "tenon/ir/build.h"
#include "tenon/ir/infer.h"
#include "tenon/ir/print.h"
#include "tenon/ir/topology.h"

namespace tenon::ir {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr int kChain = 200'000;
#else
constexpr int kChain = 1'000'000;
#endif

constexpr DeviceId kHere{0, "here"}, kThere{1, "there"};

// Ids far away from those of storages.
Value leaf(uint64_t id, const Dims& shape = {4}, DType dtype = DType::f32, uint64_t version = 0,
           DeviceId device = kHere) {
  return buffer({(uint64_t{1} << 48) + id, version, device, {dtype, shape}});
}

class Nodes : public testing::Test {
 protected:
  void SetUp() override { before_ = live_nodes(); }
  void TearDown() override { EXPECT_EQ(live_nodes(), before_) << "nodes outlived their last reference"; }
  size_t made() const { return live_nodes() - before_; }

 private:
  size_t before_ = 0;
};

TEST_F(Nodes, OfTheSameOpAndOperandsAreOneNode) {
  const Value a = leaf(1), b = leaf(2);
  EXPECT_EQ(add(a, b), add(a, b));
  EXPECT_EQ(exp(add(a, b)), exp(add(a, b)));
  const Value held = mul(add(a, b), exp(a));
  EXPECT_EQ(mul(add(a, b), exp(a)).node.get(), held.node.get());
  EXPECT_EQ(made(), 5u);  // a, b, a + b, exp a, the product
}

TEST_F(Nodes, OfAnotherOpOrOtherOperandsAreOthers) {
  const Value a = leaf(1), b = leaf(2);
  const Value sum = add(a, b), swapped = add(b, a), product = mul(a, b), twice = add(a, a);
  EXPECT_FALSE(sum == swapped);
  EXPECT_FALSE(sum == product);
  EXPECT_FALSE(sum == twice);
}

TEST_F(Nodes, WithOtherAttributesAreOthers) {
  const Value x = leaf(1, {2, 2, 2});
  EXPECT_FALSE(permute(x, {1, 0, 2}) == permute(x, {0, 2, 1}));
  EXPECT_FALSE(reduce(Op::sum, x, {0}) == reduce(Op::sum, x, {1}));
  EXPECT_FALSE(cast(x, DType::f16) == cast(x, DType::bf16));
  EXPECT_FALSE(scan(x, 0, ScanKind::sum) == scan(x, 0, ScanKind::prod));
  EXPECT_FALSE(sort(x, 0, true).first == sort(x, 0, false).first);
  const Value y = reduce(Op::sum, x, {0, 1}), z = reduce(Op::sum, x, {0, 1});
  EXPECT_EQ(y, z);
  const Value front = shrink(x, {0, 0, 0}, {1, 2, 2}, {1, 1, 1}), back = shrink(x, {1, 0, 0}, {1, 2, 2}, {1, 1, 1});
  EXPECT_FALSE(front == back);
  const Value stored_front = store(x, front, {{Op::shrink, ShrinkAttrs{{0, 0, 0}, {1, 2, 2}, {1, 1, 1}}}});
  const Value stored_back = store(x, front, {{Op::shrink, ShrinkAttrs{{1, 0, 0}, {1, 2, 2}, {1, 1, 1}}}});
  EXPECT_FALSE(stored_front == stored_back);
}

TEST_F(Nodes, OfBuffersAreToldApartByIdAndVersion) {
  const Value first = leaf(1, {4}, DType::f32, 0);
  EXPECT_EQ(first, leaf(1, {4}, DType::f32, 0));
  EXPECT_FALSE(first == leaf(1, {4}, DType::f32, 1));
  EXPECT_FALSE(first == leaf(2, {4}, DType::f32, 0));
  EXPECT_FALSE(first == leaf(1, {2, 2}, DType::f32, 0));
  EXPECT_FALSE(first == leaf(1, {4}, DType::i32, 0));
  EXPECT_FALSE(first == leaf(1, {4}, DType::f32, 0, kThere));
}

TEST_F(Nodes, OfConstantsAreToldApartByBits) {
  const Value zero = constant(0.0, DType::f32, kHere), minus_zero = constant(-0.0, DType::f32, kHere);
  EXPECT_FALSE(zero == minus_zero);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Value one_nan = constant(nan, DType::f32, kHere);
  EXPECT_EQ(one_nan, constant(nan, DType::f32, kHere));
  EXPECT_FALSE(zero == constant(0.0, DType::f64, kHere));
  EXPECT_FALSE(zero == constant(0.0, DType::f32, kThere));
  const Value tenth = constant(0.1, DType::f32, kHere);
  EXPECT_EQ(tenth, constant(0.1f, DType::f32, kHere));  // rounded to its dtype when it is made
  const Value wrapped = constant_int(257, DType::u8, kHere);
  EXPECT_EQ(wrapped, constant_int(1, DType::u8, kHere));
  EXPECT_EQ(wrapped, constant(1.0, DType::u8, kHere));
}

TEST_F(Nodes, OfParamsAreToldApartByTheirSlot) {
  const Value x = leaf(1);
  const auto one = std::make_shared<Param>(), other = std::make_shared<Param>();
  const Value first = param(x, one);
  EXPECT_EQ(first, param(x, one));
  EXPECT_FALSE(first == param(x, other));
}

TEST_F(Nodes, DieWithTheirLastReference) {
  Value x = leaf(1);
  EXPECT_EQ(made(), 1u);
  Value y = exp(add(x, x));
  EXPECT_EQ(made(), 3u);
  x = Value();
  EXPECT_EQ(made(), 3u);  // y keeps it
  y = Value();
  EXPECT_EQ(made(), 0u);
}

TEST_F(Nodes, CanBeMadeAgainAfterTheyDied) {
  const Value x = leaf(1);
  for (int i = 0; i < 3; ++i) {
    const Value y = exp(x);
    EXPECT_EQ(made(), 2u);
  }
  EXPECT_EQ(made(), 1u);
}

TEST_F(Nodes, ThatAreRefusedLeaveNothingBehind) {
  const Value x = leaf(1);
  EXPECT_ANY_THROW(add(x, leaf(2, {5})));
  EXPECT_EQ(made(), 1u);
}

TEST_F(Nodes, CountTheirReferences) {
  const Value x = leaf(1);
  EXPECT_EQ(x.node->references(), 1u);
  {
    const Value copy = x, y = add(x, x);
    EXPECT_EQ(x.node->references(), 4u);
  }
  EXPECT_EQ(x.node->references(), 1u);
}

TEST_F(Nodes, KeepTheDataOfEachResult) {
  const auto [values, indices] = sort(leaf(1), 0, false);
  EXPECT_FALSE(values.node->evaluated());
  EXPECT_EQ(values.node->data(1), nullptr);
  const auto first = std::make_shared<Data>(), second = std::make_shared<Data>();
  values.node->set_data(1, second);
  EXPECT_FALSE(values.node->evaluated());
  values.node->set_data(0, first);
  EXPECT_TRUE(values.node->evaluated());
  EXPECT_EQ(values.node->data(0), first);
  EXPECT_EQ(indices.node->data(1), second);
}

// ---- long chains ----

TEST_F(Nodes, AChainOfAMillionIsBuiltAndDestroyedWithoutRecursion) {
  Value x = leaf(1, {});
  for (int i = 0; i < kChain; ++i) x = exp(x);
  EXPECT_EQ(made(), static_cast<size_t>(kChain) + 1);
  x = Value();
  EXPECT_EQ(made(), 0u);
}

TEST_F(Nodes, AChainOfDiamondsIsWalkedOnceANode) {
  Value x = leaf(1, {});
  for (int i = 0; i < kChain / 4; ++i) x = add(exp(x), neg(x));  // 2^(kChain / 4) paths
  const Value outputs[] = {x};
  EXPECT_EQ(topological_order(outputs).size(), static_cast<size_t>(kChain / 4) * 3 + 1);
  verify(outputs);
  EXPECT_GT(to_string(std::span<const Value>(outputs)).size(), static_cast<size_t>(kChain));
}

TEST_F(Nodes, AWideNodeOnALongChainDies) {
  std::vector<Value> links{leaf(1, {})};
  for (int i = 0; i < kChain / 10; ++i) links.push_back(exp(links.back()));
  Value joined = after(links[0], links);
  links.clear();
  EXPECT_EQ(made(), static_cast<size_t>(kChain / 10) + 2);
  joined = Value();
  EXPECT_EQ(made(), 0u);
}

TEST_F(Nodes, TheTopologicalOrderPutsOperandsFirst) {
  const Value a = leaf(1), b = leaf(2), c = mul(add(a, b), exp(a)), d = add(c, c);
  const Value outputs[] = {d, exp(a)};
  const auto order = topological_order(outputs);
  EXPECT_EQ(order.size(), 6u);
  const auto place = [&](const Value& v) { return std::find(order.begin(), order.end(), v.node) - order.begin(); };
  for (const NodeRef& node : order) {
    for (const Value& input : node->inputs()) EXPECT_LT(place(input), place({node, 0}));
  }
  const auto above = topological_order(outputs, [&](const Node& node) { return &node == c.node.get(); });
  EXPECT_EQ(above.size(), 4u);  // c, d, exp a, a: the sum under c is not visited
}

// ---- threads ----

TEST_F(Nodes, RecordedByManyThreadsAreShared) {
  constexpr int kThreads = 8, kNodes = 20'000;
  const Value shared_leaf = leaf(1, {});
  std::vector<Value> shared(kThreads), own(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Value s = shared_leaf, o = leaf(100 + static_cast<uint64_t>(t), {});
      for (int i = 0; i < kNodes / 2; ++i) {
        s = i % 2 ? neg(s) : exp(s);
        o = i % 2 ? neg(o) : exp(o);
      }
      shared[static_cast<size_t>(t)] = s;
      own[static_cast<size_t>(t)] = o;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) {
    EXPECT_EQ(shared[static_cast<size_t>(t)], shared[0]);
    EXPECT_FALSE(own[static_cast<size_t>(t)] == own[0]);
  }
  EXPECT_EQ(made(), 1 + kNodes / 2 + kThreads * (1 + static_cast<size_t>(kNodes) / 2));
}

// Equal nodes are made and dropped over and over, so that look-ups meet nodes that another thread is just ending.
TEST_F(Nodes, DyingInOneThreadAreNotFoundByAnother) {
  constexpr int kThreads = 8, kRounds = 20'000;
  const Value x = leaf(1, {});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const Value y = add(exp(x), neg(x));
        if (y.node->op() != Op::add || y.node->input(0).node->op() != Op::exp ||
            !(y.node->input(1).node->input(0) == x))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(x.node->references(), 1u);
}

TEST_F(Nodes, BuiltInOneThreadMayDieInAnother) {
  Value x = leaf(1, {});
  for (int i = 0; i < 50'000; ++i) x = neg(x);
  std::vector<Value> copies(4, x);
  x = Value();
  std::vector<std::thread> threads;
  for (Value& copy : copies) threads.emplace_back([&copy] { copy = Value(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made(), 0u);
}

// ---- gradients ----

Value weight(uint64_t id = 9, const Dims& shape = {4}) { return param(leaf(id, shape), std::make_shared<Param>()); }

TEST_F(Nodes, NeedGradWhenAParamIsBelow) {
  const Value w = weight(), x = leaf(1);
  EXPECT_TRUE(w.needs_grad());
  EXPECT_FALSE(x.needs_grad());
  EXPECT_TRUE(mul(w, x).needs_grad());
  EXPECT_TRUE(mul(x, w).needs_grad());
  EXPECT_FALSE(mul(x, x).needs_grad());
  EXPECT_TRUE(reshape(exp(w), {2, 2}).needs_grad());
  EXPECT_TRUE(store(x, w, {}).needs_grad());
}

TEST_F(Nodes, NeedNoGradBehindOpsThatPassNone) {
  const Value w = weight(), x = leaf(1);
  EXPECT_FALSE(detach(w).needs_grad());
  EXPECT_EQ(detach(w), w.node->input(0));
  EXPECT_FALSE(detach(exp(w)).needs_grad());
  EXPECT_FALSE(mul(detach(exp(w)), x).needs_grad());
  EXPECT_FALSE(bitcast(cast(w, DType::f16), DType::bf16).needs_grad());
  EXPECT_FALSE(less(w, x).needs_grad());
  EXPECT_FALSE(cast(w, DType::i64).needs_grad());
  EXPECT_FALSE(cast(cast(w, DType::i64), DType::f32).needs_grad());
  EXPECT_TRUE(cast(w, DType::f16).needs_grad());
  EXPECT_FALSE(where(less(w, x), x, x).needs_grad());
}

TEST_F(Nodes, NeedGradPerResult) {
  const auto [values, indices] = sort(weight(), 0, false);
  EXPECT_TRUE(values.needs_grad());
  EXPECT_FALSE(indices.needs_grad());
}

// ---- several results ----

TEST_F(Nodes, HaveSeveralResults) {
  const Value x = leaf(1, {2, 3});
  const auto [values, indices] = sort(x, 1, true);
  EXPECT_EQ(values.node, indices.node);
  EXPECT_FALSE(values == indices);
  EXPECT_EQ(values.node->results(), 2u);
  EXPECT_EQ(values.type(), (Type{DType::f32, {2, 3}}));
  EXPECT_EQ(indices.type(), (Type{DType::i64, {2, 3}}));
  const Value from_values = cast(values, DType::f64), from_indices = cast(indices, DType::f64);
  EXPECT_FALSE(from_values == from_indices);
}

TEST_F(Nodes, OfAttentionGiveOutputAndLogSumExp) {
  const Value q = leaf(1, {2, 4, 3, 8}, DType::bf16), k = leaf(2, {2, 2, 5, 8}, DType::bf16),
              v = leaf(3, {2, 2, 5, 6}, DType::bf16);
  const auto [o, lse] = attention({q, k, v}, {0.5, true, false});
  EXPECT_EQ(o.type(), (Type{DType::bf16, {2, 4, 3, 6}}));
  EXPECT_EQ(lse.type(), (Type{DType::f32, {2, 4, 3}}));
  const NodeRef back = Node::make(Op::attention_backward, {q, k, v, o, lse, o}, AttentionAttrs{0.5, true, false});
  ASSERT_EQ(back->results(), 3u);
  for (uint32_t i = 0; i < 3; ++i)  // by tokens
    EXPECT_EQ(swap_heads_and_tokens({back, i}).type(), (std::vector{q, k, v}[i].type()));
}

// ---- recording folds what costs nothing ----

TEST_F(Nodes, OfNoEffectAreNotMade) {
  const Value x = leaf(1, {2, 3});
  EXPECT_EQ(mul(x, full_like(x, 1)), x);
  EXPECT_EQ(mul(full_like(x, 1), x), x);
  EXPECT_EQ(div(x, full_like(x, 1)), x);
  EXPECT_NE(div(full_like(x, 1), x), x);
  EXPECT_NE(add(x, full_like(x, 0)), x) << "-0 + 0 is 0";
}

TEST_F(Nodes, ThatChangeNothingAreNotMade) {
  const Value x = leaf(1, {2, 3});
  EXPECT_EQ(reshape(x, {2, 3}), x);
  EXPECT_EQ(permute(x, {0, 1}), x);
  EXPECT_EQ(expand(x, {2, 3}), x);
  EXPECT_EQ(pad(x, {0, 0}, {0, 0}), x);
  EXPECT_EQ(shrink(x, {0, 0}, {2, 3}, {1, 1}), x);
  EXPECT_EQ(flip(x, {}), x);
  EXPECT_EQ(cast(x, DType::f32), x);
  EXPECT_EQ(reduce(Op::sum, x, {}), x);
  EXPECT_EQ(after(x, {}), x);
  EXPECT_EQ(copy(x, kHere), x);
  EXPECT_EQ(detach(x), x);
  EXPECT_EQ(reshape(reshape(x, {6}), {2, 3}), x);
  EXPECT_EQ(permute(permute(x, {1, 0}), {1, 0}), x);
}

}  // namespace
}  // namespace tenon::ir
