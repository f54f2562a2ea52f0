#include "tenon/data/sample.h"

#include "tenon/base/error.h"
#include "tenon/io/input.h"

namespace tenon::data {
namespace {

/// "2 tensors: "image", "label"" or "1 tensor".
std::string shown(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  bool has_names = false;
  for (const Field& field : fields) {
    has_names |= !field.name.empty();
    names.push_back(field.name.empty() ? "one without a name" : io::in_quotes(field.name));
  }
  const std::string count = fmt::format("{} tensor{}", fields.size(), fields.size() == 1 ? "" : "s");
  return has_names ? fmt::format("{}: {}", count, fmt::join(names, ", ")) : count;
}

}  // namespace

Sample::Sample(std::initializer_list<Tensor> values) {
  for (const Tensor& value : values) fields_.push_back({"", value});
}
Sample::Sample(std::initializer_list<Field> fields) : Sample(std::vector<Field>(fields)) {}
Sample::Sample(std::vector<Field> fields) {
  fields_.reserve(fields.size());
  for (Field& field : fields) add(std::move(field.name), std::move(field.value));
}

const Tensor& Sample::operator[](int64_t place) const {
  if (place < 0 || place >= size()) base::fail("sample", "there is no tensor {}; it has {}", place, shown(fields_));
  return fields_[static_cast<size_t>(place)].value;
}
const Tensor& Sample::operator[](std::string_view name) const { return (*this)[place_of(name)]; }

bool Sample::contains(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.name == name) return true;
  }
  return false;
}

int64_t Sample::place_of(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (!name.empty() && fields_[i].name == name) return static_cast<int64_t>(i);
  }
  base::fail("sample", "there is no {}; it has {}", io::in_quotes(name), shown(fields_));
}

void Sample::set(int64_t place, Tensor value) {
  static_cast<void>((*this)[place]);  // fails where there is none
  fields_[static_cast<size_t>(place)].value = std::move(value);
}
void Sample::set(std::string_view name, Tensor value) { set(place_of(name), std::move(value)); }

void Sample::add(std::string name, Tensor value) {
  if (!name.empty() && contains(name)) base::fail("sample", "two tensors are called {}", io::in_quotes(name));
  fields_.push_back({std::move(name), std::move(value)});
}

void Sample::require_size(size_t wanted) const {
  if (fields_.size() != wanted) base::fail("sample", "{} tensors are asked for; it has {}", wanted, shown(fields_));
}

}  // namespace tenon::data
