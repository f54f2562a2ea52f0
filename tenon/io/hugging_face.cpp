// Reading and writing model folders.
//
// The configuration is checked to be JSON and otherwise left alone: its fields belong to the model, not to this room.

#include "tenon/io/hugging_face.h"

#include <limits>

#include "tenon/io/file.h"
#include "tenon/io/json_text.h"
#include "tenon/io/open_folder.h"
#include "tenon/io/safetensors.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "hugging_face";
constexpr const char *kConfig = "config.json", *kWeights = "model.safetensors",
                     *kIndex = "model.safetensors.index.json";

std::string find_weights(const OpenFolder& folder) {
  for (const char* name : {kWeights, kIndex}) {
    if (folder.has(name)) return name;
  }
  fail(Input{kFormat, folder.path().string(), {}}, "has neither {} nor {}", kWeights, kIndex);
}

}  // namespace

HuggingFaceFolder load_folder(const fs::path& path, Device device) {
  const OpenFolder folder(kFormat, path);
  HuggingFaceFolder loaded = load_folder(folder, device);
  require_unchanged_model(folder);
  return loaded;
}

void require_unchanged_model(const OpenFolder& folder) { folder.require_unchanged(kConfig); }

HuggingFaceFolder load_folder(const OpenFolder& folder, Device device) {
  const auto file = folder.open(kFormat, kConfig);
  const Input input{kFormat, (folder.path() / kConfig).string(), file->bytes()};
  check_json_object(input);
  SafetensorsFile weights = load_safetensors(folder, find_weights(folder), device);
  return {std::string(as_text(input.bytes)), std::move(weights.tensors), std::move(weights.metadata)};
}

void save_folder(const fs::path& folder, const std::string& config, const std::map<std::string, Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata, std::optional<uint64_t> max_shard_bytes) {
  check_json_object({kFormat, (folder / kConfig).string(), std::as_bytes(std::span(config))});
  MadeFolder made(kFormat, folder);
  // A limit also when none is asked for: shards of an earlier save must not stay beside the new file.
  const uint64_t limit = max_shard_bytes.value_or(std::numeric_limits<uint64_t>::max());
  save_with_config(folder / kConfig, config, folder / kWeights, tensors, metadata, limit);
  made.keep();
}

void save_with_config(const fs::path& config_path, const std::string& config, const fs::path& weights_path,
                      const std::map<std::string, Tensor>& tensors, const std::map<std::string, std::string>& metadata,
                      std::optional<uint64_t> max_shard_bytes) {
  std::optional<ReplacingFile> file;
  // On disk before the weights take their place: a disk that fills up must not leave them without it. No earlier than
  // that: whoever reads the folder sees by the unfinished file that both are about to be replaced.
  const auto write_config = [&] {
    file.emplace(kFormat, config_path);
    file->write(config);
    file->sync();
  };
  save_safetensors(weights_path, tensors, metadata, max_shard_bytes, write_config);
  file->commit();
}

}  // namespace tenon::io
