// Token files: what is written comes back, and no damage to a file goes unnoticed.

#include "tenon/data/token_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/data/support.h"

namespace tenon::data {
namespace {

class TokenFiles : public InFolder {
 protected:
  TokenFiles() : InFolder("corpus.tokens") {}

  std::string refusal_of(const fs::path& file, Verify verify = Verify::kEverything) const {
    return io::refusal_by("tokens", file, [&] { TokenFile::open(file, verify); });
  }
  std::string refusal(const std::string& content) const { return refusal_of(write("broken", content)); }
  /// A file of tokens 0 to 99.
  std::string good(int64_t vocabulary = 100) const {
    write_tokens(path(), counting(100), vocabulary);
    return content_of(path());
  }
};

template <typename T>
void put(std::string& content, size_t at, T number) {
  std::memcpy(content.data() + at, &number, sizeof(T));
}
/// Makes both checksums right again after a change.
std::string signed_again(std::string content) {
  const auto bytes = std::as_bytes(std::span(content));
  put(content, 48, checksum_of(bytes.subspan(64)));
  put(content, 56, checksum_of(bytes.first(56)));
  return content;
}

TEST(Checksum, IsXxh64) {
  const auto of = [](std::string_view text) { return checksum_of(std::as_bytes(std::span(text))); };
  // `xxhsum -H1` of the same texts.
  EXPECT_EQ(of(""), 0xEF46DB3751D8E999);
  EXPECT_EQ(of("a"), 0xD24EC4F1A98C6E5B);
  EXPECT_EQ(of("abc"), 0x44BC2CF5AD770999);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1);
}

TEST(Checksum, DoesNotDependOnHowTheBytesArrive) {
  const std::string text(1000, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  for (const size_t step : {1, 7, 31, 32, 33, 999}) {
    Checksum pieces;
    for (size_t at = 0; at < bytes.size(); at += step) pieces.add(bytes.subspan(at, std::min(step, bytes.size() - at)));
    EXPECT_EQ(pieces.value(), checksum_of(bytes)) << step;
  }
}

TEST_F(TokenFiles, SmallVocabulariesTakeTwoBytes) {
  write_tokens(path(), {{0, 1, 65535}}, 65536);
  const auto file = TokenFile::open(path());
  EXPECT_EQ(file->header().token_bytes, 2);
  EXPECT_EQ(file->at(2), 65535);
  EXPECT_EQ(fs::file_size(path()), 64 + 2 * 3);
}

TEST_F(TokenFiles, LargeVocabulariesTakeFourBytes) {
  write_tokens(path(), {{0, 65536, 2147483647}}, int64_t{1} << 31);
  const auto file = TokenFile::open(path());
  EXPECT_EQ(file->header().token_bytes, 4);
  EXPECT_EQ(file->at(2), 2147483647);
}

TEST_F(TokenFiles, HeaderSaysWhatWasWritten) {
  TokenFileWriter writer(path(), {.vocabulary = 300, .tokenizer = 42});
  writer.append({{1, 2}});
  writer.end_document();
  writer.append({{3}});
  writer.end_document();
  writer.commit();
  const auto file = TokenFile::open(path());
  EXPECT_EQ(file->size(), 3);
  EXPECT_EQ(file->vocabulary(), 300);
  EXPECT_EQ(file->header().documents, 2);
  EXPECT_EQ(file->header().tokenizer, 42);
}

TEST_F(TokenFiles, LongFilesComeBack) {
  const auto tokens = counting(3'000'000, 60000);
  write_tokens(path(), tokens, 60000);
  EXPECT_EQ(tokens_in(path()), tokens);
}

TEST_F(TokenFiles, PlacesOutsideAreRefused) {
  good();
  const auto file = TokenFile::open(path());
  EXPECT_EQ(text_of([&] { file->at(100); }), "[tokens] tokens 100 to 101 of a file of 100");
  EXPECT_EQ(text_of([&] { file->at(-1); }), "[tokens] tokens -1 to 0 of a file of 100");
}

TEST_F(TokenFiles, NoFlippedBitGoesUnnoticed) {
  const std::string whole = good();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const io::Input input{"tokens", "f", std::as_bytes(std::span(flipped))};
    EXPECT_NE(text_of([&] { parse_token_file(input, Verify::kEverything); }), "nothing was thrown") << bit;
  }
}

TEST_F(TokenFiles, NoCutGoesUnnoticedEvenWithoutReadingTheTokens) {
  const std::string whole = good();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const io::Input input{"tokens", "f", std::as_bytes(std::span(whole)).first(bytes)};
    EXPECT_NE(text_of([&] { parse_token_file(input, Verify::kHeader); }), "nothing was thrown") << bytes;
  }
}

TEST_F(TokenFiles, RefusalsSayWhatToDo) {
  const std::string whole = good();
  EXPECT_EQ(refusal_of(path("none")), "cannot be read: No such file or directory");
  EXPECT_EQ(refusal("hello"), "is not a token file (it does not begin with TENONTOK); `tenon data prepare` makes one");
  EXPECT_EQ(refusal(whole.substr(0, 40)), "is cut off: 40 bytes, its header alone has 64");
  EXPECT_EQ(refusal(whole.substr(0, 200)),
            "should hold 100 tokens and holds 68: the file is cut off; prepare it again");
  EXPECT_EQ(refusal(whole + "xx"), "should hold 100 tokens and holds 101: the file is damaged; prepare it again");

  std::string flipped = whole;
  flipped[70] ^= 1;
  EXPECT_EQ(refusal(flipped), "its tokens do not match their checksum: the file is damaged; prepare it again");
  flipped = whole;
  flipped[17] ^= 1;
  EXPECT_EQ(refusal(flipped), "its header does not match its checksum: the file is damaged; prepare it again");
}

TEST_F(TokenFiles, HeadersThatAreSignedButWrongAreRefused) {
  const std::string whole = good();
  std::string changed = whole;
  put<uint32_t>(changed, 8, 2);
  EXPECT_EQ(refusal(signed_again(changed)), "is of version 2, this program reads 1: prepare it again");
  changed = whole;
  put<uint32_t>(changed, 12, 3);
  EXPECT_EQ(refusal(signed_again(changed)), "has tokens of 3 bytes; 2 and 4 are known");
  changed = whole;
  put<uint64_t>(changed, 24, 50);
  EXPECT_EQ(refusal(signed_again(changed)), "holds token 99 but its vocabulary is 50: prepare it again");
  changed = whole;
  put<uint64_t>(changed, 32, 101);
  EXPECT_EQ(refusal(signed_again(changed)), "has 101 documents in 100 tokens");
  changed = whole;
  put<uint64_t>(changed, 16, uint64_t{1} << 63);
  EXPECT_NE(refusal(signed_again(changed)).find("should hold 9223372036854775808 tokens"), std::string::npos);
}

TEST_F(TokenFiles, TheHeaderAloneCanBeChecked) {
  std::string flipped = good();
  flipped[70] ^= 1;
  EXPECT_EQ(TokenFile::open(write("flipped", flipped), Verify::kHeader)->size(), 100);
}

TEST_F(TokenFiles, NothingIsThereBeforeCommit) {
  {
    TokenFileWriter writer(path(), {.vocabulary = 10});
    writer.append({{1, 2, 3}});
    writer.sync();
    EXPECT_FALSE(fs::exists(path()));
    const std::string text = text_of([&] { TokenFile::open(TokenFileWriter::partial_path(path())); });
    EXPECT_NE(text.find("is not a token file"), std::string::npos) << text;
  }
  EXPECT_EQ(files(), std::vector<std::string>{});
}

TEST_F(TokenFiles, AFailedWriterLeavesTheOldFile) {
  const std::string before = good();
  {
    TokenFileWriter writer(path(), {.vocabulary = 10});
    writer.append({{1, 2, 3}});
  }
  EXPECT_EQ(content_of(path()), before);
}

TEST_F(TokenFiles, AFullDiskIsOneLine) {
  const FileSizeLimit limit(1 << 16);
  const std::string text = io::refusal_by("tokens", path(), [&] { write_tokens(path(), counting(100'000), 50000); });
  EXPECT_EQ(text, "cannot be written: File too large");
  EXPECT_EQ(files(), std::vector<std::string>{});
}

TEST_F(TokenFiles, TokensOutsideTheVocabularyAreNotWritten) {
  TokenFileWriter writer(path(), {.vocabulary = 10});
  EXPECT_EQ(io::refusal_by("tokens", path(), [&] { writer.append({{10}}); }), "token 10 is not in a vocabulary of 10");
  EXPECT_EQ(io::refusal_by("tokens", path(), [&] { writer.append({{-1}}); }), "token -1 is not in a vocabulary of 10");
}

TEST_F(TokenFiles, UnwritableTargetsAreOneLine) {
  EXPECT_EQ(io::refusal_by("tokens", path("no/folder"), [&] { write_tokens(path("no/folder"), {{1}}, 10); }),
            "cannot be written: No such file or directory");
  EXPECT_EQ(io::refusal_by("tokens", folder_, [&] { write_tokens(folder_, {{1}}, 10); }),
            "cannot be written: it is a folder; name a file");
}

TEST_F(TokenFiles, TwoWritersOfOneFileAreRefused) {
  TokenFileWriter first(path(), {.vocabulary = 10});
  EXPECT_EQ(io::refusal_by("tokens", path(), [&] { TokenFileWriter second(path(), {.vocabulary = 10}); }),
            "another process is writing it");
  first.append({{1}});
  first.commit();
  EXPECT_EQ(tokens_in(path()), std::vector<int32_t>{1});
}

TEST_F(TokenFiles, AContinuedFileIsTheSameFile) {
  const TokenFileOptions options{.vocabulary = 50000, .tokenizer = 7, .keep_unfinished = true};
  Written written;
  {
    TokenFileWriter writer(path(), options);
    writer.append(counting(1000));
    writer.end_document();
    written = writer.sync();
    writer.append(counting(777));  // lost
    writer.sync();
  }
  {
    TokenFileWriter writer(path(), options, written);
    writer.append(counting(500));
    writer.end_document();
    writer.commit();
  }
  TokenFileWriter straight(path("straight"), options);
  straight.append(counting(1000));
  straight.end_document();
  straight.append(counting(500));
  straight.end_document();
  straight.commit();
  EXPECT_EQ(content_of(path()), content_of(path("straight")));
}

TEST_F(TokenFiles, ADamagedPartIsNotContinued) {
  const TokenFileOptions options{.vocabulary = 50000, .keep_unfinished = true};
  Written written;
  {
    TokenFileWriter writer(path(), options);
    writer.append(counting(1000));
    written = writer.sync();
  }
  const fs::path partial = TokenFileWriter::partial_path(path());
  std::string content = content_of(partial);
  content[100] ^= 1;
  write(partial.filename().string(), content);
  const auto go_on = [&] { TokenFileWriter writer(path(), options, written); };
  EXPECT_NE(text_of(go_on).find("is damaged; begin anew with --restart"), std::string::npos);
  fs::resize_file(partial, 1000);
  EXPECT_NE(text_of(go_on).find("has lost bytes; begin anew with --restart"), std::string::npos);
}

TEST_F(TokenFiles, AFileThatIsCutWhileItIsReadIsAnError) {
  write_tokens(path(), counting(100'000), 50000);
  const auto file = TokenFile::open(path());
  fs::resize_file(path(), 8192);
  std::vector<int32_t> some(100);
  const std::string text = text_of([&] { file->copy(90'000, some); });
  EXPECT_EQ(text.find('\n'), text.npos);
  EXPECT_TRUE(text.starts_with("[file] " + path().string() + ": was cut")) << text;
}

}  // namespace
}  // namespace tenon::data
