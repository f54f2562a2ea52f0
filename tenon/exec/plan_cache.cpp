// A hash table over a list in order of use; hits are confirmed by comparing the whole graph.

#include "tenon/exec/plan_cache.h"

#include <chrono>

namespace tenon::exec {

std::shared_ptr<const Executable> PlanCache::get(const Graph& graph, device::Device& target, ProgramCache& programs) {
  std::vector<bool> as_argument(graph.literals().size(), false);
  for (auto [at, end] = by_hash_.equal_range(graph.hash()); at != end; ++at) {
    const Entries::iterator entry = at->second;
    if (!graph.matches(entry->key)) continue;
    bool same = true, can_be_same = true;
    for (size_t i = 0; i < as_argument.size(); ++i) {
      const bool differs = !entry->as_argument[i] && entry->literals[i] != graph.literal(i).bits;
      same = same && !differs;
      can_be_same = can_be_same && !(differs && graph.is_output(i));
      as_argument[i] = entry->as_argument[i] || differs;
    }
    if (!can_be_same) {
      as_argument.assign(as_argument.size(), false);
      continue;
    }
    if (same) {
      ++hits_;
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->executable;
    }
    forget(entry);  // the new plan serves both
    break;
  }
  ++misses_;
  const device::HostSpan span(device::HostWork::plan);
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Executable> made = build(graph, as_argument, target.limits(), target, programs);
  build_ns_ += static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  const size_t nodes = graph.nodes().size();
  if (nodes > kMostNodes / 8) return made;  // not worth the room
  make_room(nodes);
  Entry entry{graph.hash(), graph.key(), {}, std::move(as_argument), made};
  for (size_t i = 0; i < graph.literals().size(); ++i) entry.literals.push_back(graph.literal(i).bits);
  entries_.push_front(std::move(entry));
  by_hash_.emplace(graph.hash(), entries_.begin());
  nodes_ += nodes;
  return made;
}

void PlanCache::forget(Entries::iterator entry) {
  for (auto [at, end] = by_hash_.equal_range(entry->hash); at != end; ++at) {
    if (at->second != entry) continue;
    by_hash_.erase(at);
    break;
  }
  nodes_ -= entry->key.nodes.size();
  entries_.erase(entry);
}

void PlanCache::make_room(size_t nodes) {
  while (!entries_.empty() && (entries_.size() >= kMostPlans || nodes_ + nodes > kMostNodes))
    forget(std::prev(entries_.end()));
}

void PlanCache::clear() {
  entries_.clear();
  by_hash_.clear();
  nodes_ = 0;
}

}  // namespace tenon::exec
