// Gpt2Config: the sizes of a GPT-2, as Hugging Face's config.json has them.

#pragma once

#include <cstdint>
#include <string>

namespace tenon::models {

/// The sizes of a GPT-2.
///   models::Gpt2Config config = models::Gpt2Config::distilgpt2().set_dropout(0);
///   config.layers;  // 6
struct Gpt2Config {
  int64_t vocabulary = 50257;           // tokens
  int64_t padded_vocabulary = 0;        // rows of the embedding in memory; 0: the vocabulary. Files have the vocabulary
  int64_t positions = 1024;             // the longest sequence
  int64_t width = 768;                  // numbers that stand for a token between blocks
  int64_t layers = 12;                  // blocks
  int64_t heads = 12;                   // of attention
  int64_t inner = 0;                    // the width inside of the MLPs; 0: 4 * width
  double embedding_dropout = 0.1;       // of embeddings
  double residual_dropout = 0.1;        // of what branches give
  double attention_dropout = 0.1;       // of attention weights
  double norm_eps = 1e-5;               // added to variances
  std::string activation = "gelu_new";  // or "gelu", "relu", "silu"
  bool tied_head = true;                // the head is the embedding
  bool bias = true;             // of products and norms. Files always have them, as zeros where the model has none
  bool causal = true;           // a token sees those before it and itself; else all, to fill in masked ones
  int64_t start_token = 50256;  // begins a text
  int64_t end_token = 50256;    // -1, as for the token that starts a text: there is none

  static Gpt2Config distilgpt2();  // 82 million parameters
  static Gpt2Config gpt2();        // 124 million
  /// 355, 774 and 1558 million parameters.
  static Gpt2Config gpt2_medium();
  static Gpt2Config gpt2_large();
  static Gpt2Config gpt2_xl();

  /// From the text of a config.json. Fails when it asks for something that Gpt2 does not do.
  static Gpt2Config from_json(const std::string& text);
  /// What transformers reads.
  std::string to_json() const;

  /// Rows of the embedding, and the width inside of the MLPs, as they come out.
  int64_t rows() const { return padded_vocabulary > 0 ? padded_vocabulary : vocabulary; }
  int64_t inner_width() const { return inner > 0 ? inner : 4 * width; }
  /// All dropouts.
  Gpt2Config& set_dropout(double p);
  /// Fails with one line when no model can have these sizes.
  void check() const;
};

}  // namespace tenon::models
