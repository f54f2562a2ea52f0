// Where a text is cut before merging.

#include "tenon/text/pieces.h"

#include "tenon/text/utf8.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

Lines pieces_of(std::string_view text, Pieces::Path path = Pieces::Path::kFast) {
  PieceMatcher matcher;
  Pieces pieces(text, matcher, path);
  Lines found;
  for (std::string_view piece; pieces.next(piece);) found.emplace_back(piece);
  return found;
}

TEST(Pieces, AWordTakesTheBlankBeforeIt) {
  EXPECT_EQ(pieces_of("Hello big world"), (Lines{"Hello", " big", " world"}));
}

TEST(Pieces, ContractionsStandAlone) {
  EXPECT_EQ(pieces_of("we're don't I'll"), (Lines{"we", "'re", " don", "'t", " I", "'ll"}));
  EXPECT_EQ(pieces_of("'she"), (Lines{"'s", "he"}));
  EXPECT_EQ(pieces_of("DON'T"), (Lines{"DON", "'", "T"}));
}

TEST(Pieces, WhiteSpaceLeavesItsLastCharacterToTheNextPiece) {
  EXPECT_EQ(pieces_of("a   b"), (Lines{"a", "  ", " b"}));
  EXPECT_EQ(pieces_of("a\n\nb"), (Lines{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces_of("a   "), (Lines{"a", "   "}));
}

TEST(Pieces, LettersNumbersAndTheRestAreApart) {
  EXPECT_EQ(pieces_of("x1_y"), (Lines{"x", "1", "_", "y"}));
  EXPECT_EQ(pieces_of("日本1２！"), (Lines{"日本", "1２", "！"}));
}

TEST(Pieces, BytesThatAreNoUtf8ArePiecesOfTheirOwn) {
  EXPECT_EQ(pieces_of("ab\xFF\xFE"
                      "cd \xE2\x82 e"),
            (Lines{"ab", "\xFF\xFE", "cd", " ", "\xE2\x82", " e"}));
}

TEST(Pieces, UnicodesWhiteSpaceIsMeantAndNotPcre2s) {
  EXPECT_EQ(pieces_of("a\u00A0\u00A0b"), (Lines{"a", "\u00A0", "\u00A0", "b"}));
  EXPECT_EQ(pieces_of("a\u180Eb"), (Lines{"a", "\u180E", "b"}));
  EXPECT_EQ(pieces_of("\u180E!"), (Lines{"\u180E!"}));  // no white space since Unicode 6.3
  EXPECT_EQ(pieces_of("\x1C!"), (Lines{"\x1C!"}));      // nor is this, though Python's str.isspace says so
}

TEST(Pieces, TheFastPathCutsAsPcre2Does) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = random_text(random, 1 + random() % 12);
    ASSERT_EQ(pieces_of(text), pieces_of(text, Pieces::Path::kPcre2Only)) << testing::PrintToString(text);
  }
}

TEST(Pieces, AllPiecesTogetherAreTheText) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_bytes(random, random() % 40);
    std::string joined;
    for (const std::string& piece : pieces_of(text)) joined += piece;
    ASSERT_EQ(joined, text);
  }
}

TEST(Pieces, AMillionOfOneKindIsOnePiece) {
  for (const std::string part : {"é", "٣", "€", "\u3000", "a", "\xFF"}) {
    std::string text;
    for (int i = 0; i < 1000000; ++i) text += part;
    EXPECT_EQ(pieces_of(text).size(), 1U) << part;
  }
}

TEST(Pieces, ACutChangesNoPiece) {
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random, 12);
    const size_t at = cut_between_pieces(text, random() % text.size());
    Lines joined = pieces_of(std::string_view(text).substr(0, at));
    for (const std::string& piece : pieces_of(std::string_view(text).substr(at))) joined.push_back(piece);
    ASSERT_EQ(joined, pieces_of(text)) << testing::PrintToString(text) << " at " << at;
  }
}

TEST(Utf8, EveryCodePointSurvives) {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const Symbol symbol = first_symbol(text);
    ASSERT_TRUE(symbol.is_valid && symbol.code == code && symbol.length == text.size()) << code;
  }
}

TEST(Utf8, WhatIsValidIsWhatIoCallsValid) {
  std::mt19937 random(4);
  for (int i = 0; i < 50000; ++i) {
    const std::string text = random_text(random, 3) + random_bytes(random, random() % 4);
    ASSERT_EQ(valid_prefix(text) == text.size(), io::is_utf8(text)) << testing::PrintToString(text);
  }
}

TEST(ByteLetters, AreGpt2s) {
  EXPECT_EQ(to_letters(" a\n"), "ĠaĊ");
  EXPECT_EQ(bytes_in_letter_order()[0], '!');
  EXPECT_EQ(from_letters("Ġworld"), " world");
  EXPECT_EQ(from_letters("日"), std::nullopt);
}

}  // namespace
}  // namespace tenon::text
