// Two ways to the same tokens: a search through the whole piece for every merge, which is fastest for words, and a heap
// for pieces so long that the square of their length would tell.

#include "tenon/text/bpe_merge.h"

#include <algorithm>
#include <bit>

namespace tenon::text {
namespace {

constexpr size_t kLongestShort = 64;  // parts; around here the two take equally long

}  // namespace

Merger::Merger(std::span<const MergeRule> rules) {
  const size_t size = std::bit_ceil(std::max<size_t>(2 * rules.size(), 2));
  shift_ = 64 - std::countr_zero(size);
  pairs_.resize(size);
  for (const MergeRule& rule : rules) {
    pairs_[position_of(pair_of(rule.left, rule.right))] = {pair_of(rule.left, rule.right), rule.rank, rule.result};
  }
}

void Merger::merge(MergeScratch& scratch, std::vector<int32_t>& ids) const {
  if (scratch.parts.size() <= kLongestShort)
    merge_short(scratch, ids);
  else
    merge_long(scratch, ids);
}

void Merger::merge_short(MergeScratch& scratch, std::vector<int32_t>& ids) const {
  std::vector<int32_t>& parts = scratch.parts;
  std::vector<uint32_t>& ranks = scratch.ranks;  // of merging a part with the next; none for the last
  ranks.assign(parts.size(), kNone);
  for (size_t i = 0; i + 1 < parts.size(); ++i) ranks[i] = find(parts[i], parts[i + 1]).rank;
  while (parts.size() > 1) {
    const auto best = std::ranges::min_element(ranks);
    if (*best == kNone) break;
    const size_t at = static_cast<size_t>(best - ranks.begin());
    const auto swallowed = parts.begin() + static_cast<ptrdiff_t>(at) + 1;
    parts[at] = find(parts[at], *swallowed).result;
    parts.erase(swallowed);
    ranks.erase(best + 1);
    ranks[at] = at + 1 < parts.size() ? find(parts[at], parts[at + 1]).rank : kNone;
    if (at > 0) ranks[at - 1] = find(parts[at - 1], parts[at]).rank;
  }
  ids.insert(ids.end(), parts.begin(), parts.end());
}

void Merger::merge_long(MergeScratch& scratch, std::vector<int32_t>& ids) const {
  using Link = MergeScratch::Link;
  using Candidate = MergeScratch::Candidate;
  std::vector<Link>& links = scratch.links;
  std::vector<Candidate>& heap = scratch.heap;
  const auto comes_later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  };
  const size_t end = scratch.parts.size();
  links.clear();
  heap.clear();
  for (size_t i = 0; i < end; ++i) links.push_back({scratch.parts[i], kNone, i - 1, i + 1});

  const auto propose = [&](size_t at) {
    Link& link = links[at];
    link.rank = link.after < end ? find(link.id, links[link.after].id).rank : kNone;
    if (link.rank == kNone) return;
    heap.push_back({link.rank, at});
    std::ranges::push_heap(heap, comes_later);
  };
  for (size_t i = 0; i < end; ++i) propose(i);

  while (!heap.empty()) {
    std::ranges::pop_heap(heap, comes_later);
    const auto [rank, at] = heap.back();
    heap.pop_back();
    Link& link = links[at];
    if (link.rank != rank) continue;  // a neighbour was merged meanwhile
    Link& swallowed = links[link.after];
    link.id = find(link.id, swallowed.id).result;
    link.after = swallowed.after;
    swallowed.rank = kNone;
    if (link.after < end) links[link.after].before = at;
    propose(at);
    if (at > 0) propose(link.before);
  }
  for (size_t i = 0; i < end; i = links[i].after) ids.push_back(links[i].id);
}

}  // namespace tenon::text
