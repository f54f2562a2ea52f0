// The normal distribution: its probabilities, their logarithms and their inverse; and entropies.

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/real_function.h"
#include "tenon/tensor/record.h"

namespace tenon {

using std::numbers::sqrt2;

Tensor special_ndtr(const Tensor& x) {
  return record::in_wide(x.to(record::real_type(x.dtype())),
                         [](const Tensor& w) { return mul(erfc(mul(w, -1 / sqrt2)), 0.5); });
}

// Below -1 the probability has few digits, and its logarithm is taken of what is left without its exponential.
Tensor special_log_ndtr(const Tensor& x) {
  return record::in_wide(x.to(record::real_type(x.dtype())), [](const Tensor& w) {
    const Tensor is_low = lt(w, -1.0), scaled = mul(w, 1 / sqrt2);
    const Tensor low = where(is_low, scaled, -1.0), high = where(is_low, 0.0, scaled);
    return where(is_low, sub(log(mul(special_erfcx(neg(low)), 0.5)), square(low)), log1p(mul(erfc(high), -0.5)));
  });
}

namespace {

// Cephes (S. L. Moshier): a rational function around 1/2, and two of 1 / sqrt(-2 log(y)) below exp(-2).
Tensor ndtri_values(const Tensor& x) {
  constexpr std::array kAbove{-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
                              1.39312609387279679503e1, -1.23916583867381258016e0};
  constexpr std::array kBelow{1.00000000000000000000e0,  1.95448858338141759834e0,  4.67627912898881538453e0,
                              8.63602421390890590575e1,  -2.25462687854119370527e2, 2.00260212380060660359e2,
                              -8.20372256168333339912e1, 1.59056225126211695515e1,  -1.18331621121330003142e0};
  constexpr std::array kNearAbove{4.05544892305962419923e0,   3.15251094599893866154e1,   5.71628192246421288162e1,
                                  4.40805073893200834700e1,   1.46849561928858024014e1,   2.18663306850790267539e0,
                                  -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4};
  constexpr std::array kNearBelow{1.00000000000000000000e0,   1.57799883256466749731e1,   4.53907635128879210584e1,
                                  4.13172038254672030440e1,   1.50425385692907503408e1,   2.50464946208309415979e0,
                                  -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4};
  constexpr std::array kFarAbove{3.23774891776946035970e0,  6.91522889068984211695e0,  3.93881025292474443415e0,
                                 1.33303460815807542389e0,  2.01485389549179081538e-1, 1.23716634817820021358e-2,
                                 3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9};
  constexpr std::array kFarBelow{1.00000000000000000000e0,  6.02427039364742014255e0,  3.67983563856160859403e0,
                                 1.37702099489081330271e0,  2.16236993594496635890e-1, 1.34204006088543189037e-2,
                                 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9};
  constexpr double kSqrtOf2Pi = 2.50662827463100050242, kTail = 0.13533528323661269189;
  const Tensor is_upper = gt(x, 1 - kTail), y = where(is_upper, sub(1.0, x), x), is_central = gt(y, kTail);
  const Tensor offset = where(is_central, sub(y, 0.5), 0.0), z = square(offset);
  const Tensor ratio = div(special::polynomial(z, kAbove), special::polynomial(z, kBelow));
  const Tensor central = mul(add(offset, mul(offset, mul(z, ratio))), kSqrtOf2Pi);
  const Tensor root = sqrt(mul(log(where(is_central, kTail, y)), -2.0)), inverse = div(1.0, root);
  const Tensor near = div(special::polynomial(inverse, kNearAbove), special::polynomial(inverse, kNearBelow));
  const Tensor far = div(special::polynomial(inverse, kFarAbove), special::polynomial(inverse, kFarBelow));
  const Tensor tail = sub(sub(root, div(log(root), root)), mul(inverse, where(lt(root, 8.0), near, far)));
  const Tensor made = where(is_central, central, where(is_upper, tail, neg(tail)));
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor at_ends = where(eq(x, 0.0), -infinity, where(eq(x, 1.0), infinity, made));
  return where(logical_or(lt(x, 0.0), gt(x, 1.0)), std::numeric_limits<double>::quiet_NaN(), at_ends);
}

}  // namespace

Tensor special_ndtri(const Tensor& x) {
  return special::real_function(x, "special_ndtri", ndtri_values, [](const Tensor& w) {
    return mul(exp(mul(square(special_ndtri(w)), 0.5)), std::sqrt(2 * std::numbers::pi));
  });
}

Tensor special_entr(const Tensor& x) {
  return special::real_function(
      x, "special_entr",
      [](const Tensor& w) {
        const Tensor is_0 = eq(w, 0.0), size = where(is_0, 1.0, w);
        const Tensor made = where(is_0, 0.0, mul(neg(size), log(size)));
        return where(lt(w, 0.0), -std::numeric_limits<double>::infinity(), made);
      },
      [](const Tensor& w) { return sub(-1.0, log(w)); });
}

}  // namespace tenon
