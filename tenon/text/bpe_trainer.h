// Training a byte-level BPE.
//
//   text::BpeTrainer trainer({.vocabulary = 16000});
//   while (read(document)) trainer.add(document);
//   text::Bpe tokenizer(trainer.train());
//
// Texts are counted as they come and not kept: what is in memory is every different word once. Counting uses all
// threads (base::num_threads); the result does not depend on how many there are, nor on the order of the texts.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/bpe_model.h"
#include "tenon/text/word_counts.h"

namespace tenon::text {

/// How large a vocabulary gets.
struct BpeOptions {
  int64_t vocabulary = 16000;  // tokens in all: 256 bytes, those made by merging, and the special ones
  int64_t min_count = 2;       // pairs that occur less often are not merged, so that the vocabulary may stay smaller
  std::vector<std::string> special_tokens = {std::string(kEndOfText)};  // the last tokens; in texts they separate
};

/// Learns a vocabulary and its merges from texts.
class BpeTrainer {
 public:
  explicit BpeTrainer(BpeOptions options = {});

  /// Counts the words of a text. A text that goes on in the next one should be cut before white space.
  void add(std::string_view text);

  /// Merges the most frequent pair of neighbours again and again. Of pairs that occur equally often the one with the
  /// lower left token goes first, then the one with the lower right token, as in Hugging Face's trainer.
  BpeModel train();

 private:
  void count_waiting();
  void count(const std::vector<std::string_view>& texts);

  BpeOptions options_;
  SpecialTokens specials_;
  std::vector<std::string> waiting_;  // short texts, until they are worth starting threads for
  size_t waiting_bytes_ = 0;
  std::vector<WordCounts> counts_;  // one for each thread that ever counted
};

}  // namespace tenon::text
