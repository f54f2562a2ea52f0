// Kernels that are written anew for devices that lack something do what they did: both run on the interpreter of the
// simulated device, and memory is the same to the last bit. Functions of f32 are compared with those of f64, and those
// of f64 with those of long double.

#include "tenon/codegen/legalise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "../error_text.h"
#include "kernels.h"
#include "run_kernel.h"
#include "tenon/codegen/wide.h"

namespace tenon::render {
namespace {

using codegen::is_wide;

using codegen::Lacks;
using codegen::legalise;
using ir::Op;

const Lacks kNoWide{.wide_integers = true};
const Lacks kNoNarrow{.bytes = true, .halves = true};
const Lacks kNothingBut32Bits{.wide_integers = true, .bytes = true, .halves = true};

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 10,
                                 0x7FFFFFFF,
                                 0x80000000,
                                 0xFFFFFFFF,
                                 0x100000000,
                                 0x100000001,
                                 0x123456789ABCDEF0,
                                 kSignBit - 1,
                                 kSignBit,
                                 kSignBit + 1,
                                 ~uint64_t{0},
                                 ~uint64_t{0} - 1,
                                 0xFFFFFFFF00000000};

/// All pairs of them, as the operands of an op; shifts take counts.
struct Operands {
  std::vector<uint64_t> a, b, counts;
};
Operands pairs(bool may_divide, bool is_signed) {
  Operands made;
  for (const uint64_t a : kNumbers) {
    for (const uint64_t b : kNumbers) {
      if (may_divide && (b == 0 || (is_signed && b == ~uint64_t{0}))) continue;
      made.a.push_back(a);
      made.b.push_back(b);
      made.counts.push_back(made.a.size() * 7 % 64);
    }
  }
  return made;
}

bool divides(Op op) { return op == Op::div || op == Op::idiv || op == Op::mod; }

class WideIntegers : public testing::TestWithParam<Scalar> {};

TEST_P(WideIntegers, OpsHaveTheBitsOf64BitNumbers) {
  for (const Op op : ops_of(GetParam())) {
    if (op == Op::div) continue;  // of unsigned integers it is idiv
    const Operands in = pairs(divides(op), codegen::is_signed(GetParam()));
    const KernelIr kernel = ops_kernel(GetParam(), {op});
    Launch run{.buffers = {bytes_of(in.a), bytes_of(in.b), bytes_of(in.counts), Bytes(8 * in.a.size())},
               .numbers = {in.a.size()},
               .blocks = {static_cast<uint32_t>(in.a.size() / 32 + 1), 1, 1}};
    EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide), run)) << ir::name(op);
  }
}

TEST_P(WideIntegers, AreGoneFromTheKernel) {
  const KernelIr made = legalise(ops_kernel(GetParam(), ops_of(GetParam())), kNoWide);
  for (const auto& inst : made.code) EXPECT_FALSE(is_wide(inst.type)) << to_string(inst);
  for (const auto& buffer : made.buffers) EXPECT_EQ(buffer.element, Scalar::u32);
}

TEST_P(WideIntegers, CastToWordsTruthsAndFloats) {
  std::vector<uint64_t> from(std::begin(kNumbers), std::end(kNumbers));
  // Floats between which a number lies: just below, at and above the middle, with an even and an odd neighbour.
  for (const uint64_t middle : {0x1000001ull << 20, 0x1000003ull << 20, 0x1000001ull << 39, 0x1000003ull << 38}) {
    for (const int64_t off : {-1, 0, 1}) from.push_back(middle + static_cast<uint64_t>(off));
  }
  for (size_t first = 0; first < from.size(); first += 16) {
    std::vector<uint64_t> part(16);
    for (size_t i = 0; i < 16 && first + i < from.size(); ++i) part[i] = from[first + i];
    const KernelIr kernel = casts_kernel(
        GetParam(), {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64, Scalar::f32}, Op::cast);
    Launch run{.buffers = {bytes_of(part), Bytes(16), Bytes(64), Bytes(64), Bytes(128), Bytes(128), Bytes(64)}};
    EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide), run));
  }
}

TEST_P(WideIntegers, ComeFromWordsTruthsAndFloats) {
  const auto expect = [&](Scalar from, const Bytes& values) {
    const KernelIr kernel = casts_kernel(from, {GetParam()}, Op::cast);
    Launch run{.buffers = {values, Bytes(128)}};
    EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide), run)) << name(from);
  };
  std::vector<int32_t> words{0, 1, -1, 77, INT32_MIN, INT32_MAX, 1 << 30};
  words.resize(16);
  expect(Scalar::i32, bytes_of(words));
  expect(Scalar::u32, bytes_of(words));
  Bytes truths(16);
  truths[3] = 1;
  expect(Scalar::boolean, truths);
  std::vector<float> floats{0, 1, 77.9f, 0.5f, 4294967296.0f, 1e9f, 3e12f, 0x1.fffffep40f, 9.2e18f, 16777217.0f};
  if (GetParam() == Scalar::i64) floats.insert(floats.end(), {-1.5f, -9.2e18f, -4294967296.0f, -0.25f});
  floats.resize(16);
  expect(Scalar::f32, bytes_of(floats));
}

TEST_P(WideIntegers, LieInArraysAndVariables) {
  std::vector<uint64_t> from(std::begin(kNumbers), std::begin(kNumbers) + 16);
  const KernelIr arrays = arrays_kernel(GetParam());
  Launch run{.buffers = {bytes_of(from), Bytes(128)}};
  EXPECT_TRUE(does_the_same(arrays, legalise(arrays, kNoWide), run));

  Builder b("variables", 16);
  const uint32_t x = b.add_buffer(GetParam(), false), y = b.add_buffer(GetParam(), true);
  const Id sum = b.variable(b.whole(GetParam(), -5));
  b.loop(0, 5, [&](Id i) {
    b.branch(
        b.less(i, b.u32(3)), [&] { b.set(sum, b.add(b.get(sum), b.load(x, b.thread()))); },
        [&] { b.set(sum, b.mul(b.get(sum), b.whole(GetParam(), 3))); });
  });
  b.store(y, b.convert(b.thread(), Scalar::i64), b.get(sum));
  const KernelIr kernel = b.finish();
  Launch other{.buffers = {bytes_of(from), Bytes(128)}};
  EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide), other));
}

INSTANTIATE_TEST_SUITE_P(Types, WideIntegers, testing::Values(Scalar::i64, Scalar::u64),
                         [](const auto& type) { return std::string(codegen::name(type.param)); });

TEST(Legalise, NumbersOfALaunchComeInHalves) {
  Builder b("numbers", 1);
  const uint32_t y = b.add_buffer(Scalar::u64, true);
  b.set_numbers(2);
  b.store(y, b.u32(0), b.add(b.number(0), b.number(1)));
  const KernelIr kernel = b.finish();
  Launch run{.buffers = {Bytes(8)}, .numbers = {0xFFFFFFFFFF, 0x1234567890}};
  EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide), run));
}

TEST(Legalise, ABadIndexIsNamedInFull) {
  const KernelIr kernel = legalise(fault_kernel(), kNoWide);
  EXPECT_TRUE(kernel.may_fault);
  Launch run{.buffers = {Bytes(32), bytes_of<int64_t>({1, -5'000'000'000, 7, 2}), Bytes(16)}};
  EXPECT_EQ(text_of([&] { run_kernel(kernel, run); }),
            "[gather] index -5000000000 is out of range for axis 2 of size 8");
}

TEST(Legalise, CopiesOfAllWidthsKeepTheirBytes) {
  for (const Scalar element : {Scalar::u8, Scalar::u16, Scalar::boolean, Scalar::i64, Scalar::u64, Scalar::f32}) {
    const size_t size = size_of(element);
    Bytes from(32 * size);
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<uint8_t>(element == Scalar::boolean ? i % 3 == 0 : 255 - i * 7 % 200);
    const KernelIr kernel = copy_kernel(element);
    Launch run{.buffers = {from, Bytes(6 * 32 * size)}};
    EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNothingBut32Bits), run)) << name(element);
  }
}

TEST(Legalise, AStoredByteLeavesItsNeighboursAlone) {
  for (const Scalar element : {Scalar::u8, Scalar::u16}) {
    const size_t size = size_of(element);
    Builder b("every_third", 16);
    const uint32_t x = b.add_buffer(element, false), y = b.add_buffer(element, true);
    b.store(y, b.mul(b.thread(), b.u32(3)), b.load(x, b.thread()));
    b.store(y, b.u32(1), b.u32(0xABCDEF01));  // of which the low bits are kept
    const KernelIr kernel = b.finish();
    Bytes from(16 * size);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i + 1);
    Launch run{.buffers = {from, Bytes(48 * size, 0x5A)}};
    EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoNarrow), run)) << name(element);
  }
}

TEST(Legalise, WholeWordsAreStoredPlainly) {
  const auto count_bits = [](const KernelIr& kernel) {
    return std::ranges::count_if(kernel.code, [](const auto& i) { return i.kind == codegen::Inst::Kind::store_bits; });
  };
  const auto stored_by = [&](uint32_t width) {
    Builder b("words", 1);
    const uint32_t x = b.add_buffer(Scalar::u8, false), y = b.add_buffer(Scalar::u8, true);
    b.store_several(y, b.u32(0), b.load_several(x, b.u32(0), width));
    return count_bits(legalise(b.finish(), kNoNarrow));
  };
  EXPECT_EQ(stored_by(2), 1);
  EXPECT_EQ(stored_by(4), 0);
  EXPECT_EQ(stored_by(8), 0);
}

TEST(Legalise, LeavesAKernelThatNeedsNothingAsItIs) {
  const KernelIr kernel = control_kernel();
  EXPECT_EQ(to_string(legalise(kernel, kNothingBut32Bits)), to_string(kernel));
  const KernelIr wide = copy_kernel(Scalar::i64);
  EXPECT_EQ(to_string(legalise(wide, {})), to_string(wide));
}

// Some compilers lose what threads do one by one between the last barrier of a loop and its end.
TEST(Legalise, EndsALoopThatHasABarrierWithOne) {
  const auto kernel = [](bool is_closed) {
    codegen::Builder b("loop", 32);
    const uint32_t out = b.add_buffer(Scalar::u32, true);
    const uint32_t shared = b.add_shared(Scalar::u32, 32);
    b.loop(0, 3, [&](codegen::Id turn) {
      b.shared_store(shared, b.thread(), turn);
      b.barrier();
      b.store(out, b.thread(), b.shared_load(shared, b.thread()));
      if (is_closed) b.barrier();
    });
    return b.finish();
  };
  const Lacks lacks{.open_loops = true};
  EXPECT_EQ(to_string(legalise(kernel(false), lacks)), to_string(kernel(true)));
  EXPECT_EQ(to_string(legalise(kernel(true), lacks)), to_string(kernel(true)));
}

TEST(Legalise, RefusesF64ByName) {
  EXPECT_EQ(text_of([] { legalise(copy_kernel(Scalar::f64), {.f64 = true}); }),
            "[codegen] kernel copy_f64 computes in f64, which this device lacks");
}

// ---- functions ----

/// y = op(a, b) of each pair, by what stands in for the op.
template <typename T>
std::vector<T> results_of(Op op, std::vector<T> a, std::vector<T> b) {
  constexpr Scalar kType = sizeof(T) == 4 ? Scalar::f32 : Scalar::f64;
  const size_t count = a.size();
  b.resize(count);
  Lacks lacks{.wide_integers = true};
  (kType == Scalar::f32 ? lacks.functions : lacks.f64_functions) = {op};
  const KernelIr kernel = legalise(ops_kernel(kType, {op}), lacks);
  for (const auto& inst : kernel.code)
    EXPECT_FALSE(inst.kind == codegen::Inst::Kind::math && inst.op == op && inst.type == kType);
  Launch run{.buffers = {bytes_of(a), bytes_of(b), bytes_of(b), Bytes(sizeof(T) * count)},
             .numbers = {count},
             .blocks = {static_cast<uint32_t>(count / 32 + 1), 1, 1}};
  run_kernel(kernel, run);
  return values_of<T>(run.buffers[3]);
}

template <typename T>
T exact(Op op, T a, T b) {
  switch (op) {
    case Op::exp: return std::exp(a);
    case Op::tanh: return std::tanh(a);
    case Op::log: return std::log(a);
    case Op::expm1: return std::expm1(a);
    case Op::log1p: return std::log1p(a);
    case Op::log2: return std::log2(a);
    case Op::erf: return std::erf(a);
    case Op::sin: return std::sin(a);
    case Op::cos: return std::cos(a);
    case Op::mod: return std::fmod(a, b);
    default: return std::pow(a, b);
  }
}

/// How far a float is from a number, in units of the last place; NaN, infinities and zeros with their sign are 0 or
/// endlessly far.
double ulps(float got, double wanted) {
  const auto rounded = static_cast<float>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || rounded == 0) {
    if (got == rounded && std::signbit(got) == std::signbit(rounded)) return 0;
    return rounded == 0 && std::abs(got) <= 0x1p-149f ? 1
           : std::abs(wanted) < 0x1.000002p128 && std::isinf(rounded) &&
                   std::abs(got) == std::numeric_limits<float>::max()
               ? 1
               : INFINITY;
  }
  const double unit = std::max(std::ldexp(1.0, std::ilogb(rounded) - 23), 0x1p-149);
  return std::abs(got - wanted) / unit;
}

void expect_close(Op op, const std::vector<float>& a, const std::vector<float>& b, double most) {
  const std::vector<float> got = results_of<float>(op, a, b);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double far = ulps(got[i], exact<double>(op, a[i], i < b.size() ? b[i] : 0));
    if (far > worst) worst = far, at = i;
  }
  EXPECT_LE(worst, most) << fmt::format("{}({}, {}) = {}, not {}", ir::name(op), a[at], at < b.size() ? b[at] : 0,
                                        got[at], exact<double>(op, a[at], at < b.size() ? b[at] : 0));
}

/// Every 130,003rd float: all exponents and both signs, infinities, NaNs and numbers below the smallest normal one.
std::vector<float> all_kinds() {
  std::vector<float> made{0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0.5f, -0.5f, 2, 1e-45f, 3e38f, -3e38f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 130003)
    made.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return made;
}
std::vector<float> between(double low, double high, int count) {
  std::vector<float> made;
  for (int i = 0; i <= count; ++i) made.push_back(static_cast<float>(low + (high - low) * i / count));
  return made;
}

TEST(Functions, OfOneNumberAreWithinTwoPlaces) {
  for (const Op op : {Op::exp, Op::log, Op::expm1, Op::log1p, Op::log2, Op::erf, Op::sin, Op::cos}) {
    expect_close(op, all_kinds(), {}, 2);
    expect_close(op, between(-2, 2, 20000), {}, 2);
    expect_close(op, between(-100, 100, 20000), {}, 2);
  }
}

TEST(Functions, TanhIsWithinTwoPlaces) {
  expect_close(Op::tanh, all_kinds(), {}, 2);
  expect_close(Op::tanh, between(-2, 2, 20000), {}, 2);
  expect_close(Op::tanh, between(-20, 20, 20000), {}, 2);
}

TEST(Functions, Log2OfPowersOfTwoIsExact) {
  std::vector<float> a;
  for (int i = -126; i < 128; ++i) a.push_back(std::ldexp(1.0f, i));
  const std::vector<float> got = results_of<float>(Op::log2, a, {});
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(got[i], static_cast<float>(i) - 126);
}

/// Pairs of numbers of all kinds.
std::pair<std::vector<float>, std::vector<float>> kinds_of_pairs(uint32_t seed) {
  const std::vector<float> some = all_kinds();
  std::vector<float> a, b;
  for (size_t i = 0; i < 30; ++i) {
    for (size_t j = 0; j < 30; ++j) {
      a.push_back(some[i < 13 ? i : (i * 2654435761u + seed) % some.size()]);
      b.push_back(some[j < 13 ? j : (j * 2246822519u + seed) % some.size()]);
    }
  }
  return {a, b};
}

TEST(Functions, ModIsExact) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto [a, b] = kinds_of_pairs(seed);
    expect_close(Op::mod, a, b, 0);
  }
  expect_close(Op::mod, between(-100, 100, 1000), between(3, -3, 1000), 0);
}

TEST(Functions, PowIsWithinTwoPlaces) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const auto [a, b] = kinds_of_pairs(seed);
    expect_close(Op::pow, a, b, 2);
  }
  std::vector<float> a, b;
  for (const float x : between(0.01, 10, 100)) {
    for (const float y : between(-38, 38, 100)) {
      a.push_back(x);
      b.push_back(y);
      a.push_back(1 + x / 1000);
      b.push_back(y * 200);
    }
  }
  expect_close(Op::pow, a, b, 2);
  for (const float x : {-3.0f, -0.5f, -1.0f, -0.0f, -INFINITY}) {
    for (const float y : {-3.0f, -2.0f, 0.0f, 1.0f, 2.0f, 5.0f, 0.5f, 16777217.0f}) expect_close(Op::pow, {x}, {y}, 1);
  }
}

// ---- functions of f64 ----

double ulps(double got, long double wanted) {
  const auto rounded = static_cast<double>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || rounded == 0) {
    if (got == rounded && std::signbit(got) == std::signbit(rounded)) return 0;
    return rounded == 0 && std::abs(got) <= 0x1p-1074 ? 1 : INFINITY;
  }
  const double unit = std::max(std::ldexp(1.0, std::ilogb(rounded) - 52), 0x1p-1074);
  return static_cast<double>(std::abs(got - wanted) / unit);
}

void expect_close(Op op, const std::vector<double>& a, const std::vector<double>& b, double most) {
  const std::vector<double> got = results_of<double>(op, a, b);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double far = ulps(got[i], exact<long double>(op, a[i], i < b.size() ? b[i] : 0));
    if (far > worst) worst = far, at = i;
  }
  EXPECT_LE(worst, most) << fmt::format("{}({:a}, {:a}) = {:a}, not {:a}", ir::name(op), a[at],
                                        at < b.size() ? b[at] : 0, got[at],
                                        static_cast<double>(exact<long double>(op, a[at], at < b.size() ? b[at] : 0)));
}

std::vector<double> f64_of_all_kinds() {
  std::vector<double> made{0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 2, 5e-324, 1.7e308, -1.7e308};
  constexpr uint64_t kStep = 0x0004'1357'9BDF'1235;
  for (uint64_t bits = kStep; bits > kStep - 1; bits += kStep) made.push_back(std::bit_cast<double>(bits));
  return made;
}
std::vector<double> f64_between(double low, double high, int count) {
  std::vector<double> made;
  for (int i = 0; i <= count; ++i) made.push_back(low + (high - low) * i / count);
  return made;
}

TEST(FunctionsOfF64, OfOneNumberAreWithinTwoPlaces) {
  for (const Op op : {Op::exp, Op::expm1, Op::log, Op::log1p, Op::tanh, Op::log2, Op::erf, Op::sin, Op::cos}) {
    expect_close(op, f64_of_all_kinds(), {}, 2);
    expect_close(op, f64_between(-2, 2, 5000), {}, 2);
    expect_close(op, f64_between(-100, 100, 5000), {}, 2);
    expect_close(op, f64_between(-745, 710, 5000), {}, 2);
  }
}

// Two that come nearer to a multiple of pi / 2 than any other number, and neighbours of multiples.
TEST(FunctionsOfF64, SinesNearAMultipleOfPiKeepTheirPlaces) {
  std::vector<double> a{0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0};
  for (int i = 1; i < 1000; ++i) a.push_back(i * 0x1.921fb54442d18p+0);
  expect_close(Op::sin, a, {}, 2);
  expect_close(Op::cos, a, {}, 2);
}

TEST(FunctionsOfF64, ModIsExact) {
  const std::vector<double> some = f64_of_all_kinds();
  std::vector<double> a, b;
  for (size_t i = 0; i < 40; ++i) {
    for (size_t j = 0; j < 40; ++j) {
      a.push_back(some[i < 13 ? i : (i * 2654435761u) % some.size()]);
      b.push_back(some[j < 13 ? j : (j * 2246822519u) % some.size()]);
    }
  }
  expect_close(Op::mod, a, b, 0);
  expect_close(Op::mod, f64_between(-100, 100, 1000), f64_between(3, -3, 1000), 0);
}

TEST(FunctionsOfF64, PowIsWithinTwoPlaces) {
  const std::vector<double> some = f64_of_all_kinds();
  std::vector<double> a, b;
  for (size_t i = 0; i < 60; ++i) {
    for (size_t j = 0; j < 60; ++j) {
      a.push_back(some[i < 13 ? i : (i * 2654435761u) % some.size()]);
      b.push_back(some[j < 13 ? j : (j * 2246822519u) % some.size()]);
    }
  }
  for (const double x : f64_between(0.01, 10, 50)) {
    for (const double y : f64_between(-300, 300, 50)) {
      a.push_back(x);
      b.push_back(y);
      a.push_back(1 + x / 1000);
      b.push_back(y * 200);
    }
  }
  for (const double x : {-3.0, -0.5, -1.0, -0.0, -double{INFINITY}}) {
    for (const double y : {-3.0, -2.0, 0.0, 1.0, 2.0, 5.0, 0.5, 0x1p53 - 1, 0x1p53}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  expect_close(Op::pow, a, b, 2);
}

TEST(Legalise, AnF64IsTakenApartIntoWordsWhereThereAreNoLongerOnes) {
  codegen::Builder b("bits", 32);
  const uint32_t x = b.add_buffer(Scalar::f64, false), y = b.add_buffer(Scalar::f64, true);
  b.set_numbers(0);
  const auto bits = b.bitcast(b.load(x, b.thread()), Scalar::u64);
  const auto flipped = b.math(Op::bit_xor, Scalar::u64, {bits, b.whole(Scalar::u64, INT64_MIN + 1)});
  b.store(y, b.thread(), b.bitcast(flipped, Scalar::f64));
  const KernelIr kernel = b.finish();
  std::vector<double> numbers = f64_between(-3, 7, 31);
  EXPECT_TRUE(does_the_same(kernel, legalise(kernel, kNoWide),
                            {.buffers = {bytes_of(numbers), Bytes(8 * 32)}, .numbers = {}, .blocks = {1, 1, 1}}));
}

}  // namespace
}  // namespace tenon::render
