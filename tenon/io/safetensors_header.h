// What a safetensors file says about itself, checked against its bytes; no tensor is made here.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/io/element.h"
#include "tenon/io/input.h"

namespace tenon::io {

/// A tensor whose bytes lie inside the file and are as many as its shape takes.
struct SafetensorsEntry {
  std::string name;
  std::string_view dtype;  // as the format spells it
  Element element;
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Fails with one line unless the bytes are exactly those of a safetensors file.
SafetensorsHeader parse_safetensors(const Input& input);

/// What model.safetensors.index.json says: which tensor is in which file beside it.
struct SafetensorsIndex {
  std::map<std::string, std::string> shard_of;  // by tensor; plain file names
};
SafetensorsIndex parse_safetensors_index(const Input& input);

inline constexpr size_t kSafetensorsLengthBytes = 8;                 // the header's length, in front of it
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // the format's own limit
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

struct SafetensorsDType {
  std::string_view name;
  Element element;
};
/// In the order the official writer lays tensors out: every tensor starts aligned to its own elements.
std::span<const SafetensorsDType> safetensors_dtypes();

}  // namespace tenon::io
