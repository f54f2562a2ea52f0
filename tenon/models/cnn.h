// Cnn: a small convolutional network that tells images apart.
//
//   models::Cnn net({.stages = 2, .channels = 32, .hidden = 128});
//   Tensor logits = net(images);                        // u8 (batch, 1, 28, 28), as datasets have them
//   auto again = models::Cnn::load("runs/mnist_cnn/model");
//
// A stage is some convolutions of 3 by 3, each with its ReLU and, if wanted, a batch norm before it. Between stages the
// picture is halved and the channels are doubled.

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tenon/nn/containers.h"
#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::models {

/// The sizes of a Cnn.
///   models::Cnn cnn({.stages = 2, .channels = 8});
///   cnn(zeros({1, 1, 28, 28}, uint8)).shape();  // (1, 10)
struct CnnConfig {
  int64_t image_channels = 1, height = 28, width = 28;  // of pictures
  int64_t classes = 10;                                 // to tell apart
  int64_t stages = 2;                                   // each halves the picture and doubles the channels
  int64_t channels = 32;                                // of the first stage
  int64_t convolutions = 1;                             // of each stage
  bool batch_norm = false;                              // whether a batch norm follows every convolution
  int64_t hidden = 0;  // the layer before the last; 0: none, and the means of the channels go to the last
  double dropout = 0;  // before the last layer

  /// The text of config.json, and back. Fails with one line where it says something else.
  std::string to_json() const;
  static CnnConfig from_json(const std::string& text);
};

/// The network.
class Cnn : public nn::Layer {
 public:
  /// Fails with one line where stages would leave nothing of the picture.
  explicit Cnn(const CnnConfig& config, const Options& options = {});

  /// Logits (batch, classes) of images (batch, channels, height, width): u8, or floats from 0 to 255.
  Tensor forward(const Tensor& images) const override;
  /// Its sizes.
  const CnnConfig& config() const { return config_; }

  /// Writes config.json and model.safetensors into a folder.
  void save(const std::filesystem::path& folder) const;
  /// Reads what save() wrote.
  static std::unique_ptr<Cnn> load(const std::filesystem::path& folder, const Options& options = {});

  /// What images are brought to mean 0 and deviation 1 by, (channels, 1, 1) each: buffers, so that files have them.
  Tensor mean, deviation;

 private:
  CnnConfig config_;
  nn::Sequential layers_;
};

}  // namespace tenon::models
