// What the tests of training share: runs of a tiny model that take a tenth of a second, and all that such a run leaves
// behind in a form that can be compared.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tenon/train/trainer.h"
#include "tests/error_text.h"
#include "tests/io/support.h"

namespace tenon::train {

namespace fs = std::filesystem;

/// Everything a run leaves but times, speed and memory: what two equal runs must agree in.
struct Traces {
  std::map<std::string, std::string> tensors;  // of the last checkpoint, by name: type, shape and bytes
  std::vector<std::string> metrics;            // lines
  std::map<int64_t, std::string> samples;      // by step
  std::string position;                        // of the last checkpoint: data, random numbers, rates, best loss

  bool operator==(const Traces&) const = default;
};
Traces traces_of(const fs::path& folder);
/// Says in one line where two runs differ; empty where they do not.
std::string difference(const Traces& one, const Traces& other);

/// A folder of its own for each test, with some text to train on in it.
class Runs : public io::InFolder {
 protected:
  Runs();

  /// One layer, 32 wide, 16 tokens of context, bytes as tokens, dropout, validation, checkpoints, samples; with
  /// "key=value" settings on top.
  Config tiny(const std::vector<std::string>& settings = {}) const;
  /// Trains silently in a folder of this name and says what it left.
  Traces trained(const std::string& name, const Config& config);
  TrainResult train_in(const std::string& name, const Config& config, TrainOptions options = {});
  /// What a run says in its failure.
  std::string refusal(const std::string& name, const Config& config, const TrainOptions& options = {});
  /// The same, of a run that must never have begun: with no checkpoint and no metrics.
  std::string refusal_at_start(const Config& config);
  /// What a run shows while it runs.
  std::string said(const std::string& name, const Config& config, TrainOptions options = {});

  /// Files of MNIST's kind: 96 images of 12 by 12 to train on and 40 to test, ten classes of bars that lean more and
  /// more.
  fs::path write_digits(const std::string& name, uint64_t seed = 1) const;
  /// A small cnn with batch norm and dropout on the images of write_digits("digits"), with settings on top.
  Config tiny_cnn(const std::vector<std::string>& settings = {}) const;

  /// A CSV of so many texts, columns text, label ("good", "bad") and other ("long", "short"), which a classifier can
  /// learn.
  fs::path write_texts(const std::string& name, int64_t count = 96, uint64_t seed = 1) const;
  /// A small bert on write_texts("texts.csv"), with settings on top.
  Config tiny_bert(const std::vector<std::string>& settings = {}) const;

  /// A folder for each of three classes, "bars", "dots" and "plain" (to which a file "broken.png" is added), of so many
  /// PNG files of various sizes around 14 by 12 pixels.
  fs::path write_pictures(const std::string& name, int64_t of_each = 12, bool with_broken = false) const;
  /// A small cnn on write_pictures("pictures"), brought to 10 by 10 pixels, with settings on top.
  Config tiny_pictures(const std::vector<std::string>& settings = {}) const;

  /// A GPT-2 with random weights as Hugging Face lays it out, which knows 257 tokens: bytes and an end of text.
  fs::path small_gpt2(uint64_t seed = 3);
};

}  // namespace tenon::train
