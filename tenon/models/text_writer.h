// TextWriter: text from prompts, as text.
//
//   models::TextWriter writer(*loaded.model, *loaded.tokenizer);
//   auto texts = writer.write({"Once upon a time"}, {.new_tokens = 100, .temperature = 0.8, .stop_strings = {"\n\n"}},
//                             [](size_t, std::string_view piece) { fmt::print("{}", piece); });
//
// Pieces arrive as soon as they are sure to belong to the text: whole characters, and nothing that may turn out to be
// the begin of a stop string. Put together they are the text.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/models/decoder.h"
#include "tenon/text/tokenizer.h"

namespace tenon::models {

/// Why a text ended: it is as long as it may be, at a token, or at a string.
enum class StopReason : uint8_t { length, token, string };
/// "length", "token", "string".
///   models::name(models::StopReason::length);  // length
std::string_view name(StopReason reason);

/// A text that was written.
struct Text {
  std::string text;                        // what follows the prompt, without what it stopped at
  std::vector<int64_t> tokens;             // all that were drawn
  StopReason reason = StopReason::length;  // why it ended
};

/// The text of one sequence as it grows, without what is not sure yet. Bytes that are no UTF-8 are passed on as they
/// are.
class TextStream {
 public:
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Takes more bytes; returns what may be shown now.
  std::string_view add(std::string_view bytes);
  /// Nothing follows: what is left may be shown, but for a character that lacks bytes.
  std::string_view finish();
  /// Whether a stop string has come; the text ends before it.
  bool has_stopped() const { return has_stopped_; }
  const std::string& text() const { return text_; }

 private:
  size_t sure_end() const;
  std::string_view show_up_to(size_t end);

  std::vector<std::string> stops_;
  std::string text_;
  size_t shown_ = 0;
  bool has_stopped_ = false;
};

/// A model and its tokenizer, which write texts.
class TextWriter {
 public:
  /// Both must outlive it.
  TextWriter(CausalLm& model, const text::Tokenizer& tokenizer);

  using OnText = std::function<void(size_t sequence, std::string_view piece)>;
  /// The texts behind the prompts, all in one batch. They end at the tokenizer's end of text too.
  std::vector<Text> write(const std::vector<std::string>& prompts, const GenerateOptions& options,
                          const OnText& on_text = {});

  /// The tokens of a prompt, with what the model expects before a text. Special tokens may be written by name. An empty
  /// prompt is the begin of a document; fails where the tokenizer has no token that stands for it.
  std::vector<int64_t> encode(std::string_view prompt) const;

  /// Recordings made so far.
  size_t recordings() const { return decoder_.recordings(); }

 private:
  const text::Tokenizer& tokenizer_;
  Decoder decoder_;
};

}  // namespace tenon::models
