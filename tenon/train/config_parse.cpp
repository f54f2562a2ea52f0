// JSON to Config, straight from the parser's events: nothing is built on the way, so that a key given twice is seen.

#include <cstdlib>
#include <set>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/io/json.h"
#include "tenon/train/config_keys.h"

namespace tenon::train {
namespace {

using base::fail;
using io::in_quotes;

struct LineAndColumn {
  size_t line = 1, column = 1;
};

LineAndColumn line_and_column(std::string_view text, size_t at) {
  LineAndColumn found;
  for (const char letter : text.substr(0, at)) {
    ++found.column;
    if (letter == '\n') found = {found.line + 1, 1};
  }
  return found;
}

[[noreturn]] void refuse_json(std::string_view text, size_t at, std::string_view name) {
  const auto [line, column] = line_and_column(text, at);
  if (at >= text.size()) fail("config", "{}: line {}, column {}: the JSON ends too early", name, line, column);
  constexpr size_t kShown = 20;
  const std::string_view rest = text.substr(at, kShown);
  fail("config", "{}: line {}, column {}: this is not JSON, at {}", name, line, column,
       in_quotes(rest.substr(0, rest.find('\n'))));
}

// Objects are two deep, { section: { key: value } }, and lists hold texts.
class Reader : public io::JsonEvents {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}
  const Config& config() const { return config_; }

  bool null() override { fail("config", "{}: {} is null; leave it out to get the default", name_, shown_path()); }
  bool boolean(bool value) override { return take(value); }
  bool number_integer(int64_t value) override { return take(value); }
  bool number_unsigned(uint64_t value) override {
    constexpr auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return value <= most ? take(static_cast<int64_t>(value)) : take(static_cast<double>(value));
  }
  bool number_float(double value, const string_t&) override { return take(value); }
  bool string(string_t& value) override { return take(value); }
  bool binary(binary_t&) override { fail("config", "{}: {} is binary", name_, shown_path()); }

  bool start_array(size_t) override {
    if (depth_ == 0) refuse_root();
    const Key& key = known();
    if (in_list_ || !std::holds_alternative<FieldOf<Texts>>(key.field))
      fail("config", "{}: {} is a list; it must be {}", name_, key.path, key.allowed());
    in_list_ = true;
    list_.clear();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return take(list_);
  }

  bool start_object(size_t) override {
    const bool opens_section = depth_ == 1 && is_section(path_);
    if (depth_ > 0 && !opens_section)
      fail("config", "{}: {} is an object; it must be {}", name_, path_, known().allowed());
    if (opens_section) section_ = path_;
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    section_.clear();
    return true;
  }

  bool key(string_t& key) override {
    path_ = section_.empty() ? key : section_ + "." + key;
    const Key* found = find_key(path_);
    if (!found && !(section_.empty() && is_section(path_))) refuse_unknown(path_, name_);
    if (found && found->section() != section_)
      fail("config", "{}: {} stands outside of its section; write it as \"{}\": {{\"{}\": ...}}", name_, path_,
           found->section(), found->name());
    if (!seen_.insert(path_).second) fail("config", "{}: {} is given twice", name_, path_);
    return true;
  }

  bool refuse(size_t at, std::string_view) override { refuse_json(text_, at == 0 ? 0 : at - 1, name_); }

 private:
  static bool is_section(std::string_view name) {
    for (const std::string& section : config_sections()) {
      if (section == name) return true;
    }
    return false;
  }

  [[noreturn]] void refuse_root() const {
    fail("config", "{}: this is no JSON object; a config starts with {{", name_);
  }
  std::string shown_path() const { return path_.empty() ? "the whole file" : path_; }

  const Key& known() const {
    const Key* key = find_key(path_);
    if (!key) fail("config", "{}: {} holds keys; write it as {{ ... }}", name_, shown_path());
    return *key;
  }

  bool take(const Value& value) {
    if (depth_ == 0) refuse_root();
    const Key& key = known();
    if (!in_list_) {
      assign(config_, key, value, name_);
      return true;
    }
    const auto* text = std::get_if<std::string>(&value);
    if (!text) fail("config", "{}: {} holds {}; it must be {}", name_, key.path, text_of_value(value), key.allowed());
    list_.push_back(*text);
    return true;
  }

  std::string_view text_, name_;
  Config config_;
  std::string section_, path_;
  std::set<std::string> seen_;
  Texts list_;
  int depth_ = 0;
  bool in_list_ = false;
};

}  // namespace

std::string default_device_name() { return device::wanted_name(); }

Config parse_config(std::string_view json, std::string_view name) {
  Reader reader(json, name);
  io::read_json(json, reader);
  return reader.config();
}

}  // namespace tenon::train
