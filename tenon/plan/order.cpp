// A list scheduler that keeps the given order but for units that cost nothing: linear in the number of reads.

#include "tenon/plan/order.h"

#include <algorithm>

namespace tenon::plan {
namespace {

using ir::Node;

size_t result_bytes(const Node& node) {
  size_t bytes = 0;
  constexpr size_t kMost = size_t{1} << 44;  // more than fits anyway; sums over whole graphs stay countable
  for (uint32_t i = 0; i < node.results(); ++i) bytes += std::min(ir::bytes_of(node.type(i)), kMost);
  return bytes;
}

class Scheduler {
 public:
  Scheduler(const std::vector<Unit>& units, const Nodes& kept, const Nodes& pieces)
      : kept_(kept), pieces_(pieces), reads_(units.size()), makes_(units.size()), waits_for_(units.size(), 0) {
    Nodes made;
    for (size_t i = 0; i < units.size(); ++i) {
      makes_[i] = nodes_made_by(units[i]);
      for (const Node* node : makes_[i]) made.insert(node);
    }
    for (size_t i = 0; i < units.size(); ++i) {
      for (const Node* node : nodes_read_by(units[i])) {
        if (!made.contains(node)) continue;  // there before the plan runs
        reads_[i].push_back(node);
        readers_[node].push_back(i);
        ++waits_for_[i];
      }
    }
    done_.assign(units.size(), false);
  }

  std::vector<size_t> run() {
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (done_[i]) continue;
      place(i);
      while (!candidates_.empty()) {
        const size_t next = candidates_.back();
        candidates_.pop_back();
        if (!done_[next] && waits_for_[next] == 0 && costs_nothing(next)) place(next);
      }
    }
    return order_;
  }

 private:
  void place(size_t unit) {
    done_[unit] = true;
    order_.push_back(unit);
    for (const Node* node : reads_[unit]) {
      if (--left_[node] != 1) continue;
      for (const size_t reader : readers_[node]) {
        if (!done_[reader]) candidates_.push_back(reader);
      }
    }
    // Last, and so looked at first: what reads the new value frees it before another large one is made.
    for (const Node* node : makes_[unit]) {
      const std::vector<size_t>* readers = readers_.find(node);
      if (!readers) continue;
      left_[node] = readers->size();
      for (const size_t reader : *readers) {
        if (--waits_for_[reader] == 0) candidates_.push_back(reader);
      }
    }
  }

  bool has_own_memory(const Node* node) const { return !kept_.contains(node) && !pieces_.contains(node); }

  // A unit that takes more than it frees may still pay off together with one that waits for nothing else: what was
  // gathered for a product, if the product frees more.
  bool costs_nothing(size_t unit) const {
    const int64_t cost = bytes_taken(unit) - bytes_freed(unit, nullptr);
    if (cost <= 0) return true;
    for (const Node* made : makes_[unit]) {
      const std::vector<size_t>* readers = readers_.find(made);
      if (!readers || readers->size() != 1) continue;
      const size_t next = readers->front();
      if (waits_for_[next] == 1 && cost + bytes_taken(next) - bytes_freed(next, made) <= 0) return true;
    }
    return false;
  }

  int64_t bytes_taken(size_t unit) const {
    int64_t bytes = 0;
    for (const Node* node : makes_[unit]) {
      if (has_own_memory(node)) bytes += static_cast<int64_t>(result_bytes(*node));
    }
    return bytes;
  }

  // What dies with a unit; `made` is there by then, for this unit alone.
  int64_t bytes_freed(size_t unit, const Node* made) const {
    int64_t bytes = 0;
    for (const Node* node : reads_[unit]) {
      const size_t* left = left_.find(node);
      const bool dies = node == made || (left && *left == 1);
      if (dies && has_own_memory(node)) bytes += static_cast<int64_t>(result_bytes(*node));
    }
    return bytes;
  }

  const Nodes &kept_, &pieces_;
  std::vector<NodeList> reads_, makes_;
  std::vector<size_t> waits_for_;  // values that are not there yet
  std::vector<bool> done_;
  ByNode<std::vector<size_t>> readers_;
  ByNode<size_t> left_;  // readers still to come, of values that are there
  std::vector<size_t> order_, candidates_;
};

}  // namespace

std::vector<Unit> shorten_lives(std::vector<Unit> units, const Nodes& kept, const Nodes& pieces) {
  std::vector<Unit> ordered;
  ordered.reserve(units.size());
  for (const size_t i : Scheduler(units, kept, pieces).run()) ordered.push_back(std::move(units[i]));
  return ordered;
}

bool may_fault(const Unit& unit) {
  if (unit.call) return unit.call->info().kind == ir::Kind::indexed;
  const std::vector<ir::Instr>& code = unit.fused.nest.code;
  return std::any_of(code.begin(), code.end(),
                     [](const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::gather; });
}

void move_behind_faults(std::vector<Unit>& units, const std::vector<bool>& writes_state) {
  size_t end = units.size();
  while (end > 0 && !may_fault(units[end - 1])) --end;
  Nodes late;
  for (size_t i = 0; i < end; ++i) {
    const NodeList reads = nodes_read_by(units[i]);
    const bool waits =
        !late.empty() && std::any_of(reads.begin(), reads.end(), [&](const Node* node) { return late.contains(node); });
    if (waits && may_fault(units[i])) return;
    if (!waits && !writes_state[i]) continue;
    for (const Node* made : nodes_made_by(units[i])) late.insert(made);
  }
  if (late.empty()) return;
  std::vector<Unit> early, behind;
  for (size_t i = 0; i < end; ++i) {
    const NodeList made = nodes_made_by(units[i]);
    const bool is_late = !made.empty() && late.contains(made[0]);
    (is_late ? behind : early).push_back(std::move(units[i]));
  }
  std::move(behind.begin(), behind.end(), std::move(early.begin(), early.end(), units.begin()));
}

}  // namespace tenon::plan
