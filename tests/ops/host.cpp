// Arrays, layouts and comparison.

#include "tests/ops/host.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"

namespace tenon::ops_test {
Host::Host(const ir::Type& t) : type(t), bytes(bytes_of(t)) {}

Host::Host(const ir::Type& t, const std::vector<double>& values) : Host(t) {
  if (static_cast<int64_t>(values.size()) != size()) {
    throw std::invalid_argument(
        fmt::format("{} numbers for an array of shape {}", values.size(), ir::to_string(t.shape)));
  }
  for (size_t i = 0; i < values.size(); ++i) set(static_cast<int64_t>(i), values[i]);
}

double Host::number(int64_t i) const {
  return dispatch(type.dtype, [&]<typename T>() -> double { return static_cast<double>(at<T>(i)); });
}

int64_t Host::whole(int64_t i) const {
  return dispatch(type.dtype, [&]<typename T>() -> int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(at<T>(i));
    else
      return 0;
  });
}

void Host::set(int64_t i, double value) {
  dispatch(type.dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>)
      put<bool>(i, value != 0);
    else if constexpr (std::is_integral_v<T>)
      put<T>(i, static_cast<T>(static_cast<int64_t>(value)));
    else
      put<T>(i, static_cast<T>(value));
  });
}

std::vector<double> Host::numbers() const {
  std::vector<double> all;
  for (int64_t i = 0; i < size(); ++i) all.push_back(number(i));
  return all;
}

ir::Value upload(const Host& array, ir::DeviceId device) { return exec::upload(array.bytes, array.type, device); }

Host read(const ir::Value& value) {
  Host array;
  array.type = value.type();
  array.bytes = exec::read(value);
  return array;
}

std::vector<Host> read_all(std::span<const ir::Value> values) {
  exec::eval(values);
  std::vector<Host> arrays;
  for (const ir::Value& value : values) arrays.push_back(read(value));
  return arrays;
}

// ---- Layouts -------------------------------------------------------------------------------------------------------

namespace {

constexpr int64_t kZero = -1, kPoison = -2;

/// An array of another shape whose element at `index` is from[source(index)], zero, or something no op may read.
Host arranged(const Host& from, const Dims& shape, const std::function<int64_t(const Dims& index)>& source) {
  Host made({from.type.dtype, shape});
  const auto width = size_of(from.type.dtype);
  Dims index(shape.size(), 0);
  for (int64_t i = 0; i < made.size(); ++i) {
    const int64_t at = source(index);
    if (at == kPoison) made.set(i, is_float(from.type.dtype) ? std::numeric_limits<double>::quiet_NaN() : -1);
    if (at >= 0)
      std::memcpy(&made.bytes[static_cast<size_t>(i) * width], &from.bytes[static_cast<size_t>(at) * width], width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return made;
}

int64_t position(const Dims& index, const Dims& shape) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return at;
}

Dims reversed(const Dims& dims) {
  Dims back = dims;
  std::reverse(back.begin(), back.end());
  return back;
}

Dims mapped(const Dims& dims, const std::function<int64_t(int64_t)>& f) {
  Dims made = dims;
  for (int64_t& size : made) size = f(size);
  return made;
}

int64_t smallest_divisor(int64_t n) {
  for (int64_t k = 2; k * k <= n; ++k) {
    if (n % k == 0) return k;
  }
  return std::max<int64_t>(n, 1);
}

/// The axis along which an expanded layout repeats, or none.
std::optional<size_t> repeated_axis(Layout layout, const Dims& shape) {
  if (shape.empty()) return {};
  if (layout == Layout::expanded_first) return 0;
  if (layout == Layout::expanded_last) return shape.size() - 1;
  return {};
}

bool has_padding(Layout layout, const Dims& shape) {
  return layout == Layout::padded && !shape.empty() && shape.back() > 0;
}

}  // namespace

std::string_view name(Layout layout) {
  constexpr std::string_view kNames[] = {"contiguous", "transposed",     "stepped",       "flipped",
                                         "regrouped",  "expanded_first", "expanded_last", "padded"};
  return kNames[static_cast<size_t>(layout)];
}

Host showable(Layout layout, const Host& array) {
  const Dims& shape = array.type.shape;
  if (const auto axis = repeated_axis(layout, shape)) {
    return arranged(array, shape, [&](Dims index) {
      index[*axis] = 0;
      return position(index, shape);
    });
  }
  if (!has_padding(layout, shape)) return array;
  return arranged(array, shape, [&](const Dims& index) { return index.back() == 0 ? kZero : position(index, shape); });
}

Host stored(Layout layout, const Host& array) {
  const Dims& shape = array.type.shape;
  switch (layout) {
    case Layout::transposed:
      return arranged(array, reversed(shape), [&](const Dims& index) { return position(reversed(index), shape); });
    case Layout::stepped:
      return arranged(array, mapped(shape, [](int64_t size) { return 2 * size + 1; }), [&](const Dims& index) {
        const bool between = std::any_of(index.begin(), index.end(), [](int64_t i) { return i % 2 == 0; });
        return between ? kPoison : position(mapped(index, [](int64_t i) { return (i - 1) / 2; }), shape);
      });
    case Layout::flipped:
      return arranged(array, shape, [&](const Dims& index) { return array.size() - 1 - position(index, shape); });
    case Layout::regrouped: {
      const int64_t columns = smallest_divisor(array.size()), rows = array.size() / columns;
      return arranged(array, {columns, rows}, [&](const Dims& index) { return index[1] * columns + index[0]; });
    }
    default: break;
  }
  Dims smaller = shape;
  if (const auto axis = repeated_axis(layout, shape)) {
    smaller[*axis] = std::min<int64_t>(1, shape[*axis]);
  } else if (has_padding(layout, shape)) {
    --smaller.back();
  } else {
    return array;
  }
  return arranged(array, smaller, [&](Dims index) {
    if (layout == Layout::padded) ++index.back();
    return position(index, shape);
  });
}

ir::Value seen(Layout layout, const ir::Value& buffer, const Dims& shape) {
  const size_t rank = shape.size();
  switch (layout) {
    case Layout::transposed: return ir::permute(buffer, reversed(ir::iota_dims(rank)));
    case Layout::stepped: return ir::shrink(buffer, Dims(rank, 1), shape, Dims(rank, 2));
    case Layout::flipped: return ir::flip(buffer, ir::iota_dims(rank));
    case Layout::regrouped: return ir::reshape(ir::permute(buffer, {1, 0}), shape);
    case Layout::expanded_first:
    case Layout::expanded_last: return ir::expand(buffer, shape);
    case Layout::padded: {
      if (!has_padding(layout, shape)) return buffer;
      Dims before(rank, 0);
      before.back() = 1;
      return ir::pad(buffer, before, Dims(rank, 0));
    }
    default: return buffer;
  }
}

// ---- Comparison ----------------------------------------------------------------------------------------------------

Tolerance tolerance_of(DType dtype) {
  switch (dtype) {  // {ulps, relative, absolute}
    case DType::f32: return {4, 1e-5, 1e-5};
    case DType::f16: return {1, 2e-3, 2e-3};
    case DType::bf16: return {1, 1.6e-2, 1.6e-2};
    case DType::f64: return {8, 1e-12, 1e-12};
    default: return {0, 0, 0};
  }
}

namespace {

std::string shown(const Host& array, int64_t i) {
  return is_float(array.type.dtype) ? fmt::format("{}", array.number(i)) : fmt::format("{}", array.whole(i));
}

testing::AssertionResult every_element(const Host& got, const Host& wanted, const std::function<bool(int64_t)>& holds) {
  if (!(got.type == wanted.type)) {
    return testing::AssertionFailure() << fmt::format("got {}{}, wanted {}{}", tenon::name(got.type.dtype),
                                                      ir::to_string(got.type.shape), tenon::name(wanted.type.dtype),
                                                      ir::to_string(wanted.type.shape));
  }
  for (int64_t i = 0; i < got.size(); ++i) {
    if (holds(i)) continue;
    return testing::AssertionFailure() << fmt::format("element {} of {}{} is {}, wanted {}", i,
                                                      tenon::name(got.type.dtype), ir::to_string(got.type.shape),
                                                      shown(got, i), shown(wanted, i));
  }
  return testing::AssertionSuccess();
}

/// The distance from this number to the next larger one of the dtype.
double unit_in_last_place(double x, DType dtype) {
  const int digits = dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  const int lowest = dtype == DType::f64 ? -1022 : dtype == DType::f16 ? -14 : -126;
  const int exponent = x == 0 ? lowest : std::max(std::ilogb(x), lowest);
  return std::ldexp(1, exponent - digits + 1);
}

}  // namespace

testing::AssertionResult same(const Host& got, const Host& wanted) {
  const size_t width = size_of(wanted.type.dtype);
  return every_element(got, wanted, [&](int64_t i) {
    const size_t at = static_cast<size_t>(i) * width;
    if (std::memcmp(&got.bytes[at], &wanted.bytes[at], width) == 0) return true;
    return is_float(wanted.type.dtype) && std::isnan(got.number(i)) && std::isnan(wanted.number(i));
  });
}

testing::AssertionResult within_ulps(const Host& got, const Host& wanted, double ulps) {
  if (!is_float(wanted.type.dtype)) return same(got, wanted);
  return every_element(got, wanted, [&](int64_t i) {
    const double a = got.number(i), b = wanted.number(i);
    if (std::isnan(b)) return std::isnan(a);
    if (a == b || !std::isfinite(b)) return a == b;
    return std::fabs(a - b) <= ulps * unit_in_last_place(b, wanted.type.dtype);
  });
}

testing::AssertionResult close(const Host& got, const Host& wanted, double times) {
  if (!is_float(wanted.type.dtype)) return same(got, wanted);
  const Tolerance allowed = tolerance_of(wanted.type.dtype);
  return every_element(got, wanted, [&](int64_t i) {
    const double a = got.number(i), b = wanted.number(i);
    if (std::isnan(b)) return std::isnan(a);
    if (!std::isfinite(b)) return a == b;
    return std::fabs(a - b) <= times * (allowed.absolute + allowed.relative * std::fabs(b));
  });
}

testing::AssertionResult close(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  if (got.size() != wanted.size())
    return testing::AssertionFailure() << got.size() << " numbers, wanted " << wanted.size();
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::fabs(got[i] - wanted[i]) <= tolerance * std::max(1.0, std::fabs(wanted[i]))) continue;
    return testing::AssertionFailure() << fmt::format("number {} is {}, wanted {}", i, got[i], wanted[i]);
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon::ops_test
