// Attention and its gradient as matmuls and a softmax over the whole score matrix.

#include "tenon/ir/decompose.h"

#include <limits>

#include "tenon/base/error.h"
#include "tenon/ir/build.h"
#include "tenon/ir/composition.h"

namespace tenon::ir {
namespace {

// Finite, so that a masked score minus a masked maximum is 0 and never NaN.
double lowest(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
}

// Shared key/value heads (B, G, S, D) shown once per query head (B, H, S, D).
Value per_query_head(const Value& x, int64_t heads) {
  const Dims& s = x.shape();
  if (s[1] == heads) return x;
  const Value grouped = reshape(x, {s[0], s[1], 1, s[2], s[3]});
  return reshape(expand(grouped, {s[0], s[1], heads / s[1], s[2], s[3]}), {s[0], heads, s[2], s[3]});
}

Value sum_query_heads(const Value& x, int64_t groups) {
  const Dims& s = x.shape();
  if (s[1] == groups) return x;
  const Value grouped = reshape(x, {s[0], groups, s[1] / groups, s[2], s[3]});
  return reshape(reduce(Op::sum, grouped, {2}), {s[0], groups, s[2], s[3]});
}

Value in_future(const Value& s) {
  const Value row = iota_along(s.shape(), 2, DType::i32, s.device());
  const Value column = iota_along(s.shape(), 3, DType::i32, s.device());
  return less(row, column);
}

// exp(s - shift), where a score that lies in the future weighs nothing: in a row whose every score is masked, the
// lowest number alone would still give the future its share.
Value weights_of(const Value& s, const Value& shift, const AttentionAttrs& attrs) {
  const Value weights = exp(sub(s, expand(shift, s.shape())));
  return attrs.causal ? where(in_future(s), full_like(s, 0), weights) : weights;
}

Value scores(const Value& q, const Value& k, const Value* mask, const AttentionAttrs& attrs) {
  const DType wide = accumulator(q.dtype());
  Value s = scale(contract(q, transpose_last(k), wide), attrs.scale);
  if (mask) s = add(s, cast(*mask, wide));
  return attrs.causal ? where(in_future(s), full_like(s, lowest(wide)), s) : s;
}

// What the weights are multiplied with: 0 for those that are dropped, the others grow by what is missing.
Value kept_share(const Value& s, const Value& state, const AttentionAttrs& attrs) {
  const Value words = random_bits(state, count(s.shape()), attrs.offset);
  const Value top = binary(Op::bit_and, binary(Op::shr, words, full_like(words, 8)), full_like(words, 0xFFFFFF));
  const Value uniform = scale(cast(top, DType::f32), 0x1p-24);
  const Value dropped = less(uniform, full_like(uniform, attrs.dropout));
  const Value share = where(dropped, full_like(uniform, 0), full_like(uniform, 1 / (1 - attrs.dropout)));
  return reshape(cast(share, s.dtype()), s.shape());
}

// A row that sees nothing gives 0: its scores are all -inf, and so it has no weights. Its log-sum-exp is 0 by
// agreement, which leaves it none in the gradient either.
std::vector<Value> attention_forward(std::span<const Value> in, const AttentionAttrs& attrs) {
  const Value& q = in[0];
  const int64_t heads = q.shape()[1];
  const Value k = per_query_head(in[1], heads), v = per_query_head(in[2], heads);
  const Value s = scores(q, k, attrs.has_mask ? &in[3] : nullptr, attrs);
  const Value highest = reduce(Op::max, s, {3}), floor = full_like(highest, lowest(s.dtype()));
  const Value top = binary(Op::maximum, highest, floor);  // so that -inf less the top is never NaN
  const Value weights = weights_of(s, top, attrs);
  const Value added = reduce(Op::sum, weights, {3}), sees_nothing = equal(added, full_like(added, 0));
  const Value total = where(sees_nothing, full_like(added, 1), added);
  Value shares = div(weights, expand(total, s.shape()));
  if (attrs.dropout > 0) shares = mul(shares, kept_share(s, in[3 + attrs.masks()], attrs));
  const Value p = cast(shares, q.dtype());
  const Value lse = where(sees_nothing, full_like(added, 0), add(top, log(total)));
  return {swap_heads_and_tokens(contract(p, v, q.dtype())), reshape(lse, {q.shape()[0], heads, q.shape()[2]})};
}

// The heads of several values of shape (B, T, heads, D) behind each other.
Value side_by_side(const std::vector<Value>& parts) {
  int64_t all = 0, before = 0;
  for (const Value& part : parts) all += part.shape()[2];
  Value sum;
  for (const Value& part : parts) {
    const int64_t heads = part.shape()[2];
    const Value padded = pad(part, {0, 0, before, 0}, {0, 0, all - before - heads, 0});
    sum = sum ? add(sum, padded) : padded;
    before += heads;
  }
  return sum;
}

std::vector<Value> attention_gradient(std::span<const Value> in, const AttentionAttrs& attrs) {
  const size_t masks = attrs.masks(), extra = masks + attrs.states();
  const Value &q = in[0], &o = in[3 + extra], &lse = in[4 + extra], &grad = in[5 + extra];
  const DType dtype = q.dtype(), wide = accumulator(dtype);
  const int64_t heads = q.shape()[1], groups = in[1].shape()[1];
  const Value k = per_query_head(in[1], heads), v = per_query_head(in[2], heads);
  const Value s = scores(q, k, masks ? &in[3] : nullptr, attrs);
  const Value column{reshape(lse, {q.shape()[0], heads, q.shape()[2], 1})};
  const Value p = weights_of(s, column, attrs);
  Value seen = p, dp = contract(grad, transpose_last(v), wide);
  if (attrs.dropout > 0) {
    const Value kept = kept_share(s, in[3 + masks], attrs);
    seen = mul(p, kept);
    dp = mul(dp, kept);
  }
  const Value dv = contract(transpose_last(cast(seen, dtype)), grad, wide);
  const Value delta = reduce(Op::sum, mul(cast(grad, wide), cast(o, wide)), {3});
  const Value ds = mul(p, sub(dp, expand(delta, s.shape())));
  const Value scaled = cast(scale(ds, attrs.scale), dtype);
  const Value dq = contract(scaled, k, wide);
  const Value dk = contract(transpose_last(scaled), q, wide);
  std::vector<Value> results;
  for (const Value& gradient : {dq, sum_query_heads(dk, groups), sum_query_heads(dv, groups)})
    results.push_back(swap_heads_and_tokens(cast(gradient, dtype)));
  if (masks) results.push_back(cast(ds, in[3].dtype()));
  return attrs.joined ? std::vector<Value>{side_by_side(results)} : results;
}

}  // namespace

bool can_decompose(Op op) {
  return (info(op).kind == Kind::call || op == Op::scatter || op == Op::scatter_add || op == Op::store ||
          op == Op::contiguous);
}

std::vector<Value> decompose(Op op, std::span<const Value> operands, const Attrs& attrs) {
  switch (op) {
    case Op::attention: return attention_forward(operands, std::get<AttentionAttrs>(attrs));
    case Op::attention_backward: return attention_gradient(operands, std::get<AttentionAttrs>(attrs));
    case Op::conv:
    case Op::conv_transpose:
    case Op::conv_weight: return decompose_convolution(op, operands, std::get<ConvAttrs>(attrs));
    case Op::max_pool:
    case Op::max_pool_backward: return decompose_pooling(op, operands, std::get<PoolAttrs>(attrs));
    case Op::composed: return written_out(*std::get<ComposedAttrs>(attrs).what, operands);
    case Op::recurrent: return decompose_recurrent(operands, std::get<RecurrentAttrs>(attrs));
    case Op::recurrent_backward: return decompose_recurrent_backward(operands, std::get<RecurrentAttrs>(attrs));
    default: return decompose_simple_call(op, operands, attrs);
  }
}

}  // namespace tenon::ir
