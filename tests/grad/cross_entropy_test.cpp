// The options of cross_entropy, values and gradients, against what is worked out by hand.

#include <limits>

#include "tests/grad/support.h"

namespace tenon {
namespace {

struct ClassCase {
  Reals logits;  // (3, 4)
  std::vector<int64_t> target;
  Reals weight;
  int64_t ignore = -100;
  double smoothing = 0;
};

// PyTorch's documented formula, term by term.
Reals losses_by_hand(const ClassCase& c, double& counted) {
  Reals losses;
  counted = 0;
  for (size_t row = 0; row < 3; ++row) {
    if (c.target[row] == c.ignore) {
      losses.push_back(0);
      continue;
    }
    double total = 0;
    for (size_t k = 0; k < 4; ++k) total += std::exp(c.logits[4 * row + k]);
    const auto log_p = [&](size_t k) { return c.logits[4 * row + k] - std::log(total); };
    const auto t = static_cast<size_t>(c.target[row]);
    const auto weight = [&](size_t k) { return c.weight.empty() ? 1.0 : c.weight[k]; };
    double smooth = 0;
    for (size_t k = 0; k < 4; ++k) smooth -= weight(k) * log_p(k);
    losses.push_back(-(1 - c.smoothing) * weight(t) * log_p(t) + c.smoothing / 4 * smooth);
    counted += weight(t);
  }
  return losses;
}

TEST(Autograd, CrossEntropyOptionsAreThoseOfTheFormula) {
  const Reals logits = scattered(12, 6), weight{0.5, 2, 1, 3};
  const ClassCase cases[] = {
      {logits, {0, 3, 1}, {}},
      {logits, {0, 3, 1}, weight},
      {logits, {0, -100, 1}, {}},
      {logits, {2, -100, 1}, weight},
      {logits, {0, 3, 1}, {}, 3},
      {logits, {0, 3, 1}, {}, -100, 0.1},
      {logits, {0, 3, 1}, weight, -100, 0.3},
      {logits, {0, 3, -100}, weight, -100, 0.3},
      {logits, {0, 3, 3}, {}, 3, 1.0},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(fmt::format("case {}", i));
    const ClassCase& c = cases[i];
    Tensor x = leaf(c.logits, {3, 4});
    const Tensor target = from_vector(c.target, {3});
    nn::CrossEntropyOptions options;
    if (!c.weight.empty()) options.weight = from_vector(c.weight, {4});
    options.ignore_index = c.ignore;
    options.label_smoothing = c.smoothing;
    double counted = 0, total = 0;
    const Reals expected = losses_by_hand(c, counted);
    for (double loss : expected) total += loss;
    options.reduction = nn::Reduction::none;
    expect_near(reals(nn::cross_entropy(x, target, options)), expected, 1e-12);
    options.reduction = nn::Reduction::sum;
    EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), total, 1e-12);
    options.reduction = nn::Reduction::mean;
    EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), total / counted, 1e-12);
    expect_gradient([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], target, options); }, {x});
    expect_gradient(
        weighted_gradient([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], target, options); }),
        {x});
  }
}

TEST(Autograd, CrossEntropyOfOneRowIsWorkedOutByHand) {
  Tensor x = leaf({0, std::log(3.0)}, {1, 2});  // probabilities 1/4 and 3/4
  Tensor loss = nn::cross_entropy(x, tensor({1}));
  EXPECT_NEAR(loss.item<double>(), std::log(4.0 / 3), 1e-12);
  loss.backward();
  expect_near(reals(x.grad()), {0.25, -0.25}, 1e-12);
}

TEST(Autograd, CrossEntropyOfIgnoredTargetsOnly) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor target = tensor({-100, -100});
  nn::CrossEntropyOptions options;
  EXPECT_TRUE(std::isnan(nn::cross_entropy(x, target, options).item<double>()));  // 0 / 0, as in PyTorch
  options.reduction = nn::Reduction::sum;
  Tensor total = nn::cross_entropy(x, target, options);
  EXPECT_EQ(total.item<double>(), 0);
  total.backward();
  EXPECT_EQ(reals(x.grad()), Reals({0, 0, 0, 0}));
}

TEST(Autograd, CrossEntropyOfProbabilities) {
  const Reals logits = scattered(8, 7), p{0.1, 0.2, 0.3, 0.4, 0, 1, 0, 0}, weight{0.5, 2, 1, 3};
  double plain = 0, weighted = 0, smoothed = 0;
  for (size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (size_t k = 0; k < 4; ++k) total += std::exp(logits[4 * row + k]);
    for (size_t k = 0; k < 4; ++k) {
      const double log_p = logits[4 * row + k] - std::log(total), wanted = p[4 * row + k];
      plain -= wanted * log_p / 2;
      weighted -= weight[k] * wanted * log_p / 2;
      smoothed -= (0.8 * wanted + 0.2 / 4) * log_p / 2;
    }
  }
  const Tensor x = leaf(logits, {2, 4}), target = from_vector(p, {2, 4});
  nn::CrossEntropyOptions options;
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), plain, 1e-12);
  options.weight = from_vector(weight, {4});
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), weighted, 1e-12);
  options = {};
  options.label_smoothing = 0.2;
  EXPECT_NEAR(nn::cross_entropy(x, target, options).item<double>(), smoothed, 1e-12);
}

TEST(Autograd, CrossEntropyOverImagesAndSingleRows) {
  const Reals logits = scattered(24, 8);
  const Tensor x = leaf(logits, {2, 3, 4});  // classes in the middle
  const Tensor target = tensor({{0, 1, 2, 0}, {2, 2, 1, 0}});
  const Tensor rows = x.transpose(1, 2).reshape({8, 3});
  EXPECT_NEAR(nn::cross_entropy(x, target).item<double>(), nn::cross_entropy(rows, target.reshape({8})).item<double>(),
              1e-12);
  EXPECT_NEAR(nn::cross_entropy(rows[0], scalar(0)).item<double>(),
              nn::cross_entropy(rows.slice(0, 0, 1), tensor({0})).item<double>(), 1e-12);
  EXPECT_NEAR(nn::nll_loss(log_softmax(x, 1), target).item<double>(), nn::cross_entropy(x, target).item<double>(),
              1e-12);
}

TEST(Autograd, CrossEntropyOfCertainLogitsIsFinite) {
  Tensor x = leaf({1000, -1000, -1000, 1000}, {2, 2});
  Tensor loss = nn::cross_entropy(x, tensor({0, 0}));
  EXPECT_EQ(loss.item<double>(), 1000);
  loss.backward();
  EXPECT_EQ(reals(x.grad()), Reals({0, 0, -0.5, 0.5}));
}

TEST(Autograd, CrossEntropyWithImpossibleClasses) {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor x = leaf({0, -inf, 0, 0, -inf, 0}, {2, 3});  // a masked vocabulary
  Tensor loss = nn::cross_entropy(x, tensor({0, 2}));
  EXPECT_NEAR(loss.item<double>(), std::log(2.0), 1e-12);
  loss.backward();
  expect_near(reals(x.grad()), {-0.25, 0, 0.25, 0.25, 0, -0.25}, 1e-12);
}

}  // namespace
}  // namespace tenon
