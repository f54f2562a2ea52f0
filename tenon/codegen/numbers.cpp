// Corners are the same as the cpu's and the reference's: integers wrap, division by 0 gives 0, casts saturate, the
// larger of 0 and -0 is 0 and NaN wins.

#include "tenon/codegen/numbers.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/base/half.h"
#include "tenon/codegen/functions.h"

namespace tenon::codegen {
namespace {

using ir::Op;

constexpr uint64_t kTwoTo31 = uint64_t{1} << 31;
constexpr double kTwoTo63 = 9223372036854775808.0;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

Id real(Builder& b, Scalar type, double number) { return b.constant(type, std::bit_cast<uint64_t>(number)); }
Id is_nan(Builder& b, Id x) { return b.is_not(b.equal(x, x)); }

Id unpack_bf16(Builder& b, Id bits) { return b.bitcast(b.math(Op::shl, Scalar::u32, {bits, b.u32(16)}), Scalar::f32); }

// The bits of a value that was rounded to this dtype just now and is about to be again.
Id packed_before(const Builder& b, DType dtype, Id x) {
  const Inst& inst = b.inst(x);
  if (dtype == DType::f16) {
    const bool is_rounded = inst.kind == Inst::Kind::unpack_half && b.inst(inst.args[0]).kind == Inst::Kind::pack_half;
    return is_rounded ? inst.args[0] : kNoValue;
  }
  if (inst.kind != Inst::Kind::math || inst.op != Op::bitcast) return kNoValue;
  const Inst& shifted = b.inst(inst.args[0]);
  const bool is_shift = shifted.kind == Inst::Kind::math && shifted.op == Op::shl && b.known(shifted.args[1]) == 16;
  return is_shift && b.inst(shifted.args[0]).kind == Inst::Kind::pack_bf16 ? shifted.args[0] : kNoValue;
}

Id pack(Builder& b, DType dtype, Id x) {
  if (const Id bits = packed_before(b, dtype, x); bits != kNoValue) return bits;
  return dtype == DType::f16 ? b.pack_half(x) : b.pack_bf16(x);
}
Id unpack(Builder& b, DType dtype, Id bits) { return dtype == DType::f16 ? b.unpack_half(bits) : unpack_bf16(b, bits); }

// To the neighbour in f32 whose last bit is odd unless exact, so that rounding to fewer bits afterwards rounds once.
// `is_exact` and `is_below` compare the nearest f32 with the number, in magnitude.
Id odd_neighbour(Builder& b, Id nearest, Id is_exact, Id is_below) {
  const Id bits = b.bitcast(nearest, Scalar::u32);
  const Id is_odd = b.equal(b.math(Op::bit_and, Scalar::u32, {bits, b.u32(1)}), b.u32(1));
  const Id moved = b.select(is_below, b.add(bits, b.u32(1)), b.sub(bits, b.u32(1)));
  return b.select(b.either(is_exact, is_odd), nearest, b.bitcast(moved, Scalar::f32));
}
Id odd_from_f64(Builder& b, Id x) {
  const Id nearest = b.convert(x, Scalar::f32), back = b.convert(nearest, Scalar::f64);
  const Id is_below = b.less(b.math(Op::abs, Scalar::f64, {back}), b.math(Op::abs, Scalar::f64, {x}));
  return odd_neighbour(b, nearest, b.either(b.equal(back, x), is_nan(b, x)), is_below);
}
// Up to 2^24 f32 has every integer. Beyond it the upper 24 bits are one, the last of them set where one below them is.
Id odd_from_i32(Builder& b, Id x) {
  constexpr Scalar kType = Scalar::i32;
  const Id high = b.math(Op::shr, kType, {x, b.whole(kType, 8)});
  const Id is_whole = b.equal(b.math(Op::bit_and, kType, {x, b.whole(kType, 255)}), b.whole(kType, 0));
  const Id odd = b.select(is_whole, high, b.math(Op::bit_or, kType, {high, b.whole(kType, 1)}));
  const Id is_small = b.both(b.less(b.whole(kType, -(1 << 16)), high), b.less(high, b.whole(kType, 1 << 16)));
  return b.select(is_small, b.convert(x, Scalar::f32), b.mul(b.convert(odd, Scalar::f32), b.f32(256)));
}
Id odd_from_i64(Builder& b, Id x) {
  constexpr Scalar kWide = Scalar::u64;
  const Id is_negative = b.less(x, b.whole(Scalar::i64, 0));
  // Negated without a sign: the lowest integer has no positive one, and compilers may count on it.
  const Id bits = b.bitcast(x, kWide);
  const Id magnitude = b.select(is_negative, b.math(Op::neg, kWide, {bits}), bits);
  const Id nearest = b.convert(magnitude, Scalar::f32), back = b.convert(nearest, kWide);
  const Id odd = odd_neighbour(b, nearest, b.equal(back, magnitude), b.less(back, magnitude));
  return b.select(is_negative, b.math(Op::neg, Scalar::f32, {odd}), odd);
}

// A float as a whole number of this type, saturating, NaN as 0.
Id saturated(Builder& b, Scalar from, Scalar to, Id x) {
  const double bound = to == Scalar::i32 ? static_cast<double>(kTwoTo31) : kTwoTo63;
  const uint64_t highest = to == Scalar::i32 ? kTwoTo31 - 1 : static_cast<uint64_t>(INT64_MAX);
  const Id high = real(b, from, bound), low = real(b, from, -bound), zero = real(b, from, 0);
  const Id is_high = b.is_not(b.less(x, high)), is_low = b.less(x, low);  // NaN counts as high here
  const Id inside = b.convert(b.select(b.either(is_high, is_low), zero, x), to);
  const Id limited = b.select(is_high, b.constant(to, highest), b.select(is_low, b.constant(to, ~highest), inside));
  return b.select(is_nan(b, x), b.whole(to, 0), limited);
}

Id low_byte(Builder& b, Id x) { return b.math(Op::bit_and, Scalar::u32, {x, b.u32(255)}); }

// By way of i64, whose low bits are 0 for every f32 from 2^31 on until it saturates.
Id float_to_byte(Builder& b, Scalar from, Id x) {
  if (from == Scalar::f64) return low_byte(b, b.convert(saturated(b, from, Scalar::i64, x), Scalar::u32));
  const Id bound = b.f32(static_cast<double>(kTwoTo31));
  const Id is_small = b.less(b.math(Op::abs, from, {x}), bound);
  const Id small = b.convert(b.select(is_small, x, b.f32(0)), Scalar::i32);
  const Id is_huge = b.less(b.f32(kTwoTo63), x);
  const Id other = b.select(b.either(is_huge, b.equal(x, b.f32(kTwoTo63))), b.u32(255), b.u32(0));
  return b.select(is_small, low_byte(b, b.bitcast(small, Scalar::u32)), other);
}

Id larger(Builder& b, DType dtype, Id x, Id y) {
  const Scalar type = in_register(dtype);
  if (type == Scalar::boolean) return b.either(x, y);
  if (!is_float(type)) return b.select(b.less(x, y), y, x);
  return type == Scalar::f32 ? b.larger(x, y) : larger_by_choice(b, x, y);
}

// Of a power of two its exponent, which some languages' own misses by a unit of the last place.
Id log2(Builder& b, Id x) {
  const Id bits = b.bitcast(x, Scalar::u64);
  const Id exponent = b.convert(b.math(Op::shr, Scalar::u64, {bits, b.whole(Scalar::u64, 52)}), Scalar::i32);
  const Id below = b.math(Op::bit_and, Scalar::u64, {bits, b.whole(Scalar::u64, (int64_t{1} << 52) - 1)});
  const Id is_normal = b.both(b.less(b.whole(Scalar::i32, 0), exponent), b.less(exponent, b.whole(Scalar::i32, 2047)));
  const Id is_power = b.both(b.equal(below, b.whole(Scalar::u64, 0)), is_normal);
  const Id whole = b.convert(b.add(exponent, b.whole(Scalar::i32, -1023)), Scalar::f64);
  return b.select(is_power, whole, b.math(Op::log2, Scalar::f64, {x}));
}

// Divisors 0 and -1 are taken out: the first has no quotient, the second none for the lowest number.
Id divide(Builder& b, Op op, Scalar type, Id x, Id y) {
  const Id zero = b.whole(type, 0), one = b.whole(type, 1);
  Id is_special = b.equal(y, zero);
  Id special = zero;
  if (is_signed(type)) {
    const Id is_minus_one = b.equal(y, b.whole(type, -1));
    if (op == Op::idiv) special = b.select(is_minus_one, b.math(Op::neg, type, {x}), zero);
    is_special = b.either(is_special, is_minus_one);
  }
  return b.select(is_special, special, b.math(op, type, {x, b.select(is_special, one, y)}));
}

// Counts outside the word give what shifting bit by bit would.
Id shift(Builder& b, Op op, DType dtype, Scalar type, Id x, Id count) {
  const auto bits = static_cast<int64_t>(8 * size_of(dtype));
  const Scalar plain = type == Scalar::i64 ? Scalar::u64 : Scalar::u32;
  const Id fits = b.less(b.bitcast(count, plain), b.whole(plain, bits));
  if (op == Op::shr && is_signed(type))
    return b.math(Op::shr, type, {x, b.select(fits, count, b.whole(type, bits - 1))});
  const Id safe = b.select(fits, b.bitcast(count, plain), b.whole(plain, 0));
  const Id moved = b.math(op, plain, {b.bitcast(x, plain), safe});
  return b.bitcast(b.select(fits, moved, b.whole(plain, 0)), type);
}

Id truth(Builder& b, Op op, std::span<const Id> args) {
  switch (op) {
    case Op::bit_and:
    case Op::mul: return b.both(args[0], args[1]);
    case Op::bit_or:
    case Op::add:
    case Op::maximum: return b.either(args[0], args[1]);
    case Op::bit_xor: return b.math(Op::bit_xor, Scalar::boolean, {args[0], args[1]});
    case Op::less: return b.both(b.is_not(args[0]), args[1]);
    case Op::equal: return b.is_not(b.math(Op::bit_xor, Scalar::boolean, {args[0], args[1]}));
    default: base::fail("codegen", "bool has no {}", ir::name(op));
  }
}

// Results that every dtype of the operands holds as they are.
bool is_exact(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::floor:
    case Op::round:
    case Op::maximum:
    case Op::less:
    case Op::equal:
    case Op::where: return true;
    default: return false;
  }
}

Id raw_bits(Builder& b, DType from, DType to, Id value) {
  const Id bits = to_memory(b, from, value);
  return from_memory(b, to, size_of(from) >= 4 ? b.bitcast(bits, in_memory(to)) : bits);
}

}  // namespace

// Round to nearest even by the carry out of the lower half. A NaN keeps its sign and becomes quiet.
Id pack_bf16_by_bits(Builder& b, Id x) {
  const Id bits = b.bitcast(x, Scalar::u32);
  const Id upper = b.math(Op::shr, Scalar::u32, {bits, b.u32(16)});
  const Id odd = b.math(Op::bit_and, Scalar::u32, {upper, b.u32(1)});
  const Id carried = b.add(b.add(bits, b.u32(0x7FFF)), odd);
  const Id quiet = b.math(Op::bit_or, Scalar::u32, {bits, b.u32(0x400000)});
  return b.math(Op::shr, Scalar::u32, {b.select(is_nan(b, x), quiet, carried), b.u32(16)});
}
Id larger_by_choice(Builder& b, Id x, Id y) {
  const Scalar type = b.type_of(x), bits = type == Scalar::f64 ? Scalar::u64 : Scalar::u32;
  const Id common = b.bitcast(b.math(Op::bit_and, bits, {b.bitcast(x, bits), b.bitcast(y, bits)}), type);
  const Id one = b.select(b.either(b.less(x, y), is_nan(b, y)), y, x);
  return b.select(b.equal(x, y), common, one);  // x where it is NaN: then it is not less
}

Scalar in_register(DType dtype) {
  switch (dtype) {
    case DType::f64: return Scalar::f64;
    case DType::i32: return Scalar::i32;
    case DType::i64: return Scalar::i64;
    case DType::u8: return Scalar::u32;
    case DType::boolean: return Scalar::boolean;
    default: return Scalar::f32;
  }
}

Scalar in_memory(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return Scalar::u16;
    case DType::u8:
    case DType::boolean: return Scalar::u8;
    default: return in_register(dtype);
  }
}

Id from_memory(Builder& b, DType dtype, Id loaded) {
  if (is_half(dtype)) return unpack(b, dtype, loaded);
  if (dtype == DType::boolean) return b.is_not(b.equal(loaded, b.u32(0)));
  return loaded;
}

Id to_memory(Builder& b, DType dtype, Id value) {
  if (is_half(dtype)) return pack(b, dtype, value);
  if (dtype == DType::boolean) return b.convert(value, Scalar::u32);
  return value;
}

Id number_of(Builder& b, DType dtype, uint64_t bits) {
  const auto number = std::bit_cast<double>(bits);
  switch (dtype) {
    case DType::f16: return b.f32(base::Half(number));
    case DType::bf16: return b.f32(base::BFloat16(number));
    case DType::f32: return b.f32(static_cast<double>(static_cast<float>(number)));
    case DType::f64: return real(b, Scalar::f64, number);
    case DType::u8: return b.u32(bits & 255);
    default: return b.constant(in_register(dtype), bits);
  }
}

Id rounded(Builder& b, DType dtype, Id value) {
  if (is_half(dtype)) return unpack(b, dtype, pack(b, dtype, value));
  return dtype == DType::u8 ? low_byte(b, value) : value;
}

Id cast(Builder& b, DType from, DType to, Id value) {
  const Scalar source = in_register(from), target = in_register(to);
  if (from == to) return value;
  if (to == DType::boolean) return b.is_not(b.equal(value, b.whole(source, 0)));
  if (is_float(to)) {
    if (!is_half(to)) return b.convert(value, target);
    if (from == DType::f64) return rounded(b, to, odd_from_f64(b, value));
    if (from == DType::i32) return rounded(b, to, odd_from_i32(b, value));
    if (from == DType::i64) return rounded(b, to, odd_from_i64(b, value));
    return rounded(b, to, b.convert(value, Scalar::f32));
  }
  if (is_float(source)) {
    if (to == DType::u8) return float_to_byte(b, source, value);
    return saturated(b, source, target, value);
  }
  return rounded(b, to, b.convert(value, target));
}

Id apply(Builder& b, Op op, DType from, DType to, std::span<const Id> args) {
  const Scalar type = in_register(from);
  switch (op) {
    case Op::cast: return cast(b, from, to, args[0]);
    case Op::bitcast: return from == to ? args[0] : raw_bits(b, from, to, args[0]);
    case Op::where: return b.select(args[0], args[1], args[2]);
    default: break;
  }
  if (type == Scalar::boolean) return truth(b, op, args);
  const auto result = [&]() -> Id {
    if (is_float(type) && is_function_of_ours(op, type)) return function(b, op, args);
    switch (op) {
      case Op::less: return b.less(args[0], args[1]);
      case Op::equal: return b.equal(args[0], args[1]);
      case Op::maximum: return larger(b, from, args[0], args[1]);
      case Op::log2: return type == Scalar::f64 ? log2(b, args[0]) : b.math(op, type, {args[0]});
      case Op::idiv: return divide(b, op, type, args[0], args[1]);
      case Op::mod:
        return is_float(type) ? b.math(op, type, {args[0], args[1]}) : divide(b, op, type, args[0], args[1]);
      case Op::shl:
      case Op::shr: return shift(b, op, from, type, args[0], args[1]);
      case Op::abs:
        if (!is_float(type) && !is_signed(type)) return args[0];
        return b.math(op, type, {args[0]});
      default: return args.size() == 1 ? b.math(op, type, {args[0]}) : b.math(op, type, {args[0], args[1]});
    }
  }();
  if (is_exact(op) && from != DType::u8) return result;
  return op == Op::less || op == Op::equal ? result : rounded(b, to, result);
}

Id identity_of(Builder& b, Op op, DType dtype) {
  const DType wide = accumulator(dtype);
  const Scalar type = in_register(wide);
  if (op == Op::sum) return b.whole(type, 0);
  if (op == Op::prod) return b.whole(type, 1);
  switch (wide) {
    case DType::f32:
    case DType::f64: return real(b, type, -std::numeric_limits<double>::infinity());
    case DType::i32: return b.whole(type, INT32_MIN);
    case DType::i64: return b.whole(type, INT64_MIN);
    default: return b.whole(type, 0);
  }
}

Id join(Builder& b, Op op, DType dtype, Id a, Id c) {
  const DType wide = accumulator(dtype);
  if (op == Op::max) return larger(b, wide, a, c);
  if (wide == DType::boolean) return truth(b, op == Op::sum ? Op::add : Op::mul, std::array{a, c});
  return op == Op::sum ? b.math(Op::add, in_register(wide), {a, c}) : b.math(Op::mul, in_register(wide), {a, c});
}

}  // namespace tenon::codegen
