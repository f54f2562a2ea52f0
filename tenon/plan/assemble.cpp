// Bottom up: every flat pad is a piece, and an addition joins the pieces of its operands. What no further addition
// joins and is filled without gaps is an assembly.

#include "tenon/plan/assemble.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/fold.h"
#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr size_t kFewestPieces = 2, kFewestChoices = 5;  // fewer are made where they are read
constexpr int64_t kSmall = 1 << 16;                      // elements of a piece that is not worth a kernel of its own

using Pieces = std::map<int64_t, std::vector<Value>>;  // by begin: values of one range, to be added in this order

// The number k of a condition that holds for the first k places of a row alone, if it is one.
std::optional<int64_t> places_before(const Value& condition) {
  const Node& less = *condition.node;
  if (less.op() != Op::less || less.evaluated()) return {};
  const ir::ConstantAttrs* edge = ir::number_behind(less.input(1));
  const ir::Seen place = ir::look_through(less.input(0));
  const bool counts = place.base.node->op() == Op::iota && place.map.is_contiguous();
  if (!edge || !counts || less.input(0).dtype() != DType::i64) return {};
  return edge->as_int();
}

// Sums start from +0, and x + y is -0 only if both are.
bool is_never_negative_zero(const Value& value, int depth = 64) {
  if (depth == 0) return false;
  const Value& base = ir::base_of(value);
  switch (base.node->op()) {
    case Op::contract:
    case Op::sum:
    case Op::attention_backward: return true;
    case Op::constant: return !std::signbit(base.node->attrs_as<ir::ConstantAttrs>().as_double());
    case Op::scatter_add: return is_never_negative_zero(base.node->input(0), depth - 1);
    case Op::add:
      return is_never_negative_zero(base.node->input(1), depth - 1) ||
             is_never_negative_zero(base.node->input(0), depth - 1);
    default: return false;
  }
}

class Finder {
 public:
  Finder(const std::vector<NodeRef>& order, const Nodes& kept) : order_(order), kept_(kept) {
    for (const Node* node : kept) ++uses_[node];
  }

  Assemblies run() {
    count_uses();
    for (const NodeRef& node : order_) {
      if (node->evaluated()) continue;
      if (node->op() == Op::store) add_store(*node);
      if (node->type().shape.size() != 1) continue;
      if (node->op() == Op::where) add_choice(*node);
      if (!is_float(node->type().dtype)) continue;
      if (node->op() == Op::pad)
        add_pad(node);
      else if (node->op() == Op::add)
        add_sum(node);
    }
    for (const NodeRef& node : order_) {  // not in the map's order, which depends on addresses
      const auto sum = sums_.find(node.get());
      if (sum == sums_.end() || sum->second.size() < kFewestPieces) continue;
      if (!fills(sum->second, ir::count(node->type().shape))) continue;
      std::vector<Piece> list = joined(sum->second, *node);
      if (!list.empty()) found_.emplace(node.get(), std::move(list));
    }
    for (const NodeRef& node : order_) {
      const auto choice = choices_.find(node.get());
      if (choice == choices_.end() || choice->second.size() < kFewestChoices) continue;
      if (end_of(choice->second) != ir::count(node->type().shape)) continue;
      std::vector<Piece> list;
      for (const auto& [begin, value] : choice->second) list.push_back({begin, own_memory(value, true)});
      found_.emplace(node.get(), std::move(list));
    }
    for (const auto& [store, value] : stores_) {
      // A value belongs into one place only.
      if (owned_.insert(value.node.get())) found_.emplace(store, std::vector<Piece>{{0, value}});
    }
    return std::move(found_);
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
    pads_[node.get()].emplace(node->attrs_as<ir::PadAttrs>().before[0], std::vector<Value>{inner});
  }

  void add_store(const Node& node) {
    ir::IndexMap target(node.type().shape);
    target.apply(node.attrs_as<ir::StoreAttrs>().target);
    const ir::Seen seen = ir::look_through(node.input(1));
    const int64_t size = ir::count(node.type().shape);
    const bool whole = target.is_contiguous() && ir::count(target.shape()) == size && seen.map.is_contiguous() &&
                       ir::count(seen.base.shape()) == size && size > 0;
    const Node& base = *seen.base.node;
    if (!whole || base.evaluated() || base.results() != 1 || kept_.contains(&base)) return;
    stores_.emplace_back(&node, seen.base);
  }

  static int64_t end_of(const std::vector<Piece>& pieces) {
    return pieces.back().begin + ir::count(pieces.back().value.shape());
  }

  // What cat records: the places before an edge from one value, the others from a pad that begins there. Pieces that
  // others have asked for are read where they lie.
  void add_choice(const Node& node) {
    const auto edge = places_before(node.input(0));
    const auto begin_of = [](const Node& pad) { return pad.attrs_as<ir::PadAttrs>().before[0]; };
    const auto is_pad = [](const Node& pad) { return pad.op() == Op::pad && !pad.evaluated(); };
    const Node &before = *node.input(1).node, &after = *node.input(2).node;
    if (!edge || !is_pad(after) || begin_of(after) != *edge) return;
    const auto known = choices_.find(&before);
    std::vector<Piece> pieces;
    if (known != choices_.end() && uses_[&before] == 1)
      pieces = std::move(known->second);
    else if (is_pad(before) && begin_of(before) == 0)
      pieces.push_back({0, before.input(0)});
    if (known != choices_.end()) choices_.erase(known);
    if (pieces.empty() || end_of(pieces) != *edge) return;
    pieces.push_back({*edge, after.input(0)});
    choices_.emplace(&node, std::move(pieces));
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
    if (const Pieces* pad = pads_.find(node)) return pad;
    const auto sum = sums_.find(node);
    return sum != sums_.end() && uses_[node] == 1 ? &sum->second : nullptr;
  }

  static int64_t size_of_piece(const std::vector<Value>& values) { return ir::count(values[0].shape()); }

  // Whether a range lies beside all pieces, or is one of them.
  static bool overlaps(const Pieces& pieces, int64_t begin, int64_t end) {
    const auto next = pieces.lower_bound(begin);
    if (next != pieces.end() && next->first == begin) return size_of_piece(next->second) != end - begin;
    if (next != pieces.end() && next->first < end) return true;
    if (next == pieces.begin()) return false;
    const auto before = std::prev(next);
    return before->first + size_of_piece(before->second) > begin;
  }

  // Moves the smaller list into the larger, so that a chain of sums is linear.
  void add_sum(const NodeRef& node) {
    const Pieces *left = pieces_of(node->input(0)), *right = pieces_of(node->input(1));
    if (!left || !right) return;
    const Pieces &larger = left->size() >= right->size() ? *left : *right, &smaller = &larger == left ? *right : *left;
    for (const auto& [begin, values] : smaller) {
      if (overlaps(larger, begin, begin + size_of_piece(values))) return;
    }
    const Node* from = behind_marks(node->input(&larger == left ? 0 : 1));
    const auto sum = sums_.find(from);
    Pieces all = sum != sums_.end() ? std::move(sum->second) : larger;
    for (const auto& [begin, values] : smaller) {
      const auto [same, fresh] = all.emplace(begin, values);
      if (fresh) continue;
      std::vector<Value> first = &larger == left ? std::move(same->second) : values;
      const std::vector<Value>& second = &larger == left ? values : same->second;
      first.push_back(total_of(second));  // a sum on the right is added as one
      same->second = std::move(first);
    }
    for (const size_t side : {0, 1}) sums_.erase(behind_marks(node->input(side)));
    sums_.emplace(node.get(), std::move(all));
  }

  static bool fills(const Pieces& pieces, int64_t size) {
    int64_t end = 0;
    for (const auto& [begin, values] : pieces) {
      if (begin != end) return false;
      end += size_of_piece(values);
    }
    return end == size;
  }

  // One value after another; `kept`: the totals are written, so that what was added can go.
  Value total_of(const std::vector<Value>& values, bool kept = false) {
    Value total = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
      total = ir::add(total, values[i]);
      uses_[total.node.get()] = 1;
      if (kept) found_.totals.insert(total.node.get());
    }
    return total;
  }

  // Not worth a kernel of its own; nor are 16-bit values, which a product cannot add itself. What is scattered is a
  // table's.
  static bool is_small(const std::vector<Value>& values) {
    if (values[0].dtype() != DType::f32) return true;
    return size_of_piece(values) <= kSmall && std::none_of(values.begin(), values.end(), [](const Value& value) {
             const Op op = ir::base_of(value).node->op();
             return op == Op::contract || op == Op::scatter_add;
           });
  }

  // One value per piece. Small ones that are added up are put together with their neighbours first; none where that is
  // what `sum` does itself.
  std::vector<Piece> joined(const Pieces& pieces, const Node& sum) {
    std::vector<Piece> list;
    for (auto at = pieces.begin(); at != pieces.end();) {
      const auto& [begin, values] = *at;
      if (values.size() == 1 || !is_small(values)) {
        list.push_back({begin, own_memory(total_of(values, true))});
        ++at;
        continue;
      }
      auto end = std::next(at);
      while (end != pieces.end() && end->second.size() == values.size() && is_small(end->second)) ++end;
      const Value total = std::next(at) == end ? total_of(values) : total_of(put_together(at, end));
      if (total.node.get() == &sum) return {};
      list.push_back({begin, own_memory(total)});
      at = end;
    }
    return list;
  }

  // For each of the values that are added up, one assembly of the neighbours from `at` to `end`.
  std::vector<Value> put_together(Pieces::const_iterator at, Pieces::const_iterator end) {
    const int64_t begin = at->first;
    const auto last = std::prev(end);
    const int64_t size = last->first + size_of_piece(last->second) - begin;
    std::vector<Value> wholes;
    for (size_t which = 0; which < at->second.size(); ++which) {
      Value whole;
      std::vector<Piece> list;
      for (auto piece = at; piece != end; ++piece) {
        const Value& value = piece->second[which];
        const int64_t before = piece->first - begin;
        list.push_back({before, own_memory(value)});
        const Value padded = ir::pad(value, {before}, {size - before - size_of_piece(piece->second)});
        whole = whole ? ir::add(whole, padded) : padded;
      }
      uses_[whole.node.get()] = 1;
      found_.emplace(whole.node.get(), std::move(list));
      wholes.push_back(std::move(whole));
    }
    return wholes;
  }

  // The value itself if it is computed for this place only, in order, and never -0 unless that is `chosen` and not
  // added; else a copy.
  Value own_memory(const Value& value, bool chosen = false) {
    const ir::Seen seen = ir::look_through(value);
    const bool whole = seen.map.is_contiguous() && ir::count(seen.base.shape()) == ir::count(value.shape());
    bool only_reader = !seen.base.node->evaluated() && seen.base.node->results() == 1;
    for (Value v = value; only_reader;) {
      const size_t* uses = uses_.find(v.node.get());
      only_reader = uses && *uses == 1;
      if (v == seen.base) break;
      ir::step_through(v);
    }
    const bool keeps_bits = chosen || is_never_negative_zero(value);
    if (whole && only_reader && keeps_bits && owned_.insert(seen.base.node.get())) return seen.base;
    return copy_of(value, chosen);
  }

  // A value of its own even where the same one belongs into several places: equal nodes would be one, so that the
  // second copy is a copy of the first. Made without folding, which would leave nothing to write for a constant.
  Value copy_of(const Value& value, bool chosen) {
    Value copy = value;
    do {
      copy = chosen ? ir::decompose(Op::contiguous, {&copy, 1}, ir::NoAttrs())[0]
                    : Value{ir::Node::make(Op::add, {copy, ir::full_like(value, 0)}, ir::NoAttrs{}), 0};
    } while (!owned_.insert(copy.node.get()));
    return copy;
  }

  const std::vector<NodeRef>& order_;
  const Nodes& kept_;
  Assemblies found_;
  std::vector<std::pair<const Node*, Value>> stores_;
  Nodes owned_;  // pieces: they have their place
  ByNode<size_t> uses_;
  ByNode<Pieces> pads_;
  std::unordered_map<const Node*, Pieces> sums_;
  std::unordered_map<const Node*, std::vector<Piece>> choices_;  // in ascending order, from 0 on
};

}  // namespace

Assemblies find_assemblies(const std::vector<NodeRef>& order, const Nodes& kept) { return Finder(order, kept).run(); }

}  // namespace tenon::plan
