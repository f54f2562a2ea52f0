// Modified Bessel functions of the first kind, of the orders 0 and 1, by the Chebyshev series of Cephes (S. L.
// Moshier): one of x up to 8, one of 1 / x beyond.

#include <array>
#include <cmath>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/real_function.h"

namespace tenon {
namespace {

// Of exp(-x) I0(x), exp(-x) sqrt(x) I0(x), exp(-x) I1(x) / x and exp(-x) sqrt(x) I1(x).
constexpr std::array kNear0{
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12,
    -1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8,  6.04699502254191894932e-8,  -2.67079385394061173391e-7,  1.11738753912010371815e-6,
    -4.41673835845875056359e-6,  1.64484480707288970893e-5,  -5.75419501008210370398e-5,  1.88502885095841655729e-4,
    -5.76375574538582365885e-4,  1.63947561694133579842e-3,  -4.32430999505057594430e-3,  1.05464603945949983183e-2,
    -2.37374148058994688156e-2,  4.93052842396707084878e-2,  -9.49010970480476444210e-2,  1.71620901522208775349e-1,
    -3.04682672343198398683e-1,  6.76795274409476084995e-1};
constexpr std::array kFar0{
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,  3.46122286769746109310e-17,
    -2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15,  3.81168066935262242075e-15,
    -9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14,  3.85277838274214270114e-13,
    7.18012445138366623367e-13,  -1.79417853150680611778e-12, -1.32158118404477131188e-11, -3.14991652796324136454e-11,
    1.18891471078464383424e-11,  4.94060238822496958910e-10,  3.39623202570838634515e-9,   2.26666899049817806459e-8,
    2.04891858946906374183e-7,   2.89137052083475648297e-6,   6.88975834691682398426e-5,   3.36911647825569408990e-3,
    8.04490411014108831608e-1};
constexpr std::array kNear1{
    2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16, -1.10559694773538630805e-15,
    7.60068429473540693410e-15, -5.04218550472791168711e-14, 3.22379336594557470981e-13, -1.98397439776494371520e-12,
    1.17361862988909016308e-11, -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
    9.38153738649577178388e-9,  -4.44505912879632808065e-8,  2.00329475355213526229e-7,  -8.56872026469545474066e-7,
    3.47025130813767847674e-6,  -1.32731636560394358279e-5,  4.78156510755005422638e-5,  -1.61760815825896745588e-4,
    5.12285956168575772895e-4,  -1.51357245063125314899e-3,  4.15642294431288815669e-3,  -1.05640848946261981558e-2,
    2.47264490306265168283e-2,  -5.29459812080949914269e-2,  1.02643658689847095384e-1,  -1.76416518357834055153e-1,
    2.52587186443633654823e-1};
constexpr std::array kFar1{
    7.51729631084210481353e-18,  4.41434832307170791151e-18,  -4.65030536848935832153e-17, -3.20952592199342395980e-17,
    2.96262899764595013876e-16,  3.30820231092092828324e-16,  -1.88035477551078244854e-15, -3.81440307243700780478e-15,
    1.04202769841288027642e-14,  4.27244001671195135429e-14,  -2.10154184277266431302e-14, -4.08355111109219731823e-13,
    -7.19855177624590851209e-13, 2.03562854414708950722e-12,  1.41258074366137813316e-11,  3.25260358301548823856e-11,
    -1.89749581235054123450e-11, -5.58974346219658380687e-10, -3.83538038596423702205e-9,  -2.63146884688951950684e-8,
    -2.51223623787020892529e-7,  -3.88256480887769039346e-6,  -1.10588938762623716291e-4,  -9.76109749136146840777e-3,
    7.78576235018280120474e-1};

// Clenshaw's recurrence, highest degree first.
template <size_t N>
Tensor chebyshev_sum(const Tensor& x, const std::array<double, N>& coefficients) {
  Tensor now = full_like(x, coefficients[0]), before = zeros_like(x), first = before;
  for (size_t i = 1; i < N; ++i) {
    first = before;
    before = now;
    now = add(sub(mul(x, before), first), coefficients[i]);
  }
  return mul(sub(now, first), 0.5);
}

// exp(-size) I(size) for size >= 0, but for a factor of size up to 8 that I1 has.
template <size_t N, size_t M>
Tensor scaled_bessel(const Tensor& size, const std::array<double, N>& near, const std::array<double, M>& far,
                     bool is_odd) {
  const Tensor small = clamp(size, {}, 8.0), large = clamp(size, 8.0, {});
  const Tensor central = chebyshev_sum(sub(mul(small, 0.5), 2.0), near);
  const Tensor beyond = div(chebyshev_sum(sub(div(32.0, large), 2.0), far), sqrt(large));
  return where(le(size, 8.0), is_odd ? mul(central, small) : central, beyond);
}

Tensor signed_as(const Tensor& x, const Tensor& size) { return where(lt(x, 0.0), neg(size), size); }

Tensor scaled_i0(const Tensor& x) { return scaled_bessel(abs(x), kNear0, kFar0, false); }
Tensor scaled_i1(const Tensor& x) { return signed_as(x, scaled_bessel(abs(x), kNear1, kFar1, true)); }

// y / x, and at 0 the limit.
Tensor over(const Tensor& y, const Tensor& x) {
  const Tensor is_0 = eq(x, 0.0);
  return where(is_0, 0.5, div(y, where(is_0, 1.0, x)));
}

}  // namespace

Tensor i0(const Tensor& x) {
  return special::real_function(
      x, "i0", [](const Tensor& w) { return mul(exp(abs(w)), scaled_i0(w)); }, special_i1);
}
Tensor special_i0e(const Tensor& x) {
  return special::real_function(x, "special_i0e", scaled_i0,
                                [](const Tensor& w) { return sub(special_i1e(w), mul(sign(w), special_i0e(w))); });
}
Tensor special_i1(const Tensor& x) {
  return special::real_function(
      x, "special_i1", [](const Tensor& w) { return mul(exp(abs(w)), scaled_i1(w)); },
      [](const Tensor& w) { return sub(i0(w), over(special_i1(w), w)); });
}
Tensor special_i1e(const Tensor& x) {
  return special::real_function(x, "special_i1e", scaled_i1, [](const Tensor& w) {
    const Tensor y = special_i1e(w);
    return sub(special_i0e(w), add(mul(sign(w), y), over(y, w)));
  });
}

}  // namespace tenon
