// Views share memory, writes are seen by whoever looks at that memory afterwards, and by nobody who looked before:
// a lazy program gives what the same program gives when every op runs at once.

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "tenon/exec/eval.h"
#include "tests/tensor/views.h"

namespace tenon {
namespace {

// ---- sharing ----

TEST(Views, AWriteThroughASliceIsSeenByTheBase) {
  Tensor x = counting({6});
  x.slice(0, 1, 6, 2).fill_(-1);
  EXPECT_EQ(wholes(x), Wholes({0, -1, 2, -1, 4, -1}));
}

TEST(Views, AWriteToTheBaseIsSeenByViews) {
  Tensor x = counting({2, 3});
  const Tensor row = x[1], column = x.select(1, 2), flat = x.reshape({6}), turned = x.t();
  x.mul_(10);
  EXPECT_EQ(wholes(row), Wholes({30, 40, 50}));
  EXPECT_EQ(wholes(column), Wholes({20, 50}));
  EXPECT_EQ(wholes(flat), Wholes({0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(wholes(turned), Wholes({0, 30, 10, 40, 20, 50}));
}

TEST(Views, DiagonalsOfAnyLayoutAreViews) {
  const auto ones_on = [](const std::function<Tensor(const Tensor&)>& part, const Dims& shape) {
    Tensor x = zeros(shape, DType::i64);
    part(x).add_(1);
    return wholes(x);
  };
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.t().diagonal(); }, {2, 2}), Wholes({1, 0, 0, 1}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.t().diagonal(1); }, {2, 3}), Wholes({0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.slice(1, 1).diagonal(); }, {2, 3}), Wholes({0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.slice(0, 0, 3, 2).diagonal(); }, {3, 2}),
            Wholes({1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.slice(1, {}, {}, -1).diagonal(); }, {2, 2}), Wholes({0, 1, 1, 0}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.diagonal(0, 0, 2); }, {2, 2, 2}), Wholes({1, 0, 1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(ones_on([](const Tensor& x) { return x.diagonal(0, 1, 3); }, {1, 2, 2, 2}),
            Wholes({1, 0, 1, 0, 0, 1, 0, 1}));
}

TEST(Views, GradientsPassThroughWrittenDiagonals) {
  const Tensor x = ones({2, 2}).requires_grad_();
  const Tensor twice = x * 2;
  twice.t().diagonal().mul_(5);
  EXPECT_EQ(reals(grad(sum(twice), x)), Reals({10, 2, 2, 10}));
}

TEST(Views, RepeatedElementsAreMemoryOfTheirOwn) {
  Tensor x = from_vector(Wholes{3}, {1});
  const Tensor interleaved = repeat_interleave(x, 2, 0), once = repeat_interleave(x, 1, 0), repeated = repeat(x, {2});
  x.square_();
  EXPECT_EQ(wholes(interleaved), Wholes({3, 3}));
  EXPECT_EQ(wholes(once), Wholes({3}));
  EXPECT_EQ(wholes(repeated), Wholes({3, 3}));
}

TEST(Views, ViewsOfViewsStayAsCheapAsTheFirst) {
  Tensor x = counting({2, 3});
  Tensor turned = x;
  for (int i = 0; i < 20001; ++i) turned = turned.t();  // a quarter of a minute if each walked the way of all before
  turned[0].fill_(7);
  EXPECT_EQ(wholes(x), Wholes({7, 1, 2, 7, 4, 5}));
}

TEST(Views, SiblingsSeeEachOther) {
  Tensor x = counting({3, 4});
  Tensor rows = x.slice(0, 0, 2), columns = x.slice(1, 1, 3);
  rows.fill_(7);
  EXPECT_EQ(wholes(columns), Wholes({7, 7, 7, 7, 9, 10}));
  columns.fill_(5);
  EXPECT_EQ(wholes(rows), Wholes({7, 5, 5, 7, 7, 5, 5, 7}));
}

TEST(Views, EveryKindOfViewWritesThrough) {
  Tensor x = counting({2, 3});
  x.t()[0].fill_(-1);
  EXPECT_EQ(wholes(x), Wholes({-1, 1, 2, -1, 4, 5}));
  x.reshape({3, 2}).select(1, 1).fill_(-2);
  EXPECT_EQ(wholes(x), Wholes({-1, -2, 2, -2, 4, -2}));
  x.view({6}).narrow(0, 2, 1).fill_(-3);
  EXPECT_EQ(wholes(x), Wholes({-1, -2, -3, -2, 4, -2}));
  x.unsqueeze(0).squeeze().permute({1, 0}).select(0, 1).zero_();
  EXPECT_EQ(wholes(x), Wholes({-1, 0, -3, -2, 0, -2}));
  x.flatten()[5].fill_(9);
  EXPECT_EQ(wholes(x), Wholes({-1, 0, -3, -2, 0, 9}));
  x.split({1, 2}, 1)[0].fill_(6);
  EXPECT_EQ(wholes(x), Wholes({6, 0, -3, 6, 0, 9}));
  x.chunk(2, 0)[1].fill_(4);
  EXPECT_EQ(wholes(x), Wholes({6, 0, -3, 4, 4, 4}));
  unbind(x, 0)[0].fill_(8);
  EXPECT_EQ(wholes(x), Wholes({8, 8, 8, 4, 4, 4}));
}

TEST(Views, AViewOfAViewOfAViewReachesTheBase) {
  Tensor x = counting({4, 5});
  Tensor inner = x.slice(0, 1, 4).t().slice(0, 0, 5, 2).select(1, 2);  // row 3, columns 0, 2, 4
  EXPECT_EQ(wholes(inner), Wholes({15, 17, 19}));
  inner.copy_(tensor({-1, -2, -3}));
  EXPECT_EQ(wholes(x[3]), Wholes({-1, 16, -2, 18, -3}));
  EXPECT_EQ(wholes(x[2]), Wholes({10, 11, 12, 13, 14}));
}

TEST(Views, NegativeStepsAlias) {
  Tensor x = counting({5});
  Tensor backwards = x.slice(0, {}, {}, -1);
  EXPECT_EQ(wholes(backwards), Wholes({4, 3, 2, 1, 0}));
  backwards.narrow(0, 0, 2).fill_(9);
  EXPECT_EQ(wholes(x), Wholes({0, 1, 2, 9, 9}));
  x.zero_();
  EXPECT_EQ(wholes(backwards), Wholes({0, 0, 0, 0, 0}));
}

TEST(Views, FlipCopies) {
  Tensor x = counting({3});
  Tensor flipped = flip(x, {0});
  flipped.fill_(9);
  EXPECT_EQ(wholes(x), Wholes({0, 1, 2}));
  flipped = flip(x, {0});
  x.zero_();
  EXPECT_EQ(wholes(flipped), Wholes({2, 1, 0}));
  Tensor same = flip(x, {});  // no dims, but still a copy
  same.fill_(1);
  EXPECT_EQ(wholes(x), Wholes({0, 0, 0}));
}

TEST(Views, ReshapeOfATransposeCopies) {
  Tensor x = counting({2, 3});
  Tensor copy = x.t().reshape({6});
  copy.fill_(9);
  EXPECT_EQ(wholes(x), Wholes({0, 1, 2, 3, 4, 5}));
  x.zero_();
  EXPECT_EQ(wholes(copy), Wholes({9, 9, 9, 9, 9, 9}));
}

TEST(Views, ReshapeOfATransposeThatStridesExpressIsAView) {
  Tensor x = counting({2, 3, 4});
  Tensor view = x.permute({1, 0, 2}).reshape({3, 2, 2, 2});  // cuts the contiguous axis only
  view.select(0, 0).fill_(-1);
  EXPECT_EQ(wholes(x.select(1, 0)), Wholes(8, -1));
  EXPECT_EQ(wholes(x.select(1, 1)), Wholes({4, 5, 6, 7, 16, 17, 18, 19}));
}

TEST(Views, CloneAndOpsOwnTheirMemory) {
  Tensor x = counting({3});
  Tensor clone = x.clone(), sum = x + 0, cat_of_one = cat({x}), repeated = repeat(x, {1}), rolled = roll(x, 0, 0);
  x.fill_(9);
  for (const Tensor& own : {clone, sum, cat_of_one, repeated, rolled}) EXPECT_EQ(wholes(own), Wholes({0, 1, 2}));
  for (Tensor own : {clone, sum, cat_of_one, repeated, rolled}) own.zero_();
  EXPECT_EQ(wholes(x), Wholes({9, 9, 9}));
}

// Where an op has nothing to do it must still not hand out its operand: writing the result would write the operand.
TEST(Views, OpsThatChangeNothingStillOwnTheirResult) {
  const auto writes_into_operand = [](Tensor x, Tensor (*op)(const Tensor&)) {
    const Reals before = reals(x);
    op(x).fill_(9);
    return reals(x) != before;
  };
  EXPECT_FALSE(writes_into_operand(counting({2}), floor)) << "floor";
  EXPECT_FALSE(writes_into_operand(counting({2}), ceil)) << "ceil";
  EXPECT_FALSE(writes_into_operand(counting({2}), trunc)) << "trunc";
  EXPECT_FALSE(writes_into_operand(counting({2}), round)) << "round";
  EXPECT_FALSE(writes_into_operand(tensor({false, true}), abs)) << "abs";
  EXPECT_FALSE(writes_into_operand(counting({2}), [](const Tensor& x) { return nan_to_num(x); })) << "nan_to_num";
  EXPECT_FALSE(writes_into_operand(tensor({1.0, 2.0}), [](const Tensor& x) { return pow(x, 1); })) << "pow";
  EXPECT_FALSE(writes_into_operand(scalar(3.0), [](const Tensor& x) { return max(x, 0).first; })) << "max";
  EXPECT_FALSE(writes_into_operand(scalar(3.0), [](const Tensor& x) { return sort(x).first; })) << "sort";
  EXPECT_FALSE(writes_into_operand(scalar(3.0), [](const Tensor& x) { return cumsum(x, 0); })) << "cumsum";
  EXPECT_FALSE(writes_into_operand(scalar(3.0), [](const Tensor& x) { return sum(x); })) << "sum";
  EXPECT_FALSE(writes_into_operand(tensor({1.0}), [](const Tensor& x) { return cat({x}); })) << "cat";
}

TEST(Views, ConversionToTheSameDtypeOrDeviceIsTheTensorItself) {
  Tensor x = counting({2});
  x.to(DType::i64).fill_(3);
  EXPECT_EQ(wholes(x), Wholes({3, 3}));
  x.to(x.device()).fill_(4);
  EXPECT_EQ(wholes(x), Wholes({4, 4}));
  x.to(DType::i32).fill_(5);  // another dtype is a copy
  EXPECT_EQ(wholes(x), Wholes({4, 4}));
}

TEST(Views, CopiesOfAHandleAreTheSameTensor) {
  Tensor x = counting({2});
  Tensor same = x;
  same.fill_(7);
  EXPECT_EQ(wholes(x), Wholes({7, 7}));
}

TEST(Views, ContiguousCopiesOnlyWhatIsStrided) {
  Tensor x = counting({2, 3});
  x.contiguous().fill_(1);
  EXPECT_EQ(wholes(x), Wholes(6, 1));
  x.t().contiguous().fill_(2);
  EXPECT_EQ(wholes(x), Wholes(6, 1));
}

TEST(Views, ExpandedViewsShowTheirMemory) {
  Tensor x = counting({1, 3});
  const Tensor wide = x.expand({2, 3});
  x.select(1, 1).fill_(9);
  EXPECT_EQ(wholes(wide), Wholes({0, 9, 2, 0, 9, 2}));
}

TEST(Views, FilledTensorsDoNotShareTheirConstant) {
  Tensor x = zeros({2}), y = zeros({2});
  x.fill_(1);
  EXPECT_EQ(reals(y), Reals({0, 0}));
  EXPECT_EQ(reals(zeros({2})), Reals({0, 0}));
  Tensor seven = full({3}, 7);
  seven[1].fill_(0);
  EXPECT_EQ(wholes(seven), Wholes({7, 0, 7}));
  EXPECT_EQ(wholes(full({3}, 7)), Wholes({7, 7, 7}));
}

// ---- order of reads and writes ----

TEST(Views, ValuesComputedBeforeAWriteKeepTheOldValue) {
  Tensor x = counting({3});
  const Tensor before = x * 10, copy = x.clone();
  x.fill_(5);
  const Tensor after = x * 10;
  EXPECT_EQ(wholes(after), Wholes({50, 50, 50}));
  EXPECT_EQ(wholes(before), Wholes({0, 10, 20}));
  EXPECT_EQ(wholes(copy), Wholes({0, 1, 2}));
}

TEST(Views, ValuesComputedBeforeAWriteSurviveItsEvaluation) {
  Tensor x = counting({3});
  const Tensor before = x * 10;
  x.add_(1);
  x.eval();
  x.add_(1);
  x.eval();
  EXPECT_EQ(wholes(before), Wholes({0, 10, 20}));
  EXPECT_EQ(wholes(x), Wholes({2, 3, 4}));
}

TEST(Views, WritesHappenInOrder) {
  Tensor x = zeros({3}, DType::i64);
  x.fill_(1);
  x[0].fill_(2);
  x.add_(10);
  x[2].fill_(3);
  x.mul_(2);
  EXPECT_EQ(wholes(x), Wholes({24, 22, 6}));
}

TEST(Views, SwapThroughATemporary) {
  Tensor x = counting({3}), y = counting({3}) + 10;
  const Tensor held = x.clone();
  x.copy_(y);
  y.copy_(held);
  EXPECT_EQ(wholes(x), Wholes({10, 11, 12}));
  EXPECT_EQ(wholes(y), Wholes({0, 1, 2}));
}

TEST(Views, SwapOfTwoRows) {
  Tensor x = counting({2, 3});
  const Tensor held = x[0].clone();
  x[0].copy_(x[1]);
  x[1].copy_(held);
  EXPECT_EQ(wholes(x), Wholes({3, 4, 5, 0, 1, 2}));
}

TEST(Views, SwapWithoutATemporaryLosesAValueAsItDoesInPlace) {
  Tensor x = counting({2, 2});
  const Tensor first = x[0];  // a view, not a copy
  x[0].copy_(x[1]);
  x[1].copy_(first);
  EXPECT_EQ(wholes(x), Wholes({2, 3, 2, 3}));
}

TEST(Views, OverlappingCopiesReadBeforeTheyWrite) {
  Tensor up = counting({5}), down = counting({5});
  up.slice(0, 1).copy_(up.slice(0, 0, -1));
  EXPECT_EQ(wholes(up), Wholes({0, 0, 1, 2, 3}));
  down.slice(0, 0, -1).copy_(down.slice(0, 1));
  EXPECT_EQ(wholes(down), Wholes({1, 2, 3, 4, 4}));
}

TEST(Views, ATensorReversesItself) {
  Tensor x = counting({5});
  x.copy_(x.slice(0, {}, {}, -1));
  EXPECT_EQ(wholes(x), Wholes({4, 3, 2, 1, 0}));
  Tensor square = counting({3, 3});
  square.copy_(square.t());
  EXPECT_EQ(wholes(square), Wholes({0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

TEST(Views, AnOpInPlaceMayReadItsOwnTarget) {
  Tensor x = counting({4});
  x.add_(x);
  EXPECT_EQ(wholes(x), Wholes({0, 2, 4, 6}));
  x.slice(0, 0, 2).add_(x.slice(0, 2, 4));
  EXPECT_EQ(wholes(x), Wholes({4, 8, 4, 6}));
  x.mul_(x[0]);
  EXPECT_EQ(wholes(x), Wholes({16, 32, 16, 24}));
}

TEST(Views, WritingWhileEvaluatedViewsAreAlive) {
  Tensor x = counting({4});
  const Tensor view = x.slice(0, 1, 3);
  view.eval();
  const Tensor seen = view + 0;
  x.fill_(9);
  x.eval();
  EXPECT_EQ(wholes(view), Wholes({9, 9}));
  EXPECT_EQ(wholes(seen), Wholes({1, 2}));
}

TEST(Views, AViewOutlivesItsBase) {
  Tensor view;
  {
    Tensor x = counting({4});
    view = x.slice(0, 1, 3);
    x.add_(10);
  }
  view.mul_(2);
  EXPECT_EQ(wholes(view), Wholes({22, 24}));
}

TEST(Views, EmptyViewsTakeWrites) {
  Tensor x = counting({3});
  x.slice(0, 2, 2).fill_(9);
  x.slice(0, 3).copy_(zeros({0}, DType::i64));
  EXPECT_EQ(wholes(x), Wholes({0, 1, 2}));
  EXPECT_EQ(x.slice(0, 2, 2).numel(), 0);
}

// ---- views launch nothing ----

TEST(Views, MakingAndEvaluatingViewsLaunchesNothing) {
  Tensor x = counting({4, 6}).eval();
  const size_t launches = exec::stats().launches;
  const Tensor views[] = {x.t(),
                          x.reshape({2, 12}),
                          x.slice(0, 1, 4, 2),
                          x.slice(1, {}, {}, -1),
                          x.select(1, 3),
                          x[2],
                          x.unsqueeze(1).expand({4, 5, 6}),
                          x.permute({1, 0}).narrow(0, 1, 3),
                          x.flatten(),
                          x.detach(),
                          x.index({Ellipsis(), Slice(0, 2), NewAxis()}),
                          x.split({1, 3}, 0)[1]};
  for (const Tensor& view : views) view.eval();
  EXPECT_EQ(exec::stats().launches, launches);
  EXPECT_TRUE(x.t().is_evaluated());
}

TEST(Views, RecordingRunsNothing) {
  const Tensor x = counting({4});
  const auto before = exec::stats();
  Tensor y = exp(x) + 1;
  y.add_(2);
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_EQ(exec::stats().launches, before.launches);
  EXPECT_EQ(exec::stats().evaluations, before.evaluations);
}

TEST(Views, ReadingTwiceComputesOnce) {
  const Tensor y = counting({4}) * 3;
  y.eval();
  const size_t launches = exec::stats().launches;
  EXPECT_EQ(wholes(y), Wholes({0, 3, 6, 9}));
  EXPECT_EQ(wholes(y.reshape({2, 2})), Wholes({0, 3, 6, 9}));
  EXPECT_EQ(exec::stats().launches, launches);
}

// ---- gradients and memory ----

TEST(Views, GradientsPassThroughWritesIntoAnIntermediate) {
  Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
  Tensor y = x * 2;
  y[0].fill_(5);
  sum(y * y).backward();  // y = 5, 4, 6
  EXPECT_EQ(reals(x.grad()), Reals({0, 16, 24}));
}

TEST(Views, GradientsPassThroughOpsInPlaceOnAView) {
  Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
  Tensor y = x * 2;
  y.slice(0, 1).mul_(3);
  EXPECT_EQ(reals(y), Reals({2, 12, 18}));
  sum(y * y).backward();
  EXPECT_EQ(reals(x.grad()), Reals({8, 144, 216}));
}

TEST(Views, GradientsReachWhatWasWrittenIntoABuffer) {
  Tensor w = tensor({1.0, 2.0}).requires_grad_();
  Tensor buffer = zeros({4});
  buffer.slice(0, 1, 3).copy_(w);
  EXPECT_TRUE(buffer.requires_grad());
  EXPECT_FALSE(buffer.is_leaf());
  sum(buffer * tensor({5.0, 6.0, 7.0, 8.0})).backward();
  EXPECT_EQ(reals(w.grad()), Reals({6, 7}));
}

TEST(Views, GradientsOfARecurrenceWrittenStepByStep) {
  Tensor x = scalar(2.0).requires_grad_();
  Tensor h = ones({4});
  for (int64_t t = 1; t < 4; ++t) h[t].copy_(h[t - 1] * x);  // 1, x, x^2, x^3
  EXPECT_EQ(reals(h), Reals({1, 2, 4, 8}));
  sum(h).backward();
  EXPECT_EQ(x.grad().item<double>(), 1 + 2 * 2 + 3 * 4);
}

TEST(Views, AGraphRecordedBeforeAWriteKeepsItsGradient) {
  Tensor x = tensor({3.0}).requires_grad_();
  Tensor y = x * 2;
  const Tensor before = y * y;
  y.fill_(0);
  EXPECT_EQ(reals(before), Reals({36}));
  EXPECT_EQ(grad(sum(before), x).item<double>(), 24);
}

TEST(Views, GradientsThroughEveryView) {
  Tensor x = arange(12, DType::f32).reshape({3, 4}).clone().requires_grad_();
  const Tensor w = arange(12, DType::f32).reshape({3, 4});
  const auto gradient = [&](const Tensor& seen, const Tensor& weight) { return reals(grad(sum(seen * weight), x)); };
  EXPECT_EQ(gradient(x.t(), w.t()), reals(w));
  EXPECT_EQ(gradient(x.reshape({2, 6}), w.reshape({2, 6})), reals(w));
  EXPECT_EQ(gradient(x.slice(1, {}, {}, -2), ones({3, 2})), Reals({0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(gradient(x[1], ones({4})), Reals({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(gradient(x.slice(0, 0, 3, 2).slice(1, 1, 4, 2), ones({2, 2})), Reals({0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1}));
  EXPECT_EQ(gradient(x.unsqueeze(0).expand({5, 3, 4}), ones({5, 3, 4})), Reals(12, 5));
  EXPECT_EQ(gradient(x.index({tensor({0, 0})}), ones({2, 4})), Reals({2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(gradient(flip(x, {0, 1}), flip(w, {0, 1})), reals(w));
}

TEST(Views, ADetachedViewWritesItsParameter) {
  Tensor p = tensor({1.0, 2.0, 3.0}).requires_grad_();
  p.detach().slice(0, 1, 2).fill_(9);
  EXPECT_EQ(reals(p), Reals({1, 9, 3}));
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(p.is_leaf());
  sum(p * p).backward();
  EXPECT_EQ(reals(p.grad()), Reals({2, 18, 6}));
}

TEST(Views, ADetachedViewSeesUpdatesOfItsParameter) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  const Tensor shown = p.detach(), row = p[1];
  {
    NoGrad update;
    p.sub_(tensor({0.5, 0.5}));
  }
  EXPECT_EQ(reals(shown), Reals({0.5, 1.5}));
  EXPECT_FALSE(shown.requires_grad());
  EXPECT_EQ(row.item<double>(), 1.5);
  EXPECT_TRUE(row.requires_grad());
}

TEST(Views, AViewOfAParameterGivesItsGradientAfterAnUpdate) {
  Tensor p = tensor({1.0, 2.0}).requires_grad_();
  const Tensor row = p[1];
  {
    NoGrad update;
    p.mul_(3);
  }
  (row * row).backward();
  EXPECT_EQ(reals(p.grad()), Reals({0, 12}));
}

TEST(Views, ALeafMadeOfASliceCanBeUpdated) {
  Tensor leaf = tensor({0.0, 1.0, 2.0, 3.0}).slice(0, 2).requires_grad_();
  const Tensor last = leaf[1];
  {
    NoGrad update;
    ASSERT_NO_THROW(leaf.mul_(10));
  }
  EXPECT_EQ(reals(leaf), Reals({20, 30}));
  EXPECT_EQ(last.item<double>(), 30);
  sum(leaf * leaf).backward();
  EXPECT_EQ(reals(leaf.grad()), Reals({40, 60}));
}

TEST(Views, ALeafMadeOfAViewStillSharesItsMemory) {
  Tensor base = tensor({0.0, 1.0, 2.0});
  Tensor leaf = base.slice(0, 1).requires_grad_(), same = base.detach().requires_grad_();
  base.fill_(7);
  EXPECT_EQ(reals(leaf), Reals({7, 7}));
  EXPECT_EQ(reals(same), Reals({7, 7, 7}));
  EXPECT_TRUE(leaf.requires_grad());
}

TEST(Views, AViewOfALeafMadeByDetachKeepsItsGradientAfterAnUpdate) {
  Tensor leaf = tensor({1.0, 2.0}).detach().requires_grad_();
  const Tensor last = leaf[1];
  {
    NoGrad update;
    leaf.mul_(3);
  }
  EXPECT_EQ(last.item<double>(), 6);
  EXPECT_TRUE(last.requires_grad());
}

TEST(Views, AViewTakenBeforeRequiresGradStaysOutOfTheGraph) {
  Tensor p = tensor({1.0, 2.0});
  const Tensor early = p.slice(0, 0, 1);
  p.requires_grad_();
  {
    NoGrad update;
    p.fill_(5);
  }
  EXPECT_EQ(reals(early), Reals({5}));
  EXPECT_FALSE(early.requires_grad());
}

// Under NoGrad a write changes the value and leaves the history: PyTorch's y keeps its grad_fn.
TEST(Views, AWriteUnderNoGradKeepsTheHistory) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x * 2;
  {
    NoGrad off;
    y.add_(1);
  }
  EXPECT_EQ(reals(y), Reals({3, 5}));
  ASSERT_TRUE(y.requires_grad());
  sum(y).backward();
  EXPECT_EQ(reals(x.grad()), Reals({2, 2}));
}

TEST(Views, AWriteThroughDetachKeepsTheHistory) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x * 2, z = x * 3;
  y.detach().fill_(7);
  z.detach()[0].fill_(7);
  EXPECT_EQ(reals(y), Reals({7, 7}));
  ASSERT_TRUE(y.requires_grad());
  sum(y + z).backward();
  EXPECT_EQ(reals(x.grad()), Reals({5, 5}));
}

TEST(Views, EvaluatingAnIntermediateKeepsItsHistory) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x * 2;
  y.eval();
  y[0].mul_(10);
  y.eval();
  EXPECT_EQ(reals(y), Reals({20, 4}));
  sum(y).backward();
  EXPECT_EQ(reals(x.grad()), Reals({20, 2}));
}

// A view is looked up when it is read, and shows what its root holds then.
TEST(LazyView, SeesAWriteThatCameBeforeItsFirstRead) {
  Tensor x = from_vector<float>({1, 2, 3, 4}, {4}).eval();
  const Tensor view = x.reshape({2, 2});
  x.copy_(from_vector<float>({5, 6, 7, 8}, {4}));
  EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{5, 6, 7, 8}));
}

TEST(LazyView, RecordsNothingUntilItIsRead) {
  const Tensor x = rand({8, 8}).eval();
  const size_t before = ir::live_nodes();
  const Tensor a = x.reshape({64}), b = x.t(), c = x.slice(0, 2, 6);
  EXPECT_EQ(ir::live_nodes(), before);
  EXPECT_EQ(c.shape(), (Dims{4, 8}));
  EXPECT_GT(ir::live_nodes(), before);
}

TEST(LazyView, TakenWithoutGradientsStaysWithout) {
  Tensor x = rand({4}).eval();
  Tensor quiet;
  {
    const NoGrad off;
    quiet = x.reshape({2, 2});
  }
  x.requires_grad_();
  EXPECT_FALSE(quiet.requires_grad());
}

}  // namespace
}  // namespace tenon
