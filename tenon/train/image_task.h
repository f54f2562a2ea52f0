// Telling images apart as a task: MNIST, Fashion-MNIST, CIFAR-10 and folders of pictures, for a small convolutional
// network or a ResNet.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tenon/data/data_loader.h"
#include "tenon/models/picture_model.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"
#include "tenon/train/picture_folder.h"
#include "tenon/train/task.h"

namespace tenon::train {

class ImageTask : public Task {
 public:
  /// Reads the images; fails with one line that says what to install, or where to put files. The config must outlive
  /// it.
  explicit ImageTask(const Config& config);

  TaskFacts facts() const override;
  nn::Module& model() override { return *net_; }
  std::vector<Tensor> next_batch() override;
  std::string position() const override;
  void go_to(const std::string& position) override;
  Tensor loss(std::span<const Tensor> batch) override;
  /// Loss and accuracy on the images that the dataset has for tests.
  std::optional<Evaluated> evaluate() override;
  /// Images that the network is most sure to know and does not.
  TaskSample sample() override;
  std::vector<std::string> take_notes() override;
  std::filesystem::path save(const std::filesystem::path& run_folder) override;

 private:
  struct Parts {
    data::SharedDataset train, test;  // "image" and "label"
    std::vector<std::string> classes;
    int64_t channels, height, width;
    std::string fingerprint;
    std::optional<data::Sample> test_tensors;     // all tests, on the device; of a folder they are read again and again
    models::PictureStatistics statistics;         // of the training images, on the scale from 0 to 1
    std::shared_ptr<LeftOut> left_out = nullptr;  // of a folder
  };
  static Parts read(const Config& config);
  static std::unique_ptr<nn::Layer> made_net(const Config& config, const Parts& parts);
  ImageTask(const Config& config, Parts parts);

  /// What the network says of each image that is held back.
  struct Guesses {
    double loss = 0;              // mean
    std::vector<int64_t> places;  // in the dataset; those that cannot be read are not among them
    std::vector<int64_t> labels, classes;
    std::vector<float> certainty;
  };
  /// The tests that begin at a place: images and labels, on the device.
  std::vector<Tensor> tests_from(int64_t first, int64_t count);
  Guesses guess(int64_t most_batches);

  const Config& config_;
  const Parts parts_;
  std::unique_ptr<nn::Layer> net_;
  data::DataLoader loader_;
  std::optional<data::DataLoader> test_loader_;  // of a folder
  CompiledFunction look_;                        // images and labels to the sum of losses, classes and certainty
};

}  // namespace tenon::train
