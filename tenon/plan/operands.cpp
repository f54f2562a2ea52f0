// Elementwise ops and views change places: the view of a sum is the sum of the views. Of the views around a value, the
// fewest are moved below it that leave a matrix.

#include "tenon/plan/operands.h"

#include <algorithm>
#include <optional>

#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/expression.h"
#include "tenon/plan/rewrite.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Move;
using ir::Node;
using ir::Op;
using ir::Value;

bool is_elementwise(const Node& node) {
  const Kind kind = node.info().kind;
  return !node.evaluated() && (kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary);
}

// Whether rows or columns of a batch of matrices lie side by side.
bool is_matrix(const ir::IndexMap& map) {
  if (!map.is_strided()) return false;
  const ir::View& view = map.views()[0];
  const size_t column = view.shape.size() - 1, row = column - 1;
  const auto is_dense = [&](size_t axis) { return view.shape[axis] == 1 || view.strides[axis] == 1; };
  return is_dense(row) || is_dense(column);
}

// How many of the moves lead to what leaves a matrix when it lies in order; none where the value is one as it is, and
// where moves show less or more than all of it once.
std::optional<size_t> moves_below(const Value& base, std::span<const Move> moves) {
  const bool is_whole = std::all_of(moves.begin(), moves.end(),
                                    [](const Move& move) { return move.op == Op::permute || move.op == Op::reshape; });
  if (!is_whole || ir::count(base.shape()) == 0) return std::nullopt;
  Dims shape = base.shape();
  for (size_t count = 0; count <= moves.size(); ++count) {
    if (count > 0) shape = ir::moved_shape(moves[count - 1], shape);
    ir::IndexMap rest(shape);
    rest.apply(moves.subspan(count));
    if (is_matrix(rest)) return count > 0 ? std::optional(count) : std::nullopt;
  }
  return std::nullopt;
}

struct Views {
  std::vector<Move> below, above;
};
// What is moved below an operand's value and what stays above; nothing where the operand stays as it is.
std::optional<Views> divided(const Value& operand) {
  const Value& base = ir::base_of(operand);
  if (&base == &operand || !is_elementwise(*base.node)) return std::nullopt;
  const std::vector<Move> moves = ir::moves_from(base, operand);
  const std::optional<size_t> below = moves_below(base, moves);
  if (!below) return std::nullopt;
  const auto at = moves.begin() + static_cast<ptrdiff_t>(*below);
  return Views{{moves.begin(), at}, {at, moves.end()}};
}

Value moved(Value value, const std::vector<Move>& moves) {
  for (const Move& move : moves) value = ir::move(value, move);
  return value;
}

Value laid_out(const Value& operand) {
  const std::optional<Views> views = divided(operand);
  if (!views) return operand;
  const Node& node = *ir::base_node(operand);
  ir::Operands inputs;
  for (const Value& input : node.inputs()) inputs.push_back(moved(input, views->below));
  return moved({Node::make_like(node, std::move(inputs)), 0}, views->above);
}

}  // namespace

std::vector<Value> lay_out_operands(const std::vector<Value>& outputs) {
  const std::vector<ir::NodeRef> order = ir::order_of_evaluation(outputs);
  Nodes products;
  for (const ir::NodeRef& node : order) {
    if (node->evaluated() || node->op() != Op::contract) continue;
    const auto inputs = node->inputs();
    if (std::any_of(inputs.begin(), inputs.end(), [](const Value& input) { return divided(input).has_value(); }))
      products.insert(node.get());
  }
  if (products.empty()) return outputs;
  return rewrite(outputs, order, [&](const Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
    if (!products.contains(&node)) return std::nullopt;
    return std::vector<Value>{{Node::make_like(node, {laid_out(in[0]), laid_out(in[1])}), 0}};
  });
}

}  // namespace tenon::plan
