// JsonConfig over nlohmann's JSON.

#include "tenon/models/json_config.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/io/json.h"

namespace tenon::models {
namespace {

using base::fail;
using nlohmann::json;

// Numbers from 2^63 on would wrap.
bool fits(const json& value, int64_t) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  return value.is_number_integer();
}
bool fits(const json& value, double) { return value.is_number(); }
bool fits(const json& value, bool) { return value.is_boolean(); }
bool fits(const json& value, const std::string&) { return value.is_string(); }
template <typename T>
bool fits(const json& value, const std::vector<T>&) {
  return value.is_array() && std::ranges::all_of(value, [](const json& one) { return fits(one, T()); });
}

}  // namespace

void require_sizes(std::string_view model, std::initializer_list<std::pair<std::string_view, int64_t>> sizes) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  for (const auto& [name, size] : sizes) {
    if (size > kMost) fail(model, "the {} can be at most {}, got {}", name, kMost, size);
  }
}

void require_layers(std::string_view model, int64_t layers) {
  constexpr int64_t kMost = 1 << 16;
  if (layers > kMost) fail(model, "there can be at most {} layers, got {}", kMost, layers);
}

struct JsonConfig::Object {
  json value;

  /// Null where the key is absent or null.
  const json* find(const char* key) const {
    const auto found = value.find(key);
    return found == value.end() || found->is_null() ? nullptr : &*found;
  }
  template <typename T>
  void read(const std::string& type, const char* key, T& into) const {
    const json* found = find(key);
    if (!found) return;
    if (!fits(*found, into)) fail(type, "config.json: {} is {}, which is not of its type", key, io::shown_json(*found));
    found->get_to(into);
  }
  void require(const std::string& type, const char* key, const json& wanted) const {
    const json* found = find(key);
    if (!found || *found == wanted) return;
    fail(type, "config.json: {} is {}; only {} is supported", key, io::shown_json(*found), wanted.dump());
  }
};

JsonConfig::JsonConfig(const std::string& text, const std::string& model_type) : type_(model_type) {
  object_ = std::make_shared<const Object>(Object{io::parse_json<json>(type_, "config.json", text)});
  if (!object_->value.is_object()) fail(type_, "config.json is not a JSON object");
  require("model_type", model_type.c_str());
}

JsonConfig::JsonConfig(std::shared_ptr<const Object> object, std::string type)
    : object_(std::move(object)), type_(std::move(type)) {}

void JsonConfig::read(const char* key, int64_t& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, double& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, bool& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, std::string& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, std::vector<int64_t>& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, std::vector<double>& into) const { object_->read(type_, key, into); }
void JsonConfig::read(const char* key, std::vector<std::string>& into) const { object_->read(type_, key, into); }

void JsonConfig::read_token(const char* key, int64_t& into) const {
  const json* found = object_->find(key);
  if (!found && object_->value.contains(key)) into = -1;
  if (found && found->is_array() && !found->empty() && fits(found->front(), into))
    found->front().get_to(into);
  else
    read(key, into);
}

void JsonConfig::require(const char* key, bool wanted) const { object_->require(type_, key, wanted); }
void JsonConfig::require(const char* key, const char* wanted) const { object_->require(type_, key, wanted); }

JsonConfig JsonConfig::part(const char* key) const {
  const json* found = object_->find(key);
  return {std::make_shared<const Object>(Object{found && found->is_object() ? *found : json::object()}), type_};
}

}  // namespace tenon::models
