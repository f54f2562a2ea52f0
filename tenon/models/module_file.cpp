// The description stands in the metadata under one key, so that the file stays what every reader of safetensors knows.

#include "tenon/models/module_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tenon/base/error.h"
#include "tenon/io/json.h"
#include "tenon/io/safetensors.h"
#include "tenon/tensor/access.h"

namespace tenon::models {
namespace {

using nlohmann::json;

constexpr const char* kKey = "tenon.module";

void collect_types(const nn::Module& module, const std::string& path, std::map<std::string, std::string>& types) {
  for (const nn::NamedModule& child : module.children()) {
    const std::string name = path.empty() ? child.name : path + "." + child.name;
    types[name] = child.module->type_name();
    collect_types(*child.module, name, types);
  }
}

// The names under which tensors are stored, by the tensors.
std::map<const void*, std::string> first_names(const nn::Module& module) {
  std::map<const void*, std::string> names;
  for (const auto& named : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& [name, tensor] : named) names.emplace(impl_of(tensor).get(), name);
  }
  return names;
}

ModuleDescription description_of(const std::filesystem::path& path,
                                 const std::map<std::string, std::string>& metadata) {
  const auto found = metadata.find(kKey);
  if (found == metadata.end()) return {};
  const std::string where = fmt::format("{} ({})", path.string(), kKey);
  const io::Input input{"load_module", where, std::as_bytes(std::span(found->second))};
  const json document = io::parse_json<json>(input);
  const auto texts = [&](const char* key) {
    std::map<std::string, std::string> all;
    const json object = io::json_field<json>(input, document, key);
    if (!object.is_object()) io::fail(input, "{} is {}; it must be an object", key, io::shown_json(object));
    for (const auto& [name, value] : object.items()) {
      if (!value.is_string()) io::fail(input, "{} of {} is {}; it must be a text", key, name, io::shown_json(value));
      all[name] = value.get<std::string>();
    }
    return all;
  };
  return {io::json_field<std::string>(input, document, "type"), texts("modules"), texts("shared")};
}

}  // namespace

void save_module(const std::filesystem::path& path, const nn::Module& module) {
  std::map<std::string, Tensor> tensors;
  json shared = json::object();
  const auto stored = first_names(module);
  for (const auto& [name, tensor] : module.named_state()) {
    const std::string& first = stored.at(impl_of(tensor).get());
    if (first == name)
      tensors[name] = tensor.detach();
    else
      shared[name] = first;
  }
  std::map<std::string, std::string> types;
  collect_types(module, "", types);
  const json description{{"type", module.type_name()}, {"modules", types}, {"shared", shared}};
  io::save_safetensors(path, tensors, {{kKey, description.dump()}});
}

nn::LoadReport load_module(const std::filesystem::path& path, nn::Module& module, bool strict) {
  const io::SafetensorsFile file = io::load_safetensors(path);
  const std::vector<std::string> misfits = module.misfits_of(file.tensors, strict, strict);
  if (!misfits.empty()) {
    const std::string type = description_of(path, file.metadata).type;
    const std::string whose =
        type.empty() || type == module.type_name() ? "" : fmt::format(", which a {} wrote,", io::as_one_line(type));
    base::fail("load_module", "{}{} does not fit {}: {}", path.string(), whose, module.type_name(),
               fmt::join(misfits, "; "));
  }
  return module.load_state_dict(file.tensors, strict);
}

ModuleDescription describe_module(const std::filesystem::path& path) {
  return description_of(path, io::load_safetensors(path).metadata);
}

}  // namespace tenon::models
