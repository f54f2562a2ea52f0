// Writing over old state and dead temporaries: it happens where it can, and nobody can tell.

#include <gtest/gtest.h>

#include <functional>

#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/walk.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

uint64_t address_of(const Tensor& x) {
  const ir::Value base = ir::base_of(value_of(x));
  return device::storage_of(base.node->data())->buffer().handle;
}

size_t launches_of(auto&& action) {
  const size_t before = exec::stats().launches;
  action();
  return exec::stats().launches - before;
}

// Adam as a user would write it.
struct Adam {
  Tensor w, m = zeros_like(w), v = zeros_like(w);
  explicit Adam(Tensor weights) : w(std::move(weights)) { eval({w, m, v}); }
  void step(const Tensor& g) {
    const NoGrad updating;
    m.mul_(0.9).add_(g * 0.1);
    v.mul_(0.99).add_(g * g * 0.01);
    w.sub_(m / (sqrt(v) + 1e-8) * 0.1);
  }
};

// A write with a bad index into a value that was not computed yet: whoever reads it is told, once, and nobody else.
TEST(InPlace, AWriteThatFailsFailsNoOtherValue) {
  Tensor t = randn({10, 4}, Device("cpu"));
  const Tensor as_it_was = t.clone();
  const Tensor places = arange(5, Options(DType::i64, "cpu"));
  t.index_put_({places * 3}, tensor({1.0F}, Device("cpu")));
  EXPECT_THROW(sum(t).item<float>(), Error);
  EXPECT_EQ((places * 2).to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ((places * 3).to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 6, 9, 12}));
  EXPECT_EQ(t.to_vector<float>(), as_it_was.to_vector<float>());
  t.fill_(0.0);
  EXPECT_EQ(sum(t).item<float>(), 0);
}

TEST(InPlace, AnUpdateKeepsTheAddressesOfItsState) {
  Adam adam(tensor<float>({1, 2, 3}).requires_grad_());
  std::vector<uint64_t> before;
  for (int i = 0; i < 4; ++i) {
    Tensor loss = sum(square(adam.w));
    loss.backward();
    adam.step(adam.w.grad());
    adam.w.zero_grad();
    eval({loss, adam.w, adam.m, adam.v});
    const std::vector<uint64_t> after{address_of(adam.w), address_of(adam.m), address_of(adam.v)};
    if (i > 0) {
      EXPECT_EQ(before, after) << i;  // the two moments start as one value
    }
    before = after;
  }
  EXPECT_EQ(adam.w.to_vector<float>().size(), 3u);
}

TEST(InPlace, WritingByIndexTakesMemoryForWhatIsWritten) {
  using Write = std::pair<const char*, std::function<void(Tensor&, const Tensor&, const Tensor&)>>;
  const Write writes[] = {
      {"index_put_", [](Tensor& x, const Tensor& at, const Tensor& rows) { x.index_put_({at}, rows); }},
      {"x[i] =", [](Tensor& x, const Tensor& at, const Tensor&) { x[at] = 9; }},
      {"index_copy_", [](Tensor& x, const Tensor& at, const Tensor& rows) { x.index_copy_(0, at, rows); }},
      {"index_fill_", [](Tensor& x, const Tensor& at, const Tensor&) { x.index_fill_(0, at, 9); }},
      {"scatter_", [](Tensor& x, const Tensor& at, const Tensor& rows) {
         x.scatter_(0, at.unsqueeze(1).expand({2, 2}), rows);
       }}};
  const auto absent = device::absent();
  for (const char* name : {"cpu", "remote", "simulated"}) {  // drivers and sanitizers do not get along
    if (std::any_of(absent.begin(), absent.end(), [&](const device::Absent& one) { return one.name == name; }))
      continue;
    const Device device(name);
    const Tensor at = tensor({7, 5}, Options(int64, device));
    const Tensor rows = full({2, 2}, 9, Options(uint8, device)).clone();
    Tensor x = zeros({100'000, 2}, Options(uint8, device)).clone();
    eval({x, at, rows});
    for (const auto& [what, write] : writes) {
      x.fill_(1).eval();
      const uint64_t address = address_of(x);
      device::reset_peak();
      const size_t before = memory_stats(device).live_bytes;
      write(x, at, rows);
      x[5].to_vector<int>();
      EXPECT_LT(memory_stats(device).peak_bytes - before, 50'000u) << what << " on " << name;
      EXPECT_EQ(address_of(x), address) << what << " on " << name;
      EXPECT_EQ(x.slice(0, 4, 8).to_vector<int>(), (std::vector<int>{1, 1, 9, 9, 1, 1, 9, 9}))
          << what << " on " << name;
      EXPECT_EQ(sum(x.to(int64)).item<int64_t>(), 200'032) << what << " on " << name;
    }
  }
}

TEST(InPlace, AWholeUpdateIsOneKernel) {
  Adam adam(rand({1000}));
  const Tensor g = rand({1000}).eval();
  adam.step(g);
  EXPECT_EQ(launches_of([&] { eval({adam.w, adam.m, adam.v}); }), 1u);
}

TEST(InPlace, EvaluatingTheLossEvaluatesTheStateThatItReads) {
  Adam adam(tensor<float>({1, 2, 3}).requires_grad_());
  for (int i = 0; i < 20; ++i) {
    Tensor loss = sum(square(adam.w));
    loss.backward();
    adam.step(adam.w.grad());
    adam.w.zero_grad();
    // Were the steps before computed again, launches would grow with i.
    EXPECT_LE(launches_of([&] { loss.item<float>(); }), 4u) << i;
  }
}

TEST(InPlace, AGradientThatIsHeldIsRightAfterTheUpdate) {
  Tensor w = tensor<float>({1, 2, 3}).requires_grad_();
  Tensor loss = sum(square(w) * w);
  loss.backward();
  const Tensor g = w.grad();
  {
    const NoGrad updating;
    w.sub_(g);
  }
  w.eval();
  EXPECT_EQ(g.to_vector<float>(), (Floats{3, 12, 27}));
  EXPECT_EQ(w.to_vector<float>(), (Floats{-2, -10, -24}));
}

TEST(InPlace, AValueReadBeforeTheUpdateAndEvaluatedAfterItIsTheOldOne) {
  Tensor w = tensor<float>({1, 2, 3}).eval();
  const Tensor twice = w * 2, shown = w.slice(0, 1, 3) + 0.5;
  w.add_(10);
  w.eval();
  EXPECT_EQ(w.to_vector<float>(), (Floats{11, 12, 13}));
  EXPECT_EQ(twice.to_vector<float>(), (Floats{2, 4, 6}));
  EXPECT_EQ(shown.to_vector<float>(), (Floats{2.5, 3.5}));
}

TEST(InPlace, ALargeValueThatIsHeldKeepsTheOldState) {
  Tensor w = tensor<float>({1, 2}).eval();
  const Tensor outer = w.reshape({2, 1}) * full({2, 1000}, 2.0);
  const Tensor total = sum(outer);
  w.add_(total);
  w.eval();
  EXPECT_EQ(w.to_vector<float>(), (Floats{6001, 6002}));
  EXPECT_FALSE(outer.is_evaluated());
  EXPECT_EQ(sum(outer, {1}).to_vector<float>(), (Floats{2000, 4000}));
}

TEST(InPlace, TheHistoryOfALossThatIsKeptSeesTheOldWeights) {
  Tensor w = tensor<float>({2, 3}).requires_grad_();
  Tensor loss = sum(w * w * w);
  loss.backward({}, true);
  {
    const NoGrad updating;
    w.sub_(1);
  }
  eval({loss, w});
  w.zero_grad();
  loss.backward();
  EXPECT_EQ(loss.item<float>(), 35);
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2}));
}

TEST(InPlace, SwappingTwoStates) {
  Tensor a = tensor<float>({1, 2}).eval(), b = tensor<float>({3, 4}).eval();
  const Tensor old = a + 0;
  a.copy_(b + 0);
  b.copy_(old);
  eval({a, b});
  EXPECT_EQ(a.to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(b.to_vector<float>(), (Floats{1, 2}));
}

TEST(InPlace, RotatingThreeStatesThroughEachOther) {
  Tensor a = tensor<float>({1, 2}).eval(), b = tensor<float>({3, 4}).eval(), c = tensor<float>({5, 6}).eval();
  const Tensor next_a = b * 2, next_b = c * 2, next_c = a * 2;
  a.copy_(next_a);
  b.copy_(next_b);
  c.copy_(next_c);
  eval({a, b, c});
  EXPECT_EQ(a.to_vector<float>(), (Floats{6, 8}));
  EXPECT_EQ(b.to_vector<float>(), (Floats{10, 12}));
  EXPECT_EQ(c.to_vector<float>(), (Floats{2, 4}));
}

TEST(InPlace, AStateThatIsReadAcrossItsElements) {
  Tensor a = tensor<float>({1, 2, 3, 4}).eval();
  a.copy_(flip(a, {0}) * 2 + a);
  EXPECT_EQ(a.to_vector<float>(), (Floats{9, 8, 7, 6}));
  a.copy_(a * (30.0 / sum(a)));
  EXPECT_EQ(a.to_vector<float>(), (Floats{9, 8, 7, 6}));
}

TEST(InPlace, OneValueStoredInTwoPlaces) {
  Tensor a = tensor<float>({1, 2}).eval(), b = tensor<float>({3, 4}).eval();
  const Tensor both = a * b;
  a.copy_(both);
  b.copy_(both);
  eval({a, b});
  EXPECT_EQ(a.to_vector<float>(), (Floats{3, 8}));
  EXPECT_EQ(b.to_vector<float>(), (Floats{3, 8}));
  EXPECT_EQ(both.to_vector<float>(), (Floats{3, 8}));
}

// Chains whose temporaries take over each other's memory give the bits of one op at a time.
// Weights are read as themselves by what needs gradients, and as what was written to them by what needs none.
TEST(InPlace, WeightsThatAKernelReadsByTwoNamesAreNotOverwritten) {
  Tensor w = tensor<float>({-1, 0.5, 2}).eval().requires_grad_();
  for (int step = 0; step < 3; ++step) {  // nothing is read in between, and gradients add up: 0.5, 1, 1.5
    minimum(w.detach(), abs(w)).sum().backward();
    const NoGrad updating;
    w.sub_(w.grad() * 0.25);
  }
  EXPECT_EQ(w.to_vector<float>(), Floats({-1, -0.25, 1.25}));
  EXPECT_EQ(w.grad().to_vector<float>(), Floats({0, 1.5, 1.5}));
}

// The old weights are behind the loss for its gradient alone: its value is that of what was written over their copy.
TEST(InPlace, WeightsBehindAnOverwrittenCopyCanStillBeUpdated) {
  Tensor a = full({6}, 2.0).eval().requires_grad_(), w = full({5}, 3.0).eval().requires_grad_();
  std::vector<Tensor> losses;
  for (int step = 0; step < 4; ++step) {
    Tensor copy = w.clone();
    {
      const NoGrad writing;
      copy.detach().fill_(1.0);
    }
    Tensor loss = square(copy).mean() + a.sum();
    losses.push_back(loss.detach());
    loss.backward();
    const NoGrad updating;
    for (Tensor* p : {&a, &w}) {
      p->sub_(p->grad() * 0.125);
      p->zero_grad();
    }
    if (step == 1) losses[1].eval();
  }
  Floats values;
  for (const Tensor& loss : losses) values.push_back(loss.item<float>());
  EXPECT_EQ(values, Floats({13, 12.25, 11.5, 10.75}));
  EXPECT_FLOAT_EQ(w.to_vector<float>()[0], 2.8f);  // the gradient of the mean, 2 / 5, an eighth of it at a time
}

TEST(InPlace, TemporariesInPlaceGiveTheSameBits) {
  manual_seed(7);
  const Tensor x = rand({37, 129}).eval(), y = rand({129, 37}).eval(), z = rand({37, 37}).eval();
  const auto program = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    Tensor h = matmul(a, b) + c;
    h = matmul(h, h) + h;
    h = matmul(tanh(h), c) + h.t();
    const Tensor s = sort(h, 1).first;
    return matmul(s * 2 - h, c) + s;
  };
  const Device unfused("cpu_unfused");
  const Tensor here = program(x, y, z), there = program(x.to(unfused), y.to(unfused), z.to(unfused));
  EXPECT_EQ(here.to_bytes(), there.to_bytes());
}

TEST(InPlace, AProductAddedToItsOwnOperand) {
  const Tensor x = rand({33, 33}).eval(), w = rand({33, 33}).eval();
  const auto program = [](const Tensor& a, const Tensor& b) {
    const Tensor h = matmul(a, b);
    return matmul(matmul(h, b) + h, b);
  };
  const Device unfused("cpu_unfused");
  EXPECT_EQ(program(x, w).to_bytes(), program(x.to(unfused), w.to(unfused)).to_bytes());
}

TEST(InPlace, AnEmptyViewThatIsWrittenIntoHasGradients) {
  const Tensor b = ones({1, 2, 0}).requires_grad_(), s = ones({0}).requires_grad_();
  Tensor c = b.transpose(0, 2).clone();
  c.transpose(0, 2).add_(s);
  const std::vector<Tensor> slopes = grad({{(c * c).sum()}}, std::vector<Tensor>{b, s});
  eval({slopes[0], slopes[1]});
  EXPECT_EQ(slopes[0].shape(), (Dims{1, 2, 0}));
  EXPECT_EQ(slopes[1].shape(), (Dims{0}));
}

}  // namespace
}  // namespace tenon
