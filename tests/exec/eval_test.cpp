// Evaluation: what is computed when, what is kept, and that writing in place is never seen by those it does not
// concern.

#include "tenon/exec/eval.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/ir/build.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"
#include "tests/test_name.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

std::vector<std::string> computing_devices() {
  std::vector<std::string> names = device::names();
  std::erase_if(names, [](const std::string& name) {
    return name == "null" || name == "opencl_unfused" || name.starts_with("opencl:") || name == "vulkan_unfused" ||
           name.starts_with("vulkan:") || name == "cuda_unfused" || name.starts_with("cuda:");
  });
  return names;
}

class WithDefaultDevice {
 public:
  explicit WithDefaultDevice(std::string_view name) : before_(device::default_device()) {
    device::set_default_device(device::find(name));
  }
  ~WithDefaultDevice() { device::set_default_device(before_); }

 private:
  ir::DeviceId before_;
};

// Counts of launches are those of a device that runs one op a kernel.
class Eval : public testing::Test {
 protected:
  WithDefaultDevice here_{"reference"};
};

class Stores : public testing::TestWithParam<std::string> {
 protected:
  WithDefaultDevice here_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(On, Stores, testing::ValuesIn(computing_devices()),
                         [](const auto& row) { return test_name(row.param); });

size_t launches_of(auto&& action) {
  const size_t before = exec::stats().launches;
  action();
  return exec::stats().launches - before;
}

// The memory that an evaluated tensor lies in.
uint64_t storage_id(const Tensor& tensor) {
  const ir::Value base = ir::base_of(value_of(tensor));
  return device::storage_of(base.node->data(base.index))->id();
}

void eval_together(std::initializer_list<Tensor> tensors) {
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(value_of(tensor));
  exec::eval(values);
}

Floats numbers(const ir::Value& value) {
  const std::vector<std::byte> bytes = exec::read(value);
  Floats made(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

// ---- what is computed ----

TEST_F(Eval, RecordingComputesNothing) {
  const Tensor x = tensor({1.0f, 2.0f});
  EXPECT_EQ(launches_of([&] { const Tensor y = (x + 1) * x; }), 0u);
}

TEST_F(Eval, AValueIsComputedOnce) {
  const Tensor x = tensor({1.0f, 2.0f}), y = exp(-x);
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_EQ(launches_of([&] { y.eval(); }), 2u);
  EXPECT_TRUE(y.is_evaluated());
  EXPECT_EQ(launches_of([&] { y.eval(), y.to_vector<float>(), y.to_vector<float>(); }), 0u);
}

TEST_F(Eval, WhatWasComputedIsReusedByLaterGraphs) {
  const Tensor x = tensor({1.0f, 2.0f}), y = exp(x);
  y.eval();
  EXPECT_EQ(launches_of([&] { (-y).eval(); }), 1u);
}

TEST_F(Eval, AGraphRecordedBeforeAValueWasComputedUsesIt) {
  const Tensor x = tensor({1.0f, 2.0f}), y = exp(x), z = -y;
  y.eval();
  EXPECT_EQ(launches_of([&] { z.eval(); }), 1u);
}

TEST_F(Eval, AnEqualExpressionUsesAValueThatIsStillHeld) {
  const Tensor x = tensor({1.0f, 2.0f});
  const ir::Value held = value_of(exp(x));
  exec::eval({&held, 1});
  EXPECT_EQ(launches_of([&] { exp(x).eval(); }), 0u);
}

TEST_F(Eval, ViewsComputeNothing) {
  const Tensor x = arange(6, DType::f32).reshape({2, 3}).clone();
  x.eval();
  EXPECT_EQ(launches_of([&] { x.transpose(0, 1).eval(), x.slice(1, 1, 2).eval(), x.reshape({6}).eval(); }), 0u);
  EXPECT_TRUE(x.transpose(0, 1).is_evaluated());
}

TEST_F(Eval, AStridedValueIsReadInItsOwnOrder) {
  const Tensor x = arange(6, DType::f32).reshape({2, 3}).clone();
  x.eval();
  EXPECT_EQ(x.transpose(0, 1).to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(x.slice(1, 1, 3).to_vector<float>(), (Floats{1, 2, 4, 5}));
  EXPECT_EQ(x.select(0, 1).to_vector<float>(), (Floats{3, 4, 5}));
  EXPECT_EQ(x.slice(0, 0, 1).to_vector<float>(), (Floats{0, 1, 2}));  // the front: contiguous, shorter than its buffer
  EXPECT_EQ(x.slice(1, {}, {}, -1).to_vector<float>(), (Floats{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(x.select(0, 1).reshape({3, 1}).expand({3, 2}).to_vector<float>(), (Floats{3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(pad(x, {1, 0}).to_vector<float>(), (Floats{0, 0, 1, 2, 0, 3, 4, 5}));
}

TEST_F(Eval, EveryResultOfAnOpIsKept) {
  const auto [values, indices] = sort(tensor({3.0f, 1.0f, 2.0f}));
  values.eval();
  EXPECT_EQ(launches_of([&] { EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 0})); }), 0u);
  EXPECT_EQ(values.to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_F(Eval, SeveralOutputsShareOnePlan) {
  const Tensor x = tensor({1.0f, 2.0f}), shared = exp(x), a = shared + 1, b = shared * 2;
  const exec::Stats before = exec::stats();
  eval_together({a, b, x, a});
  const exec::Stats after = exec::stats();
  EXPECT_EQ(after.evaluations - before.evaluations, 1u);
  EXPECT_EQ(after.submits - before.submits, 1u);
  EXPECT_EQ(after.launches - before.launches, 5u);  // exp, 1, +, 2, *
  EXPECT_TRUE(a.is_evaluated());
  EXPECT_TRUE(b.is_evaluated());
  EXPECT_FALSE(shared.is_evaluated());
}

TEST_F(Eval, ANumberThatIsReadInAWiderTypeRunsOnePlan) {
  const Tensor a = tensor({1.5f, 2.0f}), b = tensor({2.0f, 3.0f});
  size_t before = exec::stats().evaluations;
  EXPECT_EQ((a * b).sum().item<double>(), 9.0);
  EXPECT_EQ(exec::stats().evaluations - before, 1u);
  before = exec::stats().evaluations;
  EXPECT_EQ((a * b).to(DType::bf16).to_vector<double>(), (std::vector<double>{3, 6}));
  EXPECT_EQ((a + b).to(DType::u8).to_vector<int64_t>(), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(gt(a, b).to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_EQ(exec::stats().evaluations - before, 3u);
}

TEST_F(Eval, AnActionIsDrawnInTwoPlans) {
  const Tensor weights = softmax(tensor({1.0f, 2.0f}), 0);
  multinomial(weights * 1, 1).item<int64_t>();
  const size_t before = exec::stats().evaluations;
  multinomial(weights * 2, 1).item<int64_t>();
  EXPECT_EQ(exec::stats().evaluations - before, 2u) << "one to look at the weights, one for the draw";
}

TEST_F(Eval, NothingToDoRunsNoPlan) {
  const Tensor x = tensor({1.0f});
  const size_t before = exec::stats().evaluations;
  exec::eval({});
  eval_together({x, x.reshape({1, 1})});
  EXPECT_EQ(exec::stats().evaluations, before);
}

TEST_F(Eval, EmptyValuesAreEvaluated) {
  const Tensor x = zeros({0, 3}) + 1;
  EXPECT_EQ(x.to_vector<float>(), Floats{});
  EXPECT_EQ(x.sum({0}).to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_EQ(x.sum().item<float>(), 0);
}

TEST_F(Eval, CountsBytesThatTravel) {
  const exec::Stats before = exec::stats();
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  x.to_vector<float>();
  EXPECT_EQ(exec::stats().bytes_uploaded - before.bytes_uploaded, 12u);
  EXPECT_EQ(exec::stats().bytes_downloaded - before.bytes_downloaded, 12u);
}

// ---- settle ----

TEST_F(Eval, SettlingFreesTheHistory) {
  const size_t before = ir::live_nodes();
  Tensor x = tensor({1.0f, 2.0f});
  for (int i = 0; i < 100; ++i) x = exp(-x);
  EXPECT_GT(ir::live_nodes(), before + 200);
  x.eval();
  EXPECT_EQ(ir::live_nodes(), before + 1);
}

TEST_F(Eval, SettlingKeepsTheView) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f}) * 2;
  const ir::Value view = ir::flip(value_of(x), {0});
  EXPECT_EQ(exec::settle(view), view);  // nothing is computed yet
  exec::eval({&view, 1});
  const ir::Value settled = exec::settle(view);
  EXPECT_FALSE(settled == view);
  EXPECT_EQ(settled.node->op(), ir::Op::flip);
  EXPECT_EQ(settled.node->input(0).node->op(), ir::Op::buffer);
  EXPECT_EQ(numbers(settled), (Floats{6, 4, 2}));
  EXPECT_EQ(numbers(view), (Floats{6, 4, 2}));
}

TEST_F(Eval, SettlingKeepsWhatGradientsNeed) {
  Tensor x = tensor({1.0f, 2.0f}).requires_grad_();
  Tensor y = (x * x).sum();
  EXPECT_EQ(y.item<float>(), 5);
  EXPECT_EQ(exec::settle(value_of(y)), value_of(y));
  y.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{2, 4}));
}

TEST_F(Eval, ALeafSettlesToItself) {
  const Tensor x = tensor({1.0f});
  EXPECT_EQ(exec::settle(value_of(x)), value_of(x));
}

TEST_F(Eval, ReadingALeafDoesNotCutItFromItsGraphs) {
  Tensor x = (tensor({1.0f, 2.0f}) * 3).requires_grad_();  // its value is computed, so reading it settles it
  const Tensor y = (x * x).sum();
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 6}));
  EXPECT_EQ(grad(y, x).to_vector<float>(), (Floats{6, 12}));
}

TEST_F(Eval, UpdatingALeafDoesNotCutItFromItsGraphs) {
  Tensor x = tensor({1.0f, 2.0f}).requires_grad_();
  const Tensor y = (x * x).sum();
  {
    NoGrad update;
    x.add_(10);
  }
  EXPECT_EQ(grad(y, x).to_vector<float>(), (Floats{2, 4}));
}

// ---- a view that becomes a leaf ----

TEST_F(Eval, AViewThatBecameALeafIsWrittenAsAWhole) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f, 4.0f});
  Tensor tail = x.slice(0, 2, 4);
  tail.requires_grad_();
  {
    NoGrad update;
    tail.add_(10);
  }
  EXPECT_EQ(tail.to_vector<float>(), (Floats{13, 14}));
}

TEST_F(Eval, ALeafMadeByDetachGuardsItsGradient) {
  Tensor x = tensor({1.0f, 2.0f}).detach().requires_grad_();
  EXPECT_THROW(x.add_(1), Error) << "a leaf that requires grad is written outside of NoGrad";
  const Tensor front = x.slice(0, 0, 1);
  {
    NoGrad update;
    x.add_(1);
  }
  EXPECT_TRUE(front.requires_grad());
}

// ---- errors ----

// An index that only the device knows: nothing can refuse it before it runs.
Tensor bad_gather(const Tensor& x) { return index_select(x, 0, (tensor({int64_t{5}, int64_t{0}}) + 1)); }

TEST_F(Eval, AnErrorLeavesEverythingUsable) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f}), good = exp(x * 0.0) + x, bad = bad_gather(good);
  EXPECT_EQ(text_of([&] { bad.eval(); }), "[index_select] index 6 is out of range for axis 0 of size 3");
  EXPECT_FALSE(bad.is_evaluated());
  EXPECT_EQ(good.to_vector<float>(), (Floats{2, 3, 4}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_EQ(text_of([&] { bad.to_vector<float>(); }), "[index_select] index 6 is out of range for axis 0 of size 3");
  EXPECT_EQ((good + 1).to_vector<float>(), (Floats{3, 4, 5}));
}

TEST_F(Eval, AnErrorGivesItsMemoryBack) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const size_t before = device::memory_stats().live_bytes;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(bad_gather(exp(x) + 1).eval(), Error);
  EXPECT_EQ(device::memory_stats().live_bytes, before);
}

TEST_F(Eval, GoodOutputsOfAFailedPlanCanBeEvaluatedLater) {
  const Tensor x = tensor({1.0f, 2.0f, 3.0f}), good = x * 2, bad = bad_gather(x);
  EXPECT_THROW(eval_together({good, bad}), Error);
  EXPECT_EQ(good.to_vector<float>(), (Floats{2, 4, 6}));
}

TEST_F(Eval, AStoreInAFailedPlanHappensOnceItIsEvaluated) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const Tensor doubled = x * 2;
  const Tensor other = tensor({1.0f, 2.0f}), bad = bad_gather(other);
  x.slice(0, 0, 2).fill_(9);
  EXPECT_THROW(eval_together({x, bad}), Error);
  EXPECT_THROW(eval_together({bad, x}), Error);
  EXPECT_EQ(doubled.to_vector<float>(), (Floats{2, 4, 6}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{9, 9, 3}));
}

// The whole step fails or none of it: a store that ran before the error must not show, in whatever order they ran.
TEST_F(Eval, AFailedStepLeavesTheOldValueOfWhatItWrote) {
  for (bool store_first : {true, false}) {
    Tensor x = tensor({1.0f, 2.0f, 3.0f});
    const Tensor bad = bad_gather(tensor({1.0f}));
    x.slice(0, 0, 2).fill_(9);
    EXPECT_THROW(store_first ? eval({x, bad}) : eval({bad, x}), Error);
    EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3})) << (store_first ? "store first" : "error first");
  }
}

// ---- stores: when memory is taken over ----

TEST_P(Stores, OverwriteMemoryThatNothingElseReads) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const uint64_t home = storage_id(x);
  x.fill_(7).eval();
  EXPECT_EQ(storage_id(x), home);
  x.slice(0, 1, 3).copy_(tensor({8.0f, 9.0f}));
  x.eval();
  EXPECT_EQ(storage_id(x), home);
  EXPECT_EQ(x.to_vector<float>(), (Floats{7, 8, 9}));
}

TEST_P(Stores, InALoopAllocateNothing) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const uint64_t home = storage_id(x);
  const size_t before = device::memory_stats().live_bytes;
  for (int i = 0; i < 100; ++i) {
    x.slice(0, i % 3, i % 3 + 1).fill_(static_cast<double>(i));
    x.eval();
    ASSERT_EQ(storage_id(x), home);
    ASSERT_EQ(device::memory_stats().live_bytes, before);
  }
  EXPECT_EQ(x.to_vector<float>(), (Floats{99, 97, 98}));
}

TEST_P(Stores, IntoAComputedAndSettledValueStayInItsMemory) {
  Tensor x = tensor({1.0f, 2.0f}) * 2;
  x.eval();
  const uint64_t home = storage_id(x);
  x.fill_(1).eval();
  EXPECT_EQ(storage_id(x), home);
}

// ---- stores: readers that are still alive ----

TEST_P(Stores, SpareAnUnevaluatedReader) {
  Tensor x = tensor({1.0f, 2.0f});
  const Tensor y = x * 10;
  x.fill_(0).eval();
  EXPECT_EQ(y.to_vector<float>(), (Floats{10, 20}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0}));
}

TEST_P(Stores, SpareAnUnevaluatedReaderInTheSamePlan) {
  Tensor x = tensor({1.0f, 2.0f});
  const Tensor y = x * 10;
  x.fill_(0);
  const Tensor z = x + 1;
  eval_together({z, x, y});
  EXPECT_EQ(y.to_vector<float>(), (Floats{10, 20}));
  EXPECT_EQ(z.to_vector<float>(), (Floats{1, 1}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 0}));
}

TEST_P(Stores, SpareAReaderBehindViewsAndMarks) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f, 4.0f});
  const ir::Value flipped = ir::flip(value_of(x), {0}), marked = ir::after(value_of(x), std::vector{flipped});
  const Tensor late = tensor_of(ir::param(value_of(x), std::make_shared<ir::Param>()));
  x.fill_(0).eval();
  EXPECT_EQ(numbers(flipped), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(numbers(marked), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(late.to_vector<float>(), (Floats{1, 2, 3, 4}));
}

TEST_P(Stores, SpareAnEvaluatedReaderAndTheGraphItKeeps) {
  Tensor x = tensor({1.0f, 2.0f});
  const ir::Value y = value_of(x * 10);
  exec::eval({&y, 1});
  x.fill_(0).eval();
  EXPECT_EQ(numbers(y), (Floats{10, 20}));
  EXPECT_EQ(numbers(y.node->input(0)), (Floats{1, 2}));  // the old x, through the graph
}

TEST_P(Stores, SpareAClone) {
  Tensor x = tensor({1.0f, 2.0f});
  const Tensor lazy = x.clone(), done = x.clone();
  done.eval();
  x.fill_(0).eval();
  EXPECT_EQ(lazy.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(done.to_vector<float>(), (Floats{1, 2}));
}

TEST_P(Stores, SpareARawValue) {
  Tensor x = tensor({1.0f, 2.0f});
  const ir::Value old = value_of(x);
  x.fill_(0).eval();
  EXPECT_EQ(numbers(old), (Floats{1, 2}));
  const ir::Value second = value_of(x);
  x.fill_(5).eval();
  EXPECT_EQ(numbers(second), (Floats{0, 0}));
}

TEST_P(Stores, SpareAnotherTensorOfTheSameNode) {
  const Tensor x = tensor({1.0f, 2.0f});
  Tensor a = x + 1;
  const Tensor b = x + 1;  // the same node, so the same memory once evaluated
  a.eval();
  b.eval();
  EXPECT_EQ(storage_id(a), storage_id(b));
  a.fill_(0).eval();
  EXPECT_EQ(b.to_vector<float>(), (Floats{2, 3}));
}

TEST_P(Stores, SpareAnEqualExpressionRecordedLater) {
  const Tensor x = tensor({1.0f, 2.0f});
  Tensor a = x + 1;
  const Tensor b = a * 10;
  a.eval();
  a.fill_(0).eval();
  EXPECT_EQ(b.to_vector<float>(), (Floats{20, 30}));
  EXPECT_EQ((x + 1).to_vector<float>(), (Floats{2, 3}));
}

TEST_P(Stores, SpareASavedValueOfAGradient) {
  Tensor x = tensor({1.0f, 2.0f}), w = tensor({3.0f, 4.0f}).requires_grad_();
  Tensor y = (x * w).sum();
  x.fill_(0).eval();
  y.backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (Floats{1, 2}));
  w.zero_grad();
}

TEST_P(Stores, SpareAReaderOnAnotherThread) {
  Tensor x = tensor({1.0f, 2.0f});
  Tensor y = x * 10;
  x.fill_(0).eval();
  const Floats read = y.to_vector<float>();
  EXPECT_EQ(read, (Floats{10, 20}));
}

// ---- stores: several at once ----

TEST_P(Stores, IntoOneBaseGiveTwoValues) {
  const Tensor x = tensor({1.0f, 2.0f});
  const ir::Value base = value_of(x), nine = value_of(full({2}, 9.0f)), eight = value_of(full({2}, 8.0f));
  const ir::Value a = ir::store(base, nine, {}), b = ir::store(base, eight, {});
  exec::eval(std::vector{a, b});
  EXPECT_EQ(numbers(a), (Floats{9, 9}));
  EXPECT_EQ(numbers(b), (Floats{8, 8}));
  EXPECT_EQ(numbers(base), (Floats{1, 2}));
}

TEST_P(Stores, InARowKeepEachVersion) {
  Tensor x = tensor({0.0f, 0.0f, 0.0f});
  std::vector<Tensor> snapshots;
  for (int i = 0; i < 3; ++i) {
    x.slice(0, i, i + 1).fill_(i + 1.0);
    snapshots.push_back(x + 0);
  }
  x.eval();
  EXPECT_EQ(snapshots[0].to_vector<float>(), (Floats{1, 0, 0}));
  EXPECT_EQ(snapshots[1].to_vector<float>(), (Floats{1, 2, 0}));
  EXPECT_EQ(snapshots[2].to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_P(Stores, OfVersionsThatAreAllKeptDoNotShareMemory) {
  Tensor x = tensor({0.0f, 0.0f});
  x.fill_(1);
  const ir::Value first = value_of(x);
  x.fill_(2);
  const ir::Value second = value_of(x);
  x.slice(0, 0, 1).fill_(3);
  exec::eval(std::vector{value_of(x), first, second});
  EXPECT_EQ(numbers(first), (Floats{1, 1}));
  EXPECT_EQ(numbers(second), (Floats{2, 2}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 2}));
}

TEST_P(Stores, CanSwapTwoTensors) {
  Tensor a = tensor({1.0f, 2.0f}), b = tensor({3.0f, 4.0f});
  const Tensor saved = a.clone();
  a.copy_(b);
  b.copy_(saved);
  eval_together({a, b});
  EXPECT_EQ(a.to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(b.to_vector<float>(), (Floats{1, 2}));
}

TEST_P(Stores, OfEachOtherInOnePlan) {
  const Tensor x = tensor({1.0f, 2.0f}), y = tensor({3.0f, 4.0f});
  const ir::Value a = ir::store(value_of(x), value_of(y), {}), b = ir::store(value_of(y), value_of(x), {});
  exec::eval(std::vector{a, b});
  EXPECT_EQ(numbers(a), (Floats{3, 4}));
  EXPECT_EQ(numbers(b), (Floats{1, 2}));
}

// The same with nothing else holding the two: only the stores know them.
TEST_P(Stores, OfEachOtherInOnePlanWithoutOtherReaders) {
  Tensor x = tensor({1.0f, 2.0f}), y = tensor({3.0f, 4.0f});
  const ir::Value a = ir::store(value_of(x), value_of(y), {}), b = ir::store(value_of(y), value_of(x), {});
  x = y = Tensor();
  exec::eval(std::vector{a, b});
  EXPECT_EQ(numbers(a), (Floats{3, 4}));
  EXPECT_EQ(numbers(b), (Floats{1, 2}));
}

// ---- stores that read what they write ----

TEST_P(Stores, MayReadTheirOwnBase) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  x.add_(1);
  x.mul_(x);
  x.eval();
  EXPECT_EQ(x.to_vector<float>(), (Floats{4, 9, 16}));
}

TEST_P(Stores, MayShiftAlongThemselves) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f, 4.0f});
  x.slice(0, 1, 4).copy_(x.slice(0, 0, 3));
  x.eval();
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 1, 2, 3}));
  x.slice(0, 0, 3).copy_(x.slice(0, 1, 4));
  x.eval();
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3, 3}));
}

TEST_P(Stores, MayReverseAndTransposeThemselves) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f, 4.0f});
  x.copy_(x.slice(0, {}, {}, -1));
  EXPECT_EQ(x.to_vector<float>(), (Floats{4, 3, 2, 1}));
  Tensor square = x.reshape({2, 2});
  square.copy_(square.transpose(0, 1));
  EXPECT_EQ(square.to_vector<float>(), (Floats{4, 2, 3, 1}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{4, 2, 3, 1}));
}

TEST_P(Stores, MayReadTheirBaseThroughWhatWasComputedEarlier) {
  Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const Tensor total = x.sum();
  x.fill_(0);
  x.add_(total);
  const Tensor after = x.sum();
  eval_together({x, after});
  EXPECT_EQ(x.to_vector<float>(), (Floats{6, 6, 6}));
  EXPECT_EQ(total.item<float>(), 6);
  EXPECT_EQ(after.item<float>(), 18);
}

TEST_P(Stores, ThroughViewsReachTheRoot) {
  Tensor x = arange(6, DType::f32).reshape({2, 3}).clone();
  x.eval();
  Tensor column = x.transpose(0, 1).select(0, 1);
  column.fill_(9).eval();
  EXPECT_EQ(x.to_vector<float>(), (Floats{0, 9, 2, 3, 9, 5}));
  x.fill_(1).eval();
  EXPECT_EQ(column.to_vector<float>(), (Floats{1, 1}));
}

// ---- random programs ----

// A tensor in memory of its own or seen through strides, computed at once: what every lazy program has to equal.
struct Model {
  std::shared_ptr<Floats> memory;
  int64_t rows, columns, row_stride, column_stride, offset;

  static Model of(Floats values, int64_t rows, int64_t columns) {
    return {std::make_shared<Floats>(std::move(values)), rows, columns, columns, 1, 0};
  }
  float& at(int64_t r, int64_t c) const {
    return (*memory)[static_cast<size_t>(offset + r * row_stride + c * column_stride)];
  }
  Floats values() const {
    Floats all;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) all.push_back(at(r, c));
    }
    return all;
  }
  void assign(const Floats& from) const {
    size_t i = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) at(r, c) = from[i++];
    }
  }
  Model transposed() const { return {memory, columns, rows, column_stride, row_stride, offset}; }
  Model cut(int64_t from_row, int64_t to_row, int64_t from_column, int64_t to_column) const {
    return {memory,     to_row - from_row, to_column - from_column,
            row_stride, column_stride,     offset + from_row * row_stride + from_column * column_stride};
  }
};

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  void run(int steps) {
    create();
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) step();
    for (const Pair& pair : pairs_) check(pair);
    for (const auto& [value, expected] : held_) ASSERT_EQ(numbers(value), expected) << "a held value\n" << log_;
  }

  int in_place() const { return in_place_; }
  int copied() const { return copied_; }

 private:
  struct Pair {
    Tensor tensor;
    Model model;
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(n)); }
  Pair& pick() { return pairs_[static_cast<size_t>(below(static_cast<int64_t>(pairs_.size())))]; }
  void note(const std::string& what) { log_ += what + "\n"; }

  void create() {
    Floats values(16);
    for (float& value : values) value = static_cast<float>(below(10));
    Tensor made = from_vector(values, {4, 4});
    if (below(2)) made = made * 1.0;  // computed, not uploaded
    pairs_.push_back({made, Model::of(values, 4, 4)});
    note("create");
  }

  void step() {
    if (pairs_.size() > 8) pairs_.erase(pairs_.begin() + below(static_cast<int64_t>(pairs_.size())));
    if (held_.size() > 5) held_.erase(held_.begin());
    switch (below(17)) {
      case 0: return create();
      case 1: return view();
      case 2: return view();
      case 3: return compute();
      case 4: return compute();
      case 5: return combine();
      case 6: return fill();
      case 7: return update();
      case 8: return copy_between();
      case 9: return copy_between();
      case 10: return check(pick());
      case 11: return evaluate();
      case 12: return evaluate_several();
      case 13: return evaluate_with_an_error();
      case 14: return write_and_evaluate();
      case 15: return write_and_evaluate();
      default: return hold();
    }
  }

  void view() {
    const Pair& from = pick();
    if (below(3) == 0) {
      note("transpose");
      pairs_.push_back({from.tensor.transpose(0, 1), from.model.transposed()});
      return;
    }
    const int64_t r0 = below(from.model.rows), r1 = r0 + 1 + below(from.model.rows - r0);
    const int64_t c0 = below(from.model.columns), c1 = c0 + 1 + below(from.model.columns - c0);
    note(fmt::format("slice {}:{}, {}:{}", r0, r1, c0, c1));
    pairs_.push_back({from.tensor.slice(0, r0, r1).slice(1, c0, c1), from.model.cut(r0, r1, c0, c1)});
  }

  void compute() {
    const Pair& from = pick();
    Floats values = from.model.values();
    for (float& value : values) value = value * 0.5f + 1.0f;
    note("compute");
    pairs_.push_back({from.tensor * 0.5 + 1.0, Model::of(values, from.model.rows, from.model.columns)});
  }

  void combine() {
    const Pair &a = pick(), &b = pick();
    if (a.model.rows != b.model.rows || a.model.columns != b.model.columns) return;
    Floats x = a.model.values(), y = b.model.values();
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i] * 0.25f;
    note("combine");
    pairs_.push_back({a.tensor + b.tensor * 0.25, Model::of(x, a.model.rows, a.model.columns)});
  }

  void fill() {
    Pair& target = pick();
    const auto value = static_cast<float>(below(100));
    note(fmt::format("fill {}", value));
    target.tensor.fill_(value);
    target.model.assign(Floats(static_cast<size_t>(target.model.rows * target.model.columns), value));
  }

  void update() {
    Pair& target = pick();
    Floats values = target.model.values();
    for (float& value : values) value += 3.0f;
    note("add 3");
    target.tensor.add_(3);
    target.model.assign(values);
  }

  void copy_between() {
    Pair& target = pick();
    const Pair& source = pick();
    if (target.model.rows != source.model.rows || target.model.columns != source.model.columns) return;
    note("copy");
    const Floats values = source.model.values();
    target.tensor.copy_(source.tensor);
    target.model.assign(values);
  }

  void evaluate() {
    note("eval");
    pick().tensor.eval();
  }

  // What makes memory be taken over: nothing is recorded between the write and its evaluation.
  void write_and_evaluate() {
    Pair& target = pick();
    const auto value = static_cast<float>(below(100));
    const bool had_memory = target.tensor.is_evaluated();
    const uint64_t home = had_memory ? storage_id(target.tensor) : 0;
    note(fmt::format("fill {} and eval", value));
    target.tensor.fill_(value).eval();
    target.model.assign(Floats(static_cast<size_t>(target.model.rows * target.model.columns), value));
    if (had_memory) ++(storage_id(target.tensor) == home ? in_place_ : copied_);
  }

  static bool is_gpu() {
    return Device().name().starts_with("opencl") || Device().name().starts_with("vulkan") ||
           Device().name().starts_with("cuda");
  }

  void evaluate_with_an_error() {
    note("eval with an error");
    if (Device().name() == "remote" ||
        is_gpu()) {  // whose plans fail late: what shares one with a fault is never computed
      EXPECT_THROW(exec::wait(std::vector{value_of(bad_gather(tensor({1.0f})))}), Error) << log_;
      return;
    }
    std::vector<ir::Value> values{value_of(pick().tensor), value_of(bad_gather(tensor({1.0f}))),
                                  value_of(pick().tensor)};
    if (below(2)) std::swap(values[0], values[1]);
    EXPECT_THROW(exec::eval(values), Error) << log_;
  }

  void evaluate_several() {
    note("eval several");
    std::vector<ir::Value> values;
    for (int64_t i = below(4); i >= 0; --i) values.push_back(value_of(pick().tensor));
    exec::eval(values);
  }

  void hold() {
    note("hold");
    const Pair& from = pick();
    held_.push_back({value_of(from.tensor), from.model.values()});
  }

  void check(const Pair& pair) {
    note("check");
    ASSERT_EQ(pair.tensor.to_vector<float>(), pair.model.values()) << log_;
  }

  std::mt19937 random_;
  std::vector<Pair> pairs_;
  std::vector<std::pair<ir::Value, Floats>> held_;
  int in_place_ = 0, copied_ = 0;
  std::string log_;
};

TEST_P(Stores, InRandomProgramsGiveWhatRunningEachOpAtOnceGives) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int kPrograms = 200;
#else
  constexpr int kPrograms = 3000;
#endif
  const bool is_gpu =
      GetParam().starts_with("opencl") || GetParam().starts_with("vulkan") || GetParam().starts_with("cuda");
  const uint32_t programs = is_gpu                                ? 4
                            : GetParam().starts_with("simulated") ? 100
                                                                  : kPrograms;  // each has kernels of its own
  int in_place = 0, copied = 0;
  for (uint32_t seed = 0; seed < programs; ++seed) {
    SCOPED_TRACE(seed);
    Program program(seed);
    program.run(60);
    if (HasFatalFailure()) return;
    in_place += program.in_place();
    copied += program.copied();
  }
  EXPECT_GT(in_place, static_cast<int>(programs) / 2);  // or the programs would prove nothing
  EXPECT_GT(copied, static_cast<int>(programs) / 2);
}

// Sums of pads that fill a buffer are written piece by piece. Constants and values that stand in several places have to
// be written, too.
TEST(Assembly, PutsTheSameValueAndConstantsIntoSeveralPlaces) {
  const auto put_together = [](const std::vector<Tensor>& pieces) {
    int64_t size = 0, at = 0;
    for (const Tensor& piece : pieces) size += piece.numel();
    ir::Value total;
    for (const Tensor& piece : pieces) {
      const ir::Value padded = ir::pad(value_of(piece), {at}, {size - at - piece.numel()});
      at += piece.numel();
      total = total ? ir::add(total, padded) : padded;
    }
    return tensor_of(total);
  };
  const Tensor ones_there = ones({6}).clone().eval();
  EXPECT_EQ(put_together({ones({2}), ones({2}), full({2}, 3.0)}).to_vector<float>(), (Floats{1, 1, 1, 1, 3, 3}));
  EXPECT_EQ((ones_there - put_together({ones({2}), ones({2}), ones({2})}) * 0.5).to_vector<float>(), Floats(6, 0.5f));
  const Tensor x = from_vector<float>({1, 2}, {2}).eval();
  EXPECT_EQ((ones_there * put_together({x, x, x})).to_vector<float>(), (Floats{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(put_together({x, x * 1, x * 2}).to_vector<float>(), (Floats{1, 2, 1, 2, 2, 4}));
  const Tensor y = x + 1;
  EXPECT_EQ((ones_there * put_together({y, y, x})).to_vector<float>(), (Floats{2, 3, 2, 3, 1, 2}));
}

}  // namespace
}  // namespace tenon
