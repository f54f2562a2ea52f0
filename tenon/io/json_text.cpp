// Checking JSON without building it: the parser keeps one bit for each level of nesting and nothing else.

#include "tenon/io/json_text.h"

#include "tenon/io/json.h"

namespace tenon::io {
namespace {

class Checker : public JsonEvents {
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
  bool refuse(size_t at, std::string_view why) override { fail(input_, "{} (at byte {} of it)", why, at); }

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
  Checker checker(input);
  read_json(as_text(input.bytes), checker);
}

}  // namespace tenon::io
