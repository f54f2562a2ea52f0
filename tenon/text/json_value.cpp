// Building a document from the events of nlohmann's parser, and asking it.

#include "tenon/text/json_value.h"

#include <algorithm>

#include "tenon/io/json.h"

namespace tenon::text {
namespace {

class Builder : public io::JsonEvents {
 public:
  explicit Builder(const io::Input& input) : input_(input) {}

  Json root;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override {
    return value <= INT64_MAX ? add(static_cast<int64_t>(value)) : add(static_cast<double>(value));
  }
  bool number_float(double value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return add(nullptr); }
  bool start_object(size_t) override { return open(JsonObject()); }
  bool start_array(size_t) override { return open(JsonList()); }
  bool key(string_t& name) override {
    std::get<JsonObject>(open_.back()->value).emplace_back().name = std::move(name);
    return true;
  }
  bool end_object() override {
    check_keys(std::get<JsonObject>(open_.back()->value));
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool refuse(size_t at, std::string_view why) override {
    io::fail(input_, "{} (at byte {} of {})", why, at, input_.bytes.size());
  }

 private:
  /// Where the value that comes next belongs.
  Json& place() {
    if (open_.empty()) return root;
    if (auto* object = std::get_if<JsonObject>(&open_.back()->value)) return object->back().value;
    return std::get<JsonList>(open_.back()->value).emplace_back();
  }
  template <typename T>
  bool add(T&& value) {
    place().value = std::forward<T>(value);
    return true;
  }
  template <typename T>
  bool open(T&& value) {
    // Nothing is added to a list while a value inside of it is open, so the place stays where it is.
    Json& opened = place();
    opened.value = std::forward<T>(value);
    open_.push_back(&opened);
    return true;
  }
  void check_keys(const JsonObject& object) const {
    std::vector<std::string_view> names;
    names.reserve(object.size());
    for (const auto& [name, value] : object) names.emplace_back(name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) io::fail(input_, "the key {} occurs twice in one object", io::in_quotes(*twice));
  }

  const io::Input& input_;
  std::vector<Json*> open_;
};

}  // namespace

Json parse_json(const io::Input& input) {
  const std::string_view text = io::as_text(input.bytes);
  if (text.find_first_not_of(" \t\r\n") == text.npos) io::fail(input, "is empty");
  Builder builder(input);
  io::read_json(text, builder);
  return std::move(builder.root);
}

const JsonObject& JsonView::object() const {
  const auto* object = std::get_if<JsonObject>(&json_->value);
  if (!object) refuse("must be a JSON object");
  return *object;
}
const JsonList& JsonView::list() const {
  const auto* list = std::get_if<JsonList>(&json_->value);
  if (!list) refuse("must be a list");
  return *list;
}
const std::string& JsonView::text() const {
  const auto* text = std::get_if<std::string>(&json_->value);
  if (!text) refuse("must be a string");
  return *text;
}
bool JsonView::boolean() const {
  const auto* boolean = std::get_if<bool>(&json_->value);
  if (!boolean) refuse("must be true or false");
  return *boolean;
}
double JsonView::number() const {
  if (const auto* whole = std::get_if<int64_t>(&json_->value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&json_->value);
  if (!number) refuse("must be a number");
  return *number;
}
int32_t JsonView::whole(int64_t most) const {
  const auto* number = std::get_if<int64_t>(&json_->value);
  if (!number || *number < 0 || *number > most) refuse(fmt::format("must be a whole number from 0 to {}", most));
  return static_cast<int32_t>(*number);
}

const Json* JsonView::find(std::string_view name) const {
  for (const auto& [key, value] : object()) {
    if (key == name) return &value;
  }
  return nullptr;
}
JsonView JsonView::at(std::string_view name) const {
  const Json* found = find(name);
  if (!found) refuse(fmt::format("has no {}", io::in_quotes(name)));
  return {*input_, *found, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name)};
}
bool JsonView::has(std::string_view name) const { return find(name) != nullptr; }
bool JsonView::is_set(std::string_view name) const { return has(name) && !at(name).is_null(); }
bool JsonView::flag(std::string_view name, bool otherwise) const {
  return is_set(name) ? at(name).boolean() : otherwise;
}
JsonView JsonView::item(size_t index) const { return {*input_, list()[index], fmt::format("{}[{}]", path_, index)}; }

void JsonView::refuse(std::string_view message) const {
  if (path_.empty()) io::fail(*input_, "{}", message);
  // A path ends in a name from the file, which may be anything.
  const std::string quoted = io::in_quotes(path_);
  io::fail(*input_, "{} {}", quoted.substr(1, quoted.rfind('"') - 1), message);
}

std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

}  // namespace tenon::text
