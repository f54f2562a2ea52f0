#include "tenon/models/resnet.h"

#include <nlohmann/json.hpp>

#include "tenon/base/error.h"
#include "tenon/io/hugging_face.h"
#include "tenon/models/json_config.h"
#include "tenon/nn/init.h"
#include "tenon/nn/pooling.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;
using base::fail;

constexpr int64_t kWidening = 4;  // of a bottleneck

// As He et al. (2015) have it for rectifiers, by the channels of the result.
nn::Conv2d& he_drawn(nn::Conv2d& conv) {
  nn::init::kaiming_normal_(conv.weight, 0, nn::init::FanMode::out);
  return conv;
}

nn::Conv2dOptions by(int64_t stride, int64_t padding, const Options& options) {
  return {.stride = stride, .padding = padding, .bias = false, .options = options};
}

void add_shortcut(nn::Sequential& downsample, int64_t in, int64_t out, int64_t stride, const Options& options) {
  he_drawn(downsample.emplace<nn::Conv2d>(in, out, 1, by(stride, 0, options)));
  downsample.emplace<nn::BatchNorm2d>(out, nn::BatchNormOptions{.options = options});
}

class BasicBlock : public nn::Layer {
 public:
  BasicBlock(int64_t in, int64_t width, int64_t stride, const Options& options)
      : conv1(in, width, 3, by(stride, 1, options)),
        bn1(width, {.options = options}),
        conv2(width, width, 3, by(1, 1, options)),
        bn2(width, {.options = options}) {
    register_module("conv1", he_drawn(conv1));
    register_module("bn1", bn1);
    register_module("conv2", he_drawn(conv2));
    register_module("bn2", bn2);
    if (stride == 1 && in == width) return;
    add_shortcut(downsample, in, width, stride, options);
    register_module("downsample", downsample);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor straight = downsample.size() > 0 ? downsample(x) : x;
    return relu(bn2(conv2(relu(bn1(conv1(x))))) + straight);
  }
  std::string type_name() const override { return "BasicBlock"; }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample;
};

class Bottleneck : public nn::Layer {
 public:
  Bottleneck(int64_t in, int64_t width, int64_t stride, const Options& options)
      : conv1(in, width, 1, by(1, 0, options)),
        bn1(width, {.options = options}),
        conv2(width, width, 3, by(stride, 1, options)),
        bn2(width, {.options = options}),
        conv3(width, kWidening * width, 1, by(1, 0, options)),
        bn3(kWidening * width, {.options = options}) {
    register_module("conv1", he_drawn(conv1));
    register_module("bn1", bn1);
    register_module("conv2", he_drawn(conv2));
    register_module("bn2", bn2);
    register_module("conv3", he_drawn(conv3));
    register_module("bn3", bn3);
    if (stride == 1 && in == kWidening * width) return;
    add_shortcut(downsample, in, kWidening * width, stride, options);
    register_module("downsample", downsample);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor straight = downsample.size() > 0 ? downsample(x) : x;
    return relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + straight);
  }
  std::string type_name() const override { return "Bottleneck"; }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3;
  nn::BatchNorm2d bn3;
  nn::Sequential downsample;
};

const ResNetConfig& checked_resnet(const ResNetConfig& c) {
  require_sizes("resnet", {{"width", c.width}, {"image_channels", c.image_channels}, {"classes", c.classes}});
  constexpr int64_t kMostStages = 16;  // which double the channels each
  if (c.blocks.empty() || std::ssize(c.blocks) > kMostStages)
    fail("resnet", "there can be 1 to {} stages, got {}", kMostStages, c.blocks.size());
  for (const int64_t blocks : c.blocks) {
    require_layers("resnet", blocks);
    if (blocks < 1) fail("resnet", "a stage has at least 1 block, got {}", blocks);
  }
  for (const int64_t size : {c.width, c.image_channels, c.classes}) {
    if (size < 1) fail("resnet", "every size is at least 1, got {}", size);
  }
  return c;
}

int64_t features_of(const ResNetConfig& c) {
  return (c.width << (c.blocks.size() - 1)) * (c.bottleneck ? kWidening : 1);
}

}  // namespace

ResNetConfig ResNetConfig::resnet(int64_t layers) {
  ResNetConfig config;
  config.bottleneck = layers >= 50;
  switch (layers) {
    case 18: config.blocks = {2, 2, 2, 2}; break;
    case 34:
    case 50: break;
    case 101: config.blocks = {3, 4, 23, 3}; break;
    case 152: config.blocks = {3, 8, 36, 3}; break;
    default: fail("resnet", "there is no ResNet-{}; there are 18, 34, 50, 101 and 152", layers);
  }
  return config;
}

std::string ResNetConfig::to_json() const {
  const PictureStatistics all = completed("resnet", statistics, image_channels);
  const nlohmann::ordered_json json = {
      {"model_type", "resnet"},           {"blocks", blocks},   {"bottleneck", bottleneck},         {"width", width},
      {"image_channels", image_channels}, {"classes", classes}, {"small_pictures", small_pictures}, {"mean", all.mean},
      {"deviation", all.deviation}};
  return json.dump(2) + "\n";
}

ResNetConfig ResNetConfig::from_json(const std::string& text) {
  const JsonConfig json(text, "resnet");
  ResNetConfig c;
  json.read("blocks", c.blocks);
  json.read("bottleneck", c.bottleneck);
  json.read("width", c.width);
  json.read("image_channels", c.image_channels);
  json.read("classes", c.classes);
  json.read("small_pictures", c.small_pictures);
  json.read("mean", c.statistics.mean);
  json.read("deviation", c.statistics.deviation);
  return checked_resnet(c);
}

ResNet::ResNet(const ResNetConfig& config, const Options& options)
    : PictureModel("resnet", checked_resnet(config).image_channels, config.statistics, options),
      config_(config),
      conv1_(config.image_channels, config.width, config.small_pictures ? 3 : 7,
             by(config.small_pictures ? 1 : 2, config.small_pictures ? 1 : 3, options)),
      bn1_(config.width, {.options = options}),
      fc_(features_of(config), config.classes, true, options) {
  register_module("conv1", he_drawn(conv1_));
  register_module("bn1", bn1_);
  int64_t in = config.width;
  for (size_t stage = 0; stage < config.blocks.size(); ++stage) {
    stages_.push_back(std::make_unique<nn::Sequential>());
    const int64_t width = config.width << stage;
    for (int64_t i = 0; i < config.blocks[stage]; ++i) {
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      if (config.bottleneck)
        stages_.back()->emplace<Bottleneck>(in, width, stride, options);
      else
        stages_.back()->emplace<BasicBlock>(in, width, stride, options);
      in = config.bottleneck ? kWidening * width : width;
    }
    register_module("layer" + std::to_string(stage + 1), *stages_.back());
  }
  register_module("fc", fc_);
}

Tensor ResNet::logits(const Tensor& pictures) const {
  Tensor x = relu(bn1_(conv1_(pictures)));
  if (!config_.small_pictures) x = nn::max_pool2d(x, 3, {.stride = 2, .padding = 1});
  for (const auto& stage : stages_) x = (*stage)(x);
  return fc_(nn::adaptive_avg_pool2d(x, 1).flatten(1));
}

std::string ResNet::config_json() const {
  ResNetConfig config = config_;
  config.statistics = statistics();
  return config.to_json();
}

std::unique_ptr<ResNet> ResNet::load(const fs::path& folder, const Options& options) {
  const io::HuggingFaceFolder saved = io::load_folder(folder, options.device);
  const base::Scope scope(folder.string());
  auto net = std::make_unique<ResNet>(ResNetConfig::from_json(saved.config), options);
  net->load_state_dict(saved.tensors);
  net->eval();
  return net;
}

}  // namespace tenon::models
