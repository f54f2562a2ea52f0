// The safetensors file format: a JSON header of names, dtypes, shapes and byte ranges, then the bytes.
//
//   io::save_safetensors("model.safetensors", {{"weight", weight}, {"bias", bias}});
//   Tensor weight = io::load_safetensors("model.safetensors").tensors.at("weight");

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon::io {

class OpenFolder;

/// What a file holds.
struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;        // by name
  std::map<std::string, std::string> metadata;  // texts by name
};

/// Reads a file, or all the files that a `model.safetensors.index.json` names. Fails with one line naming the file and
/// what is wrong with it.
///
/// On a device that works on host memory, tensors lie in a map of the file where its alignment allows it: loading reads
/// nothing, and writing to them never reaches the file. Dtypes that Tenon lacks are widened: I8, I16 and U16 to i32,
/// U32 and U64 to i64, F8_E4M3 and F8_E5M2 to f32.
SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device = {});

/// The same of a file, or an index, in an open folder; who opened it sees to it that nothing was exchanged meanwhile.
SafetensorsFile load_safetensors(const OpenFolder& folder, const std::string& name, Device device = {});

/// The files that an index names, which lie beside it.
///   for (const auto& file : io::safetensors_shards("big/model.safetensors.index.json")) std::cout << file << "\n";
std::vector<std::filesystem::path> safetensors_shards(const std::filesystem::path& index);

/// Writes beside, syncs and renames: the old file stays until the new one is whole. Tensors of more than
/// `max_shard_bytes` together are split: `model.safetensors` becomes `model-00001-of-00003.safetensors` and so on
/// beside `model.safetensors.index.json`, and what lay under the other name is removed. `before_commit` is called when
/// all is on disk and nothing has its name yet.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {},
                      std::optional<uint64_t> max_shard_bytes = {}, const std::function<void()>& before_commit = {});

}  // namespace tenon::io
