// ResNet: "Deep Residual Learning for Image Recognition", as torchvision has it, with its parameter names.
//
//   models::ResNet net(models::ResNetConfig::resnet(50));
//   net.load_weights("resnet50-11ad3fa6.pth");           // torchvision's
//   Tensor logits = net(pictures);                       // (batch, 1000)
//
//   models::ResNetConfig small = models::ResNetConfig::resnet(18);
//   small.classes = 10;
//   small.small_pictures = true;                         // of 32 x 32 pixels, as CIFAR's
//   models::ResNet for_cifar(small);

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/models/picture_model.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/convolution.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/normalisation.h"

namespace tenon::models {

/// The sizes of a ResNet.
struct ResNetConfig {
  std::vector<int64_t> blocks = {3, 4, 6, 3};  // of each stage; stages halve the picture and double the channels
  bool bottleneck = true;                      // blocks of 1x1, 3x3, 1x1 with four times the channels, else of two 3x3
  int64_t width = 64;                          // channels of the first stage
  int64_t image_channels = 3, classes = 1000;  // of pictures, and the classes to tell apart
  bool small_pictures = false;                 // begins with a 3x3 convolution of stride 1 and no pooling
  PictureStatistics statistics = {};           // of the pictures it was trained on

  /// The published sizes: 18, 34, 50, 101 and 152 layers.
  static ResNetConfig resnet(int64_t layers);

  /// The text of config.json, and back. Fails with one line where it says something else.
  std::string to_json() const;
  static ResNetConfig from_json(const std::string& text);
};

/// The network.
class ResNet : public PictureModel {
 public:
  explicit ResNet(const ResNetConfig& config, const Options& options = {});

  /// From a folder that save() wrote.
  static std::unique_ptr<ResNet> load(const std::filesystem::path& folder, const Options& options = {});

  /// Its sizes.
  const ResNetConfig& config() const { return config_; }
  std::string config_json() const override;

 protected:
  Tensor logits(const Tensor& pictures) const override;

 private:
  ResNetConfig config_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  std::vector<std::unique_ptr<nn::Sequential>> stages_;
  nn::Linear fc_;
};

}  // namespace tenon::models
