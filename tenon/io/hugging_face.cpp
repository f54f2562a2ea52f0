// Reading and writing model folders.
//
// The configuration is checked to be JSON and otherwise left alone: its fields belong to the model, not to this room.

#include "tenon/io/hugging_face.h"

#include <limits>

#include "tenon/io/file.h"
#include "tenon/io/json_text.h"
#include "tenon/io/safetensors.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "hugging_face";
constexpr const char *kConfig = "config.json", *kWeights = "model.safetensors",
                     *kIndex = "model.safetensors.index.json";

fs::path find_weights(const fs::path& folder) {
  for (const char* name : {kWeights, kIndex}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  fail(Input{kFormat, folder.string(), {}}, "has neither {} nor {}", kWeights, kIndex);
}

}  // namespace

HuggingFaceFolder load_folder(const fs::path& folder, Device device) {
  const auto file = MappedFile::open(kFormat, folder / kConfig);
  const Input input{kFormat, (folder / kConfig).string(), file->bytes()};
  check_json_object(input);
  SafetensorsFile weights = load_safetensors(find_weights(folder), device);
  return {std::string(as_text(input.bytes)), std::move(weights.tensors), std::move(weights.metadata)};
}

void save_folder(const fs::path& folder, const std::string& config, const std::map<std::string, Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata, std::optional<uint64_t> max_shard_bytes) {
  check_json_object({kFormat, (folder / kConfig).string(), std::as_bytes(std::span(config))});
  MadeFolder made(kFormat, folder);
  // On disk before the weights take their place: a disk that fills up must not leave them without it.
  ReplacingFile file(kFormat, folder / kConfig);
  file.write(config);
  file.sync();
  // A limit also when none is asked for: shards of an earlier save must not stay beside the new file.
  const uint64_t limit = max_shard_bytes.value_or(std::numeric_limits<uint64_t>::max());
  save_safetensors(folder / kWeights, tensors, metadata, limit);
  file.commit();
  made.keep();
}

}  // namespace tenon::io
