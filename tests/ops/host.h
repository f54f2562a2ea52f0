// Arrays on the host, the layouts in which a tensor can show them, and how close two arrays must be.
//
// Every test of this folder works the same way: make arrays here, show them to an op through some layout, read the
// result back, compare. The arrays keep the bytes of their dtype, so "the same bits" means just that.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::ops_test {

/// Elements in row-major order.
struct Host {
  ir::Type type;
  std::vector<std::byte> bytes;

  Host() = default;
  explicit Host(const ir::Type& t);
  /// Each value rounded to the dtype: floats to nearest even, integers cut and wrapped, bool "is not 0". One value per
  /// element.
  Host(const ir::Type& t, const std::vector<double>& values);

  int64_t size() const { return ir::count(type.shape); }
  double number(int64_t i) const;
  int64_t whole(int64_t i) const;  // of integers and bool, exact
  void set(int64_t i, double value);
  std::vector<double> numbers() const;

  template <typename T>
  T at(int64_t i) const {
    T element;
    std::memcpy(&element, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return element;
  }
  template <typename T>
  void put(int64_t i, T element) {
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
  }
};

/// An array of exactly these elements.
template <typename T>
Host host(const std::vector<T>& elements, const Dims& shape) {
  Host made({kDTypeOf<T>, shape});
  for (size_t i = 0; i < elements.size(); ++i) made.put<T>(static_cast<int64_t>(i), elements[i]);
  return made;
}
template <typename T>
Host host(const std::vector<T>& elements) {
  return host(elements, Dims{static_cast<int64_t>(elements.size())});
}

ir::Value upload(const Host& array, ir::DeviceId device);
Host read(const ir::Value& value);
std::vector<Host> read_all(std::span<const ir::Value> values);

// ---- Layouts -------------------------------------------------------------------------------------------------------

/// How the elements of an operand lie in its buffer.
enum class Layout {
  contiguous,
  transposed,      // axes in reverse order
  stepped,         // every second element of every axis, with poison between them
  flipped,         // backwards along every axis
  regrouped,       // a reshape of a transpose: two index maps on top of each other
  expanded_first,  // one row, shown again and again
  expanded_last,   // one column, shown again and again
  padded,          // zeros in front of the last axis that are in no buffer
};
inline constexpr Layout kLayouts[] = {Layout::contiguous,    Layout::transposed, Layout::stepped,
                                      Layout::flipped,       Layout::regrouped,  Layout::expanded_first,
                                      Layout::expanded_last, Layout::padded};
std::string_view name(Layout layout);

/// The array itself, or what becomes of it when a layout can only show repeated or zero elements.
Host showable(Layout layout, const Host& array);
/// What lies in the buffer when the layout shows this (showable) array.
Host stored(Layout layout, const Host& array);
/// The stored buffer seen through the layout.
ir::Value seen(Layout layout, const ir::Value& buffer, const Dims& shape);

// ---- Comparison ----------------------------------------------------------------------------------------------------

/// What is asked of a device, per dtype: `ulps` of an elementwise op against the exact value rounded to the dtype,
/// `relative` and `absolute` of sums and products against the reference device.
struct Tolerance {
  double ulps, relative, absolute;
};
Tolerance tolerance_of(DType dtype);

/// The reference device computes in f64 and rounds once. In f64 itself the few roundings of a formula show (sigmoid).
constexpr double reference_ulps(DType dtype) { return dtype == DType::f64 ? 2 : 1; }

/// Same type and same bits; any NaN is as good as another.
testing::AssertionResult same(const Host& got, const Host& wanted);
/// Same type, and every element within so many units in the last place of the wanted one.
testing::AssertionResult within_ulps(const Host& got, const Host& wanted, double ulps);
/// Same type, and every element within the tolerance of sums in its dtype.
testing::AssertionResult close(const Host& got, const Host& wanted, double times = 1);
/// Every |got - wanted| <= tolerance * max(1, |wanted|).
testing::AssertionResult close(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance);

}  // namespace tenon::ops_test
