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
      std::printf("autocast %d dropout %.1f: layer %zu rest %zu\n", autocast, dropout, two - one, one - (two - one));
    }
  }
}

}  // namespace
}  // namespace tenon::models
