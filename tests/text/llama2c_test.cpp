// llama2.c's tokenizer, against what it recorded and against its own loop.

#include "tenon/io/llama2c.h"

#include "tenon/text/llama2c_tokenizer.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

class OnStories : public io::OnSharedData {
 protected:
  OnStories() : OnSharedData("stories260K") {}
  nlohmann::json recorded() const { return nlohmann::json::parse(io::content_of(shared_ / "golden_greedy.json")); }
};

TEST_F(OnStories, TheRecordedTextHasTheRecordedTokens) {
  const auto tokenizer = load_tokenizer(shared_ / "tok512.bin");
  const Ids tokens = recorded()["tokens"].get<Ids>();
  const std::string text = recorded()["text"];
  EXPECT_EQ(tokenizer->decode(tokens), text);
  // A model may spell a text otherwise than merging does; up to there the tokens are the same.
  Ids ids = {*tokenizer->begin_of_text()};
  tokenizer->encode(text, ids);
  EXPECT_EQ(ids, tokens);
}

TEST_F(OnStories, AnyBytesComeBack) {
  const auto tokenizer = load_tokenizer(shared_);
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const std::string text = i % 2 ? random_bytes(random, random() % 100) : random_text(random, random() % 50);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << testing::PrintToString(text);
  }
}

/// The loop of llama2.c's run.c.
Ids encoded_by_run_c(const io::Llama2cTokenizer& pieces, const std::string& text) {
  const auto find = [&](const std::string& piece) {
    for (size_t id = 259; id < pieces.tokens.size(); ++id) {
      if (pieces.tokens[id].piece == piece) return static_cast<int32_t>(id);
    }
    return -1;
  };
  Ids ids;
  if (!text.empty()) ids.push_back(find(" "));
  std::string letter;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) letter.clear();
    letter += text[i];
    if (i + 1 < text.size() && (text[i + 1] & 0xC0) == 0x80 && letter.size() < 4) continue;
    if (const int32_t id = find(letter); id != -1)
      ids.push_back(id);
    else
      for (const char byte : letter) ids.push_back(static_cast<unsigned char>(byte) + 3);
    letter.clear();
  }
  while (true) {
    float best_score = -1e10F;
    int32_t best_id = -1;
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto piece = [&](size_t at) { return pieces.tokens[static_cast<size_t>(ids[at])].piece; };
      const int32_t id = find(piece(i) + piece(i + 1));
      if (id == -1 || pieces.tokens[static_cast<size_t>(id)].score <= best_score) continue;
      best_score = pieces.tokens[static_cast<size_t>(id)].score;
      best_id = id;
      best_at = i;
    }
    if (best_id == -1) return ids;
    ids[best_at] = best_id;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
}

TEST_F(OnStories, TokensAreThoseOfRunC) {
  const auto tokenizer = load_tokenizer(shared_);
  const io::Llama2cTokenizer pieces = io::load_llama2c_tokenizer(shared_ / "tok512.bin");
  std::mt19937 random(2);
  const std::string story = recorded()["text"];
  for (int i = 0; i < 60; ++i) {
    const std::string text = i % 2 ? random_text(random, 30) : story.substr(random() % 500, random() % 120);
    ASSERT_EQ(tokenizer->encode(text), encoded_by_run_c(pieces, text)) << testing::PrintToString(text);
  }
}

TEST_F(OnStories, NamesOfTheBordersAreTokensWhereAllowed) {
  const auto tokenizer = load_tokenizer(shared_);
  Ids expected = {1};
  tokenizer->encode("Once", expected);
  expected.push_back(2);
  EXPECT_EQ(tokenizer->encode("<s>Once</s>", Special::kAllowed), expected);
  EXPECT_EQ(tokenizer->decode(expected), "Once");
  EXPECT_EQ(tokenizer->end_of_text(), 1);
}

TEST_F(OnStories, SavedAsJsonItIsTheSame) {
  const auto tokenizer = load_tokenizer(shared_);
  tokenizer->save(folder_);
  const auto again = load_tokenizer(folder_);
  EXPECT_EQ(again->kind(), "llama2c");
  EXPECT_TRUE(again->json() == tokenizer->json());
  const std::string story = recorded()["text"];
  EXPECT_EQ(again->encode(story), tokenizer->encode(story));
}

std::string document(const std::function<void(nlohmann::json&)>& change = [](auto&) {}) {
  nlohmann::json pieces = nlohmann::json::array();
  for (const char* name : {"<unk>", "<s>", "</s>"}) pieces.push_back(nlohmann::json::array({name, 0}));
  for (int byte = 0; byte < 256; ++byte) pieces.push_back(nlohmann::json::array({fmt::format("<0x{:02X}>", byte), 0}));
  for (const char* piece : {"Ġ", "a", "b", "ab", "Ġa"}) {
    pieces.push_back(nlohmann::json::array({piece, -1.0 * static_cast<double>(pieces.size())}));
  }
  change(pieces);
  return nlohmann::json{{"tenon_tokenizer", "llama2c"}, {"pieces", pieces}}.dump();
}

TEST(Llama2cBpe, TheBestScoreIsMergedFirst) {
  const auto tokenizer = from_json(document());
  EXPECT_EQ(tokenizer->encode("ab"), (Ids{259, 262}));
  EXPECT_EQ(tokenizer->encode("aab"), (Ids{263, 262}));
  EXPECT_EQ(tokenizer->encode(""), Ids());
}

// Every piece can be cut in a thousand ways; hashing both parts of each anew took 4 GB of letters here, for 4 MB.
TEST(Llama2cBpe, LongPiecesAreCutInOnePass) {
  std::mt19937 random(1);
  const auto tokenizer = from_json(document([&](auto& pieces) {
    for (int piece = 0; piece < 4000; ++piece) {
      std::string letters(1024, 'a');
      for (char& letter : letters) letter = random() % 2 ? 'a' : 'b';
      pieces.push_back(nlohmann::json::array({letters, -1000}));
    }
    for (const char* piece : {"ba", "aba", "abab"}) pieces.push_back(nlohmann::json::array({piece, -900}));
  }));
  const int32_t first = 264 + 4000;
  EXPECT_EQ(tokenizer->encode("ba"), (Ids{259, first}));
  EXPECT_EQ(tokenizer->token(first + 2), "abab");
  EXPECT_EQ(tokenizer->encode("babab"), (Ids{259, 261, first + 2}));  // of "ab" and "ab"
}

TEST(Llama2cBpe, NamesOfBytesInATextAreText) {
  const auto tokenizer = from_json(document());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<0x41>")), "<0x41>");
}

TEST(Llama2cBpe, FilesThatAreWrongAreRefused) {
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p.erase(p.begin() + 100, p.end()); })),
            "100 tokens are too few: <unk>, <s>, </s> and 256 bytes come first");
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p[68][0] = "A"; })), "token 68 must be <0x41>, not \"A\"");
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p[259][0] = "x"; })),
            "there is no token for the blank, which comes before every text");
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p[0] = 1; })), "pieces[0] must be a list");
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p[0][1] = 1e300; })), "pieces[0] has a score that is no number");
  EXPECT_EQ(refusal_of_json(document([](auto& p) { p[260][0] = std::string(2000, 'x'); })),
            "token 260 has more than 1024 bytes");
}

}  // namespace
}  // namespace tenon::text
