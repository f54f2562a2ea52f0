// Telling images apart as a task: MNIST, Fashion-MNIST and CIFAR-10 for a small convolutional network.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tenon/data/data_loader.h"
#include "tenon/models/cnn.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"
#include "tenon/train/task.h"

namespace tenon::train {

class ImageTask : public Task {
 public:
  /// Reads the images; fails with one line that says what to install, or where to put files. The config must outlive
  /// it.
  explicit ImageTask(const Config& config);

  TaskFacts facts() const override;
  nn::Module& model() override { return net_; }
  std::vector<Tensor> next_batch() override;
  std::string position() const override;
  void go_to(const std::string& position) override;
  Tensor loss(std::span<const Tensor> batch) override;
  /// Loss and accuracy on the images that the dataset has for tests.
  std::optional<Evaluated> evaluate() override;
  /// Images that the network is most sure to know and does not.
  TaskSample sample() override;
  std::filesystem::path save(const std::filesystem::path& run_folder) override;

 private:
  struct Parts {
    data::TensorDataset train, test;
  };
  static Parts read(const Config& config);
  ImageTask(const Config& config, Parts parts);

  /// What the network says of each image that is held back.
  struct Guesses {
    double loss = 0;  // mean
    std::vector<int64_t> labels, classes;
    std::vector<float> certainty;
  };
  Guesses guess(int64_t most_batches);

  const Config& config_;
  const Parts parts_;
  const Tensor test_images_, test_labels_;  // on the device
  models::Cnn net_;
  data::DataLoader loader_;
  CompiledFunction look_;  // images and labels to the sum of losses, classes and certainty
};

}  // namespace tenon::train
