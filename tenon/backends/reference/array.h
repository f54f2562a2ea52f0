// A whole operand on the host: f64 for float dtypes, i64 for the others. Every op of the reference device is a function
// from Arrays to Arrays; rounding to the dtype happens once, when a result is written.

#pragma once

#include <cstddef>
#include <vector>

#include "tenon/ir/call.h"

namespace tenon::backends::reference {

struct Array {
  ir::Type type;
  std::vector<double> real;    // filled for float dtypes
  std::vector<int64_t> whole;  // filled for i32, i64, u8 and bool

  Array() = default;
  explicit Array(const ir::Type& t);
  bool is_real() const { return is_float(type.dtype); }
  int64_t size() const { return ir::count(type.shape); }
  double number(int64_t i) const {
    return is_real() ? real[static_cast<size_t>(i)] : static_cast<double>(whole[static_cast<size_t>(i)]);
  }
};

Array load(const ir::Operand& operand, const std::byte* from);
/// Rounds to the dtype: nearest even for floats, wrapping for integers.
void save(const Array& array, std::byte* to);

/// A shape cut at one axis: element i of line (o, n) lies at `at(o, i, n)`.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  Lines(const Dims& shape, size_t axis);
  int64_t at(int64_t o, int64_t i, int64_t n) const { return (o * length + i) * inner + n; }
};

}  // namespace tenon::backends::reference
