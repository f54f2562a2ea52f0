// Early and late are told by the number of calls on the longest way to a node. It grows along a forward pass and goes
// on growing along the backward pass, so the distance of two readers says how long a value would have to be kept.

#include "tenon/plan/recompute.h"

#include <algorithm>
#include <optional>

#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/fuse.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr int64_t kWorthIt = 1 << 18;  // elements: less is not worth a second pass
constexpr uint32_t kFar = 2;           // calls between the readers

class Recompute {
 public:
  Recompute(const std::vector<Value>& outputs, const ir::Limits& limits)
      : outputs_(outputs), limits_(limits), order_(ir::order_of_evaluation(outputs)) {}

  Recomputed run() {
    find_readers();
    if (readers_.empty()) return {outputs_, {}};
    number_stages();
    if (!has_far_readers()) return {outputs_, {}};
    find_last_uses();
    for (const NodeRef& node : order_) {
      if (const Readers* readers = readers_.find(node.get())) look_at(node, *readers);
    }
    if (late_.empty()) return {outputs_, {}};
    again_ = ir::InRealm::next();
    Recomputed made;
    made.outputs =
        rewrite(outputs_, order_, [&](const Node& node, std::span<const Value> in) { return with_copies(node, in); });
    made.behind = std::move(behind_);
    return made;
  }

 private:
  struct Readers {
    std::vector<const Node*> calls;
    bool has_others = false;  // kernels that read it because it lies in memory
  };

  bool is_computed(const Node& node) const { return !node.evaluated() && is_inline(node, limits_); }

  void number_stages() {
    for (const NodeRef& node : order_) {
      uint32_t stage = 0;
      if (!node->evaluated()) {
        for (const Value& input : node->inputs()) {
          const uint32_t* below = stage_.find(input.node.get());
          if (below) stage = std::max(stage, *below);
        }
        if (node->info().kind == Kind::call) ++stage;
      }
      stage_.emplace(node.get(), stage);
    }
  }

  // Large values that several products read.
  void find_readers() {
    ByNode<Readers> readers;
    for (const NodeRef& node : order_) {
      if (node->evaluated() || node->op() != Op::contract) continue;
      for (const Value& input : node->inputs()) {
        const Value& base = ir::base_of(input);
        if (is_computed(*base.node) && ir::count(base.shape()) >= kWorthIt)
          readers[base.node.get()].calls.push_back(node.get());
      }
    }
    for (const Value& output : outputs_) kept_.insert(ir::base_node(output));
    for (const auto& [node, of_node] : readers) {
      if (of_node.calls.size() > 1 && !kept_.contains(node)) readers_.emplace(node, of_node);
    }
  }

  void find_last_uses() {
    stored_ = find_stored(order_, kept_, {}, limits_);
    for (const NodeRef& node : order_) {
      const bool is_written = !is_inline(*node, limits_) || stored_.contains(node.get());
      if (node->evaluated() || ir::is_transparent(*node) || !is_written) continue;
      const bool is_call = !is_inline(*node, limits_) && node->info().kind != Kind::reduce;
      const uint32_t stage = stage_.at(node.get());
      for (const Value& input : node->inputs()) {
        for (const Node* source : sources_behind(input, is_call)) {
          uint32_t& last = last_use_[source];
          last = std::max(last, stage);
          Readers* readers = readers_.find(source);
          if (readers && node->op() != Op::contract) readers->has_others = true;
        }
      }
    }
  }

  // What lies in memory behind a value. A call reads the value itself there.
  NodeList sources_behind(const Value& value, bool for_call) const {
    NodeList sources, seen{ir::base_node(value)};  // few: kernels are small
    for (size_t next = 0; next < seen.size(); ++next) {
      const Node* node = seen[next];
      if (for_call || !is_computed(*node) || stored_.contains(node)) {
        sources.push_back(node);
        continue;
      }
      for (const Value& input : node->inputs()) {
        const Node* below = ir::base_node(input);
        if (std::find(seen.begin(), seen.end(), below) == seen.end()) seen.push_back(below);
      }
    }
    return sources;
  }

  struct Span {
    uint32_t first = ~0u, last = 0;
    bool is_far() const { return last >= first + kFar; }
  };
  Span stages_of(const Readers& readers) const {
    Span span;
    for (const Node* call : readers.calls) {
      span.first = std::min(span.first, stage_.at(call));
      span.last = std::max(span.last, stage_.at(call));
    }
    return span;
  }
  // Without, as in a forward pass, there is nothing more to find out.
  bool has_far_readers() const {
    return std::any_of(readers_.begin(), readers_.end(),
                       [&](const auto& entry) { return stages_of(entry.value).is_far(); });
  }

  void look_at(const NodeRef& node, const Readers& readers) {
    if (readers.has_others) return;  // it is kept for them
    const Span span = stages_of(readers);
    if (!span.is_far() || !is_kept_until(*node, span.last)) return;
    for (const Node* call : readers.calls) {
      if (stage_.at(call) >= span.first + kFar) late_[call].insert(node.get());
    }
  }

  // Whether everything large that a value is made of is there at that stage anyway.
  bool is_kept_until(const Node& node, uint32_t stage) const {
    for (const Value& input : node.inputs()) {
      for (const Node* source : sources_behind(input, false)) {
        if (source->evaluated() || source->info().kind == Kind::leaf) continue;
        if (2 * ir::count(source->type().shape) <= ir::count(node.type().shape)) continue;
        const uint32_t* last = last_use_.find(source);
        if (!last || *last + 1 < stage) return false;
      }
    }
    return true;
  }

  std::optional<std::vector<Value>> with_copies(const Node& node, std::span<const Value> in) {
    const Nodes* late = late_.find(&node);
    if (!late) return std::nullopt;
    ir::Operands inputs(in.begin(), in.end());
    std::vector<NodeRef> copies;
    NodeRef first;
    for (Value& input : inputs) {
      const NodeRef& base = ir::base_of(input).node;
      if (late->contains(base.get())) {
        input = copy_of(input);
        copies.push_back(ir::base_of(input).node);
      } else {
        first = base;
      }
    }
    if (!first) return std::nullopt;  // both operands are old: neither would wait
    for (const NodeRef& copy : copies) behind_.emplace(copy.get(), first);
    const NodeRef made = Node::make_like(node, std::move(inputs));
    std::vector<Value> results;
    for (uint32_t i = 0; i < made->results(); ++i) results.push_back({made, i});
    return results;
  }

  // The value made of other nodes, down to what lies in memory.
  Value copy_of(const Value& top) {
    const ir::InRealm apart(again_);
    const Node* value = ir::base_node(top);
    ByNode<NodeRef> copied;
    const auto is_copied = [&](const Node& node) {
      if (node.evaluated() || node.inputs().empty()) return false;
      if (ir::is_transparent(node)) return true;
      return is_inline(node, limits_) && (!stored_.contains(&node) || &node == value);
    };
    const std::vector<NodeRef> order =
        ir::topological_order({&top, 1}, [&](const Node& node) { return !is_copied(node); });
    for (const NodeRef& node : order) {
      if (!is_copied(*node)) continue;
      ir::Operands inputs;
      for (const Value& input : node->inputs()) {
        const NodeRef* copy = copied.find(input.node.get());
        inputs.push_back(copy ? Value{*copy, input.index} : input);
      }
      copied.emplace(node.get(), Node::make_like(*node, std::move(inputs)));
    }
    return {copied.at(top.node.get()), top.index};
  }

  const std::vector<Value>& outputs_;
  const ir::Limits& limits_;
  const std::vector<NodeRef> order_;
  ByNode<uint32_t> stage_, last_use_;
  ByNode<Readers> readers_;
  Nodes kept_, stored_;
  ByNode<Nodes> late_;  // per product: what it reads a copy of
  ByNode<NodeRef> behind_;
  uint64_t again_ = 0;
};

}  // namespace

Recomputed recompute(const std::vector<Value>& outputs, const ir::Limits& limits) {
  return Recompute(outputs, limits).run();
}

std::vector<NodeRef> late_ones_last(std::vector<NodeRef> order, const Recomputed& recomputed,
                                    const Assemblies& assemblies) {
  if (recomputed.behind.empty()) return order;
  Nodes late;
  const auto is_late = [&](const NodeRef& node) {
    if (node->evaluated()) return false;
    if (recomputed.behind.contains(node.get())) return true;
    const auto waits_for = [&](const Value& value) { return late.contains(value.node.get()); };
    if (const auto* pieces = assemblies.find(node.get())) {
      return std::any_of(pieces->begin(), pieces->end(), [&](const Piece& piece) { return waits_for(piece.value); });
    }
    const auto inputs = node->inputs();
    return std::any_of(inputs.begin(), inputs.end(), waits_for);
  };
  std::vector<NodeRef> first, last;
  for (NodeRef& node : order) {
    const bool waits = is_late(node);
    if (waits) late.insert(node.get());
    (waits ? last : first).push_back(std::move(node));
  }
  std::move(last.begin(), last.end(), std::back_inserter(first));
  return first;
}

}  // namespace tenon::plan
