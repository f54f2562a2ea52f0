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

constexpr size_t kLongestPiece = 1024;  // longer ones only cost memory: every way to cut a piece in two may be a rule

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

/// Pieces by a hash that all beginnings and ends of a text have after one pass over it: looking every cut of a piece up
/// by its letters would take the square of its length.
class PiecesByHash {
 public:
  explicit PiecesByHash(const std::unordered_map<std::string_view, int32_t>& ids) {
    by_hash_.reserve(ids.size());
    size_t longest = 0;
    for (const auto& [piece, id] : ids) {
      by_hash_.emplace(hashes_of(piece).back(), std::pair(piece, id));
      longest = std::max(longest, piece.size());
    }
    powers_.resize(longest + 1, 1);
    for (size_t i = 1; i <= longest; ++i) powers_[i] = product(powers_[i - 1], kBase);
  }

  /// Calls found(left, right) with the numbers of the pieces that a piece can be cut into.
  void each_cut(std::string_view piece, const auto& found) const {
    const std::vector<uint64_t> hashes = hashes_of(piece);
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      const std::optional<int32_t> left = find(piece.substr(0, cut), hashes[cut]);
      if (!left) continue;
      const uint64_t before = product(hashes[cut], powers_[piece.size() - cut]);
      const uint64_t rest = (hashes.back() + kPrime - before) % kPrime;
      if (const std::optional<int32_t> right = find(piece.substr(cut), rest)) found(*left, *right);
    }
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1, kBase = 0x9E3779B97F4A7C1;
  __extension__ using Wide = unsigned __int128;

  static uint64_t product(uint64_t a, uint64_t b) { return static_cast<uint64_t>(Wide{a} * b % kPrime); }

  /// Of every beginning, the empty one first: a polynomial with the bytes as coefficients.
  static std::vector<uint64_t> hashes_of(std::string_view text) {
    std::vector<uint64_t> hashes(1, 0);
    hashes.reserve(text.size() + 1);
    for (const char byte : text)
      hashes.push_back((product(hashes.back(), kBase) + static_cast<unsigned char>(byte) + 1) % kPrime);
    return hashes;
  }

  std::optional<int32_t> find(std::string_view text, uint64_t hash) const {
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (at->second.first == text) return at->second.second;
    }
    return std::nullopt;
  }

  std::unordered_multimap<uint64_t, std::pair<std::string_view, int32_t>> by_hash_;
  std::vector<uint64_t> powers_;
};

/// Every way in which two pieces form a third; the better its score, the lower the rank.
std::vector<MergeRule> rules_of(const io::Llama2cTokenizer& pieces,
                                const std::unordered_map<std::string_view, int32_t>& ids) {
  std::map<float, uint32_t, std::greater<>> ranks;
  for (const auto& [piece, id] : ids) ranks.emplace(pieces.tokens[static_cast<size_t>(id)].score, 0);
  uint32_t rank = 0;
  for (auto& [score, place] : ranks) place = rank++;
  std::vector<MergeRule> rules;
  const PiecesByHash by_hash(ids);
  for (const auto& [piece, made] : ids) {
    const int32_t id = made;
    const uint32_t rank_of_piece = ranks.at(pieces.tokens[static_cast<size_t>(id)].score);
    by_hash.each_cut(piece, [&](int32_t left, int32_t right) { rules.push_back({left, right, id, rank_of_piece}); });
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
