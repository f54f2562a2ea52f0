// PictureModel: what networks that classify pictures share: how bytes of a picture become numbers, and files.
//
//   auto net = models::ResNet::load("runs/resnet50/model");
//   Tensor classes = (*net)(data::read_image("cat.jpg", data::ImageMode::kRgb).unsqueeze(0)).argmax(1);
//
// Parameters have torchvision's names. Its weights, as safetensors or as torch.save writes a state dict, are taken by
// load_weights(), and torchvision takes what io::save_torch() makes of state_dict().

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::models {

/// Mean and deviation of each channel, on the scale from 0 to 1. Empty: ImageNet's for three channels, else 0.5.
struct PictureStatistics {
  std::vector<double> mean = {}, deviation = {};  // of each channel
};

/// A network that classifies pictures: the base of ResNet and ViT.
///   std::unique_ptr<models::PictureModel> model = models::ResNet::load("runs/resnet50/model");
class PictureModel : public nn::Layer {
 public:
  /// Logits (batch, classes) of pictures (batch, channels, height, width): u8, which are brought to mean 0 and
  /// deviation 1, or floats, which are taken as they are.
  Tensor forward(const Tensor& pictures) const override;

  /// The text of config.json.
  virtual std::string config_json() const = 0;
  /// Writes config.json and model.safetensors into a folder.
  void save(const std::filesystem::path& folder) const;
  /// Takes torchvision's weights from a file: .safetensors, .pt or .pth. `strict` refuses names that are missing or
  /// unexpected; shapes must fit either way.
  nn::LoadReport load_weights(const std::filesystem::path& file, bool strict = true);

  /// What u8 pictures are brought to mean 0 and deviation 1 by.
  const PictureStatistics& statistics() const { return statistics_; }
  void set_statistics(const PictureStatistics& statistics);

 protected:
  PictureModel(std::string_view name, int64_t channels, const PictureStatistics& statistics, const Options& options);
  virtual Tensor logits(const Tensor& pictures) const = 0;

 private:
  std::string name_;
  int64_t channels_;
  PictureStatistics statistics_;
  Tensor mean_, deviation_;  // of bytes, (channels, 1, 1); no part of state dicts, which are torchvision's
};

/// The statistics that a model of so many channels has.
PictureStatistics completed(std::string_view name, const PictureStatistics& statistics, int64_t channels);

}  // namespace tenon::models
