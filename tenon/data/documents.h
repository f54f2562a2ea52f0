// DocumentReader: the documents of one file, in pieces that fit in memory however large the file is.
//
// A reader can be opened at any place another reader of the same file has been, and goes on with the same pieces: this
// is what makes an interrupted `tenon data prepare` continue, and its result the same bytes.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon::data {

class ByteStream;

/// Part of a document; most documents are one piece.
struct Piece {
  std::string title;  // of an article
  std::string text;
  bool has_markup = false;  // of Wikipedia: plain_text takes it off
  bool begins_document = true, ends_document = true;
};

/// Between two pieces.
struct ReadPosition {
  int64_t offset = 0;  // in what the file holds when decompressed
  int64_t line = 0;    // lines before it, for messages; counted by formats of lines
  bool inside_document = false;

  bool operator==(const ReadPosition&) const = default;
};

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// False at the end. Fails with one line that starts with `[corpus] file` where the file is not what it should be.
  virtual bool next(Piece& piece) = 0;
  /// After the last piece that was given.
  virtual ReadPosition position() const = 0;
  /// Bytes of the file that were read so far.
  virtual int64_t consumed() const = 0;
};

/// A line, page or field longer than this is refused: it would not fit the memory a reader may take.
inline constexpr size_t kLongestRecord = size_t{64} << 20;

/// A document ends where this stands, and at the end of a text file.
inline constexpr std::string_view kEndOfTextMark = "<|endoftext|>";

/// The stream must stand at the place. Invalid UTF-8 is kept as it is.
std::unique_ptr<DocumentReader> read_text(std::unique_ptr<ByteStream> stream, const ReadPosition& from = {});
/// One document a line: the text in a field of its JSON object.
std::unique_ptr<DocumentReader> read_jsonl(std::unique_ptr<ByteStream> stream, std::string field,
                                           const ReadPosition& from = {});
/// The articles of a MediaWiki dump, their text still with its markup: namespace 0, no redirects.
std::unique_ptr<DocumentReader> read_wiki(std::unique_ptr<ByteStream> stream, const ReadPosition& from = {});

}  // namespace tenon::data
