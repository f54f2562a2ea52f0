// Optimizers of weights in f64: every number on the way is one of f64. The expected values are PyTorch's, in f64
// (Lion's from its formula).

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"

namespace tenon::optim {
namespace {

using Numbers = std::vector<double>;

class InF64 : public testing::TestWithParam<std::string> {
 protected:
  Tensor numbers(const Numbers& values) const {
    return from_vector(values, {static_cast<int64_t>(values.size())}, Options(DType::f64, Device(GetParam())));
  }
  Tensor weights() const { return numbers({1, -2, 1.0 / 3}).clone().requires_grad_(); }

  /// Five steps down a polynomial.
  void expect_after_five_steps(Tensor& w, Optimizer& optimizer, const Numbers& wanted) const {
    expect_after(5, w, optimizer, wanted);
  }
  void expect_after(int steps, Tensor& w, Optimizer& optimizer, const Numbers& wanted) const {
    const Tensor c = numbers({0.1, 0.3, -0.2});
    for (int i = 0; i < steps; ++i) {
      (sum(c * w * w) + 0.1 * sum(w * w * w)).backward();
      optimizer.step();
      optimizer.zero_grad();
    }
    const Numbers got = w.to_vector<double>();
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-14 * std::fabs(wanted[i])) << i;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, InF64, testing::Values("reference", "cpu"),
                         [](const testing::TestParamInfo<std::string>& tested) { return tested.param; });

TEST_P(InF64, SgdIsPyTorchs) {
  Tensor w = weights();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  expect_after_five_steps(w, optimizer, {0.36022036198959712, -1.9575037662239962, 0.50734257290231055});
}

TEST_P(InF64, AdamIsPyTorchs) {
  Tensor w = weights();
  Adam optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.51412406062690286, -1.5321093344460139, 0.83514270063058793});
}

TEST_P(InF64, AdamWIsPyTorchs) {
  Tensor w = weights();
  AdamW optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.51047343739588935, -1.6909050991062178, 0.83254184761783212});
}

TEST_P(InF64, AmsgradIsPyTorchs) {
  Tensor w = weights(), v = weights();
  Adam adam(std::vector<Tensor>{w}, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.5, .weight_decay = 0.01, .amsgrad = true});
  expect_after_five_steps(w, adam, {-0.15179639820692431, 0.18320539501674837, 1.2055721959029277});
  AdamW adamw(std::vector<Tensor>{v}, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.5, .weight_decay = 0.01, .amsgrad = true});
  expect_after_five_steps(v, adamw, {-0.15123177137494165, -0.25433059872991809, 1.2491503955134702});
}

TEST_P(InF64, TheAverageIsPyTorchs) {
  Tensor w = weights();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 0.1});
  optimizer.keep_average(0.9);
  expect_after_five_steps(w, optimizer, {0.78515035546536971, -2, 0.38527833287321606});
  optimizer.swap_average();
  const Numbers got = w.to_vector<double>(), wanted{0.91144077539826218, -2, 0.35274439606268065};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-14 * std::fabs(wanted[i])) << i;
}

TEST_P(InF64, RmspropIsPyTorchs) {
  Tensor w = weights();
  RMSprop optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01, .momentum = 0.9, .centered = true});
  expect_after_five_steps(w, optimizer, {-5.8737503139398406, 0.6813389781589636, 0.5225208027012207});
}

TEST_P(InF64, AdagradIsPyTorchs) {
  Tensor w = weights();
  Adagrad optimizer(std::vector<Tensor>{w},
                    {.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.01, .initial_accumulator_value = 0.1});
  expect_after_five_steps(w, optimizer, {0.76483888281942058, -1.9639937587995104, 0.45665350272196192});
}

TEST_P(InF64, NAdamIsPyTorchs) {
  Tensor w = weights(), v = weights();
  NAdam optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.638199597135509, -1.4888384868539077, 0.75944488743434879});
  NAdam decoupled(std::vector<Tensor>{v}, {.lr = 0.1,
                                           .beta1 = 0.5,
                                           .beta2 = 0.9,
                                           .weight_decay = 0.1,
                                           .momentum_decay = 0.1,
                                           .decoupled_weight_decay = true});
  expect_after_five_steps(v, decoupled, {0.53000107602805535, -1.3381733794876738, 0.84302718202217153});
}

TEST_P(InF64, RAdamIsPyTorchs) {
  Tensor w = weights(), v = weights(), longer = weights(), shorter = weights(), never = weights();
  RAdam optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.76586175137521462, -1.9893457525143801, 0.3826349391732517});
  RAdam decoupled(std::vector<Tensor>{v},
                  {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .decoupled_weight_decay = true});
  expect_after_five_steps(v, decoupled, {0.73152582386667353, -1.8950090493367562, 0.36676891426804265});
  RAdam slow(std::vector<Tensor>{longer}, {.lr = 0.1});
  expect_after(12, longer, slow, {0.74157827336274273, -2.0120404475086926, 0.41482214006721507});
  RAdam quick(std::vector<Tensor>{shorter}, {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.9});
  expect_after(12, shorter, quick, {0.49472271973288406, -2.1758127978809805, 0.69238941253315478});
  RAdam unbounded(std::vector<Tensor>{never}, {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.5});  // no mean is long enough
  expect_after_five_steps(never, unbounded, {0.77188175248513347, -2, 0.38448113329366579});
}

// The length of the mean is a small difference of numbers near 2000: 12 steps in f32 are those in f64 all the same.
TEST_P(InF64, RAdamHasItsDigitsInF32Too) {
  const Options plain(DType::f32, Device(GetParam()));
  Tensor w = weights().detach().to(DType::f32).clone().requires_grad_();
  const Tensor c = tensor({0.1, 0.3, -0.2}, plain);
  RAdam optimizer(std::vector<Tensor>{w}, {.lr = 0.1});
  for (int i = 0; i < 12; ++i) {
    (sum(c * w * w) + 0.1 * sum(w * w * w)).backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  const Numbers got = w.to_vector<double>();
  EXPECT_NEAR(got[0], 0.74157827336274273, 2e-6);
  EXPECT_NEAR(got[2], 0.41482214006721507, 2e-6);  // -2 stands where the slope is 0 but for rounding
}

TEST_P(InF64, AdamaxIsPyTorchs) {
  Tensor w = weights();
  Adamax optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.57422513620597937, -1.6386417504176825, 0.80291266296440744});
}

TEST_P(InF64, AdadeltaIsPyTorchs) {
  Tensor w = weights();
  Adadelta optimizer(std::vector<Tensor>{w}, {.lr = 0.5, .rho = 0.8, .weight_decay = 0.1});
  expect_after_five_steps(w, optimizer, {0.99395432819766671, -1.9939224887712574, 0.33939943414796081});
}

TEST_P(InF64, RpropIsPyTorchs) {
  Tensor w = weights(), v = weights();
  Rprop optimizer(std::vector<Tensor>{w}, {.lr = 0.1});
  expect_after_five_steps(w, optimizer, {0.25584000000000007, -2.7441600000000004, 1.0774933333333332});
  Rprop turning(std::vector<Tensor>{v}, {.lr = 0.1, .shrink = 0.4, .grow = 1.5, .least_step = 0.05, .most_step = 0.3});
  expect_after(12, v, turning, {0.044999999999999929, -5.1749999999999989, 1.2883333333333336});
}

TEST_P(InF64, MaximizingIsPyTorchs) {
  Tensor w = weights();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .momentum = 0.9});
  optimizer.maximize();
  expect_after_five_steps(w, optimizer, {1.8052988859093235, -2, 0.20846845383078014});
}

TEST_P(InF64, LionIsItsFormula) {
  Tensor w = weights();
  Lion optimizer(std::vector<Tensor>{w}, {.lr = 0.1, .weight_decay = 0.01});
  expect_after_five_steps(w, optimizer, {0.49600899050489911, -2.4890209795100979, 0.83067099616843287});
}

TEST_P(InF64, GroupsOfTheirOwnRateAndDecayAreExactToo) {
  Tensor a = numbers({1}).clone().requires_grad_(), b = numbers({2}).clone().requires_grad_();
  SGD optimizer({{{a}, 0.1, 0.3}, {{b}, 0.7, 0.9}}, {});
  (sum(a) + sum(b)).backward();
  optimizer.step();
  EXPECT_NEAR(a.item<double>(), 1 - 0.1 * (1 + 0.3), 1e-15);
  EXPECT_NEAR(b.item<double>(), 2 - 0.7 * (1 + 0.9 * 2), 1e-15);
}

TEST_P(InF64, WeightsInF32BesideThemStayWhatTheyWere) {
  Tensor exact = numbers({1}).clone().requires_grad_();
  Tensor plain = ones({1}, Options(DType::f32, Device(GetParam()))).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{exact, plain}, {.lr = 0.1});
  (sum(exact) + sum(plain)).backward();
  optimizer.step();
  EXPECT_EQ(exact.item<double>(), 1 - 0.1);
  EXPECT_EQ(plain.dtype(), DType::f32);
  EXPECT_EQ(plain.item<float>(), 1.0F - 0.1F);
}

TEST_P(InF64, ACapturedStepReadsTheRateInF64) {
  Tensor w = numbers({1}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 0.1});
  auto step = compile([&](const Tensor& x) {
    Tensor loss = sum(w * x);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  });
  const Tensor one = numbers({1}).clone().eval();
  step(one);
  optimizer.set_lr(0.3);
  step(one);
  EXPECT_EQ(w.item<double>(), 1 - 0.1 - 0.3);
}

TEST_P(InF64, KeptGradientsAreCollectedInF64) {
  Tensor w = numbers({1}).clone().requires_grad_();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 1});
  optimizer.keep_gradients();
  for (double part : {0.1, 0.2}) {
    sum(w * part).backward();
    optimizer.accumulate();
  }
  optimizer.step();
  EXPECT_EQ(w.item<double>(), 1 - (0.1 + 0.2));
}

TEST_P(InF64, ClippingIsExact) {
  Tensor w = numbers({3, 4, 1.0 / 3}).clone().requires_grad_();
  (sum(w * w) / 3.0).backward();
  SGD optimizer(std::vector<Tensor>{w}, {.lr = 1});
  EXPECT_NEAR(optimizer.clip_grad_norm(1).item<double>(), 3.3407325285273131, 1e-14);
  optimizer.step();
  EXPECT_NEAR(w.to_vector<double>()[0], 3 - 0.59867091551047913, 1e-14);
  EXPECT_NEAR(clip_grad_norm_({w}, 1).item<double>(), 3.3407325285273131, 1e-14);
  EXPECT_NEAR(w.grad().to_vector<double>()[0], 0.59867091551047913, 1e-14);
}

}  // namespace
}  // namespace tenon::optim
