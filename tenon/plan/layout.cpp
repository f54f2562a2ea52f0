// One walk, operands first. What lies channels last is known by the node that computes it.

#include "tenon/plan/layout.h"

#include <algorithm>
#include <optional>

#include "tenon/base/flat_map.h"
#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;
using Results = std::optional<std::vector<Value>>;

bool is_any_convolution(Op op) { return op == Op::conv || op == Op::conv_transpose || op == Op::conv_weight; }

// Elements in row-major order, beginning where a vector does.
bool is_dense(const Value& value) {
  constexpr int64_t kVector = 16;  // bytes
  ir::IndexMap map = ir::look_through(value).map;
  const int64_t first = map.views()[0].offset;
  if (!map.is_strided() || first * static_cast<int64_t>(size_of(value.dtype())) % kVector != 0) return false;
  map.shift(-first);
  return map.is_contiguous();
}

class Arranger {
 public:
  Arranger(const std::vector<Value>& outputs, const std::function<bool(const ir::Call&)>& takes)
      : outputs_(outputs), takes_(takes) {}

  std::vector<Value> run() {
    const std::vector<NodeRef> order = ir::order_of_evaluation(outputs_);
    const bool any = std::any_of(order.begin(), order.end(), [](const NodeRef& node) {
      return !node->evaluated() && is_any_convolution(node->op());
    });
    if (!any) return outputs_;
    return rewrite(outputs_, order, [&](const Node& node, std::span<const Value> in) { return replaced(node, in); });
  }

 private:
  Results replaced(const Node& node, std::span<const Value> in) {
    const Kind kind = node.info().kind;
    if (is_any_convolution(node.op())) return convolution(node, in);
    if (node.op() == Op::max_pool || node.op() == Op::max_pool_backward) return pooling(node, in);
    if (std::none_of(in.begin(), in.end(), [&](const Value& value) { return behind(value).has_value(); }))
      return std::nullopt;
    if (kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary) return elementwise(node, in);
    if (kind == Kind::reduce) return reduction(node, in);
    if (node.op() == Op::pad || node.op() == Op::shrink) return movement(node, in);
    return std::nullopt;
  }

  // The value whose channels come last, where this is the view of one.
  std::optional<Value> behind(const Value& value) const {
    const Node& node = *value.node;
    if (node.evaluated() || node.op() != Op::permute || !lie_last_.contains(node.input(0).node.get()))
      return std::nullopt;
    const Dims to_second = ir::channels_to_second(ir::iota_dims(value.rank()));
    return node.attrs_as<ir::AxesAttrs>().axes == to_second ? std::optional(node.input(0)) : std::nullopt;
  }
  Value last(const Value& value) const {
    const std::optional<Value> known = behind(value);
    return known ? *known : ir::channels_last(value);
  }
  // In memory as it is seen: a copy where it is not, into which all that is computed from other memory goes.
  Value laid_out(const Value& value) const {
    const Value moved = last(value);
    return is_dense(moved) ? moved : ir::decompose(Op::contiguous, {&moved, 1}, ir::NoAttrs())[0];
  }

  std::vector<Value> shown(const NodeRef& made) {
    lie_last_.emplace(made.get(), made);
    std::vector<Value> all;
    for (uint32_t i = 0; i < made->results(); ++i) all.push_back(ir::channels_second({made, i}));
    return all;
  }

  Results convolution(const Node& node, std::span<const Value> in) {
    auto attrs = node.attrs_as<ir::ConvAttrs>();
    attrs.channels_last = true;
    ir::Call call;
    call.op = node.op();
    call.attrs = attrs;
    for (const Value& operand : in)
      call.inputs.push_back({operand.dtype(), ir::IndexMap(ir::channels_to_last(operand.shape()))});
    call.outputs.push_back({attrs.result, ir::channels_to_last(node.type().shape)});
    if (takes_ && !takes_(call)) return std::nullopt;
    return shown(Node::make(node.op(), {laid_out(in[0]), laid_out(in[1])}, attrs));
  }

  Results pooling(const Node& node, std::span<const Value> in) {
    if (std::none_of(in.begin(), in.end(), [&](const Value& value) { return behind(value).has_value(); }))
      return std::nullopt;
    auto attrs = node.attrs_as<ir::PoolAttrs>();
    attrs.channels_last = true;
    ir::Operands operands;
    for (const Value& value : in) operands.push_back(last(value));
    return shown(Node::make(node.op(), std::move(operands), attrs));
  }

  Results elementwise(const Node& node, std::span<const Value> in) {
    ir::Operands operands;
    for (const Value& value : in) operands.push_back(last(value));
    return shown(Node::make_like(node, std::move(operands)));
  }

  Results reduction(const Node& node, std::span<const Value> in) {
    const Dims place = ir::inverse_permutation(ir::channels_to_last(ir::iota_dims(in[0].rank())));
    Dims axes;
    for (const int64_t axis : node.attrs_as<ir::AxesAttrs>().axes) axes.push_back(place[static_cast<size_t>(axis)]);
    std::sort(axes.begin(), axes.end());
    return shown(Node::make(node.op(), {last(in[0])}, ir::AxesAttrs{axes}));
  }

  Results movement(const Node& node, std::span<const Value> in) {
    const Value x = last(in[0]);
    const auto moved = [](const Dims& dims) { return ir::channels_to_last(dims); };
    Value made;
    if (node.op() == Op::pad) {
      const auto& attrs = node.attrs_as<ir::PadAttrs>();
      made = ir::pad(x, moved(attrs.before), moved(attrs.after));
    } else {
      const auto& attrs = node.attrs_as<ir::ShrinkAttrs>();
      made = ir::shrink(x, moved(attrs.start), moved(attrs.size), moved(attrs.step));
    }
    if (made == x) return std::vector<Value>{in[0]};
    return shown(made.node);
  }

  const std::vector<Value>& outputs_;
  const std::function<bool(const ir::Call&)>& takes_;
  base::FlatMap<const Node*, NodeRef> lie_last_;
};

}  // namespace

std::vector<Value> with_channels_last(const std::vector<Value>& outputs,
                                      const std::function<bool(const ir::Call&)>& takes) {
  return Arranger(outputs, takes).run();
}

}  // namespace tenon::plan
