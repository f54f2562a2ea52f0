// Folders as Hugging Face's transformers reads and writes them: config.json beside model.safetensors.

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

struct HuggingFaceFolder {
  std::string config;  // the text of config.json, a JSON object
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads config.json and the weights, from model.safetensors or from the shards that model.safetensors.index.json
/// names.
HuggingFaceFolder load_folder(const std::filesystem::path& folder, Device device = {});

/// Writes both, each beside and renamed; the folder is made if need be. The metadata are those without which
/// transformers refuses to load weights. See save_safetensors for `max_shard_bytes`.
void save_folder(const std::filesystem::path& folder, const std::string& config,
                 const std::map<std::string, Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata = {{"format", "pt"}},
                 std::optional<uint64_t> max_shard_bytes = {});

}  // namespace tenon::io
