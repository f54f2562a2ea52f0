// A training step of Gpt2: how many kernels it takes, and that replays are the steps they were recorded from.

#include <gtest/gtest.h>

#include <vector>

#include "tenon/tenon.h"

namespace tenon::models {
namespace {

Gpt2Config small(int64_t layers, double dropout) {
  Gpt2Config config;
  config.vocabulary = 250;
  config.padded_vocabulary = 256;
  config.positions = 64;
  config.width = 96;
  config.layers = layers;
  config.heads = 12;
  config.set_dropout(dropout);
  config.attention_dropout = 0;
  return config;
}

struct Setting {
  double dropout = 0;
  bool autocast = false;
  bool clips = false;
  int64_t chunk = 0;
};

struct Training {
  Training(const Gpt2Config& config, const Setting& given, Device device)
      : setting(given), model(config, device), optimizer(model.parameters(), {.lr = 1e-3}) {
    if (setting.autocast) optimizer.keep_shadow();
  }
  Tensor step(const Tensor& x, const Tensor& y) {
    const Autocast lower(DType::bf16, setting.autocast);
    Tensor loss = model.loss(x, y, {.chunk = setting.chunk});
    loss.backward();
    if (setting.clips) optimizer.clip_grad_norm(1.0);
    optimizer.step();
    optimizer.zero_grad();
    return loss.detach();
  }
  Setting setting;
  Gpt2 model;
  optim::AdamW optimizer;
};

Tensor ids(Device device, int64_t seed) {
  std::vector<int64_t> values(2 * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<int64_t>(i) * 37 + seed * 11) % 250;
  return from_vector(values, {2, 64}, device);
}

// Of a step that is replayed.
size_t launches(int64_t layers, const Setting& setting) {
  const Device device("cpu");
  Training training(small(layers, setting.dropout), setting, device);
  auto step = compile([&](const Tensor& x, const Tensor& y) { return training.step(x, y); });
  const Tensor x = ids(device, 1), y = ids(device, 2);
  for (int i = 0; i < 3; ++i) step(x, y);
  const size_t before = stats().launches;
  step(x, y);
  return stats().launches - before;
}

TEST(Gpt2Step, TakesTheKernelsOfTheWorkedExample) {
  for (const bool autocast : {false, true}) {
    for (const double dropout : {0.0, 0.1}) {
      const Setting setting{.dropout = dropout, .autocast = autocast};
      const size_t one = launches(1, setting), two = launches(2, setting);
      EXPECT_LE(two - one, autocast ? 24u : 22u) << autocast << dropout;
      EXPECT_LE(one - (two - one), 18u) << autocast << dropout;
    }
  }
}

TEST(Gpt2Step, ClippingAddsTwoKernels) { EXPECT_LE(launches(2, {.clips = true}), launches(2, {}) + 2); }

// Losses of five steps and the weights behind them.
std::vector<std::vector<float>> trained(bool captured, const Setting& setting) {
  manual_seed(11);
  Gpt2Config config = small(2, setting.dropout);
  config.attention_dropout = setting.dropout;
  Training training(config, setting, Device());
  const auto plain = [&](const Tensor& x, const Tensor& y) { return training.step(x, y); };
  auto replayed = compile(plain);
  std::vector<std::vector<float>> values(1);
  for (int i = 0; i < 5; ++i) {
    const Tensor x = ids(Device(), i), y = ids(Device(), i + 1);
    values[0].push_back((captured ? replayed(x, y) : plain(x, y)).item<float>());
  }
  for (const Tensor& p : training.model.parameters()) values.push_back(p.to_vector<float>());
  return values;
}

TEST(Gpt2Step, ReplaysTheBitsOfTheStep) {
  for (const bool autocast : {false, true}) {
    for (const int64_t chunk : {0, 50}) {
      const Setting setting{.dropout = 0.2, .autocast = autocast, .clips = true, .chunk = chunk};
      EXPECT_EQ(trained(true, setting), trained(false, setting)) << autocast << chunk;
    }
  }
}

TEST(Gpt2Step, LearnsUnderAutocast) {
  const auto losses = trained(true, {.autocast = true})[0];
  EXPECT_LT(losses.back(), losses.front());
}

}  // namespace
}  // namespace tenon::models
