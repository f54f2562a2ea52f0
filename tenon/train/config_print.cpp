// Config to JSON, and the table of keys as a JSON schema and as docs/config.md.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tenon/train/config_keys.h"

namespace tenon::train {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Value& value) {
  return std::visit([](const auto& v) { return ordered_json(v); }, value);
}

std::string full_text(const Key& key) {
  std::string text = key.does;
  if (!key.when.text.empty()) text += fmt::format(" Only when {}.", key.when.text);
  return text;
}

void add_range(const Key& key, ordered_json& entry) {
  const bool is_whole = std::holds_alternative<FieldOf<int64_t>>(key.field);
  const auto bound = [&](double value) {
    return is_whole ? ordered_json(static_cast<int64_t>(value)) : ordered_json(value);
  };
  entry[key.range.above_least ? "exclusiveMinimum" : "minimum"] = bound(key.range.least);
  entry[key.range.below_most ? "exclusiveMaximum" : "maximum"] = bound(key.range.most);
}

ordered_json schema_of(const Key& key) {
  static const char* types[] = {"boolean", "integer", "number", "string", "array"};
  ordered_json entry;
  entry["description"] = full_text(key);
  entry["default"] = json_of(key.default_value());
  const size_t type = key.field.index();
  if (type == 4) {  // a list, or its names in one text
    entry["oneOf"] = {{{"type", "array"}, {"items", {{"type", "string"}}}}, {{"type", "string"}}};
    return entry;
  }
  entry["type"] = types[type];
  if (!key.choices.empty()) entry["enum"] = key.choices;
  if (type == 1 || type == 2) add_range(key, entry);
  return entry;
}

ordered_json object_schema() {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", ordered_json::object()}};
}

std::string_view section_text(std::string_view section) {
  struct Text {
    std::string_view section, text;
  };
  static constexpr Text texts[] = {
      {"model", "The network and its sizes."},
      {"data", "What the model is trained and validated on, and in which order."},
      {"tokenizer", "How text becomes tokens."},
      {"training", "How long, how much at a time, and in which way."},
      {"optimizer", "How gradients become updates."},
      {"schedule", "How the learning rate changes over the run."},
      {"checkpoint", "When the state of the run is written to disk, and what of it is kept."},
      {"sample", "What the model makes during the run, for a person to look at."},
      {"device", "Where the run computes."},
  };
  for (const Text& text : texts) {
    if (text.section == section) return text.text;
  }
  return "";
}

std::string table_row(const Key& key) {
  const ordered_json value = json_of(key.default_value());
  std::string allowed = key.choices.empty() ? key.allowed() : fmt::format("`{}`", fmt::join(key.choices, "`, `"));
  const char* on_resume = key.on_resume == OnResume::may_change ? "may change"
                          : key.on_resume == OnResume::may_move ? "same data, anywhere"
                                                                : "stays";
  return fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key.path, value.dump(), allowed, on_resume, full_text(key));
}

constexpr std::string_view kTableHead =
    "| key | default | allowed | on resume | what it does |\n| --- | --- | --- | --- | --- |\n";

}  // namespace

std::string to_json(const Config& config) {
  ordered_json all;
  for (const Key& key : config_keys()) {
    ordered_json& place = key.section().empty() ? all : all[std::string(key.section())];
    place[std::string(key.name())] = json_of(key.value(config));
  }
  return all.dump(2) + "\n";
}

std::string json_schema() {
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A tenon config"}};
  schema.update(object_schema());
  for (const Key& key : config_keys()) {
    ordered_json* properties = &schema["properties"];
    if (const std::string section(key.section()); !section.empty()) {
      if (!properties->contains(section)) (*properties)[section] = object_schema();
      properties = &(*properties)[section]["properties"];
    }
    (*properties)[std::string(key.name())] = schema_of(key);
  }
  return schema.dump(2) + "\n";
}

std::string config_markdown() {
  std::string text =
      "# Config keys\n\n"
      "Generated from the table in `tenon/train/config_keys.cpp` by `tenon config --markdown`; a test keeps it so.\n\n"
      "A config is a JSON object of the sections below. Every key has a default; `tenon config --print-defaults` "
      "prints "
      "them all, `--set section.key=value` changes one from the command line, and `tenon config --schema` prints a "
      "schema for editors. A key that is unknown, given twice, out of range or without effect under the other settings "
      "is refused. A run that is resumed goes on with the values it was begun with, but for the keys that may change: "
      "they say how long it takes, where it runs and how it is watched. What it computes follows them in two cases: a "
      "schedule that ends with the run is stretched by training.steps, and a plateau schedule looks at each "
      "evaluation.\n\n";
  text += kTableHead;
  std::string_view section;
  for (const Key& key : config_keys()) {
    if (key.section() != section) {
      section = key.section();
      text += fmt::format("\n## {}\n\n{}\n\n{}", section, section_text(section), kTableHead);
    }
    text += table_row(key);
  }
  return text;
}

}  // namespace tenon::train
