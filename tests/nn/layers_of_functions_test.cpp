// Layers that are a function with its options kept, cells, hooks and dictionaries of modules.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

TEST(LayersOfFunctions, Activations) {
  const Tensor x = tensor({-7.0, -2.0, -0.25, 0.0, 0.25, 2.0, 7.0, 0.75});
  const auto same = [&](const nn::Layer& layer, const Tensor& expected) {
    EXPECT_EQ(values(layer(x)), values(expected)) << layer.type_name();
  };
  same(nn::ReLU6(), relu6(x));
  same(nn::SELU(), selu(x));
  same(nn::CELU(2), celu(x, 2));
  same(nn::Hardtanh(-2, 0.5), hardtanh(x, -2, 0.5));
  same(nn::Hardsigmoid(), hardsigmoid(x));
  same(nn::LogSigmoid(), logsigmoid(x));
  same(nn::Softsign(), softsign(x));
  same(nn::Tanhshrink(), tanhshrink(x));
  same(nn::Hardshrink(0.3), hardshrink(x, 0.3));
  same(nn::Softshrink(0.3), softshrink(x, 0.3));
  same(nn::Threshold(0.5, 20), threshold(x, 0.5, 20));
  same(nn::GLU(), glu(x));
  same(nn::Softmin(0), softmin(x, 0));
  EXPECT_EQ(values(nn::ReLU6()(x)), (Floats{0, 0, 0, 0, 0.25, 2, 6, 0.75}));
  EXPECT_EQ(values(nn::Threshold(0.5, 20)(x)), (Floats{20, 20, 20, 20, 20, 2, 7, 0.75}));
  EXPECT_EQ(text_of([] { nn::Hardtanh(1, -1); }),
            "[hardtanh] the upper limit must lie above the lower one, got 1 and -1");
}

TEST(LayersOfFunctions, RReLUDrawsInTrainingAlone) {
  nn::RReLU layer(0.25, 0.75);
  const Tensor x = full({1000}, -1.0);
  const std::vector<float> drawn = values(layer(x));
  EXPECT_NE(drawn[0], drawn[1]);
  for (const float y : drawn) EXPECT_TRUE(y <= -0.25F && y >= -0.75F) << y;
  layer.eval();
  EXPECT_EQ(values(layer(x)), Floats(1000, -0.5F));
}

TEST(LayersOfFunctions, Pads) {
  const Tensor x = arange(6).to(DType::f32).reshape({1, 1, 2, 3});
  EXPECT_EQ(nn::ZeroPad2d(1)(x).shape(), (Dims{1, 1, 4, 5}));
  EXPECT_EQ(values(nn::ConstantPad2d({1, 0, 0, 0}, 9)(x)), (Floats{9, 0, 1, 2, 9, 3, 4, 5}));
  EXPECT_EQ(values(nn::ReflectionPad2d({2, 0, 0, 0})(x)), (Floats{2, 1, 0, 1, 2, 5, 4, 3, 4, 5}));
  EXPECT_EQ(values(nn::ReplicationPad2d({0, 1, 0, 0})(x)), (Floats{0, 1, 2, 2, 3, 4, 5, 5}));
  EXPECT_EQ(values(nn::CircularPad2d({1, 0, 0, 0})(x)), (Floats{2, 0, 1, 2, 5, 3, 4, 5}));
  EXPECT_EQ(nn::ZeroPad1d(2)(ones({2, 3})).shape(), (Dims{2, 7}));
  EXPECT_EQ(nn::ReplicationPad3d(1)(ones({1, 1, 2, 2, 2})).shape(), (Dims{1, 1, 4, 4, 4}));
  EXPECT_EQ(text_of([] {
              nn::ZeroPad2d({1, 2, 3});
            }),
            "[pad] takes one number or 4, before and after each dim, got (1, 2, 3)");
  EXPECT_EQ(text_of([&] { nn::ZeroPad3d(1)(ones({2, 3})); }), "[pad] takes 3 dims after the channels, got (2, 3)");
}

TEST(LayersOfFunctions, Pixels) {
  const Tensor x = arange(8).to(DType::f32).reshape({1, 4, 1, 2});
  EXPECT_EQ(values(nn::PixelShuffle(2)(x)), (Floats{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(values(nn::PixelUnshuffle(2)(nn::PixelShuffle(2)(x))), values(x));
  EXPECT_EQ(values(nn::ChannelShuffle(2)(x)), (Floats{0, 1, 4, 5, 2, 3, 6, 7}));
  const Tensor image = arange(9).to(DType::f32).reshape({1, 1, 3, 3});
  const Tensor columns = nn::Unfold({2, 2})(image);
  EXPECT_EQ(columns.shape(), (Dims{1, 4, 4}));
  EXPECT_EQ(values(nn::Fold({3, 3}, {2, 2})(columns)), (Floats{0, 2, 2, 6, 16, 10, 6, 14, 8}));
}

TEST(LayersOfFunctions, InstanceNormTakesEveryChannelOfEverySample) {
  const Tensor x = tensor({{{1.0, 3.0}, {10.0, 30.0}}, {{5.0, 5.5}, {0.0, 1.0}}});
  const nn::InstanceNorm1d norm(2, {.eps = 0});
  expect_near(norm(x), {-1, 1, -1, 1, -1, 1, -1, 1});
  expect_near(norm(x.select(0, 0)), {-1, 1, -1, 1});
  EXPECT_TRUE(norm.parameters().empty() && norm.buffers().empty());

  nn::InstanceNorm1d tracking(2, {.eps = 0, .momentum = 1, .affine = true, .track_running_stats = true});
  tracking.weight.set_data(tensor({1.0, 2.0}));
  expect_near(tracking(x), {-1, 1, -2, 2, -1, 1, -2, 2});
  expect_near(tracking.running_mean, {(2 + 5.25F) / 2, (20 + 0.5F) / 2});
  tracking.eval();
  EXPECT_NE(values(tracking(x))[0], -1);
  EXPECT_EQ(tracking.state_dict().size(), 5U);
  EXPECT_EQ(text_of([&] { norm(ones({2, 3, 4})); }), "[instance_norm1d] takes 2 channels, got (2, 3, 4)");
  EXPECT_EQ(text_of([&] {
              nn::InstanceNorm2d{2}(ones({2, 3}));
            }),
            "[instance_norm2d] takes (batch, channels, ...) or (channels, ...) with 2 dims of places, got (2, 3)");
}

TEST(LayersOfFunctions, LocalResponseNorm) {
  const Tensor x = randn({2, 5, 3});
  EXPECT_EQ(values(nn::LocalResponseNorm(3, 0.5, 0.25, 2)(x)), values(nn::local_response_norm(x, 3, 0.5, 0.25, 2)));
}

TEST(LayersOfFunctions, Upsamplings) {
  const Tensor x = tensor({0.0, 2.0, 4.0, 8.0}).reshape({1, 1, 2, 2});
  EXPECT_EQ(values(nn::UpsamplingNearest2d({.size = nn::Size2(2, 4)})(x)), (Floats{0, 0, 2, 2, 4, 4, 8, 8}));
  EXPECT_EQ(values(nn::UpsamplingBilinear2d({.size = nn::Size2(2, 3)})(x)), (Floats{0, 1, 2, 4, 6, 8}));
  EXPECT_EQ(nn::UpsamplingBilinear2d({.scale = 2})(x).shape(), (Dims{1, 1, 4, 4}));
}

TEST(LayersOfFunctions, Dropout1dDropsWholeChannelsInTrainingAlone) {
  nn::Dropout1d layer(0.5, Generator(3));
  const Floats drawn = values(layer(ones({40, 5, 3})));
  bool dropped = false, kept = false;
  for (size_t i = 0; i < drawn.size(); i += 3) {
    EXPECT_TRUE(drawn[i] == drawn[i + 1] && drawn[i] == drawn[i + 2] && (drawn[i] == 0 || drawn[i] == 2)) << i;
    (drawn[i] == 0 ? dropped : kept) = true;
  }
  EXPECT_TRUE(dropped && kept);
  layer.eval();
  EXPECT_EQ(values(layer(ones({4, 5, 3}))), Floats(60, 1));
  EXPECT_EQ(text_of([] { nn::Dropout1d(1.5); }), "[dropout1d] p must lie in 0..1, got 1.5");
}

TEST(LayersOfFunctions, AlphaDropoutKeepsMeanAndVariance) {
  nn::AlphaDropout layer(0.25, Generator(3));
  const Tensor x = randn({100'000}), y = layer(x);
  EXPECT_NEAR(mean(y).item<float>(), 0, 0.02);
  EXPECT_NEAR(var(y).item<float>(), 1, 0.03);
  EXPECT_NE(values(y), values(x));
  layer.eval();
  EXPECT_EQ(values(layer(x)), values(x));
  EXPECT_EQ(text_of([] { nn::AlphaDropout(-1); }), "[alpha_dropout] p must lie in 0..1, got -1");
}

TEST(LayersOfFunctions, BilinearHasPyTorchsParameters) {
  const nn::Bilinear layer(4, 3, 5), without(4, 3, 5, false);
  const Tensor x = randn({2, 4}), y = randn({2, 3});
  EXPECT_EQ(values(layer(x, y)), values(nn::bilinear(x, y, layer.weight, layer.bias)));
  EXPECT_EQ(values(without(x, y)), values(nn::bilinear(x, y, without.weight)));
  EXPECT_EQ(layer.weight.shape(), (Dims{5, 4, 3}));
  EXPECT_EQ(layer.named_parameters().size(), 2U);
  EXPECT_EQ(without.named_parameters().size(), 1U);
  EXPECT_LE(amax(abs(layer.weight)).item<float>(), 0.5F);
  EXPECT_EQ(text_of([] { nn::Bilinear(4, 0, 5); }), "[bilinear] the number of second inputs must be positive, got 0");
}

TEST(LayersOfFunctions, EmbeddingBag) {
  const nn::EmbeddingBag sums(10, 4, nn::BagMode::sum, -1), means(10, 4), ends(10, 4, nn::BagMode::max, {}, true);
  const Tensor index = tensor({1, 7, 9, 7}), offsets = tensor({0, 2}), weights = tensor({1.0, 2.0, 3.0, 4.0});
  expect_near(sums(index, offsets),  // the last row is the padding
              values(stack({sums.weight.select(0, 1) + sums.weight.select(0, 7), sums.weight.select(0, 7)})));
  expect_near(sums(index, offsets, weights),
              values(stack({sums.weight.select(0, 1) + sums.weight.select(0, 7) * 2, sums.weight.select(0, 7) * 4})));
  expect_near(means(index.reshape({2, 2})),
              values(stack({(means.weight.select(0, 1) + means.weight.select(0, 7)) / 2,
                            (means.weight.select(0, 9) + means.weight.select(0, 7)) / 2})));
  EXPECT_EQ(ends(index, tensor({0, 1, 4})).shape(), (Dims{2, 4}));
  EXPECT_EQ(values(sums.weight.select(0, 9)), Floats(4, 0));
  EXPECT_EQ(text_of([] { nn::EmbeddingBag(10, 4, nn::BagMode::sum, 10); }),
            "[embedding_bag] padding row 10 is out of range for 10 rows");
}

TEST(LayersOfFunctions, Losses) {
  const Tensor x = randn({3, 4}), y = rand({3, 4}), z = randn({3, 4}),
               classes = tensor({{0, 3, -1, 0}, {1, -1, 0, 0}, {2, 1, 0, 3}});
  const auto same = [](const Tensor& a, const Tensor& b) { EXPECT_EQ(values(a), values(b)); };
  same(nn::PoissonNLLLoss({.full = true})(x, y), nn::poisson_nll_loss(x, y, {.full = true}));
  same(nn::GaussianNLLLoss({.full = true})(x, y, y + 0.5), nn::gaussian_nll_loss(x, y, y + 0.5, {.full = true}));
  same(nn::GaussianNLLLoss()(x, y, 2), nn::gaussian_nll_loss(x, y, 2));
  same(nn::MultiLabelMarginLoss(nn::Reduction::none)(x, classes),
       nn::multilabel_margin_loss(x, classes, nn::Reduction::none));
  const nn::MultiLabelSoftMarginLoss weighted(tensor({1.0, 2.0, 3.0, 4.0}), nn::Reduction::sum);
  same(weighted(x, y), nn::multilabel_soft_margin_loss(x, y, tensor({1.0, 2.0, 3.0, 4.0}), nn::Reduction::sum));
  EXPECT_EQ(weighted.named_buffers().at(0).name, "weight");
  const auto distance = [](const Tensor& a, const Tensor& b) { return sum(abs(a - b), -1); };
  same(nn::TripletMarginWithDistanceLoss({.distance = distance, .swap = true})(x, y, z),
       nn::triplet_margin_with_distance_loss(x, y, z, {.distance = distance, .swap = true}));
  const Tensor sequence = log_softmax(randn({6, 2, 4}), -1), lengths = tensor({6, 5}), two = tensor({2, 1});
  const nn::CtcLossOptions ctc{.blank = 3, .reduction = nn::Reduction::sum};
  same(nn::CTCLoss(ctc)(sequence, tensor({{1, 2}, {0, 0}}), lengths, two),
       nn::ctc_loss(sequence, tensor({{1, 2}, {0, 0}}), lengths, two, ctc));
  same(nn::CosineSimilarity(0)(x, z), nn::cosine_similarity(x, z, 0));
  same(nn::PairwiseDistance(1, 1e-6, true)(x, z), nn::pairwise_distance(x, z, 1, 1e-6, true));
}

TEST(LayersOfFunctions, TransformerIsItsEncoderAndItsDecoder) {
  nn::Transformer model(8, 2, 1, 2, {.feedforward = 16, .batch_first = true});
  model.eval();
  const Tensor source = randn({2, 5, 8}), target = randn({2, 3, 8}), padded = zeros({2, 5}, DType::boolean);
  const nn::AttentionMasks causal{.causal = true}, memory{.key_padding_mask = padded};
  EXPECT_EQ(values(model(source, target, {}, causal, memory)),
            values(model.decoder(target, model.encoder(source), causal, memory)));
  std::set<std::string> names;
  for (const auto& [name, p] : model.named_parameters()) names.insert(name);
  for (const char* name : {"encoder.layers.0.self_attn.in_proj_weight", "encoder.norm.weight",
                           "decoder.layers.1.multihead_attn.out_proj.bias", "decoder.norm.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Cells, GoOnAsTheirLayersDo) {
  const Tensor x = randn({5, 2, 3});
  const auto share = [](nn::StepCell& cell, nn::Recurrent& layer) {
    cell.weights.weight_ih.set_data(layer.weights(0).weight_ih.detach());
    cell.weights.weight_hh.set_data(layer.weights(0).weight_hh.detach());
    cell.weights.bias_ih.set_data(layer.weights(0).bias_ih.detach());
    cell.weights.bias_hh.set_data(layer.weights(0).bias_hh.detach());
  };
  nn::LSTM lstm(3, 4);
  nn::LSTMCell lstm_cell(3, 4);
  share(lstm_cell, lstm);
  nn::RecurrentState state;
  for (int64_t t = 0; t < 5; ++t) state = lstm_cell(x.select(0, t), state);
  const nn::RecurrentState expected = lstm(x).state;
  expect_near(state.h, values(expected.h));
  expect_near(state.c, values(expected.c));
  EXPECT_EQ(lstm_cell(x.select(0, 0).select(0, 0)).h.shape(), (Dims{4}));

  nn::GRU gru(3, 4);
  nn::GRUCell gru_cell(3, 4);
  share(gru_cell, gru);
  Tensor h;
  for (int64_t t = 0; t < 5; ++t) h = gru_cell(x.select(0, t), h);
  expect_near(h, values(gru(x).state.h));

  nn::RNN rnn(3, 4, {.nonlinearity = "relu"});
  nn::RNNCell rnn_cell(3, 4, {.nonlinearity = "relu"});
  share(rnn_cell, rnn);
  h = Tensor();
  for (int64_t t = 0; t < 5; ++t) h = rnn_cell(x.select(0, t), h);
  expect_near(h, values(rnn(x).state.h));
  sum(h).backward();
  EXPECT_TRUE(rnn_cell.weights.weight_hh.grad().defined());

  std::vector<std::string> names;
  for (const auto& [name, p] : lstm_cell.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}));
  EXPECT_EQ(nn::LSTMCell(3, 4, {.bias = false}).named_parameters().size(), 2U);
  EXPECT_EQ(text_of([&] { lstm_cell(ones({2, 5})); }), "[lstm_cell] an input (batch, 3) or (3,) is needed, got (2, 5)");
  EXPECT_EQ(text_of([] { nn::RNNCell(3, 4, {.nonlinearity = "sin"}); }),
            "[rnn_cell] there is no nonlinearity \"sin\"; there are tanh and relu");
}

TEST(ModuleDict, FindsModulesByName) {
  nn::ModuleDict<nn::Linear> heads;
  heads.emplace("price", 2, 1);
  heads.emplace("class", 2, 5);
  EXPECT_EQ(heads["class"](ones({3, 2})).shape(), (Dims{3, 5}));
  EXPECT_EQ(heads.keys(), (std::vector<std::string>{"price", "class"}));
  EXPECT_TRUE(heads.contains("price"));
  EXPECT_FALSE(heads.contains("colour"));
  EXPECT_EQ(heads.named_parameters()[2].name, "class.weight");
  EXPECT_EQ(text_of([&] { heads["colour"]; }), "[module_dict] there is no module colour");
  EXPECT_NE(text_of([&] { heads.emplace("class", 2, 5); }), "nothing was thrown");
  EXPECT_EQ(heads.size(), 2U);
}

TEST(ModuleHooks, SeeWhatGoesInAndOut) {
  nn::Sequential net;
  net.emplace<nn::Linear>(2, 3);
  nn::ReLU& relu = net.emplace<nn::ReLU>();
  std::vector<std::string> seen;
  Tensor kept;
  nn::Module& first = net[0];
  HookHandle before = first.register_forward_pre_hook([&](const nn::Module& module, const std::vector<Tensor>& given) {
    seen.push_back("before " + module.name() + " " + ir::to_string(given.at(0).shape()));
  });
  HookHandle after = relu.register_forward_hook(
      [&](const nn::Module&, const std::vector<Tensor>& given, const std::vector<Tensor>& made) {
        seen.push_back("after " + ir::to_string(given.at(0).shape()));
        kept = made.at(0);
      });
  const Tensor y = net(ones({4, 2}));
  EXPECT_EQ(seen, (std::vector<std::string>{"before 0 (4, 2)", "after (4, 3)"}));
  EXPECT_EQ(values(kept), values(y));
  before.remove();
  after.remove();
  net(ones({4, 2}));
  EXPECT_EQ(seen.size(), 2U);
  relu.register_forward_hook(
      [](const nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { throw Error("seen"); });
  EXPECT_EQ(text_of([&] { net(ones({4, 2})); }), "seen");
}

TEST(ClipGradValue, CutsEveryElement) {
  Tensor a = tensor({1.0, -2.0}).requires_grad_(), b = tensor({3.0}).requires_grad_(),
         none = tensor({1.0}).requires_grad_();
  sum(a * tensor({5.0, 0.25}) - b * 7.0).backward();
  optim::clip_grad_value_({a, b, none}, 0.5);
  EXPECT_EQ(values(a.grad()), (Floats{0.5, 0.25}));
  EXPECT_EQ(values(b.grad()), (Floats{-0.5}));
  EXPECT_FALSE(none.grad().defined());
  EXPECT_EQ(text_of([&] { optim::clip_grad_value_({a}, -1); }),
            "[clip_grad_value_] the largest value cannot be negative, got -1");
}

TEST(Streams, TakeShapesAndDevices) {
  std::ostringstream out;
  out << ones({2, 3}).shape() << " " << Device("cpu") << " " << Dims{} << " " << DType::bf16;
  EXPECT_EQ(out.str(), "(2, 3) cpu () bf16");
}

}  // namespace
}  // namespace tenon
