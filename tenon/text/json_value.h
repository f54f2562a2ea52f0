// A JSON document as the parsers of this room take it apart: every question names what was asked for when the answer is
// no, and no key is lost (the JSON library's own document keeps one of two equal keys and says nothing).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::text {

struct Json;
struct JsonMember;
using JsonList = std::vector<Json>;
using JsonObject = std::vector<JsonMember>;  // in the order of the file

struct Json {
  std::variant<std::nullptr_t, bool, int64_t, double, std::string, JsonList, JsonObject> value;
};
struct JsonMember {
  std::string name;
  Json value;
};

/// Fails with one line where the text is no JSON, nests deeper than any tokenizer, or has a key twice in one object.
Json parse_json(const io::Input& input);

/// A value in a document and the way to it ("model.vocab"), for messages.
class JsonView {
 public:
  JsonView(const io::Input& input, const Json& json, std::string path = {})
      : input_(&input), json_(&json), path_(std::move(path)) {}

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(json_->value); }
  bool is_text() const { return std::holds_alternative<std::string>(json_->value); }
  bool is_object() const { return std::holds_alternative<JsonObject>(json_->value); }
  const JsonObject& object() const;
  const JsonList& list() const;
  const std::string& text() const;
  bool boolean() const;
  double number() const;
  /// A whole number from 0 to `most`.
  int32_t whole(int64_t most = INT32_MAX) const;

  /// A member of an object; fails where it is missing.
  JsonView at(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Whether there is a member with another value than null.
  bool is_set(std::string_view name) const;
  /// A boolean member, or what stands for it where it is missing.
  bool flag(std::string_view name, bool otherwise) const;
  /// An item of a list.
  JsonView item(size_t index) const;

  /// Throws Error("[format] file: path message").
  [[noreturn]] void refuse(std::string_view message) const;
  const io::Input& input() const { return *input_; }

 private:
  const Json* find(std::string_view name) const;

  const io::Input* input_;
  const Json* json_;
  std::string path_;
};

/// A text as JSON writes it, in quotes.
std::string json_text(std::string_view text);

}  // namespace tenon::text
