// Recurrent layers and transformer layers against PyTorch's, with the same weights.

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

Tensor waves(const Dims& shape, double step = 1.3, double start = 0) {
  return sin(arange(ir::count(shape), DType::f32) * step + start).reshape(shape);
}

/// sin(0.7 i + k) / 2 for element i of parameter k.
std::vector<std::string> fill(nn::Module& module) {
  std::vector<std::string> names;
  for (auto& [name, parameter] : module.named_parameters()) {
    const NoGrad writing;
    parameter.copy_(waves(parameter.shape(), 0.7, static_cast<double>(names.size())) * 0.5);
    names.push_back(name);
  }
  return names;
}

constexpr float kNear = 2e-5f;

// ---- recurrent ----

TEST(Lstm, OfTwoLayersBothWaysAndTwoLengthsIsPyTorchs) {
  nn::LSTM lstm(2, 3, {.layers = 2, .batch_first = true, .bidirectional = true});
  const auto names = fill(lstm);
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(names[3], "bias_hh_l0");
  EXPECT_EQ(names[12], "weight_ih_l1_reverse");
  const Tensor state = waves({4, 2, 3});
  const auto [y, after] = lstm(waves({2, 3, 2}), {state * 0.5, state * -0.3}, tensor({int64_t{3}, int64_t{2}}));
  expect_near(y,
              {0.198652,  0.0516927,  -0.0187464, -0.187144, 0.0400447,  0.422458,   0.264319,  0.016887,   -0.067614,
               -0.178765, 0.0474378,  0.378283,   0.307462,  0.00478027, -0.0929893, -0.116662, 0.0124424,  0.290132,
               0.0901508, -0.0397734, -0.0335555, -0.149552, 0.0563948,  0.345046,   0.216522,  -0.0257108, -0.067591,
               -0.209783, 0.206841,   0.308048,   0,         0,          0,          0,         0,          0},
              kNear);
  expect_near(after.h, {0.249956,   0.135206,  0.0846782, 0.129955,  0.104236, 0.107354,   -0.329735,  -0.310167,
                        -0.266568,  -0.236249, -0.230638, -0.100952, 0.307462, 0.00478027, -0.0929893, 0.216522,
                        -0.0257108, -0.067591, -0.187144, 0.0400447, 0.422458, -0.149552,  0.0563948,  0.345046},
              kNear);
  expect_near(after.c, {0.379198,  0.376615,  0.307642,  0.215032,  0.382292, 0.334077,  -0.785151, -0.618485,
                        -0.343709, -0.550651, -0.539594, -0.124204, 0.831084, 0.0206901, -0.3031,   0.531614,
                        -0.102662, -0.230843, -0.297443, 0.078476,  0.883251, -0.218675, 0.11267,   0.732056},
              kNear);
}

TEST(Lstm, OfProjectedStatesIsPyTorchs) {
  nn::LSTM lstm(2, 4, {.layers = 2, .bidirectional = true, .proj_size = 3});
  const auto names = fill(lstm);
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(names[4], "weight_hr_l0");
  Tensor x = waves({3, 2, 2}).eval().requires_grad_();
  const auto [y, after] = lstm(x, {waves({4, 2, 3}) * 0.5, waves({4, 2, 4}) * -0.3}, tensor({int64_t{3}, int64_t{2}}));
  expect_near(y, {-0.123963, 0.0592825, 0.0122482,  -0.304348, 0.196581,  -0.0660976, -0.188337, 0.13869,  -0.0730158,
                  -0.261605, 0.192059,  -0.100319,  -0.155389, 0.0799392, 0.00474772, -0.267204, 0.175841, -0.0641578,
                  -0.196403, 0.124393,  -0.0380082, -0.202044, 0.171669,  -0.121457,  -0.174243, 0.09371,  -0.00234882,
                  -0.209572, 0.143498,  -0.0608427, 0,         0,         0,          0,         0,        0},
              kNear);
  expect_near(after.h, {-0.0890572, 0.00800322, 0.0739756, -0.0691804, 0.0457524,  -0.0170374, -0.141758,   0.08588,
                        -0.0200779, -0.0875589, 0.01801,   0.05362,    -0.174243,  0.09371,    -0.00234882, -0.196403,
                        0.124393,   -0.0380082, -0.304348, 0.196581,   -0.0660976, -0.261605,  0.192059,    -0.100319},
              kNear);
  EXPECT_EQ(after.c.shape(), (Dims{4, 2, 4}));
  EXPECT_NEAR(values(after.c)[0], 0.773031f, kNear);
  square(y).sum().backward();
  expect_near(x.grad(),
              {0.00359312, 0.00288341, 0.00368286, 0.00300544, 0.00324297, 0.0032433, 0.00403435, 0.00398432,
               0.00122464, 0.001752, 0, 0},
              kNear);
  EXPECT_EQ(text_of([] { nn::GRU(2, 4, {.proj_size = 3}); }), "[gru] proj_size is of LSTM alone");
  EXPECT_EQ(text_of([] { nn::LSTM(2, 4, {.proj_size = 4}); }),
            "[lstm] proj_size must be at least 0 and less than hidden, 4, got 4");
}

TEST(Gru, OfTwoLengthsIsPyTorchs) {
  nn::GRU gru(2, 3);
  fill(gru);
  const auto [y, state] = gru(waves({3, 2, 2}), {waves({1, 2, 3}) * 0.5, {}}, tensor({int64_t{3}, int64_t{2}}));
  expect_near(y,
              {0.424912, 0.114921, 0.26737, -0.0108713, 0.320575, 0.386039, 0.258808, 0.3288, 0.558903, 0.552372,
               0.133611, 0.235623, 0.175196, 0.565522, 0.763297, 0, 0, 0},
              kNear);
  expect_near(state.h, {0.175196, 0.565522, 0.763297, 0.552372, 0.133611, 0.235623}, kNear);
}

TEST(Rnn, OfTwoLengthsIsPyTorchs) {
  nn::RNN rnn(2, 3);
  fill(rnn);
  const auto [y, state] = rnn(waves({3, 2, 2}), {waves({1, 2, 3}) * 0.5, {}}, tensor({int64_t{3}, int64_t{2}}));
  expect_near(y,
              {0.821532, 0.0910257, -0.67642, -0.0237025, -0.0186526, -0.144351, 0.639208, -0.0737046, -0.855026,
               0.507992, 0.574538, -0.46276, 0.219747, -0.322334, -0.765906, 0, 0, 0},
              kNear);
}

using Made = std::unique_ptr<nn::Recurrent>;
Made made(const std::string& kind, const nn::RecurrentOptions& options) {
  if (kind == "lstm") return std::make_unique<nn::LSTM>(2, 3, options);
  if (kind == "gru") return std::make_unique<nn::GRU>(2, 3, options);
  nn::RecurrentOptions plain = options;
  plain.nonlinearity = kind;
  return std::make_unique<nn::RNN>(2, 3, plain);
}

class AnyRecurrent : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AnyRecurrent, testing::Values("lstm", "gru", "tanh", "relu"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(AnyRecurrent, TakesLengthsOfTheHostOnAnyDevice) {
  const Made net = made(GetParam(), {});
  fill(*net);
  const Tensor x = waves({3, 2, 2}), lengths = tensor({int64_t{3}, int64_t{2}});
  const Floats expected = values((*net)(x, {}, lengths).y);
  net->to(Device("reference"));
  expect_near((*net)(x.to(Device("reference")), {}, lengths).y, expected, kNear);
}

// The gradient's own rule against differences in f64: of inputs, weights and first states, with two lengths.
TEST_P(AnyRecurrent, GradientsAreSlopes) {
  const Options f64(DType::f64);
  const Made net = made(GetParam(), {.bidirectional = true, .options = f64});
  fill(*net);
  const bool is_lstm = GetParam() == std::string("lstm");
  Tensor x = waves({3, 2, 2}).to(DType::f64), h = waves({2, 2, 3}, 0.9).to(DType::f64), c = h * 0.4;
  const Tensor lengths = tensor({int64_t{3}, int64_t{2}}), factors = waves({3, 2, 6}, 2.1).to(DType::f64);
  const auto loss = [&] {
    const auto [y, state] = (*net)(x, {h, is_lstm ? c : Tensor()}, lengths);
    Tensor total = (y * factors).sum() + (square(state.h) * 0.3).sum();
    return is_lstm ? total + (square(state.c) * 0.2).sum() : total;
  };
  std::vector<Tensor> leaves{x, h};
  if (is_lstm) leaves.push_back(c);
  for (Tensor& leaf : leaves) leaf.requires_grad_();
  for (const Tensor& parameter : net->parameters()) leaves.push_back(parameter);
  const std::vector<Tensor> slopes = grad(std::vector<Tensor>{loss()}, leaves);
  const NoGrad differences;
  constexpr double kStep = 1e-6;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const int64_t last = leaves[k].numel() - 1;  // one element of each tensor
    Tensor element = leaves[k].detach().reshape({-1}).narrow(0, last, 1);
    element.add_(kStep);
    const double above = loss().item<double>();
    element.sub_(2 * kStep);
    const double below = loss().item<double>();
    element.add_(kStep);
    const double slope = slopes[k].reshape({-1}).narrow(0, last, 1).item<double>();
    EXPECT_NEAR(slope, (above - below) / (2 * kStep), 1e-7) << "leaf " << k;
  }
}

TEST_P(AnyRecurrent, HasASecondDerivative) {
  const Options f64(DType::f64);
  const Made net = made(GetParam(), {.options = f64});
  fill(*net);
  const auto slope_at = [&](double shift, bool twice) {
    Tensor x = (waves({2, 1, 2}).to(DType::f64) + shift).detach().requires_grad_();
    const Tensor slope = grad(square((*net)(x).y).sum(), x, true).sum();
    return twice ? grad(slope, x).sum().item<double>() : slope.item<double>();
  };
  constexpr double kStep = 1e-5;
  EXPECT_NEAR(slope_at(0, true), (slope_at(kStep, false) - slope_at(-kStep, false)) / (2 * kStep), 1e-7);
}

TEST_P(AnyRecurrent, CapturedStepsGiveTheSameBits) {
  const Made net = made(GetParam(), {.layers = 2, .batch_first = true});
  const auto step = [&](const Tensor& x) {
    net->zero_grad();
    Tensor loss = square((*net)(x).y).sum();
    loss.backward();
    return net->weights(0).weight_hh.grad();
  };
  auto captured = compile(step);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({2, 5, 2});
    EXPECT_EQ(values(captured(x)), values(step(x)));
  }
}

TEST(Recurrent, GoesOnWhereItEnded) {
  nn::LSTM lstm(2, 3);
  const Tensor x = randn({5, 4, 2});
  const auto [all, last] = lstm(x);
  const auto first = lstm(x.narrow(0, 0, 2));
  const auto [rest, end] = lstm(x.narrow(0, 2, 3), first.state);
  expect_near(rest, values(all.narrow(0, 2, 3)));
  expect_near(end.c, values(last.c));
  EXPECT_EQ(lstm(x.select(1, 0)).y.shape(), (Dims{5, 3}));
}

// What a layer without biases computes in bf16 goes into states that stay f32; what comes out has PyTorch's type.
TEST(Recurrent, WithoutBiasesRunsUnderAutocast) {
  nn::RNN rnn(3, 4, {.bias = false});
  nn::GRU gru(3, 4, {.bias = false});
  const Tensor x = randn({5, 2, 3});
  for (const nn::Recurrent* layer : {static_cast<nn::Recurrent*>(&rnn), static_cast<nn::Recurrent*>(&gru)}) {
    const auto wide = (*layer)(x);
    const Autocast lower(DType::bf16);
    const auto low = (*layer)(x);
    EXPECT_EQ(low.y.dtype(), layer == &gru ? DType::f32 : DType::bf16);
    EXPECT_EQ((*layer)(x.to(DType::bf16)).state.h.dtype(), DType::bf16);
    EXPECT_TRUE(allclose(low.y.to(DType::f32), wide.y, 0.02, 0.02));
    sum(low.y).backward();
  }
  EXPECT_TRUE(rnn.weights(0).weight_hh.grad().defined());
}

TEST(Recurrent, SaysWhatDoesNotFit) {
  nn::GRU gru(2, 3);
  EXPECT_EQ(text_of([&] { gru(zeros({5, 1, 4})); }), "[gru] takes inputs of width 2, got (5, 1, 4)");
  EXPECT_EQ(text_of([&] { gru(zeros({5, 1, 2}, DType::f64)); }),
            "[gru] takes inputs of f32, as its weights are, got f64; convert one with to()");
  EXPECT_EQ(text_of([] { nn::GRU(2, 3, {.layers = 1'000'000'000}); }), "[gru] takes at most 65536 layers, got 1000000000");
  EXPECT_EQ(text_of([&] { gru(zeros({0, 1, 2})); }), "[gru] takes at least one step, got (0, 1, 2)");
  EXPECT_EQ(text_of([&] {
              gru(zeros({5, 1, 2}), {zeros({1, 2, 3}), {}});
            }),
            "[gru] the state h must have shape (1, 1, 3), got (1, 2, 3)");
  EXPECT_EQ(gru(zeros({5, 0, 2})).y.shape(), (Dims{5, 0, 3}));
}

TEST_P(AnyRecurrent, RefusesLengthsThatTheSequenceCannotHave) {
  const Made net = made(GetParam(), {.batch_first = true});
  const std::string op = GetParam() == std::string("tanh") || GetParam() == std::string("relu") ? "rnn" : GetParam();
  const Tensor x = waves({2, 4, 2});
  for (const int64_t length : {0, -1, 5}) {
    const std::string text = fmt::format("[{}] lengths must lie in 1..4, the number of steps, got {}", op, length);
    const Tensor lengths = tensor({length, int64_t{4}});
    EXPECT_EQ(text_of([&] { (*net)(x, {}, lengths); }), text);
    Tensor computed = lengths + 7 - 7;
    computed.to_vector<int64_t>();
    EXPECT_EQ(text_of([&] { (*net)(x, {}, computed); }), text);
    // Still to be computed: the device looks.
    const std::string found = fmt::format("[gather] index {} is out of range for axis 0 of size 4", length - 1);
    EXPECT_EQ(text_of([&] { values((*net)(x, {}, randint(length, length + 1, {2})).y); }), found);
    auto captured = compile([&](const Tensor& given) { return (*net)(x, {}, given).y; });
    EXPECT_EQ(values(captured(tensor({int64_t{1}, int64_t{4}}))),
              values((*net)(x, {}, tensor({int64_t{1}, int64_t{4}})).y));
    EXPECT_EQ(text_of([&] { values(captured(lengths)); }), found);
  }
  EXPECT_EQ(text_of([&] {
              (*net)(x, {}, tensor({true, true}));
            }),
            "[" + op + "] lengths must be 2 whole numbers, got bool(2,)");
}

// ---- transformer ----

TEST(TransformerEncoderLayer, IsPyTorchsWithItsNamesAndMasks) {
  nn::TransformerEncoderLayer layer(4, 2, {.feedforward = 6, .dropout = 0, .batch_first = true});
  EXPECT_EQ(fill(layer),
            (std::vector<std::string>{"self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                                      "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
                                      "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"}));
  const Tensor padding = tensor({{0, 0, 1}, {0, 0, 0}}) == 1;
  expect_near(layer(waves({2, 3, 4}), {.key_padding_mask = padding}),
              {-0.724335, -0.727791, 0.683633, 0.227893, -0.609477, -0.896827, 0.665881, 0.221094,
               -0.92146,  -0.296546, 0.489775, 0.282941, -0.946215, -0.145673, 0.3886,   0.281971,
               -0.922511, -0.300883, 0.487238, 0.287088, -0.875972, -0.420503, 0.58047,  0.259247},
              kNear);
  const Floats causal{-0.743668, -0.687273, 0.682351, 0.225454, -0.609477, -0.896827, 0.665881, 0.221094,
                      -0.9199,   -0.291883, 0.493379, 0.277697, -0.945763, -0.142275, 0.388722, 0.279941,
                      -0.923139, -0.293299, 0.485367, 0.284958, -0.875972, -0.420503, 0.58047,  0.259247};
  expect_near(layer(waves({2, 3, 4}), {.causal = true}), causal, kNear);
  const Tensor future = triu(ones({3, 3}), 1) == 1.0;
  expect_near(layer(waves({2, 3, 4}), {.mask = future}), causal, kNear);
}

TEST(TransformerDecoderLayer, WithNormsFirstIsPyTorchs) {
  nn::TransformerDecoderLayer layer(4, 2, {.feedforward = 6, .dropout = 0, .activation = "gelu", .norm_first = true});
  fill(layer);
  const Tensor mask = tensor({{0.0, -1.0}, {0.5, 0.0}});
  expect_near(layer(waves({2, 1, 4}), waves({3, 1, 4}) * 2.0, {.mask = mask}),
              {-0.672006, 0.952797, 0.76374, -1.54628, -1.54139, 0.207674, 1.11423, -0.291569}, kNear);
}

TEST(MultiheadAttention, TakesOneSequenceAndShowsItsWeights) {
  for (const bool batch_first : {false, true}) {
    nn::MultiheadAttention attention(4, 2, 0, true, batch_first);
    fill(attention);
    const int64_t at = batch_first ? 0 : 1;
    const Tensor x = waves({3, 4}), y = waves({5, 4}) * 2.0, padding = tensor({0, 0, 0, 1, 0}) == 1;
    const nn::AttentionMasks masks{.key_padding_mask = padding}, of_batch{.key_padding_mask = padding.unsqueeze(0)};
    EXPECT_EQ(values(attention(x, y, y, masks)),
              values(attention(x.unsqueeze(at), y.unsqueeze(at), y.unsqueeze(at), of_batch).squeeze(at)));
    EXPECT_EQ(values(attention(x, x, x, {.causal = true})),
              values(attention(x.unsqueeze(at), x.unsqueeze(at), x.unsqueeze(at), {.causal = true}).squeeze(at)));
    // What they give together with the values is the result.
    const Tensor heads = attention.weights(x, y, masks, false);
    EXPECT_EQ(heads.shape(), (Dims{2, 3, 5}));
    const Tensor v = nn::linear(y, attention.in_proj_weight.narrow(0, 8, 4), attention.in_proj_bias.narrow(0, 8, 4));
    const Tensor looked_at = matmul(heads, v.reshape({5, 2, 2}).transpose(0, 1)).transpose(0, 1).reshape({3, 4});
    expect_near(attention.out_proj(looked_at), values(attention(x, y, y, masks)), kNear);
    expect_near(attention.weights(x, y, masks), values(heads.mean({0})), kNear);
    const nn::AttentionWeights held{attention.in_proj_weight, attention.in_proj_bias, 2, batch_first};
    EXPECT_EQ(values(nn::attention_weights(held, x, y, masks)), values(attention.weights(x, y, masks)));
    for (const float ahead : values(triu(attention.weights(x, x, {.causal = true}), 1))) EXPECT_EQ(ahead, 0);
  }
}

// Numbers of 0 and 1 could be bools or be added to the scores: neither is guessed.
TEST(Transformer, RefusesMasksOfIntegers) {
  nn::MultiheadAttention attention(4, 2, 0, true, true);
  nn::TransformerEncoderLayer encoder(4, 2, {.batch_first = true});
  nn::TransformerDecoderLayer decoder(4, 2, {.batch_first = true});
  const Tensor x = waves({1, 3, 4}), mask = triu(ones({3, 3}, DType::i64), 1), padding = tensor({{0, 0, 1}});
  const auto says = [](std::string_view what, std::string_view dtype) {
    return fmt::format(
        "[multihead_attention] {} must be bool or floating-point, got {}; convert it with to(DType::boolean)", what,
        dtype);
  };
  EXPECT_EQ(text_of([&] { attention(x, x, x, {.mask = mask}); }), says("mask", "i64"));
  EXPECT_EQ(text_of([&] { attention(x, x, x, {.mask = mask.to(DType::u8)}); }), says("mask", "u8"));
  EXPECT_EQ(text_of([&] { attention(x, x, x, {.key_padding_mask = padding}); }), says("key_padding_mask", "i64"));
  EXPECT_EQ(text_of([&] { encoder(x, {.mask = mask}); }).substr(0, 62), says("mask", "i64").substr(0, 62));
  EXPECT_EQ(text_of([&] { decoder(x, x, {}, {.key_padding_mask = padding}); }).substr(0, 62),
            says("key_padding_mask", "i64").substr(0, 62));
  EXPECT_EQ(text_of([&] { nn::scaled_dot_product_attention(x, x, x, {.mask = mask}); }),
            "[attention] mask must be bool or floating-point, got i64; convert it with to(DType::boolean)");
}

TEST(TransformerEncoder, IsItsLayersAndTheNorm) {
  nn::TransformerEncoder encoder(2, 4, 2, {.feedforward = 6, .dropout = 0}, true);
  const Tensor x = randn({3, 2, 4});
  EXPECT_EQ(values(encoder(x)), values((*encoder.norm)(encoder.layers[1](encoder.layers[0](x)))));
  EXPECT_EQ(encoder.named_parameters().back().name, "norm.bias");
  nn::TransformerDecoder decoder(2, 4, 2, {.feedforward = 6, .dropout = 0});
  const Tensor y = decoder(x, encoder(x));
  y.sum().backward();
  for (const auto& [name, parameter] : encoder.named_parameters()) EXPECT_TRUE(parameter.grad().defined()) << name;
  EXPECT_EQ(text_of([] { nn::TransformerEncoderLayer(4, 3); }),
            "[multihead_attention] a width of 4 cannot be divided among 3 heads");
}

}  // namespace
}  // namespace tenon
