// The files of llama2.c: weights in "version 0" .bin files, and tokenizers such as tok512.bin. No tensor is made here.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::io {

/// The sizes of a model of llama2.c, by its names.
struct Llama2cConfig {
  /// Width, width inside of the MLPs, layers, heads, key/value heads, tokens, the longest sequence.
  int64_t dim = 0, hidden_dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, vocab_size = 0, max_seq_len = 0;
  /// The output layer is the embedding: the file holds it once, and tells by the sign of its vocab_size.
  bool shared_classifier = true;
};

/// f32 weights under the name they have in llama2.c's model.py.
struct Llama2cWeight {
  std::string name;
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;
};

struct Llama2cContent {
  Llama2cConfig config;
  std::vector<Llama2cWeight> weights;
};
Llama2cContent parse_llama2c(const Input& input);

/// Calls f for everything behind the header, in the order of the file. freqs_cos and freqs_sin are there, too, which no
/// reader needs.
void for_each_part(const Llama2cConfig& config,
                   const std::function<void(const std::string& name, const std::vector<uint64_t>& shape)>& f);
inline bool is_computed(std::string_view part) { return part == "freqs_cos" || part == "freqs_sin"; }

/// A token of llama2.c.
struct Llama2cToken {
  std::string piece;  // its text
  float score = 0;    // pieces of a higher score are joined first
};
/// What a file of a tokenizer holds.
struct Llama2cTokenizer {
  int64_t max_token_length = 0;      // in bytes
  std::vector<Llama2cToken> tokens;  // by number
};
Llama2cTokenizer parse_llama2c_tokenizer(const Input& input);

}  // namespace tenon::io
