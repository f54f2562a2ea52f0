// Recording at the level of the op table.

#include "tenon/ir/build.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/ir/fold.h"
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

bool is_one(const Value& x) {
  const ConstantAttrs* number = number_behind(x);
  if (!number || number->dtype == DType::boolean) return false;
  return is_float(number->dtype) ? number->as_double() == 1 : number->as_int() == 1;
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
  if (is_float(dtype)) return constant(static_cast<double>(value), dtype, device);
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

namespace {

// Few sums of very many numbers leave threads idle and lose digits one by one: they are made of sums of kPart numbers.
// Decided by the shape alone, so that a value does not depend on what it is evaluated with.
constexpr int64_t kVeryMany = 1 << 17, kPart = 4096, kFew = 16;

bool is_split(Op op, const Value& x, const Dims& axes) {
  if (op != Op::sum || !is_float(x.dtype())) return false;
  int64_t folded = 1;
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.rank())) return false;  // refused by the table's rules
    folded *= x.shape()[static_cast<size_t>(axis)];
  }
  return folded >= kVeryMany && count(x.shape()) < kFew * folded;
}

// Numbers of a part: what divides them all evenly, if there is something near kPart; else a rest is summed apart.
int64_t part_of(int64_t length) {
  constexpr int64_t kUnit = 16;  // whole vectors
  for (int64_t part = kPart; part >= kPart / 2; part -= kUnit) {
    if (length % part == 0) return part;
  }
  for (int64_t part = kPart + kUnit; part <= 2 * kPart; part += kUnit) {
    if (length % part == 0) return part;
  }
  return kPart;
}

Value split_sum(const Value& x, const Dims& axes) {
  Dims order, kept, result = x.shape();
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order.push_back(axis);
    kept.push_back(x.shape()[static_cast<size_t>(axis)]);
  }
  for (const int64_t axis : axes) {
    order.push_back(axis);
    result[static_cast<size_t>(axis)] = 1;
  }
  const int64_t rows = count(kept), length = count(x.shape()) / rows, part = part_of(length), parts = length / part;
  const Value flat = reshape(permute(x, order), {rows, length});
  const Value even = parts * part == length ? flat : shrink(flat, {0, 0}, {rows, parts * part}, {1, 1});
  const Value sums = made(Op::sum, {reshape(even, {rows, parts, part})}, AxesAttrs{{2}});
  const Value total = reshape(made(Op::sum, {sums}, AxesAttrs{{1}}), {rows});
  if (parts * part == length) return reshape(total, result);
  const Value rest = shrink(flat, {0, parts * part}, {rows, length - parts * part}, {1, 1});
  return reshape(add(total, reshape(made(Op::sum, {rest}, AxesAttrs{{1}}), {rows})), result);
}

}  // namespace

Value reduce(Op op, const Value& x, const Dims& axes) {
  if (axes.empty()) return x;
  if (is_split(op, x, axes)) return split_sum(x, axes);
  return made(op, {x}, AxesAttrs{axes});
}

Value sum_to(const Value& x, const Dims& shape) {
  Dims axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != x.shape()[i]) axes.push_back(static_cast<int64_t>(i));
  }
  return reduce(Op::sum, x, axes);
}

Value gather(const Value& source, const Value& index, size_t axis) {
  return made(Op::gather, {source, index}, AxisAttrs{static_cast<int64_t>(axis)});
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

namespace {

// Products lose digits as sums do (kVeryMany above): one block of k after the other is added to ever larger a sum. Where
// there are few results, they are made of products over kPart numbers. More results would need more memory for the parts
// than the operands have.
constexpr int64_t kFewResults = 1024;

bool is_split_product(const Value& a, const Value& b, DType result) {
  if (!is_float(result) || a.rank() < 2 || b.rank() != a.rank() || b.dtype() != a.dtype()) return false;
  const int64_t inner = a.shape().back(), columns = b.shape().back();
  const size_t rows_and_batch = a.rank() - 1;
  int64_t results = columns;
  for (size_t i = 0; i < rows_and_batch; ++i) {
    results *= a.shape()[i];
    if (i + 1 < rows_and_batch && a.shape()[i] != b.shape()[i]) return false;  // refused by the table's rules
  }
  return inner >= kVeryMany && b.shape()[b.rank() - 2] == inner && results > 0 && results <= kFewResults;
}

Value split_product(const Value& a, const Value& b, DType result) {
  const size_t rank = a.rank();
  const DType wide = accumulator(result);
  const int64_t inner = a.shape().back(), part = part_of(inner), parts = inner / part, even = parts * part;
  // Elements from ... from + size - 1 of k.
  const auto cut = [&](const Value& x, size_t axis, int64_t from, int64_t size) {
    Dims start(rank, 0), sizes = x.shape();
    start[axis] = from;
    sizes[axis] = size;
    return shrink(x, start, sizes, Dims(rank, 1));
  };
  // (..., M, K) -> (..., parts, M, part) and (..., K, N) -> (..., parts, part, N)
  Dims rows = a.shape(), columns = b.shape(), order = iota_dims(rank + 1);
  rows.back() = parts;
  rows.push_back(part);
  std::swap(order[rank - 1], order[rank - 2]);
  columns[rank - 2] = parts;
  columns.insert(columns.begin() + rank - 1, part);
  const Value left = permute(reshape(cut(a, rank - 1, 0, even), rows), order);
  const Value right = reshape(cut(b, rank - 2, 0, even), columns);
  const Value each = made(Op::contract, {left, right}, ContractAttrs{wide});
  Dims shape = a.shape();
  shape.back() = b.shape().back();
  Value total = reshape(reduce(Op::sum, each, {static_cast<int64_t>(rank) - 2}), shape);
  if (even != inner) {
    total = add(total, made(Op::contract, {cut(a, rank - 1, even, inner - even), cut(b, rank - 2, even, inner - even)},
                            ContractAttrs{wide}));
  }
  return cast(total, result);
}

}  // namespace

Value contract(const Value& a, const Value& b, DType result) {
  if (is_split_product(a, b, result)) return split_product(a, b, result);
  return made(Op::contract, {a, b}, ContractAttrs{result});
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
