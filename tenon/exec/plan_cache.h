// Plans by the shape of their graph, so that a step that was planned once is only looked up.

#pragma once

#include <list>
#include <unordered_map>

#include "tenon/exec/executable.h"

namespace tenon::exec {

/// Bounded: what was used least lately goes first.
class PlanCache {
 public:
  static constexpr size_t kMostPlans = 1024;
  static constexpr size_t kMostNodes = 1 << 20;  // of all keys together

  /// The plan for this graph. A literal in which it differs from an otherwise equal graph becomes an argument, from then
  /// on and for both: a learning rate that changes is planned twice, not every step.
  std::shared_ptr<const Executable> get(const Graph& graph, device::Device& target, ProgramCache& programs);

  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }
  /// Time spent on what was not in the cache, compiling included.
  uint64_t build_ns() const { return build_ns_; }
  size_t size() const { return entries_.size(); }
  void clear();

 private:
  struct Entry {
    uint64_t hash;
    GraphKey key;
    std::vector<uint64_t> literals;  // their bits
    std::vector<bool> as_argument;
    std::shared_ptr<const Executable> executable;
  };
  using Entries = std::list<Entry>;  // most lately used first

  void forget(Entries::iterator entry);
  void make_room(size_t nodes);

  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  size_t nodes_ = 0;
  uint64_t hits_ = 0, misses_ = 0, build_ns_ = 0;
};

}  // namespace tenon::exec
