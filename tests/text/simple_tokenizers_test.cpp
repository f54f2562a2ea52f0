// Bytes, characters and words as tokens.

#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tenon/text/word_tokenizer.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

TEST(ByteTokenizer, ATokenIsAByte) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.encode("a\xFF"), (Ids{'a', 255}));
  EXPECT_EQ(tokenizer.vocabulary(), 256);
  EXPECT_EQ(tokenizer.end_of_text(), std::nullopt);
  std::mt19937 random(1);
  const std::string bytes = random_bytes(random, 5000);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
}

TEST(ByteTokenizer, MayHaveAnEndOfText) {
  const ByteTokenizer tokenizer(true);
  EXPECT_EQ(tokenizer.encode("a<|endoftext|>", Special::kAllowed), (Ids{'a', 256}));
  EXPECT_EQ(tokenizer.decode(Ids{'a', 256}), "a<|endoftext|>");
  EXPECT_EQ(from_json(tokenizer.json())->end_of_text(), 256);
  EXPECT_EQ(text_of([&] { tokenizer.token(257); }), "[tokenizer] there is no token 257; the vocabulary has 0 to 256");
}

CharTokenizer chars(std::string_view corpus, bool has_unknown = false, bool has_end_of_text = false) {
  CharCounter counter;
  counter.add(corpus);
  return CharTokenizer(counter.model(has_unknown, has_end_of_text));
}

TEST(CharTokenizer, NumbersFollowTheCodePoints) {
  const CharTokenizer tokenizer = chars("héllo ol");
  EXPECT_EQ(tokenizer.vocabulary(), 5);
  EXPECT_EQ(tokenizer.encode(" hloé"), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 4, 2, 2, 3}), "héllo");
}

TEST(CharTokenizer, ShakespeareHas65) {
  const fs::path file = io::shared_data() / "tinyshakespeare" / "input.txt";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::string text = io::content_of(file);
  const CharTokenizer tokenizer = chars(text);
  EXPECT_EQ(tokenizer.vocabulary(), 65);
  EXPECT_EQ(tokenizer.encode("First"), (Ids{18, 47, 56, 57, 58}));  // as in nanoGPT
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(CharTokenizer, AnUnknownCharacterIsRefusedByName) {
  EXPECT_EQ(text_of([] { chars("abc").encode("abé"); }),
            "[tokenizer] \"é\" (code point 00E9) is not among the 3 characters of this vocabulary, which has no <unk>");
  EXPECT_EQ(text_of([] { chars("abc").encode("\xFF"); }),
            "[tokenizer] \"\\xff\" (byte 00FF) is not among the 3 characters of this vocabulary, which has no <unk>");
}

TEST(CharTokenizer, OrBecomesTheUnknownToken) {
  const CharTokenizer tokenizer = chars("ab", true, true);
  EXPECT_EQ(tokenizer.encode("axb<|endoftext|>", Special::kAllowed), (Ids{0, 2, 1, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 2, 1}), "a\uFFFDb");
}

TEST(CharTokenizer, BytesThatAreNoUtf8AreCharactersToo) {
  const std::string corpus = "a\xFF\xFE é\xE2\x82";
  const CharTokenizer tokenizer = chars(corpus);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(corpus)), corpus);
  EXPECT_EQ(tokenizer.encode("\x82\xFF"), (Ids{3, 6}));
  EXPECT_EQ(from_json(tokenizer.json())->json(), tokenizer.json());
  EXPECT_EQ(from_json(tokenizer.json())->encode(corpus), tokenizer.encode(corpus));
}

TEST(CharTokenizer, ACutIsBetweenCharacters) {
  const CharTokenizer tokenizer = chars("aé");
  EXPECT_EQ(tokenizer.cut("aéa", 2), 3U);
  EXPECT_EQ(tokenizer.cut("aéa", 1), 1U);
}

TEST(CharTokenizer, FilesThatAreWrongAreRefused) {
  const auto refusal = [](const std::string& characters, const std::string& bytes = "[]") {
    return refusal_of_json("{\"tenon_tokenizer\": \"char\", \"characters\": " + characters + ", \"bytes\": " + bytes +
                           "}");
  };
  EXPECT_EQ(refusal("[\"ab\"]"), "characters[0] must be one character");
  EXPECT_EQ(refusal("[\"\"]"), "characters[0] must be one character");
  EXPECT_EQ(refusal("[\"b\", \"a\"]"),
            "characters[1] must come after the one before it: characters are in the order of their code points");
  EXPECT_EQ(refusal("[1]"), "characters[0] must be a string");
  EXPECT_EQ(refusal("[]", "[97]"), "bytes[0] must be from 128 to 255: others are characters");
  EXPECT_EQ(refusal("[]", "[300]"), "bytes[0] must be a whole number from 0 to 255");
  EXPECT_EQ(refusal("[]", "[200, 200]"), "bytes[1] must be above the one before it");
  EXPECT_EQ(refusal_of_json("{\"tenon_tokenizer\": \"char\"}"), "has no \"characters\"");
}

WordModel words(std::string_view corpus, const WordOptions& options = {}) {
  WordCounter counter;
  counter.add(corpus);
  return counter.model(options);
}

TEST(WordTokenizer, TheMostFrequentComeFirst) { EXPECT_EQ(words("b a b, a b").words, (Lines{" ", "b", "a", ","})); }

TEST(WordTokenizer, AnUnknownWordLeavesTheBlanksAroundIt) {
  const WordTokenizer tokenizer(words("the cat sat on the mat", {.vocabulary = 100}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("the dog sat")), "the <unk> sat");
  EXPECT_EQ(tokenizer.encode("dog"), (Ids{WordTokenizer::kUnknown}));
}

TEST(WordTokenizer, KnownTextComesBackExactly) {
  const std::string text = "One, two;\n\n  three 'n' four... é\xFF\t5 don't";
  const WordTokenizer tokenizer(words(text));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(from_json(tokenizer.json())->encode(text), tokenizer.encode(text));
  EXPECT_EQ(from_json(tokenizer.json())->json(), tokenizer.json());
}

TEST(WordTokenizer, TheVocabularyIsLimitedByCountOrSize) {
  EXPECT_EQ(words("a a b", {.min_count = 2}).words, (Lines{" ", "a"}));
  const WordTokenizer tokenizer(words("a a a b b c", {.vocabulary = 4, .has_end_of_text = true}));
  EXPECT_EQ(tokenizer.vocabulary(), 4);
  EXPECT_EQ(tokenizer.encode("a c<|endoftext|>", Special::kAllowed), (Ids{2, 1, 0, 3}));
  EXPECT_EQ(text_of([] { words("a", {.vocabulary = 1}); }), "[tokenizer] a vocabulary of 1 has no room for words");
}

TEST(WordTokenizer, FilesThatAreWrongAreRefused) {
  const auto refusal = [](const std::string& words) {
    return refusal_of_json("{\"tenon_tokenizer\": \"word\", \"words\": " + words + "}");
  };
  EXPECT_EQ(refusal("[\"a\", \"b\", \"a\"]"), "words has \"a\" twice");
  EXPECT_EQ(refusal("[\"日\"]"), "words[0] is not a word in the letters of GPT-2's files");
  EXPECT_EQ(refusal("{}"), "words must be a list");
}

}  // namespace
}  // namespace tenon::text
