// What is split is decided by shapes alone, so that a value does not depend on what it is evaluated with.

#include "tenon/ir/split.h"

#include <algorithm>

#include "tenon/ir/build.h"

namespace tenon::ir {
namespace {

Value node_of(Op op, Operands inputs, Attrs attrs) { return {Node::make(op, std::move(inputs), std::move(attrs)), 0}; }

// Few sums of very many numbers leave threads idle and lose digits one by one: they are made of sums of kPart numbers.
// Decided by the shape alone, so that a value does not depend on what it is evaluated with.
constexpr int64_t kVeryMany = 1 << 17, kPart = 4096, kFew = 16;
// Whoever adds in f64 wants the digits: parts of parts lose no more of them than adding in pairs does.
constexpr int64_t kManyOfF64 = 2048, kPartOfF64 = 512;

bool is_split_sum(const Value& x, const Dims& axes) {
  if (!is_float(x.dtype()) || count(x.shape()) == 0) return false;
  int64_t folded = 1;
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.rank())) return false;  // refused by the table's rules
    folded *= x.shape()[static_cast<size_t>(axis)];
  }
  if (x.dtype() == DType::f64) return folded >= kManyOfF64;
  return folded >= kVeryMany && count(x.shape()) < kFew * folded;
}

// Numbers of a part: what divides them all evenly, if there is something near `usual`; else a rest is summed apart.
int64_t part_of(int64_t length, int64_t usual) {
  constexpr int64_t kUnit = 16;  // whole vectors
  for (int64_t part = usual; part >= usual / 2; part -= kUnit) {
    if (length % part == 0) return part;
  }
  for (int64_t part = usual + kUnit; part <= 2 * usual; part += kUnit) {
    if (length % part == 0) return part;
  }
  return usual;
}

// Products lose digits as sums do (kVeryMany): one block of k after the other is added to ever larger a sum. Where
// there are few results, they are made of products over kPart numbers. More results would need more memory for the
// parts than the operands have.
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

}  // namespace

std::optional<Value> split_sum(const Value& x, const Dims& axes) {
  if (!is_split_sum(x, axes)) return std::nullopt;
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
  const int64_t rows = count(kept), length = count(x.shape()) / rows;
  const int64_t part = part_of(length, x.dtype() == DType::f64 ? kPartOfF64 : kPart), parts = length / part;
  const Value flat = reshape(permute(x, order), {rows, length});
  const Value even = parts * part == length ? flat : shrink(flat, {0, 0}, {rows, parts * part}, {1, 1});
  const Value sums = node_of(Op::sum, {reshape(even, {rows, parts, part})}, AxesAttrs{{2}});
  const std::optional<Value> of_parts = x.dtype() == DType::f64 ? split_sum(sums, {1}) : std::nullopt;
  const Value total = reshape(of_parts ? *of_parts : node_of(Op::sum, {sums}, AxesAttrs{{1}}), {rows});
  if (parts * part == length) return reshape(total, result);
  const Value rest = shrink(flat, {0, parts * part}, {rows, length - parts * part}, {1, 1});
  return reshape(add(total, reshape(node_of(Op::sum, {rest}, AxesAttrs{{1}}), {rows})), result);
}

std::optional<Value> split_product(const Value& a, const Value& b, const ContractAttrs& attrs) {
  if (!is_split_product(a, b, attrs.result)) return std::nullopt;
  const size_t rank = a.rank();
  const ContractAttrs of_part{accumulator(attrs.result), attrs.tf32};
  const int64_t inner = a.shape().back(), part = part_of(inner, kPart), parts = inner / part, even = parts * part;
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
  const Value each = node_of(Op::contract, {left, right}, of_part);
  Dims shape = a.shape();
  shape.back() = b.shape().back();
  Value total = reshape(reduce(Op::sum, each, {static_cast<int64_t>(rank) - 2}), shape);
  if (even != inner) {
    total = add(total, node_of(Op::contract,
                               {cut(a, rank - 1, even, inner - even), cut(b, rank - 2, even, inner - even)}, of_part));
  }
  return cast(total, attrs.result);
}

}  // namespace tenon::ir
