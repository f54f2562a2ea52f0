// The one reader of JSON: every file that is JSON comes through here, so that there is one answer to what JSON is.
//
// nlohmann's parser does not recurse, but what is done with a document afterwards (copying, printing, comparing it)
// does: a file of 100,000 brackets would end the process. No file that Tenon reads nests deeper than a dozen levels, so
// deeper ones than kMostJsonLevels are refused while they are read. For .cpp files only: users of the installed library
// need not have the JSON library.

#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tenon/io/input.h"

namespace tenon::io {

inline constexpr size_t kMostJsonLevels = 64;

/// What a reader of events is.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// The text is not JSON, or none that is read: `why` ("is not valid JSON"), at the byte `at`, counted from 1. May
  /// throw; what it returns, read_json returns.
  virtual bool refuse(size_t at, std::string_view why) = 0;

 private:
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) final {
    return refuse(position, "is not valid JSON");
  }
};

/// Calls `events` for what stands in the text; false where one of them said so.
bool read_json(std::string_view text, JsonEvents& events);

/// Fails with one line unless the bytes are one JSON document.
void check_json(const Input& input);

/// A document whose fields are looked up by name. Fails with one line where the bytes are none.
template <typename Document = nlohmann::ordered_json>
Document parse_json(const Input& input) {
  check_json(input);
  return Document::parse(as_text(input.bytes), nullptr, false);
}
template <typename Document = nlohmann::ordered_json>
Document parse_json(std::string_view format, const std::string& name, std::string_view text) {
  return parse_json<Document>(Input{format, name, std::as_bytes(std::span(text))});
}

/// "the step count", "true", {"a": 1} and so on as a short line for messages.
std::string shown_json(const nlohmann::json& value);

/// The field of an object, of the type that is asked for: a whole number in its range, a number, a flag, a text, or a
/// document of any kind. Fails with one line where it is missing or something else.
template <typename T, typename Document>
T json_field(const Input& input, const Document& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) fail(input, "has no {}", key);
  const auto refuse = [&](std::string_view wanted) {
    fail(input, "{} is {}; it must be {}", key, shown_json(*found), wanted);
  };
  if constexpr (std::is_same_v<T, Document>) {
    return *found;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) refuse("true or false");
    return found->template get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) refuse("a text");
    return found->template get<std::string>();
  } else if constexpr (std::is_integral_v<T>) {
    const bool fits = found->is_number_unsigned()
                          ? found->template get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
                          : found->is_number_integer() && std::is_signed_v<T>;
    if (!fits) refuse(std::is_signed_v<T> ? "a whole number" : "a whole number, not negative");
    return found->template get<T>();
  } else {
    static_assert(std::is_same_v<T, double>);
    if (!found->is_number()) refuse("a number");
    return found->template get<double>();
  }
}

}  // namespace tenon::io
