// Tokenizer: text to token numbers and back, exactly.
//
//   std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer("gpt2/");
//   std::vector<int32_t> ids = tokenizer->encode("Hello world");
//   std::string same = tokenizer->decode(ids);
//
// Text is bytes: what is not UTF-8 is kept as it is. A tokenizer never changes after it is made, so any number of
// threads may use one.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::text {

/// Whether the names of special tokens in a text, such as <|endoftext|>, are those tokens or just text.
enum class Special { kAsText, kAllowed };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the tokens of a text.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const = 0;
  /// The bytes a token stands for; fails with one line where there is no such token.
  virtual std::string_view token(int32_t id) const = 0;
  /// Token numbers are below this.
  virtual int64_t vocabulary() const = 0;
  /// What separates documents, if the vocabulary has it.
  virtual std::optional<int32_t> end_of_text() const = 0;
  /// "bpe", "char", "byte", "word", "llama2c".
  virtual std::string_view kind() const = 0;
  /// Writes the tokenizer so that load_tokenizer reads the same one: a file tokenizer.json in the folder.
  virtual void save(const std::filesystem::path& folder) const = 0;

  std::vector<int32_t> encode(std::string_view text, Special special = Special::kAsText) const;
  /// The bytes of all tokens in a row. A tokenizer that spells a text otherwise overrides it.
  virtual std::string decode(std::span<const int32_t> ids) const;
};

/// Reads a tokenizer from a file, or from a folder that holds one, whatever its kind.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace tenon::text
