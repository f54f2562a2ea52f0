// One token a byte: nothing to learn, nothing unknown.

#pragma once

#include "tenon/text/special_tokens.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

class JsonView;

/// A tokenizer of bytes.
///   text::ByteTokenizer().encode("Hi")[0];  // 72
class ByteTokenizer : public Tokenizer {
 public:
  /// Tokens 0 to 255 are the bytes; 256 is <|endoftext|> if there is one.
  explicit ByteTokenizer(bool with_end_of_text = false);
  explicit ByteTokenizer(const JsonView& document);

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override { return static_cast<int64_t>(kBytes + specials_.all().size()); }
  std::optional<int32_t> end_of_text() const override { return specials_.end_of_text(); }
  size_t cut(std::string_view text, size_t from) const override;
  std::string_view kind() const override { return "byte"; }
  std::string json() const override;

 private:
  static constexpr int32_t kBytes = 256;
  SpecialTokens specials_;
};

}  // namespace tenon::text
