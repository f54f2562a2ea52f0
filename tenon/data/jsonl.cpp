// JSON Lines: of each line one field is wanted, so each is parsed without building it: deep or wide objects beside the
// field cost no memory.

#include "tenon/base/error.h"
#include "tenon/data/byte_stream.h"
#include "tenon/data/documents.h"
#include "tenon/data/lookahead.h"
#include "tenon/io/json.h"

namespace tenon::data {
namespace {

/// Keeps the string that stands in one field of the outermost object.
class FieldFinder : public io::JsonEvents {
 public:
  FieldFinder(const std::string& field, std::string& text) : field_(field), text_(text) {}

  bool is_object = false, found = false, is_string = true;
  std::string fault;   // why the line is not read
  std::string others;  // the names of other fields, to be shown

  bool null() override { return other_value(); }
  bool boolean(bool) override { return other_value(); }
  bool number_integer(int64_t) override { return other_value(); }
  bool number_unsigned(uint64_t) override { return other_value(); }
  bool number_float(double, const string_t&) override { return other_value(); }
  bool binary(binary_t&) override { return other_value(); }
  bool string(string_t& value) override {
    if (wanted_) text_ = std::move(value);
    wanted_ = false;
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 0) is_object = true;
    ++depth_;
    return other_value();
  }
  bool end_object() override { return ended(); }
  bool start_array(size_t) override {
    ++depth_;
    return other_value();
  }
  bool end_array() override { return ended(); }
  bool key(string_t& name) override {
    if (depth_ != 1 || !is_object) return true;
    wanted_ = name == field_;
    found = found || wanted_;
    if (!wanted_ && others.size() < 100) others += (others.empty() ? "" : ", ") + io::in_quotes(name);
    return true;
  }
  bool refuse(size_t at, std::string_view why) override {
    fault = fmt::format("{} (at byte {} of it)", why, at);
    return false;
  }

 private:
  bool other_value() {
    if (wanted_) is_string = false;
    wanted_ = false;
    return true;
  }
  bool ended() {
    --depth_;
    return true;
  }

  const std::string& field_;
  std::string& text_;
  bool wanted_ = false;
  int64_t depth_ = 0;
};

class JsonlReader : public DocumentReader {
 public:
  JsonlReader(std::unique_ptr<ByteStream> stream, std::string field, const ReadPosition& from)
      : ahead_(std::move(stream), from.offset), field_(std::move(field)), line_(from.line) {}

  bool next(Piece& piece) override {
    piece = {};
    while (true) {
      const size_t length = line_length();
      const std::string_view line = ahead_.view().substr(0, length);
      if (line.empty()) return false;
      ++line_;
      const bool is_blank = line.find_first_not_of(" \t\r\n") == line.npos;
      if (!is_blank) parse(line, piece.text);
      ahead_.drop(length);
      if (!is_blank) return true;
    }
  }
  ReadPosition position() const override { return {ahead_.offset(), line_, false}; }
  int64_t consumed() const override { return ahead_.stream().consumed(); }

 private:
  /// With its end; what is left where there is none.
  size_t line_length() {
    size_t searched = 0;
    while (true) {
      const size_t end = ahead_.view().find('\n', searched);
      if (end != std::string_view::npos) return end + 1;
      searched = ahead_.view().size();
      if (searched > kLongestRecord) {
        ++line_;
        fail("is longer than {} MiB", kLongestRecord >> 20);
      }
      if (!ahead_.more()) return searched;
    }
  }

  void parse(std::string_view line, std::string& text) const {
    FieldFinder finder(field_, text);
    if (!io::read_json(line, finder)) fail("{}", finder.fault);
    if (!finder.is_object) fail("is not a JSON object");
    if (!finder.found) {
      fail("has no field {} (it has {}): choose one with --field", io::in_quotes(field_),
           finder.others.empty() ? "none" : finder.others);
    }
    if (!finder.is_string) fail("its field {} is not a string", io::in_quotes(field_));
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    base::fail("corpus", "{}: line {} {}", ahead_.stream().name(), line_,
               fmt::format(format, std::forward<Args>(args)...));
  }

  Lookahead ahead_;
  std::string field_;
  int64_t line_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl(std::unique_ptr<ByteStream> stream, std::string field,
                                           const ReadPosition& from) {
  return std::make_unique<JsonlReader>(std::move(stream), std::move(field), from);
}

}  // namespace tenon::data
