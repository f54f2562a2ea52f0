#include "tenon/train/language_task.h"

#include "tenon/tensor/creation.h"
#include "tenon/train/model.h"

namespace tenon::train {
namespace {

data::LoaderOptions loader_options(const Config& config) {
  const TrainingConfig& t = config.training;
  return {.batch = t.batch_size / t.micro_batches,
          .length = config.sequence_length(),
          .micro_batches = t.micro_batches,
          .order = data::order_named(config.data.order),
          .seed = static_cast<uint64_t>(config.data.seed),
          .prefetch = config.data.prefetch};
}

}  // namespace

LanguageTask::LanguageTask(const Config& config, const std::filesystem::path& run_folder, bool goes_on,
                           std::shared_ptr<const io::OpenFolder> initial)
    : config_(config),
      initial_(std::move(initial)),
      corpus_(load_corpus(config, run_folder, goes_on, initial_.get())),
      vocabulary_(model_vocabulary(config, corpus_.tokenizer->vocabulary())),
      loader_(corpus_.train, loader_options(config)) {}

TaskFacts LanguageTask::facts() const {
  return {
      .data = corpus_.description, .fingerprint = corpus_.fingerprint, .unit = "tokens", .items = corpus_.train.size()};
}

nn::Module& LanguageTask::model() { return language_model(); }

models::CausalLm& LanguageTask::language_model() {
  if (model_) return *model_;
  model_ = make_model(config_, vocabulary_, text_tokens(*corpus_.tokenizer), initial_.get());
  initial_.reset();
  loss_.emplace(config_, *model_);
  evaluation_.emplace(config_, *model_);
  if (config_.sample.every > 0) sampler_.emplace(config_, *model_, *corpus_.tokenizer);
  return *model_;
}

std::vector<Tensor> LanguageTask::next_batch() {
  loader_.next(batch_);
  const Dims shape{batch_.rows(), batch_.length};
  const Options options(DType::i32, Device(config_.device.name));
  return {from_vector(batch_.inputs, shape, options), from_vector(batch_.targets, shape, options)};
}

std::string LanguageTask::position() const { return data::to_json(loader_.state()); }

void LanguageTask::go_to(const std::string& position) { loader_.restore(data::loader_state_from_json(position)); }

Tensor LanguageTask::loss(std::span<const Tensor> batch) { return (*loss_)(batch[0], batch[1]); }

std::optional<Evaluated> LanguageTask::evaluate() {
  const TrainingConfig& t = config_.training;
  return evaluation_->run(corpus_.validation, t.batch_size / t.micro_batches, config_.sequence_length(),
                          t.eval_batches);
}

TaskSample LanguageTask::sample() { return {sampler_->write()}; }

std::filesystem::path LanguageTask::save(const std::filesystem::path& run_folder) {
  return export_model(language_model(), *corpus_.tokenizer, config_, run_folder);
}

// One that is tuned has the sizes of model.init_from.
void LanguageTask::require_weights(const nn::StateDict& weights) const {
  if (config_.model.init_from.empty())
    train::require_weights(config_, vocabulary_, "the run", models::shapes_of(weights));
}

}  // namespace tenon::train
