// Language models as a task: tokens in, the next one told, text as samples.

#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "tenon/data/loader.h"
#include "tenon/models/causal_lm.h"
#include "tenon/train/config.h"
#include "tenon/train/corpus.h"
#include "tenon/train/evaluation.h"
#include "tenon/train/language_loss.h"
#include "tenon/train/sampler.h"
#include "tenon/train/task.h"

namespace tenon::train {

class LanguageTask : public Task {
 public:
  /// Reads the corpus, which keeps its tokenizer in the folder of the run; see load_corpus. The config must outlive it.
  /// The folder of model.init_from may be open already; see take_initial_model.
  LanguageTask(const Config& config, const std::filesystem::path& run_folder, bool goes_on,
               std::shared_ptr<const io::OpenFolder> initial = nullptr);

  TaskFacts facts() const override;
  /// Made at the first call.
  nn::Module& model() override;
  std::vector<Tensor> next_batch() override;
  std::string position() const override;
  void go_to(const std::string& position) override;
  int64_t items_of(std::span<const Tensor> batch) const override { return batch[0].numel(); }
  Tensor loss(std::span<const Tensor> batch) override;
  std::optional<Evaluated> evaluate() override;
  TaskSample sample() override;
  std::filesystem::path save(const std::filesystem::path& run_folder) override;
  void require_weights(const nn::StateDict& weights) const override;

 private:
  models::CausalLm& language_model();

  const Config& config_;
  std::shared_ptr<const io::OpenFolder> initial_;  // until the model is made
  Corpus corpus_;
  int64_t vocabulary_;
  data::Loader loader_;
  data::Batch batch_;  // kept for its memory
  std::unique_ptr<models::CausalLm> model_;
  std::optional<LanguageLoss> loss_;
  std::optional<Evaluation> evaluation_;
  std::optional<Sampler> sampler_;
};

}  // namespace tenon::train
