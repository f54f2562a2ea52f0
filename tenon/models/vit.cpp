#include "tenon/models/vit.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/io/hugging_face.h"
#include "tenon/models/json_config.h"
#include "tenon/nn/activations.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/init.h"
#include "tenon/nn/transformer.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;
using base::fail;

constexpr double kEps = 1e-6;  // of layer norms, torchvision's

const ViTConfig& checked_vit(const ViTConfig& c) {
  require_sizes("vit", {{"image_size", c.image_size},
                        {"patch_size", c.patch_size},
                        {"heads", c.heads},
                        {"width", c.width},
                        {"inner", c.inner},
                        {"image_channels", c.image_channels},
                        {"classes", c.classes}});
  require_layers("vit", c.layers);
  for (const int64_t size :
       {c.image_size, c.patch_size, c.layers, c.heads, c.width, c.inner, c.image_channels, c.classes}) {
    if (size < 1) fail("vit", "every size is at least 1, got {}", size);
  }
  if (c.image_size % c.patch_size != 0)
    fail("vit", "pictures of {0} x {0} cannot be cut into patches of {1} x {1}", c.image_size, c.patch_size);
  if (c.width % c.heads != 0) fail("vit", "a width of {} cannot be divided among {} heads", c.width, c.heads);
  return c;
}

int64_t patches_of(const ViTConfig& c) { return (c.image_size / c.patch_size) * (c.image_size / c.patch_size); }

nn::Linear& xavier_drawn(nn::Linear& linear) {
  nn::init::xavier_uniform_(linear.weight);
  nn::init::normal_(linear.bias, 0, 1e-6);
  return linear;
}

class Block : public nn::Layer {
 public:
  Block(const ViTConfig& c, const Options& options)
      : ln_1(c.width, kEps, true, true, options),
        self_attention(c.width, c.heads, c.attention_dropout, true, true, options),
        dropout(c.dropout),
        ln_2(c.width, kEps, true, true, options) {
    register_module("ln_1", ln_1);
    register_module("self_attention", self_attention);
    register_module("dropout", dropout);
    register_module("ln_2", ln_2);
    xavier_drawn(mlp.emplace<nn::Linear>(c.width, c.inner, true, options));
    mlp.emplace<nn::GELU>();
    mlp.emplace<nn::Dropout>(c.dropout);
    xavier_drawn(mlp.emplace<nn::Linear>(c.inner, c.width, true, options));
    mlp.emplace<nn::Dropout>(c.dropout);
    register_module("mlp", mlp);
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor normed = ln_1(x);
    const Tensor attended = x + dropout(self_attention(normed, normed, normed));
    return attended + mlp(ln_2(attended));
  }
  std::string type_name() const override { return "EncoderBlock"; }

  nn::LayerNorm ln_1;
  nn::MultiheadAttention self_attention;
  nn::Dropout dropout;
  nn::LayerNorm ln_2;
  nn::Sequential mlp;
};

// Blocks under the names that torchvision gives them.
class Blocks : public nn::Layer {
 public:
  Blocks(const ViTConfig& c, const Options& options) {
    for (int64_t i = 0; i < c.layers; ++i) {
      blocks_.push_back(std::make_unique<Block>(c, options));
      register_module("encoder_layer_" + std::to_string(i), *blocks_.back());
    }
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    for (const auto& block : blocks_) y = (*block)(y);
    return y;
  }
  std::string type_name() const override { return "Sequential"; }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
};

class Encoder : public nn::Layer {
 public:
  Encoder(const ViTConfig& c, const Options& options)
      : pos_embedding_(empty({1, patches_of(c) + 1, c.width}, options)),
        dropout_(c.dropout),
        layers_(c, options),
        ln_(c.width, kEps, true, true, options) {
    nn::init::normal_(pos_embedding_, 0, 0.02);
    register_parameter("pos_embedding", pos_embedding_);
    register_module("dropout", dropout_);
    register_module("layers", layers_);
    register_module("ln", ln_);
  }
  Tensor forward(const Tensor& x) const override { return ln_(layers_(dropout_(x + pos_embedding_))); }
  std::string type_name() const override { return "Encoder"; }

 private:
  Tensor pos_embedding_;
  nn::Dropout dropout_;
  Blocks layers_;
  nn::LayerNorm ln_;
};

class Heads : public nn::Layer {
 public:
  Heads(const ViTConfig& c, const Options& options) : head_(c.width, c.classes, true, options) {
    nn::init::constant_(head_.weight, 0);
    nn::init::constant_(head_.bias, 0);
    register_module("head", head_);
  }
  Tensor forward(const Tensor& x) const override { return head_(x); }
  std::string type_name() const override { return "Sequential"; }

 private:
  nn::Linear head_;
};

}  // namespace

std::string ViTConfig::to_json() const {
  const PictureStatistics all = completed("vit", statistics, image_channels);
  const nlohmann::ordered_json json = {{"model_type", "vit"},
                                       {"image_size", image_size},
                                       {"patch_size", patch_size},
                                       {"layers", layers},
                                       {"heads", heads},
                                       {"width", width},
                                       {"inner", inner},
                                       {"image_channels", image_channels},
                                       {"classes", classes},
                                       {"dropout", dropout},
                                       {"attention_dropout", attention_dropout},
                                       {"mean", all.mean},
                                       {"deviation", all.deviation}};
  return json.dump(2) + "\n";
}

ViTConfig ViTConfig::from_json(const std::string& text) {
  const JsonConfig json(text, "vit");
  ViTConfig c;
  json.read("image_size", c.image_size);
  json.read("patch_size", c.patch_size);
  json.read("layers", c.layers);
  json.read("heads", c.heads);
  json.read("width", c.width);
  json.read("inner", c.inner);
  json.read("image_channels", c.image_channels);
  json.read("classes", c.classes);
  json.read("dropout", c.dropout);
  json.read("attention_dropout", c.attention_dropout);
  json.read("mean", c.statistics.mean);
  json.read("deviation", c.statistics.deviation);
  return checked_vit(c);
}

ViT::ViT(const ViTConfig& config, const Options& options)
    : PictureModel("vit", checked_vit(config).image_channels, config.statistics, options),
      config_(config),
      class_token_(zeros({1, 1, config.width}, options)),
      conv_proj_(config.image_channels, config.width, config.patch_size,
                 {.stride = config.patch_size, .options = options}),
      encoder_(std::make_unique<Encoder>(config, options)),
      heads_(std::make_unique<Heads>(config, options)) {
  const auto fan = static_cast<double>(nn::init::fans_of(conv_proj_.weight).in);
  nn::init::trunc_normal_(conv_proj_.weight, 0, std::sqrt(1 / fan));
  nn::init::constant_(conv_proj_.bias, 0);
  register_parameter("class_token", class_token_);
  register_module("conv_proj", conv_proj_);
  register_module("encoder", *encoder_);
  register_module("heads", *heads_);
}

Tensor ViT::logits(const Tensor& pictures) const {
  const int64_t batch = pictures.size(0), size = config_.image_size;
  if (pictures.size(2) != size || pictures.size(3) != size)
    fail("vit", "takes pictures of {0} x {0}, got {1}", size, ir::to_string(pictures.shape()));
  const Tensor patches = conv_proj_(pictures).reshape({batch, config_.width, patches_of(config_)}).transpose(1, 2);
  const Tensor first = class_token_.expand({batch, 1, config_.width}).to(patches.dtype());
  return (*heads_)((*encoder_)(cat({first, patches}, 1)).select(1, 0));
}

std::string ViT::config_json() const {
  ViTConfig config = config_;
  config.statistics = statistics();
  return config.to_json();
}

std::unique_ptr<ViT> ViT::load(const fs::path& folder, const Options& options) {
  const io::HuggingFaceFolder saved = io::load_folder(folder, options.device);
  const base::Scope scope(folder.string());
  auto net = std::make_unique<ViT>(ViTConfig::from_json(saved.config), options);
  net->load_state_dict(saved.tensors);
  net->eval();
  return net;
}

}  // namespace tenon::models
