// TextClassifier: a BERT that tells texts apart, and its tokenizer, as `tenon train` and transformers leave them.
//
//   auto classifier = models::TextClassifier::load("runs/reviews");
//   for (const models::TextClass& one : classifier.classify({"Very good.", "Very bad."}))
//     std::cout << one.label << " " << one.probability << "\n";

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/models/bert_texts.h"

namespace tenon::models {

/// What a text is most likely of.
struct TextClass {
  std::string label;                  // of the class
  double probability = 0;             // of that label
  std::vector<double> probabilities;  // of all labels, in the order of labels()
};

/// A BERT that tells texts apart, with its tokenizer.
///   auto classifier = models::TextClassifier::load("runs/reviews");
///   const std::string label = classifier.classify({"Very good."})[0].label;
class TextClassifier {
 public:
  /// The model is put into eval mode.
  TextClassifier(std::unique_ptr<Bert> model, std::shared_ptr<const text::WordPiece> tokenizer);
  /// From a folder of transformers, or of a run of `tenon train` that has finished. Fails with one line where the model
  /// there is no classifier.
  static TextClassifier load(const std::filesystem::path& folder, Device device = {});

  /// One of each text, or of each pair where there are `seconds`; those that are too long are judged by their
  /// beginning.
  std::vector<TextClass> classify(const std::vector<std::string>& texts, int64_t batch = 32,
                                  const std::vector<std::string>& seconds = {}) const;
  /// The labels of all classes; the model.
  const std::vector<std::string>& labels() const { return model_->config().labels; }
  const Bert& model() const { return *model_; }

 private:
  std::unique_ptr<Bert> model_;
  std::shared_ptr<const text::WordPiece> tokenizer_;
};

}  // namespace tenon::models
