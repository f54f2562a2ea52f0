// The models and tokenizers of llama2.c: stories260K.bin, tok512.bin.

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tenon/io/llama2c_header.h"
#include "tenon/tensor/tensor.h"

namespace tenon::io {

/// What a file of a model holds.
struct Llama2cModel {
  Llama2cConfig config;  // its sizes
  /// By the names of llama2.c's model.py: "tok_embeddings.weight", "layers.0.attention.wq.weight", "norm.weight" ...
  /// and "output.weight" unless config.shared_classifier.
  std::map<std::string, Tensor> tensors;
};

/// Reads a "version 0" file; the weights lie in a map of it. Fails with one line unless its length is that of its
/// header.
///   io::Llama2cModel model = io::load_llama2c("stories260K.bin");
Llama2cModel load_llama2c(const std::filesystem::path& path, Device device = {});
/// Writes a "version 0" file, beside, synced and renamed. The tensors must be those that the config asks for.
///   io::save_llama2c("copy.bin", io::load_llama2c("stories260K.bin"));
void save_llama2c(const std::filesystem::path& path, const Llama2cModel& model);

/// Reads a tokenizer: pieces in the order of their token numbers, with the scores by which they are merged.
///   io::Llama2cTokenizer pieces = io::load_llama2c_tokenizer("tok512.bin");
Llama2cTokenizer load_llama2c_tokenizer(const std::filesystem::path& path);

}  // namespace tenon::io
