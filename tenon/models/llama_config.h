// LlamaConfig: the sizes of a Llama, as Hugging Face's config.json has them.

#pragma once

#include <cstdint>
#include <string>

#include "tenon/nn/rotary.h"

namespace tenon::models {

/// The sizes of a Llama.
///   models::LlamaConfig::llama2_7b().width_of_head();  // 128
struct LlamaConfig {
  int64_t vocabulary = 32000;     // tokens
  int64_t padded_vocabulary = 0;  // rows of embedding and head in memory; 0: the vocabulary. Files have the vocabulary
  int64_t positions = 2048;       // the longest sequence
  int64_t width = 4096;           // numbers that stand for a token between blocks
  int64_t layers = 32;            // blocks
  int64_t heads = 32;             // of attention
  int64_t kv_heads = 0;           // key/value heads, each shared by a group of query heads; 0: as many as query heads
  int64_t head_width = 0;         // 0: width / heads
  int64_t inner = 11008;          // the width inside of the MLPs
  double norm_eps = 1e-6;         // added to mean squares
  double rotary_theta = 10000;    // base of the rotary positions' wavelengths
  nn::RotaryLayout rotary_layout = nn::RotaryLayout::halves;  // in memory; Hugging Face's files always have halves
  bool attention_bias = false, mlp_bias = false;  // whether the products of attention, and of the MLPs, have biases
  bool tied_head = false;                         // the head is the embedding
  int64_t start_token = 1;                        // begins a text
  int64_t end_token = 2;                          // -1, as for the token that starts a text: there is none

  static LlamaConfig tiny_llama();  // TinyLlama 1.1B
  /// Llama 2, 7B.
  static LlamaConfig llama2_7b();

  /// From the text of a config.json. Fails when it asks for something that Llama does not do.
  static LlamaConfig from_json(const std::string& text);
  /// What transformers reads.
  std::string to_json() const;

  /// Rows of the embedding, key/value heads and the width of a head, as they come out.
  int64_t rows() const { return padded_vocabulary > 0 ? padded_vocabulary : vocabulary; }
  int64_t kv_head_count() const { return kv_heads > 0 ? kv_heads : heads; }
  int64_t width_of_head() const { return head_width > 0 || heads <= 0 ? head_width : width / heads; }
  /// Fails with one line when no model can have these sizes.
  void check() const;
};

}  // namespace tenon::models
