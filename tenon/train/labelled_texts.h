// Texts with labels as data to train a classifier on: read, split into those to train on and those that are held back,
// cut into tokens once, and put side by side as batches of few lengths.
//
// A step is recorded for each length that a batch has, so batches are filled up to 16, 32, 64 ... tokens and never
// beyond the longest text that is read whole.

#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/data/dataset.h"
#include "tenon/text/wordpiece.h"
#include "tenon/train/config.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::train {

/// The label of a place that is filled up, which no loss looks at.
inline constexpr int64_t kNoText = -100;

class EncodedTexts : public data::Dataset {
 public:
  struct Text {
    std::string shown;  // as samples show it
    std::vector<int32_t> ids, types;
    int64_t label;
  };
  EncodedTexts(std::vector<Text> texts, int64_t longest, int32_t padding)
      : texts_(std::move(texts)), longest_(longest), padding_(padding) {}

  int64_t size() const override { return std::ssize(texts_); }
  /// Of "ids", "mask", "types", each (tokens), and "label".
  data::Sample get(int64_t i) const override;
  /// Each (texts, tokens), and the labels.
  std::optional<data::Sample> stacked(std::span<const int64_t> indices, Device device) const override;
  /// The same of so many rows, of which those after the texts have no label.
  data::Sample batch(std::span<const int64_t> indices, int64_t rows, Device device) const;
  const Text& operator[](int64_t i) const { return texts_[static_cast<size_t>(i)]; }

 private:
  std::vector<Text> texts_;
  int64_t longest_;
  int32_t padding_;
};

struct LabelledTexts {
  std::shared_ptr<const text::WordPiece> tokenizer;
  std::vector<std::string> labels;  // of the classes
  std::shared_ptr<const EncodedTexts> train, validation;
  std::string fingerprint;  // of all tokens and labels
};

/// Reads the files of a config. The tokenizer is learned, read from a file or, where a run goes on, taken from its
/// folder, in which it is kept. `known` are the labels of the model that is tuned: their order stays where the texts
/// have the same. Fails with one line where the data do not fit the config.
LabelledTexts read_labelled_texts(const Config& config, const std::filesystem::path& run_folder, bool goes_on,
                                  const io::OpenFolder* initial, const std::vector<std::string>& known);

}  // namespace tenon::train
