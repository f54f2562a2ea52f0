// Corpora: every kind of file gives its documents, in pieces that can be taken up again anywhere, and broken ones say
// what is broken.

#include "tenon/data/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/data/compressed.h"
#include "tenon/data/stories.h"
#include "tests/data/compress.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

using Documents = std::vector<std::string>;

Documents text_documents(std::string_view text) { return documents_of(*read_text(open_memory(text, "file"))); }
Documents jsonl_documents(std::string_view text, const std::string& field = "text") {
  return documents_of(*read_jsonl(open_memory(text, "file"), field));
}
Documents wiki_documents(std::string_view text) { return documents_of(*read_wiki(open_memory(text, "file"))); }

std::string unpacked(std::string_view packed) {
  const auto stream = decompressed(open_memory(packed, "file"));
  std::string text, step(1000, '\0');
  while (const size_t count = stream->read(step)) text.append(step, 0, count);
  return text;
}

std::string page(const std::string& title, const std::string& text, const std::string& space = "0",
                 const std::string& more = "") {
  return "<page>\n<title>" + title + "</title>\n<ns>" + space + "</ns>\n<id>1</id>\n" + more +
         "<revision><id>2</id><comment>c &lt;x&gt;</comment><text bytes=\"9\" xml:space=\"preserve\">" + text +
         "</text></revision>\n</page>\n";
}
std::string dump(const std::string& pages) {
  return "<mediawiki xmlns=\"x\" version=\"0.11\">\n<siteinfo><sitename>W</sitename></siteinfo>\n" + pages +
         "</mediawiki>\n";
}

// ---- Text ---------------------------------------------------------------------------------------------------------

TEST(TextDocuments, AFileIsADocument) {
  EXPECT_EQ(text_documents("one\ntwo\n"), (Documents{"one\ntwo\n"}));
  EXPECT_EQ(text_documents(""), Documents{});
}

TEST(TextDocuments, TheMarkOfTheEndSeparates) {
  EXPECT_EQ(text_documents("one\n<|endoftext|>\ntwo\r\n<|endoftext|>\r\nthree<|endoftext|>four"),
            (Documents{"one", "two", "three", "four"}));
  EXPECT_EQ(text_documents("<|endoftext|>\n<|endoftext|>one<|endoftext|>"), (Documents{"one"}));
}

TEST(TextDocuments, InvalidUtf8IsKept) {
  const std::string text = "a\xFF\xC3(\x80z";
  EXPECT_EQ(text_documents(text), (Documents{text}));
}

TEST(TextDocuments, AByteOrderMarkIsNoText) { EXPECT_EQ(text_documents("\xEF\xBB\xBFhi"), (Documents{"hi"})); }

TEST(TextDocuments, LongOnesComeInPiecesThatLoseNothing) {
  std::string spaced, unbroken, continuation(1'000'000, '\x80');
  for (int i = 0; i < 200'000; ++i) spaced += "word ";
  for (int i = 0; i < 300'000; ++i) unbroken += "ä";
  for (const std::string& text : {stories(1'000'000, 1), spaced, unbroken, continuation}) {
    const auto reader = read_text(open_memory(text, "file"));
    Piece piece;
    int pieces = 0;
    std::string all;
    while (reader->next(piece)) {
      EXPECT_EQ(piece.begins_document, pieces == 0);
      EXPECT_LE(piece.text.size(), 256 << 10);
      all += piece.text;
      ++pieces;
    }
    EXPECT_TRUE(piece.ends_document);
    EXPECT_GE(pieces, 3);
    EXPECT_EQ(all, text);
  }
}

TEST(TextDocuments, PiecesEndAtWordsOrLinesOrCharacters) {
  const auto first_piece = [](const std::string& text) {
    Piece piece;
    read_text(open_memory(text, "file"))->next(piece);
    return piece.text;
  };
  std::string words, lines, letters = "x";
  for (int i = 0; i < 200'000; ++i) {
    words += " word";
    lines += "word\n";
    letters += "ää";
  }
  EXPECT_TRUE(first_piece(words).ends_with("word"));
  EXPECT_TRUE(first_piece(lines).ends_with("word"));
  EXPECT_TRUE(first_piece(letters).ends_with("ä"));
}

// ---- JSON Lines ---------------------------------------------------------------------------------------------------

TEST(Jsonl, TheFieldOfEachLineIsADocument) {
  EXPECT_EQ(jsonl_documents("{\"text\": \"one\\n\\u00e4\"}\n\n{\"id\": 1, \"text\": \"two\"}"),
            (Documents{"one\nä", "two"}));
  EXPECT_EQ(jsonl_documents("{\"body\": \"one\", \"text\": 1}\r\n", "body"), (Documents{"one"}));
}

TEST(Jsonl, FieldsInsideOthersDoNotCount) {
  EXPECT_EQ(jsonl_documents(R"({"meta": {"text": "no"}, "list": [{"text": "no"}], "text": "yes"})"),
            (Documents{"yes"}));
}

TEST(Jsonl, RefusalsNameTheLine) {
  const auto refusal = [](const std::string& text) { return text_of([&] { jsonl_documents(text); }); };
  const std::string good = "{\"text\": \"one\"}\n";
  EXPECT_EQ(refusal(good + "{\"text\": \n"), "[corpus] file: line 2 is not valid JSON (at byte 11 of it)");
  EXPECT_EQ(refusal(good + good + "{\"title\": 1, \"body\": 2}\n"),
            "[corpus] file: line 3 has no field \"text\" (it has \"title\", \"body\"): choose one with --field");
  EXPECT_EQ(refusal("{}"), "[corpus] file: line 1 has no field \"text\" (it has none): choose one with --field");
  EXPECT_EQ(refusal("{\"text\": 5}"), "[corpus] file: line 1 its field \"text\" is not a string");
  EXPECT_EQ(refusal("{\"text\": [\"a\"]}"), "[corpus] file: line 1 its field \"text\" is not a string");
  EXPECT_EQ(refusal("[\"text\"]"), "[corpus] file: line 1 is not a JSON object");
  EXPECT_EQ(refusal("{\"text\": \"a\"} x"), "[corpus] file: line 1 is not valid JSON (at byte 15 of it)");
  EXPECT_EQ(refusal(std::string("{\"text\": \"a\"}\0", 14)),
            "[corpus] file: line 1 is not valid JSON (at byte 14 of it)");
}

// ---- Wikipedia ----------------------------------------------------------------------------------------------------

TEST(WikiDumps, ArticlesAreDocuments) {
  const std::string text =
      dump(page("Tea", "'''Tea''' is a [[drink]].") + page("User:X", "hello", "2") +
           page("Chai", "x", "0", "<redirect title=\"Tea\" />") + page("A &amp; B", "&lt;b&gt;x&lt;/b&gt;"));
  EXPECT_EQ(wiki_documents(text), (Documents{"Tea\n\nTea is a drink.", "A & B\n\nx"}));
}

TEST(WikiDumps, LongPagesComeWhole) {
  std::string markup, expected;
  for (int i = 0; i < 30'000; ++i) {
    markup += "fish &amp; chips ";
    expected += "fish & chips ";
  }
  expected.pop_back();
  const auto documents = wiki_documents(dump(page("Long", markup)));
  ASSERT_EQ(documents.size(), 1);
  EXPECT_TRUE(documents[0] == "Long\n\n" + expected);
}

TEST(WikiDumps, RefusalsSayWhere) {
  const std::string whole = dump(page("Tea", "text"));
  const auto refusal = [](const std::string& text) { return text_of([&] { wiki_documents(text); }); };
  EXPECT_EQ(refusal("hello"), "[corpus] file: is not a MediaWiki dump (it has no <mediawiki>)");
  EXPECT_EQ(refusal(whole.substr(0, whole.find("</text>"))), "[corpus] file: is cut off: it ends inside a page");
  EXPECT_EQ(refusal(whole.substr(0, whole.find("</page>"))), "[corpus] file: is cut off: it ends inside a page");
  EXPECT_EQ(refusal(whole.substr(0, whole.find("</mediawiki>"))),
            "[corpus] file: is cut off: it ends before </mediawiki>");
  EXPECT_EQ(refusal(whole.substr(0, whole.find("</mediawiki>") + 5)),
            "[corpus] file: is cut off: it ends inside a tag");
  EXPECT_NE(refusal(dump(page("Tea", "a <b> c"))).find("stands where </text> should"), std::string::npos);
}

TEST(WikiDumps, NoCutGoesUnnoticed) {
  const std::string whole = dump(page("Tea", "text") + page("Coffee", "more"));
  for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    EXPECT_NE(text_of([&] { wiki_documents(whole.substr(0, bytes)); }), "nothing was thrown") << bytes;
  }
}

// ---- Taking up a file again ---------------------------------------------------------------------------------------

class Resumed : public InFolder {
 protected:
  /// From every place, a new reader goes on with the same pieces.
  void check(const std::string& name, const std::string& content, size_t least_pieces) {
    const CorpusFile file = list_corpus(std::vector{write(name, content)})[0];
    std::vector<std::string> pieces;
    std::vector<ReadPosition> positions = {ReadPosition{}};
    const auto straight = open_documents(file, "text");
    for (Piece piece; straight->next(piece);) {
      pieces.push_back(piece.text + (piece.begins_document ? "B" : "") + (piece.ends_document ? "E" : ""));
      positions.push_back(straight->position());
    }
    ASSERT_GE(pieces.size(), least_pieces);
    for (size_t from = 0; from < positions.size(); ++from) {
      const auto resumed = open_documents(file, "text", positions[from]);
      size_t at = from;
      for (Piece piece; resumed->next(piece); ++at) {
        const std::string got = piece.text + (piece.begins_document ? "B" : "") + (piece.ends_document ? "E" : "");
        ASSERT_TRUE(got == pieces[at]) << from;
        ASSERT_EQ(resumed->position(), positions[at + 1]);
      }
      EXPECT_EQ(at, pieces.size());
    }
  }
};

TEST_F(Resumed, Text) { check("a.txt", stories(900'000, 1) + "<|endoftext|>" + stories(300'000, 2), 5); }
TEST_F(Resumed, PackedText) { check("a.txt.zst", zstd_packed(stories(900'000, 1)), 4); }
TEST_F(Resumed, Jsonl) { check("a.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"two\"}\n{\"text\": \"\"}\n", 3); }
TEST_F(Resumed, Wiki) { check("a.xml.bz2", bzipped(dump(page("A", "a") + page("B", "b") + page("C", "c", "1"))), 2); }

TEST_F(Resumed, AShorterFileIsRefused) {
  const CorpusFile file = list_corpus(std::vector{write("a.txt", "short")})[0];
  EXPECT_EQ(
      text_of([&] { open_documents(file, "text", {.offset = 100}); }),
      "[corpus] " + path("a.txt").string() + ": is shorter than when it was read before: begin anew with --restart");
}

// ---- Compressed ---------------------------------------------------------------------------------------------------

TEST(Compressed, EveryKindComesBack) {
  const std::string text = stories(300'000, 1);
  EXPECT_TRUE(unpacked(text) == text);
  for (const Packer& packer : kPackers) {
    EXPECT_TRUE(unpacked(packer.pack(text)) == text) << packer.name;
    EXPECT_EQ(unpacked(packer.pack("")), "") << packer.name;
  }
}

TEST(Compressed, StreamsInARowAreOne) {
  for (const Packer& packer : kPackers) {
    std::string packed, text;
    for (int i = 0; i < 300; ++i) {
      text += "stream " + std::to_string(i) + "\n";
      packed += packer.pack("stream " + std::to_string(i) + "\n");
    }
    EXPECT_EQ(unpacked(packed), text) << packer.name;
  }
}

TEST(Compressed, TextThatOnlyLooksPackedIsText) {
  EXPECT_EQ(unpacked("BZhello world"), "BZhello world");
  EXPECT_EQ(unpacked("BZ"), "BZ");
}

TEST(Compressed, DamageIsOneLine) {
  const std::string text = stories(50'000, 1);
  for (const Packer& packer : kPackers) {
    const std::string whole = packer.pack(text);
    const auto refusal = [&](const std::string& packed) {
      const std::string told = text_of([&] { unpacked(packed); });
      const std::string start = "[corpus] file: its " + packer.name + " stream ";
      return told.starts_with(start) ? told.substr(start.size(), told.find(", near") - start.size()) : told;
    };
    EXPECT_EQ(refusal(whole.substr(0, whole.size() / 2)), "is cut off") << packer.name;
    EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)), "is cut off") << packer.name;
    std::string flipped = whole;
    flipped[whole.size() / 2] ^= 16;
    if (packer.name != "zstd") {  // whose frames carry a checksum only when asked to
      EXPECT_EQ(refusal(flipped), "is damaged") << packer.name;
    }
    EXPECT_EQ(refusal(whole + "and more"), "is followed by something else") << packer.name;
  }
}

// ---- Files and folders --------------------------------------------------------------------------------------------

class Corpora : public InFolder {
 protected:
  std::string refusal(const fs::path& input) const {
    return text_of([&] { list_corpus(std::vector{input}); });
  }
};

TEST_F(Corpora, FoldersAreListedInOrder) {
  fs::create_directories(path("b/deep"));
  for (const char* name : {"c.txt", "b/two.jsonl.gz", "b/deep/x", "a.xml.bz2", ".hidden", "b/one.ndjson"})
    write(name, "x");
  std::vector<std::string> found;
  for (const CorpusFile& file : list_corpus(std::vector{folder_})) {
    found.push_back(fs::relative(file.path, folder_).string() + " " + std::string(name(file.format)));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"a.xml.bz2 wiki", "b/deep/x text", "b/one.ndjson jsonl",
                                             "b/two.jsonl.gz jsonl", "c.txt text"}));
}

TEST_F(Corpora, AFormatCanBeGiven) {
  EXPECT_EQ(list_corpus(std::vector{write("a.txt", "x")}, Format::kJsonl)[0].format, Format::kJsonl);
  EXPECT_EQ(text_of([] { format_named("pdf"); }), "[corpus] no format \"pdf\"; there are auto, text, jsonl and wiki");
}

TEST_F(Corpora, RefusalsNameThePath) {
  EXPECT_EQ(refusal(path("none")), "[corpus] " + path("none").string() + ": cannot be read: No such file or directory");
  fs::create_directory(path("empty"));
  EXPECT_EQ(refusal(path("empty")), "[corpus] " + path("empty").string() + ": there are no files in this folder");
  EXPECT_EQ(refusal("/dev/null"), "[corpus] /dev/null: is neither a file nor a folder");
}

TEST_F(Corpora, UnreadableFilesAndFoldersAreRefused) {
  fs::permissions(folder_, fs::perms::all);
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::none);
  fs::permissions(write("secret", "x"), fs::perms::none);
  const AsNobody nobody;
  EXPECT_EQ(refusal(path("locked")), "[corpus] " + path("locked").string() + ": cannot be read: Permission denied");
  EXPECT_EQ(refusal(path("secret")), "[corpus] " + path("secret").string() + ": cannot be read: Permission denied");
}

}  // namespace
}  // namespace tenon::data
