// Bottom up: every flat pad is a piece, and an addition joins the pieces of its operands. What no further addition
// joins and is filled without gaps is an assembly.

#include "tenon/plan/assemble.h"

#include <algorithm>
#include <map>

#include "tenon/ir/build.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr size_t kFewestPieces = 2;

using Pieces = std::map<int64_t, Value>;  // by begin

bool is_flat(const Node& node) { return node.type().shape.size() == 1 && is_float(node.type().dtype); }

// Sums start from +0, and x + y is -0 only if both are.
bool is_never_negative_zero(const Value& value, int depth = 64) {
  if (depth == 0) return false;
  const Value base = base_of(value);
  switch (base.node->op()) {
    case Op::contract:
    case Op::sum:
    case Op::attention_backward: return true;
    case Op::add:
      return is_never_negative_zero(base.node->input(1), depth - 1) ||
             is_never_negative_zero(base.node->input(0), depth - 1);
    default: return false;
  }
}

class Finder {
 public:
  Finder(const std::vector<NodeRef>& order, const std::unordered_set<const Node*>& kept) : order_(order) {
    for (const Node* node : kept) ++uses_[node];
  }

  Assemblies run() {
    count_uses();
    for (const NodeRef& node : order_) {
      if (node->evaluated() || !is_flat(*node)) continue;
      if (node->op() == Op::pad)
        add_pad(node);
      else if (node->op() == Op::add)
        add_sum(node);
    }
    Assemblies found;
    for (auto& [node, pieces] : sums_) {
      if (pieces.size() < kFewestPieces || !fills(pieces, ir::count(node->type().shape))) continue;
      std::vector<Piece> list;
      for (const auto& [begin, value] : pieces) list.push_back({begin, own_memory(value)});
      found.emplace(node, std::move(list));
    }
    return found;
  }

 private:
  void count_uses() {
    for (const NodeRef& node : order_) {
      if (node->evaluated()) continue;
      for (const Value& input : node->inputs()) ++uses_[input.node.get()];
    }
  }

  void add_pad(const NodeRef& node) {
    const Value& inner = node->input(0);
    pads_[node.get()].emplace(node->attrs_as<ir::PadAttrs>().before[0], inner);
  }

  // Without detach and the like, if nothing else reads in between.
  const Node* behind_marks(const Value& value) {
    const Node* node = value.node.get();
    while (!node->evaluated() && node->info().is(ir::kPassThrough)) {
      if (uses_[node] != 1 || node->op() == Op::custom) return nullptr;
      node = node->input(0).node.get();
    }
    return node;
  }

  // The pieces behind an operand that this sum alone reads; none if there are none.
  const Pieces* pieces_of(const Value& operand) {
    const Node* node = behind_marks(operand);
    if (!node) return nullptr;
    const auto pad = pads_.find(node);
    if (pad != pads_.end()) return &pad->second;
    const auto sum = sums_.find(node);
    return sum != sums_.end() && uses_[node] == 1 ? &sum->second : nullptr;
  }

  static bool overlaps(const Pieces& pieces, int64_t begin, int64_t end) {
    const auto next = pieces.lower_bound(begin);
    if (next != pieces.end() && next->first < end) return true;
    if (next == pieces.begin()) return false;
    const auto before = std::prev(next);
    return before->first + ir::count(before->second.shape()) > begin;
  }

  // Moves the smaller list into the larger, so that a chain of sums is linear.
  void add_sum(const NodeRef& node) {
    const Pieces *left = pieces_of(node->input(0)), *right = pieces_of(node->input(1));
    if (!left || !right) return;
    const Pieces &larger = left->size() >= right->size() ? *left : *right, &smaller = &larger == left ? *right : *left;
    for (const auto& [begin, value] : smaller) {
      if (overlaps(larger, begin, begin + ir::count(value.shape()))) return;
    }
    const Node* from = behind_marks(node->input(&larger == left ? 0 : 1));
    const auto sum = sums_.find(from);
    Pieces all = sum != sums_.end() ? std::move(sum->second) : larger;
    for (const auto& [begin, value] : smaller) all.emplace(begin, value);
    for (const size_t side : {0, 1}) sums_.erase(behind_marks(node->input(side)));
    sums_.emplace(node.get(), std::move(all));
  }

  static bool fills(const Pieces& pieces, int64_t size) {
    int64_t end = 0;
    for (const auto& [begin, value] : pieces) {
      if (begin != end) return false;
      end += ir::count(value.shape());
    }
    return end == size;
  }

  // The value itself if it is computed for this place only, in order, and never -0; else a copy.
  Value own_memory(const Value& value) const {
    const Seen seen = look_through(value);
    const bool whole = seen.map.is_contiguous() && ir::count(seen.base.shape()) == ir::count(value.shape());
    bool only_reader = !seen.base.node->evaluated() && seen.base.node->results() == 1;
    for (Value v = value; only_reader;) {
      const auto uses = uses_.find(v.node.get());
      only_reader = uses != uses_.end() && uses->second == 1;
      if (v == seen.base) break;
      Value next = v.node->input(v.node->op() == Op::custom ? v.index : 0);
      v = std::move(next);
    }
    if (whole && only_reader && is_never_negative_zero(value)) return seen.base;
    return ir::add(value, ir::full_like(value, 0));
  }

  const std::vector<NodeRef>& order_;
  std::unordered_map<const Node*, size_t> uses_;
  std::unordered_map<const Node*, Pieces> pads_;
  std::unordered_map<const Node*, Pieces> sums_;
};

}  // namespace

Assemblies find_assemblies(const std::vector<NodeRef>& order, const std::unordered_set<const Node*>& kept) {
  return Finder(order, kept).run();
}

}  // namespace tenon::plan
