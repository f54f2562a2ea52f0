// Folders as Hugging Face's transformers reads and writes them: config.json beside model.safetensors.

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

/// What a folder holds.
struct HuggingFaceFolder {
  std::string config;                           // the text of config.json, a JSON object
  std::map<std::string, Tensor> tensors;        // the weights by name
  std::map<std::string, std::string> metadata;  // of the file of the weights
};

class OpenFolder;

/// Reads config.json and the weights, from model.safetensors or from the shards that model.safetensors.index.json
/// names. Fails where one of them is replaced meanwhile: both are of one model.
///   io::HuggingFaceFolder folder = io::load_folder("models/gpt2");
HuggingFaceFolder load_folder(const std::filesystem::path& folder, Device device = {});
/// The same of a folder from which more is read; when that is done, require_unchanged_model() says whether all is of
/// one model.
HuggingFaceFolder load_folder(const OpenFolder& folder, Device device = {});
void require_unchanged_model(const OpenFolder& folder);

/// Writes both, each beside and renamed; the folder is made if need be. The metadata are those without which
/// transformers refuses to load weights. See save_safetensors for `max_shard_bytes`.
///   io::save_folder("saved", "{}", {{"weight", tensor({1, 2})}});
void save_folder(const std::filesystem::path& folder, const std::string& config,
                 const std::map<std::string, Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
                 std::optional<uint64_t> max_shard_bytes = {});

/// Writes weights and, as the last file that gets its name, the JSON that belongs to them.
void save_with_config(const std::filesystem::path& config_path, const std::string& config,
                      const std::filesystem::path& weights_path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, std::optional<uint64_t> max_shard_bytes = {});

}  // namespace tenon::io
