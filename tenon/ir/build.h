// Recording at the level of the op table: one function per kind of row, used by tensors, gradients and decompositions.
//
// Operands already agree in shape and dtype. Moves that change nothing, and chains of reshapes or permutes, fold here,
// because everything above produces them freely.

#pragma once

#include <utility>

#include "tenon/ir/node.h"

namespace tenon::ir {

Value buffer(BufferAttrs attrs);
/// A single number of shape (); it is rounded to dtype now.
Value constant(double value, DType dtype, DeviceId device);
Value constant_int(int64_t value, DType dtype, DeviceId device);
/// The number everywhere in a shape: a constant, reshaped and expanded.
Value full(const Dims& shape, double value, DType dtype, DeviceId device);
/// The number in the shape, dtype and device of another value.
Value full_like(const Value& like, double value);
Value iota(int64_t size, DType dtype, DeviceId device);
/// 0, 1, ... along one axis of a shape, the same along the others.
Value iota_along(const Dims& shape, size_t axis, DType dtype, DeviceId device);
Value random_bits(const Value& state, int64_t size, uint64_t offset);

Value reshape(const Value& x, const Dims& shape);
Value permute(const Value& x, const Dims& axes);
Value transpose_last(const Value& x);  // exchanges the last two axes
Value expand(const Value& x, const Dims& shape);
Value pad(const Value& x, const Dims& before, const Dims& after);
Value shrink(const Value& x, const Dims& start, const Dims& size, const Dims& step);
Value flip(const Value& x, const Dims& axes);
Value move(const Value& x, const Move& move);
/// True for the six movement ops.
bool is_movement(Op op);
/// Inserts zeros so that element i lands at start + i * step of an axis of the given size: the inverse of shrink.
Value unshrink(const Value& x, const ShrinkAttrs& cut, const Dims& shape);

Value unary(Op op, const Value& x);
Value binary(Op op, const Value& a, const Value& b);
Value where(const Value& condition, const Value& a, const Value& b);
Value cast(const Value& x, DType dtype);
Value bitcast(const Value& x, DType dtype);

inline Value add(const Value& a, const Value& b) { return binary(Op::add, a, b); }
inline Value mul(const Value& a, const Value& b) { return binary(Op::mul, a, b); }
inline Value div(const Value& a, const Value& b) { return binary(Op::div, a, b); }
inline Value neg(const Value& x) { return unary(Op::neg, x); }
inline Value sub(const Value& a, const Value& b) { return add(a, neg(b)); }
inline Value exp(const Value& x) { return unary(Op::exp, x); }
inline Value log(const Value& x) { return unary(Op::log, x); }
inline Value less(const Value& a, const Value& b) { return binary(Op::less, a, b); }
inline Value equal(const Value& a, const Value& b) { return binary(Op::equal, a, b); }
Value logical_not(const Value& x);
Value scale(const Value& x, double factor);
Value add_number(const Value& x, double number);

/// Reduced axes stay with size 1.
Value reduce(Op op, const Value& x, const Dims& axes);
/// Sums a value down to a shape it was expanded from (same rank, some axes 1).
Value sum_to(const Value& x, const Dims& shape);

/// source[..., index, ...] along an axis; the index's axes take the place of that axis.
/// A bad index is refused in the name of `use`.
Value gather(const Value& source, const Value& index, size_t axis, LookUp use = LookUp::of_op);
/// The base with `value` where the index points along an axis; of several for one place the last.
Value scatter(const Value& base, const Value& index, const Value& value, size_t axis);
Value scatter_add(const Value& base, const Value& index, const Value& value, size_t axis);
/// Positions in the flattened `shape` of elements whose coordinate along `axis` is replaced by `index` (torch.gather).
Value flat_index(const Value& index, const Dims& shape, size_t axis);

Value contract(const Value& a, const Value& b, const ContractAttrs& attrs);
inline Value contract(const Value& a, const Value& b, DType result) { return contract(a, b, ContractAttrs{result}); }
/// The three sides of a convolution, see ConvAttrs: results of (images, weights), images of (results, weights), weights
/// of (images, results).
Value conv(const Value& x, const Value& w, const ConvAttrs& attrs);
Value conv_transpose(const Value& y, const Value& w, const ConvAttrs& attrs);
Value conv_weight(const Value& x, const Value& y, const ConvAttrs& attrs);
/// Values, and places inside of the windows; numbers for the windows and places as images.
std::pair<Value, Value> max_pool(const Value& x, const PoolAttrs& attrs);
Value max_pool_backward(const Value& g, const Value& places, const PoolAttrs& attrs);
/// Images, weights or results (N, C, image...) as (N, image..., C), and back.
Value channels_last(const Value& x);
Value channels_second(const Value& x);
/// All windows along an axis, as two axes (kernel, out) in its place: element (k, j) is element j * stride + k *
/// dilation, which must lie inside.
Value windows(const Value& x, size_t axis, int64_t kernel, int64_t out, int64_t stride, int64_t dilation);
/// o as (B, H, T, D) and lse.
std::pair<Value, Value> attention(const Operands& operands, const AttentionAttrs& attrs);
/// (B, H, T, D) as (B, T, H, D) and back.
Value swap_heads_and_tokens(const Value& x);
std::pair<Value, Value> sort(const Value& x, size_t axis, bool descending);  // values, indices
Value scan(const Value& x, size_t axis, ScanKind kind);
/// The scan that runs from the last element to the first.
Value reverse_scan(const Value& x, size_t axis, ScanKind kind);

Value store(const Value& base, const Value& value, std::vector<Move> target);
Value after(const Value& x, std::span<const Value> dependencies);
Value copy(const Value& x, DeviceId device);
Value contiguous(const Value& x);
/// The same value with no gradient behind it.
Value detach(const Value& x);
Value param(const Value& x, const std::shared_ptr<Param>& slot);

}  // namespace tenon::ir
