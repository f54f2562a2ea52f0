// Chunks give what the whole gives, with less memory.

#include "tenon/nn/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/plan/plan.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"
#include "tests/error_text.h"

namespace tenon::nn {
namespace {

constexpr int64_t kRows = 50, kWidth = 12, kClasses = 37;

struct Problem {
  Tensor x, weight, targets;

  explicit Problem(bool ignores = false) {
    Generator generator(3);
    x = randn({kRows, kWidth}, {}, &generator).eval().requires_grad_();
    weight = randn({kClasses, kWidth}, {}, &generator).eval().requires_grad_();
    std::vector<int64_t> classes(kRows);
    for (size_t i = 0; i < classes.size(); ++i)
      classes[i] = ignores && i % 7 == 0 ? -100 : static_cast<int64_t>(i * 11) % kClasses;
    targets = from_vector(classes, {kRows});
  }
  // The loss, and the gradients of x and weight.
  std::vector<Tensor> of(const Tensor& loss) const {
    const std::vector<Tensor> wanted{x, weight}, slopes = grad(std::vector<Tensor>{loss * 3.0}, wanted);
    return {loss.detach(), slopes[0], slopes[1]};
  }
};

void expect_near(const std::vector<Tensor>& ours, const std::vector<Tensor>& expected, double tolerance) {
  for (size_t i = 0; i < ours.size(); ++i) {
    const double size = expected[i].abs().max().item<double>();
    EXPECT_LE((ours[i] - expected[i]).abs().max().item<double>(), tolerance * size) << i;
  }
}

TEST(LinearCrossEntropy, IsThatOfLinearAndCrossEntropy) {
  for (const bool ignores : {false, true}) {
    const Problem problem(ignores);
    const auto whole = problem.of(cross_entropy(linear(problem.x, problem.weight), problem.targets));
    for (const int64_t chunk : {1, 16, 25, 49, 50, 1000}) {
      const Tensor loss = linear_cross_entropy(problem.x, problem.weight, problem.targets, {.chunk = chunk});
      expect_near(problem.of(loss), whole, 1e-5);
    }
  }
}

TEST(LinearCrossEntropy, IsNanWhenNothingCounts) {
  const Problem problem;
  const Tensor targets = full({kRows}, int64_t{-100}).eval();
  EXPECT_TRUE(std::isnan(linear_cross_entropy(problem.x, problem.weight, targets, {.chunk = 16}).item<float>()));
}

TEST(LinearCrossEntropy, IsNanWithoutRows) {
  const Tensor x = zeros({0, kWidth}), targets = zeros({0}, DType::i64);
  EXPECT_TRUE(std::isnan(linear_cross_entropy(x, rand({kClasses, kWidth}), targets, {.chunk = 16}).item<float>()));
}

TEST(LinearCrossEntropy, LeavesPaddingOut) {
  const Problem problem;
  const auto whole = problem.of(cross_entropy(linear(problem.x, problem.weight), problem.targets));
  const Tensor padded = cat({problem.weight, full({3, kWidth}, 5.0)});
  for (const int64_t chunk : {16, 1000}) {
    const Tensor loss = linear_cross_entropy(problem.x, padded, problem.targets, {.chunk = chunk, .classes = kClasses});
    expect_near(problem.of(loss), whole, 1e-5);
  }
}

TEST(LinearCrossEntropy, RoundsTheSameUnderAutocast) {
  const Problem problem;
  const Autocast lower;
  const auto whole = problem.of(cross_entropy(linear(problem.x, problem.weight), problem.targets));
  const Tensor loss = linear_cross_entropy(problem.x, problem.weight, problem.targets, {.chunk = 16});
  const auto ours = problem.of(loss);
  EXPECT_EQ(ours[1].dtype(), DType::f32);
  expect_near(ours, whole, 1e-2);
  expect_near({ours[0]}, {whole[0]}, 1e-5);
}

plan::Plan plan_of(int64_t chunk, bool autocast) {
  const Device device("null");
  constexpr int64_t kTokens = 1024, kVocabulary = 2048, kNarrow = 64;
  const Autocast lower(DType::bf16, autocast);
  const Tensor x = zeros({kTokens, kNarrow}, device).clone().eval().requires_grad_();
  const Tensor weight = zeros({kVocabulary, kNarrow}, device).clone().eval().requires_grad_();
  const Tensor targets = from_vector(std::vector<int64_t>(kTokens, 1), {kTokens}, device);
  Tensor loss = linear_cross_entropy(x, weight, targets, {.chunk = chunk});
  loss.backward();
  plan::Request request;
  request.outputs = {value_of(loss.detach()), value_of(x.grad()), value_of(weight.grad())};
  return plan::make_plan(request);
}
size_t arena_bytes(int64_t chunk, bool autocast) { return plan_of(chunk, autocast).arena_bytes; }

TEST(LinearCrossEntropy, KeepsTheLogitsOfFewChunks) {
  for (const bool autocast : {false, true}) {
    const size_t whole = arena_bytes(1024, autocast);
    const size_t logits = 1024u * 2048 * (autocast ? 2 : 4), rest = 1024u * 64 * 4 * 3;
    EXPECT_GE(whole, logits);
    EXPECT_LE(arena_bytes(128, autocast), logits / 8 * 2 + rest) << autocast;
  }
}

// Per chunk: logits, the gradients of rows and weight; and one kernel that reads the logits.
TEST(LinearCrossEntropy, MultipliesNothingTwice) {
  for (const auto& [autocast, chunk] : {std::pair(false, 128), std::pair(true, 128), std::pair(true, 1024)}) {
    const plan::Plan plan = plan_of(chunk, autocast);
    const size_t chunks = static_cast<size_t>(1024 / chunk);
    size_t products = 0, passes = 0;
    for (const plan::Launch& launch : plan.launches) {
      const plan::Kernel& kernel = plan.kernels[launch.kernel];
      if (const auto* call = std::get_if<ir::Call>(&kernel))
        products += call->op == ir::Op::contract;
      else
        passes += std::get<ir::LoopNest>(kernel).row_size() == 2048;
    }
    EXPECT_EQ(products, chunks * 3) << autocast;
    EXPECT_EQ(passes, chunks) << autocast << plan.print();
  }
}

TEST(LinearCrossEntropy, AFunctionOfTheLossDoesNotKeepTheWeights) {
  synchronize();
  const size_t before = memory_stats().live_bytes;
  for (const bool autocast : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Autocast lower(DType::bf16, autocast);
      Problem problem;
      problem.weight = problem.weight.detach().to(dtype).eval().requires_grad_();
      problem.x = problem.x.detach().to(dtype).eval().requires_grad_();
      exp(linear_cross_entropy(problem.x, problem.weight, problem.targets)).backward();
    }
  }
  synchronize();
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(LinearCrossEntropy, TheGradientIsThatOfTheTargetsAtTheTime) {
  const Problem problem;
  Tensor targets = problem.targets.clone();
  const Tensor loss = linear_cross_entropy(problem.x, problem.weight, targets);
  const Tensor expected = grad(linear_cross_entropy(problem.x, problem.weight, problem.targets), problem.weight);
  targets.fill_(0);
  EXPECT_EQ(grad(loss, problem.weight).to_vector<float>(), expected.to_vector<float>());
}

TEST(LinearCrossEntropy, ATargetInThePaddingIsOutOfRange) {
  const Tensor x = ones({2, 3}), weight = ones({6, 3}), shift = scalar(int64_t{3}).eval();
  for (const int64_t target : {4, 5, 6, -1}) {
    const Tensor targets = tensor<int64_t>({0, target});
    EXPECT_EQ(text_of([&] { linear_cross_entropy(x, weight, targets, {.classes = 4}); }),
              "[cross_entropy] target " + std::to_string(target) + " is out of range for 4 classes");
  }
  const Tensor later = tensor<int64_t>({0, 1}) + shift;  // 3, 4: known to the device alone
  EXPECT_EQ(text_of([&] { static_cast<void>(linear_cross_entropy(x, weight, later, {.classes = 4}).item<float>()); }),
            "[cross_entropy] target 4 is out of range for 4 classes");
  EXPECT_NEAR(linear_cross_entropy(x, weight, tensor<int64_t>({3, -100}), {.classes = 4}).item<float>(), std::log(4.0),
              1e-6);
}

TEST(LinearCrossEntropy, SaysWhatDoesNotFit) {
  const Problem problem;
  EXPECT_EQ(
      text_of([&] { linear_cross_entropy(problem.x, problem.weight, problem.x); }),
      "[linear_cross_entropy] takes x (N, width), weight (classes, width) and targets (N), got (50, 12), (37, 12) "
      "and (50, 12)");
  EXPECT_EQ(text_of([&] { linear_cross_entropy(problem.x, problem.weight, problem.targets, {.chunk = 0}); }),
            "[linear_cross_entropy] the number of rows in a chunk must be positive, got 0");
  EXPECT_EQ(text_of([&] { linear_cross_entropy(problem.x, problem.weight, problem.targets, {.classes = 38}); }),
            "[linear_cross_entropy] 38 classes are more than the 37 rows of the weight");
}

}  // namespace
}  // namespace tenon::nn
