// Gamma, Beta and Dirichlet: draws by rejection, with a fixed number of proposals, and implicit gradients.

#include <array>
#include <cmath>

#include "tenon/distributions/shared.h"

namespace tenon::distributions {
namespace {

/// The first of several proposals that is accepted (Marsaglia and Tsang, 2000), as its logarithm, of a concentration
/// from 1 on. Each is accepted with a probability of 0.95 at least, so that one draw in 10^13 takes the last proposal
/// although it should not: no loop depends on values, and GPUs and captured functions draw as the host does.
Tensor log_of_accepted(const Tensor& concentration, const Dims& shape, Generator* generator) {
  constexpr int64_t kProposals = 10;
  Dims all{kProposals};
  for (const int64_t size : shape) all.push_back(size);
  const Options options(concentration.dtype(), concentration.device());
  const Tensor normal = randn(all, options, generator), even = 1 - rand(all, options, generator);
  const Tensor d = concentration - 1.0 / 3, root = 1 + normal * rsqrt(9 * d);
  const Tensor is_positive = gt(root, 0.0), log_cube = 3 * log(where(is_positive, root, 1.0));
  const Tensor is_accepted =
      logical_and(is_positive, lt(log(even), 0.5 * square(normal) + d * (1 - exp(log_cube) + log_cube)));
  const Tensor proposed = log(d) + where(is_positive, log_cube, 0.0);
  Tensor chosen = proposed[kProposals - 1];
  for (int64_t i = kProposals - 1; i-- > 0;) chosen = where(is_accepted[i], proposed[i], chosen);
  return chosen;
}

// Below 1 that of one more, times a power of an even number: their logarithms are added. Drawn into memory once:
// whoever reads a draw, and its gradient, would draw all proposals again.
Tensor log_draws(const Tensor& concentration, const Dims& shape, Generator* generator) {
  const Tensor is_small = lt(concentration, 1.0);
  const Tensor drawn = log_of_accepted(where(is_small, concentration + 1, concentration), shape, generator);
  const Tensor even = 1 - rand(shape, Options(concentration.dtype(), concentration.device()), generator);
  return (drawn + where(is_small, log(even) / concentration, 0.0)).clone();
}

// The three formulas below are those of PyTorch (Jankowiak and Obermeyer, 2018), for d log x / d a where F(x; a) stays
// the same: -(dF/da) / (x dF/dx).

/// x below 0.8, by the first terms of F's series; log x is all it takes of numbers that are as good as 0.
Tensor slope_near_0(const Tensor& x, const Tensor& log_x, const Tensor& a) {
  Tensor power = ones_like(x), first = 1 / a, second = square(first);
  for (int i = 1; i <= 5; ++i) {
    power = power * x * (-1.0 / i);
    const Tensor next = 1 / (a + i);
    first = first + power * next;
    second = second + power * square(next);
  }
  return exp(x) * (second - (log_x - digamma(a)) * first);
}

/// Of a above 8: a saddle point expansion, and its own series near x = a.
Tensor slope_of_large(const Tensor& x, const Tensor& a) {
  const Tensor is_near = logical_and(ge(x, 0.9 * a), le(x, 1.1 * a));
  const Tensor numerator = (1 + 24 * a * (1 + 12 * a)) *
                           (1440 * square(a) + 6 * x * (53 - 120 * x) - 65 * square(x) / a + a * (107 + 3600 * x));
  const Tensor near = numerator / (1244160 * square(square(a)));
  const Tensor away = where(is_near, 2 * a, x), below = lt(away, a), ratio = log(away / a), gap = a - away;
  const Tensor root = sqrt(8 * a), by_gap = root / gap, by_rate = pow(away - a - a * ratio, -1.5);
  const Tensor both = where(below, by_gap - by_rate, by_gap + by_rate);
  const Tensor stirling = 1 + (1 + 1 / (24 * a)) / (12 * a);
  const Tensor far = -stirling * away * (ratio * both - sqrt(2 / a) * (a + away) / square(gap)) / root;
  return where(is_near, near, far) / x;
}

/// All others, by a rational function of log(x / a) and log a.
Tensor slope_between(const Tensor& x, const Tensor& a) {
  constexpr std::array<std::array<double, 8>, 3> kBy{
      {{0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084},
       {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623},
       {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367,
        -1.5247877e-07}}};
  const Tensor u = log(x / a), v = log(a);
  const auto in_v = [&](size_t from) {
    const auto in_u = [&](size_t i) { return (u * kBy[2][i] + kBy[1][i]) * u + kBy[0][i]; };
    return ((in_u(from + 3) * v + in_u(from + 2)) * v + in_u(from + 1)) * v + in_u(from);
  };
  return exp(in_v(0) / in_v(4)) / x;
}

}  // namespace

// Each formula sees numbers that it is made for, whatever the others are given.
Tensor slope_of_log(const Tensor& log_x, const Tensor& a) {
  const Tensor x = exp(log_x), is_small = lt(x, 0.8), is_large = gt(a, 8.0);
  const Tensor small = slope_near_0(where(is_small, x, 0.5), where(is_small, log_x, std::log(0.5)), a);
  const Tensor large = slope_of_large(where(is_small, 1.0, x), where(is_large, a, 9.0));
  const Tensor between = slope_between(where(is_small, 1.0, x), where(is_large, 1.0, a));
  return where(is_small, small, where(is_large, large, between));
}

Tensor log_of_gamma(const Tensor& given, const Dims& shape, Generator* generator) {
  const DType wide = accumulator(given.dtype());
  const Tensor concentration = given.to(wide).expand(shape).clone();  // a few elements, repeated, are short rows
  Tensor drawn;
  {
    const NoGrad a_value;
    drawn = log_draws(concentration.flatten(), {concentration.numel()}, generator).reshape(shape);
  }
  const CustomFunction moves_with_concentration{"gamma", [](std::span<const Tensor> in) { return std::vector{in[1]}; },
                                                [](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                                  return std::vector{grads[0] * slope_of_log(in[1], in[0]), Tensor()};
                                                }};
  return apply(moves_with_concentration, std::vector{concentration, drawn})[0];
}

// ---- Gamma ----

Gamma::Gamma(const std::vector<Tensor>& parameters)
    : Distribution(parameters[0].shape(), {}), concentration_(parameters[0]), rate_(parameters[1]) {}
Gamma::Gamma(const Operand& concentration, const Operand& rate) : Gamma(together("Gamma", {concentration, rate})) {
  require_positive("Gamma", "concentration", concentration);
  require_positive("Gamma", "rate", rate);
}

Tensor Gamma::mean() const { return concentration_ / rate_; }
Tensor Gamma::variance() const { return concentration_ / square(rate_); }

Tensor Gamma::rsample(const Dims& shape, Generator* generator) const {
  const Tensor made = exp(log_of_gamma(concentration_, drawn(shape), generator)).to(rate_.dtype()) / rate_;
  return clamp(made, tiny(made.dtype()), {});
}

Tensor Gamma::log_prob(const Tensor& value) const {
  return times_log(concentration_, rate_) + times_log(concentration_ - 1, value) - rate_ * value -
         lgamma(concentration_);
}

Tensor Gamma::entropy() const {
  return concentration_ - log(rate_) + lgamma(concentration_) + (1 - concentration_) * digamma(concentration_);
}

// ---- Beta ----

Beta::Beta(const std::vector<Tensor>& parameters)
    : Distribution(parameters[0].shape(), {}), a_(parameters[0]), b_(parameters[1]) {}
Beta::Beta(const Operand& concentration1, const Operand& concentration0)
    : Beta(together("Beta", {concentration1, concentration0})) {
  require_positive("Beta", "concentration1", concentration1);
  require_positive("Beta", "concentration0", concentration0);
}

Tensor Beta::mean() const { return a_ / (a_ + b_); }
Tensor Beta::variance() const {
  const Tensor total = a_ + b_;
  return a_ * b_ / (square(total) * (total + 1));
}

Tensor Beta::rsample(const Dims& shape, Generator* generator) const {
  const Tensor one = log_of_gamma(a_, drawn(shape), generator), other = log_of_gamma(b_, drawn(shape), generator);
  return clamp(sigmoid(one - other).to(a_.dtype()), tiny(a_.dtype()), 1 - epsilon(a_.dtype()) / 2);
}

Tensor Beta::log_prob(const Tensor& value) const {
  return times_log(a_ - 1, value) + special_xlog1py(b_ - 1, -value) + lgamma(a_ + b_) - lgamma(a_) - lgamma(b_);
}

Tensor Beta::entropy() const {
  const Tensor total = a_ + b_;
  return lgamma(a_) + lgamma(b_) - lgamma(total) - (a_ - 1) * digamma(a_) - (b_ - 1) * digamma(b_) +
         (total - 2) * digamma(total);
}

// ---- Dirichlet ----

namespace {

Dims batch_of(const Tensor& concentration) {
  if (concentration.dim() < 1) base::fail("Dirichlet", "takes a dim of concentrations, got a single number");
  if (!is_float(concentration.dtype()))
    base::fail("Dirichlet", "takes real numbers, got {}", tenon::name(concentration.dtype()));
  return Dims(concentration.shape().begin(), concentration.shape().end() - 1);
}

}  // namespace

Dirichlet::Dirichlet(const Tensor& concentration)
    : Distribution(batch_of(concentration), {concentration.size(-1)}), concentration_(concentration) {
  require_positive("Dirichlet", "concentration", concentration);
}

Tensor Dirichlet::mean() const { return concentration_ / concentration_.sum({-1}, true); }
Tensor Dirichlet::variance() const {
  const Tensor total = concentration_.sum({-1}, true);
  return concentration_ * (total - concentration_) / (square(total) * (total + 1));
}

Tensor Dirichlet::rsample(const Dims& shape, Generator* generator) const {
  return softmax(log_of_gamma(concentration_, drawn(shape), generator), -1).to(concentration_.dtype());
}

Tensor Dirichlet::log_prob(const Tensor& value) const {
  return times_log(concentration_ - 1, value).sum({-1}) + lgamma(concentration_.sum({-1})) -
         lgamma(concentration_).sum({-1});
}

Tensor Dirichlet::entropy() const {
  const auto k = static_cast<double>(concentration_.size(-1));
  const Tensor total = concentration_.sum({-1});
  return lgamma(concentration_).sum({-1}) - lgamma(total) - (k - total) * digamma(total) -
         ((concentration_ - 1) * digamma(concentration_)).sum({-1});
}

}  // namespace tenon::distributions
