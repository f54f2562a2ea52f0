// KL divergences: the mean of log p - log q over p, in closed form.

#include "tenon/distributions/shared.h"

namespace tenon::distributions {
namespace {

Tensor kl(const Normal& p, const Normal& q) {
  const Tensor ratio = square(p.scale() / q.scale());
  return 0.5 * (ratio + square((p.loc() - q.loc()) / q.scale()) - 1 - log(ratio));
}

// Infinite where p draws what q never does.
Tensor kl(const Uniform& p, const Uniform& q) {
  const Tensor found = log((q.high() - q.low()) / (p.high() - p.low()));
  const Tensor is_beyond = logical_or(gt(q.low(), p.low()), lt(q.high(), p.high()));
  return where(is_beyond, std::numeric_limits<double>::infinity(), found);
}

// Of two outcomes; none is counted that p never draws.
Tensor kl(const Bernoulli& p, const Bernoulli& q) {
  const auto of_outcome = [](const Tensor& in_p, const Tensor& in_q) { return xlogy(in_p, in_p) - xlogy(in_p, in_q); };
  return of_outcome(p.probs(), q.probs()) + of_outcome(1 - p.probs(), 1 - q.probs());
}

Tensor kl(const Categorical& p, const Categorical& q) {
  const Tensor in_p = p.probs();
  const Tensor each = in_p * (p.logits() - q.logits());
  const Tensor never_in_q = where(eq(q.probs(), 0.0), std::numeric_limits<double>::infinity(), each);
  return where(eq(in_p, 0.0), 0.0, never_in_q).sum({-1});
}

Tensor kl(const Gamma& p, const Gamma& q) {
  const Tensor &a = p.concentration(), &b = q.concentration();
  return b * log(p.rate() / q.rate()) + lgamma(b) - lgamma(a) + (a - b) * digamma(a) +
         (q.rate() - p.rate()) * (a / p.rate());
}

Tensor kl(const Beta& p, const Beta& q) {
  const Tensor &a = p.concentration1(), &b = p.concentration0(), &c = q.concentration1(), &d = q.concentration0();
  const Tensor of_p = a + b, of_q = c + d;
  return lgamma(of_p) - lgamma(of_q) + lgamma(c) + lgamma(d) - lgamma(a) - lgamma(b) + (a - c) * digamma(a) +
         (b - d) * digamma(b) + (of_q - of_p) * digamma(of_p);
}

Tensor kl(const Dirichlet& p, const Dirichlet& q) {
  const Tensor &a = p.concentration(), &b = q.concentration();
  const Tensor of_p = a.sum({-1}), of_q = b.sum({-1});
  return lgamma(of_p) - lgamma(of_q) + (lgamma(b) - lgamma(a)).sum({-1}) +
         ((a - b) * (digamma(a) - digamma(of_p).unsqueeze(-1))).sum({-1});
}

template <typename... Kinds>
Tensor of_one_kind(const Distribution& p, const Distribution& q) {
  Tensor found;
  const auto tried = [&]<typename Kind>(const Kind*) {
    const auto *one = dynamic_cast<const Kind*>(&p), *other = dynamic_cast<const Kind*>(&q);
    if (one && other) found = kl(*one, *other);
  };
  (tried(static_cast<const Kinds*>(nullptr)), ...);
  return found;
}

}  // namespace

Tensor kl_divergence(const Distribution& p, const Distribution& q) {
  const Tensor found = of_one_kind<Normal, Uniform, Bernoulli, Categorical, Gamma, Beta, Dirichlet>(p, q);
  if (!found.defined())
    base::fail("kl_divergence",
               "there is no closed form of {} and {}; take the mean of p.log_prob(x) - q.log_prob(x) over "
               "draws of p",
               p.name(), q.name());
  return found;
}

}  // namespace tenon::distributions
