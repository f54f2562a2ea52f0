// Recording at the level of the op table.

#include "tenon/ir/build.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/base/round_once.h"
#include "tenon/ir/fold.h"
#include "tenon/ir/split.h"
#include "tenon/ir/view.h"

namespace tenon::ir {
namespace {

Value made(Op op, Operands inputs, Attrs attrs = NoAttrs()) {
  return {Node::make(op, std::move(inputs), std::move(attrs)), 0};
}

// Moves that are folded away are checked all the same.
void require_fit(Op op, const Value& x, const Attrs& attrs) { moved_shape(move_of(op, attrs), x.shape()); }

bool all_zero(const Dims& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; });
}

double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::f32: return static_cast<float>(value);
    case DType::f16: return base::Half(value);
    case DType::bf16: return base::BFloat16(value);
    default: return value;
  }
}

}  // namespace

Value buffer(BufferAttrs attrs) { return made(Op::buffer, {}, std::move(attrs)); }

Value constant(double value, DType dtype, DeviceId device) {
  if (dtype == DType::boolean) return constant_int(value != 0, dtype, device);
  if (!is_float(dtype)) return constant_int(static_cast<int64_t>(value), dtype, device);
  return made(Op::constant, {}, ConstantAttrs{dtype, device, std::bit_cast<uint64_t>(rounded(value, dtype))});
}

Value constant_int(int64_t value, DType dtype, DeviceId device) {
  if (is_float(dtype))
    return constant(dtype == DType::f64 ? static_cast<double>(value) : base::to_odd_double(value), dtype, device);
  const int64_t wrapped = dispatch(dtype, [&]<typename T>() -> int64_t {
    if constexpr (std::is_same_v<T, bool>)
      return value != 0;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(static_cast<T>(value));
    else
      return value;
  });
  return made(Op::constant, {}, ConstantAttrs{dtype, device, static_cast<uint64_t>(wrapped)});
}

Value full(const Dims& shape, double value, DType dtype, DeviceId device) {
  return expand(reshape(constant(value, dtype, device), Dims(shape.size(), 1)), shape);
}

Value full_like(const Value& like, double value) { return full(like.shape(), value, like.dtype(), like.device()); }

Value iota(int64_t size, DType dtype, DeviceId device) { return made(Op::iota, {}, IotaAttrs{size, dtype, device}); }

Value iota_along(const Dims& shape, size_t axis, DType dtype, DeviceId device) {
  Dims column(shape.size(), 1);
  column[axis] = shape[axis];
  return expand(reshape(iota(shape[axis], dtype, device), column), shape);
}

Value random_bits(const Value& state, int64_t size, uint64_t offset) {
  const Value whole = is_movement(state.node->op()) ? contiguous(state) : state;  // kernels read it as a plain buffer
  return made(Op::random_bits, {whole}, RandomAttrs{size, offset});
}

Value reshape(const Value& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  // Where gradients pass, a view stays a node of its own: a user may ask for the gradient at it.
  if (x.node->op() == Op::reshape && !x.needs_grad()) {
    require_fit(Op::reshape, x, ShapeAttrs{shape});
    return reshape(x.node->input(0), shape);
  }
  return made(Op::reshape, {x}, ShapeAttrs{shape});
}

Value permute(const Value& x, const Dims& axes) {
  if (axes == iota_dims(axes.size()) && axes.size() == x.rank()) return x;
  if (x.node->op() == Op::permute && axes.size() == x.rank() && !x.needs_grad()) {
    require_fit(Op::permute, x, AxesAttrs{axes});
    const Dims& inner = x.node->attrs_as<AxesAttrs>().axes;
    Dims both(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) both[i] = inner[static_cast<size_t>(axes[i])];
    return permute(x.node->input(0), both);
  }
  return made(Op::permute, {x}, AxesAttrs{axes});
}

Value transpose_last(const Value& x) {
  Dims axes = iota_dims(x.rank());
  std::swap(axes[x.rank() - 1], axes[x.rank() - 2]);
  return permute(x, axes);
}

Value expand(const Value& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  return made(Op::expand, {x}, ShapeAttrs{shape});
}

Value pad(const Value& x, const Dims& before, const Dims& after) {
  const bool none = all_zero(before) && all_zero(after) && before.size() == x.rank() && after.size() == x.rank();
  return none ? x : made(Op::pad, {x}, PadAttrs{before, after});
}

Value shrink(const Value& x, const Dims& start, const Dims& size, const Dims& step) {
  const bool all = size == x.shape() && all_zero(start) && start.size() == x.rank() && step == Dims(x.rank(), 1);
  if (all) return x;
  return made(Op::shrink, {x}, ShrinkAttrs{start, size, step});
}

Value flip(const Value& x, const Dims& axes) {
  if (axes.empty()) return x;
  return made(Op::flip, {x}, AxesAttrs{axes});
}

bool is_movement(Op op) { return info(op).kind == Kind::movement; }

Value move(const Value& x, const Move& move) {
  switch (move.op) {
    case Op::reshape: return reshape(x, std::get<ShapeAttrs>(move.attrs).shape);
    case Op::expand: return expand(x, std::get<ShapeAttrs>(move.attrs).shape);
    case Op::permute: return permute(x, std::get<AxesAttrs>(move.attrs).axes);
    case Op::flip: return flip(x, std::get<AxesAttrs>(move.attrs).axes);
    case Op::pad: return pad(x, std::get<PadAttrs>(move.attrs).before, std::get<PadAttrs>(move.attrs).after);
    default: {
      const auto& cut = std::get<ShrinkAttrs>(move.attrs);
      return shrink(x, cut.start, cut.size, cut.step);
    }
  }
}

Value unshrink(const Value& x, const ShrinkAttrs& cut, const Dims& shape) {
  const size_t rank = x.rank();
  Value spread = x;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t step = cut.step[axis], size = cut.size[axis];
    if (step == 1 || size <= 1) continue;
    // (n) -> (n, 1) -> (n, step) -> (n * step), without the zeros behind the last element.
    Dims split = spread.shape();
    split.insert(split.begin() + axis + 1, 1);
    Dims none(rank + 1, 0), behind(rank + 1, 0);
    behind[axis + 1] = step - 1;
    Dims joined = spread.shape();
    joined[axis] = size * step;
    spread = reshape(pad(reshape(spread, split), none, behind), joined);
    joined[axis] = (size - 1) * step + 1;
    spread = shrink(spread, Dims(rank, 0), joined, Dims(rank, 1));
  }
  Dims before = cut.start, behind(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (cut.size[axis] == 0) before[axis] = 0;
    behind[axis] = shape[axis] - before[axis] - spread.shape()[axis];
  }
  return pad(spread, before, behind);
}

Value unary(Op op, const Value& x) { return made(op, {x}); }

Value binary(Op op, const Value& a, const Value& b) {
  const bool keeps_ones = (op == Op::mul || op == Op::div) && a && b && a.type() == b.type();
  if (keeps_ones && is_one(b)) return a;
  if (keeps_ones && op == Op::mul && is_one(a)) return b;
  return made(op, {a, b});
}
Value where(const Value& condition, const Value& a, const Value& b) { return made(Op::where, {condition, a, b}); }

Value cast(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return made(Op::cast, {x}, CastAttrs{dtype});
}

Value bitcast(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return made(Op::bitcast, {x}, CastAttrs{dtype});
}

Value logical_not(const Value& x) { return binary(Op::bit_xor, x, full_like(x, 1)); }
Value scale(const Value& x, double factor) { return mul(x, full_like(x, factor)); }
Value add_number(const Value& x, double number) { return add(x, full_like(x, number)); }

Value reduce(Op op, const Value& x, const Dims& axes) {
  if (axes.empty()) return x;
  if (auto sum = op == Op::sum ? split_sum(x, axes) : std::nullopt) return *sum;
  return made(op, {x}, AxesAttrs{axes});
}

Value sum_to(const Value& x, const Dims& shape) {
  Dims axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != x.shape()[i]) axes.push_back(static_cast<int64_t>(i));
  }
  return reduce(Op::sum, x, axes);
}

Value gather(const Value& source, const Value& index, size_t axis, LookUp use) {
  return made(Op::gather, {source, index}, AxisAttrs{static_cast<int64_t>(axis), use});
}

Value scatter(const Value& base, const Value& index, const Value& value, size_t axis) {
  return made(Op::scatter, {base, index, value}, AxisAttrs{static_cast<int64_t>(axis)});
}
Value scatter_add(const Value& base, const Value& index, const Value& value, size_t axis) {
  return made(Op::scatter_add, {base, index, value}, AxisAttrs{static_cast<int64_t>(axis)});
}

Value flat_index(const Value& index, const Dims& shape, size_t axis) {
  const Dims strides = row_major_strides(shape);
  Value flat = scale(cast(index, DType::i64), static_cast<double>(strides[axis]));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == axis || index.shape()[i] <= 1) continue;
    flat = add(flat, scale(iota_along(index.shape(), i, DType::i64, index.device()), static_cast<double>(strides[i])));
  }
  // An index past the end of its axis would land in a neighbouring line: send it where the device's check finds it.
  const Value whole = cast(index, DType::i64);
  const Value inside = binary(Op::bit_and, less(full_like(whole, -1), whole),
                              less(whole, full_like(whole, static_cast<double>(shape[axis]))));
  return where(inside, flat, full_like(flat, -1));
}

Value contract(const Value& a, const Value& b, const ContractAttrs& attrs) {
  if (auto product = split_product(a, b, attrs)) return *product;
  return made(Op::contract, {a, b}, attrs);
}

Value channels_last(const Value& x) { return permute(x, channels_to_last(iota_dims(x.rank()))); }
Value channels_second(const Value& x) { return permute(x, channels_to_second(iota_dims(x.rank()))); }
Value conv(const Value& x, const Value& w, const ConvAttrs& attrs) { return made(Op::conv, {x, w}, attrs); }
Value conv_transpose(const Value& y, const Value& w, const ConvAttrs& attrs) {
  return made(Op::conv_transpose, {y, w}, attrs);
}
Value conv_weight(const Value& x, const Value& y, const ConvAttrs& attrs) {
  return made(Op::conv_weight, {x, y}, attrs);
}

std::pair<Value, Value> max_pool(const Value& x, const PoolAttrs& attrs) {
  const NodeRef node = Node::make(Op::max_pool, {x}, attrs);
  return {Value{node, 0}, Value{node, 1}};
}
Value max_pool_backward(const Value& g, const Value& places, const PoolAttrs& attrs) {
  return made(Op::max_pool_backward, {g, places}, attrs);
}

// The axis, repeated end to end and cut into rows that are `dilation` longer than it is: row k begins k * dilation
// later than the row before, and no element is copied.
Value windows(const Value& x, size_t axis, int64_t kernel, int64_t out, int64_t stride, int64_t dilation) {
  const Dims& shape = x.shape();
  const int64_t length = shape[axis], row = length + dilation;
  const auto replaced = [&](std::initializer_list<int64_t> sizes) {
    Dims all(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis));
    for (const int64_t size : sizes) all.push_back(size);
    for (size_t i = axis + 1; i < shape.size(); ++i) all.push_back(shape[i]);
    return all;
  };
  if (length == 0 || kernel == 0 || out == 0) return full(replaced({kernel, out}), 0, x.dtype(), x.device());
  const int64_t repeats = (kernel * row + length - 1) / length;
  const Value repeated =
      reshape(expand(reshape(x, replaced({1, length})), replaced({repeats, length})), replaced({repeats * length}));
  const Dims whole = replaced({kernel * row});
  const Value rows =
      reshape(shrink(repeated, Dims(whole.size(), 0), whole, Dims(whole.size(), 1)), replaced({kernel, row}));
  Dims step(rows.rank(), 1);
  step[axis + 1] = stride;
  return shrink(rows, Dims(rows.rank(), 0), replaced({kernel, out}), step);
}

std::pair<Value, Value> attention(const Operands& operands, const AttentionAttrs& attrs) {
  NodeRef node = Node::make(Op::attention, operands, attrs);
  return {swap_heads_and_tokens({node, 0}), Value{node, 1}};
}

Value swap_heads_and_tokens(const Value& x) { return permute(x, {0, 2, 1, 3}); }

std::pair<Value, Value> sort(const Value& x, size_t axis, bool descending) {
  NodeRef node = Node::make(Op::sort, {x}, SortAttrs{static_cast<int64_t>(axis), descending});
  return {Value{node, 0}, Value{node, 1}};
}

Value scan(const Value& x, size_t axis, ScanKind kind) {
  return made(Op::scan, {x}, ScanAttrs{static_cast<int64_t>(axis), kind});
}

Value reverse_scan(const Value& x, size_t axis, ScanKind kind) {
  const Dims axes{static_cast<int64_t>(axis)};
  return flip(scan(flip(x, axes), axis, kind), axes);
}

Value store(const Value& base, const Value& value, std::vector<Move> target) {
  return made(Op::store, {base, value}, StoreAttrs{std::move(target)});
}

Value after(const Value& x, std::span<const Value> dependencies) {
  if (dependencies.empty()) return x;
  Operands inputs{x};
  for (const Value& value : dependencies) inputs.push_back(value);
  return made(Op::after, std::move(inputs));
}

Value copy(const Value& x, DeviceId device) {
  if (x.device() == device) return x;
  return made(Op::copy, {x}, CopyAttrs{device});
}

Value contiguous(const Value& x) { return made(Op::contiguous, {x}); }

Value detach(const Value& x) {
  if (!x.needs_grad()) return x;
  if (x.node->op() == Op::param && !x.node->input(0).needs_grad()) return x.node->input(0);
  return made(Op::detach, {x});
}

Value param(const Value& x, const std::shared_ptr<Param>& slot) {
  return made(Op::param, {x}, ParamAttrs{slot->id, slot});
}

}  // namespace tenon::ir
