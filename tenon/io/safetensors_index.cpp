// Reading model.safetensors.index.json: {"metadata": anything, "weight_map": {tensor: file}}.
//
// Streamed like the header of a shard. File names are taken as names beside the index: one that leads elsewhere is
// refused, since an index from anywhere must not make us open files of the reader's choosing.

#include "tenon/io/json.h"
#include "tenon/io/safetensors_header.h"

namespace tenon::io {
namespace {

constexpr std::string_view kWeightMap = "weight_map", kMetadata = "metadata";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

class IndexReader : public JsonEvents {
 public:
  explicit IndexReader(const Input& input) : input_(input) {}

  SafetensorsIndex index;

  bool key(string_t& text) override {
    if (is_in_map())
      begin_tensor(text);
    else if (depth_ == 1)
      begin_field(text);
    return true;
  }
  bool start_object(size_t) override {
    if (is_in_map()) refuse_file();
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    check_no_value();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool string(string_t& text) override {
    if (!is_in_map()) return check_no_value();
    if (!is_plain_name(text)) {
      fail(input_, "tensor {} is said to be in {}, which is no name of a file beside the index", in_quotes(tensor_),
           in_quotes(text));
    }
    index.shard_of.at(tensor_) = std::move(text);
    return true;
  }
  bool null() override { return check_no_value(); }
  bool boolean(bool) override { return check_no_value(); }
  bool number_integer(int64_t) override { return check_no_value(); }
  bool number_unsigned(uint64_t) override { return check_no_value(); }
  bool number_float(double, const string_t&) override { return check_no_value(); }
  bool binary(binary_t&) override { return check_no_value(); }
  bool refuse(size_t at, std::string_view why) override { fail(input_, "{} (at byte {} of it)", why, at); }
  void check_complete() const {
    if (!has_map_) fail(input_, "has no {}", kWeightMap);
  }

 private:
  bool is_in_map() const { return depth_ == 2 && field_ == kWeightMap; }

  void begin_field(const std::string& text) {
    if (text == kWeightMap && has_map_) fail(input_, "has two of {}", kWeightMap);
    if (text != kWeightMap && text != kMetadata) fail(input_, "has an unknown field {}", in_quotes(text));
    has_map_ = has_map_ || text == kWeightMap;
    field_ = text;
  }
  void begin_tensor(const std::string& text) {
    tensor_ = text;
    if (!index.shard_of.try_emplace(text).second) fail(input_, "tensor {} occurs twice", in_quotes(text));
  }
  /// A value that is no object may only stand in the metadata.
  bool check_no_value() const {
    if (depth_ == 0) fail(input_, "is not a JSON object");
    if (is_in_map()) refuse_file();
    if (depth_ == 1 && field_ == kWeightMap) fail(input_, "{} must be a JSON object", kWeightMap);
    return true;
  }
  [[noreturn]] void refuse_file() const { fail(input_, "the file of tensor {} must be a string", in_quotes(tensor_)); }

  const Input& input_;
  size_t depth_ = 0;  // of the containers that are open
  bool has_map_ = false;
  std::string field_, tensor_;
};

}  // namespace

SafetensorsIndex parse_safetensors_index(const Input& input) {
  IndexReader reader(input);
  read_json(as_text(input.bytes), reader);
  reader.check_complete();
  return std::move(reader.index);
}

}  // namespace tenon::io
