// Normal, Uniform, Bernoulli and Categorical.

#include <cmath>
#include <numbers>

#include "tenon/distributions/shared.h"

namespace tenon::distributions {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kLogRootTau = 0.5 * std::log(2 * std::numbers::pi);

}  // namespace

// ---- Normal ----

Normal::Normal(const std::vector<Tensor>& parameters)
    : Distribution(parameters[0].shape(), {}), loc_(parameters[0]), scale_(parameters[1]) {}
Normal::Normal(const Operand& loc, const Operand& scale) : Normal(together("Normal", {loc, scale})) {
  require_positive("Normal", "scale", scale);
}

Tensor Normal::variance() const { return square(scale_); }

Tensor Normal::rsample(const Dims& shape, Generator* generator) const {
  return loc_ + scale_ * randn(drawn(shape), Options(loc_.dtype(), loc_.device()), generator);
}

Tensor Normal::log_prob(const Tensor& value) const {
  return square((value - loc_) / scale_) * -0.5 - log(scale_) - kLogRootTau;
}

Tensor Normal::entropy() const { return log(scale_) + (0.5 + kLogRootTau); }

// ---- Uniform ----

Uniform::Uniform(const std::vector<Tensor>& parameters)
    : Distribution(parameters[0].shape(), {}), low_(parameters[0]), high_(parameters[1]) {}
Uniform::Uniform(const Operand& low, const Operand& high) : Uniform(together("Uniform", {low, high})) {
  if (low.is_tensor() || high.is_tensor()) return;
  require("Uniform", "high", high, "above low", [&](double value) { return value > low.number().as_double(); });
}

Tensor Uniform::mean() const { return (low_ + high_) / 2; }
Tensor Uniform::variance() const { return square(high_ - low_) / 12; }

Tensor Uniform::rsample(const Dims& shape, Generator* generator) const {
  return low_ + (high_ - low_) * rand(drawn(shape), Options(low_.dtype(), low_.device()), generator);
}

Tensor Uniform::log_prob(const Tensor& value) const {
  return where(logical_and(ge(value, low_), lt(value, high_)), -log(high_ - low_), -kInfinity);
}

Tensor Uniform::entropy() const { return log(high_ - low_); }

// ---- Bernoulli ----

Bernoulli::Bernoulli(const std::vector<Tensor>& parameters, Given given)
    : Distribution(parameters[0].shape(), {}), parameter_(parameters[0]), given_(given) {}
Bernoulli::Bernoulli(const Operand& parameter, Given given) : Bernoulli(together("Bernoulli", {parameter}), given) {
  if (given == Given::probs)
    require("Bernoulli", "probs", parameter, "from 0 to 1", [](double value) { return value >= 0 && value <= 1; });
}

Tensor Bernoulli::probs() const { return given_ == Given::probs ? parameter_ : sigmoid(parameter_); }

Tensor Bernoulli::logits() const {
  if (given_ == Given::logits) return parameter_;
  const Tensor p = inside(parameter_);
  return log(p) - log1p(-p);
}

Tensor Bernoulli::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor Bernoulli::sample(const Dims& shape, Generator* generator) const {
  const NoGrad a_value;
  const Tensor p = probs().detach();
  return lt(rand(drawn(shape), Options(p.dtype(), p.device()), generator), p).to(p.dtype());
}

// The logarithm of sigmoid(x) is -softplus(-x).
Tensor Bernoulli::log_prob(const Tensor& value) const {
  const Tensor x = logits();
  return x * value - logaddexp(x, zeros_like(x));
}

Tensor Bernoulli::entropy() const {
  const Tensor x = logits();
  return logaddexp(x, zeros_like(x)) - x * probs();
}

// ---- Categorical ----

namespace {

Dims all_but_last(const char* op, const Tensor& parameter) {
  if (parameter.dim() < 1) base::fail(op, "takes a dim of categories, got a single number");
  if (!is_float(parameter.dtype())) base::fail(op, "takes real numbers, got {}", tenon::name(parameter.dtype()));
  return Dims(parameter.shape().begin(), parameter.shape().end() - 1);
}

}  // namespace

Categorical::Categorical(const Tensor& parameter, Given given)
    : Distribution(all_but_last("Categorical", parameter), {}) {
  if (given == Given::logits) {
    logits_ = log_softmax(parameter, -1);
    return;
  }
  require("Categorical", "probs", parameter, "0 or more", [](double value) { return value >= 0; });
  probs_ = parameter / parameter.sum({-1}, true);
  logits_ = log(inside(probs_));
}

Tensor Categorical::probs() const { return probs_.defined() ? probs_ : exp(logits_); }

// Categories have names, and no mean.
Tensor Categorical::mean() const {
  return full(batch_shape(), std::numeric_limits<double>::quiet_NaN(), Options(logits_.dtype(), logits_.device()));
}
Tensor Categorical::variance() const { return mean(); }

Tensor Categorical::sample(const Dims& shape, Generator* generator) const {
  const NoGrad a_value;
  const int64_t categories = logits_.size(-1);
  int64_t draws = 1;
  for (const int64_t size : shape) draws *= size;
  if (draws == 0) return zeros(drawn(shape), Options(DType::i64, logits_.device()));
  const Tensor rows = probs().detach().reshape({-1, categories});
  return multinomial(rows, draws, true, generator).t().reshape(drawn(shape));
}

Tensor Categorical::log_prob(const Tensor& value) const {
  const Tensor index = value.to(DType::i64).unsqueeze(-1);
  const Tensor both = logits_ + zeros(index.shape(), Options(logits_.dtype(), logits_.device()));
  Dims of_index = both.shape();
  of_index.back() = 1;
  return gather(both, -1, index.expand(of_index)).squeeze(-1);
}

Tensor Categorical::entropy() const {
  const Tensor finite = clamp(logits_, std::numeric_limits<float>::lowest(), {});
  return -(finite * probs()).sum({-1});
}

}  // namespace tenon::distributions
