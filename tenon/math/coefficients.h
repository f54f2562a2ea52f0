// The numbers of the functions, for f32 and for f64.
//
// Series stand with their lowest power first. Those of f32 are Sollya's fpminimax on the reduced interval, for floats;
// relative errors stand beside them as powers of two. Those of f64 are fdlibm's, Taylor's where that needs no more
// terms, and Chebyshev's for 2^r, tanh and erf. Those of atan are minimax (Remez).

#pragma once

#include <cstdint>

namespace tenon::math {

template <bool kWide>
struct Coefficients;

template <>
struct Coefficients<false> {
  // A float: its smallest normal number, what brings smaller ones among those, and how many bits its last place has.
  static constexpr double kSmallest = 0x1p-126, kGrow = 0x1p23, kGrowPlaces = 23, kWholeFrom = 0x1p24;
  static constexpr int kBias = 127, kHighMantissa = 23, kPlaces = 23;
  static constexpr uint32_t kHalfOfRoot2 = 0x3F3504F3;  // the upper bits of sqrt(1/2)
  static constexpr uint32_t kUpperHalf = 0xFFFFF000;    // of a mantissa; products of two such are exact
  // A number of less than 22 bits plus this has its nearest whole number in its low bits.
  static constexpr double kRounder = 0x1.8p23;

  // ln 2 in two parts; the first has 15 bits, so that its product with an exponent is exact.
  static constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cp-20, kLog2E = 0x1.715476p0;
  static constexpr double kLog2ELow = 0x1.4ae0cp-26;

  // Beyond these nothing changes, and below the last one e^x - 1 is x.
  static constexpr double kExpLeast = -105, kExp2Least = -151, kExpm1Least = -20, kExpm1Most = 89, kExpm1Tiny = 0x1p-30;
  static constexpr double kPowFar = 104, kTanhMost = 9.25;
  /// e^r for |r| <= ln 2 / 2: 2^-28.
  static constexpr double kExp[] = {1,
                                    1,
                                    0.49999991059303284,
                                    0.16666519641876221,
                                    4.1668955236673355e-2,
                                    8.3688516169786453e-3,
                                    1.3783585745841265e-3};
  /// (e^r - 1 - r) / r^2: 2^-26 of e^r - 1.
  static constexpr double kExpm1[] = {0.4999999701976776, 0.16666541993618011, 4.1667494922876358e-2,
                                      8.3667254075407982e-3, 1.3865485088899732e-3};
  /// (2^r - 1) / r for |r| <= 1/2: 2^-28 of 2^r.
  static constexpr double kExp2[] = {0.69314718246459961,   0.24022644758224487,   5.5503584444522858e-2,
                                     9.6188290044665337e-3, 1.3391473330557346e-3, 1.5243396046571434e-4};

  /// (tanh(x) / x - 1) / x^2 up to 0.55: 2^-24.7; the second one up to 0.625.
  static constexpr double kTanhNear[] = {-0.3333294689655304, 0.1332072913646698, -5.2672013640403748e-2,
                                         1.6437891870737076e-2};
  static constexpr double kTanhNearer[] = {-0.33333268761634827, 0.133310928940773, -0.05370965600013733,
                                           0.0205388180911541, -0.00559101440012455};
  /// (e^(2 r) - 1) / r, of kExp.
  static constexpr double kTanhFar[] = {2,
                                        4 * 0.49999991059303284,
                                        8 * 0.16666519641876221,
                                        16 * 4.1668955236673355e-2,
                                        32 * 8.3688516169786453e-3,
                                        64 * 1.3783585745841265e-3};

  /// (log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f < sqrt(2): 2^-26.9.
  static constexpr double kLog[] = {0.33333373069763184,  -0.25000840425491333, 0.19998989999294281,
                                    -0.16621206700801849, 0.14238907396793365,  -0.13212355971336365,
                                    0.12565891444683075,  -7.286024093627930e-2};
  /// (atanh(q) / q - 1 - q^2 / 3) / q^4, of q^2.
  static constexpr double kAtanh[] = {0.2, 0.142857142857, 0.11111, 0.0993};
  static constexpr double kThird = 0x1.555556p-2, kThirdLow = -0x1.555556p-27;

  /// erf(x) / x - 1 up to 0.8125, of x^2: 2^-27.9; log2(erfc x) up to 4: 2^-32 in the result.
  static constexpr double kErfNear[] = {0.12837916612625122,   -0.37612605094909668,  0.11283110827207565,
                                        -2.681955136358738e-2, 5.0813956186175346e-3, -6.5043533686548471e-4};
  static constexpr double kErfLog[] = {2.0900071831420064e-4, -1.6293321847915649,   -0.91417056322097778,
                                       -0.15571297705173492,  3.5906754434108734e-2, -5.8882478624582291e-3,
                                       5.9955607866868377e-4, -2.8034375645802356e-5};

  /// (sin(r) / r - 1) / r^2 for |r| <= pi/4: 2^-27.4; (cos(r) - 1 + r^2 / 2) / r^4: 2^-32. Of r^2.
  static constexpr double kSin[] = {-0.16666650772094727, 8.3319284021854401e-3, -1.9484860240481794e-4};
  static constexpr double kCos[] = {4.1666638106107712e-2, -1.3886969536542892e-3, 2.4395514628849924e-5};
  /// (atan(r) / r - 1) / r^2 for |r| <= 1, of r^2: 2^-27.6; pi / 2 as the sum of two.
  static constexpr double kAtan[] = {-0.33333298563957214,  0.1999852955341339,   -0.14264015853405,
                                     0.10950878262519836,   -0.0839928612112999,  0.057882677763700485,
                                     -0.031103303655982018, 0.010876916348934174, -0.0017862035892903805};
  static constexpr double kHalfPi = 0x1.921fb6p0, kHalfPiLow = -0x1.777a5cp-25;
  /// pi / 2 as the sum of two, over 2^62.
  static constexpr double kQuarter = 0x1.921fb6p-62, kQuarterLow = -0x1.777a5cp-87;
};

template <>
struct Coefficients<true> {
  static constexpr double kSmallest = 0x1p-1022, kGrow = 0x1p54, kGrowPlaces = 54, kWholeFrom = 0x1p53;
  static constexpr int kBias = 1023, kHighMantissa = 20, kPlaces = 52;
  static constexpr uint32_t kHalfOfRoot2 = 0x3FE6A09E, kUpperHalf = 0xF8000000;
  static constexpr double kRounder = 0x1.8p52;

  // The first part of ln 2 ends in 21 zeros.
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLog2E = 1.44269504088896338700;

  static constexpr double kExpLeast = -746, kExp2Least = -1076, kExpm1Least = -40, kExpm1Most = 710,
                          kExpm1Tiny = 0x1p-54;
  static constexpr double kPowFar = 746, kTanhMost = 20;
  static constexpr double kExp[] = {1,
                                    1,
                                    1.0 / 2,
                                    1.0 / 6,
                                    1.0 / 24,
                                    1.0 / 120,
                                    1.0 / 720,
                                    1.0 / 5040,
                                    1.0 / 40320,
                                    1.0 / 362880,
                                    1.0 / 3628800,
                                    1.0 / 39916800,
                                    1.0 / 479001600,
                                    1.0 / 6227020800};  // 2^-57
  static constexpr double kExpm1[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

  static constexpr double kExp2[] = {0.6931471805599453,     0.24022650695910072,    0.055504108664821625,
                                     0.00961812910762848,    0.001333355814640647,   0.00015403530393370734,
                                     1.5252733841556773e-05, 1.3215486808705563e-06, 1.0178057087733941e-07,
                                     7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11};  // 2^-63

  static constexpr double kTanhNear[] = {-0.3333333333333333,   0.13333333333332714,   -0.053968253967434016,
                                         0.021869488493666944,  -0.008863234397814355, 0.003592110378689024,
                                         -0.001455661830100716, 0.0005889360520074057, -0.0002346347410887237,
                                         8.511313685577672e-05, -2.060276537636634e-05};  // 2^-57
  static constexpr double kTanhFar[] = {2,
                                        4.0 / 2,
                                        8.0 / 6,
                                        16.0 / 24,
                                        32.0 / 120,
                                        64.0 / 720,
                                        128.0 / 5040,
                                        256.0 / 40320,
                                        512.0 / 362880,
                                        1024.0 / 3628800,
                                        2048.0 / 39916800,
                                        4096.0 / 479001600,
                                        8192.0 / 6227020800};

  /// (log(1 + f) - 2 s) / (s^3) with s = f / (2 + f), of s^2.
  static constexpr double kLog[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                    1.479819860511658591e-01};
  static constexpr double kAtanh[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                                      1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27};
  static constexpr double kThird = 0x1.5555555555555p-2, kThirdLow = 0x1.5555555555555p-56;

  /// erf(x) / x - 1 up to 1, of x^2; erfc(x) e^(x^2) from there on, of 1 / (x + 3).
  static constexpr double kErfNear[] = {0.12837916709551256,     -0.37612638903183543,   0.11283791670945006,
                                        -0.02686617064323777,    0.0052239776071164225,  -0.0008548325975389692,
                                        0.00012055294904839707,  -1.492473690741966e-05, 1.6447424703317362e-06,
                                        -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10};
  static constexpr double kErfMissing[] = {
      -2.8802148470534555e-06, 0.5644211912388195, 1.6840218084061775, 4.987166672704935,   9.787760610086625,
      62.37025231425608,       -182.469576090648,  1587.0765230329214, -6093.6565386338125, 19141.050739874587,
      -38939.33820426925,      42231.872521452955, -18869.516370631904};

  static constexpr double kSin[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                    -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                    -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double kCos[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                    2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                    2.08757232129817482790e-09, -1.13596475577881948265e-11};
  static constexpr double kAtan[] = {
      -0.3333333333333307,    0.1999999999995175,    -0.14285714282583328,    0.11111111007054943,
      -0.09090907000411273,   0.07692279779276198,   -0.06666403360790629,    0.058805226113667834,
      -0.052534912539449155,  0.04722216976837623,   -0.042188730552583605,   0.036635108336097205,
      -0.029892211598129697,  0.02196951568013928,   -0.013885159802433659,   0.007184928223143917,
      -0.0028786156465685996, 0.0008289747503128638, -0.00015162639878383598, 1.3168972013653194e-05};  // 2^-54.7
  static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;
  static constexpr double kQuarter = 0x1.921fb54442d18p-126, kQuarterLow = 0x1.1a62633145c07p-180;  // over 2^126
};

/// A series, and a number of bits to shift by, as arguments that are known when code is compiled.
template <const auto& kC>
struct Series {};
template <const auto& kC>
inline constexpr Series<kC> series{};
template <int kBits>
struct By {};
template <int kBits>
inline constexpr By<kBits> by{};

inline constexpr double kHalf = 0.5, kMinusHalf = -0.5, kOne = 1;

/// 2 / pi behind 64 bits that are 0, the first word the highest.
inline constexpr uint32_t kTwoByPi[] = {
    0x00000000, 0x00000000, 0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410,
    0x7F9458EA, 0xF7AEF158, 0x6DC91B8E, 0x909374B8, 0x01924BBA, 0x82746487, 0x3F877AC7, 0x2C4A69CF,
    0xBA208D7D, 0x4BAED121, 0x3A671C09, 0xAD17DF90, 0x4E64758E, 0x60D4CE7D, 0x272117E2, 0xEF7E4A0E,
    0xC7FE25FF, 0xF7816603, 0xFBCBC462, 0xD6829B47, 0xDB4D9FB3, 0xC9F2C26D, 0xD3D18FD9, 0xA797FA8B,
    0x5D49EEB1, 0xFAF97C5E, 0xCF41CE7D, 0xE294A4BA, 0x9AFED7EC, 0x47E35742, 0x1580CC11};

}  // namespace tenon::math
