// KernelIr as an arithmetic for tenon/math. Bits are reached by words of 32, as devices with f64 need not have 64-bit
// integers.

#include "tenon/codegen/functions.h"

#include <array>
#include <bit>
#include <concepts>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/math/coefficients.h"

namespace tenon::codegen {
namespace {

using ir::Op;

template <Scalar kType>
class KernelMath {
 public:
  static constexpr bool kWide = kType == Scalar::f64, kHasExp2 = !kWide;
  static constexpr bool kIsKernel = true, kHasQuarters = false;

  struct Value {
    Builder* b = nullptr;
    Id id = kNoValue;
  };
  struct Real : Value {
    Real operator-() const { return {{this->b, this->b->math(Op::neg, kType, {this->id})}}; }
    friend Real operator+(const Real& x, const Real& y) { return of(Op::add, x, y); }
    friend Real operator-(const Real& x, const Real& y) { return of(Op::add, x, -y); }
    friend Real operator*(const Real& x, const Real& y) { return of(Op::mul, x, y); }
    friend Real operator/(const Real& x, const Real& y) { return of(Op::div, x, y); }
    static Real of(Op op, const Real& x, const Real& y) { return {{x.b, x.b->math(op, kType, {x.id, y.id})}}; }
  };
  struct Word : Value {
    friend Word operator+(const Word& x, const Word& y) { return {{x.b, x.b->add(x.id, y.id)}}; }
    friend Word operator-(const Word& x, const Word& y) { return {{x.b, x.b->sub(x.id, y.id)}}; }
    friend Word operator&(const Word& x, const Word& y) { return of(Op::bit_and, x, y); }
    friend Word operator|(const Word& x, const Word& y) { return of(Op::bit_or, x, y); }
    friend Word operator^(const Word& x, const Word& y) { return of(Op::bit_xor, x, y); }
    static Word of(Op op, const Word& x, const Word& y) { return {{x.b, x.b->math(op, Scalar::u32, {x.id, y.id})}}; }
  };
  struct Truth : Value {
    Truth operator!() const { return {{this->b, this->b->is_not(this->id)}}; }
    friend Truth operator&(const Truth& x, const Truth& y) { return {{x.b, x.b->both(x.id, y.id)}}; }
    friend Truth operator|(const Truth& x, const Truth& y) { return {{x.b, x.b->either(x.id, y.id)}}; }
    friend Truth operator^(const Truth& x, const Truth& y) {
      return {{x.b, x.b->math(Op::bit_xor, Scalar::boolean, {x.id, y.id})}};
    }
  };

  KernelMath(Builder& b, bool fuses) : b_(b), fuses_(fuses) {}

  bool fuses() const { return fuses_; }
  Real value(Id id) const { return {{&b_, id}}; }
  Real number(double x) const {
    const double held = kWide ? x : static_cast<double>(static_cast<float>(x));
    return value(b_.constant(kType, std::bit_cast<uint64_t>(held)));
  }
  Real fma(const Real& x, const Real& y, const Real& z) const { return value(b_.fma(x.id, y.id, z.id)); }
  Real negative_fma(const Real& x, const Real& y, const Real& z) const { return fma(-x, y, z); }
  template <const auto& kTo>
  Real fma_to(math::Series<kTo>, const Real& x, const Real& y) const {
    return fma(x, y, number(kTo));
  }
  template <const auto& kC>
  Real polynomial(math::Series<kC>, const Real& x) const {
    Real y = number(kC[std::size(kC) - 1]);
    for (size_t i = std::size(kC) - 1; i-- > 0;) y = fma(y, x, number(kC[i]));
    return y;
  }
  template <const auto& kC>
  Real polynomial_by_pairs(math::Series<kC> series, const Real& x) const {
    return polynomial(series, x);
  }
  Real abs(const Real& x) const { return value(b_.math(Op::abs, kType, {x.id})); }
  Real floor(const Real& x) const { return value(b_.math(Op::floor, kType, {x.id})); }
  Real copy_sign(const Real& size, const Real& sign) const {
    const Word top = word(0x80000000u);
    return with_high_bits(size, (high_bits(size) & word(0x7FFFFFFFu)) | (high_bits(sign) & top));
  }
  // Numbers for NaN too: it is not less.
  Real at_most(const Real& x, double most) const { return select(less(number(most), x), number(most), x); }
  Real at_least(const Real& x, double least) const { return select(less(x, number(least)), number(least), x); }
  Truth less(const Real& x, const Real& y) const { return {{&b_, b_.less(x.id, y.id)}}; }
  Truth equal(const Real& x, const Real& y) const { return {{&b_, b_.equal(x.id, y.id)}}; }
  template <class T>
  T select(const Truth& which, const T& x, const T& y) const {
    return {{&b_, b_.select(which.id, x.id, y.id)}};
  }

  Real exp_of_language(const Real& x) const { return value(b_.math(Op::exp, kType, {x.id})); }
  Real exp2_of_device(const Real& x) const { return value(b_.exp2(x.id)); }
  Real reciprocal_of_device(const Real& x) const { return value(b_.reciprocal(x.id)); }
  Real saturate(const Real& x) const { return value(b_.saturate(x.id)); }

  // ---- bits ----

  Word word(uint32_t x) const { return {{&b_, b_.u32(x)}}; }
  Word low_bits(const Real& x) const { return {{&b_, kWide ? b_.f64_word(x.id, 0) : b_.bitcast(x.id, Scalar::u32)}}; }
  Word high_bits(const Real& x) const { return {{&b_, kWide ? b_.f64_word(x.id, 1) : b_.bitcast(x.id, Scalar::u32)}}; }
  Real with_low_bits(const Real& x, const Word& low) const {
    return value(kWide ? b_.f64_of(low.id, high_bits(x).id) : b_.bitcast(low.id, kType));
  }
  Real with_high_bits(const Real& x, const Word& high) const {
    return value(kWide ? b_.f64_of(low_bits(x).id, high.id) : b_.bitcast(high.id, kType));
  }
  Real flipped(const Real& x, const Word& bits) const { return with_high_bits(x, high_bits(x) ^ bits); }
  Real power(const Word& bits) const {
    const Word moved = shifted(Op::shl, bits, word(kWide ? 20 : 23));
    return value(kWide ? b_.f64_of(b_.u32(0), moved.id) : b_.bitcast(moved.id, kType));
  }
  Real real(const Word& x) const { return value(b_.convert(b_.bitcast(x.id, Scalar::i32), kType)); }
  Real real_of_unsigned(const Word& x) const { return value(b_.convert(x.id, kType)); }
  Truth equal(const Word& x, const Word& y) const { return {{&b_, b_.equal(x.id, y.id)}}; }
  Truth is_below(const Word& x, const Word& y) const { return {{&b_, b_.less(x.id, y.id)}}; }
  Truth is_odd(const Word& x) const { return equal(x & word(1), word(1)); }
  template <int kBits>
  Word shl(math::By<kBits>, const Word& x) const {
    return shifted(Op::shl, x, word(kBits));
  }
  template <int kBits>
  Word shr(math::By<kBits>, const Word& x) const {
    return shifted(Op::shr, x, word(kBits));
  }
  template <int kBits>
  Word sar(math::By<kBits>, const Word& x) const {
    const Id moved = b_.math(Op::shr, Scalar::i32, {b_.bitcast(x.id, Scalar::i32), b_.whole(Scalar::i32, kBits)});
    return {{&b_, b_.bitcast(moved, Scalar::u32)}};
  }
  Word shl_by(const Word& x, const Word& count) const { return shifted(Op::shl, x, count); }
  Word shr_by(const Word& x, const Word& count) const { return shifted(Op::shr, x, count); }
  Word product(const Word& x, const Word& y) const { return {{&b_, b_.mul(x.id, y.id)}}; }
  Word upper_product(const Word& x, const Word& y) const { return {{&b_, b_.mul_high(x.id, y.id)}}; }
  Word third(const Word& x) const { return {{&b_, b_.div(x.id, b_.u32(3))}}; }

  // ---- control ----

  /// Leaves a word and a number as they are, or lets a function change them.
  template <class F>
  void unless(const Truth& condition, Word& first, Real& second, F&& change) const {
    const Id word_kept = b_.variable(first.id), real_kept = b_.variable(second.id);
    b_.branch(b_.is_not(condition.id), [&] {
      change(first, second);
      b_.set(word_kept, first.id);
      b_.set(real_kept, second.id);
    });
    first.id = b_.get(word_kept);
    second.id = b_.get(real_kept);
  }
  template <class F>
  Real repeat(const Word& count, const Real& first, F&& step) const {
    const Id kept = b_.variable(first.id);
    b_.loop(b_.u32(0), count.id, b_.u32(1), [&](Id turn) {
      b_.set(kept, step(value(b_.get(kept)), Word{{&b_, turn}}).id);
    });
    return value(b_.get(kept));
  }

 private:
  Word shifted(Op op, const Word& x, const Word& count) const { return Word::of(op, x, count); }

  Builder& b_;
  const bool fuses_;
};

#define TENON_MATH_INLINE inline
#include "tenon/math/functions-inl.h"
#undef TENON_MATH_INLINE

/// Whether tenon/math has a function of the op's name for so many numbers, and not the arithmetic itself.
// clang-format off
#define TENON_HAS(A, name, ...)                                        \
  (requires(const Functions<A>& f, typename A::Real x) {               \
    { f.name(__VA_ARGS__) } -> std::same_as<typename A::Real>;         \
  } && !requires(const A& a, typename A::Real x) { a.name(__VA_ARGS__); })
// clang-format on

template <class A>
std::optional<Id> called(const Functions<A>& f, Op op, std::span<const Id> args) {
  switch (op) {
#define TENON_OP(name, ...)                                                                       \
  case Op::name:                                                                                  \
    if constexpr (TENON_HAS(A, name, x)) return f.name(f.value(args[0])).id;                      \
    if constexpr (TENON_HAS(A, name, x, x)) return f.name(f.value(args[0]), f.value(args[1])).id; \
    break;
#include "tenon/ir/ops.def"
  }
  return std::nullopt;
}

template <class A>
constexpr bool has(Op op) {
  switch (op) {
#define TENON_OP(name, ...) \
  case Op::name: return TENON_HAS(A, name, x) || TENON_HAS(A, name, x, x);
#include "tenon/ir/ops.def"
  }
  return false;
}
#undef TENON_HAS

}  // namespace

bool is_function(Op op) { return has<KernelMath<Scalar::f32>>(op); }

bool is_function_of_ours(Op op, Scalar type) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::log2:
    case Op::sin:
    case Op::cos:
    case Op::pow: return false;
    default: return is_function(op) && (type == Scalar::f32 || op == Op::sigmoid || op == Op::tanh);
  }
}

Id function(Builder& b, Op op, std::span<const Id> args, bool fuses) {
  const auto made = b.type_of(args[0]) == Scalar::f32 ? called(Functions<KernelMath<Scalar::f32>>(b, fuses), op, args)
                                                      : called(Functions<KernelMath<Scalar::f64>>(b, fuses), op, args);
  if (!made) base::fail("codegen", "{} is not made of others", ir::name(op));
  return *made;
}

}  // namespace tenon::codegen
