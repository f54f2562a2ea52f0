// ViT: "An Image is Worth 16x16 Words", as torchvision has it, with its parameter names.
//
//   models::ViT net(models::ViTConfig::b_16());
//   net.load_weights("vit_b_16-c867db91.pth");           // torchvision's
//   Tensor logits = net(pictures);                       // (batch, 1000)

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tenon/models/picture_model.h"
#include "tenon/nn/convolution.h"
#include "tenon/nn/layers.h"

namespace tenon::models {

/// The sizes of a ViT.
///   models::ViT vit(
///       {.image_size = 8, .patch_size = 4, .layers = 1, .heads = 2, .width = 16, .inner = 32, .classes = 5});
///   vit(zeros({1, 3, 8, 8}, uint8)).shape();  // (1, 5)
struct ViTConfig {
  int64_t image_size = 224;                    // pictures are square
  int64_t patch_size = 16;                     // height and width of a patch
  int64_t layers = 12, heads = 12;             // of the encoder, and heads of their attention
  int64_t width = 768, inner = 3072;           // numbers of a patch between the layers, and inside of their MLPs
  int64_t image_channels = 3, classes = 1000;  // of pictures, and the classes to tell apart
  double dropout = 0, attention_dropout = 0;   // of what branches give, and of attention weights
  PictureStatistics statistics = {};           // of the pictures it was trained on

  /// 12 layers, 768 wide, patches of 16 x 16 pixels.
  static ViTConfig b_16() { return {}; }

  /// The text of config.json, and back. Fails with one line where it says something else.
  std::string to_json() const;
  static ViTConfig from_json(const std::string& text);
};

/// The network.
class ViT : public PictureModel {
 public:
  explicit ViT(const ViTConfig& config, const Options& options = {});

  /// From a folder that save() wrote.
  static std::unique_ptr<ViT> load(const std::filesystem::path& folder, const Options& options = {});

  /// Its sizes.
  const ViTConfig& config() const { return config_; }
  std::string config_json() const override;

 protected:
  Tensor logits(const Tensor& pictures) const override;

 private:
  ViTConfig config_;
  Tensor class_token_;
  nn::Conv2d conv_proj_;
  std::unique_ptr<nn::Layer> encoder_, heads_;
};

}  // namespace tenon::models
