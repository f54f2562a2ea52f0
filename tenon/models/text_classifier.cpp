#include "tenon/models/text_classifier.h"

#include <algorithm>

#include "tenon/io/hugging_face.h"
#include "tenon/io/open_folder.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"

namespace tenon::models {
namespace {

/// A run keeps its finished model in a folder of that name.
std::filesystem::path model_folder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  if (fs::exists(folder / "model" / "config.json")) return folder / "model";
  if (fs::is_directory(folder / "checkpoints"))
    base::fail("bert", "{0}: is a run that has not finished; tenon train --resume {0}", folder.string());
  return folder;
}

}  // namespace

TextClassifier::TextClassifier(std::unique_ptr<Bert> model, std::shared_ptr<const text::WordPiece> tokenizer)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  if (model_->config().head != BertHead::classifier)
    base::fail("bert", "the model has no classifier; train one with tenon train bert_classifier");
  if (tokenizer_->vocabulary() > model_->config().vocabulary)
    base::fail("bert", "the tokenizer has {} tokens, the model knows {}; it belongs to another model",
               tokenizer_->vocabulary(), model_->config().vocabulary);
  model_->eval();
}

TextClassifier TextClassifier::load(const std::filesystem::path& folder, Device device) {
  const io::OpenFolder open("bert", model_folder(folder));
  std::unique_ptr<Bert> model = Bert::load(open, {.options = Options(DType::f32, device)});
  std::shared_ptr<const text::WordPiece> tokenizer = load_wordpiece(open);
  io::require_unchanged_model(open);
  const base::Scope scope(folder.string());
  return {std::move(model), std::move(tokenizer)};
}

std::vector<TextClass> TextClassifier::classify(const std::vector<std::string>& texts, int64_t batch,
                                                const std::vector<std::string>& seconds) const {
  if (!seconds.empty() && seconds.size() != texts.size())
    base::fail("bert", "{} texts and {} second ones do not make pairs", texts.size(), seconds.size());
  const NoGrad reading;
  const auto count = static_cast<size_t>(std::max<int64_t>(1, batch));
  std::vector<TextClass> made;
  for (size_t first = 0; first < texts.size(); first += count) {
    const size_t last = std::min(texts.size(), first + count);
    const auto part_of = [&](const std::vector<std::string>& all) {
      if (all.empty()) return all;
      return std::vector(all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(last));
    };
    const std::vector<std::string> part = part_of(texts);
    const BertTokens tokens =
        bert_tokens(*tokenizer_, part, model_->config().positions, part_of(seconds), model_->device());
    const std::vector<double> all = softmax(model_->logits(tokens).to(DType::f32), 1).to_vector<double>();
    for (size_t i = 0; i < part.size(); ++i) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(i * labels().size());
      TextClass one;
      one.probabilities.assign(begin, begin + std::ssize(labels()));
      const auto best = std::ranges::max_element(one.probabilities);
      one.label = labels()[static_cast<size_t>(best - one.probabilities.begin())];
      one.probability = *best;
      made.push_back(std::move(one));
    }
  }
  return made;
}

}  // namespace tenon::models
