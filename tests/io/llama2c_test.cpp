// llama2.c: the published stories260K is read to the byte, and a header that does not fit its file is refused.

#include "tenon/io/llama2c.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

class Stories : public OnSharedData {
 protected:
  Stories() : OnSharedData("stories260K") {}
};

TEST_F(Stories, ModelHasItsConfig) {
  const Llama2cConfig config = load_llama2c(shared_ / "stories260K.bin").config;
  EXPECT_EQ(config.dim, 64);
  EXPECT_EQ(config.hidden_dim, 172);
  EXPECT_EQ(config.n_layers, 5);
  EXPECT_EQ(config.n_heads, 8);
  EXPECT_EQ(config.n_kv_heads, 4);
  EXPECT_EQ(config.vocab_size, 512);
  EXPECT_EQ(config.max_seq_len, 512);
  EXPECT_TRUE(config.shared_classifier);
}

TEST_F(Stories, ModelHasItsWeights) {
  const auto tensors = load_llama2c(shared_ / "stories260K.bin").tensors;
  EXPECT_EQ(tensors.size(), 2U + 5 * 9);
  EXPECT_EQ(tensors.at("tok_embeddings.weight").shape(), (Dims{512, 64}));
  EXPECT_EQ(tensors.at("layers.4.attention.wk.weight").shape(), (Dims{32, 64}));
  EXPECT_EQ(tensors.at("layers.0.feed_forward.w2.weight").shape(), (Dims{64, 172}));
  int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(std::isfinite(tensor.sum().item<float>())) << name;
    elements += tensor.numel();
  }
  EXPECT_EQ(elements, 264128 - 512 * 8);  // less the rotary tables
  EXPECT_EQ(tensors.at("tok_embeddings.weight").index({0, 0}).item<float>(), -0.29474878311157227F);
  EXPECT_EQ(tensors.at("layers.4.feed_forward.w3.weight").index({171, 63}).item<float>(), 0.10603193938732147F);
  EXPECT_EQ(tensors.at("norm.weight").index({63}).item<float>(), 1.7077769041061401F);
}

// Layers of a few bytes each: a file of some megabytes would be gigabytes of names and shapes.
TEST(Llama2cSizes, LayersAreNotCountlessHoweverSmallTheyAre) {
  constexpr int32_t kLayers = 5000;
  const int32_t header[] = {2, 1, kLayers, 1, 1, 1, 1};
  constexpr size_t kPerLayer = 2 + 4 * 4 + 2 + 3 * 2, kFloats = 2 + kLayers * kPerLayer + 2 + 2;
  std::string file(reinterpret_cast<const char*>(header), sizeof header);
  file.resize(file.size() + kFloats * sizeof(float));
  EXPECT_EQ(text_of([&] {
              parse_llama2c({"llama2c", "file", std::as_bytes(std::span(file))});
            }),
            "[llama2c] file: 5000 layers are more than any model has");
}

TEST_F(Stories, TokenizerHasItsPieces) {
  const Llama2cTokenizer tokenizer = load_llama2c_tokenizer(shared_ / "tok512.bin");
  ASSERT_EQ(tokenizer.tokens.size(), 512U);
  EXPECT_EQ(tokenizer.tokens[0].piece, "<unk>");
  EXPECT_EQ(tokenizer.tokens[1].piece, "\n<s>\n");
  EXPECT_EQ(tokenizer.tokens[2].piece, "\n</s>\n");
  EXPECT_EQ(tokenizer.tokens[3].piece, "<0x00>");
  EXPECT_EQ(tokenizer.tokens[260].piece, "he");
  EXPECT_EQ(tokenizer.tokens[260].score, -1);
  EXPECT_EQ(tokenizer.tokens[511].piece, "\u200a");
  EXPECT_EQ(tokenizer.max_token_length, 7);
  for (const Llama2cToken& token : tokenizer.tokens) {
    EXPECT_LE(static_cast<int64_t>(token.piece.size()), tokenizer.max_token_length);
  }
}

class Llama2c : public InFolder {
 protected:
  Llama2c() : InFolder("model.bin") {}

  std::string refusal(const std::string& content) const {
    const fs::path file = write(content);
    return refusal_by("llama2c", file, [&] { load_llama2c(file); });
  }
  std::string tokenizer_refusal(const std::string& content) const {
    const fs::path file = write(content);
    return refusal_by("llama2c", file, [&] { load_llama2c_tokenizer(file); });
  }
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
/// dim 4, hidden 3, one layer, two heads, one of keys and values, 5 tokens, 2 positions.
std::string header(int32_t vocab = 5) { return bytes_of<int32_t>({4, 3, 1, 2, 1, vocab, 2}); }
std::string floats(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return bytes_of(values);
}
constexpr size_t kLayer = 4 + 16 + 8 + 8 + 16 + 4 + 12 + 12 + 12, kShared = 20 + kLayer + 4 + 4;

TEST_F(Llama2c, WeightsLieInTheOrderOfTheFormat) {
  write(header() + floats(kShared));
  const auto tensors = load_llama2c(path()).tensors;
  const auto first = [&](const std::string& name) { return tensors.at(name).flatten().to_vector<float>()[0]; };
  EXPECT_EQ(first("tok_embeddings.weight"), 0);
  EXPECT_EQ(first("layers.0.attention_norm.weight"), 20);
  EXPECT_EQ(first("layers.0.attention.wq.weight"), 24);
  EXPECT_EQ(first("layers.0.attention.wk.weight"), 40);
  EXPECT_EQ(first("layers.0.attention.wv.weight"), 48);
  EXPECT_EQ(first("layers.0.attention.wo.weight"), 56);
  EXPECT_EQ(first("layers.0.ffn_norm.weight"), 72);
  EXPECT_EQ(first("layers.0.feed_forward.w1.weight"), 76);
  EXPECT_EQ(first("layers.0.feed_forward.w2.weight"), 88);
  EXPECT_EQ(first("layers.0.feed_forward.w3.weight"), 100);
  EXPECT_EQ(first("norm.weight"), 112);
  EXPECT_FALSE(tensors.contains("output.weight"));
}

TEST_F(Llama2c, NegativeVocabularyMeansAnOutputLayerOfItsOwn) {
  write(header(-5) + floats(kShared + 20));
  const Llama2cModel model = load_llama2c(path());
  EXPECT_FALSE(model.config.shared_classifier);
  EXPECT_EQ(model.config.vocab_size, 5);
  EXPECT_EQ(model.tensors.at("output.weight")[0].to_vector<float>()[0], static_cast<float>(kShared));
}

TEST_F(Llama2c, FileOfAnotherLengthIsRefused) {
  EXPECT_EQ(refusal(header() + floats(kShared - 1)), "ends inside of freqs_sin, which takes 2 x 1 f32");
  EXPECT_EQ(refusal(header() + floats(kShared + 1)), "has 4 bytes more than its header asks for");
  EXPECT_EQ(refusal(header(-5) + floats(kShared)), "ends inside of output.weight, which takes 5 x 4 f32");
  EXPECT_EQ(refusal(header().substr(0, 27)), "27 bytes are too few for a llama2.c file");
}

TEST_F(Llama2c, HeaderThatCannotBeIsRefused) {
  EXPECT_EQ(refusal(bytes_of<int32_t>({0, 3, 1, 2, 1, 5, 2})), "dim is 0; is this a llama2.c file?");
  EXPECT_EQ(refusal(bytes_of<int32_t>({4, 3, 1, 3, 1, 5, 2})), "dim 4 does not split into 3 heads of even size");
  EXPECT_EQ(refusal(bytes_of<int32_t>({4, 3, 1, 2, 3, 5, 2})), "2 heads cannot share 3 key-value heads");
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max() - 1;
  EXPECT_EQ(refusal(bytes_of<int32_t>({kMost, kMost, kMost, 1, 1, kMost, kMost})),
            "ends inside of tok_embeddings.weight, which takes 2147483646 x 2147483646 f32");
  EXPECT_EQ(refusal(bytes_of<int32_t>({4, 3, 1, 2, 1, std::numeric_limits<int32_t>::min(), 2})),
            "ends inside of tok_embeddings.weight, which takes 2147483648 x 4 f32");
}

TEST_F(Llama2c, LaterVersionsAreRefusedByNumber) {
  EXPECT_EQ(refusal("24ka" + bytes_of<int32_t>({2}) + std::string(248, '\0')),
            "is of version 2 of llama2.c's format; version 0 is read (export.py --version 0)");
}

std::string token(float score, int32_t length, const std::string& piece) {
  return bytes_of<float>({score}) + bytes_of<int32_t>({length}) + piece;
}

TEST_F(Llama2c, TokenizerIsReadToItsEnd) {
  write(bytes_of<int32_t>({3}) + token(-1.5F, 3, "abc") + token(0, 0, "") + token(2, 1, std::string(1, '\0')));
  const auto tokens = load_llama2c_tokenizer(path()).tokens;
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[0].piece, "abc");
  EXPECT_EQ(tokens[0].score, -1.5F);
  EXPECT_EQ(tokens[2].piece, std::string(1, '\0'));
}

TEST_F(Llama2c, BrokenTokenizersAreRefused) {
  const std::string start = bytes_of<int32_t>({3});
  EXPECT_EQ(tokenizer_refusal("abc"), "3 bytes are too few for a tokenizer of llama2.c");
  EXPECT_EQ(tokenizer_refusal(bytes_of<int32_t>({-1})), "max_token_length is -1; is this a tokenizer of llama2.c?");
  EXPECT_EQ(tokenizer_refusal(start + "1234567"), "ends inside of token 0");
  EXPECT_EQ(tokenizer_refusal(start + token(0, 3, "ab")), "ends inside of token 0");
  EXPECT_EQ(tokenizer_refusal(start + token(0, 1, "a") + token(0, 4, "abcd")),
            "token 1 has 4 bytes; at most 3 are announced");
  EXPECT_EQ(tokenizer_refusal(start + token(0, -1, "")), "token 0 has -1 bytes; at most 3 are announced");
  EXPECT_EQ(tokenizer_refusal(start + token(NAN, 0, "")), "the score of token 0 is not a number");
}

}  // namespace
}  // namespace tenon::io
