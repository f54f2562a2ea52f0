// Counting words in parallel, then merging in order.
//
// After the words are counted a corpus is small: 32 MB of English have some 300,000 different words. Each pair of
// neighbouring tokens knows how often it occurs and in which words, so a merge touches only those. A heap finds the
// most frequent pair; its entries are never below the true count, and one that is above is put back with the true one.

#include "tenon/text/bpe_trainer.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "tenon/base/flat_map.h"
#include "tenon/base/parallel.h"
#include "tenon/text/byte_letters.h"
#include "tenon/text/pieces.h"

namespace tenon::text {
namespace {

constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr size_t kPartBytes = size_t{1} << 17;
// Every merge walks through the words it concerns. A piece without end, such as a file in base64, is cut so that it
// does not become one of them.
constexpr size_t kLongestWord = 256;

using PairKey = uint64_t;
PairKey key_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

struct Pair {
  int64_t count = 0;
  std::vector<uint32_t> words;  // where it occurs, or did
};

struct Candidate {
  int64_t count;
  PairKey key;
  /// Whether another goes first.
  bool operator<(const Candidate& other) const { return count != other.count ? count < other.count : key > other.key; }
};

/// A word as the tokens it is merged to so far; they lie in Words::tokens.
struct Word {
  size_t begin;
  uint32_t length;
  int64_t count;
};

/// Words, the pairs in them, and the merging of pairs.
class Words {
 public:
  Words(const WordCounts& counts, const std::array<int32_t, 256>& byte_ids) {
    counts.for_each([&](std::string_view word, int64_t count) {
      if (word.size() < 2) return;
      words_.push_back({tokens_.size(), static_cast<uint32_t>(word.size()), count});
      for (const char byte : word) tokens_.push_back(byte_ids[static_cast<unsigned char>(byte)]);
    });
    for (uint32_t i = 0; i < words_.size(); ++i) {
      const int32_t* token = &tokens_[words_[i].begin];
      for (uint32_t at = 0; at + 1 < words_[i].length; ++at)
        change(key_of(token[at], token[at + 1]), words_[i].count, i);
    }
    propose_risen();
  }

  /// The most frequent pair, or nothing if none is frequent enough.
  std::optional<PairKey> most_frequent(int64_t min_count) {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      const int64_t now = pairs_.at(best.key).count;
      if (now == best.count && now >= min_count) return best.key;
      if (now < best.count && now >= min_count) push({now, best.key});
    }
    return std::nullopt;
  }

  void merge(PairKey pair, int32_t result) {
    const std::vector<uint32_t> concerned = std::move(pairs_[pair].words);
    pairs_[pair].words.clear();
    for (const uint32_t word : concerned) merge_in(word, pair, result);
    pairs_[pair].count = 0;
    propose_risen();
  }

 private:
  void merge_in(uint32_t index, PairKey pair, int32_t result) {
    Word& word = words_[index];
    const auto left = static_cast<int32_t>(pair >> 32), right = static_cast<int32_t>(pair);
    int32_t* token = &tokens_[word.begin];
    uint32_t kept = 0;
    for (uint32_t at = 0; at < word.length; ++at) {
      const bool is_pair = at + 1 < word.length && token[at] == left && token[at + 1] == right;
      if (!is_pair) {
        token[kept++] = token[at];
        continue;
      }
      if (kept > 0) {
        change(key_of(token[kept - 1], left), -word.count, index);
        change(key_of(token[kept - 1], result), word.count, index);
      }
      ++at;
      if (at + 1 < word.length) {
        change(key_of(right, token[at + 1]), -word.count, index);
        change(key_of(result, token[at + 1]), word.count, index);
      }
      token[kept++] = result;
    }
    word.length = kept;
  }
  void change(PairKey key, int64_t by, uint32_t word) {
    Pair& pair = pairs_[key];
    pair.count += by;
    if (by < 0) return;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    risen_.push_back(key);
  }
  void propose_risen() {
    std::ranges::sort(risen_);
    const auto repeated = std::ranges::unique(risen_);
    risen_.erase(repeated.begin(), repeated.end());
    for (const PairKey key : risen_) push({pairs_.at(key).count, key});
    risen_.clear();
  }
  void push(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
  }

  std::vector<int32_t> tokens_;
  std::vector<Word> words_;
  base::FlatMap<PairKey, Pair> pairs_;
  std::vector<Candidate> heap_;
  std::vector<PairKey> risen_;
};

/// Counts the words of a part of a text.
void count_words(std::string_view text, const SpecialTokens& specials, WordCounts& counts) {
  PieceMatcher matcher;
  const auto on_text = [&](std::string_view part) {
    Pieces pieces(part, matcher);
    for (std::string_view piece; pieces.next(piece);) {
      for (; piece.size() > kLongestWord; piece.remove_prefix(kLongestWord)) counts.add(piece.substr(0, kLongestWord));
      counts.add(piece);
    }
  };
  specials.split(text, Special::kAllowed, on_text, [](int32_t) {});
}

void cut_into_parts(std::string_view text, const SpecialTokens& specials, std::vector<std::string_view>& parts) {
  while (text.size() > kPartBytes) {
    size_t end = cut_between_pieces(text, kPartBytes);
    while (end < text.size() && specials.is_cut(text, end)) end = cut_between_pieces(text, end + 1);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  parts.push_back(text);
}

}  // namespace

BpeTrainer::BpeTrainer(BpeOptions options) : options_(std::move(options)) {
  const int64_t least = 256 + static_cast<int64_t>(options_.special_tokens.size());
  if (options_.vocabulary < least || options_.vocabulary > INT32_MAX) {
    base::fail("tokenizer",
               "a vocabulary of {} is not possible: 256 bytes and {} special tokens make {}, {} is the most",
               options_.vocabulary, options_.special_tokens.size(), least, INT32_MAX);
  }
  BpeModel check;
  add_specials(check, options_.special_tokens);
  specials_ = SpecialTokens(check.specials);
}

void BpeTrainer::add(std::string_view text) {
  if (text.size() >= kBatchBytes) {
    count({text});
    return;
  }
  waiting_.emplace_back(text);
  waiting_bytes_ += text.size();
  if (waiting_bytes_ >= kBatchBytes) count_waiting();
}

void BpeTrainer::count_waiting() {
  count({waiting_.begin(), waiting_.end()});
  waiting_.clear();
  waiting_bytes_ = 0;
}

void BpeTrainer::count(const std::vector<std::string_view>& texts) {
  std::vector<std::string_view> parts;
  for (const std::string_view text : texts) cut_into_parts(text, specials_, parts);
  std::mutex mutex;
  base::parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    WordCounts counts;
    {
      const std::lock_guard lock(mutex);
      if (!counts_.empty()) {
        counts = std::move(counts_.back());
        counts_.pop_back();
      }
    }
    for (int64_t i = begin; i < end; ++i) count_words(parts[static_cast<size_t>(i)], specials_, counts);
    const std::lock_guard lock(mutex);
    counts_.push_back(std::move(counts));
  });
}

BpeModel BpeTrainer::train() {
  count_waiting();
  WordCounts all;
  for (const WordCounts& counts : counts_) all.add_all(counts);

  BpeModel model;
  std::unordered_map<std::string, int32_t> ids;
  const auto add_token = [&](const std::string& bytes) {
    const auto [place, is_new] = ids.emplace(bytes, static_cast<int32_t>(model.tokens.size()));
    if (is_new) model.tokens.push_back(bytes);
    return place->second;
  };
  for (const uint8_t byte : bytes_in_letter_order()) {
    model.byte_ids[byte] = add_token(std::string(1, static_cast<char>(byte)));
  }
  Words words(all, model.byte_ids);
  const size_t wanted = static_cast<size_t>(options_.vocabulary) - options_.special_tokens.size();
  base::FlatSet<PairKey> merged;
  while (model.tokens.size() < wanted) {
    const std::optional<PairKey> pair = words.most_frequent(options_.min_count);
    if (!pair) break;
    const auto left = static_cast<int32_t>(*pair >> 32), right = static_cast<int32_t>(*pair);
    // "ab" + "c" and "a" + "bc" are one token, which two merges make.
    const int32_t result =
        add_token(model.tokens[static_cast<size_t>(left)] + model.tokens[static_cast<size_t>(right)]);
    // For the same reason a pair that was merged can come up again; its merge is already in the list.
    if (merged.insert(*pair)) model.merges.push_back({left, right, result});
    words.merge(*pair, result);
  }
  add_specials(model, options_.special_tokens);
  return model;
}

}  // namespace tenon::text
