// One token a character, over the characters of a corpus: nanoGPT's way with Shakespeare.
//
//   text::CharCounter counter;
//   counter.add(shakespeare);
//   text::CharTokenizer tokenizer(counter.model());   // 65 tokens, in the order of their code points
//
// A character that the corpus did not have is refused by name, unless the model has a token for the unknown (<unk>,
// which decodes to U+FFFD). Bytes that are no UTF-8 are characters of their own and come after the others.

#pragma once

#include <set>

#include "tenon/base/flat_map.h"
#include "tenon/text/special_tokens.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

class JsonView;

/// The characters of a vocabulary.
struct CharModel {
  std::vector<uint32_t> characters;                   // code points, ascending
  std::vector<uint8_t> bytes;                         // that stand alone, ascending
  bool has_unknown = false, has_end_of_text = false;  // whether <unk> and <|endoftext|> are tokens
};

/// Collects the characters of texts. A text must not be cut inside of a character.
class CharCounter {
 public:
  /// Takes the characters of a text; makes the vocabulary.
  void add(std::string_view text);
  CharModel model(bool has_unknown = false, bool has_end_of_text = false) const;

 private:
  std::set<uint32_t> characters_;
  std::set<uint8_t> bytes_;
};

/// A tokenizer of characters.
class CharTokenizer : public Tokenizer {
 public:
  explicit CharTokenizer(CharModel model);
  explicit CharTokenizer(const JsonView& document);

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override { return static_cast<int64_t>(tokens_.size()); }
  std::optional<int32_t> end_of_text() const override { return specials_.end_of_text(); }
  size_t cut(std::string_view text, size_t from) const override;
  std::string_view kind() const override { return "char"; }
  std::string json() const override;

 private:
  void encode_part(std::string_view text, std::vector<int32_t>& ids) const;

  CharModel model_;
  std::vector<std::string> tokens_;
  base::FlatMap<uint32_t, int32_t> ids_;  // of code points, and of lone bytes from kLoneByte on
  std::optional<int32_t> unknown_;
  SpecialTokens specials_;
};

}  // namespace tenon::text
