// Text files. A file is one document unless the mark of the end of a text stands in it; long documents are cut where no
// tokenizer would join what stands on both sides, so that their pieces may be tokenized one by one.

#include <algorithm>

#include "tenon/data/byte_stream.h"
#include "tenon/data/documents.h"
#include "tenon/data/lookahead.h"

namespace tenon::data {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/// Of ASCII: other alphabets have spaces of their own.
bool is_visible(char c) { return c > ' '; }

/// The splitting patterns of GPT-2 and its successors never join a word with the single space behind it; with the end
/// of a line, some of them do join what stands before. Where there is neither, any place between two characters must
/// do.
size_t cut_of(std::string_view view) {
  size_t line_end = 0;
  for (size_t at = kPieceBytes; at > kPieceBytes / 2; --at) {
    const bool is_alone = is_space(view[at]) && is_visible(view[at - 1]) && is_visible(view[at + 1]);
    if (is_alone && view[at] == ' ') return at;
    if (is_alone && line_end == 0) line_end = at;
  }
  if (line_end > 0) return line_end;
  size_t at = kPieceBytes;
  const auto continues = [&] { return (static_cast<unsigned char>(view[at]) & 0xC0) == 0x80; };
  for (int back = 0; back < 3 && continues(); ++back) --at;
  return continues() ? kPieceBytes : at;  // not UTF-8
}

class TextReader : public DocumentReader {
 public:
  TextReader(std::unique_ptr<ByteStream> stream, const ReadPosition& from)
      : ahead_(std::move(stream), from.offset), inside_(from.inside_document) {
    if (from.offset > 0) return;
    ahead_.fill(3);
    if (ahead_.view().starts_with("\xEF\xBB\xBF")) ahead_.drop(3);  // some editors begin UTF-8 with it
  }

  bool next(Piece& piece) override {
    do {
      ahead_.fill(kPieceBytes + kEndOfTextMark.size() + 2);
      if (ahead_.view().empty() && !inside_) return false;
      take(piece);
    } while (piece.text.empty() && !inside_ && !was_inside_);  // nothing between two marks
    return true;
  }
  ReadPosition position() const override { return {ahead_.offset(), 0, inside_}; }
  int64_t consumed() const override { return ahead_.stream().consumed(); }

 private:
  void take(Piece& piece) {
    was_inside_ = inside_;
    const std::string_view view = ahead_.view();
    const size_t mark = view.find(kEndOfTextMark);
    if (mark <= kPieceBytes) {
      piece.text = without_line_end(view.substr(0, mark));
      ahead_.drop(mark + kEndOfTextMark.size());
      drop_line_end();
      inside_ = false;
    } else if (view.size() <= kPieceBytes + 1) {
      piece.text = view;
      ahead_.drop(view.size());
      inside_ = false;
    } else {
      const size_t cut = cut_of(view);
      piece.text = view.substr(0, cut);
      ahead_.drop(cut);
      inside_ = true;
    }
    piece.begins_document = !was_inside_;
    piece.ends_document = !inside_;
  }

  static std::string_view without_line_end(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
  }
  void drop_line_end() {
    const std::string_view after = ahead_.view();
    if (after.starts_with("\r\n")) {
      ahead_.drop(2);
    } else if (after.starts_with('\n')) {
      ahead_.drop(1);
    }
  }

  Lookahead ahead_;
  bool inside_, was_inside_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> read_text(std::unique_ptr<ByteStream> stream, const ReadPosition& from) {
  return std::make_unique<TextReader>(std::move(stream), from);
}

}  // namespace tenon::data
