#include "tenon/models/cnn.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/io/hugging_face.h"
#include "tenon/models/json_config.h"
#include "tenon/nn/activations.h"
#include "tenon/nn/convolution.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/normalisation.h"
#include "tenon/nn/pooling.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;
using base::fail;

void check(const CnnConfig& c) {
  require_sizes("cnn", {{"image_channels", c.image_channels},
                        {"height", c.height},
                        {"width", c.width},
                        {"classes", c.classes},
                        {"channels", c.channels},
                        {"hidden", c.hidden}});
  require_layers("cnn", c.stages);
  require_layers("cnn", c.convolutions);
  for (const int64_t size : {c.image_channels, c.height, c.width, c.classes, c.stages, c.channels, c.convolutions}) {
    if (size < 1) fail("cnn", "every size is at least 1, got {}", size);
  }
  constexpr int64_t kMostStages = 16;  // which double the channels each
  const int64_t halvings = c.stages - (c.hidden > 0 ? 0 : 1);
  if (c.stages > kMostStages || std::min(c.height, c.width) >> halvings < 1)
    fail("cnn", "{} stages leave nothing of images of {} x {}; take fewer", c.stages, c.height, c.width);
}

}  // namespace

std::string CnnConfig::to_json() const {
  const nlohmann::ordered_json json = {{"model_type", "cnn"},      {"image_channels", image_channels},
                                       {"height", height},         {"width", width},
                                       {"classes", classes},       {"stages", stages},
                                       {"channels", channels},     {"convolutions", convolutions},
                                       {"batch_norm", batch_norm}, {"hidden", hidden},
                                       {"dropout", dropout}};
  return json.dump(2) + "\n";
}

CnnConfig CnnConfig::from_json(const std::string& text) {
  const JsonConfig json(text, "cnn");
  CnnConfig c;
  json.read("image_channels", c.image_channels);
  json.read("height", c.height);
  json.read("width", c.width);
  json.read("classes", c.classes);
  json.read("stages", c.stages);
  json.read("channels", c.channels);
  json.read("convolutions", c.convolutions);
  json.read("batch_norm", c.batch_norm);
  json.read("hidden", c.hidden);
  json.read("dropout", c.dropout);
  check(c);
  return c;
}

Cnn::Cnn(const CnnConfig& config, const Options& options)
    : mean(zeros({config.image_channels, 1, 1}, options)),
      deviation(full({config.image_channels, 1, 1}, 255.0, options)),
      config_(config) {
  check(config);
  register_buffer("mean", mean);
  register_buffer("deviation", deviation);
  register_module("layers", layers_);
  int64_t in = config.image_channels, height = config.height, width = config.width;
  for (int64_t stage = 0; stage < config.stages; ++stage) {
    const int64_t out = config.channels << stage;
    for (int64_t i = 0; i < config.convolutions; ++i, in = out) {
      layers_.emplace<nn::Conv2d>(in, out, 3,
                                  nn::Conv2dOptions{.padding = 1, .bias = !config.batch_norm, .options = options});
      if (config.batch_norm) layers_.emplace<nn::BatchNorm2d>(out, nn::BatchNormOptions{.options = options});
      layers_.emplace<nn::ReLU>();
    }
    if (stage + 1 == config.stages && config.hidden == 0) break;
    layers_.emplace<nn::MaxPool2d>(2);
    height /= 2;
    width /= 2;
  }
  if (config.hidden == 0) layers_.emplace<nn::AdaptiveAvgPool2d>(1);
  layers_.emplace<nn::Flatten>();
  if (config.hidden > 0) {
    layers_.emplace<nn::Linear>(in * height * width, config.hidden, true, options);
    layers_.emplace<nn::ReLU>();
    in = config.hidden;
  }
  if (config.dropout > 0) layers_.emplace<nn::Dropout>(config.dropout);
  layers_.emplace<nn::Linear>(in, config.classes, true, options);
}

Tensor Cnn::forward(const Tensor& images) const { return layers_((images.to(mean.dtype()) - mean) / deviation); }

void Cnn::save(const fs::path& folder) const { io::save_folder(folder, config_.to_json(), state_dict(), {}); }

std::unique_ptr<Cnn> Cnn::load(const fs::path& folder, const Options& options) {
  const io::HuggingFaceFolder saved = io::load_folder(folder, options.device);
  const base::Scope scope(folder.string());
  auto net = std::make_unique<Cnn>(CnnConfig::from_json(saved.config), options);
  net->load_state_dict(saved.tensors);
  net->eval();
  return net;
}

}  // namespace tenon::models
