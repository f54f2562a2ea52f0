// Pattern matching on additions around a product, or a convolution, that has no other reader.

#include "tenon/plan/epilogue.h"

#include "tenon/ir/fold.h"
#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

bool is_convolution(Op op) { return op == Op::conv || op == Op::conv_transpose; }

bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

// A value without the views around it, if these leave its elements in their order.
const Value* peel(const Value& value, const Dims& shape) {
  const Value& base = ir::base_of(value);
  const bool in_order = &base == &value || ir::look_through(value).map.is_contiguous();
  return in_order && ir::count(base.shape()) == ir::count(shape) ? &base : nullptr;
}

}  // namespace

std::optional<EpilogueMatcher::Matched> EpilogueMatcher::match(const NodeRef& node) const {
  const bool is_relu = limits_.relu_epilogue && is_larger_of_sums(*node);
  const bool rounds = node->op() == Op::cast && is_half(node->type().dtype);
  const Value top = rounds || is_relu ? node->input(0) : Value{node, 0};
  if (ir::base_node(top)->op() != Op::add) return std::nullopt;
  const Value* add = peel(top, node->type().shape);
  Matched matched;
  if (!add || !match_sums(*add, node->type().shape, matched)) return std::nullopt;
  if (is_relu && matched.addends.residual) return std::nullopt;
  if (rounds && is_convolution(matched.contract->op())) return std::nullopt;
  matched.addends.result = node;
  matched.addends.relu = is_relu;
  return matched;
}

// The larger of 0 and of what nobody else reads.
bool EpilogueMatcher::is_larger_of_sums(const Node& node) const {
  if (node.op() != Op::maximum || node.type().dtype != DType::f32) return false;
  const ir::ConstantAttrs* bound = ir::number_behind(node.input(1));
  const Node& sums = *ir::base_node(node.input(0));
  return bound && bound->bits == 0 && !kept_.contains(&sums) && !stored_.contains(&sums) && uses_of(sums) == 1;
}

bool EpilogueMatcher::adds_to_product(const Node& node) const {
  if (node.op() != Op::add || node.type().dtype != DType::f32) return false;
  const Dims& shape = node.type().shape;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (!is_free_contract(*ir::base_node(node.input(side)), DType::f32)) continue;
    const Value* other = peel(node.input(1 - side), shape);
    if (!other || !peel(node.input(side), shape)) continue;
    const Node& base = *other->node;
    if (base.evaluated() || !is_inline(base, limits_) || stored_.contains(&base))
      return base.info().kind != Kind::reduce;
  }
  return false;
}

bool EpilogueMatcher::rounds_sums(const NodeRef& node) const {
  return node->op() == Op::cast && match(node).has_value();
}

// add(contract, bias), add(contract, residual) or add(add(contract, bias), residual), operands in any order.
bool EpilogueMatcher::match_sums(const Value& sum, const Dims& shape, Matched& matched) const {
  const Node& node = *sum.node;
  if (node.op() != Op::add || node.evaluated()) return false;
  // Of two products the later one adds the earlier one's result: micro-batches stay in their order.
  const size_t first = later_side(node, shape);
  for (const size_t side : {first, 1 - first}) {
    const Op below = ir::base_node(node.input(side))->op();
    const bool may_be = below == Op::contract || below == Op::add || is_convolution(below);
    const Value* inner = may_be ? peel(node.input(side), shape) : nullptr;
    if (!inner) continue;
    Matched attempt;
    if (is_free_contract(*inner->node, node.type().dtype) || is_free_convolution(*inner->node)) {
      attempt.contract = inner->node;
    } else if (inner->node->op() != Op::add || stored_.contains(inner->node.get()) || uses_of(*inner->node) != 1 ||
               !match_sums(*inner, shape, attempt) || attempt.addends.residual) {
      continue;
    }
    if (!match_addend(node.input(1 - side), attempt)) continue;
    matched = std::move(attempt);
    return true;
  }
  return false;
}

size_t EpilogueMatcher::later_side(const Node& node, const Dims& shape) const {
  constexpr uint32_t kNoUnit = ~0u;
  const auto unit_behind = [&](const Value& value) {
    const uint32_t unit = unit_of_(ir::base_of(value));
    return unit != kNoUnit && peel(value, shape) ? unit : kNoUnit;
  };
  const uint32_t right = unit_behind(node.input(1));
  if (right == kNoUnit) return 0;
  const uint32_t left = unit_behind(node.input(0));
  return left == kNoUnit || right > left ? 1 : 0;
}

bool EpilogueMatcher::is_free_contract(const Node& node, DType sums) const {
  return node.op() == Op::contract && !node.evaluated() && !kept_.contains(&node) && uses_of(node) == 1 &&
         node.type().dtype == sums && sums == DType::f32;
}

// Of f32: what 16-bit ones add is rounded behind it.
bool EpilogueMatcher::is_free_convolution(const Node& node) const {
  return limits_.conv_epilogue && is_convolution(node.op()) && !node.evaluated() && !kept_.contains(&node) &&
         uses_of(node) == 1 && node.type().dtype == DType::f32 && node.input(0).dtype() == DType::f32;
}

size_t EpilogueMatcher::uses_of(const Node& node) const {
  const size_t* found = uses_.find(&node);
  return found ? *found : 0;
}

// What is added, and how it is seen: a 16-bit bias is widened by the product itself.
ir::Seen EpilogueMatcher::look_at_addend(const Value& value) const {
  ir::Seen seen = ir::look_through(value);
  const Node& node = *seen.base.node;
  if (node.op() != Op::cast || node.evaluated() || stored_.contains(&node) || node.type().dtype != DType::f32)
    return seen;
  if (!is_half(node.input(0).dtype())) return seen;
  ir::Seen narrow = ir::look_through(node.input(0));
  narrow.map.apply(ir::moves_from(seen.base, value));
  return narrow;
}

// One number for each channel of the result.
bool EpilogueMatcher::match_channels(const Value& addend, ir::IndexMap& map, Matched& matched) const {
  const Dims& shape = matched.contract->type().shape;
  if (matched.addends.bias || map.shape() != shape || shape[1] < 2 || !map.is_strided()) return false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != 1 && !map.is_constant_along(axis)) return false;
  }
  if (ir::count(shape) == 0 || map.views()[0].strides[1] != 1) return false;
  Dims column(shape.size(), 1);
  column[1] = shape[1];
  map.apply(std::vector<ir::Move>{{Op::shrink, ir::ShrinkAttrs{Dims(shape.size(), 0), column, Dims(shape.size(), 1)}},
                                  {Op::reshape, ir::ShapeAttrs{{shape[1]}}}});
  matched.addends.bias = addend;
  matched.addends.bias_map = std::move(map);
  return true;
}

bool EpilogueMatcher::match_addend(const Value& value, Matched& matched) const {
  auto [addend, map] = look_at_addend(value);
  const Node& base = *addend.node;
  const bool in_memory =
      base.evaluated() || base.op() == Op::buffer || !is_inline(base, limits_) || stored_.contains(&base);
  if (!in_memory || base.info().kind == Kind::reduce) return false;
  const bool is_wide = addend.dtype() == DType::f32;
  if (is_convolution(matched.contract->op())) return is_wide && match_channels(addend, map, matched);
  const int64_t columns = matched.contract->type().shape.back();
  const Dims& shape = map.shape();
  if (columns < 2) return false;
  if (is_wide && map.is_contiguous() && ir::count(addend.shape()) == ir::count(shape)) {  // perhaps flat in an arena
    matched.addends.residual = addend;
    return true;
  }
  if (shape.empty() || shape.back() != columns) return false;
  if (matched.addends.bias || matched.addends.residual || !map.is_strided()) return false;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (!map.is_constant_along(axis)) return false;
  }
  if (map.views()[0].strides.back() != 1) return false;
  map.drop_leading(shape.size() - 1);
  matched.addends.bias = addend;
  matched.addends.bias_map = std::move(map);
  return true;
}

}  // namespace tenon::plan
