// Tokens are decoded together with some before them, because what a token spells may depend on its neighbours; not with
// all, or a long text would take the square of its length.

#include "tenon/models/text_writer.h"

#include <algorithm>

#include "tenon/base/error.h"

namespace tenon::models {
namespace {

using base::fail;

// Bytes that a UTF-8 character of this first byte has; 1 for what begins none.
size_t length_of_character(unsigned char first) {
  if (first >= 0xF0 && first < 0xF8) return 4;
  if (first >= 0xE0) return first < 0xF0 ? 3 : 1;
  return first >= 0xC0 ? 2 : 1;
}

// Where the last character begins, if bytes of it are missing, and the end otherwise.
size_t end_of_whole_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    const bool continues = (byte & 0xC0) == 0x80;
    if (!continues) return length_of_character(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

// Tokens of one sequence become the text behind the prompt's.
class Spelling {
 public:
  Spelling(const text::Tokenizer& tokenizer, const std::vector<int64_t>& prompt) : tokenizer_(tokenizer) {
    ids_.assign(prompt.begin(), prompt.end());
    keep_neighbours();
  }

  std::string add(int64_t token) {
    ids_.push_back(static_cast<int32_t>(token));
    const std::string all = tokenizer_.decode(ids_);
    std::string more = all.substr(std::min(done_, all.size()));
    done_ = all.size();
    if (ids_.size() > 2 * kNeighbours) keep_neighbours();
    return more;
  }

 private:
  static constexpr size_t kNeighbours = 32;

  void keep_neighbours() {
    if (ids_.size() > kNeighbours) ids_.erase(ids_.begin(), ids_.end() - kNeighbours);
    done_ = tokenizer_.decode(ids_).size();
  }

  const text::Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;
  size_t done_ = 0;
};

}  // namespace

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::length: return "length";
    case StopReason::token: return "token";
    case StopReason::string: return "string";
  }
  return "";
}

std::string_view TextStream::add(std::string_view bytes) {
  if (has_stopped_) return {};
  text_ += bytes;
  // Nothing of a stop string has been shown, so one that is complete now begins behind what was.
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, text_.find(stop, shown_));
  if (first != std::string::npos) {
    text_.resize(first);
    has_stopped_ = true;
    return show_up_to(text_.size());
  }
  return show_up_to(sure_end());
}

std::string_view TextStream::finish() {
  if (!has_stopped_) text_.resize(std::max(shown_, end_of_whole_characters(text_)));
  return show_up_to(text_.size());
}

size_t TextStream::sure_end() const {
  size_t end = end_of_whole_characters(text_);
  for (const std::string& stop : stops_) {
    const size_t longest = std::min(stop.size() - 1, text_.size() - shown_);
    for (size_t length = longest; length > 0; --length) {
      if (!text_.ends_with(std::string_view(stop).substr(0, length))) continue;
      end = std::min(end, text_.size() - length);
      break;
    }
  }
  return std::max(end, shown_);
}

std::string_view TextStream::show_up_to(size_t end) {
  const std::string_view piece = std::string_view(text_).substr(shown_, end - shown_);
  shown_ = end;
  return piece;
}

TextWriter::TextWriter(CausalLm& model, const text::Tokenizer& tokenizer) : tokenizer_(tokenizer), decoder_(model) {
  if (!model.is_causal()) fail("generate", "the model was trained to fill in masked tokens and cannot write text");
  if (tokenizer.vocabulary() > model.vocabulary())
    fail("generate", "the tokenizer has {} tokens, the model only {}", tokenizer.vocabulary(), model.vocabulary());
}

std::vector<int64_t> TextWriter::encode(std::string_view prompt) const {
  const std::vector<int32_t> own = tokenizer_.encode(prompt, text::Special::kAllowed);
  std::vector<int64_t> ids;
  if (tokenizer_.begin_of_text()) ids.push_back(*tokenizer_.begin_of_text());
  ids.insert(ids.end(), own.begin(), own.end());
  if (ids.empty() && tokenizer_.end_of_text()) ids.push_back(*tokenizer_.end_of_text());
  if (ids.empty()) fail("generate", "the prompt is empty, and the tokenizer has no token that begins a text; give one");
  return ids;
}

std::vector<Text> TextWriter::write(const std::vector<std::string>& prompts, const GenerateOptions& options,
                                    const OnText& on_text) {
  GenerateOptions of_tokens = options;
  of_tokens.stop_strings.clear();
  if (tokenizer_.end_of_text()) of_tokens.stop_tokens.push_back(*tokenizer_.end_of_text());
  if (options.stop) of_tokens.stop_tokens.push_back(*options.stop);
  for (const std::string& stop : options.stop_strings) {
    if (stop.empty()) fail("generate", "a string to stop at cannot be empty");
  }
  Decoder::Sequences ids;
  std::vector<Spelling> spellings;
  for (const std::string& prompt : prompts) {
    ids.push_back(encode(prompt));
    spellings.emplace_back(tokenizer_, ids.back());
  }
  std::vector<TextStream> streams(prompts.size(), TextStream(options.stop_strings));
  std::vector<Text> texts(prompts.size());
  const auto show = [&](size_t sequence, std::string_view piece) {
    if (on_text && !piece.empty()) on_text(sequence, piece);
  };
  Decoder::Sequences made = decoder_.run(ids, of_tokens, [&](size_t sequence, int64_t token) {
    const auto& stops = of_tokens.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
      texts[sequence].reason = StopReason::token;
      return false;
    }
    // Rows that pad a model's vocabulary beyond the tokenizer's have no text.
    if (token < tokenizer_.vocabulary()) show(sequence, streams[sequence].add(spellings[sequence].add(token)));
    if (streams[sequence].has_stopped()) texts[sequence].reason = StopReason::string;
    return !streams[sequence].has_stopped();
  });
  for (size_t i = 0; i < prompts.size(); ++i) {
    show(i, streams[i].finish());
    texts[i].text = streams[i].text();
    texts[i].tokens = std::move(made[i]);
  }
  return texts;
}

}  // namespace tenon::models
