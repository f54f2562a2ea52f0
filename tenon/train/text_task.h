// Telling texts apart as a task: a BERT with a classifier, from nothing or tuned, on a file of texts and labels.

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/data/data_loader.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/bert.h"
#include "tenon/tensor/compile.h"
#include "tenon/train/config.h"
#include "tenon/train/labelled_texts.h"
#include "tenon/train/task.h"

namespace tenon::train {

class TextTask : public Task {
 public:
  /// Reads the texts; the tokenizer is kept in the folder of the run. The folder of model.init_from is open already;
  /// see take_initial_model. The config must outlive the task.
  TextTask(const Config& config, const std::filesystem::path& run_folder, bool goes_on,
           std::shared_ptr<const io::OpenFolder> initial = nullptr);

  TaskFacts facts() const override;
  /// Made at the first call.
  nn::Module& model() override { return bert(); }
  std::vector<Tensor> next_batch() override;
  std::string position() const override;
  void go_to(const std::string& position) override;
  Tensor loss(std::span<const Tensor> batch) override;
  /// Loss, accuracy and the mean F1 of the classes, on the texts that are held back.
  std::optional<Evaluated> evaluate() override;
  /// Texts whose class the model is most sure of, and that are of another.
  TaskSample sample() override;
  std::filesystem::path save(const std::filesystem::path& run_folder) override;
  void require_weights(const nn::StateDict& weights) const override;

 private:
  /// What the model says of each text that is held back, in their order.
  struct Guesses {
    double loss = 0;  // mean
    std::vector<int64_t> labels, classes;
    std::vector<float> certainty;
  };
  models::Bert& bert();
  models::BertConfig sizes() const;
  Guesses guess(int64_t most_batches);

  const Config& config_;
  std::shared_ptr<const io::OpenFolder> initial_;  // until the model is made
  LabelledTexts texts_;
  data::DataLoader loader_;
  std::unique_ptr<models::Bert> bert_;
  CompiledFunction look_;  // a batch to the sum of losses, classes and certainty
};

}  // namespace tenon::train
