// Reading the header of .npy files: a magic, a version, a length, and a Python dict as text.
//
// numpy evaluates the text as Python; here a small reader takes the only form that numpy has ever written, three keys
// with a string, a flag and a tuple, and refuses everything else.

#include "tenon/io/npy_header.h"

#include <charconv>
#include <limits>

namespace tenon::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NamedElement {
  std::string_view code;
  Element element;
};
constexpr NamedElement kElements[] = {
    {"f8", Element::f64}, {"f4", Element::f32}, {"f2", Element::f16}, {"i8", Element::i64},
    {"i4", Element::i32}, {"i2", Element::i16}, {"i1", Element::i8},  {"u8", Element::u64},
    {"u4", Element::u32}, {"u2", Element::u16}, {"u1", Element::u8},  {"b1", Element::boolean},
};

/// What numpy calls the types that start with a letter, for those that no tensor can hold.
std::string_view kind_of(char letter) {
  switch (letter) {
    case 'c': return "complex numbers";
    case 'U': return "text";
    case 'S':
    case 'a': return "byte strings";
    case 'O': return "Python objects";
    case 'M': return "dates";
    case 'm': return "time spans";
    case 'V': return "raw bytes";
    case 'f': return "floats of another width";
    default: return "something unknown";
  }
}

/// Walks over the dict.
class DictReader {
 public:
  DictReader(const Input& input, std::string_view text) : input_(input), text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        once(has_descr, key);
        read_descr(header);
      } else if (key == "fortran_order") {
        once(has_order, key);
        header.fortran_order = flag();
      } else if (key == "shape") {
        once(has_shape, key);
        header.shape = sizes();
      } else {
        fail(input_, "the header has an unknown key {}", in_quotes(key));
      }
      if (take('}')) break;
      expect(',');
    }
    skip_blanks();
    if (at_ != text_.size()) refuse();
    if (!has_descr || !has_order || !has_shape) {
      fail(input_, "the header has no {}", !has_descr ? "descr" : !has_order ? "fortran_order" : "shape");
    }
    return header;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(input_, "the header is not the dict that numpy writes (at byte {})", at_ + 1);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) refuse();
  }
  void once(bool& given, std::string_view key) const {
    if (given) fail(input_, "the header has the key {} twice", in_quotes(key));
    given = true;
  }
  std::string_view quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = text_.find(quote, at_);
    if (end == text_.npos) refuse();
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }
  bool flag() {
    skip_blanks();
    for (const std::string_view word : {"False", "True"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail(input_, "fortran_order must be True or False");
  }
  std::vector<uint64_t> sizes() {
    std::vector<uint64_t> shape;
    expect('(');
    while (!take(')')) {
      if (shape.size() == kMaxRank) fail(input_, "the shape has more than {} numbers", kMaxRank);
      shape.push_back(size());
      if (take(')')) break;
      expect(',');
    }
    return shape;
  }
  uint64_t size() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '-') fail(input_, "the shape has a negative number");
    uint64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error == std::errc::result_out_of_range) fail(input_, "the shape has a number beyond 64 bits");
    if (error != std::errc()) refuse();
    at_ += static_cast<size_t>(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long of Python 2
    return number;
  }

  void read_descr(NpyHeader& header) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') {
      fail(input_, "the array is structured (its dtype is a list of fields), which Tenon does not hold");
    }
    header.descr = quoted();
    std::string_view code = header.descr;
    const char order = code.empty() ? '?' : code[0];
    if (order != '<' && order != '>' && order != '|' && order != '=') {
      fail(input_, "the dtype {} has no byte order", in_quotes(header.descr));
    }
    code.remove_prefix(1);
    for (const NamedElement& known : kElements) {
      if (known.code != code) continue;
      header.element = known.element;
      header.big_endian = order == '>';
      return;
    }
    fail(input_, "the dtype {} ({}) is one that Tenon does not hold", in_quotes(header.descr),
         kind_of(code.empty() ? '?' : code[0]));
  }

  const Input& input_;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy(const Input& input) {
  const std::span<const std::byte> bytes = input.bytes;
  if (!as_text(bytes).starts_with(kMagic)) fail(input, "is no npy file: it does not start with \\x93NUMPY");
  const size_t version_at = kMagic.size(), length_at = version_at + 2;
  if (bytes.size() < length_at) fail(input, "{} bytes are too few for an npy file", bytes.size());
  const int major = static_cast<int>(bytes[version_at]), minor = static_cast<int>(bytes[version_at + 1]);
  if (major < 1 || major > 3 || minor != 0) fail(input, "version {}.{} of the npy format is unknown", major, minor);
  const size_t length_bytes = major == 1 ? 2 : 4, begin = length_at + length_bytes;
  if (bytes.size() < begin) fail(input, "{} bytes are too few for an npy file", bytes.size());
  const size_t length = major == 1 ? number_at<uint16_t>(bytes, length_at) : number_at<uint32_t>(bytes, length_at);
  if (length > bytes.size() - begin) {
    fail(input, "a header of {} bytes does not fit into {} bytes", length, bytes.size());
  }

  NpyHeader header = DictReader(input, as_text(bytes.subspan(begin, length))).read();
  const std::optional<uint64_t> wanted = bytes_of(header.shape, size_of(header.element));
  if (!wanted) fail(input, "the shape {} is too large", shape_text(header.shape));
  header.data = bytes.subspan(begin + length);
  if (header.data.size() != *wanted) {
    fail(input, "an array of shape {} and dtype {} needs {} bytes, {} are there", shape_text(header.shape),
         in_quotes(header.descr), *wanted, header.data.size());
  }
  return header;
}

std::vector<std::byte> elements_of(const Input& input, const NpyHeader& header) {
  const size_t bytes = size_of(header.element);
  std::vector<std::byte> own;
  std::span<const std::byte> elements = header.data;
  if (header.big_endian) elements = own = swapped(bytes, elements);
  if (header.fortran_order) {
    Strided columns{0, header.shape, std::vector<uint64_t>(header.shape.size())};
    uint64_t stride = 1;
    for (size_t i = 0; i < columns.shape.size(); ++i) {
      columns.strides[i] = stride;
      stride *= columns.shape[i];
    }
    elements = own = gathered(bytes, elements, columns);
  }
  if (const std::string_view fault = fault_in(header.element, elements); !fault.empty()) {
    fail(input, "the array of dtype {} holds {}", in_quotes(header.descr), fault);
  }
  return widened(header.element, elements);
}

}  // namespace tenon::io
