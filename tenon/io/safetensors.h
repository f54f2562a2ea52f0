// The safetensors file format: a JSON header of names, dtypes, shapes and byte ranges, then the bytes.

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads a whole file. Fails with one line naming the file and what is wrong with it.
SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device = {});
/// Writes beside, syncs and renames: the old file stays until the new one is whole.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tenon::io
