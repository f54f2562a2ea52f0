// Found from the sum downwards: three pads along one axis, each of a whole result that nothing else reads.

#include "tenon/plan/join.h"

#include <array>
#include <optional>

#include "tenon/base/flat_map.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::AttentionAttrs;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

// Whether the rows of all three have the same tokens and heads of one width.
bool could_be_joined(const Node& node) {
  if (node.evaluated() || node.op() != Op::attention_backward || node.results() != 3) return false;
  const Dims &q = node.type(0).shape, &k = node.type(1).shape, &v = node.type(2).shape;
  return q[1] == k[1] && q[3] == k[3] && q[3] == v[3] && ir::count(q) > 0;
}

class Joiner {
 public:
  explicit Joiner(const std::vector<Value>& outputs) : outputs_(outputs) {}

  std::vector<Value> run() {
    const std::vector<NodeRef> order = ir::order_of_evaluation(outputs_);
    bool any = false;
    for (const NodeRef& node : order) any = any || could_be_joined(*node);
    if (!any) return outputs_;
    for (const Value& output : outputs_) ++uses_[output.node.get()];
    for (const NodeRef& node : order) {
      if (node->evaluated()) continue;
      for (const Value& input : node->inputs()) ++uses_[input.node.get()];
    }
    for (const NodeRef& node : order) {
      if (node->evaluated() || node->op() != Op::add) continue;
      if (const Node* attention = joined_by(*node)) {
        sums_.emplace(node.get(), attention);
        made_.emplace(attention, Value());
      }
    }
    if (sums_.empty()) return outputs_;
    return rewrite(outputs_, order, [&](const Node& node, std::span<const Value> in) { return replaced(node, in); });
  }

 private:
  // The attention whose gradients this sum puts together; none if it is any other sum.
  const Node* joined_by(const Node& sum) const {
    std::array<bool, 3> found{};
    const Node* attention = nullptr;
    std::vector<const Node*> waiting{&sum};
    while (!waiting.empty()) {
      const Node& node = *waiting.back();
      waiting.pop_back();
      for (const Value& operand : node.inputs()) {
        const Node& next = *operand.node;
        if (next.evaluated() || uses_.at(&next) != 1) return nullptr;
        if (next.op() == Op::add) {
          if (waiting.size() > 2) return nullptr;
          waiting.push_back(&next);
          continue;
        }
        const auto piece = next.op() == Op::pad ? piece_of(next) : std::nullopt;
        if (!piece || found[piece->index] || (attention && piece->node.get() != attention)) return nullptr;
        found[piece->index] = true;
        attention = piece->node.get();
      }
    }
    return found[0] && found[1] && found[2] && uses_.at(attention) == 3 ? attention : nullptr;
  }

  // The gradient that a pad puts into its place beside the others.
  std::optional<Value> piece_of(const Node& pad) const {
    const Value *at = &pad.input(0), *behind = &ir::base_of(*at);
    const Node& base = *behind->node;
    if (!could_be_joined(base)) return std::nullopt;
    for (; at != behind; at = &ir::shown_by(*at->node, at->index)) {
      if (uses_.at(at->node.get()) != 1) return std::nullopt;
    }
    const ir::Seen seen = ir::look_through(pad.input(0));
    if (!seen.map.is_contiguous() || ir::count(seen.map.shape()) != ir::count(seen.base.shape())) return std::nullopt;
    const auto& attrs = pad.attrs_as<ir::PadAttrs>();
    const Dims& shape = pad.type().shape;
    std::optional<size_t> along;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (attrs.before[axis] == 0 && attrs.after[axis] == 0) continue;
      if (along) return std::nullopt;
      along = axis;
    }
    if (!along) return std::nullopt;
    int64_t rows = 1, before = attrs.before[*along];
    for (size_t axis = 0; axis < *along; ++axis) rows *= shape[axis];
    for (size_t axis = *along + 1; axis < shape.size(); ++axis) before *= shape[axis];
    const Dims &q = base.type(0).shape, &k = base.type(1).shape, &v = base.type(2).shape;
    const int64_t heads_before[] = {0, q[2], q[2] + k[2]};
    const bool fits = rows == q[0] * q[1] && before == heads_before[seen.base.index] * q[3] &&
                      ir::count(shape) == rows * (q[2] + k[2] + v[2]) * q[3];
    return fits ? std::optional(seen.base) : std::nullopt;
  }

  std::optional<std::vector<Value>> replaced(const Node& node, std::span<const Value> in) {
    if (const Node* const* attention = sums_.find(&node))
      return std::vector<Value>{ir::reshape(made_.at(*attention), node.type().shape)};
    Value* joined = made_.find(&node);
    if (!joined) return std::nullopt;
    AttentionAttrs attrs = node.attrs_as<AttentionAttrs>();
    attrs.joined = true;
    *joined = {Node::make(Op::attention_backward, ir::Operands(in.begin(), in.end()), attrs), 0};
    std::vector<Value> parts;  // for the sum that is replaced in turn
    int64_t begin = 0;
    for (uint32_t i = 0; i < 3; ++i) {
      const int64_t heads = node.type(i).shape[2];
      Dims from(4, 0), size = node.type(i).shape;
      from[2] = begin;
      parts.push_back(ir::shrink(*joined, from, size, Dims(4, 1)));
      begin += heads;
    }
    return parts;
  }

  const std::vector<Value>& outputs_;
  base::FlatMap<const Node*, size_t> uses_;
  base::FlatMap<const Node*, const Node*> sums_;  // the attention whose gradients they are
  base::FlatMap<const Node*, Value> made_;        // by the attention: the joined one
};

}  // namespace

std::vector<Value> join_attention_gradients(const std::vector<Value>& outputs) { return Joiner(outputs).run(); }

}  // namespace tenon::plan
