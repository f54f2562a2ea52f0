// One rule per row of the op table, written with the table's own ops so that every rule can be differentiated again.
// The rule of an op has its name; a row that is differentiable and has none does not link.

#include "tenon/grad/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "tenon/base/error.h"
#include "tenon/grad/grad.h"
#include "tenon/ir/build.h"
#include "tenon/ir/composition.h"
#include "tenon/ir/decompose.h"

namespace tenon::autodiff {
namespace rules {

using namespace ir;

#define TENON_OP(name, ...) void name##_rule(Context& c);
#include "tenon/ir/ops.def"

Value zeros_like(const Value& x) { return full_like(x, 0); }
Value square(const Value& x) { return mul(x, x); }

// ---- movement: the inverse move ----

void reshape_rule(Context& c) { c.out[0] = reshape(c.grad(), c.in(0).shape()); }
// The gradient of a transposed weight is a product too: it is computed the other way round, so that it lies as the
// weight does and can be added to, or written into, what lies so.
void permute_rule(Context& c) {
  const Dims axes = inverse_permutation(c.node->attrs_as<AxesAttrs>().axes);
  const Value& g = c.grad();
  Dims swap = iota_dims(axes.size());
  if (swap.size() >= 2) std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  if (g.node->op() == Op::contract && !g.node->evaluated() && axes == swap) {
    const auto turned = [&](size_t i) { return permute(g.node->input(i), swap); };
    c.out[0] = contract(turned(1), turned(0), g.node->attrs_as<ContractAttrs>());
    return;
  }
  c.out[0] = permute(g, axes);
}
void expand_rule(Context& c) { c.out[0] = sum_to(c.grad(), c.in(0).shape()); }
void flip_rule(Context& c) { c.out[0] = flip(c.grad(), c.node->attrs_as<AxesAttrs>().axes); }
void shrink_rule(Context& c) { c.out[0] = unshrink(c.grad(), c.node->attrs_as<ShrinkAttrs>(), c.in(0).shape()); }
void pad_rule(Context& c) {
  const Dims& shape = c.in(0).shape();
  c.out[0] = shrink(c.grad(), c.node->attrs_as<PadAttrs>().before, shape, Dims(shape.size(), 1));
}

// ---- unary ----

void neg_rule(Context& c) { c.out[0] = neg(c.grad()); }
void abs_rule(Context& c) {
  const Value &x = c.in(0), zero = zeros_like(x), g = c.grad();
  c.out[0] = where(less(x, zero), neg(g), where(less(zero, x), g, zeros_like(g)));
}
void sqrt_rule(Context& c) { c.out[0] = div(scale(c.grad(), 0.5), c.result()); }
void exp_rule(Context& c) { c.out[0] = mul(c.grad(), c.result()); }
// Not 1 + the result, which has no digits left where that is nearly -1.
void expm1_rule(Context& c) { c.out[0] = mul(c.grad(), exp(c.in(0))); }
void log_rule(Context& c) { c.out[0] = div(c.grad(), c.in(0)); }
void log2_rule(Context& c) { c.out[0] = scale(div(c.grad(), c.in(0)), std::numbers::log2e); }
void log1p_rule(Context& c) { c.out[0] = div(c.grad(), add_number(c.in(0), 1)); }
void sin_rule(Context& c) { c.out[0] = mul(c.grad(), unary(Op::cos, c.in(0))); }
void cos_rule(Context& c) { c.out[0] = neg(mul(c.grad(), unary(Op::sin, c.in(0)))); }
// Slopes that are made of the result: where y is near 1, a 16-bit 1 - y^2 would have a digit or two.
template <typename Slope>
void slope_of_result(Context& c, const Slope& slope) {
  const DType dtype = c.result().dtype(), wide = accumulator(dtype);
  c.out[0] = cast(mul(cast(c.grad(), wide), slope(cast(c.result(), wide))), dtype);
}
void tanh_rule(Context& c) {
  slope_of_result(c, [](const Value& y) { return sub(full_like(y, 1), square(y)); });
}
void sigmoid_rule(Context& c) {
  slope_of_result(c, [](const Value& y) { return mul(y, sub(full_like(y, 1), y)); });
}
void exp2_rule(Context& c) {
  slope_of_result(c, [](const Value& y) { return scale(y, std::numbers::ln2); });
}
void erf_rule(Context& c) {
  const DType dtype = c.in(0).dtype(), wide = accumulator(dtype);  // 16-bit types are rounded once
  const Value slope = scale(exp(neg(square(cast(c.in(0), wide)))), 2 / std::sqrt(std::numbers::pi));
  c.out[0] = cast(mul(cast(c.grad(), wide), slope), dtype);
}
void atan_rule(Context& c) {
  const DType dtype = c.in(0).dtype(), wide = accumulator(dtype);  // 16-bit types are rounded once
  c.out[0] = cast(div(cast(c.grad(), wide), add_number(square(cast(c.in(0), wide)), 1)), dtype);
}
void floor_rule(Context& c) { c.out[0] = zeros_like(c.grad()); }
void round_rule(Context& c) { floor_rule(c); }
void cast_rule(Context& c) { c.out[0] = cast(c.grad(), c.in(0).dtype()); }

// ---- binary ----

void add_rule(Context& c) { c.out[0] = c.out[1] = c.grad(); }
void mul_rule(Context& c) {
  if (c.wants(0)) c.out[0] = mul(c.grad(), c.in(1));
  if (c.wants(1)) c.out[1] = mul(c.grad(), c.in(0));
}
void div_rule(Context& c) {
  if (c.wants(0)) c.out[0] = div(c.grad(), c.in(1));
  if (!c.wants(1)) return;
  // 16-bit types are rounded once, and not in each of three steps. A hook on the result is none of its derivative's.
  const DType dtype = c.in(1).dtype(), wide = accumulator(dtype);
  const bool is_result = wide == dtype && !c.result().node->hooks();
  const Value b = cast(c.in(1), wide), y = is_result ? c.result() : div(cast(c.in(0), wide), b);
  c.out[1] = cast(neg(div(mul(cast(c.grad(), wide), y), b)), dtype);
}
void pow_rule(Context& c) {
  const Value &x = c.in(0), &y = c.in(1), &g = c.grad();
  const Value zero = zeros_like(y);
  if (c.wants(0)) {  // y x^(y-1), and 0 for y = 0 even where x^-1 is infinite
    const Value slope = mul(y, binary(Op::pow, x, add_number(y, -1)));
    c.out[0] = where(equal(y, zero), zeros_like(g), mul(g, slope));
  }
  if (c.wants(1)) {  // x^y log x, and 0 for x = 0 where the power stays 0
    const Value not_negative = binary(Op::bit_or, less(zero, y), equal(zero, y));
    const Value flat = binary(Op::bit_and, equal(x, zeros_like(x)), not_negative);
    const Value slope = mul(c.result(), log(where(flat, full_like(x, 1), x)));
    c.out[1] = where(flat, zeros_like(g), mul(g, slope));
  }
}
// Ties share the gradient evenly, and beside NaN both get all of it, as in PyTorch.
void maximum_rule(Context& c) {
  const Value &a = c.in(0), &b = c.in(1), &g = c.grad();
  const Value half = scale(g, 0.5), zero = zeros_like(g), tie = equal(a, b);
  if (c.wants(0)) c.out[0] = where(tie, half, where(less(a, b), zero, g));
  if (c.wants(1)) c.out[1] = where(tie, half, where(less(b, a), zero, g));
}
// a - trunc(a / b) b
void mod_rule(Context& c) {
  if (c.wants(0)) c.out[0] = c.grad();
  if (!c.wants(1)) return;
  // A whole number up to rounding; nothing is left over where the divisor is 0 or the dividend infinite, and so is the
  // quotient.
  const Value infinite = equal(unary(Op::abs, c.in(0)), full_like(c.in(0), std::numeric_limits<double>::infinity()));
  const Value whole = binary(Op::bit_or, infinite, equal(c.in(1), zeros_like(c.in(1))));
  const Value rest = where(whole, zeros_like(c.result()), c.result());
  const Value quotient = div(sub(c.in(0), rest), c.in(1));
  const Value rounded = unary(Op::floor, add_number(quotient, 0.5));
  c.out[1] = neg(mul(c.grad(), detach(rounded)));
}
void where_rule(Context& c) {
  const Value zero = zeros_like(c.grad());
  if (c.wants(1)) c.out[1] = where(c.in(0), c.grad(), zero);
  if (c.wants(2)) c.out[2] = where(c.in(0), zero, c.grad());
}

// ---- reduce ----

void sum_rule(Context& c) { c.out[0] = expand(c.grad(), c.in(0).shape()); }
// Ties share the gradient evenly.
void max_rule(Context& c) {
  const Value& x = c.in(0);
  const Dims& axes = c.node->attrs_as<AxesAttrs>().axes;
  const Value is_top = cast(equal(x, expand(c.result(), x.shape())), x.dtype());
  const Value share = div(c.grad(), reduce(Op::sum, is_top, axes));
  c.out[0] = mul(is_top, expand(share, x.shape()));
}
// Along the rows of a matrix, the product of everything before each element: shifted by one, with a leading 1.
Value products_before(const Value& rows) {
  const Dims& s = rows.shape();
  const Value shifted = shrink(pad(scan(rows, 1, ScanKind::prod), {0, 1}, {0, 0}), {0, 0}, s, {1, 1});
  const Value first = equal(iota_along(s, 1, DType::i64, rows.device()), full(s, 0, DType::i64, rows.device()));
  return where(first, full_like(rows, 1), shifted);
}
// The product of the others is the product of those before and of those behind: right with any number of zeros.
void prod_rule(Context& c) {
  const Value& x = c.in(0);
  const Dims& axes = c.node->attrs_as<AxesAttrs>().axes;
  Dims order, kept;
  int64_t length = 1;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!is_reduced) order.push_back(static_cast<int64_t>(i));
  }
  for (int64_t axis : axes) {
    order.push_back(axis);
    length *= x.shape()[static_cast<size_t>(axis)];
  }
  if (length == 0) {
    c.out[0] = zeros_like(x);
    return;
  }
  const Value moved = permute(x, order);
  const Value rows = reshape(moved, {count(x.shape()) / length, length});
  const Value behind = flip(products_before(flip(rows, {1})), {1});
  const Value others = reshape(mul(products_before(rows), behind), moved.shape());
  c.out[0] = mul(expand(c.grad(), x.shape()), permute(others, inverse_permutation(order)));
}

// ---- indexed ----

void gather_rule(Context& c) {
  const auto axis = static_cast<size_t>(c.node->attrs_as<AxisAttrs>().axis);
  c.out[0] = scatter_add(zeros_like(c.in(0)), c.in(1), c.grad(), axis);
}
// What was replaced has no say in the result, and neither have values that a later one of their place replaced.
void scatter_rule(Context& c) {
  const auto axis = static_cast<size_t>(c.node->attrs_as<AxisAttrs>().axis);
  const Value &base = c.in(0), &index = c.in(1), &value = c.in(2);
  c.out[0] = scatter(c.grad(), index, zeros_like(value), axis);
  if (!c.wants(2)) return;
  const int64_t picks = count(index.shape());
  const Value number = reshape(iota(picks, DType::i64, base.device()), index.shape());
  const Value nobody = full({base.shape()[axis]}, -1, DType::i64, base.device());
  const Value is_last = equal(gather(scatter(nobody, index, number, 0), index, 0), number);
  Dims along(axis, 1);  // the index's axes where that of the base was
  for (const int64_t size : index.shape()) along.push_back(size);
  along.resize(value.rank(), 1);
  c.out[2] = where(expand(reshape(is_last, along), value.shape()), gather(c.grad(), index, axis), zeros_like(value));
}
void scatter_add_rule(Context& c) {
  const auto axis = static_cast<size_t>(c.node->attrs_as<AxisAttrs>().axis);
  c.out[0] = c.grad();
  if (c.wants(2)) c.out[2] = gather(c.grad(), c.in(1), axis);
}

// ---- calls ----

void contract_rule(Context& c) {
  const Value &a = c.in(0), &b = c.in(1);
  const Value g = cast(c.grad(), a.dtype());
  const bool tf32 = c.node->attrs_as<ContractAttrs>().tf32;
  if (c.wants(0)) c.out[0] = contract(g, transpose_last(b), ContractAttrs{a.dtype(), tf32});
  if (c.wants(1)) c.out[1] = contract(transpose_last(a), g, ContractAttrs{b.dtype(), tf32});
}

// The gradient of a call taken through its decomposition: slower, but always there.
void decomposed_rule(Context& c) {
  const std::vector<Value> results = decompose(c.node->op(), c.node->inputs(), c.node->attrs());
  std::vector<Value> outputs, seeds, inputs;
  std::vector<size_t> wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!c.grads[i]) continue;
    outputs.push_back(results[i]);
    seeds.push_back(c.grads[i]);
  }
  for (size_t i = 0; i < c.node->inputs().size(); ++i) {
    // One value in two places gets the whole gradient at the first.
    if (!c.wants(i) || std::find(inputs.begin(), inputs.end(), c.in(i)) != inputs.end()) continue;
    inputs.push_back(c.in(i));
    wanted.push_back(i);
  }
  const std::vector<Value> grads = gradients(outputs, seeds, inputs, true);
  for (size_t i = 0; i < wanted.size(); ++i) c.out[wanted[i]] = grads[i];
}

void attention_rule(Context& c) {
  if (!c.grads[0] || c.grads[1]) return decomposed_rule(c);  // a gradient of lse is rare
  const auto& attrs = c.node->attrs_as<AttentionAttrs>();
  Operands operands(c.node->inputs().begin(), c.node->inputs().end());
  operands.push_back(swap_heads_and_tokens(c.result(0)));
  operands.push_back(c.result(1));
  operands.push_back(swap_heads_and_tokens(c.grads[0]));
  const NodeRef backward = Node::make(Op::attention_backward, operands, attrs);
  for (uint32_t i = 0; i < 3; ++i) c.out[i] = swap_heads_and_tokens({backward, i});
  if (attrs.has_mask) c.out[3] = {backward, 3};
}
void attention_backward_rule(Context& c) { decomposed_rule(c); }

// One sum over products of three tensors; which of them is the result decides the gradients of the other two.
void conv_rule(Context& c) {
  const Value &a = c.in(0), &b = c.in(1);
  const Value g = cast(c.grad(), a.dtype());
  ConvAttrs attrs = c.node->attrs_as<ConvAttrs>();
  attrs.result = a.dtype();
  switch (c.node->op()) {
    case Op::conv:
      if (c.wants(0)) c.out[0] = conv_transpose(g, b, attrs);
      if (c.wants(1)) c.out[1] = conv_weight(a, g, attrs);
      return;
    case Op::conv_transpose:
      if (c.wants(0)) c.out[0] = conv(g, b, attrs);
      if (c.wants(1)) c.out[1] = conv_weight(g, a, attrs);
      return;
    default:
      if (c.wants(0)) c.out[0] = conv_transpose(b, g, attrs);
      if (c.wants(1)) c.out[1] = conv(a, g, attrs);
  }
}
void conv_transpose_rule(Context& c) { conv_rule(c); }
void conv_weight_rule(Context& c) { conv_rule(c); }

void max_pool_rule(Context& c) {
  if (c.grads[0]) c.out[0] = max_pool_backward(c.grads[0], c.result(1), c.node->attrs_as<PoolAttrs>());
}
void max_pool_backward_rule(Context& c) { decomposed_rule(c); }

// Products over all steps at once, where each step alone would have one.
void recurrent_rule(Context& c) {
  auto attrs = c.node->attrs_as<RecurrentAttrs>();
  const uint32_t first_kept = attrs.first_kept();
  if (!attrs.keeps || std::ranges::any_of(c.grads.subspan(first_kept), [](const Value& g) { return bool(g); }))
    return decomposed_rule(c);  // what is kept for the gradient has one itself in second derivatives
  Operands operands(c.node->inputs().begin(), c.node->inputs().end());
  operands.push_back(c.result(0));
  for (uint32_t i = 0; i < attrs.kept(); ++i) operands.push_back(c.result(first_kept + i));
  attrs.from_states = static_cast<bool>(c.grads[0]);
  attrs.from_last = static_cast<bool>(c.grads[1]);
  attrs.from_cells = attrs.has_cells() && c.grads[2];
  for (const Value& g : c.grads.first(first_kept)) {
    if (g) operands.push_back(g);
  }
  const NodeRef backward = Node::make(Op::recurrent_backward, operands, attrs);
  const Value &inputs = c.in(0), &weights = c.in(1), every{backward, 0};
  const Dims& shape = inputs.shape();
  const int64_t gates = shape[0], places = shape[1] * shape[2], hidden = shape[3];
  const auto kinds_from = [&](int64_t first) { return shrink(every, {first, 0, 0, 0}, shape, Dims(4, 1)); };
  const Value of_states = kinds_from(attrs.cell == Cell::gru ? 1 : 0);
  c.out[0] = cast(kinds_from(0), inputs.dtype());
  if (c.wants(1)) {
    const Value before = shrink(c.result(0), {attrs.reverse ? 1 : 0, 0, 0}, {shape[1], shape[2], hidden}, Dims(3, 1));
    const Value states = expand(reshape(before, {1, places, hidden}), {gates, places, hidden});
    const Value slopes = transpose_last(reshape(of_states, {gates, places, hidden}));
    c.out[1] =
        contract(cast(slopes, attrs.product), cast(states, attrs.product), ContractAttrs{weights.dtype(), attrs.tf32});
  }
  c.out[2] = {backward, 1};
  size_t next = 3;
  if (attrs.has_cells()) c.out[next++] = {backward, 2};
  if (attrs.has_bias)
    c.out[next] = cast(reshape(reduce(Op::sum, of_states, {1, 2}), {gates, hidden}), c.in(next).dtype());
}
void recurrent_backward_rule(Context& c) { decomposed_rule(c); }

// The gradient of a composition is one, too.
void composed_rule(Context& c) {
  std::vector<bool> arrived, wanted;
  for (const Value& g : c.grads) arrived.push_back(static_cast<bool>(g));
  for (size_t i = 0; i < c.node->inputs().size(); ++i) wanted.push_back(c.wants(i));
  const Composition::Gradient gradient = c.node->attrs_as<ComposedAttrs>().what->gradient(arrived, wanted);
  if (!gradient.what) return;
  Operands operands(c.node->inputs().begin(), c.node->inputs().end());
  for (const Value& g : c.grads) {
    if (g) operands.push_back(g);
  }
  const NodeRef backward = Node::make(Op::composed, std::move(operands), ComposedAttrs{gradient.what});
  for (uint32_t i = 0; i < gradient.operands.size(); ++i)
    c.out[gradient.operands[i]] = moved({backward, i}, gradient.moves[i]);
}

void sort_rule(Context& c) {
  if (!c.grads[0]) return;
  const Dims& shape = c.in(0).shape();
  const int64_t n = count(shape);
  const Value flat = flat_index(c.result(1), shape, static_cast<size_t>(c.node->attrs_as<SortAttrs>().axis));
  const Value zero = full({n}, 0, c.grads[0].dtype(), c.grads[0].device());
  c.out[0] = reshape(scatter_add(zero, reshape(flat, {n}), reshape(c.grads[0], {n}), 0), shape);
}

// The gradient of products along the rows of a matrix, from every pair of elements: what comes before k, times the sum
// over results j from k on of g_j and all between. Right in every derivative, but as large as the row is long, squared.
Value product_scan_gradient_by_pairs(const Value& x, const Value& g) {
  const int64_t rows = x.shape()[0], n = x.shape()[1];
  const Dims pairs{rows, n, n};
  const auto along_j = [&](const Value& v) { return expand(reshape(v, {rows, 1, n}), pairs); };
  const Value k = iota_along(pairs, 1, DType::i64, x.device()), j = iota_along(pairs, 2, DType::i64, x.device());
  const Value xs = along_j(x), between = scan(where(less(k, j), xs, full_like(xs, 1)), 2, ScanKind::prod);
  const Value terms = mul(along_j(g), between);
  const Value sums = reduce(Op::sum, where(less(j, k), zeros_like(terms), terms), {2});
  return mul(products_before(x), reshape(sums, {rows, n}));
}

// At the first zero: the sum over later results of g y with that zero taken as 1. Elsewhere: of g y / x, which is 0
// behind a zero.
Value product_scan_gradient(const Value& x, const Value& y, const Value& g, size_t axis) {
  const Value is_zero = equal(x, zeros_like(x)), one = full_like(x, 1);
  const Value zeros = scan(cast(is_zero, DType::i64), axis, ScanKind::sum);
  const Value first = binary(Op::bit_and, is_zero, equal(zeros, full_like(zeros, 1)));
  const Value before = equal(zeros, full_like(zeros, 0));
  const Value usual = div(reverse_scan(mul(g, y), axis, ScanKind::sum), where(is_zero, one, x));
  const Value without_first = scan(where(first, one, x), axis, ScanKind::prod);
  const Value behind = where(before, zeros_like(g), mul(g, without_first));
  const Value at_first = reverse_scan(behind, axis, ScanKind::sum);
  return where(is_zero, where(first, at_first, zeros_like(g)), usual);
}

// Every result is one of the elements up to it: the last one that equals it.
Value max_scan_gradient(const Value& x, const Value& y, const Value& g, size_t axis) {
  const Value place = iota_along(x.shape(), axis, DType::i64, x.device());
  const Value is_taken = where(equal(x, x), equal(x, y), full_like(equal(x, x), 1));
  const Value from = scan(where(is_taken, place, zeros_like(place)), axis, ScanKind::max);
  const int64_t n = count(x.shape());
  int64_t stride = 1;
  for (size_t i = axis + 1; i < x.rank(); ++i) stride *= x.shape()[i];
  const Value here = reshape(iota(n, DType::i64, x.device()), x.shape());
  const Value to = add(here, mul(sub(from, place), full_like(place, static_cast<double>(stride))));
  return reshape(scatter_add(full_like(reshape(g, {n}), 0), reshape(to, {n}), reshape(g, {n}), 0), x.shape());
}

void scan_rule(Context& c) {
  const auto& attrs = c.node->attrs_as<ScanAttrs>();
  const auto axis = static_cast<size_t>(attrs.axis);
  const Value &g = c.grad(), &x = c.in(0);
  if (attrs.kind == ScanKind::sum) {
    c.out[0] = reverse_scan(g, axis, ScanKind::sum);
    return;
  }
  if (attrs.kind == ScanKind::max) {
    c.out[0] = max_scan_gradient(detach(x), detach(c.result()), g, axis);
    return;
  }
  // Its own derivative is taken by pairs: behind a zero this one is 0, but not flat.
  auto rule = std::make_shared<CustomRule>();
  rule->name = "cumprod_backward";
  rule->backward = [axis](std::span<const Value> in, std::span<const Value> grads) {
    Dims order = iota_dims(in[0].rank());
    std::swap(order[axis], order.back());
    const Dims shape = permute(in[0], order).shape();
    const Dims rows{count(shape) / shape.back(), shape.back()};
    const auto in_rows = [&](const Value& v) { return reshape(permute(v, order), rows); };
    const Value all = product_scan_gradient_by_pairs(in_rows(in[0]), in_rows(in[1]));
    const Value outputs[] = {permute(reshape(all, shape), order)};
    return gradients(outputs, grads, in, true);
  };
  if (count(x.shape()) == 0) {
    c.out[0] = g;
    return;
  }
  const Value fast = product_scan_gradient(detach(x), detach(c.result()), detach(g), axis);
  c.out[0] = {Node::make(Op::custom, {fast, x, g}, CustomAttrs{rule, 1}), 0};
}

// ---- effects and marks ----

void store_rule(Context& c) {
  const auto& target = c.node->attrs_as<StoreAttrs>().target;
  if (c.wants(0)) c.out[0] = store(c.grad(), zeros_like(c.in(1)), target);
  if (!c.wants(1)) return;
  Value seen = c.grad();
  for (const Move& step : target) seen = ir::move(seen, step);
  c.out[1] = seen;
}
void after_rule(Context& c) { c.out[0] = c.grad(); }
void contiguous_rule(Context& c) { c.out[0] = c.grad(); }
void param_rule(Context& c) { c.out[0] = c.grad(); }
void copy_rule(Context& c) { c.out[0] = copy(c.grad(), c.in(0).device()); }
void custom_rule(Context& c) {
  const auto& attrs = c.node->attrs_as<CustomAttrs>();
  const std::vector<Value> grads = attrs.rule->backward(c.node->inputs().subspan(attrs.results), c.grads);
  for (size_t i = 0; i < grads.size(); ++i) c.out[attrs.results + i] = grads[i];
}

}  // namespace rules

Rule rule_of(ir::Op op) {
  using namespace ir;
  switch (op) {
#define TENON_OP(name, kind, arity, dtype_rule, shape_rule, attrs, identity, flags) \
  case Op::name:                                                                    \
    return [](auto is_differentiable) -> Rule {                                     \
      if constexpr (is_differentiable()) return rules::name##_rule;                 \
      return nullptr;                                                               \
    }(std::bool_constant<((flags)&kDifferentiable) != 0>());
#include "tenon/ir/ops.def"
  }
  return nullptr;
}

}  // namespace tenon::autodiff
