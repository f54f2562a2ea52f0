// WordPiece: BERT's spelling and cutting, vocabularies of lines, and files both ways.
//
// tests/golden/wordpiece.json has what Hugging Face's tokenizers made of texts at random
// (scripts/compare_wordpiece.py).

#include "tenon/text/wordpiece.h"

#include "tenon/text/unicode.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// The lines of a vocab.txt.
WordPieceModel lines(const std::string& text) {
  return parse_vocabulary_lines({"tokenizer", "vocab.txt", std::as_bytes(std::span(text))});
}
std::string refusal_of_lines(const std::string& text) {
  return io::refusal_by("tokenizer", "vocab.txt", [&] { lines(text); });
}

const std::string kBert = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\nun\n##aff\n##able\n,\n!\n日\ncafe\n";

TEST(WordPiece, GivesTheTokensOfHuggingFace) {
  const auto recorded = nlohmann::json::parse(io::content_of(TENON_SOURCE_DIR "/tests/golden/wordpiece.json"));
  ASSERT_EQ(recorded.size(), 3);
  for (const auto& one : recorded) {
    const auto tokenizer = from_json(one["tokenizer"].get<std::string>());
    const auto again = from_json(tokenizer->json());
    ASSERT_GT(one["cases"].size(), 100);
    for (const auto& expected : one["cases"]) {
      const std::string hex = expected["utf8_hex"], text = from_hex(hex);
      const Ids ids = expected["ids"];
      EXPECT_EQ(tokenizer->encode(text, Special::kAllowed), ids) << hex;
      EXPECT_EQ(tokenizer->decode(ids), expected["decoded"].get<std::string>()) << hex;
      EXPECT_EQ(again->encode(text, Special::kAllowed), ids) << hex;
    }
  }
}

TEST(WordPiece, WordsArePiecedTogetherFromTheLongestTokens) {
  const WordPiece tokenizer(lines(kBert));
  EXPECT_EQ(tokenizer.encode("Hello, UNAFFABLE world!"), (Ids{5, 10, 7, 8, 9, 6, 11}));
  EXPECT_EQ(tokenizer.encode("hello日world"), (Ids{5, 12, 6}));
  EXPECT_EQ(tokenizer.encode("Café unknown"), (Ids{13, 1}));
  EXPECT_EQ(tokenizer.decode(Ids{5, 10, 7, 8, 9, 6, 11}), "hello, unaffable world!");
}

TEST(WordPiece, NamesOfSpecialTokensAreTextUnlessAllowed) {
  const WordPiece tokenizer(lines(kBert));
  EXPECT_EQ(tokenizer.encode("hello[MASK]", Special::kAllowed), (Ids{5, 4}));
  EXPECT_EQ(tokenizer.encode("hello[MASK]"), (Ids{5, 1, 1, 1}));
  EXPECT_EQ(tokenizer.begin_of_text(), 2);
  EXPECT_EQ(tokenizer.end_of_text(), 3);
}

TEST(WordPiece, BytesThatAreNoTextAreLeftOut) {
  const WordPiece tokenizer(lines(kBert));
  EXPECT_EQ(tokenizer.encode("he\xFFllo \xE2\x82 world"), (Ids{5, 6}));
}

TEST(WordPiece, WordsThatAreTooLongAreUnknown) {
  WordPieceModel model = lines("[UNK]\na\n##a\n");
  const WordPiece tokenizer(model);
  EXPECT_EQ(tokenizer.encode(std::string(100, 'a')).size(), 100u);
  EXPECT_EQ(tokenizer.encode(std::string(101, 'a')), (Ids{0}));
}

TEST(WordPiece, ACutChangesNoToken) {
  const WordPiece tokenizer(lines(kBert));
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_text(random, 12);
    const size_t at = tokenizer.cut(text, text.size() / 2);
    Ids joined = tokenizer.encode(text.substr(0, at), Special::kAllowed);
    tokenizer.encode(text.substr(at), joined, Special::kAllowed);
    EXPECT_EQ(joined, tokenizer.encode(text, Special::kAllowed)) << text;
  }
}

TEST(WordPiece, InputsOfBertHaveTokensAroundTheTexts) {
  const WordPiece tokenizer(lines(kBert));
  const BertInput one = tokenizer.encode_for_bert("hello world");
  EXPECT_EQ(one.ids, (Ids{2, 5, 6, 3}));
  EXPECT_EQ(one.types, (Ids{0, 0, 0, 0}));
  const BertInput two = tokenizer.encode_for_bert("hello", "world");
  EXPECT_EQ(two.ids, (Ids{2, 5, 3, 6, 3}));
  EXPECT_EQ(two.types, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(tokenizer.encode_for_bert("hello hello hello", "world", 5).ids, (Ids{2, 5, 3, 6, 3}));
  EXPECT_EQ(text_of([&] { WordPiece(lines("a\n")).encode_for_bert("a"); }),
            "[tokenizer] this vocabulary has no [CLS] and [SEP], which BERT reads around a text");
}

TEST(WordPiece, AListOfWordsIsAVocabulary) {
  const WordPiece tokenizer(lines("the\ncat\nsat\r\n."));
  EXPECT_EQ(tokenizer.vocabulary(), 5);
  EXPECT_EQ(tokenizer.token(4), "<unk>");
  EXPECT_EQ(tokenizer.encode("The cat sat down."), (Ids{0, 1, 2, 4, 3}));
  EXPECT_EQ(WordPiece(lines("<unk>\nthe")).encode("the dog"), (Ids{1, 0}));
}

TEST(WordPiece, CapitalsInTheListKeepThoseOfTexts) {
  EXPECT_TRUE(lines(kBert).spelling.lower_case);
  const WordPiece tokenizer(lines("[UNK]\nThe\nthe\n"));
  EXPECT_EQ(tokenizer.encode("The the THE"), (Ids{1, 2, 0}));
}

TEST(WordPiece, ListsThatAreWrongAreRefused) {
  EXPECT_EQ(refusal_of_lines(""), "is empty");
  EXPECT_EQ(refusal_of_lines("a\n\nb\n"), "line 2 is empty; a vocabulary has one token a line");
  EXPECT_EQ(refusal_of_lines("a\nb 7\n"), "line 2 (\"b 7\") has a blank in it; a vocabulary has one token a line");
  EXPECT_EQ(refusal_of_lines("a\nb\na\n"), "line 3 has \"a\" again, which is in line 1");
  EXPECT_EQ(refusal_of_lines("\xFF\n"), "line 1 is no UTF-8");
}

nlohmann::ordered_json hugging_face() { return nlohmann::ordered_json::parse(WordPiece(lines(kBert)).json()); }

TEST(WordPiece, FilesThatAskForSomethingElseAreRefused) {
  const auto refusal = [](const std::function<void(nlohmann::ordered_json&)>& change) {
    nlohmann::ordered_json json = hugging_face();
    change(json);
    return refusal_of_json(json.dump());
  };
  EXPECT_EQ(refusal([](auto& json) { json["normalizer"]["type"] = "Lowercase"; }),
            "normalizer must be of type BertNormalizer with a WordPiece, not \"Lowercase\"");
  EXPECT_EQ(refusal([](auto& json) { json["pre_tokenizer"]["type"] = "Whitespace"; }),
            "pre_tokenizer must be of type BertPreTokenizer with a WordPiece; others are not supported");
  EXPECT_EQ(refusal([](auto& json) { json["post_processor"]["type"] = "RobertaProcessing"; }),
            "post_processor must be of type TemplateProcessing or BertProcessing with a WordPiece, not "
            "\"RobertaProcessing\"");
  EXPECT_EQ(refusal([](auto& json) { json["model"]["unk_token"] = "none"; }),
            "model has no token \"none\" for words that are unknown");
  EXPECT_EQ(refusal([](auto& json) { json["model"]["vocab"]["hello"] = 99; }),
            "token \"hello\" has number 99, but there are 14 tokens: numbers must run from 0 without a gap");
  EXPECT_EQ(refusal([](auto& json) { json["added_tokens"][0]["id"] = 9; }),
            "token \"[PAD]\" has number 0 in the vocabulary and 9 in added_tokens");
}

TEST(WordPiece, AVocabularyOfTextsHasLettersAndFrequentWords) {
  WordPieceCounter counter({.vocabulary = 17, .min_count = 2});
  counter.add("Tea tea, eat eat eat te");
  const WordPieceModel model = counter.model();
  EXPECT_EQ(model.tokens, (Lines{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", "a", "e", "t", "##,", "##a", "##e",
                                 "##t", "eat", "tea"}));
  EXPECT_EQ(WordPiece(model).encode("TEAT"), (Ids{14, 12}));
  EXPECT_EQ(text_of([] {
              WordPieceCounter small({.vocabulary = 6});
              small.add("ab");
              small.model();
            }),
            "[tokenizer] a vocabulary of 6 has no room for the 2 letters of the texts, alone and inside of words");
}

class WordPieceFiles : public io::InFolder {};

TEST_F(WordPieceFiles, AreFoundByTheirNames) {
  write("vocab.txt", kBert);
  EXPECT_EQ(load_tokenizer(folder_)->encode("HELLO"), (Ids{5}));
  EXPECT_EQ(load_tokenizer(path("vocab.txt"))->kind(), "wordpiece");
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(load_tokenizer(folder_)->encode("HELLO hello"), (Ids{1, 5}));
  EXPECT_EQ(load_tokenizer(path("vocab.txt"))->encode("HELLO"), (Ids{1}));
  EXPECT_EQ(load_tokenizer(write("words.txt", "a\nb"))->encode("b a"), (Ids{1, 0}));
}

TEST_F(WordPieceFiles, ComeBackAsTheyWere) {
  const WordPiece tokenizer(lines(kBert));
  tokenizer.save(folder_);
  const auto again = load_tokenizer(folder_);
  EXPECT_EQ(again->json(), tokenizer.json());
  EXPECT_EQ(again->encode("Hello world"), tokenizer.encode("Hello world"));
}

TEST(Unicode, DecomposesAndOrdersMarks) {
  EXPECT_EQ(decomposed(U"\u01D5"), U"U\u0308\u0304");
  EXPECT_EQ(decomposed(U"\uAC01"), U"\u1100\u1161\u11A8");
  EXPECT_EQ(decomposed(U"a\u0301\u0316"), U"a\u0316\u0301");
  std::u32string lower;
  for (const char32_t code : std::u32string(U"AÉΣİǅ日")) append_lower(lower, code);
  EXPECT_EQ(lower, U"aéσi\u0307ǆ日");
}

}  // namespace
}  // namespace tenon::text
