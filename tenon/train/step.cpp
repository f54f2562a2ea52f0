// Everything a step needs to know lies on the device, so that a replay reads nothing back.

#include "tenon/train/step.h"

#include "tenon/base/error.h"
#include "tenon/base/nan_check.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::train {
namespace {

// Clipping gives the norm that metrics show; where nothing is clipped it is asked for with a limit that nothing
// reaches.
constexpr double kNoLimit = 1e30;

Tensor home(DType dtype, Device device) { return zeros({}, Options(dtype, device)).clone().eval(); }

// The type that products take their operands in.
DType product_dtype(const Config& config) {
  const std::string& precision = config.training.precision;
  return precision == "bf16" ? DType::bf16 : precision == "f16" ? DType::f16 : DType::f32;
}

}  // namespace

ProductPrecision::ProductPrecision(const Config& config) : tf32_(config.training.precision == "tf32") {
  if (const DType dtype = product_dtype(config); dtype != DType::f32) lower_.emplace(dtype);
}

TrainingStep::TrainingStep(const Config& config, nn::Module& model, LossFunction loss, optim::Optimizer& optimizer)
    : config_(config), model_(model), loss_(std::move(loss)), optimizer_(optimizer) {
  const Device device(config.device.name);
  loss_sum_ = home(DType::f32, device);
  steps_ = home(DType::i32, device);
  norm_ = home(DType::f32, device);
  broken_ = home(DType::boolean, device);
  const DType dtype = product_dtype(config);
  if (dtype == DType::f16) scaler_.emplace(optim::GradScalerOptions{}, device);
  if (dtype != DType::f32) optimizer_.keep_shadow(dtype);
  if (config.optimizer.average > 0) {
    const NoGrad copying;
    const nn::StateDict saved = model.state_dict();
    for (const auto& [name, tensor] : model.named_buffers()) {
      if (is_float(tensor.dtype()) && saved.contains(name)) statistics_[name] = tensor;
    }
    for (const auto& [name, tensor] : statistics_) averages_[name] = tensor.clone().eval();
  }
  if (config.training.capture) captured_.emplace([this](std::span<const Tensor> batch) { return update(batch); });
}

TrainingStep::~TrainingStep() = default;

Tensor TrainingStep::loss_of_part(std::span<const Tensor> batch, int64_t part) const {
  const int64_t rows = batch[0].size(0) / config_.training.micro_batches;
  std::vector<Tensor> own;
  for (const Tensor& tensor : batch) own.push_back(tensor.narrow(0, part * rows, rows));
  return loss_(own);
}

std::vector<Tensor> TrainingStep::update(std::span<const Tensor> batch) {
  optim::GradScaler* scaler = scaler_ ? &*scaler_ : nullptr;
  const int64_t parts = config_.training.micro_batches;
  Tensor loss;
  for (int64_t part = 0; part < parts; ++part) {
    const ProductPrecision products(config_);
    Tensor own = loss_of_part(batch, part);
    if (parts > 1) own = own / static_cast<double>(parts);
    (scaler ? scaler->scale(own) : own).backward();
    loss = loss.defined() ? loss + own.detach() : own.detach();
  }
  const double limit = config_.training.clip_norm > 0 ? config_.training.clip_norm : kNoLimit;
  const Tensor norm = optimizer_.clip_grad_norm(limit, scaler);
  const NoGrad counting;
  Tensor is_applied, counts = ones_like(steps_);
  if (config_.training.check_finite) {
    // With a loss scale, gradients that are not finite are part of the game.
    const Tensor is_finite = scaler ? isfinite(loss) : logical_and(isfinite(loss), isfinite(norm));
    is_applied = logical_and(is_finite, logical_not(broken_));
    broken_.copy_(logical_not(is_applied));
    counts = is_applied.to(steps_.dtype());
  }
  optimizer_.step(scaler, is_applied);
  optimizer_.zero_grad();
  move_averages(is_applied);
  loss_sum_.add_(loss);
  steps_.add_(counts);
  norm_.copy_(norm);
  if (!captured_ || base::checks_nan()) {
    std::vector<Tensor> written = model_.buffers();  // running means and the like, which nothing else asks for
    written.insert(written.end(), {loss_sum_, steps_, norm_, broken_});
    for (const auto& [name, average] : averages_) written.push_back(average);
    eval(written);
  }
  return {loss};
}

// By the decay of the weights' means. Statistics begin at 0 and 1 and are themselves means, so theirs begin there, too.
void TrainingStep::move_averages(const Tensor& is_applied) {
  const double share = 1 - config_.optimizer.average;
  for (auto& [name, average] : averages_) {
    const Tensor next = average + (statistics_.at(name) - average) * share;
    average.copy_(is_applied.defined() ? where(is_applied, next, average) : next);
  }
}

void TrainingStep::swap_average() {
  if (config_.optimizer.average == 0) return;
  optimizer_.swap_average();
  const NoGrad swapping;
  std::vector<Tensor> written;
  for (auto& [name, average] : averages_) {
    Tensor statistic = statistics_.at(name);
    const Tensor aside = statistic.clone().eval();
    statistic.copy_(average);
    average.copy_(aside);
    written.insert(written.end(), {statistic, average});
  }
  eval(written);
}

void TrainingStep::run(std::span<const Tensor> batch) {
  if (captured_)
    captured_->call_for_one(batch);
  else
    update(batch);
}

TrainingStep::Look TrainingStep::look() {
  Look seen;
  const auto steps = steps_.item<int64_t>();
  seen.is_finite = is_finite();
  if (!seen.is_finite) return seen;  // and keep the count, which tells the bad step
  seen.loss = steps > 0 ? loss_sum_.item<double>() / static_cast<double>(steps) : 0;
  seen.gradient_norm = norm_.item<double>();
  if (scaler_) seen.loss_scale = scaler_->factor();
  const NoGrad clearing;
  loss_sum_.zero_();
  steps_.zero_();
  eval({loss_sum_, steps_});
  return seen;
}

// In the same parts as the update, so that the same random numbers meet the same tokens.
std::string TrainingStep::explain(std::span<const Tensor> batch) {
  const base::NanCheck looking;
  std::string found;
  try {
    for (int64_t part = 0; part < config_.training.micro_batches && found.empty(); ++part) {
      const ProductPrecision products(config_);
      Tensor loss = loss_of_part(batch, part);
      eval({loss});
      loss.backward();
      std::vector<Tensor> gradients;
      for (const Tensor& p : model_.parameters()) {
        if (p.grad().defined()) gradients.push_back(p.grad());
      }
      eval(gradients);
      found = overflowing_gradient();
    }
  } catch (const Error& error) {
    found = error.what();
  }
  model_.zero_grad();
  return found;
}

// An overflow alone makes no NaN: one of a gradient, or of the squares that their norm sums.
std::string TrainingStep::overflowing_gradient() const {
  constexpr double kMostSquared = 1e18;
  for (const nn::NamedTensor& one : model_.named_parameters()) {
    if (!one.tensor.grad().defined()) continue;
    const auto largest = abs(one.tensor.grad()).amax({}).item<double>();
    if (largest > kMostSquared)
      return fmt::format("the gradient of {} reaches {:.1e}, too much for the norm of all", one.name, largest);
  }
  return {};
}

std::map<std::string, Tensor> TrainingStep::state() const {
  std::map<std::string, Tensor> state{{"loss_sum", loss_sum_}, {"steps", steps_}, {"norm", norm_}};
  if (scaler_) {
    for (const auto& [name, tensor] : scaler_->state_dict()) state["scaler." + name] = tensor;
  }
  for (const auto& [name, average] : averages_) state["average." + name] = average;
  return state;
}

void TrainingStep::load(const std::map<std::string, Tensor>& state) {
  const NoGrad loading;
  const auto take = [&](const char* name, Tensor& into) {
    const auto found = state.find(name);
    if (found == state.end()) base::fail("train", "the checkpoint lacks {}", name);
    into.copy_(found->second.to(into.dtype()));
  };
  take("loss_sum", loss_sum_);
  take("steps", steps_);
  take("norm", norm_);
  eval({loss_sum_, steps_, norm_});
  for (auto& [name, average] : averages_) {
    take(("average." + name).c_str(), average);
    average.eval();
  }
  if (!scaler_) return;
  std::map<std::string, Tensor> scaler;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with("scaler.")) scaler[name.substr(7)] = tensor;
  }
  scaler_->load_state_dict(scaler);
}

}  // namespace tenon::train
