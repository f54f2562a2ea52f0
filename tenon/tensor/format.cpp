// Printing in three steps: choose the elements to show, write each as a cell of one common width, lay the cells out.
//
// The rules are those of numpy 1.24 (precision 8, threshold 1000, edge items 3, line width 75). Digits come from the
// exact algorithm of Steele, White, Burger and Dybvig on big integers, not from std::to_chars: 16-bit types have
// shortest digits too, numpy cuts digits at a precision, and in scientific columns it goes on past the shortest digits
// with exact ones. One generator that knows the distance to the neighbouring values of the type does all of that.

#include "tenon/tensor/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {
namespace {

constexpr int kPrecision = 8;         // digits after the point
constexpr int64_t kThreshold = 1000;  // more elements than this are summarised
constexpr int64_t kEdgeItems = 3;     // shown at either end of a summarised axis
constexpr size_t kLineWidth = 75;

/// An unsigned integer of any size, with the few operations that digit generation needs.
class Natural {
 public:
  explicit Natural(uint64_t value) : limbs_{static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)} {
    trim();
  }

  void multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& limb : limbs_) {
      carry += uint64_t{limb} * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) limbs_.push_back(static_cast<uint32_t>(carry));
  }
  void multiply_by_power_of_ten(int power) {
    for (; power >= 9; power -= 9) multiply(1'000'000'000);
    for (; power > 0; --power) multiply(10);
  }
  void shift_left(int bits) {
    multiply(uint32_t{1} << (bits % 32));
    limbs_.insert(limbs_.begin(), static_cast<size_t>(bits / 32), 0);
  }
  void add(const Natural& other) {
    limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1);
    uint64_t carry = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      carry += uint64_t{limbs_[i]} + other.limb(i);
      limbs_[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    trim();
  }
  /// Needs other <= *this.
  void subtract(const Natural& other) {
    uint64_t borrow = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      const uint64_t difference = uint64_t{limbs_[i]} - other.limb(i) - borrow;
      limbs_[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
    trim();
  }

  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
    if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() <=> b.limbs_.size();
    return std::lexicographical_compare_three_way(a.limbs_.rbegin(), a.limbs_.rend(),  //
                                                  b.limbs_.rbegin(), b.limbs_.rend());
  }

 private:
  uint32_t limb(size_t i) const { return i < limbs_.size() ? limbs_[i] : 0; }
  void trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }

  std::vector<uint32_t> limbs_;  // least significant first, no zero at the top
};

Natural added(Natural a, const Natural& b) {
  a.add(b);
  return a;
}

/// What tells the values of a float type apart: bits of the significand, and the exponent of the smallest subnormal.
struct FloatType {
  int significand_bits;
  int lowest_exponent;
};

FloatType float_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return {53, -1074};
    case DType::f32: return {24, -149};
    case DType::f16: return {11, -24};
    default: return {8, -133};  // bf16
  }
}

/// A positive number as value / unit * 10^power with 1 <= value / unit < 10, and half the distance to its neighbours.
struct Scaled {
  Natural value;
  Natural unit;
  Natural half_gap_below;
  Natural half_gap_above;
  int power = 0;
  bool owns_midpoints = false;  // a midpoint between neighbours reads back as the one with the even significand

  void multiply_by_power_of_ten(int exponent) {
    for (Natural* part : {&value, &half_gap_below, &half_gap_above}) part->multiply_by_power_of_ten(exponent);
  }
};

Scaled scale(double magnitude, FloatType type) {
  const int exponent = std::max(std::ilogb(magnitude) + 1 - type.significand_bits, type.lowest_exponent);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, -exponent));
  // Below a power of two the values stand twice as close. In quarters of the last bit both half gaps are whole.
  const bool closer_below =
      significand == uint64_t{1} << (type.significand_bits - 1) && exponent > type.lowest_exponent;
  Scaled scaled{.value = Natural(4 * significand),
                .unit = Natural(4),
                .half_gap_below = Natural(closer_below ? 1 : 2),
                .half_gap_above = Natural(2),
                .power = static_cast<int>(std::floor(std::log10(magnitude))),
                .owns_midpoints = significand % 2 == 0};
  if (exponent > 0) {
    for (Natural* part : {&scaled.value, &scaled.half_gap_below, &scaled.half_gap_above}) part->shift_left(exponent);
  } else {
    scaled.unit.shift_left(-exponent);
  }
  scaled.unit.multiply_by_power_of_ten(scaled.power);
  scaled.multiply_by_power_of_ten(-scaled.power);
  // log10 rounds, so next to a power of ten the estimate may be off by one.
  if (scaled.value < scaled.unit) {
    scaled.multiply_by_power_of_ten(1);
    --scaled.power;
  }
  Natural ten_units = scaled.unit;
  ten_units.multiply(10);
  if (scaled.value >= ten_units) {
    scaled.unit = ten_units;
    ++scaled.power;
  }
  return scaled;
}

/// d.ddd * 10^power; the digits stand without the point.
struct Decimal {
  std::string digits;
  int power = 0;
};

void round_up_last_digit(Decimal& decimal) {
  while (!decimal.digits.empty() && decimal.digits.back() == '9') decimal.digits.pop_back();
  if (decimal.digits.empty()) {
    decimal.digits = "1";
    ++decimal.power;
  } else {
    ++decimal.digits.back();
  }
}

bool rounds_up(const Scaled& rest, bool may_stay, bool may_rise, int last_digit) {
  if (may_stay != may_rise) return may_rise;
  const auto order = added(rest.value, rest.value) <=> rest.unit;
  return std::is_eq(order) ? last_digit % 2 == 1 : std::is_gt(order);
}

/// The fewest digits, at least `least`, that identify the number among those of its type; cut and rounded at `most`.
Decimal generate(Scaled rest, int least, int most) {
  Decimal decimal{.digits = {}, .power = rest.power};
  for (int count = 1;; ++count) {
    int digit = 0;
    for (; rest.value >= rest.unit; ++digit) rest.value.subtract(rest.unit);
    decimal.digits += static_cast<char>('0' + digit);
    // Would the digits so far, left as they are or with the last one raised, still read back as this number?
    const auto down = rest.value <=> rest.half_gap_below;
    const auto up = added(rest.value, rest.half_gap_above) <=> rest.unit;
    const bool may_stay = std::is_lt(down) || (std::is_eq(down) && rest.owns_midpoints);
    const bool may_rise = std::is_gt(up) || (std::is_eq(up) && rest.owns_midpoints);
    if (((may_stay || may_rise) && count >= least) || count == most) {
      if (rounds_up(rest, may_stay, may_rise, digit)) round_up_last_digit(decimal);
      return decimal;
    }
    rest.multiply_by_power_of_ten(1);
  }
}

constexpr int kNoLimit = std::numeric_limits<int>::max();

Decimal significant_digits(double value, FloatType type, int least, int most) {
  if (value == 0) return {.digits = "0", .power = 0};
  return generate(scale(std::fabs(value), type), least, most);
}

/// Digits for a column without exponents: all of the whole part, even those that say nothing in a 16-bit type.
Decimal fixed_digits(double value, FloatType type) {
  if (value == 0) return {.digits = "0", .power = 0};
  Scaled scaled = scale(std::fabs(value), type);
  const int whole = scaled.power + 1;
  return generate(std::move(scaled), whole, whole + kPrecision);
}

/// A number's text on either side of its point, the unit by which columns align. Without a point (nan, inf) no `right`.
struct Cell {
  std::string left;
  std::string right;
  bool has_point = true;
};

std::string without_trailing_zeros(std::string digits) {
  digits.resize(digits.find_last_not_of('0') + 1);
  return digits;
}

std::string_view minus_of(double value) { return std::signbit(value) ? "-" : ""; }

Cell not_finite(double value) {
  return {.left = std::isnan(value) ? "nan" : fmt::format("{}inf", minus_of(value)), .right = {}, .has_point = false};
}

Cell positional(double value, const Decimal& decimal) {
  std::string digits = decimal.digits;
  if (decimal.power < 0) digits.insert(0, static_cast<size_t>(-decimal.power), '0');
  const auto whole = static_cast<size_t>(std::max(decimal.power, 0) + 1);
  if (digits.size() < whole) digits.resize(whole, '0');
  return {.left = fmt::format("{}{}", minus_of(value), digits.substr(0, whole)),
          .right = without_trailing_zeros(digits.substr(whole))};
}

std::string exponent_text(int power, int digits) {
  return fmt::format("e{}{:0{}}", power < 0 ? '-' : '+', std::abs(power), digits);
}

Cell scientific(double value, const Decimal& decimal, size_t fraction_digits, int exponent_digits) {
  return {.left = fmt::format("{}{}", minus_of(value), decimal.digits[0]),
          .right = fmt::format("{:0<{}}{}", decimal.digits.substr(1), fraction_digits,
                               exponent_text(decimal.power, exponent_digits))};
}

/// The dtype's rounding of a value.
double rounded(DType dtype, double value) {
  return dispatch(dtype, [&]<typename T>() { return static_cast<double>(static_cast<T>(value)); });
}

bool needs_exponent(std::span<const double> values, DType dtype) {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    smallest = std::min(smallest, std::fabs(value));
    largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0) return false;
  // numpy compares with the limits in f64, but divides in the array's own type.
  return largest >= 1e8 || smallest < 1e-4 || rounded(dtype, largest / smallest) > 1000;
}

std::vector<Cell> positional_cells(std::span<const double> values, FloatType type) {
  std::vector<Cell> cells;
  for (double value : values) {
    cells.push_back(std::isfinite(value) ? positional(value, fixed_digits(value, type)) : not_finite(value));
  }
  return cells;
}

/// All with as many digits as the element that needs most: the shortest digits first, then exact ones.
std::vector<Cell> scientific_cells(std::span<const double> values, FloatType type) {
  size_t fraction_digits = 0;
  size_t exponent_digits = 2;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    const Decimal shortest = significant_digits(value, type, 1, kPrecision + 1);
    fraction_digits = std::max(fraction_digits, without_trailing_zeros(shortest.digits.substr(1)).size());
    exponent_digits = std::max(exponent_digits, std::to_string(std::abs(shortest.power)).size());
  }
  const int digits = static_cast<int>(fraction_digits) + 1;
  std::vector<Cell> cells;
  for (double value : values) {
    cells.push_back(std::isfinite(value) ? scientific(value, significant_digits(value, type, digits, digits),
                                                      fraction_digits, static_cast<int>(exponent_digits))
                                         : not_finite(value));
  }
  return cells;
}

/// Points below each other; what has no point to the right.
std::vector<std::string> aligned_at_point(const std::vector<Cell>& cells) {
  size_t left = 0;
  size_t right = 0;
  for (const Cell& cell : cells) right = std::max(right, cell.right.size());
  for (const Cell& cell : cells) {
    const size_t own = cell.left.size();
    left = std::max(left, cell.has_point ? own : own - std::min(own, right + 1));
  }
  std::vector<std::string> words;
  words.reserve(cells.size());
  for (const Cell& cell : cells) {
    words.push_back(cell.has_point ? fmt::format("{:>{}}.{:<{}}", cell.left, left, cell.right, right)
                                   : fmt::format("{:>{}}", cell.left, left + 1 + right));
  }
  return words;
}

std::vector<std::string> float_words(std::span<const double> values, DType dtype) {
  const FloatType type = float_type(dtype);
  return aligned_at_point(needs_exponent(values, dtype) ? scientific_cells(values, type)
                                                        : positional_cells(values, type));
}

std::vector<std::string> bool_words(std::span<const int64_t> values) {
  std::vector<std::string> words;
  for (int64_t value : values) words.emplace_back(value ? " True" : "False");
  return words;
}

std::vector<std::string> integer_words(std::span<const int64_t> values) {
  std::vector<std::string> words;
  size_t width = 0;
  for (int64_t value : values) width = std::max(width, words.emplace_back(std::to_string(value)).size());
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
  return words;
}

/// A single number, which numpy prints as its scalar: all digits it takes, and a point only where Python has one.
std::string float_scalar(double value, DType dtype) {
  if (!std::isfinite(value)) return not_finite(value).left;
  const Decimal decimal = significant_digits(value, float_type(dtype), 1, kNoLimit);
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    const std::string fraction = decimal.digits.substr(1);
    return fmt::format("{}{}{}{}{}", minus_of(value), decimal.digits[0], fraction.empty() ? "" : ".", fraction,
                       exponent_text(decimal.power, 2));
  }
  const Cell cell = positional(value, decimal);
  return fmt::format("{}.{}", cell.left, cell.right.empty() ? "0" : cell.right);
}

std::string scalar(DType dtype, std::span<const double> real, std::span<const int64_t> whole) {
  if (is_float(dtype)) return float_scalar(real[0], dtype);
  if (dtype == DType::boolean) return whole[0] ? "True" : "False";
  return std::to_string(whole[0]);
}

/// The part of an array that is shown: everything, or the ends of each long axis.
class Window {
 public:
  explicit Window(const Dims& shape) : shape_(shape), summarised_(ir::count(shape) > kThreshold) {}

  size_t rank() const { return shape_.size(); }
  bool has_gap(size_t axis) const { return summarised_ && shape_[axis] > 2 * kEdgeItems; }
  int64_t items(size_t axis) const { return has_gap(axis) ? 2 * kEdgeItems : shape_[axis]; }

  /// The shown elements in row-major order.
  template <typename T>
  std::vector<T> pick(std::span<const T> all) const {
    std::vector<T> picked;
    pick(all, 0, 0, picked);
    return picked;
  }

 private:
  int64_t index(size_t axis, int64_t item) const {
    return has_gap(axis) && item >= kEdgeItems ? shape_[axis] - 2 * kEdgeItems + item : item;
  }
  template <typename T>
  void pick(std::span<const T> all, size_t axis, int64_t offset, std::vector<T>& picked) const {
    if (axis == rank()) {
      picked.push_back(all[static_cast<size_t>(offset)]);
      return;
    }
    for (int64_t item = 0; item < items(axis); ++item) {
      pick(all, axis + 1, offset * shape_[axis] + index(axis, item), picked);
    }
  }

  Dims shape_;
  bool summarised_;
};

/// Writes words into nested brackets.
class Layout {
 public:
  Layout(Window window, std::vector<std::string> words, const ArrayStyle& style)
      : window_(std::move(window)), words_(std::move(words)), style_(style) {}

  std::string write() {
    write_axis(0);
    return std::move(text_);
  }

 private:
  void write_axis(size_t axis) {
    text_ += '[';
    if (axis + 1 == window_.rank()) {
      write_row(axis);
    } else {
      write_blocks(axis);
    }
    text_ += ']';
  }
  void write_blocks(size_t axis) {
    const std::string separator = (style_.has_commas ? "," : "") + std::string(window_.rank() - axis - 1, '\n') +
                                  std::string(style_.indent + axis + 1, ' ');
    for (int64_t item = 0; item < window_.items(axis); ++item) {
      if (item > 0) text_ += separator;
      if (item == kEdgeItems && window_.has_gap(axis)) text_ += "..." + separator;
      write_axis(axis + 1);
    }
  }
  void write_row(size_t axis) {
    indent_ = style_.indent + axis + 1;
    column_ = indent_;
    for (int64_t item = 0; item < window_.items(axis); ++item) {
      if (item == kEdgeItems && window_.has_gap(axis)) write_word("...", axis);
      write_word(words_[next_++], axis);
    }
  }
  void write_word(std::string_view word, size_t axis) {
    const size_t width = kLineWidth - std::min(kLineWidth, axis + 1);  // each open bracket needs room to close
    const bool first_of_line = column_ == indent_;
    const std::string_view between = style_.has_commas ? ", " : " ";
    if (!first_of_line && column_ + between.size() + word.size() > width) {
      text_.resize(text_.find_last_not_of(' ') + 1);
      if (style_.has_commas) text_ += ',';
      text_ += '\n' + std::string(indent_, ' ');
      column_ = indent_;
    } else if (!first_of_line) {
      text_ += between;
      column_ += between.size();
    }
    text_ += word;
    column_ += word.size();
  }

  Window window_;
  std::vector<std::string> words_;
  ArrayStyle style_;
  size_t next_ = 0;  // word
  std::string text_;
  size_t indent_ = 0;  // of the row being written
  size_t column_ = 0;
};

}  // namespace

std::string format_array(const Dims& shape, DType dtype, std::span<const double> real, std::span<const int64_t> whole,
                         const ArrayStyle& style) {
  const auto count = static_cast<size_t>(ir::count(shape));
  const size_t given = is_float(dtype) ? real.size() : whole.size();
  if (given != count) {
    base::fail("format", "{} values for {} of shape {}, which holds {}", given, name(dtype), ir::to_string(shape),
               count);
  }
  if (count == 0) return "[]";
  if (shape.empty()) return scalar(dtype, real, whole);
  const Window window(shape);
  if (is_float(dtype)) return Layout(window, float_words(window.pick(real), dtype), style).write();
  const std::vector<int64_t> shown = window.pick(whole);
  return Layout(window, dtype == DType::boolean ? bool_words(shown) : integer_words(shown), style).write();
}

}  // namespace tenon
