// llama2.c's encode(), in time that grows with n log n instead of n squared: which pieces two pieces form is looked up
// beforehand, so that merging is the same as in a BPE, with the order of scores as ranks.

#include "tenon/text/llama2c_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tenon/text/byte_letters.h"
#include "tenon/text/file.h"
#include "tenon/text/json_value.h"

namespace tenon::text {
namespace {

constexpr size_t kLongestPiece = 1024;  // longer ones only cost time: every way to cut a piece in two is looked up

io::Llama2cTokenizer parse_pieces(const JsonView& document) {
  io::Llama2cTokenizer tokenizer;
  const JsonView pieces = document.at("pieces");
  for (size_t i = 0; i < pieces.list().size(); ++i) {
    const JsonView entry = pieces.item(i);
    if (entry.list().size() != 2) entry.refuse("must be a piece and its score");
    const std::optional<std::string> piece = from_letters(entry.item(0).text());
    if (!piece) entry.refuse("is not in the letters of GPT-2's files");
    const auto score = static_cast<float>(entry.item(1).number());
    if (!std::isfinite(score)) entry.refuse("has a score that is no number");
    tokenizer.max_token_length = std::max(tokenizer.max_token_length, static_cast<int64_t>(piece->size()));
    tokenizer.tokens.push_back({*piece, score});
  }
  return tokenizer;
}

/// Every way in which two pieces form a third; the better its score, the lower the rank.
std::vector<MergeRule> rules_of(const io::Llama2cTokenizer& pieces,
                                const std::unordered_map<std::string_view, int32_t>& ids) {
  std::map<float, uint32_t, std::greater<>> ranks;
  for (const auto& [piece, id] : ids) ranks.emplace(pieces.tokens[static_cast<size_t>(id)].score, 0);
  uint32_t rank = 0;
  for (auto& [score, place] : ranks) place = rank++;
  std::vector<MergeRule> rules;
  for (const auto& [piece, id] : ids) {
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      const auto left = ids.find(piece.substr(0, cut)), right = ids.find(piece.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      rules.push_back({left->second, right->second, id, ranks.at(pieces.tokens[static_cast<size_t>(id)].score)});
    }
  }
  return rules;
}

/// The bytes that run.c looks up together: a byte and up to three that continue it.
size_t letter_length(std::string_view text) {
  const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t length = 1;
  while (length < 4 && length < text.size() && continues(length)) ++length;
  return length;
}

}  // namespace

Llama2cBpe::Llama2cBpe(const io::Input& input) : Llama2cBpe(input, io::parse_llama2c_tokenizer(input)) {}
Llama2cBpe::Llama2cBpe(const JsonView& document) : Llama2cBpe(document.input(), parse_pieces(document)) {}

Llama2cBpe::Llama2cBpe(const io::Input& input, io::Llama2cTokenizer pieces) : pieces_(std::move(pieces)), merger_({}) {
  const size_t first_piece = kFirstByte + 256;
  if (pieces_.tokens.size() < first_piece) {
    io::fail(input, "{} tokens are too few: <unk>, <s>, </s> and 256 bytes come first", pieces_.tokens.size());
  }
  for (const io::Llama2cToken& token : pieces_.tokens) bytes_.push_back(token.piece);
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string& token = bytes_[kFirstByte + byte];
    const std::string name = fmt::format("<0x{:02X}>", byte);
    if (token != name) io::fail(input, "token {} must be {}, not {}", kFirstByte + byte, name, io::in_quotes(token));
    token = std::string(1, static_cast<char>(byte));
  }
  // Only pieces proper are found in a text: run.c could also find the name of a byte and decode it to something else.
  for (size_t id = first_piece; id < bytes_.size(); ++id) {
    if (bytes_[id].size() > kLongestPiece) io::fail(input, "token {} has more than {} bytes", id, kLongestPiece);
    if (!bytes_[id].empty()) ids_.emplace(bytes_[id], static_cast<int32_t>(id));
  }
  const auto blank = ids_.find(" ");
  if (blank == ids_.end()) io::fail(input, "there is no token for the blank, which comes before every text");
  blank_ = blank->second;
  merger_ = Merger(rules_of(pieces_, ids_));
  specials_ = SpecialTokens({{"<s>", kBegin}, {"</s>", kEnd}});
}

void Llama2cBpe::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  specials_.split(
      text, special, [&](std::string_view part) { encode_part(part, ids); }, [&](int32_t id) { ids.push_back(id); });
}

void Llama2cBpe::encode_part(std::string_view text, std::vector<int32_t>& ids) const {
  MergeScratch scratch;
  scratch.parts.push_back(blank_);
  while (!text.empty()) {
    const std::string_view letter = text.substr(0, letter_length(text));
    text.remove_prefix(letter.size());
    if (const auto found = ids_.find(letter); found != ids_.end()) {
      scratch.parts.push_back(found->second);
      continue;
    }
    for (const char byte : letter) scratch.parts.push_back(kFirstByte + static_cast<unsigned char>(byte));
  }
  merger_.merge(scratch, ids);
}

std::string_view Llama2cBpe::token(int32_t id) const {
  check_id(id, vocabulary());
  return bytes_[static_cast<size_t>(id)];
}

std::string Llama2cBpe::decode(std::span<const int32_t> ids) const {
  std::string text;
  bool is_start = true;
  for (const int32_t id : ids) {
    std::string_view piece = token(id);
    const bool is_border = id == kBegin || id == kEnd;
    if (is_start && piece.starts_with(' ')) piece.remove_prefix(1);
    if (!is_border) text += piece;
    is_start = is_border;
  }
  return text;
}

std::string Llama2cBpe::json() const {
  std::vector<std::string> entries;
  for (const io::Llama2cToken& token : pieces_.tokens) {
    entries.push_back(fmt::format("[{}, {}]", json_text(to_letters(token.piece)), token.score + 0.0F));  // no -0
  }
  return fmt::format("{{\n  \"tenon_tokenizer\": \"llama2c\",\n  \"pieces\": [{}]\n}}\n", fmt::join(entries, ", "));
}

}  // namespace tenon::text
