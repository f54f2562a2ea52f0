// The events of nlohmann's parser, counted on their way.

#include "tenon/io/json.h"

namespace tenon::io {
namespace {

/// Hands events on and watches how deep they are.
class Limited final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Limited(std::string_view text, JsonEvents& events) : text_(text), events_(events) {}

  bool null() override { return events_.null(); }
  bool boolean(bool value) override { return events_.boolean(value); }
  bool number_integer(int64_t value) override { return events_.number_integer(value); }
  bool number_unsigned(uint64_t value) override { return events_.number_unsigned(value); }
  bool number_float(double value, const string_t& text) override { return events_.number_float(value, text); }
  bool string(string_t& value) override { return events_.string(value); }
  bool binary(binary_t& value) override { return events_.binary(value); }
  bool key(string_t& name) override { return events_.key(name); }
  bool start_object(size_t size) override { return goes_deeper() && events_.start_object(size); }
  bool end_object() override { return --levels_, events_.end_object(); }
  bool start_array(size_t size) override { return goes_deeper() && events_.start_array(size); }
  bool end_array() override { return --levels_, events_.end_array(); }
  bool parse_error(size_t position, const std::string& token, const nlohmann::json::exception& error) override {
    return static_cast<nlohmann::json_sax<nlohmann::json>&>(events_).parse_error(position, token, error);
  }

 private:
  bool goes_deeper() {
    if (++levels_ <= kMostJsonLevels) return true;
    return events_.refuse(place_of_level(), fmt::format("nests deeper than {} levels", kMostJsonLevels));
  }

  /// The parser does not say where it is; the bracket is found again by counting those outside of strings.
  size_t place_of_level() const {
    size_t levels = 0;
    bool in_string = false;
    for (size_t at = 0; at < text_.size(); ++at) {
      const char letter = text_[at];
      if (in_string && letter == '\\') ++at;
      if (letter == '"') in_string = !in_string;
      if (in_string) continue;
      if (letter == '[' || letter == '{') ++levels;
      if (letter == ']' || letter == '}') --levels;
      if (levels > kMostJsonLevels) return at + 1;
    }
    return text_.size();
  }

  std::string_view text_;
  JsonEvents& events_;
  size_t levels_ = 0;
};

/// Accepts every document.
class Checker final : public JsonEvents {
 public:
  explicit Checker(const Input& input) : input_(input) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool refuse(size_t at, std::string_view why) override { fail(input_, "{} (at byte {} of it)", why, at); }

 private:
  const Input& input_;
};

}  // namespace

bool read_json(std::string_view text, JsonEvents& events) {
  // The parser takes a zero byte for the end of its input and would not look at what follows.
  if (const size_t zero = text.find('\0'); zero != text.npos) return events.refuse(zero + 1, "is not valid JSON");
  Limited limited(text, events);
  return nlohmann::json::sax_parse(text, &limited);
}

void check_json(const Input& input) {
  Checker checker(input);
  read_json(as_text(input.bytes), checker);
}

std::string shown_json(const nlohmann::json& value) {
  return as_one_line(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tenon::io
