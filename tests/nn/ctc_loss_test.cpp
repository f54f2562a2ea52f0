// Connectionist temporal classification next to PyTorch.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

using nn::Reduction;

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Six times, three samples, four classes.
Tensor logits() {
  return mul(remainder(mul(arange(72), 5), 11).to(DType::f32), 0.25).reshape({6, 3, 4}).requires_grad_();
}
Tensor log_p(const Tensor& x) { return log_softmax(x, 2); }
const Tensor& rows() {
  static const Tensor targets = tensor({{1, 2, 2}, {3, 1, 0}, {2, 0, 0}});
  return targets;
}
Tensor input_lengths() { return tensor({6, 5, 3}); }
Tensor target_lengths() { return tensor({3, 2, 1}); }

TEST(CtcLoss, HasPyTorchsValuesAndGradients) {
  const Tensor x = logits();
  const Tensor loss = nn::ctc_loss(log_p(x), rows(), input_lengths(), target_lengths(), {.reduction = Reduction::none});
  expect_near(loss, {6.47607613f, 3.28063941f, 3.01533818f});
  sum(loss).backward();
  expect_near(x.grad(), {-0.0908217952f,
                         -0.677610993f,
                         0.628251076f,
                         0.140181765f,
                         -0.321813285f,
                         0.102555379f,
                         0.357953429f,
                         -0.138695538f,
                         -0.0784753039f,
                         0.102555349f,
                         -0.103950225f,
                         0.0798701793f,
                         -0.0106369592f,
                         -0.193971083f,
                         -0.135712117f,
                         0.34032017f,
                         0.024927862f,
                         0.38357231f,
                         0.0975033864f,
                         -0.506003559f,
                         -0.262090087f,
                         0.436979741f,
                         -0.515209794f,
                         0.34032017f,
                         0.146470264f,
                         0.0712281391f,
                         -0.29756856f,
                         0.0798701644f,
                         -0.201156363f,
                         -0.0863930136f,
                         0.35795337f,
                         -0.0704039931f,
                         -0.326241493f,
                         0.0472712107f,
                         -0.296910942f,
                         0.575881243f,
                         -0.468496799f,
                         0.43697983f,
                         -0.308803231f,
                         0.34032023f,
                         0.0278318003f,
                         -0.423232228f,
                         0.0975033715f,
                         0.297897041f,
                         0,
                         0,
                         0,
                         0,
                         -0.119619392f,
                         0.102555305f,
                         -0.0628060624f,
                         0.0798701495f,
                         -0.304072708f,
                         -0.133750767f,
                         0.35795331f,
                         0.0798701793f,
                         0,
                         0,
                         0,
                         0,
                         -0.140735596f,
                         0.436979562f,
                         -0.636564016f,
                         0.340320021f,
                         0,
                         0,
                         0,
                         0,
                         0,
                         0,
                         0,
                         0});
}

TEST(CtcLoss, TakesTheMeanOfLossesForEachLabel) {
  expect_near(nn::ctc_loss(log_p(logits()), rows(), input_lengths(), target_lengths()), {2.27145004f});
}

TEST(CtcLoss, TakesTargetsInOneVector) {
  const Tensor targets = tensor({1, 2, 2, 3, 1, 2});
  expect_near(nn::ctc_loss(log_p(logits()), targets, input_lengths(), target_lengths(), {.reduction = Reduction::sum}),
              {12.7720537f});
}

TEST(CtcLoss, OfOneSampleHasNoDimForIt) {
  const Tensor x = logits().detach().select(1, 0);
  const Tensor loss = nn::ctc_loss(log_softmax(x, 1), tensor({1, 2}), tensor({6}), tensor({2}));
  expect_near(loss, {2.7742f}, 1e-4f);
  EXPECT_EQ(loss.dim(), 0);
}

// Three labels, two of them twice in a row, take five times: four are not enough.
TEST(CtcLoss, OfTargetsThatDoNotFitIsInfiniteOrZero) {
  const Tensor targets = tensor({{2, 2, 2}, {1, 1, 0}, {1, 2, 3}}), times = tensor({4, 3, 3}),
               labels = tensor({3, 0, 3});
  const auto loss_of = [&](const Tensor& x, bool zero_infinity) {
    return nn::ctc_loss(log_p(x), targets, times, labels,
                        {.reduction = Reduction::none, .zero_infinity = zero_infinity});
  };
  const Tensor plain = logits(), zeroed = logits(), infinite = loss_of(plain, false), none = loss_of(zeroed, true);
  EXPECT_EQ(values(infinite)[0], kInf);
  EXPECT_EQ(values(none)[0], 0);
  for (const Tensor& loss : {infinite, none}) expect_near(loss.narrow(0, 1, 2), {3.63257408f, 5.15707493f});
  sum(infinite).backward();
  sum(none).backward();
  EXPECT_TRUE(std::isnan(values(plain.grad())[0]));
  expect_near(zeroed.grad().select(1, 0), Floats(24, 0.0f));
  expect_near(zeroed.grad().select(1, 1).narrow(0, 0, 1), values(plain.grad().select(1, 1).narrow(0, 0, 1)));
}

TEST(CtcLoss, OfAnEmptyTargetIsThatOfBlanks) {
  const Tensor x = log_p(logits().detach()).narrow(1, 0, 1);
  expect_near(nn::ctc_loss(x, tensor({{1, 2}}), tensor({6}), tensor({0}), {.reduction = Reduction::none}), {10.7531f},
              1e-4f);
}

TEST(CtcLoss, HasTheSlopesOfItsValues) {
  const Tensor x =
      from_vector(std::vector<double>{.5, -1, .25, 2, 0, 1, -.5, .75, 1.5, 0, .25, 1}, {4, 1, 3}, DType::f64);
  const auto loss = [](const Tensor& w) {
    return nn::ctc_loss(log_softmax(w, 2), tensor({{1, 2}}), tensor({4}), tensor({2}));
  };
  EXPECT_TRUE(gradcheck(loss, x.clone().requires_grad_()));
}

TEST(CtcLoss, IsCapturedWithLengthsThatChange) {
  const Tensor x = log_p(logits().detach());
  auto step = compile([&](const Tensor& inputs, const Tensor& lengths) {
    return nn::ctc_loss(x, rows(), inputs, lengths, {.reduction = Reduction::sum});
  });
  for (const int64_t last : {3, 2, 4, 3, 5}) {
    const Tensor inputs = tensor({int64_t{6}, int64_t{5}, last});
    const Tensor wanted = nn::ctc_loss(x, rows(), inputs, target_lengths(), {.reduction = Reduction::sum});
    EXPECT_EQ(values(step(inputs, target_lengths())), values(wanted)) << last;
  }
}

TEST(CtcLoss, SaysWhatDoesNotFit) {
  const Tensor x = log_p(logits().detach());
  const auto message = [&](const Tensor& targets, const Tensor& inputs, const Tensor& lengths, int64_t blank = 0) {
    return text_of([&] { nn::ctc_loss(x, targets, inputs, lengths, {.blank = blank}); });
  };
  EXPECT_EQ(message(rows(), tensor({7, 5, 3}), target_lengths()),
            "[ctc_loss] input_lengths lie between 0 and 6, and not at 7");
  EXPECT_EQ(message(rows(), input_lengths(), tensor({4, 2, 1})),
            "[ctc_loss] target_lengths lie between 0 and 3, and not at 4");
  EXPECT_EQ(message(rows(), tensor({6, 5}), target_lengths()), "[ctc_loss] input_lengths are 2, and samples 3");
  EXPECT_EQ(message(tensor({1, 2, 2, 3}), input_lengths(), target_lengths()),
            "[ctc_loss] 4 targets are given, and their lengths are 6 together");
  EXPECT_EQ(message(rows(), input_lengths(), target_lengths(), 4), "[ctc_loss] the blank 4 is none of 4 classes");
}

TEST(CtcLoss, FindsLengthsOutOfRangeThatAreComputed) {
  const Tensor x = log_p(logits().detach());
  const auto message = [&](const Tensor& inputs, const Tensor& lengths, bool is_there) {
    const Tensor given = inputs * 2 - inputs, labels = lengths * 2 - lengths;
    if (is_there) wait(std::vector{given, labels});
    return text_of([&] { nn::ctc_loss(x, rows(), given, labels).item<float>(); });
  };
  EXPECT_EQ(message(input_lengths(), target_lengths(), false), "nothing was thrown");
  for (const Tensor& bad : {tensor({7, 5, 3}), tensor({6, -1, 3})})
    EXPECT_NE(message(bad, target_lengths(), false).find("out of range"), std::string::npos);
  for (const Tensor& bad : {tensor({4, 2, 1}), tensor({3, -1, 1})})
    EXPECT_NE(message(input_lengths(), bad, false).find("out of range"), std::string::npos);
  EXPECT_EQ(message(tensor({7, 5, 3}), target_lengths(), true),
            "[ctc_loss] input_lengths lie between 0 and 6, and not at 7");
}

}  // namespace
}  // namespace tenon
