// The adaptive softmax next to PyTorch.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

/// Whole numbers below `modulus`, moved around 0 and scaled.
Tensor pattern_of(const Dims& shape, int64_t factor, int64_t offset, int64_t modulus, double scale) {
  const Tensor numbers = remainder(arange(ir::count(shape)) * factor + offset, modulus) - modulus / 2;
  return (numbers.to(DType::f32) * scale).reshape(shape);
}

nn::AdaptiveLogSoftmaxWithLoss& with_known_weights(nn::AdaptiveLogSoftmaxWithLoss& layer) {
  nn::StateDict state;
  int64_t offset = 0;
  for (const auto& [name, tensor] : layer.named_parameters()) {
    state[name] = pattern_of(tensor.shape(), 7, offset, 11, 0.125);
    offset += 3;
  }
  layer.load_state_dict(state);
  return layer;
}

class AdaptiveSoftmax : public testing::Test {
 protected:
  nn::AdaptiveLogSoftmaxWithLoss layer{8, 10, {3, 6}, {.div_value = 2, .head_bias = true}};
  Tensor x = pattern_of({4, 8}, 5, 0, 13, 0.25), target = tensor({0, 9, 4, 3});

  void SetUp() override { with_known_weights(layer); }
};

TEST_F(AdaptiveSoftmax, HasPyTorchsValuesAndGradients) {
  x.requires_grad_();
  auto [output, loss] = layer(x, target);
  expect_near(output, {-4.04662418f, -2.73921466f, -2.97560787f, -4.97971106f});
  expect_near(loss, {3.68528938f});
  loss.backward();
  expect_near(x.grad()[0], {0.0892970264f, -0.0706016496f, 0.0892970264f, -0.248443812f, 0.0892970264f, 0.0892970264f,
                            -0.189620331f, 0.0892970264f});
  Floats squares;
  for (const auto& [name, tensor] : layer.named_parameters())
    squares.push_back(sum(square(tensor.grad())).item<float>());
  const Floats expected{1.94594455f, 0.313511252f, 0.666862905f, 1.36808157f, 0.262905449f, 0.257985651f};
  ASSERT_EQ(squares.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(squares[i], expected[i], 1e-5f) << i;
}

TEST_F(AdaptiveSoftmax, HasPyTorchsNamesInTheStateDict) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : layer.state_dict()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"head.bias", "head.weight", "tail.0.0.weight", "tail.0.1.weight",
                                             "tail.1.0.weight", "tail.1.1.weight"}));
}

TEST_F(AdaptiveSoftmax, GivesTheProbabilitiesOfAllClasses) {
  const Tensor all = layer.log_prob(x);
  expect_near(all[1], {-2.93896389f, -1.15771389f, -1.43896389f, -2.85373735f, -3.1779561f, -3.58811235f, -4.2157774f,
                       -3.07905841f, -1.94233966f, -2.73921466f});
  expect_near(sum(exp(all), {1}), {1, 1, 1, 1});
  EXPECT_EQ(layer.predict(x).to_vector<int64_t>(), (std::vector<int64_t>{2, 1, 1, 1}));
}

TEST(AdaptiveSoftmaxOfLogits, CountsTheClusterAndItsClasses) {
  const Tensor head = zeros({2, 3});  // classes 0 and 1, and a cluster of 4
  const std::vector<Tensor> clusters{zeros({2, 4})};
  const auto [output, loss] = nn::adaptive_log_softmax(head, clusters, tensor({0, 5}));
  expect_near(output, {-1.09861229f, -2.48490665f});  // a third, and a quarter of that
  expect_near(nn::adaptive_log_probabilities(head, clusters)[0].exp() * 12, {4, 4, 1, 1, 1, 1});
}

TEST_F(AdaptiveSoftmax, TakesASingleRow) {
  const auto [output, loss] = layer(x[1], target[1]);
  EXPECT_EQ(output.shape(), Dims{});
  expect_near(output, {-2.73921466f});
  expect_near(loss, {2.73921466f});
}

TEST_F(AdaptiveSoftmax, IsTheSameCaptured) {
  auto captured = compile([&](const Tensor& rows, const Tensor& classes) { return layer(rows, classes).first; });
  EXPECT_EQ(values(captured(x, target)), values(layer(x, target).first));
}

TEST_F(AdaptiveSoftmax, SaysWhatDoesNotFit) {
  EXPECT_EQ(text_of([&] {
              layer(x, tensor({0, 1, 2, 10}));
            }),
            "[adaptive_log_softmax] target 10 is out of range for 10 classes");
  EXPECT_EQ(text_of([&] {
              layer(x, tensor({0, -1, 2, 3}));
            }),
            "[adaptive_log_softmax] target -1 is out of range for 10 classes");
  EXPECT_EQ(
      text_of([&] {
        layer(x, tensor({0, 1}));
      }),
      "[adaptive_log_softmax] takes N rows with N targets, or one row with one, got logits (4, 5) and targets (2,)");
  EXPECT_EQ(text_of([] {
              nn::AdaptiveLogSoftmaxWithLoss(8, 10, {6, 3});
            }),
            "[adaptive_log_softmax] cutoffs increase from 1 on and lie below the 10 classes, got (6, 3)");
  EXPECT_EQ(text_of([] { nn::AdaptiveLogSoftmaxWithLoss(8, 10, {}); }),
            "[adaptive_log_softmax] needs a cutoff at least");
  EXPECT_EQ(text_of([] {
              nn::AdaptiveLogSoftmaxWithLoss(8, 10, {3, 6});
            }),
            "[adaptive_log_softmax] 8 features leave none for cluster 2 with div_value 4");
}

}  // namespace
}  // namespace tenon
