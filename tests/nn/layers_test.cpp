// Every layer: its values against numbers worked out by hand or the function it wraps, its modes and its errors.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

TEST(Linear, IsXTimesTheTransposedWeightPlusBias) {
  nn::Linear fc(2, 3);
  fc.weight.set_data(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
  fc.bias.set_data(tensor({0.5, 0.0, -0.5}));
  EXPECT_EQ(values(fc(tensor({{1.0, 10.0}}))), (Floats{21.5, 43, 64.5}));
  EXPECT_EQ(fc(ones({4, 5, 2})).shape(), (Dims{4, 5, 3}));
  EXPECT_FALSE(nn::Linear(2, 3, false).bias.defined());
}

// 256 + 1 + 1 is 258 in bf16; 257 is not a bf16 number, and rounding before the bias is added would give 256.
TEST(Linear, Of16BitsRoundsOnceBehindTheBias) {
  const auto sum_of = [](double large, DType dtype, const char* device) {
    const Options options(dtype, device);
    const Tensor x = from_vector(std::vector<double>{large, 1}, {1, 1, 2}, options), one = ones({1, 2}, options);
    return nn::linear(x, one, ones({1}, options));
  };
  for (const char* device : {"cpu", "reference"}) {
    EXPECT_EQ(sum_of(256, DType::bf16, device).item<double>(), 258) << device;
    EXPECT_EQ(sum_of(2048, DType::f16, device).item<double>(), 2050) << device;
    EXPECT_EQ(sum_of(2048, DType::f16, device).dtype(), DType::f16);
    EXPECT_EQ(sum_of(2048, DType::f16, device).shape(), (Dims{1, 1, 1}));
  }
}

TEST(Linear, Of16BitsGivesGradientsToAllThree) {
  const Options options(DType::bf16);
  Tensor x = from_vector(std::vector<double>{1, 2, 3, 4}, {2, 2}, options).requires_grad_();
  Tensor w = from_vector(std::vector<double>{5, 6}, {1, 2}, options).requires_grad_();
  Tensor b = from_vector(std::vector<double>{7}, {1}, options).requires_grad_();
  nn::linear(x, w, b).sum().backward();
  EXPECT_EQ(values(x.grad().to(DType::f32)), (Floats{5, 6, 5, 6}));
  EXPECT_EQ(values(w.grad().to(DType::f32)), (Floats{4, 6}));
  EXPECT_EQ(values(b.grad().to(DType::f32)), (Floats{2}));
  EXPECT_EQ(b.grad().dtype(), DType::bf16);
}

TEST(Linear, Of16BitsTakesABiasInF32) {
  const Options options(DType::bf16);
  const Tensor y = nn::linear(ones({1, 2}, options), ones({1, 2}, options), full({1}, 0.001));
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(values(y), (Floats{2.001F}));
}

TEST(Linear, IsMadeOnTheGivenDeviceInTheGivenDtype) {
  const nn::Linear fc(2, 3, true, Options(DType::f64, "reference"));
  EXPECT_EQ(fc.weight.dtype(), DType::f64);
  EXPECT_EQ(fc.bias.device().name(), "reference");
}

TEST(Embedding, PicksRows) {
  nn::Embedding rows(3, 2);
  rows.weight.set_data(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
  EXPECT_EQ(values(rows(tensor({{2, 0}}))), (Floats{5, 6, 1, 2}));
  sum(rows(tensor({1, 1}))).backward();
  EXPECT_EQ(values(rows.weight.grad()), (Floats{0, 0, 2, 2, 0, 0}));
}

TEST(Embedding, ThePaddingRowIsZeroAndStaysSo) {
  nn::Embedding rows(3, 2, -1);
  EXPECT_EQ(values(rows.weight.detach().select(0, 2)), (Floats{0, 0}));
  EXPECT_NE(values(rows.weight.detach().select(0, 1)), (Floats{0, 0}));
  sum(rows(tensor({2, 1, 2}))).backward();
  EXPECT_EQ(values(rows.weight.grad()), (Floats{0, 0, 1, 1, 0, 0}));
}

TEST(LayerNorm, HasMeanZeroAndVarianceOne) {
  nn::LayerNorm norm(4, 0.0);
  const float a = 1.3416408f, b = 0.4472136f;  // 1, 2, 3, 4 around 2.5 over sqrt(1.25)
  expect_near(norm(tensor({{1.0, 2.0, 3.0, 4.0}})), {-a, -b, b, a});
  norm.weight.set_data(full({4}, 2.0));
  norm.bias.set_data(full({4}, 1.0));
  expect_near(norm(tensor({{1.0, 2.0, 3.0, 4.0}})), {1 - 2 * a, 1 - 2 * b, 1 + 2 * b, 1 + 2 * a});
}

TEST(LayerNorm, PartsMayBeLeftOut) {
  EXPECT_EQ(nn::LayerNorm(Dims{2, 3}).weight.shape(), (Dims{2, 3}));
  EXPECT_EQ(nn::LayerNorm(3, 1e-5, true, false).parameters().size(), 1u);
  EXPECT_EQ(nn::LayerNorm(3, 1e-5, false).parameters().size(), 0u);
  const Tensor x = randn({4, 2, 3});
  EXPECT_EQ(values(nn::LayerNorm(Dims{2, 3})(x)), values(nn::layer_norm(x, {2, 3}, ones({2, 3}), zeros({2, 3}))));
}

TEST(RMSNorm, HasMeanSquareOne) {
  nn::RMSNorm norm(2, 0.0);
  expect_near(norm(tensor({{3.0, 4.0}})), {3 / 3.5355339f, 4 / 3.5355339f});
  norm.weight.set_data(tensor({10.0, 0.0}));
  expect_near(norm(tensor({{3.0, 4.0}})), {30 / 3.5355339f, 0});
  EXPECT_EQ(nn::RMSNorm(2, 1e-6, false).parameters().size(), 0u);
}

TEST(Norms, GradientsReachTheirParameters) {
  nn::LayerNorm layer(4);
  nn::RMSNorm root(4);
  sum(square(root(layer(randn({3, 4}))))).backward();
  for (const Tensor& p : {layer.weight, layer.bias, root.weight}) EXPECT_TRUE(p.grad().defined());
}

TEST(Dropout, DropsInTrainingOnly) {
  nn::Dropout dropout(0.25, Generator(1));
  const Tensor x = ones({10000});
  const Floats y = values(dropout(x));
  size_t dropped = 0;
  for (float one : y) {
    EXPECT_TRUE(one == 0 || std::abs(one - 4.0f / 3) < 1e-6f);
    dropped += one == 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped), 2500, 150);
  EXPECT_NE(values(dropout(x)), y) << "every call draws anew";
  dropout.eval();
  EXPECT_EQ(values(dropout(x)), Floats(10000, 1));
}

TEST(Dropout, ItsOwnGeneratorRepeatsAndLeavesTheDefaultAlone) {
  const Tensor x = ones({64});
  manual_seed(5);
  const Floats plain = values(rand({4}));
  manual_seed(5);
  const Floats a = values(nn::Dropout(0.5, Generator(9))(x)), b = values(nn::Dropout(0.5, Generator(9))(x));
  EXPECT_EQ(a, b);
  EXPECT_EQ(values(rand({4})), plain);
}

TEST(Activations, AreTheFunctionsOfTheirNames) {
  const Tensor x = linspace(-4, 4, 9);
  EXPECT_EQ(values(nn::ReLU()(x)), values(relu(x)));
  EXPECT_EQ(values(nn::LeakyReLU(0.2)(x)), values(leaky_relu(x, 0.2)));
  EXPECT_EQ(values(nn::ELU(0.5)(x)), values(elu(x, 0.5)));
  EXPECT_EQ(values(nn::Softplus(2)(x)), values(softplus(x, 2)));
  EXPECT_EQ(values(nn::GELU()(x)), values(gelu(x)));
  EXPECT_EQ(values(nn::GELU("tanh")(x)), values(gelu(x, "tanh")));
  EXPECT_EQ(values(nn::SiLU()(x)), values(silu(x)));
  EXPECT_EQ(values(nn::Mish()(x)), values(mish(x)));
  EXPECT_EQ(values(nn::Hardswish()(x)), values(hardswish(x)));
  EXPECT_EQ(values(nn::Tanh()(x)), values(tanh(x)));
  EXPECT_EQ(values(nn::Sigmoid()(x)), values(sigmoid(x)));
  EXPECT_EQ(values(nn::Softmax(0)(x)), values(softmax(x, 0)));
  EXPECT_EQ(values(nn::LogSoftmax(0)(x)), values(log_softmax(x, 0)));
  EXPECT_EQ(values(nn::Identity()(x)), values(x));
}

TEST(PReLU, LearnsTheSlopeBelowZero) {
  nn::PReLU one;
  const Tensor x = tensor({-2.0, 0.0, 3.0}).to(DType::f32);
  EXPECT_EQ(values(one(x)), (Floats{-0.5f, 0, 3}));
  one(x).sum().backward();
  EXPECT_EQ(values(one.weight.grad()), (Floats{-2}));
  nn::PReLU two(2, 0.5);
  {
    NoGrad off;
    two.weight[1] = 2.0;
  }
  EXPECT_EQ(values(two(full({1, 2, 1, 2}, -1))), (Floats{-0.5f, -0.5f, -2, -2}));
  EXPECT_EQ(two.state_dict().at("weight").shape(), (Dims{2}));
  EXPECT_EQ(text_of([&] { two(ones({4, 3})); }), "[prelu] 2 weights do not fit 3 channels of (4, 3)");
  EXPECT_EQ(text_of([] { nn::PReLU(0); }), "[prelu] takes at least one weight, got 0");
}

TEST(Dropout2d, DropsWholeChannels) {
  nn::Dropout2d drop(0.5, Generator(3));
  const Tensor y = drop(ones({8, 16, 3, 3}));
  const std::vector<float> least = values(y.flatten(2).amin({2})), most = values(y.flatten(2).amax({2}));
  EXPECT_EQ(least, most);
  const auto dropped = std::count(least.begin(), least.end(), 0.0f),
             kept = std::count(least.begin(), least.end(), 2.0f);
  EXPECT_EQ(dropped + kept, 128);
  EXPECT_GT(dropped, 32);
  EXPECT_GT(kept, 32);
  drop.eval();
  EXPECT_EQ(values(drop(ones({1, 1, 1, 2}))), (Floats{1, 1}));
  EXPECT_EQ(text_of([&] { drop(ones({2, 3})); }), "[dropout2d] takes (batch, channels, height, width), got (2, 3)");
}

TEST(Unflatten, MakesSeveralDimsOfOne) { EXPECT_EQ(nn::Unflatten(1, {2, -1})(ones({3, 8})).shape(), (Dims{3, 2, 4})); }

TEST(Activations, KnownValues) {
  const Tensor x = tensor({-1.0, 0.0, 2.0});
  expect_near(nn::ReLU()(x), {0, 0, 2});
  expect_near(nn::LeakyReLU()(x), {-0.01f, 0, 2});
  expect_near(nn::GELU()(x), {-0.158655f, 0, 1.954500f});
  expect_near(nn::GELU("tanh")(x), {-0.158808f, 0, 1.954598f});
  expect_near(nn::SiLU()(x), {-0.268941f, 0, 1.761594f});
  expect_near(nn::Softplus()(x), {0.313262f, 0.693147f, 2.126928f});
}

TEST(Flatten, JoinsAllButTheBatch) {
  EXPECT_EQ(nn::Flatten()(ones({2, 3, 4})).shape(), (Dims{2, 12}));
  EXPECT_EQ(nn::Flatten(0, 1)(ones({2, 3, 4})).shape(), (Dims{6, 4}));
}

TEST(Sequential, ChainsLayers) {
  nn::Sequential net;
  nn::Linear& first = net.emplace<nn::Linear>(2, 3);
  net.emplace<nn::Tanh>();
  nn::Linear& last = net.emplace<nn::Linear>(3, 1);
  const Tensor x = randn({5, 2});
  EXPECT_EQ(values(net(x)), values(last(tanh(first(x)))));
  EXPECT_EQ(net.size(), 3u);
  EXPECT_EQ(&net[2], &last);
  EXPECT_EQ(net.named_parameters()[2].name, "2.weight");
}

TEST(Sequential, MayBeMadeOfLayersAndNested) {
  auto inner = std::make_unique<nn::Sequential>(std::make_unique<nn::Linear>(2, 2), std::make_unique<nn::ReLU>());
  nn::Sequential net(std::move(inner), std::make_unique<nn::Linear>(3, 1));
  net.set_name("net");
  EXPECT_EQ(net.named_parameters()[0].name, "0.0.weight");
  EXPECT_EQ(text_of([&] {
              net(ones({1, 2}));
            }),
            "[linear] input (1, 2) and weight (1, 3) do not fit: the last size of the input must be 3 (in net.1)");
  EXPECT_EQ(text_of([&] {
              net(ones({1, 4}));
            }),
            "[linear] input (1, 4) and weight (2, 2) do not fit: the last size of the input must be 2 (in net.0.0)");
}

TEST(Sequential, TrainsToTellTwoHalvesApart) {
  manual_seed(2);
  nn::Sequential net;
  net.emplace<nn::Linear>(2, 8);
  net.emplace<nn::Tanh>();
  net.emplace<nn::Linear>(8, 1);
  const Tensor x = randn({64, 2}).eval(), y = (x.select(1, 0) > 0).to(DType::f32).unsqueeze(1).eval();
  float first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    Tensor loss = nn::binary_cross_entropy_with_logits(net(x), y);
    loss.backward();
    const NoGrad updating;
    for (Tensor& p : net.parameters()) p.sub_(p.grad() * 1.0);
    net.zero_grad();
    last = loss.item<float>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first / 3);
}

TEST(ModuleList, IsIndexedAndIterated) {
  nn::ModuleList<nn::Linear> list;
  for (int64_t i = 1; i <= 3; ++i) list.emplace(i, i + 1);
  int64_t expected = 1;
  for (const nn::Linear& fc : list) EXPECT_EQ(fc.weight.size(1), expected++);
  EXPECT_EQ(list[2].weight.shape(), (Dims{4, 3}));
  EXPECT_EQ(text_of([&] { list[3]; }), "[module_list] there is no module 3 in a list of 3");
}

TEST(LayerErrors, SaySizesThatMakeNoSense) {
  EXPECT_EQ(text_of([] { nn::Linear(0, 3); }), "[linear] the number of inputs must be positive, got 0");
  EXPECT_EQ(text_of([] { nn::Embedding(3, 2, 5); }), "[embedding] padding row 5 is out of range for 3 rows");
  EXPECT_EQ(text_of([] { nn::Dropout(1.5); }), "[dropout] p must lie in 0..1, got 1.5");
  EXPECT_EQ(text_of([] { nn::LayerNorm(3, -1.0); }), "[layer_norm] eps cannot be negative, got -1");
  EXPECT_EQ(text_of([] { nn::GELU("fast"); }), "[gelu] approximate is \"none\" or \"tanh\", not \"fast\"");
}

}  // namespace
}  // namespace tenon
