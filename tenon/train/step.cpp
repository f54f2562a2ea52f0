// Everything a step needs to know lies on the device, so that a replay reads nothing back.

#include "tenon/train/step.h"

#include "tenon/base/error.h"
#include "tenon/base/nan_check.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::train {
namespace {

// Clipping gives the norm that metrics show; where nothing is clipped it is asked for with a limit that nothing
// reaches.
constexpr double kNoLimit = 1e30;
constexpr int64_t kIgnored = -100;

Tensor home(DType dtype, Device device) { return zeros({}, Options(dtype, device)).clone().eval(); }

}  // namespace

DType product_dtype(const Config& config) {
  const std::string& precision = config.training.precision;
  return precision == "bf16" ? DType::bf16 : precision == "f16" ? DType::f16 : DType::f32;
}

// Of the tokens to be told, eight in ten become the mask, one another token, and one stays (Devlin et al., 2018): the
// model cannot know which of those it sees are right.
Tensor LossOf::operator()(const Tensor& ids, const Tensor& targets, Generator* dice) const {
  const models::LossOptions options{.ignore_index = kIgnored, .chunk = config_.training.loss_chunk};
  if (config_.training.method == "autoregressive") return model_.loss(ids, targets, options);
  const Options real(DType::f32, ids.device());
  const int64_t mask = model_.vocabulary() - 1;
  const Tensor chance = rand(ids.shape(), real, dice), how = rand(ids.shape(), real, dice);
  // At least one token is told, though the batch be small: there is no mean of none.
  const Tensor is_told = logical_or(chance < config_.training.mask_fraction, chance == amin(chance));
  const Tensor any = floor(rand(ids.shape(), real, dice) * static_cast<double>(mask)).to(ids.dtype());
  const Tensor shown = where(how < 0.8, full_like(ids, mask), where(how < 0.9, any, ids));
  Tensor given = where(is_told, shown, ids);
  set_known_range(given, 0, mask, false);
  return model_.loss(given, where(is_told, ids, full_like(ids, kIgnored)), options);
}

TrainingStep::TrainingStep(const Config& config, models::CausalLm& model, optim::Optimizer& optimizer)
    : config_(config), model_(model), optimizer_(optimizer), loss_of_(config, model) {
  const Device device(config.device.name);
  loss_sum_ = home(DType::f32, device);
  steps_ = home(DType::i32, device);
  norm_ = home(DType::f32, device);
  broken_ = home(DType::boolean, device);
  const DType dtype = product_dtype(config);
  if (dtype == DType::f16) scaler_.emplace(optim::GradScalerOptions{}, device);
  if (dtype != DType::f32) optimizer_.keep_shadow(dtype);
  if (config.training.capture) {
    captured_ = std::make_unique<Compiled<std::vector<Tensor>, 2>>(
        [this](std::span<const Tensor> given) { return update(given[0], given[1]); });
  }
}

TrainingStep::~TrainingStep() = default;

std::vector<Tensor> TrainingStep::update(const Tensor& ids, const Tensor& targets) {
  const DType dtype = product_dtype(config_);
  optim::GradScaler* scaler = scaler_ ? &*scaler_ : nullptr;
  const int64_t parts = config_.training.micro_batches, rows = ids.size(0) / parts;
  Tensor loss;
  for (int64_t part = 0; part < parts; ++part) {
    std::optional<Autocast> lower;
    if (dtype != DType::f32) lower.emplace(dtype);
    Tensor own = loss_of_(ids.narrow(0, part * rows, rows), targets.narrow(0, part * rows, rows));
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
  loss_sum_.add_(loss);
  steps_.add_(counts);
  norm_.copy_(norm);
  if (!captured_ || base::checks_nan()) eval({loss_sum_, steps_, norm_, broken_});
  return {loss};
}

std::pair<Tensor, Tensor> TrainingStep::upload(const data::Batch& batch) const {
  const Dims shape{batch.rows(), batch.length};
  const Options options(DType::i32, Device(config_.device.name));
  Tensor ids = from_vector(batch.inputs, shape, options), targets = from_vector(batch.targets, shape, options);
  return {ids, targets};
}

void TrainingStep::run(const data::Batch& batch) {
  const auto [ids, targets] = upload(batch);
  if (captured_)
    (*captured_)(ids, targets);
  else
    update(ids, targets);
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
std::string TrainingStep::explain(const data::Batch& batch) {
  const base::NanCheck looking;
  const auto [ids, targets] = upload(batch);
  const int64_t parts = config_.training.micro_batches, rows = ids.size(0) / parts;
  std::string found;
  try {
    for (int64_t part = 0; part < parts && found.empty(); ++part) {
      std::optional<Autocast> lower;
      if (product_dtype(config_) != DType::f32) lower.emplace(product_dtype(config_));
      Tensor loss = loss_of_(ids.narrow(0, part * rows, rows), targets.narrow(0, part * rows, rows));
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
  if (!scaler_) return;
  std::map<std::string, Tensor> scaler;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with("scaler.")) scaler[name.substr(7)] = tensor;
  }
  scaler_->load_state_dict(scaler);
}

}  // namespace tenon::train
