// Reading llama2.c's files: numbers in a fixed order, so the header decides how long the file must be, to the byte.

#include "tenon/io/llama2c_header.h"

#include <cmath>
#include <limits>

namespace tenon::io {
namespace {

constexpr size_t kHeaderBytes = 7 * sizeof(int32_t);
constexpr size_t kMostWeights =
    9 * 4096;  // the file does not spell their names: in memory each takes far more than there
constexpr uint32_t kLaterMagic = 0x616b3432;  // "ak42", of versions 1 and 2

Llama2cConfig read_config(const Input& input) {
  if (input.bytes.size() < kHeaderBytes) fail(input, "{} bytes are too few for a llama2.c file", input.bytes.size());
  if (number_at<uint32_t>(input.bytes, 0) == kLaterMagic) {
    fail(input, "is of version {} of llama2.c's format; version 0 is read (export.py --version 0)",
         number_at<int32_t>(input.bytes, 4));
  }
  const auto field = [&](size_t i) { return int64_t{number_at<int32_t>(input.bytes, i * sizeof(int32_t))}; };
  Llama2cConfig config{field(0), field(1), field(2), field(3), field(4), std::abs(field(5)), field(6), field(5) > 0};

  const std::pair<const char*, int64_t> numbers[] = {{"dim", config.dim},
                                                     {"hidden_dim", config.hidden_dim},
                                                     {"n_layers", config.n_layers},
                                                     {"n_heads", config.n_heads},
                                                     {"n_kv_heads", config.n_kv_heads},
                                                     {"vocab_size", config.vocab_size},
                                                     {"seq_len", config.max_seq_len}};
  for (const auto& [name, number] : numbers) {
    if (number <= 0) fail(input, "{} is {}; is this a llama2.c file?", name, number);
  }
  if (config.dim % config.n_heads != 0 || config.dim / config.n_heads % 2 != 0) {
    fail(input, "dim {} does not split into {} heads of even size", config.dim, config.n_heads);
  }
  if (config.n_heads % config.n_kv_heads != 0) {
    fail(input, "{} heads cannot share {} key-value heads", config.n_heads, config.n_kv_heads);
  }
  return config;
}

/// Cuts the weights off one after the other.
class Cutter {
 public:
  Cutter(const Input& input, Llama2cContent& content) : input_(input), content_(content) {}

  void part(const std::string& name, const std::vector<uint64_t>& shape) {
    const auto bytes = cut(name, shape);
    if (content_.weights.size() > kMostWeights)
      fail(input_, "{} layers are more than any model has", content_.config.n_layers);
    if (!is_computed(name)) content_.weights.push_back({name, shape, bytes});
  }
  void finish() const {
    if (at_ != input_.bytes.size())
      fail(input_, "has {} bytes more than its header asks for", input_.bytes.size() - at_);
  }

 private:
  std::span<const std::byte> cut(const std::string& name, const std::vector<uint64_t>& shape) {
    const std::optional<uint64_t> bytes = bytes_of(shape, sizeof(float));
    if (!bytes || *bytes > input_.bytes.size() - at_) {
      fail(input_, "ends inside of {}, which takes {} f32", name, fmt::join(shape, " x "));
    }
    const auto taken = input_.bytes.subspan(at_, *bytes);
    at_ += *bytes;
    return taken;
  }

  const Input& input_;
  Llama2cContent& content_;
  size_t at_ = kHeaderBytes;
};

}  // namespace

void for_each_part(const Llama2cConfig& config,
                   const std::function<void(const std::string& name, const std::vector<uint64_t>& shape)>& f) {
  const auto dim = static_cast<uint64_t>(config.dim), hidden = static_cast<uint64_t>(config.hidden_dim),
             vocab = static_cast<uint64_t>(config.vocab_size), positions = static_cast<uint64_t>(config.max_seq_len),
             head = dim / static_cast<uint64_t>(config.n_heads),
             kv_dim = head * static_cast<uint64_t>(config.n_kv_heads);
  // The same weight of every layer, which lie together.
  const auto per_layer = [&](const std::string& name, const std::vector<uint64_t>& shape) {
    for (int64_t layer = 0; layer < config.n_layers; ++layer) f(fmt::format("layers.{}.{}.weight", layer, name), shape);
  };
  f("tok_embeddings.weight", {vocab, dim});
  per_layer("attention_norm", {dim});
  per_layer("attention.wq", {dim, dim});
  per_layer("attention.wk", {kv_dim, dim});
  per_layer("attention.wv", {kv_dim, dim});
  per_layer("attention.wo", {dim, dim});
  per_layer("ffn_norm", {dim});
  per_layer("feed_forward.w1", {hidden, dim});
  per_layer("feed_forward.w2", {dim, hidden});
  per_layer("feed_forward.w3", {hidden, dim});
  f("norm.weight", {dim});
  f("freqs_cos", {positions, head / 2});
  f("freqs_sin", {positions, head / 2});
  if (!config.shared_classifier) f("output.weight", {vocab, dim});
}

Llama2cContent parse_llama2c(const Input& input) {
  Llama2cContent content;
  content.config = read_config(input);
  Cutter cutter(input, content);
  for_each_part(content.config, [&](const std::string& name, const std::vector<uint64_t>& shape) {
    cutter.part(name, shape);  // fails where the file ends, however many layers the header claims
  });
  cutter.finish();
  return content;
}

Llama2cTokenizer parse_llama2c_tokenizer(const Input& input) {
  const std::span<const std::byte> bytes = input.bytes;
  constexpr size_t kTokenBytes = sizeof(float) + sizeof(int32_t);
  if (bytes.size() < sizeof(int32_t)) fail(input, "{} bytes are too few for a tokenizer of llama2.c", bytes.size());
  Llama2cTokenizer tokenizer{number_at<int32_t>(bytes, 0), {}};
  if (tokenizer.max_token_length <= 0) {
    fail(input, "max_token_length is {}; is this a tokenizer of llama2.c?", tokenizer.max_token_length);
  }
  for (size_t at = sizeof(int32_t); at < bytes.size();) {
    const size_t token = tokenizer.tokens.size();
    if (bytes.size() - at < kTokenBytes) fail(input, "ends inside of token {}", token);
    const auto score = number_at<float>(bytes, at);
    const int64_t length = number_at<int32_t>(bytes, at + sizeof(float));
    if (!std::isfinite(score)) fail(input, "the score of token {} is not a number", token);
    if (length < 0 || length > tokenizer.max_token_length) {
      fail(input, "token {} has {} bytes; at most {} are announced", token, length, tokenizer.max_token_length);
    }
    at += kTokenBytes;
    if (static_cast<size_t>(length) > bytes.size() - at) fail(input, "ends inside of token {}", token);
    tokenizer.tokens.push_back({std::string(as_text(bytes.subspan(at, static_cast<size_t>(length)))), score});
    at += static_cast<size_t>(length);
  }
  return tokenizer;
}

}  // namespace tenon::io
