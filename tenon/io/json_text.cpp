// Checking JSON without building it: the parser keeps one bit for each level of nesting and nothing else.

#include "tenon/io/json_text.h"

#include <nlohmann/json.hpp>

namespace tenon::io {
namespace {

class Checker : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Checker(const Input& input) : input_(input) {}

  bool null() override { return inside(); }
  bool boolean(bool) override { return inside(); }
  bool number_integer(int64_t) override { return inside(); }
  bool number_unsigned(uint64_t) override { return inside(); }
  bool number_float(double, const string_t&) override { return inside(); }
  bool string(string_t&) override { return inside(); }
  bool binary(binary_t&) override { return inside(); }
  bool start_array(size_t) override { return inside(); }
  bool end_array() override { return true; }
  bool start_object(size_t) override { return is_inside_ = true; }
  bool end_object() override { return true; }
  bool key(string_t&) override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(input_, "is not valid JSON (at byte {} of it)", position);
  }

 private:
  bool inside() const {
    if (!is_inside_) fail(input_, "is not a JSON object");
    return true;
  }

  const Input& input_;
  bool is_inside_ = false;
};

}  // namespace

void check_json_object(const Input& input) {
  const std::string_view text = as_text(input.bytes);
  // The parser takes a zero byte for the end of its input and would not look at what follows.
  if (const size_t zero = text.find('\0'); zero != text.npos) {
    fail(input, "is not valid JSON (at byte {} of it)", zero + 1);
  }
  Checker checker(input);
  nlohmann::json::sax_parse(text, &checker);
}

}  // namespace tenon::io
