// Reading and writing safetensors files.
//
// A file may come from anywhere, so nothing in it is believed: the header goes through a streaming parser that accepts
// only the one shape a header can have (no document is built and nesting cannot grow), and every byte range is checked
// against the file before the first tensor is made. Writing keeps the official order (widest dtype first, then by
// name), so that equal tensors give equal files whichever library wrote them.

#include "tenon/io/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "tenon/base/nearest.h"
#include "tenon/tensor/creation.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "safetensors bytes are little-endian and read as they are");

constexpr size_t kLengthBytes = 8;                 // the header's length, in front of it
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxRank = 64;                    // as PyTorch's; keeps a list of sizes from outgrowing the file
constexpr std::string_view kMetadata = "__metadata__";

struct NamedDType {
  std::string_view name;
  DType dtype;
};
/// In the order the official writer lays tensors out: every tensor starts aligned to its own elements.
constexpr NamedDType kDTypes[] = {{"I64", DType::i64}, {"F64", DType::f64},     {"F32", DType::f32},
                                  {"I32", DType::i32}, {"BF16", DType::bf16},   {"F16", DType::f16},
                                  {"U8", DType::u8},   {"BOOL", DType::boolean}};
/// Part of the format, but of no tensor here.
constexpr std::string_view kForeignDTypes[] = {"I8",      "I16",     "U16",     "U32",     "U64", "F8_E5M2",
                                               "F8_E4M3", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4",  "C64"};

/// A name from a file as one short line, whatever the file put into it.
std::string in_quotes(std::string_view text, bool is_utf8 = true) {
  constexpr size_t kMost = 80;
  const auto inside_letter = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t end = std::min(text.size(), kMost);
  while (end > 0 && end < text.size() && inside_letter(end)) --end;
  std::string line = "\"";
  for (const char letter : text.substr(0, end)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7F || (code >= 0x80 && !is_utf8))
      line += fmt::format("\\x{:02x}", code);
    else
      line += letter;
  }
  return line + (end < text.size() ? "\"..." : "\"");
}

template <typename... Args>
[[noreturn]] void fail(const fs::path& path, fmt::format_string<Args...> format, Args&&... args) {
  base::fail("safetensors", "{}: {}", path.string(), fmt::format(format, std::forward<Args>(args)...));
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

// ---- Reading ------------------------------------------------------------------------------------------------------

/// A tensor as the header states it, before anything is checked.
struct Entry {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
};

/// Takes the parser's events and accepts exactly {name: {dtype, shape, data_offsets}, "__metadata__": {text: text}}.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const fs::path& path) : path_(path) {}

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
      fail(path_, "{} of tensor {} has more than {} numbers", field_, in_quotes(name_), kMaxRank);
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
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(path_, "the header is not valid JSON (at byte {} of it)", position);
  }

 private:
  enum class At : uint8_t { start, names, entry, list, metadata };

  void begin_name(const std::string& text) {
    name_ = text;
    entry_ = nullptr;
    if (text == kMetadata) {
      if (metadata) fail(path_, "{} occurs twice in the header", kMetadata);
      metadata.emplace();
      return;
    }
    const auto [place, is_new] = entries.try_emplace(text);
    if (!is_new) fail(path_, "tensor {} occurs twice in the header", in_quotes(text));
    entry_ = &place->second;
  }
  void begin_metadata_key(const std::string& text) {
    name_ = text;
    if (!metadata->try_emplace(text).second) fail(path_, "{} has the key {} twice", kMetadata, in_quotes(text));
  }
  void begin_field(const std::string& text) {
    field_ = text;
    const bool known = text == "dtype" || text == "shape" || text == "data_offsets";
    if (!known) fail(path_, "tensor {} has an unknown field {}", in_quotes(name_), in_quotes(text));
    const bool given = text == "dtype"   ? entry_->dtype.has_value()
                       : text == "shape" ? entry_->shape.has_value()
                                         : entry_->offsets.has_value();
    if (given) fail(path_, "tensor {} has the field {} twice", in_quotes(name_), in_quotes(text));
  }
  void check_complete() const {
    const std::string_view missing = !entry_->dtype     ? "dtype"
                                     : !entry_->shape   ? "shape"
                                     : !entry_->offsets ? "data_offsets"
                                                        : "";
    if (!missing.empty()) fail(path_, "tensor {} has no {}", in_quotes(name_), missing);
  }
  /// The value that just came may not stand here; says what may.
  [[noreturn]] void refuse_value() const {
    if (at_ == At::start) fail(path_, "the header is not a JSON object");
    if (!entry_) fail(path_, "{} must map strings to strings", kMetadata);
    if (at_ == At::names) fail(path_, "tensor {} must be a JSON object", in_quotes(name_));
    const std::string_view wanted = field_ == "dtype"   ? "a string"
                                    : field_ == "shape" ? "a list of whole numbers, none negative"
                                                        : "a list of two whole numbers, none negative";
    fail(path_, "{} of tensor {} must be {}", field_, in_quotes(name_), wanted);
  }

  const fs::path& path_;
  At at_ = At::start;
  std::string name_;        // of the tensor or metadata key being read
  std::string field_;       // of the tensor being read
  Entry* entry_ = nullptr;  // null inside the metadata
  std::vector<uint64_t>* list_ = nullptr;
};

/// A tensor whose place in the file has been checked; offsets count from the end of the header.
struct Placed {
  const std::string* name;
  DType dtype;
  Dims shape;
  uint64_t begin, end;
};

DType dtype_named(const fs::path& path, const std::string& tensor, const std::string& text) {
  std::vector<std::string> known;
  for (const NamedDType& entry : kDTypes) {
    if (entry.name == text) return entry.dtype;
    known.emplace_back(entry.name);
  }
  if (std::ranges::find(kForeignDTypes, text) != std::end(kForeignDTypes)) {
    fail(path, "tensor {} has dtype {}, which Tenon does not hold (it holds {})", in_quotes(tensor), text,
         fmt::join(known, ", "));
  }
  const std::string near = base::nearest(text, known);
  fail(path, "tensor {} has an unknown dtype {}{}", in_quotes(tensor), in_quotes(text),
       near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

Placed place(const fs::path& path, const std::string& name, const Entry& entry) {
  Placed placed{&name, dtype_named(path, name, *entry.dtype), {}, (*entry.offsets)[0], (*entry.offsets)[1]};
  // Zeros count as one here: the strides of an empty tensor must not overflow either.
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t room = kMost / size_of(placed.dtype);
  uint64_t bytes = size_of(placed.dtype);
  for (const uint64_t size : *entry.shape) {
    room /= std::max<uint64_t>(size, 1);
    if (room == 0) fail(path, "tensor {} of shape ({}) is too large", in_quotes(name), fmt::join(*entry.shape, ", "));
    bytes *= size;
    placed.shape.push_back(static_cast<int64_t>(size));
  }
  if (placed.begin > placed.end) {
    fail(path, "tensor {} ends at byte {}, before its begin at {}", in_quotes(name), placed.end, placed.begin);
  }
  if (placed.end - placed.begin != bytes) {
    fail(path, "tensor {} of shape {} and dtype {} needs {} bytes, its data_offsets span {}", in_quotes(name),
         ir::to_string(placed.shape), *entry.dtype, bytes, placed.end - placed.begin);
  }
  return placed;
}

/// The tensors in the order of their bytes, which follow each other without hole or overlap up to the end of the file.
std::vector<Placed> place_all(const fs::path& path, const std::map<std::string, Entry>& entries, uint64_t data_bytes) {
  std::vector<Placed> placed;
  placed.reserve(entries.size());
  for (const auto& [name, entry] : entries) placed.push_back(place(path, name, entry));
  std::ranges::sort(placed, {}, [](const Placed& p) { return std::pair(p.begin, p.end); });

  uint64_t covered = 0;
  for (const Placed& next : placed) {
    if (next.end > data_bytes) {
      fail(path, "tensor {} ends at byte {} of {} bytes of data", in_quotes(*next.name), next.end, data_bytes);
    }
    if (next.begin < covered) fail(path, "tensor {} overlaps the tensor before it", in_quotes(*next.name));
    if (next.begin > covered) {
      fail(path, "{} bytes before tensor {} belong to no tensor", next.begin - covered, in_quotes(*next.name));
    }
    covered = next.end;
  }
  if (covered != data_bytes) fail(path, "the last {} bytes belong to no tensor", data_bytes - covered);
  return placed;
}

void read_exactly(const fs::path& path, std::ifstream& file, char* target, uint64_t bytes) {
  file.read(target, static_cast<std::streamsize>(bytes));
  if (!file) fail(path, "the file could not be read to its end");
}

std::string read_header(const fs::path& path, std::ifstream& file, uint64_t file_bytes) {
  if (file_bytes < kLengthBytes) fail(path, "{} bytes are too few for a safetensors file", file_bytes);
  std::array<unsigned char, kLengthBytes> digits{};
  read_exactly(path, file, reinterpret_cast<char*>(digits.data()), digits.size());
  const auto length = std::bit_cast<uint64_t>(digits);
  if (length > kMaxHeaderBytes) {
    fail(path, "a header of {} bytes is over the limit of {}; is this a safetensors file?", length, kMaxHeaderBytes);
  }
  if (length > file_bytes - kLengthBytes) {
    fail(path, "a header of {} bytes does not fit into the file of {} bytes", length, file_bytes);
  }
  std::string header(length, '\0');
  read_exactly(path, file, header.data(), length);
  if (!header.starts_with('{')) fail(path, "the header is not a JSON object");
  // The parser takes a zero byte for the end of its input and would not look at what follows.
  if (const size_t zero = header.find('\0'); zero != std::string::npos) {
    fail(path, "the header is not valid JSON (at byte {} of it)", zero + 1);
  }
  return header;
}

Tensor read_tensor(const fs::path& path, std::ifstream& file, const Placed& placed, Device device) {
  std::vector<std::byte> bytes(placed.end - placed.begin);
  read_exactly(path, file, reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (placed.dtype == DType::boolean && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; })) {
    fail(path, "tensor {} is BOOL and holds a byte other than 0 and 1", in_quotes(*placed.name));
  }
  return from_bytes(bytes, placed.shape, Options(placed.dtype, device));
}

// ---- Writing ------------------------------------------------------------------------------------------------------

/// A new file beside the target: takes its place on commit, and is removed if that never comes.
class ReplacingFile {
 public:
  explicit ReplacingFile(const fs::path& shown) : shown_(shown) {
    std::error_code ignored;
    target_ = fs::weakly_canonical(shown, ignored);  // the file behind a link is replaced, not the link
    if (target_.empty()) target_ = shown;
    for (int attempt = 0; file_ < 0; ++attempt) {
      temporary_ = target_;
      temporary_ += fmt::format(".{}-{}.tmp", getpid(), attempt);
      file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno != EEXIST) fail(shown_, "cannot be written: {}", reason(errno));
    }
  }
  ~ReplacingFile() {
    if (file_ >= 0) close(file_);
    if (!committed_) unlink(temporary_.c_str());
  }
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      check(written);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  void commit() {
    check(fsync(file_));
    check(close(std::exchange(file_, -1)));
    check(rename(temporary_.c_str(), target_.c_str()));
    committed_ = true;
    sync_folder();
  }

 private:
  void check(ssize_t result) const {
    if (result < 0) fail(shown_, "cannot be written: {}", reason(errno));
  }
  /// Until its folder is on disk, a renamed file can still be lost with the power.
  void sync_folder() const {
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    const int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(handle);
    const int result = fsync(handle);
    const int error_number = errno;
    close(handle);
    const bool cannot_sync_folders = error_number == EINVAL;  // some network file systems
    if (result < 0 && !cannot_sync_folders) fail(shown_, "its folder cannot be synced: {}", reason(error_number));
  }

  const fs::path& shown_;  // as the caller spelled it, for messages
  fs::path target_, temporary_;
  int file_ = -1;
  bool committed_ = false;
};

size_t layout_rank(DType dtype) {
  return static_cast<size_t>(std::ranges::find(kDTypes, dtype, &NamedDType::dtype) - std::begin(kDTypes));
}

std::string json_string(const fs::path& path, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {  // only this can go wrong with a string
    fail(path, "the text {} is not valid UTF-8", in_quotes(text, false));
  }
}

using Named = std::pair<const std::string, Tensor>;

std::string make_header(const fs::path& path, const std::vector<const Named*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    pairs.reserve(metadata.size());
    for (const auto& [key, text] : metadata) pairs.push_back(json_string(path, key) + ":" + json_string(path, text));
    parts.push_back(fmt::format("\"{}\":{{{}}}", kMetadata, fmt::join(pairs, ",")));
  }
  uint64_t offset = 0;
  for (const Named* named : tensors) {
    const Tensor& tensor = named->second;
    const uint64_t end = offset + static_cast<uint64_t>(tensor.numel()) * size_of(tensor.dtype());
    parts.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                json_string(path, named->first), kDTypes[layout_rank(tensor.dtype())].name,
                                fmt::join(tensor.shape().begin(), tensor.shape().end(), ","), offset, end));
    offset = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(parts, ","));
  header.resize((header.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  if (header.size() > kMaxHeaderBytes) {
    fail(path, "a header of {} bytes is over the limit of {}", header.size(), kMaxHeaderBytes);
  }
  return header;
}

std::vector<const Named*> in_layout_order(const fs::path& path, const std::map<std::string, Tensor>& tensors) {
  std::vector<const Named*> ordered;
  for (const Named& named : tensors) {
    if (named.first == kMetadata) fail(path, "a tensor cannot have the name {}", kMetadata);
    if (!named.second.defined()) fail(path, "tensor {} is undefined", in_quotes(named.first));
    if (named.second.shape().size() > kMaxRank) {
      fail(path, "tensor {} has more than {} dimensions", in_quotes(named.first), kMaxRank);
    }
    ordered.push_back(&named);
  }
  std::ranges::stable_sort(ordered, {}, [](const Named* named) { return layout_rank(named->second.dtype()); });
  return ordered;
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path, Device device) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) fail(path, "is not a regular file");
  const uint64_t file_bytes = fs::file_size(path, error);
  if (error) fail(path, "cannot be read: {}", error.message());
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be read: {}", reason(errno));

  const std::string header = read_header(path, file, file_bytes);
  HeaderReader reader(path);
  nlohmann::json::sax_parse(header, &reader);

  SafetensorsFile result;
  for (const Placed& placed : place_all(path, reader.entries, file_bytes - kLengthBytes - header.size())) {
    result.tensors.emplace(*placed.name, read_tensor(path, file, placed, device));
  }
  if (reader.metadata) result.metadata = std::move(*reader.metadata);
  return result;
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const std::vector<const Named*> ordered = in_layout_order(path, tensors);
  const std::string header = make_header(path, ordered, metadata);
  const uint64_t length = header.size();

  ReplacingFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const Named* named : ordered) file.write(named->second.to_bytes());
  file.commit();
}

}  // namespace tenon::io
