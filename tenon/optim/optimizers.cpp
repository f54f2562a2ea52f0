// Every rule is plain tensor code over an arena; the planner makes it one kernel.

#include "tenon/optim/optimizers.h"

#include <cmath>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::optim {
namespace {

void require_share(std::string_view op, std::string_view name, double value) {
  if (!(value >= 0 && value < 1)) base::fail(op, "{} must lie in 0..1, got {}", name, value);
}
void require_not_negative(std::string_view op, std::string_view name, double value) {
  if (!(value >= 0)) base::fail(op, "{} must not be negative, got {}", name, value);
}

// 1 - beta^step. On the device and in f32 the power itself would lose all digits for beta near 1.
Tensor correction(const Operand& log_of_beta, const Tensor& step) {
  const bool is_of_zero = !log_of_beta.is_tensor() && std::isinf(log_of_beta.number().as_double());
  return is_of_zero ? step * 0.0 + 1.0 : -expm1(step * log_of_beta);
}

Tensor with_decay(const Tensor& gradient, const Tensor& weights, const Operand& decay, bool decays) {
  return decays ? gradient + weights * decay : gradient;
}

// How long the steps of RAdam's mean of squares are so far: rho = 2 / (1 - beta) - 1 - 2 n beta^n / (1 - beta^n). In
// the first steps that is a small difference of numbers near 2 / (1 - beta), which f32 has no digits for: with u = -n
// log(beta) it is n - 1 plus a number of the program, less u coth(u / 2) - 2 over -log(beta), and for small u that is a
// series.
Tensor length_of_mean(double beta, const Tensor& step) {
  if (beta == 0) return step * 0.0 + 1.0;
  const double rate = -std::log(beta);
  const Tensor u = step * rate, squared = square(u);
  const Tensor series =
      squared * (squared * (squared * (squared * (-1.0 / 1209600) + 1.0 / 30240) - 1.0 / 720) + 1.0 / 12);
  const Tensor whole = u * 0.5 / tanh(u * 0.5) - 1.0;
  const double border = step.dtype() == DType::f64 ? 0.02 : 0.5;  // below it the series is exact to the last digits
  return step + (2 / (1 - beta) - 2 / rate - 1) - where(u < border, series, whole) * (2 / rate);
}

}  // namespace

SGD::SGD(std::vector<ParamGroup> groups, const SgdOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.momentum},
                options.momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{}),
      options_(options) {
  require_not_negative("sgd", "momentum", options.momentum);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    base::fail("sgd", "nesterov takes a momentum and no dampening");
}

void SGD::set_momentum(double momentum) {
  Optimizer::set_momentum(momentum);
  if (!has_moments() && momentum != 0) add_moment("momentum_buffer");
}

Tensor SGD::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  if (moments.empty()) return now.weights - g * now.lr;
  Tensor next = moments[0] * now.momentum.share + g * (1 - options_.dampening);
  if (options_.dampening != 0) next = where(now.step == 1, g, next);  // the first gradient is taken whole
  moments[0] = next;
  return now.weights - (options_.nesterov ? g + next * now.momentum.share : next) * now.lr;
}

Adam::Adam(std::vector<ParamGroup> groups, const AdamOptions& options) : Adam(std::move(groups), options, false) {}

Adam::Adam(std::vector<ParamGroup> groups, const AdamOptions& options, bool decoupled)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.beta1},
                [&] {
                  std::vector<std::string> moments{"exp_avg", "exp_avg_sq"};
                  if (options.amsgrad) moments.push_back("max_exp_avg_sq");
                  return moments;
                }()),
      options_(options),
      decoupled_(decoupled) {
  require_share("adam", "beta1", options.beta1);
  require_share("adam", "beta2", options.beta2);
  require_not_negative("adam", "eps", options.eps);
}

Tensor Adam::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = decoupled_ ? now.gradient : with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  const Tensor mean = moments[0] * now.momentum.share + g * now.momentum.rest;
  const Tensor square = moments[1] * options_.beta2 + g * g * (1 - options_.beta2);
  moments[0] = mean;
  moments[1] = square;
  if (options_.amsgrad) moments[2] = maximum(moments[2], square);
  const Tensor rate = now.lr / correction(now.momentum.log, now.step);
  // Divided once by a number instead of element by element: divisions are what this kernel takes longest for.
  const Tensor spread =
      sqrt(moments.back()) * (1.0 / sqrt(correction(std::log(options_.beta2), now.step))) + options_.eps;
  const Tensor kept = decoupled_ && now.decays ? now.weights * (1 - now.lr * now.weight_decay) : now.weights;
  return kept - mean / spread * rate;
}

AdamW::AdamW(std::vector<ParamGroup> groups, const AdamWOptions& options)
    : Adam(std::move(groups),
           {options.lr, options.beta1, options.beta2, options.eps, options.weight_decay, options.amsgrad}, true) {}

RMSprop::RMSprop(std::vector<ParamGroup> groups, const RmspropOptions& options)
    : Optimizer(std::move(groups),
                {options.lr, options.weight_decay,
                 options.momentum > 0 ? std::optional<double>(options.momentum) : std::nullopt},
                [&] {
                  std::vector<std::string> moments{"square_avg"};
                  if (options.momentum > 0) moments.push_back("momentum_buffer");
                  if (options.centered) moments.push_back("grad_avg");
                  return moments;
                }()),
      options_(options) {
  require_share("rmsprop", "alpha", options.alpha);
  require_not_negative("rmsprop", "momentum", options.momentum);
  require_not_negative("rmsprop", "eps", options.eps);
}

Tensor RMSprop::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  moments[0] = moments[0] * options_.alpha + g * g * (1 - options_.alpha);
  Tensor variance = moments[0];
  if (options_.centered) {
    Tensor& mean = moments.back();
    mean = mean * options_.alpha + g * (1 - options_.alpha);
    variance = variance - mean * mean;
  }
  Tensor move = g / (sqrt(variance) + options_.eps);
  if (options_.momentum > 0) {
    moments[1] = moments[1] * now.momentum.share + move;
    move = moments[1];
  }
  return now.weights - move * now.lr;
}

Adagrad::Adagrad(std::vector<ParamGroup> groups, const AdagradOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay}, {"sum"}, options.initial_accumulator_value),
      options_(options) {
  require_not_negative("adagrad", "lr_decay", options.lr_decay);
  require_not_negative("adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  require_not_negative("adagrad", "eps", options.eps);
}

Tensor Adagrad::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  moments[0] = moments[0] + g * g;
  const Tensor rate = options_.lr_decay == 0 ? now.lr : now.lr / ((now.step - 1) * options_.lr_decay + 1);
  return now.weights - g / (sqrt(moments[0]) + options_.eps) * rate;
}

Adadelta::Adadelta(std::vector<ParamGroup> groups, const AdadeltaOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay}, {"square_avg", "acc_delta"}), options_(options) {
  require_share("adadelta", "rho", options.rho);
  require_not_negative("adadelta", "eps", options.eps);
}

Tensor Adadelta::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  moments[0] = moments[0] * options_.rho + g * g * (1 - options_.rho);
  const Tensor move = sqrt(moments[1] + options_.eps) / sqrt(moments[0] + options_.eps) * g;
  moments[1] = moments[1] * options_.rho + move * move * (1 - options_.rho);
  return now.weights - move * now.lr;
}

Adamax::Adamax(std::vector<ParamGroup> groups, const AdamaxOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.beta1}, {"exp_avg", "exp_inf"}),
      options_(options) {
  require_share("adamax", "beta1", options.beta1);
  require_share("adamax", "beta2", options.beta2);
  require_not_negative("adamax", "eps", options.eps);
}

Tensor Adamax::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor g = with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  moments[0] = moments[0] * now.momentum.share + g * now.momentum.rest;
  moments[1] = maximum(moments[1] * options_.beta2, abs(g) + options_.eps);
  return now.weights - moments[0] / moments[1] * (now.lr / correction(now.momentum.log, now.step));
}

NAdam::NAdam(std::vector<ParamGroup> groups, const NAdamOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.beta1},
                {"exp_avg", "exp_avg_sq", "log_mu_product"}),
      options_(options) {
  require_share("nadam", "beta1", options.beta1);
  require_share("nadam", "beta2", options.beta2);
  require_not_negative("nadam", "eps", options.eps);
  require_not_negative("nadam", "momentum_decay", options.momentum_decay);
}

// The product of all momenta so far is kept as its logarithm: 1 less it would lose its digits.
Tensor NAdam::update(const Update& now, std::vector<Tensor>& moments) const {
  const bool decouples = options_.decoupled_weight_decay;
  const Tensor g = decouples ? now.gradient : with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  const Tensor kept = decouples && now.decays ? now.weights * (1 - now.lr * now.weight_decay) : now.weights;
  moments[0] = moments[0] * now.momentum.share + g * now.momentum.rest;
  moments[1] = moments[1] * options_.beta2 + g * g * (1 - options_.beta2);
  const double slowing = options_.momentum_decay * std::log(0.96);
  const auto momentum_at = [&](const Tensor& step) { return (1 - exp(step * slowing) * 0.5) * now.momentum.share; };
  const Tensor here = momentum_at(now.step), next = momentum_at(now.step + 1);
  moments[2] = moments[2] + log(here);
  const Tensor spread = sqrt(moments[1] / correction(std::log(options_.beta2), now.step)) + options_.eps;
  const Tensor of_gradient = (1 - here) * now.lr / -expm1(moments[2]);
  const Tensor of_mean = next * now.lr / -expm1(moments[2] + log(next));
  return kept - (g * of_gradient + moments[0] * of_mean) / spread;
}

RAdam::RAdam(std::vector<ParamGroup> groups, const RAdamOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.beta1}, {"exp_avg", "exp_avg_sq"}),
      options_(options) {
  require_share("radam", "beta1", options.beta1);
  require_share("radam", "beta2", options.beta2);
  require_not_negative("radam", "eps", options.eps);
}

Tensor RAdam::update(const Update& now, std::vector<Tensor>& moments) const {
  const bool decouples = options_.decoupled_weight_decay;
  const Tensor g = decouples ? now.gradient : with_decay(now.gradient, now.weights, now.weight_decay, now.decays);
  const Tensor kept = decouples && now.decays ? now.weights * (1 - now.lr * now.weight_decay) : now.weights;
  moments[0] = moments[0] * now.momentum.share + g * now.momentum.rest;
  moments[1] = moments[1] * options_.beta2 + g * g * (1 - options_.beta2);
  const Tensor move = moments[0] * (now.lr / correction(now.momentum.log, now.step));
  // Below 5 steps the spread of the mean of squares is not bounded: it is left out.
  const double most = 2 / (1 - options_.beta2) - 1;
  const Tensor length = length_of_mean(options_.beta2, now.step), is_long = length > 5.0,
               safe = where(is_long, length, 5.0);
  const Tensor shortened = sqrt((safe - 4.0) * (safe - 2.0) / safe * (most / ((most - 4) * (most - 2))) *
                                correction(std::log(options_.beta2), now.step));
  return kept - where(is_long, move * shortened / (sqrt(moments[1]) + options_.eps), move);
}

Rprop::Rprop(std::vector<ParamGroup> groups, const RpropOptions& options)
    : Optimizer(std::move(groups), {options.lr, 0}, {"prev", "step_size"}), options_(options) {
  if (!(options.shrink > 0 && options.shrink < 1 && options.grow > 1))
    base::fail("rprop", "etas lie below and above 1, got {} and {}", options.shrink, options.grow);
  if (!(options.least_step >= 0 && options.least_step <= options.most_step))
    base::fail("rprop", "the least step is not negative and at most the largest, got {} and {}", options.least_step,
               options.most_step);
}

// A step size of 0 is that of a weight which has had no gradient yet.
Tensor Rprop::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor turned = sign(now.gradient * moments[0]);
  const Tensor factor = where(turned > 0, options_.grow, where(turned < 0, options_.shrink, ones_like(now.gradient)));
  moments[1] = clamp(where(moments[1] == 0, now.lr, moments[1]) * factor, options_.least_step, options_.most_step);
  moments[0] = where(turned < 0, 0.0, now.gradient);
  return now.weights - sign(moments[0]) * moments[1];
}

Lion::Lion(std::vector<ParamGroup> groups, const LionOptions& options)
    : Optimizer(std::move(groups), {options.lr, options.weight_decay, options.beta1}, {"exp_avg"}), options_(options) {
  require_share("lion", "beta1", options.beta1);
  require_share("lion", "beta2", options.beta2);
}

Tensor Lion::update(const Update& now, std::vector<Tensor>& moments) const {
  const Tensor move = sign(moments[0] * now.momentum.share + now.gradient * now.momentum.rest);
  moments[0] = moments[0] * options_.beta2 + now.gradient * (1 - options_.beta2);
  const Tensor kept = now.decays ? now.weights * (1 - now.lr * now.weight_decay) : now.weights;
  return kept - move * now.lr;
}

}  // namespace tenon::optim
