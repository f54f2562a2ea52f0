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

bool ends_before_next(const Pieces& pieces, Pieces::const_iterator piece) {
  const auto next = std::next(piece);
  return next == pieces.end() || piece->first + ir::count(piece->second.shape()) <= next->first;
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
    pieces_[node.get()].emplace(node->attrs_as<ir::PadAttrs>().before[0], inner);
  }

  // The pieces of an operand, taken away from it when this sum is its only reader.
  bool take(const Value& operand, Pieces& to) {
    const Node* node = operand.node.get();
    const auto pad = pieces_.find(node);
    if (pad != pieces_.end()) {
      to = pad->second;
      return true;
    }
    const auto sum = sums_.find(node);
    if (sum == sums_.end() || uses_[node] != 1) return false;
    to = std::move(sum->second);
    sums_.erase(sum);
    return true;
  }

  // False when ranges overlap without being the same.
  bool join(Pieces& into, Pieces&& more) {
    for (auto& [begin, value] : more) {
      const auto [at, fresh] = into.try_emplace(begin, value);
      if (!fresh) {
        if (at->second.shape() != value.shape()) return false;
        at->second = ir::add(at->second, value);
        ++uses_[at->second.node.get()];
      }
      if (!ends_before_next(into, at) || (at != into.begin() && !ends_before_next(into, std::prev(at)))) return false;
    }
    return true;
  }

  void add_sum(const NodeRef& node) {
    const auto is_known = [&](const Value& value) {
      const auto sum = sums_.find(value.node.get());
      return pieces_.contains(value.node.get()) || (sum != sums_.end() && uses_[value.node.get()] == 1);
    };
    if (!is_known(node->input(0)) || !is_known(node->input(1))) return;
    Pieces left, right;
    if (!take(node->input(0), left) || !take(node->input(1), right)) return;
    if (right.size() > left.size() && left.size() == 1) std::swap(left, right);  // exact: addition commutes
    if (join(left, std::move(right))) sums_.emplace(node.get(), std::move(left));
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
  std::unordered_map<const Node*, Pieces> pieces_;
  std::unordered_map<const Node*, Pieces> sums_;
};

}  // namespace

Assemblies find_assemblies(const std::vector<NodeRef>& order, const std::unordered_set<const Node*>& kept) {
  return Finder(order, kept).run();
}

}  // namespace tenon::plan
