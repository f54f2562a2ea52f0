// A config by the name of a preset or the path of a file.

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/io/file.h"
#include "tenon/train/config.h"

namespace tenon::train {
namespace {

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

// A word without a dot and a slash was meant as a preset.
[[noreturn]] void refuse_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  const std::string near = base::nearest(name, names);
  if (!near.empty()) base::fail("config", "{}: there is no such preset or file; did you mean {}?", name, near);
  base::fail("config", "{}: there is no such file, and the presets are {}", name, fmt::join(names, ", "));
}

}  // namespace

Config load_config(const std::string& path_or_preset) {
  if (const Preset* preset = find_preset(path_or_preset)) return parse_config(preset->json, preset->name);
  if (path_or_preset.find_first_of("./") == std::string::npos && !std::filesystem::exists(path_or_preset))
    refuse_preset(path_or_preset);
  const auto file = io::MappedFile::open("config", path_or_preset);
  return parse_config(io::as_text(file->bytes()), path_or_preset);
}

}  // namespace tenon::train
