// What is shown while a text is written, and where it ends.

#include "tenon/models/text_writer.h"

#include <gtest/gtest.h>

#include "tenon/models/gpt2.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

using Pieces = std::vector<std::string>;

Pieces shown(const Pieces& added, const Pieces& stops = {}) {
  TextStream stream(stops);
  Pieces pieces;
  for (const std::string& bytes : added) pieces.emplace_back(stream.add(bytes));
  pieces.emplace_back(stream.finish());
  return pieces;
}

TEST(TextStream, HoldsBackHalfACharacter) {
  EXPECT_EQ(shown({"a\xC3",
                   "\xA9"
                   "b"}),
            (Pieces{"a",
                    "é"
                    "b",
                    ""}));
  EXPECT_EQ(shown({"\xF0\x9F", "\x98", "\x80!"}), (Pieces{"", "", "\xF0\x9F\x98\x80!", ""}));
}

TEST(TextStream, LeavesOutACharacterThatIsNeverFinished) { EXPECT_EQ(shown({"a\xE2\x82"}), (Pieces{"a", ""})); }

TEST(TextStream, PassesBytesThatAreNoText) {
  EXPECT_EQ(shown({"\xFF"
                   "a",
                   "\x80\x80\x80\x80"}),
            (Pieces{"\xFF"
                    "a",
                    "\x80\x80\x80\x80", ""}));
}

TEST(TextStream, CutsBeforeAStopStringThatSpansTokens) {
  EXPECT_EQ(shown({"one ST", "O", "P two"}, {"STOP"}), (Pieces{"one ", "", "", ""}));
}

TEST(TextStream, ShowsWhatOnlyLookedLikeAStopString) {
  EXPECT_EQ(shown({"a ST", "AR", "S"}, {"STOP"}), (Pieces{"a ", "STAR", "", "S"}));
  EXPECT_EQ(shown({"aab"}, {"aab!"}), (Pieces{"", "aab"}));
  EXPECT_EQ(shown({"aa", "ab!x"}, {"aab!"}), (Pieces{"", "a", ""}));
}

TEST(TextStream, TheFirstOfSeveralStopStringsCuts) {
  EXPECT_EQ(shown({"x\n\ny END"}, {"END", "\n\n"}), (Pieces{"x", ""}));
}

class Writer : public ::testing::Test {
 protected:
  Writer() : tokenizer_(/*with_end_of_text=*/false), model_(config()) {
    // Initial weights write one byte again and again.
    const NoGrad scaling;
    for (Tensor& parameter : model_.parameters()) parameter.mul_(4.0);
  }
  static Gpt2Config config() {
    manual_seed(4);
    Gpt2Config config;
    config.vocabulary = 256;
    config.positions = 80;
    config.width = 24;
    config.layers = 2;
    config.heads = 3;
    return config.set_dropout(0);
  }
  std::vector<Text> write(const Pieces& prompts, GenerateOptions options, const TextWriter::OnText& on_text = {}) {
    Generator dice(seed_);
    options.generator = &dice;
    return TextWriter(model_, tokenizer_).write(prompts, options, on_text);
  }

  text::ByteTokenizer tokenizer_;
  Gpt2 model_;
  uint64_t seed_ = 9;
};

TEST_F(Writer, PiecesPutTogetherAreTheText) {
  Pieces whole(2);
  const std::vector<Text> texts = write({"abc", "x"}, {.new_tokens = 40, .temperature = 2},
                                        [&](size_t sequence, std::string_view piece) { whole[sequence] += piece; });
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i].text, whole[i]);
    EXPECT_EQ(texts[i].tokens.size(), 40u);
    EXPECT_EQ(texts[i].reason, StopReason::length);
  }
  EXPECT_NE(texts[0].text, texts[1].text);
}

TEST_F(Writer, TheSameSeedGivesTheSameText) {
  const GenerateOptions options{.new_tokens = 20, .temperature = 1.5, .top_k = 50, .repetition_penalty = 1.1};
  const std::string first = write({"abc"}, options)[0].text;
  EXPECT_EQ(write({"abc"}, options)[0].text, first);
  ++seed_;
  EXPECT_NE(write({"abc"}, options)[0].text, first);
}

TEST_F(Writer, StopsBeforeAStringOfSeveralTokens) {
  const GenerateOptions options{.new_tokens = 40, .temperature = 1.5};
  const Text whole = write({"abc"}, options)[0];
  GenerateOptions stopping = options;
  stopping.stop_strings = {whole.text.substr(20, 3)};
  const size_t at = whole.text.find(stopping.stop_strings[0]);
  std::string streamed;
  const Text cut = write({"abc"}, stopping, [&](size_t, std::string_view piece) { streamed += piece; })[0];
  EXPECT_EQ(cut.text, whole.text.substr(0, at));
  EXPECT_EQ(streamed, cut.text);
  EXPECT_EQ(cut.reason, StopReason::string);
  EXPECT_LT(cut.tokens.size(), whole.tokens.size());
}

TEST_F(Writer, EndsAtATokenWithoutShowingIt) {
  const Text whole = write({"abc"}, {.new_tokens = 10})[0];
  const Text ended = write({"abc"}, {.new_tokens = 10, .stop_tokens = {whole.tokens[3]}})[0];
  EXPECT_EQ(ended.reason, StopReason::token);
  EXPECT_EQ(ended.tokens.back(), whole.tokens[3]);
  EXPECT_EQ(ended.text.find(static_cast<char>(whole.tokens[3])), std::string::npos);
}

TEST_F(Writer, SaysWhatIsMissing) {
  EXPECT_EQ(text_of([&] { write({""}, {}); }),
            "[generate] the prompt is empty, and the tokenizer has no token that begins a text; give one");
  EXPECT_EQ(text_of([&] { write({"a"}, {.stop_strings = {""}}); }), "[generate] a string to stop at cannot be empty");
  const text::ByteTokenizer larger(/*with_end_of_text=*/true);
  EXPECT_EQ(text_of([&] { TextWriter(model_, larger); }),
            "[generate] the tokenizer has 257 tokens, the model only 256");
  Gpt2Config masked = config();
  masked.causal = false;
  Gpt2 filler(masked);
  EXPECT_EQ(text_of([&] { TextWriter(filler, tokenizer_); }),
            "[generate] the model was trained to fill in masked tokens and cannot write text");
}

TEST_F(Writer, ATextLongerThanTheContextIsSpelledWhole) {
  TextWriter writer(model_, tokenizer_);
  const Text text = writer.write({"abc"}, {.new_tokens = 300, .temperature = 1})[0];
  ASSERT_EQ(text.tokens.size(), 300u);
  const std::vector<int32_t> ids(text.tokens.begin(), text.tokens.end());
  EXPECT_TRUE(tokenizer_.decode(ids).starts_with(text.text));
  EXPECT_GE(text.text.size(), 297u);  // less at most a character that is not finished
}

}  // namespace
}  // namespace tenon::models
