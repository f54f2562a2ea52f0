// Tensors from and to safetensors files, one or several.
//
// Writing keeps the official order (widest dtype first, then by name), so that equal tensors give equal files whichever
// library wrote them. The files of a split model are all on disk before the first of them gets its name: a crash may
// leave some old and some new ones only in the moment of renaming.

#include "tenon/io/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tenon/io/array.h"
#include "tenon/io/file.h"
#include "tenon/io/open_folder.h"
#include "tenon/io/safetensors_header.h"
#include "tenon/tensor/access.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "safetensors";
constexpr std::string_view kIndexEnding = ".index.json";

SafetensorsFile load_one(const fs::path& path, const std::shared_ptr<const MappedFile>& file, Device device) {
  const Input input{kFormat, path.string(), file->bytes()};
  SafetensorsHeader header = parse_safetensors(input);
  SafetensorsFile result;
  for (const SafetensorsEntry& entry : header.tensors) {
    const Array array{"tensor " + in_quotes(entry.name), entry.dtype, entry.element, dims_of(entry.shape), entry.bytes};
    result.tensors.emplace(entry.name, tensor_over(input, array, file, device));
  }
  file->require_whole();
  result.metadata = std::move(header.metadata);
  return result;
}

/// Adds the tensors of one shard, which must be those that the index says.
void add_shard(const Input& input, const SafetensorsIndex& index, const std::string& shard, SafetensorsFile&& loaded,
               SafetensorsFile& all) {
  for (auto& [name, tensor] : loaded.tensors) {
    const auto said = index.shard_of.find(name);
    if (said == index.shard_of.end()) {
      fail(input, "shard {} holds tensor {}, which the index does not name", in_quotes(shard), in_quotes(name));
    }
    if (said->second != shard) {
      fail(input, "tensor {} should be in shard {}, but is in {}", in_quotes(name), in_quotes(said->second),
           in_quotes(shard));
    }
    all.tensors.emplace(name, std::move(tensor));
  }
  all.metadata.merge(loaded.metadata);
}

SafetensorsFile load_shards(const OpenFolder& folder, const std::string& index_name, Device device) {
  const fs::path path = folder.path() / index_name;
  const auto file = folder.open(kFormat, index_name);
  const Input input{kFormat, path.string(), file->bytes()};
  const SafetensorsIndex index = parse_safetensors_index(input);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index.shard_of) shards.insert(shard);

  SafetensorsFile all;
  for (const std::string& shard : shards) {
    if (!folder.has(shard)) fail(input, "shard {} is missing", in_quotes(shard));
    add_shard(input, index, shard, load_one(folder.path() / shard, folder.open(kFormat, shard), device), all);
  }
  for (const auto& [name, shard] : index.shard_of) {
    if (!all.tensors.contains(name)) fail(input, "tensor {} is not in shard {}", in_quotes(name), in_quotes(shard));
  }
  return all;
}

size_t layout_rank(DType dtype) {
  const auto dtypes = safetensors_dtypes();
  return static_cast<size_t>(std::ranges::find(dtypes, stored_as(dtype), &SafetensorsDType::element) - dtypes.begin());
}

std::string json_string(const Input& input, const std::string& text) {
  if (!is_utf8(text)) fail(input, "the text {} is not valid UTF-8", in_quotes(text));
  return nlohmann::json(text).dump();
}

using Named = std::pair<const std::string, Tensor>;

uint64_t bytes_of(const Tensor& tensor) { return ir::bytes_of(value_of(tensor).type()); }

std::string make_header(const Input& input, const std::vector<const Named*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    pairs.reserve(metadata.size());
    for (const auto& [key, text] : metadata) pairs.push_back(json_string(input, key) + ":" + json_string(input, text));
    parts.push_back(fmt::format("\"{}\":{{{}}}", kSafetensorsMetadata, fmt::join(pairs, ",")));
  }
  uint64_t offset = 0;
  for (const Named* named : tensors) {
    const Tensor& tensor = named->second;
    const uint64_t end = offset + bytes_of(tensor);
    parts.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                json_string(input, named->first),
                                safetensors_dtypes()[layout_rank(tensor.dtype())].name,
                                fmt::join(tensor.shape().begin(), tensor.shape().end(), ","), offset, end));
    offset = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(parts, ","));
  constexpr size_t kUnit = kSafetensorsLengthBytes;
  header.resize((header.size() + kUnit - 1) / kUnit * kUnit, ' ');
  if (header.size() > kMaxSafetensorsHeaderBytes) {
    fail(input, "a header of {} bytes is over the limit of {}", header.size(), kMaxSafetensorsHeaderBytes);
  }
  return header;
}

std::vector<const Named*> in_layout_order(const Input& input, const std::map<std::string, Tensor>& tensors) {
  std::vector<const Named*> ordered;
  for (const Named& named : tensors) {
    if (named.first == kSafetensorsMetadata) fail(input, "a tensor cannot have the name {}", kSafetensorsMetadata);
    if (!named.second.defined()) fail(input, "tensor {} is undefined", in_quotes(named.first));
    if (named.second.shape().size() > kMaxRank) {
      fail(input, "tensor {} has more than {} dimensions", in_quotes(named.first), kMaxRank);
    }
    ordered.push_back(&named);
  }
  std::ranges::stable_sort(ordered, {}, [](const Named* named) { return layout_rank(named->second.dtype()); });
  return ordered;
}

/// A file that is written and synced, but does not have its name yet.
ReplacingFile written(const fs::path& path, const std::vector<const Named*>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const Input shown{kFormat, path.string(), {}};
  const std::string header = make_header(shown, tensors, metadata);
  const uint64_t length = header.size();
  ReplacingFile file(kFormat, path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const Named* named : tensors) file.write(named->second.to_bytes());
  file.sync();
  return file;
}

/// Tensors in turn, as many to a shard as fit; a tensor that is too large alone gets one of its own.
std::vector<std::vector<const Named*>> split(const std::vector<const Named*>& ordered, uint64_t max_shard_bytes) {
  std::vector<std::vector<const Named*>> shards(1);
  uint64_t filled = 0;
  for (const Named* named : ordered) {
    const uint64_t bytes = bytes_of(named->second);
    const bool fits = filled <= max_shard_bytes && bytes <= max_shard_bytes - filled;
    if (!fits && !shards.back().empty()) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(named);
    filled += bytes;
  }
  return shards;
}

fs::path index_of(const fs::path& path) { return path.string() + std::string(kIndexEnding); }

void save_shards(const fs::path& path, const std::vector<std::vector<const Named*>>& shards,
                 const std::map<std::string, std::string>& metadata, const std::function<void()>& before_commit) {
  std::vector<ReplacingFile> files;
  nlohmann::json shard_of = nlohmann::json::object();
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        fmt::format("{}-{:05}-of-{:05}{}", path.stem().string(), i + 1, shards.size(), path.extension().string());
    files.push_back(written(path.parent_path() / name, shards[i], metadata));
    for (const Named* named : shards[i]) {
      shard_of[named->first] = name;
      total += bytes_of(named->second);
    }
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", shard_of}};
  files.emplace_back(kFormat, index_of(path))
      .write(index.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  files.back().sync();
  if (before_commit) before_commit();
  for (ReplacingFile& file : files) file.commit();
}

}  // namespace

std::vector<fs::path> safetensors_shards(const fs::path& path) {
  const auto file = MappedFile::open(kFormat, path);
  const SafetensorsIndex index = parse_safetensors_index({kFormat, path.string(), file->bytes()});
  std::set<fs::path> shards;
  for (const auto& [name, shard] : index.shard_of) shards.insert(path.parent_path() / shard);
  return {shards.begin(), shards.end()};
}

SafetensorsFile load_safetensors(const fs::path& path, Device device) {
  if (!path.string().ends_with(kIndexEnding)) return load_one(path, MappedFile::open(kFormat, path), device);
  const OpenFolder folder(kFormat, path.parent_path());
  const std::string index = path.filename().string();
  SafetensorsFile loaded = load_shards(folder, index, device);
  folder.require_unchanged(index);
  return loaded;
}

SafetensorsFile load_safetensors(const OpenFolder& folder, const std::string& name, Device device) {
  if (name.ends_with(kIndexEnding)) return load_shards(folder, name, device);
  return load_one(folder.path() / name, folder.open(kFormat, name), device);
}

void save_safetensors(const fs::path& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, std::optional<uint64_t> max_shard_bytes,
                      const std::function<void()>& before_commit) {
  const Input shown{kFormat, path.string(), {}};
  const std::vector<const Named*> ordered = in_layout_order(shown, tensors);
  const auto shards = split(ordered, max_shard_bytes.value_or(std::numeric_limits<uint64_t>::max()));
  if (shards.size() > 1) {
    save_shards(path, shards, metadata, before_commit);
    remove_stale(kFormat, path);
  } else {
    ReplacingFile file = written(path, ordered, metadata);
    if (before_commit) before_commit();
    file.commit();
    if (max_shard_bytes) remove_stale(kFormat, index_of(path));
  }
}

}  // namespace tenon::io
