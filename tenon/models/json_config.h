// Reading config.json, for the files of this room: a key that is absent or null means transformers' default, and a
// value that changes what the model computes must be one that we compute.

#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tenon/base/error.h"

namespace tenon::models {

class JsonConfig {
 public:
  /// Fails unless the text is an object whose model_type is this one.
  JsonConfig(const std::string& text, const std::string& model_type) : type_(model_type) {
    object_ = nlohmann::json::parse(text, nullptr, false);
    if (!object_.is_object()) base::fail(type_, "config.json is not a JSON object");
    require("model_type", model_type);
  }
  JsonConfig(nlohmann::json object, std::string type) : object_(std::move(object)), type_(std::move(type)) {}

  /// Leaves `into` as it is when the key is absent or null.
  template <typename T>
  void read(const char* key, T& into) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    if (!fits(*found, into)) base::fail(type_, "config.json: {} is {}, which is not of its type", key, found->dump());
    found->get_to(into);
  }
  /// The same for a key that may hold a list: its first element.
  void read_first(const char* key, int64_t& into) const {
    const auto found = object_.find(key);
    const bool is_list = found != object_.end() && found->is_array() && !found->empty();
    if (is_list && found->front().is_number_integer())
      found->front().get_to(into);
    else
      read(key, into);
  }
  /// Fails when the key is there with another value.
  template <typename T>
  void require(const char* key, const T& wanted) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null() || *found == nlohmann::json(wanted)) return;
    base::fail(type_, "config.json: {} is {}; only {} is supported", key, found->dump(), nlohmann::json(wanted).dump());
  }
  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }
  /// The object under a key; an empty one where there is none.
  JsonConfig part(const char* key) const {
    return {has(key) && object_.at(key).is_object() ? object_.at(key) : nlohmann::json::object(), type_};
  }

 private:
  static bool fits(const nlohmann::json& value, int64_t) { return value.is_number_integer(); }
  static bool fits(const nlohmann::json& value, double) { return value.is_number(); }
  static bool fits(const nlohmann::json& value, bool) { return value.is_boolean(); }
  static bool fits(const nlohmann::json& value, const std::string&) { return value.is_string(); }

  nlohmann::json object_;
  std::string type_;
};

}  // namespace tenon::models
