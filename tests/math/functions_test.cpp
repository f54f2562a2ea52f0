// How far the functions of tenon/math are from the true values, in units of the last place: over all kinds of numbers,
// densely where they bend, at their ends, with and without multiply-adds that round once. The table of
// docs/functions-accuracy.md says how far at most, and is held against what is measured here.

#include <gtest/gtest.h>

#include <concepts>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "tenon/ir/library.h"
#include "tests/math/plain.h"

namespace tenon::math {
namespace {

using Truth = long double;

/// Infinitely far where a NaN, an infinity or the sign of a zero is wrong.
template <typename T>
double ulps(T got, Truth wanted) {
  const T rounded = static_cast<T>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || rounded == 0)
    return got == rounded && std::signbit(got) == std::signbit(rounded) ? 0 : INFINITY;
  const Truth unit = std::max<Truth>(std::ldexp(1.0L, std::ilogb(rounded) - (std::numeric_limits<T>::digits - 1)),
                                     std::numeric_limits<T>::denorm_min());
  const auto far = static_cast<double>(std::abs(static_cast<Truth>(got) - wanted) / unit);
  return std::isnan(far) ? INFINITY : far;
}

template <typename T>
const std::vector<T>& special() {
  static const std::vector<T> numbers{0,
                                      T(-0.0),
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      3,
                                      -3,
                                      T(0.5),
                                      T(-0.5),
                                      std::numeric_limits<T>::infinity(),
                                      -std::numeric_limits<T>::infinity(),
                                      std::numeric_limits<T>::quiet_NaN(),
                                      std::numeric_limits<T>::denorm_min(),
                                      -std::numeric_limits<T>::denorm_min(),
                                      std::numeric_limits<T>::min(),
                                      std::numeric_limits<T>::max(),
                                      std::numeric_limits<T>::lowest(),
                                      T(16777217),
                                      T(9007199254740993.0)};
  return numbers;
}

/// Any bits, numbers around 0 in several widths, and special ones.
template <typename T>
std::vector<T> samples() {
  std::vector<T> x = special<T>();
  std::mt19937_64 random(1);
  const auto share = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53); };
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t bits = random();
    if constexpr (sizeof(T) == 4)
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    else
      x.push_back(std::bit_cast<double>(bits));
  }
  for (const double width : {1.0, 3.0, 20.0, 100.0, 750.0, 1e5})
    for (int i = 0; i < 60'000; ++i) x.push_back(static_cast<T>(width * (2 * share() - 1)));
  for (int i = 0; i < 100'000; ++i) {
    const double near_zero = std::ldexp(1 + share(), -static_cast<int>(random() % 30));
    x.push_back(static_cast<T>(random() % 2 == 0 ? near_zero : -near_zero));
  }
  return x;
}

template <typename T>
std::vector<std::pair<T, T>> pairs() {
  std::vector<std::pair<T, T>> made;
  for (const T a : special<T>())
    for (const T b : special<T>()) made.emplace_back(a, b);
  std::mt19937_64 random(2);
  const auto share = [&] { return std::ldexp(static_cast<double>(random() >> 11), -53); };
  for (int i = 0; i < 60'000; ++i) {
    made.emplace_back(static_cast<T>(10 * share()), static_cast<T>(76 * (share() - 0.5)));
    made.emplace_back(static_cast<T>(0.9 + 0.2 * share()), static_cast<T>(8000 * (share() - 0.5)));
    made.emplace_back(static_cast<T>(-20 * share()), std::floor(static_cast<T>(20 * (share() - 0.5))));
    made.emplace_back(static_cast<T>(std::exp(80 * (share() - 0.5))), static_cast<T>(4 * (share() - 0.5)));
  }
  return made;
}

/// The worst of each function, by name.
template <typename T, bool kFuses>
std::map<std::string, double> measured() {
  using F = Functions<Plain<T, kFuses>>;
  using Real = typename F::Real;
  const F f;
  struct OfOne {
    const char* name;
    Real (*ours)(const F&, const Real&);
    Truth (*truth)(Truth);
  };
  std::vector<OfOne> of_one;
// clang-format off
#define TENON_OP(op, ...)                                                                                        \
  if constexpr (ir::InLibrary<ir::Op::op, Truth> && requires(Real x) { { f.op(x) } -> std::same_as<Real>; } &&   \
                !requires(Plain<T, kFuses> plain, Real x) { plain.op(x); })                                      \
    of_one.push_back({#op, [](const F& g, const Real& x) { return g.op(x); }, ir::library_of_one<ir::Op::op>});
// clang-format on
#include "tenon/ir/ops.def"
  std::map<std::string, double> worst;
  const std::vector<T> x = samples<T>();
  for (const OfOne& each : of_one) {
    double& most = worst[each.name];
    for (const T number : x) {
      const double far = ulps<T>(each.ours(f, {number}).v, each.truth(number));
      EXPECT_LE(far, 2) << each.name << " of " << number;
      most = std::max(most, far);
    }
  }
  double &of_pow = worst["pow"], &of_mod = worst["mod"];
  for (const auto& [a, b] : pairs<T>()) {
    const double far = ulps<T>(f.pow({a}, {b}).v, std::pow(static_cast<Truth>(a), static_cast<Truth>(b)));
    EXPECT_LE(far, 2) << a << " to the power " << b;
    of_pow = std::max(of_pow, far);
    const double rest = ulps<T>(f.mod({a}, {b}).v, std::fmod(a, b));
    EXPECT_EQ(rest, 0) << a << " mod " << b;
    of_mod = std::max(of_mod, rest);
  }
  return worst;
}

/// What the table says of each function: of f32, and of f64.
std::map<std::string, std::array<double, 2>> documented() {
  std::ifstream file(TENON_SOURCE_DIR "/docs/functions-accuracy.md");
  std::map<std::string, std::array<double, 2>> said;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string bar, name;
    double f32 = 0, f64 = 0;
    if (cells >> bar >> name >> bar >> f32 >> bar >> f64 && name.front() == '`')
      said[name.substr(1, name.size() - 2)] = {f32, f64};
  }
  return said;
}

template <typename T>
void expect_as_documented(size_t column) {
  const auto said = documented();
  for (const auto& worst : {measured<T, true>(), measured<T, false>()}) {
    EXPECT_EQ(worst.size(), said.size());
    for (const auto& [name, far] : worst) {
      ASSERT_TRUE(said.contains(name)) << name << " is not in docs/functions-accuracy.md";
      EXPECT_LE(far, said.at(name)[column]) << name;
      EXPECT_GE(far, said.at(name)[column] * 0.6) << name << " is much better than the table says";
    }
  }
}

TEST(Accuracy, OfF32IsWhatTheTableSays) { expect_as_documented<float>(0); }
TEST(Accuracy, OfF64IsWhatTheTableSays) { expect_as_documented<double>(1); }

template <typename F, typename T>
void expect_exact_powers(const F& f, int lowest, int highest) {
  for (int i = lowest; i <= highest; ++i) EXPECT_EQ(f.log2({std::ldexp(T{1}, i)}).v, static_cast<T>(i));
}
TEST(Accuracy, Log2OfPowersOfTwoIsExact) {
  expect_exact_powers<Functions<Plain<float, false>>, float>({}, -149, 127);
  expect_exact_powers<Functions<Plain<double, false>>, double>({}, -1074, 1023);
}

// Two that come nearer to a multiple of pi / 2 than any other number, and neighbours of multiples.
TEST(Accuracy, SinesNearAMultipleOfPiKeepTheirPlaces) {
  std::vector<double> x{0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0};
  for (int i = 1; i < 3000; ++i) x.push_back(i * 0x1.921fb54442d18p+0);
  const Functions<Plain<double, false>> f64;
  const Functions<Plain<float, false>> f32;
  for (const double each : x) {
    EXPECT_LE(ulps<double>(f64.sin({each}).v, std::sin(Truth{each})), 2) << each;
    EXPECT_LE(ulps<double>(f64.cos({each}).v, std::cos(Truth{each})), 2) << each;
    const auto single = static_cast<float>(each);
    EXPECT_LE(ulps<float>(f32.sin({single}).v, std::sin(Truth{single})), 2) << single;
    EXPECT_LE(ulps<float>(f32.cos({single}).v, std::cos(Truth{single})), 2) << single;
  }
}

}  // namespace
}  // namespace tenon::math
