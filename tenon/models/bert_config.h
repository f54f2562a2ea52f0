// BertConfig: the sizes of a BERT and what its head does, as Hugging Face's config.json has them.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::models {

/// What stands on the encoder: nothing, the words that masks stand for, or a class for the whole text.
enum class BertHead : uint8_t { none, masked_lm, classifier };

/// The sizes of a BERT, and its head.
///   models::BertConfig::large().layers;  // 24
struct BertConfig {
  int64_t vocabulary = 30522;                                // tokens
  int64_t positions = 512;                                   // the longest text
  int64_t types = 2;                                         // of tokens: those of a first and of a second text
  int64_t width = 768;                                       // numbers that stand for a token between layers
  int64_t layers = 12;                                       // of the encoder
  int64_t heads = 12;                                        // of attention
  int64_t inner = 3072;                                      // the width inside of the MLPs
  double dropout = 0.1;                                      // of embeddings and of what branches give
  double attention_dropout = 0.1;                            // of attention weights
  double classifier_dropout = -1;                            // before the classifier; below 0: that of the rest
  double norm_eps = 1e-12;                                   // added to variances
  std::string activation = "gelu";                           // or "gelu_new", "relu", "silu"
  int64_t padding_token = 0;                                 // -1: none
  BertHead head = BertHead::masked_lm;                       // what stands on the encoder
  std::vector<std::string> labels = {"LABEL_0", "LABEL_1"};  // of a classifier's classes

  static BertConfig base() { return {}; }  // 110 million parameters
  static BertConfig large();               // 340 million

  /// From the text of a config.json; its `architectures` tell the head. Fails when it asks for something that Bert does
  /// not do.
  static BertConfig from_json(const std::string& text);
  /// What transformers reads.
  std::string to_json() const;

  /// Classes of a classifier.
  int64_t classes() const { return static_cast<int64_t>(labels.size()); }
  /// All dropouts.
  BertConfig& set_dropout(double p);
  /// Fails with one line when no model can have these sizes.
  void check() const;
};

}  // namespace tenon::models
