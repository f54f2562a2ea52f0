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

namespace tenon::io {
class OpenFolder;
}

namespace tenon::text {

/// Whether the names of special tokens in a text, such as <|endoftext|>, are those tokens or just text.
enum class Special { kAsText, kAllowed };

/// Text to tokens and back: the base of all tokenizers.
///   std::unique_ptr<text::Tokenizer> tokenizer = std::make_unique<text::ByteTokenizer>();
///   tokenizer->decode(tokenizer->encode("Hello"));  // Hello
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
  /// What the model expects before a text, if anything. encode() does not add it.
  virtual std::optional<int32_t> begin_of_text() const { return std::nullopt; }
  /// The first place, at or after `from`, where a text may be cut so that the tokens of both parts are those of the
  /// whole, special tokens included. The end of the text where there is no such place.
  virtual size_t cut(std::string_view text, size_t from) const;
  /// "bpe", "char", "byte", "word", "llama2c".
  virtual std::string_view kind() const = 0;
  /// The tokenizer as the text of a tokenizer.json.
  virtual std::string json() const = 0;

  /// The tokens of a text.
  std::vector<int32_t> encode(std::string_view text, Special special = Special::kAsText) const;
  /// Writes the tokenizer so that load_tokenizer reads the same one: a file tokenizer.json in the folder, which is made
  /// if need be. The file is there whole or not at all.
  void save(const std::filesystem::path& folder) const;
  /// The bytes of all tokens in a row. A tokenizer that spells a text otherwise overrides it.
  virtual std::string decode(std::span<const int32_t> ids) const;
};

/// The same tokens as encode, found by all threads (base::num_threads) where the text is long enough.
///   text::encode_parallel(text::ByteTokenizer(), "Hi").size();  // 2
std::vector<int32_t> encode_parallel(const Tokenizer& tokenizer, std::string_view text,
                                     Special special = Special::kAsText);

/// Reads a tokenizer from a file, or from a folder that holds one, whatever its kind.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);
/// The same of an open folder, from which other files of a model are read.
std::unique_ptr<Tokenizer> load_tokenizer(const io::OpenFolder& folder);

}  // namespace tenon::text
