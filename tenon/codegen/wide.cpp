// What the words of a constant are is known, so that most of what follows from a constant is folded away: a product by
// a small number is three instructions, a shift by 32 none.

#include "tenon/codegen/wide.h"

#include <bit>

#include "tenon/base/error.h"

namespace tenon::codegen {
namespace {

using ir::Op;

constexpr uint32_t kOnes = 0xFFFFFFFF;

uint32_t folded(Op op, uint32_t x, uint32_t y) {
  switch (op) {
    case Op::bit_and: return x & y;
    case Op::bit_or: return x | y;
    case Op::bit_xor: return x ^ y;
    case Op::shl: return x << y;
    default: return x >> y;
  }
}

// Bits and shifts of u32.
Id bits(Builder& b, Op op, Id x, Id y) {
  const auto p = b.known(x), q = b.known(y);
  if (p && q) return b.u32(folded(op, static_cast<uint32_t>(*p), static_cast<uint32_t>(*q)));
  const bool keeps = op != Op::bit_and && q && *q == 0;  // 0 is where or, xor and shifts do nothing
  if (keeps || (op == Op::bit_and && q && *q == kOnes)) return x;
  if ((op == Op::bit_or || op == Op::bit_xor) && p && *p == 0) return y;
  if (op == Op::bit_and && ((p && *p == 0) || (q && *q == 0))) return b.u32(0);
  return b.math(op, Scalar::u32, {x, y});
}
Id shifted(Builder& b, Op op, Id x, uint32_t count) { return bits(b, op, x, b.u32(count)); }
Id is_zero(Builder& b, Id x) { return b.equal(x, b.u32(0)); }
Id one_if(Builder& b, Id truth) { return b.select(truth, b.u32(1), b.u32(0)); }
Id is_negative(Builder& b, const Wide& x) { return b.is_not(b.less(x.high, b.u32(0x80000000u))); }
// All bits that of the sign.
Id signs(Builder& b, Id word) {
  if (const auto known = b.known(word)) return b.u32(static_cast<uint32_t>(*known) >> 31 ? kOnes : 0);
  return b.select(b.less(word, b.u32(0x80000000u)), b.u32(0), b.u32(kOnes));
}
Id shifted_with_sign(Builder& b, Id word, Id count) {
  if (b.known(count) && *b.known(count) == 0) return word;
  const Id plain = b.bitcast(word, Scalar::i32);
  return b.bitcast(b.math(Op::shr, Scalar::i32, {plain, b.bitcast(count, Scalar::i32)}), Scalar::u32);
}

Wide add(Builder& b, const Wide& x, const Wide& y) {
  const Id low = b.add(x.low, y.low);
  const Id carry = low == x.low || low == y.low ? b.u32(0) : one_if(b, b.less(low, x.low));
  return {low, b.add(b.add(x.high, y.high), carry)};
}

Wide negative(Builder& b, const Wide& x) {
  if (const auto low = b.known(x.low), high = b.known(x.high); low && high)
    return wide_constant(b, 0 - (*high << 32 | *low));
  const Id inverted = bits(b, Op::bit_xor, x.high, b.u32(kOnes));
  return {b.math(Op::neg, Scalar::u32, {x.low}), b.add(inverted, one_if(b, is_zero(b, x.low)))};
}

Wide magnitude(Builder& b, const Wide& x) { return wide_select(b, is_negative(b, x), negative(b, x), x); }

Id high_of_product(Builder& b, Id x, Id y) {
  const auto p = b.known(x), q = b.known(y);
  if (p && q) return b.u32(*p * *q >> 32);
  if ((p && *p <= 1) || (q && *q <= 1)) return b.u32(0);
  return b.mul_high(x, y);
}

Wide mul(Builder& b, const Wide& x, const Wide& y) {
  const Id across = b.add(b.mul(x.low, y.high), b.mul(x.high, y.low));
  return {b.mul(x.low, y.low), b.add(high_of_product(b, x.low, y.low), across)};
}

// By a count below 64. What moves from one word into the other is shifted twice, as no shift by 32 is.
Wide shift(Builder& b, Op op, Scalar type, const Wide& x, Id count) {
  const bool is_left = op == Op::shl, has_sign = type == Scalar::i64 && !is_left;
  const Id from = is_left ? x.low : x.high, to = is_left ? x.high : x.low;
  const Op back = is_left ? Op::shr : Op::shl;
  const Id inside = bits(b, Op::bit_and, count, b.u32(31));
  const auto moved = [&](Id word) { return bits(b, op, word, inside); };
  const Id given = has_sign ? shifted_with_sign(b, from, inside) : moved(from);
  const Id rest = bits(b, back, shifted(b, back, from, 1), bits(b, Op::bit_xor, inside, b.u32(31)));
  const Id taken = bits(b, Op::bit_or, moved(to), rest);
  const Id empty = has_sign ? signs(b, x.high) : b.u32(0);
  const Id is_far = b.is_not(b.less(count, b.u32(32)));
  const Id first = b.select(is_far, empty, given), second = b.select(is_far, given, taken);
  return is_left ? Wide{first, second} : Wide{second, first};
}

struct Divided {
  Wide quotient, rest;
};

// One bit of the quotient after another, as on paper; where both are below 2^32, which is nearly always, by the
// device's own division.
Divided divide(Builder& b, const Wide& x, const Wide& y) {
  const Id zero = b.u32(0);
  const Id quotient_low = b.variable(x.low), quotient_high = b.variable(x.high);
  const Id rest_low = b.variable(zero), rest_high = b.variable(zero);
  const auto small = [&] {
    b.set(quotient_low, b.div(x.low, y.low));
    b.set(quotient_high, zero);
    b.set(rest_low, b.mod(x.low, y.low));
  };
  const auto large = [&] {
    // The dividend leaves the quotient at its upper end while the quotient enters at the lower one.
    b.loop(0, 64, [&](Id) {
      const Wide q{b.get(quotient_low), b.get(quotient_high)}, r{b.get(rest_low), b.get(rest_high)};
      const auto upper_bit = [&](Id word) { return shifted(b, Op::shr, word, 31); };
      const Id lost = upper_bit(r.high);
      const Wide rest{bits(b, Op::bit_or, shifted(b, Op::shl, r.low, 1), upper_bit(q.high)),
                      bits(b, Op::bit_or, shifted(b, Op::shl, r.high, 1), upper_bit(r.low))};
      const Id fits = b.either(b.is_not(is_zero(b, lost)), b.is_not(wide_compare(b, Op::less, Scalar::u64, rest, y)));
      const Wide less = add(b, rest, negative(b, y));
      b.set(rest_low, b.select(fits, less.low, rest.low));
      b.set(rest_high, b.select(fits, less.high, rest.high));
      b.set(quotient_low, bits(b, Op::bit_or, shifted(b, Op::shl, q.low, 1), one_if(b, fits)));
      b.set(quotient_high, bits(b, Op::bit_or, shifted(b, Op::shl, q.high, 1), upper_bit(q.low)));
    });
  };
  if (b.known(y.high) && *b.known(y.high) != 0) {
    large();
  } else {
    b.branch(is_zero(b, bits(b, Op::bit_or, x.high, y.high)), small, large);
  }
  return {{b.get(quotient_low), b.get(quotient_high)}, {b.get(rest_low), b.get(rest_high)}};
}

// C's: towards 0, and the rest has the sign of the dividend.
Wide divide(Builder& b, Op op, Scalar type, const Wide& x, const Wide& y) {
  if (type == Scalar::u64) {
    const Divided made = divide(b, x, y);
    return op == Op::mod ? made.rest : made.quotient;
  }
  const Divided made = divide(b, magnitude(b, x), magnitude(b, y));
  const Id x_is_negative = is_negative(b, x);
  if (op == Op::mod) return wide_select(b, x_is_negative, negative(b, made.rest), made.rest);
  const Id differ = b.math(Op::bit_xor, Scalar::boolean, {x_is_negative, is_negative(b, y)});
  return wide_select(b, differ, negative(b, made.quotient), made.quotient);
}

Id power_of_two(Builder& b, Id exponent) {  // of f32, from a u32
  return b.bitcast(shifted(b, Op::shl, b.add(exponent, b.u32(127)), 23), Scalar::f32);
}

// Moved up until the upper word is full; what the lower one still holds decides ties as one bit.
Id to_f32(Builder& b, const Wide& x) {
  Wide moved = wide_select(b, is_zero(b, x.high), {b.u32(0), x.low}, x);
  Id exponent = b.select(is_zero(b, x.high), b.u32(0), b.u32(32));
  for (uint32_t step = 16; step > 0; step /= 2) {
    const Id is_small = b.less(moved.high, b.u32(1u << (32 - step)));
    moved = wide_select(b, is_small, shift(b, Op::shl, Scalar::u64, moved, b.u32(step)), moved);
    exponent = b.select(is_small, b.sub(exponent, b.u32(step)), exponent);
  }
  const Id sticky = one_if(b, b.is_not(is_zero(b, moved.low)));
  const Id top = b.convert(bits(b, Op::bit_or, moved.high, sticky), Scalar::f32);
  return b.math(Op::mul, Scalar::f32, {top, power_of_two(b, exponent)});
}

Id real(Builder& b, Scalar type, double number) { return b.constant(type, std::bit_cast<uint64_t>(number)); }

Id to_f64(Builder& b, const Wide& x) {
  const Id high = b.math(Op::mul, Scalar::f64, {b.convert(x.high, Scalar::f64), real(b, Scalar::f64, 0x1p32)});
  return b.math(Op::add, Scalar::f64, {high, b.convert(x.low, Scalar::f64)});
}

// Scaling is exact, and so is what remains of the magnitude without its upper word.
Wide from_float(Builder& b, Scalar from, Id x) {
  const Id size = b.math(Op::abs, from, {x});
  const Id high = b.convert(b.math(Op::mul, from, {size, real(b, from, 0x1p-32)}), Scalar::u32);
  const Id taken = b.math(Op::mul, from, {b.convert(high, from), real(b, from, -0x1p32)});
  const Wide made{b.convert(b.math(Op::add, from, {size, taken}), Scalar::u32), high};
  return wide_select(b, b.less(x, real(b, from, 0)), negative(b, made), made);
}

}  // namespace

Wide wide_constant(Builder& b, uint64_t number) { return {b.u32(number & kOnes), b.u32(number >> 32)}; }

Wide wide_select(Builder& b, Id condition, const Wide& x, const Wide& y) {
  return {b.select(condition, x.low, y.low), b.select(condition, x.high, y.high)};
}

Id wide_compare(Builder& b, Op op, Scalar type, const Wide& x, const Wide& y) {
  const Id same_high = b.equal(x.high, y.high);
  if (op == Op::equal) return b.both(b.equal(x.low, y.low), same_high);
  if (op != Op::less) base::fail("codegen", "{} compares nothing", ir::name(op));
  const Scalar own = type == Scalar::i64 ? Scalar::i32 : Scalar::u32;
  const Id less_high = b.less(b.bitcast(x.high, own), b.bitcast(y.high, own));
  return b.either(less_high, b.both(same_high, b.less(x.low, y.low)));
}

Wide wide_math(Builder& b, Op op, Scalar type, std::span<const Wide> args) {
  const Wide& x = args[0];
  switch (op) {
    case Op::neg: return negative(b, x);
    case Op::abs: return type == Scalar::i64 ? magnitude(b, x) : x;
    case Op::add: return add(b, x, args[1]);
    case Op::mul: return mul(b, x, args[1]);
    case Op::div:
    case Op::idiv:
    case Op::mod: return divide(b, op, type, x, args[1]);
    case Op::maximum: return wide_select(b, wide_compare(b, Op::less, type, x, args[1]), args[1], x);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor: return {bits(b, op, x.low, args[1].low), bits(b, op, x.high, args[1].high)};
    case Op::shl:
    case Op::shr: return shift(b, op, type, x, args[1].low);
    default: base::fail("codegen", "{} has no meaning for {}", ir::name(op), name(type));
  }
}

Wide widen(Builder& b, Scalar to, Id value) {
  switch (const Scalar from = b.type_of(value)) {
    case Scalar::f32:
    case Scalar::f64: return from_float(b, from, value);
    case Scalar::boolean: return {one_if(b, value), b.u32(0)};
    case Scalar::i32: {
      const Id low = b.known(value) ? b.u32(*b.known(value) & kOnes) : b.bitcast(value, Scalar::u32);
      return {low, signs(b, low)};
    }
    case Scalar::u32: return {value, b.u32(0)};
    default: base::fail("codegen", "{} is not widened to {}", name(from), name(to));
  }
}

Id narrow(Builder& b, Scalar from, Scalar to, const Wide& value) {
  switch (to) {
    case Scalar::u32: return value.low;
    case Scalar::i32: return b.bitcast(value.low, Scalar::i32);
    case Scalar::boolean: return b.is_not(is_zero(b, bits(b, Op::bit_or, value.low, value.high)));
    case Scalar::f32:
    case Scalar::f64: {
      const Wide size = from == Scalar::i64 ? magnitude(b, value) : value;
      const Id made = to == Scalar::f32 ? to_f32(b, size) : to_f64(b, size);
      if (from == Scalar::u64) return made;
      return b.select(is_negative(b, value), b.math(Op::neg, to, {made}), made);
    }
    default: base::fail("codegen", "{} is not narrowed to {}", name(from), name(to));
  }
}

}  // namespace tenon::codegen
