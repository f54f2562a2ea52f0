// The tokenizer of llama2.c: pieces with scores, merged by score, with a token for every byte that no piece covers.
//
// encode() gives what llama2.c's run.c gives, less its begin-of-text token: a blank is put before a text, and of all
// neighbours that form a piece those with the best score are joined first. decode() takes the blank away again.

#pragma once

#include <unordered_map>

#include "tenon/io/llama2c_header.h"
#include "tenon/text/bpe_merge.h"
#include "tenon/text/special_tokens.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

class JsonView;

/// A tokenizer of llama2.c, which text::load_tokenizer() reads.
///   std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer("tok512.bin");
class Llama2cBpe : public Tokenizer {
 public:
  explicit Llama2cBpe(const io::Input& input);  // a file such as tok512.bin
  explicit Llama2cBpe(const JsonView& document);

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override { return static_cast<int64_t>(pieces_.tokens.size()); }
  /// <s>: llama2.c puts it between documents and ends a text where the model says it.
  std::optional<int32_t> end_of_text() const override { return kBegin; }
  std::optional<int32_t> begin_of_text() const override { return kBegin; }
  std::string_view kind() const override { return "llama2c"; }
  std::string json() const override;
  /// <s> and </s> spell nothing, and the blank that encode() put before a text is left out.
  std::string decode(std::span<const int32_t> ids) const override;

 private:
  static constexpr int32_t kBegin = 1, kEnd = 2, kFirstByte = 3;

  Llama2cBpe(const io::Input& input, io::Llama2cTokenizer pieces);
  void encode_part(std::string_view text, std::vector<int32_t>& ids) const;

  io::Llama2cTokenizer pieces_;
  std::vector<std::string> bytes_;                     // what each token spells
  std::unordered_map<std::string_view, int32_t> ids_;  // of pieces, views into bytes_
  int32_t blank_ = 0;
  Merger merger_;
  SpecialTokens specials_;
};

}  // namespace tenon::text
