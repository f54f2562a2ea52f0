// Reading the header of a safetensors file.
//
// A file may come from anywhere, so nothing in it is believed: the header goes through a streaming parser that accepts
// only the one shape a header can have (no document is built and nesting cannot grow), and every byte range is checked
// against the file before the first tensor is made.

#include "tenon/io/safetensors_header.h"

#include <algorithm>

#include "tenon/base/nearest.h"
#include "tenon/io/json.h"

namespace tenon::io {
namespace {

constexpr SafetensorsDType kDTypes[] = {
    {"I64", Element::i64}, {"U64", Element::u64}, {"F64", Element::f64},         {"F32", Element::f32},
    {"I32", Element::i32}, {"U32", Element::u32}, {"BF16", Element::bf16},       {"F16", Element::f16},
    {"I16", Element::i16}, {"U16", Element::u16}, {"F8_E4M3", Element::f8_e4m3}, {"F8_E5M2", Element::f8_e5m2},
    {"I8", Element::i8},   {"U8", Element::u8},   {"BOOL", Element::boolean}};
/// Part of the format, but of no tensor here.
constexpr std::string_view kForeignDTypes[] = {"F8_E8M0", "F6_E2M3", "F6_E3M2", "F4", "C64"};

/// A tensor as the header states it, before anything is checked.
struct Entry {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
};

/// Takes the parser's events and accepts exactly {name: {dtype, shape, data_offsets}, "__metadata__": {text: text}}.
class HeaderReader : public JsonEvents {
 public:
  explicit HeaderReader(const Input& input) : input_(input) {}

  std::map<std::string, Entry> entries;
  std::optional<std::map<std::string, std::string>> metadata;

  bool key(string_t& text) override {
    if (at_ == At::names)
      begin_name(text);
    else if (at_ == At::metadata)
      begin_metadata_key(text);
    else
      begin_field(text);
    return true;
  }
  bool start_object(size_t) override {
    if (at_ == At::start)
      at_ = At::names;
    else if (at_ == At::names)
      at_ = entry_ ? At::entry : At::metadata;
    else
      refuse_value();
    return true;
  }
  bool end_object() override {
    if (at_ == At::entry) check_complete();
    at_ = at_ == At::names ? At::start : At::names;
    return true;
  }
  bool start_array(size_t) override {
    if (at_ != At::entry || field_ == "dtype") refuse_value();
    list_ = &(field_ == "shape" ? entry_->shape : entry_->offsets).emplace();
    at_ = At::list;
    return true;
  }
  bool end_array() override {
    at_ = At::entry;
    if (field_ == "data_offsets" && list_->size() != 2) refuse_value();
    return true;
  }
  bool number_unsigned(uint64_t number) override {
    if (at_ != At::list) refuse_value();
    if (list_->size() == kMaxRank) {
      fail(input_, "{} of tensor {} has more than {} numbers", field_, in_quotes(name_), kMaxRank);
    }
    list_->push_back(number);
    return true;
  }
  bool string(string_t& text) override {
    if (at_ == At::metadata)
      metadata->at(name_) = std::move(text);
    else if (at_ == At::entry && field_ == "dtype")
      entry_->dtype = std::move(text);
    else
      refuse_value();
    return true;
  }
  bool null() override { refuse_value(); }
  bool boolean(bool) override { refuse_value(); }
  bool number_integer(int64_t) override { refuse_value(); }
  bool number_float(double, const string_t&) override { refuse_value(); }
  bool binary(binary_t&) override { refuse_value(); }
  bool refuse(size_t at, std::string_view why) override { fail(input_, "the header {} (at byte {} of it)", why, at); }

 private:
  enum class At : uint8_t { start, names, entry, list, metadata };

  void begin_name(const std::string& text) {
    name_ = text;
    entry_ = nullptr;
    if (text == kSafetensorsMetadata) {
      if (metadata) fail(input_, "{} occurs twice in the header", kSafetensorsMetadata);
      metadata.emplace();
      return;
    }
    const auto [place, is_new] = entries.try_emplace(text);
    if (!is_new) fail(input_, "tensor {} occurs twice in the header", in_quotes(text));
    entry_ = &place->second;
  }
  void begin_metadata_key(const std::string& text) {
    name_ = text;
    if (!metadata->try_emplace(text).second)
      fail(input_, "{} has the key {} twice", kSafetensorsMetadata, in_quotes(text));
  }
  void begin_field(const std::string& text) {
    field_ = text;
    const bool known = text == "dtype" || text == "shape" || text == "data_offsets";
    if (!known) fail(input_, "tensor {} has an unknown field {}", in_quotes(name_), in_quotes(text));
    const bool given = text == "dtype"   ? entry_->dtype.has_value()
                       : text == "shape" ? entry_->shape.has_value()
                                         : entry_->offsets.has_value();
    if (given) fail(input_, "tensor {} has the field {} twice", in_quotes(name_), in_quotes(text));
  }
  void check_complete() const {
    const std::string_view missing = !entry_->dtype     ? "dtype"
                                     : !entry_->shape   ? "shape"
                                     : !entry_->offsets ? "data_offsets"
                                                        : "";
    if (!missing.empty()) fail(input_, "tensor {} has no {}", in_quotes(name_), missing);
  }
  /// The value that just came may not stand here; says what may.
  [[noreturn]] void refuse_value() const {
    if (at_ == At::start) fail(input_, "the header is not a JSON object");
    if (!entry_) fail(input_, "{} must map strings to strings", kSafetensorsMetadata);
    if (at_ == At::names) fail(input_, "tensor {} must be a JSON object", in_quotes(name_));
    const std::string_view wanted = field_ == "dtype"   ? "a string"
                                    : field_ == "shape" ? "a list of whole numbers, none negative"
                                                        : "a list of two whole numbers, none negative";
    fail(input_, "{} of tensor {} must be {}", field_, in_quotes(name_), wanted);
  }

  const Input& input_;
  At at_ = At::start;
  std::string name_;        // of the tensor or metadata key being read
  std::string field_;       // of the tensor being read
  Entry* entry_ = nullptr;  // null inside the metadata
  std::vector<uint64_t>* list_ = nullptr;
};

const SafetensorsDType& dtype_named(const Input& input, const std::string& tensor, const std::string& text) {
  std::vector<std::string> known;
  for (const SafetensorsDType& entry : kDTypes) {
    if (entry.name == text) return entry;
    known.emplace_back(entry.name);
  }
  if (std::ranges::find(kForeignDTypes, text) != std::end(kForeignDTypes)) {
    fail(input, "tensor {} has dtype {}, which Tenon does not read (it reads {})", in_quotes(tensor), text,
         fmt::join(known, ", "));
  }
  const std::string near = base::nearest(text, known);
  fail(input, "tensor {} has an unknown dtype {}{}", in_quotes(tensor), in_quotes(text),
       near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

/// A tensor whose offsets match its shape; they count from the end of the header.
struct Placed {
  SafetensorsEntry entry;
  uint64_t begin, end;
};

Placed place(const Input& input, const std::string& name, Entry& entry) {
  const SafetensorsDType& dtype = dtype_named(input, name, *entry.dtype);
  const uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
  const std::optional<uint64_t> bytes = bytes_of(*entry.shape, size_of(dtype.element));
  if (!bytes) fail(input, "tensor {} of shape ({}) is too large", in_quotes(name), fmt::join(*entry.shape, ", "));
  if (begin > end) fail(input, "tensor {} ends at byte {}, before its begin at {}", in_quotes(name), end, begin);
  if (end - begin != *bytes) {
    fail(input, "tensor {} of shape {} and dtype {} needs {} bytes, its data_offsets span {}", in_quotes(name),
         shape_text(*entry.shape), dtype.name, *bytes, end - begin);
  }
  return {{name, dtype.name, dtype.element, std::move(*entry.shape), {}}, begin, end};
}

/// The tensors in the order of their bytes, which follow each other without hole or overlap up to the end of the file.
std::vector<SafetensorsEntry> place_all(const Input& input, std::map<std::string, Entry>& entries,
                                        std::span<const std::byte> data) {
  std::vector<Placed> placed;
  placed.reserve(entries.size());
  for (auto& [name, entry] : entries) placed.push_back(place(input, name, entry));
  std::ranges::sort(placed, {}, [](const Placed& p) { return std::pair(p.begin, p.end); });

  std::vector<SafetensorsEntry> tensors;
  tensors.reserve(placed.size());
  uint64_t covered = 0;
  for (Placed& next : placed) {
    const std::string& name = next.entry.name;
    if (next.end > data.size()) {
      fail(input, "tensor {} ends at byte {} of {} bytes of data", in_quotes(name), next.end, data.size());
    }
    if (next.begin < covered) fail(input, "tensor {} overlaps the tensor before it", in_quotes(name));
    if (next.begin > covered) {
      fail(input, "{} bytes before tensor {} belong to no tensor", next.begin - covered, in_quotes(name));
    }
    covered = next.end;
    next.entry.bytes = data.subspan(next.begin, next.end - next.begin);
    tensors.push_back(std::move(next.entry));
  }
  if (covered != data.size()) fail(input, "the last {} bytes belong to no tensor", data.size() - covered);
  return tensors;
}

std::string_view header_text(const Input& input) {
  const size_t file_bytes = input.bytes.size();
  if (file_bytes < kSafetensorsLengthBytes) fail(input, "{} bytes are too few for a safetensors file", file_bytes);
  const auto length = number_at<uint64_t>(input.bytes, 0);
  if (length > kMaxSafetensorsHeaderBytes) {
    fail(input, "a header of {} bytes is over the limit of {}; is this a safetensors file?", length,
         kMaxSafetensorsHeaderBytes);
  }
  if (length > file_bytes - kSafetensorsLengthBytes) {
    fail(input, "a header of {} bytes does not fit into the file of {} bytes", length, file_bytes);
  }
  const std::string_view header = as_text(input.bytes.subspan(kSafetensorsLengthBytes, length));
  // Blanks in front are against the format's text, but its own reader takes them.
  const size_t start = header.find_first_not_of(" \t\r\n");
  if (start == header.npos || header[start] != '{') fail(input, "the header is not a JSON object");
  return header;
}

}  // namespace

std::span<const SafetensorsDType> safetensors_dtypes() { return kDTypes; }

SafetensorsHeader parse_safetensors(const Input& input) {
  const std::string_view header = header_text(input);
  HeaderReader reader(input);
  read_json(header, reader);
  SafetensorsHeader result;
  result.tensors = place_all(input, reader.entries, input.bytes.subspan(kSafetensorsLengthBytes + header.size()));
  if (reader.metadata) result.metadata = std::move(*reader.metadata);
  return result;
}

}  // namespace tenon::io
