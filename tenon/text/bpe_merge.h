// Merging neighbours into tokens: of all that may be merged those with the earliest rule go first, the leftmost of
// equals before the others, until none is left. Byte-level BPE and llama2.c's tokenizer differ only in what they start
// from.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::text {

/// The one with the lower rank is done first. Ranks may be equal.
struct MergeRule {
  int32_t left = 0, right = 0, result = 0;
  uint32_t rank = 0;
};

/// Memory for merging, kept between pieces: one for each thread.
struct MergeScratch {
  struct Link {
    int32_t id;
    uint32_t rank;  // of merging it with the one after it
    size_t before, after;
  };
  struct Candidate {
    uint32_t rank;
    size_t at;
  };
  std::vector<int32_t> parts;  // in: the tokens to begin with
  std::vector<uint32_t> ranks;
  std::vector<Link> links;
  std::vector<Candidate> heap;
};

class Merger {
 public:
  /// No two rules may have the same left and right.
  explicit Merger(std::span<const MergeRule> rules);

  /// Appends what scratch.parts are merged to.
  void merge(MergeScratch& scratch, std::vector<int32_t>& ids) const;

 private:
  static constexpr uint32_t kNone = ~0U;
  struct RankedPair {
    uint64_t pair = 0;
    uint32_t rank = kNone;
    int32_t result = 0;
  };

  static uint64_t pair_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  /// Where the rule of a pair stands, or would.
  size_t position_of(uint64_t pair) const {
    size_t position = pair * 0x9E3779B97F4A7C15ull >> shift_;
    while (pairs_[position].rank != kNone && pairs_[position].pair != pair)
      position = (position + 1) & (pairs_.size() - 1);
    return position;
  }
  /// The rule for two neighbours, of rank kNone where there is none.
  const RankedPair& find(int32_t left, int32_t right) const { return pairs_[position_of(pair_of(left, right))]; }
  void merge_short(MergeScratch& scratch, std::vector<int32_t>& ids) const;
  void merge_long(MergeScratch& scratch, std::vector<int32_t>& ids) const;

  std::vector<RankedPair> pairs_;  // at least half of them free, so that a search ends
  int shift_ = 0;
};

}  // namespace tenon::text
