#include "tenon/train/text_task.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tenon/io/hugging_face.h"
#include "tenon/io/input.h"
#include "tenon/models/bert_texts.h"
#include "tenon/models/weights.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/model.h"
#include "tenon/train/step.h"
#include "tenon/watch/report.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;

// Of one micro-batch.
int64_t rows_of(const Config& config) { return config.training.batch_size / config.training.micro_batches; }

data::DataLoaderOptions loader_options(const Config& config) {
  return {.batch_size = config.training.batch_size,
          .shuffle = true,
          .seed = static_cast<uint64_t>(config.data.seed),
          .workers = config.data.prefetch ? 1 : 0,
          .last = data::LastBatch::kDrop,
          .device = Device(config.device.name)};
}

// Those of the classifier that is tuned; none where the model has no classifier, or none is tuned.
std::vector<std::string> known_labels(const io::OpenFolder* initial) {
  if (!initial) return {};
  const auto sizes = models::BertConfig::from_json(std::string(io::as_text(initial->open("config.json")->bytes())));
  return sizes.head == models::BertHead::classifier ? sizes.labels : std::vector<std::string>();
}

models::BertTokens tokens_of(std::span<const Tensor> batch) { return {batch[0], batch[1], batch[2]}; }

// The mean over the classes that a text has or is taken for.
double macro_f1(const std::vector<int64_t>& labels, const std::vector<int64_t>& classes, size_t count) {
  std::vector<int64_t> right(count), has(count), said(count);
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<size_t>(labels[i]), guess = static_cast<size_t>(classes[i]);
    ++has[label];
    ++said[guess];
    right[label] += label == guess ? 1 : 0;
  }
  double sum = 0;
  int64_t seen = 0;
  for (size_t i = 0; i < count; ++i) {
    if (has[i] + said[i] == 0) continue;
    sum += 2.0 * static_cast<double>(right[i]) / static_cast<double>(has[i] + said[i]);
    ++seen;
  }
  return sum / static_cast<double>(std::max<int64_t>(1, seen));
}

// A text as one line of a sample.
std::string shortened(const std::string& text) {
  constexpr size_t kMost = 100;
  std::string line = text.substr(0, text.size() > kMost ? kMost : text.size());
  while (line.size() < text.size() && !line.empty() && (static_cast<unsigned char>(text[line.size()]) & 0xC0) == 0x80)
    line.pop_back();  // not inside of a character
  const bool is_cut = line.size() < text.size();
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return io::harmless(line) + (is_cut ? " ..." : "");
}

}  // namespace

TextTask::TextTask(const Config& config, const fs::path& run_folder, bool goes_on,
                   std::shared_ptr<const io::OpenFolder> initial)
    : config_(config),
      initial_(std::move(initial)),
      texts_(read_labelled_texts(config, run_folder, goes_on, initial_.get(), known_labels(initial_.get()))),
      loader_(texts_.train, loader_options(config)),
      look_([this](std::span<const Tensor> given) {
        const NoGrad reading;
        const ProductPrecision products(config_);
        const Tensor logits = bert_->logits(tokens_of(given)).to(DType::f32);
        return std::vector<Tensor>{
            nn::cross_entropy(logits, given[3], {.ignore_index = kNoText, .reduction = nn::Reduction::sum}),
            logits.argmax(1), softmax(logits, 1).amax({1})};
      }) {
  model_vocabulary(config_, texts_.tokenizer->vocabulary());  // which the model must know
}

TaskFacts TextTask::facts() const {
  return {
      .data = fmt::format("{}: {} texts with {} labels to train on, {} to validate on, {} tokenizer of {}; an epoch "
                          "is {} steps",
                          config_.data_name(), watch::with_separators(texts_.train->size()), texts_.labels.size(),
                          watch::with_separators(texts_.validation->size()), texts_.tokenizer->kind(),
                          texts_.tokenizer->vocabulary(), loader_.size()),
      .fingerprint = texts_.fingerprint,
      .unit = "texts",
      .items = texts_.train->size()};
}

models::BertConfig TextTask::sizes() const {
  const ModelConfig& m = config_.model;
  models::BertConfig sizes;
  sizes.vocabulary = model_vocabulary(config_, texts_.tokenizer->vocabulary());
  sizes.positions = m.context;
  sizes.width = m.width;
  sizes.layers = m.layers;
  sizes.heads = m.heads;
  sizes.inner = m.hidden_width();
  sizes.padding_token = models::padding_token(*texts_.tokenizer);
  sizes.head = models::BertHead::classifier;
  sizes.labels = texts_.labels;
  return sizes.set_dropout(m.dropout);
}

models::Bert& TextTask::bert() {
  if (bert_) return *bert_;
  const Options options(DType::f32, Device(config_.device.name));
  if (initial_) {
    bert_ = models::Bert::load(*initial_, {.head = models::BertHead::classifier,
                                           .labels = texts_.labels,
                                           .dropout = config_.model.dropout,
                                           .options = options});
    io::require_unchanged_model(*initial_);
    initial_.reset();
  } else {
    bert_ = std::make_unique<models::Bert>(sizes(), options);
  }
  return *bert_;
}

std::vector<Tensor> TextTask::next_batch() {
  const auto [ids, mask, types, labels] = loader_.next().unpack<4>();
  return {ids, mask, types, labels};
}

std::string TextTask::position() const { return data::to_json(loader_.state()); }

void TextTask::go_to(const std::string& position) { loader_.restore(data::data_loader_state_from_json(position)); }

Tensor TextTask::loss(std::span<const Tensor> batch) {
  return nn::cross_entropy(bert_->logits(tokens_of(batch)), batch[3],
                           {.label_smoothing = config_.training.label_smoothing});
}

TextTask::Guesses TextTask::guess(int64_t most_batches) {
  const int64_t rows = rows_of(config_), all = texts_.validation->size();
  const int64_t used = most_batches > 0 ? std::min(all, most_batches * rows) : all;
  Guesses guesses;
  std::vector<int64_t> places;
  for (int64_t first = 0; first < used; first += rows) {
    places.resize(static_cast<size_t>(std::min(rows, used - first)));
    std::iota(places.begin(), places.end(), first);
    const auto [ids, mask, types, labels] =
        texts_.validation->batch(places, rows, Device(config_.device.name)).unpack<4>();
    const std::vector<Tensor> seen = look_.call(std::vector<Tensor>{ids, mask, types, labels});
    guesses.loss += seen[0].item<double>();
    const std::vector<int64_t> classes = seen[1].to_vector<int64_t>();
    const std::vector<float> certainty = seen[2].to_vector<float>();
    for (size_t i = 0; i < places.size(); ++i) {
      guesses.labels.push_back((*texts_.validation)[places[i]].label);
      guesses.classes.push_back(classes[i]);
      guesses.certainty.push_back(certainty[i]);
    }
  }
  guesses.loss /= static_cast<double>(std::max<int64_t>(1, used));
  return guesses;
}

std::optional<Evaluated> TextTask::evaluate() {
  if (texts_.validation->size() == 0) return std::nullopt;
  const Guesses guesses = guess(config_.training.eval_batches);
  const std::vector<int64_t>&labels = guesses.labels, &classes = guesses.classes;
  const int64_t right =
      std::inner_product(labels.begin(), labels.end(), classes.begin(), int64_t{0}, std::plus<>(), std::equal_to<>());
  return Evaluated{guesses.loss,
                   std::ssize(labels),
                   {{"accuracy", static_cast<double>(right) / static_cast<double>(labels.size())},
                    {"macro_f1", macro_f1(labels, classes, texts_.labels.size())}}};
}

TaskSample TextTask::sample() {
  const Guesses guesses = guess(0);
  std::vector<size_t> wrong;
  for (size_t i = 0; i < guesses.labels.size(); ++i) {
    if (guesses.labels[i] != guesses.classes[i]) wrong.push_back(i);
  }
  std::ranges::stable_sort(wrong, std::greater<>(), [&](size_t i) { return guesses.certainty[i]; });
  TaskSample sample;
  sample.text = fmt::format("{} of {} texts are taken for something else", wrong.size(), guesses.labels.size());
  if (wrong.empty()) return sample;
  sample.text += ", those with the greatest certainty first:";
  wrong.resize(std::min(wrong.size(), static_cast<size_t>(config_.sample.count)));
  for (const size_t i : wrong) {
    const auto name_of = [&](int64_t label) { return io::harmless(texts_.labels[static_cast<size_t>(label)]); };
    sample.text +=
        fmt::format("\n{} taken for {} ({:.2f}): {}", name_of(guesses.labels[i]), name_of(guesses.classes[i]),
                    guesses.certainty[i], shortened((*texts_.validation)[static_cast<int64_t>(i)].shown));
  }
  return sample;
}

fs::path TextTask::save(const fs::path& run_folder) {
  const fs::path folder = run_folder / "model";
  bert().save(folder);
  texts_.tokenizer->save(folder);
  text::save_vocabulary_lines(texts_.tokenizer->model(), folder);
  return folder;
}

// One that is tuned has the sizes of model.init_from.
void TextTask::require_weights(const nn::StateDict& weights) const {
  if (config_.model.init_from.empty()) models::require_weights(sizes(), "the run", models::shapes_of(weights));
}

}  // namespace tenon::train
