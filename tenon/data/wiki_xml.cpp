// The articles of a MediaWiki dump, found by a scanner that knows five tags.
//
// A dump is written by one program and has one shape, so no general XML reader is needed, and none keeps a page of a
// hundred-gigabyte file in less memory than the page itself.

#include "tenon/base/error.h"
#include "tenon/data/byte_stream.h"
#include "tenon/data/documents.h"
#include "tenon/data/entities.h"
#include "tenon/data/lookahead.h"
#include "tenon/io/input.h"

namespace tenon::data {
namespace {

constexpr size_t kLongestTag = size_t{1} << 16;

struct Tag {
  std::string name;  // "/page" where it closes
  bool closes_itself = false;
};

class WikiReader : public DocumentReader {
 public:
  WikiReader(std::unique_ptr<ByteStream> stream, const ReadPosition& from)
      : ahead_(std::move(stream), from.offset), position_(from), is_dump_(from.offset > 0) {}

  bool next(Piece& piece) override {
    Tag tag;
    while (next_tag(tag)) {
      if (tag.name == "mediawiki") is_dump_ = true;
      if (tag.name == "/mediawiki") is_whole_ = true;
      if (tag.name == "page" && !tag.closes_itself && read_page(piece)) {
        position_.offset = ahead_.offset();
        return true;
      }
    }
    if (!is_dump_) fail("is not a MediaWiki dump (it has no <mediawiki>)");
    if (!is_whole_) fail("is cut off: it ends before </mediawiki>");
    position_.offset = ahead_.offset();
    return false;
  }
  ReadPosition position() const override { return position_; }
  int64_t consumed() const override { return ahead_.stream().consumed(); }

 private:
  /// True where the page is an article.
  bool read_page(Piece& piece) {
    std::string space;
    bool is_redirect = false;
    piece = {};
    piece.has_markup = true;
    Tag tag;
    while (next_tag(tag)) {
      if (tag.name == "/page") return space == "0" && !is_redirect && !piece.text.empty();
      if (tag.name == "page") fail("at byte {}: a <page> inside another", ahead_.offset());
      if (tag.name == "redirect") is_redirect = true;
      if (tag.closes_itself) continue;
      if (tag.name == "title") read_content("/title", &piece.title);
      if (tag.name == "ns") read_content("/ns", &space);
      const bool is_wanted = !is_redirect && (space.empty() || space == "0");
      if (tag.name == "text") read_content("/text", is_wanted ? &piece.text : nullptr);
    }
    fail("is cut off: it ends inside a page");
  }

  /// What stands before the closing tag, which must be the next one. Nothing is kept where there is no `into`.
  void read_content(std::string_view closing, std::string* into) {
    if (into) into->clear();
    while (true) {
      const std::string_view view = ahead_.view();
      const size_t open = view.find('<');
      // An entity that the end of the view tears apart waits for the rest of it.
      size_t safe = open == view.npos ? view.size() : open;
      if (open == view.npos) safe = view.size() - std::min<size_t>(view.size(), 16);
      if (into) safe = append_decoded(view.substr(0, open), safe, *into);
      if (into && into->size() > kLongestRecord)
        fail("at byte {}: a page of more than {} MiB", ahead_.offset(), kLongestRecord >> 20);
      ahead_.drop(safe);
      if (open != view.npos) break;
      if (!ahead_.more()) fail("is cut off: it ends inside a page");
    }
    Tag tag;
    if (!next_tag(tag) || tag.name != closing) {
      fail("at byte {}: <{}> stands where <{}> should", ahead_.offset(), io::in_quotes(tag.name), closing);
    }
  }

  /// Decodes the first bytes, and past them to the end of an entity that begins there; returns where it stopped.
  static size_t append_decoded(std::string_view text, size_t bytes, std::string& into) {
    size_t at = 0;
    while (at < bytes) {
      const size_t entity = std::min(text.find('&', at), bytes);
      into.append(text.substr(at, entity - at));
      at = entity;
      if (at == bytes) break;
      const size_t length = append_entity(text.substr(at), Entities::kXml, into);
      if (length == 0) into += '&';
      at += std::max<size_t>(length, 1);
    }
    return at;
  }

  /// Passes over text and comments to the end of the next tag; false at the end of the file.
  bool next_tag(Tag& tag) {
    while (true) {
      if (!skip_to("<")) return false;
      ahead_.fill(4);
      if (!ahead_.view().starts_with("<!--")) break;
      if (!skip_to("-->")) fail("is cut off: it ends inside a comment");
    }
    size_t end;
    while ((end = ahead_.view().find('>')) == std::string_view::npos) {
      if (ahead_.view().size() > kLongestTag)
        fail("at byte {}: a tag of more than {} KiB", ahead_.offset(), kLongestTag >> 10);
      if (!ahead_.more()) fail("is cut off: it ends inside a tag");
    }
    const std::string_view inside = ahead_.view().substr(1, end - 1);
    tag.closes_itself = inside.ends_with('/');
    tag.name = inside.substr(0, inside.find_first_of(" \t\r\n/", 1));
    ahead_.drop(end + 1);
    return true;
  }

  /// Drops everything before these letters, which stay in view.
  bool skip_to(std::string_view letters) {
    while (true) {
      const size_t found = ahead_.view().find(letters);
      if (found != std::string_view::npos) {
        ahead_.drop(found);
        return true;
      }
      const size_t kept = std::min(letters.size() - 1, ahead_.view().size());
      ahead_.drop(ahead_.view().size() - kept);
      if (!ahead_.more()) return false;
    }
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    base::fail("corpus", "{}: {}", ahead_.stream().name(), fmt::format(format, std::forward<Args>(args)...));
  }

  Lookahead ahead_;
  ReadPosition position_;
  bool is_dump_, is_whole_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> read_wiki(std::unique_ptr<ByteStream> stream, const ReadPosition& from) {
  return std::make_unique<WikiReader>(std::move(stream), from);
}

}  // namespace tenon::data
