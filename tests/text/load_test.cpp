// Finding a tokenizer: which files are looked for, and what is said where there is none.

#include <chrono>

#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/special_tokens.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

class LoadTokenizer : public io::InFolder {
 protected:
  std::string refusal(const fs::path& path) {
    return io::refusal_by("tokenizer", path, [&] { load_tokenizer(path); });
  }
};

TEST_F(LoadTokenizer, ReadsVocabularyAndMergesFromTheirFolderOrByName) {
  const TinyFiles files({"a b"});
  for (const auto& [vocabulary, merges] :
       {std::pair("vocab.json", "merges.txt"), std::pair("encoder.json", "vocab.bpe")}) {
    write(vocabulary, files.vocabulary_text());
    write(merges, files.merges);
    for (const fs::path& place : {folder_, path(vocabulary), path(merges)}) {
      EXPECT_EQ(load_tokenizer(place)->encode("ab"), (Ids{256})) << place;
    }
    fs::remove(path(vocabulary));
    fs::remove(path(merges));
  }
}

TEST_F(LoadTokenizer, TakesTokenizerJsonFirst) {
  write("vocab.json", "{}");
  ByteTokenizer().save(folder_);
  EXPECT_EQ(load_tokenizer(folder_)->kind(), "byte");
}

TEST_F(LoadTokenizer, ReadsTokenizerJsonUnderAnyName) {
  const fs::path file = write("mine", ByteTokenizer().json());
  EXPECT_EQ(load_tokenizer(file)->kind(), "byte");
}

TEST_F(LoadTokenizer, SaysWhatItLookedFor) {
  EXPECT_EQ(refusal(path("nowhere")), "there is no such file or folder");
  EXPECT_EQ(refusal(folder_),
            "holds no tokenizer (looked for tokenizer.json, vocab.json with merges.txt, encoder.json with vocab.bpe, "
            "vocab.txt, tok*.bin)");
  const std::string none =
      "is no tokenizer: neither a JSON object, a .txt file with one token a line nor a .bin file of llama2.c";
  EXPECT_EQ(refusal(write("notes.md", "hello")), none);
  EXPECT_EQ(refusal(write("notes.txt", "hello world")),
            "line 1 (\"hello world\") has a blank in it; a vocabulary has one token a line");
  EXPECT_EQ(refusal(write("tokenizer.json", "[]")), none);
  EXPECT_EQ(refusal(write("tokenizer.json", "{}")),
            "is no tokenizer.json: it has neither \"model\" nor \"tenon_tokenizer\"");
  EXPECT_EQ(refusal(write("tokenizer.json", "")), "is empty");
  EXPECT_EQ(refusal(write("tokenizer.json", "{\"tenon_tokenizer\": \"morse\"}")),
            "tenon_tokenizer is \"morse\", not one of byte, char, word, llama2c");
}

TEST_F(LoadTokenizer, MissesTheOtherFileByName) {
  write("vocab.json", TinyFiles().vocabulary_text());
  EXPECT_TRUE(text_of([&] { load_tokenizer(folder_); }).starts_with("[tokenizer] " + path("merges.txt").string()));
}

TEST_F(LoadTokenizer, OfSeveralBinFilesOneMustBeNamed) {
  write("tok512.bin", "");
  write("tok4096.bin", "");
  EXPECT_EQ(refusal(folder_), "holds several tokenizers (tok4096.bin, tok512.bin ...); name one of the files");
}

TEST_F(LoadTokenizer, ADiskThatIsFullLeavesTheOldFile) {
  ByteTokenizer(true).save(folder_);
  const std::string before = io::content_of(path("tokenizer.json"));
  {
    const io::FileSizeLimit full(10);
    EXPECT_TRUE(text_of([&] { TinyFiles().tokenizer().save(folder_); }).starts_with("[tokenizer] "));
  }
  EXPECT_EQ(io::content_of(path("tokenizer.json")), before);
  EXPECT_EQ(files(), (Lines{"tokenizer.json"}));
}

// Each place of a text was once compared with every name: a page took minutes.
TEST(SpecialTokensTest, TensOfThousandsAreFast) {
  std::vector<SpecialToken> many;
  for (int32_t i = 0; i < 20'000; ++i) many.push_back({fmt::format("<|extra_{}|>", i), i});
  const SpecialTokens tokens(many);
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 10 == 0 ? "<|extra_19999|>" : "<|extra_";
  const auto start = std::chrono::steady_clock::now();
  int64_t found = 0;
  tokens.split(
      text, Special::kAllowed, [](std::string_view) {}, [&](int32_t id) { found += id == 19999; });
  for (size_t at = 0; at < 100'000; at += 7) tokens.is_cut(text, at);
  EXPECT_EQ(found, 20'000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(SpecialTokensTest, TheLongestOfSeveralWins) {
  const SpecialTokens tokens({{"<a>", 1}, {"<a><b>", 2}, {"<b>", 3}});
  std::vector<int32_t> ids;
  std::string rest;
  tokens.split(
      "x<a><b><a>y<b", Special::kAllowed, [&](std::string_view part) { rest += part; },
      [&](int32_t id) { ids.push_back(id); });
  EXPECT_EQ(ids, (std::vector<int32_t>{2, 1}));
  EXPECT_EQ(rest, "xy<b");
  EXPECT_EQ(tokens.find("<b>"), 3);
  EXPECT_EQ(tokens.find("<a"), std::nullopt);
  EXPECT_TRUE(tokens.is_cut("x<a><b>", 4));
  EXPECT_FALSE(tokens.is_cut("x<a>", 4));
}

}  // namespace
}  // namespace tenon::text
