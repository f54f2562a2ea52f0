// Found from the sum downwards: three pads along one axis, each of a whole result that nothing else reads. Results may
// be seen with their axes in another order, heads before tokens say, if all three are; then so is what replaces the
// sum.

#include "tenon/plan/join.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
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
      if (const auto sum = joined_by(*node)) {
        sums_.emplace(node.get(), *sum);
        made_.emplace(sum->attention, Value());
      }
    }
    if (sums_.empty()) return outputs_;
    return rewrite(outputs_, order, [&](const Node& node, std::span<const Value> in) { return replaced(node, in); });
  }

 private:
  struct Sum {
    const Node* attention = nullptr;  // whose gradients it puts together
    Dims order;                       // of its axes in memory, the slowest first
  };

  // Nothing if it is any other sum.
  std::optional<Sum> joined_by(const Node& sum) const {
    std::array<bool, 3> found{};
    Sum made;
    std::vector<const Node*> waiting{&sum};
    while (!waiting.empty()) {
      const Node& node = *waiting.back();
      waiting.pop_back();
      for (const Value& operand : node.inputs()) {
        const Node& next = *operand.node;
        if (next.evaluated() || uses_.at(&next) != 1) return std::nullopt;
        if (next.op() == Op::add) {
          if (waiting.size() > 2) return std::nullopt;
          waiting.push_back(&next);
          continue;
        }
        const auto piece = next.op() == Op::pad ? piece_of(next) : std::nullopt;
        if (!piece || found[piece->gradient.index]) return std::nullopt;
        const Node* attention = piece->gradient.node.get();
        if (made.attention && (made.attention != attention || !(made.order == piece->order))) return std::nullopt;
        found[piece->gradient.index] = true;
        made = {attention, piece->order};
      }
    }
    return found[0] && found[1] && found[2] && uses_.at(made.attention) == 3 ? std::optional(made) : std::nullopt;
  }

  struct Piece {
    Value gradient;
    Dims order;
  };

  // The order in which the axes of a view of (batch, tokens, heads, width) lie in memory. An axis of size 1 that is
  // padded is to be the one around the heads.
  static Dims order_in_memory(const ir::View& view, const Dims& gradient, size_t padded) {
    const auto stride_of = [&](int64_t axis) {
      const auto i = static_cast<size_t>(axis);
      if (view.shape[i] != 1) return view.strides[i];
      return i == padded ? gradient[2] * gradient[3] : std::numeric_limits<int64_t>::max();
    };
    Dims order(view.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int64_t left = stride_of(a), right = stride_of(b);
      return left != right ? left > right : a != b && b == static_cast<int64_t>(padded);
    });
    return order;
  }

  // The gradient that a pad puts into its place beside the others.
  std::optional<Piece> piece_of(const Node& pad) const {
    const Value *at = &pad.input(0), *behind = &ir::base_of(*at);
    const Node& base = *behind->node;
    if (!could_be_joined(base)) return std::nullopt;
    for (; at != behind; at = &ir::shown_by(*at->node, at->index)) {
      if (uses_.at(at->node.get()) != 1) return std::nullopt;
    }
    ir::Seen seen = ir::look_through(pad.input(0));
    if (!seen.map.is_strided() || ir::count(seen.map.shape()) != ir::count(seen.base.shape())) return std::nullopt;
    const auto& attrs = pad.attrs_as<ir::PadAttrs>();
    std::optional<size_t> along;
    for (size_t axis = 0; axis < attrs.before.size(); ++axis) {
      if (attrs.before[axis] == 0 && attrs.after[axis] == 0) continue;
      if (along) return std::nullopt;
      along = axis;
    }
    if (!along) return std::nullopt;
    const Dims &q = base.type(0).shape, &k = base.type(1).shape, &v = base.type(2).shape;
    const Dims order = order_in_memory(seen.map.views()[0], seen.base.shape(), *along);
    seen.map.apply(ir::Move{Op::permute, ir::AxesAttrs{order}});
    if (!seen.map.is_contiguous()) return std::nullopt;
    const Dims shape = ir::moved_shape({Op::permute, ir::AxesAttrs{order}}, pad.type().shape);
    const auto place =
        static_cast<size_t>(std::find(order.begin(), order.end(), static_cast<int64_t>(*along)) - order.begin());
    int64_t rows = 1, before = attrs.before[*along];
    for (size_t axis = 0; axis < place; ++axis) rows *= shape[axis];
    for (size_t axis = place + 1; axis < shape.size(); ++axis) before *= shape[axis];
    const int64_t heads_before[] = {0, q[2], q[2] + k[2]};
    const bool fits = rows == q[0] * q[1] && before == heads_before[seen.base.index] * q[3] &&
                      ir::count(shape) == rows * (q[2] + k[2] + v[2]) * q[3];
    return fits ? std::optional(Piece{seen.base, order}) : std::nullopt;
  }

  std::optional<std::vector<Value>> replaced(const Node& node, std::span<const Value> in) {
    if (const Sum* sum = sums_.find(&node)) {
      const Dims shape = ir::moved_shape({Op::permute, ir::AxesAttrs{sum->order}}, node.type().shape);
      const Value rows = ir::reshape(made_.at(sum->attention), shape);
      return std::vector<Value>{ir::permute(rows, ir::inverse_permutation(sum->order))};
    }
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
  base::FlatMap<const Node*, Sum> sums_;
  base::FlatMap<const Node*, Value> made_;  // by the attention: the joined one
};

}  // namespace

std::vector<Value> join_attention_gradients(const std::vector<Value>& outputs) { return Joiner(outputs).run(); }

}  // namespace tenon::plan
