// A minibatch travels as one stretch of numbers: an upload, and views of it inside the captured step, instead of five.
// Actions are drawn on the host, whose stream of chance is saved with the agent.

#include "tenon/rl/ppo.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tenon/rl/captured.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/refill.h"

namespace tenon::rl {
namespace {

using base::fail;

const double kLogRoot = 0.5 * std::log(2 * std::numbers::pi);

PpoOptions checked_ppo(const PpoOptions& options, size_t environments) {
  const auto require_count = [](int64_t value, int64_t most, std::string_view what) {
    if (value < 1 || value > most) fail("ppo", "{} is 1 to {}, not {}", what, most, value);
  };
  const auto require_share = [](double value, std::string_view what) {
    if (!(value >= 0 && value <= 1)) fail("ppo", "{} is 0 to 1, not {}", what, value);
  };
  require_count(options.steps, 1'000'000, "the number of steps");
  require_count(options.epochs, 10'000, "the number of epochs");
  const auto all = options.steps * static_cast<int64_t>(environments);
  require_count(options.minibatches, all, "the number of minibatches");
  if (all % options.minibatches != 0)
    fail("ppo", "{} steps of {} environments do not make {} minibatches of one size", options.steps, environments,
         options.minibatches);
  if (!(options.lr > 0 && options.lr <= 1)) fail("ppo", "a learning rate is above 0 and at most 1, not {}", options.lr);
  require_share(options.discount, "discount");
  require_share(options.trace, "trace");
  if (!(options.clip > 0 && options.clip < 1)) fail("ppo", "clip lies between 0 and 1, not at {}", options.clip);
  for (const double weight : {options.entropy, options.value}) {
    if (!(weight >= 0 && std::isfinite(weight))) fail("ppo", "weights of the loss are 0 or more, not {}", weight);
  }
  if (!(options.max_norm > 0)) fail("ppo", "the norm of gradients is bounded above 0, not by {}", options.max_norm);
  return options;
}

}  // namespace

Ppo::Ppo(Environments& environments, const PpoOptions& options)
    : Agent(environments, options.device),
      options_(checked_ppo(options, environments.size())),
      choices_(environments.actions().is_discrete() ? environments.actions().count : environments.actions().size),
      width_(choices_),
      outputs_(compile([this](const Tensor& observations) { return outputs(observations); }, kReadsArgumentsAlone)),
      step_(compile([this](const Tensor& batch) { return step(batch); }, kReadsArgumentsAlone)) {
  random_ = Random(options.seed, kOfAgent);
  manual_seed(options.seed);
  add_layers(policy_, environments.observation_size(), options.hidden, choices_, true, 0.01);
  add_layers(value_, environments.observation_size(), options.hidden, 1, true, 1.0);
  policy_.to(device_);
  value_.to(device_);
  std::vector<Tensor> learned = policy_.parameters();
  const std::vector<Tensor> of_value = value_.parameters();
  learned.insert(learned.end(), of_value.begin(), of_value.end());
  if (!environments.actions().is_discrete()) {
    log_deviation_ = zeros({choices_}, Options(DType::f32, device_));
    log_deviation_.requires_grad_();
    learned.push_back(log_deviation_);
  }
  adam_ = std::make_unique<optim::Adam>(learned, optim::AdamOptions{.lr = options.lr, .eps = 1e-5});

  const int64_t batch = options.steps * static_cast<int64_t>(rows()) / options.minibatches;
  const auto take = [&](int64_t count) { return std::exchange(layout_.size, layout_.size + count); };
  layout_.observations = take(batch * environments.observation_size());
  layout_.actions = take(batch * width_);
  layout_.likelihoods = take(batch);
  layout_.advantages = take(batch);
  layout_.returns = take(batch);
  sent_.resize(static_cast<size_t>(layout_.size));
  sent_there_ = sent(sent_, {layout_.size}, device_);
}

// Outputs of the policy, then the value, a row each; deviations follow in a last row.
Tensor Ppo::outputs(const Tensor& observations) {
  const NoGrad playing;
  return cat({policy_(observations), value_(observations)}, 1);
}

// The logarithm of how likely the policy was to take these actions; and its entropy.
Tensor Ppo::likelihoods(const Tensor& outputs, const Tensor& actions, Tensor& entropy) const {
  if (!log_deviation_.defined()) {
    const Tensor logs = log_softmax(outputs, 1);
    entropy = -(logs.exp() * logs).sum(1).mean();
    return (logs * actions).sum(1);
  }
  const Tensor away = (actions - outputs) * (-log_deviation_).exp();
  entropy = (log_deviation_ + (0.5 + kLogRoot)).sum();
  return (away.square() * -0.5 - log_deviation_ - kLogRoot).sum(1);
}

Tensor Ppo::step(const Tensor& batch) {
  const int64_t count = options_.steps * static_cast<int64_t>(rows()) / options_.minibatches;
  const auto rows_at = [&](int64_t at, int64_t columns) {
    return batch.slice(0, at, at + count * columns).reshape({count, columns});
  };
  const auto column_at = [&](int64_t at) { return batch.slice(0, at, at + count); };
  const Tensor observations = rows_at(layout_.observations, static_cast<int64_t>(columns()));
  const Tensor advantages = column_at(layout_.advantages);
  Tensor entropy;
  const Tensor now = likelihoods(policy_(observations), rows_at(layout_.actions, width_), entropy);
  const Tensor ratio = (now - column_at(layout_.likelihoods)).exp();
  const Tensor bounded = clamp(ratio, 1 - options_.clip, 1 + options_.clip);
  const Tensor gain = minimum(ratio * advantages, bounded * advantages).mean();
  const Tensor wrong = (value_(observations).squeeze(1) - column_at(layout_.returns)).square().mean();
  Tensor loss = wrong * options_.value - gain - entropy * options_.entropy;
  loss.backward();
  adam_->clip_grad_norm(options_.max_norm);
  adam_->step();
  adam_->zero_grad();
  return loss.detach();
}

std::span<const float> Ppo::outputs_of(std::span<const float> observations) {
  for (const float one : observations) {
    if (!std::isfinite(one)) fail("ppo", "an observation holds {}; it holds finite numbers", one);
  }
  const auto count = static_cast<int64_t>(observations.size() / columns());
  const Dims shape{count, static_cast<int64_t>(columns())};
  if (!observations_there_.defined() || observations_there_.shape() != shape)
    observations_there_ = from_bytes(std::as_bytes(observations), shape, Options(DType::f32, device_));
  else
    refill(observations_there_, std::as_bytes(observations));
  last_outputs_.resize(static_cast<size_t>(count * (choices_ + 1)));
  read<float>(outputs_(observations_there_), last_outputs_);
  for (const float one : last_outputs_) {
    if (!std::isfinite(one)) throw Diverged("[ppo] what the policy says is not finite any more; lower lr");
  }
  return last_outputs_;
}

// Draws an action; returns the logarithm of how likely it was. What is kept of it is what is sent to learn from.
double Ppo::draw(std::span<const float> outputs, std::span<float> action) {
  const auto count = static_cast<size_t>(choices_);
  if (environments_.actions().is_discrete()) {
    const double most = *std::max_element(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(count));
    double all = 0;
    for (size_t i = 0; i < count; ++i) all += std::exp(outputs[i] - most);
    double left = random_.uniform() * all;
    size_t chosen = 0;
    for (; chosen + 1 < count; ++chosen) {
      left -= std::exp(outputs[chosen] - most);
      if (left < 0) break;
    }
    std::ranges::fill(action, 0.0F);
    action[chosen] = 1;
    return outputs[chosen] - most - std::log(all);
  }
  double likelihood = 0;
  for (size_t i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random_.uniform());
    const double deviation = std::exp(deviations_[i]);
    action[i] = static_cast<float>(outputs[i] + deviation * normal);
    likelihood += -0.5 * normal * normal - deviations_[i] - kLogRoot;
  }
  return likelihood;
}

void Ppo::play() {
  const Actions& actions = environments_.actions();
  const size_t count = rows(), all = count * static_cast<size_t>(options_.steps), width = static_cast<size_t>(width_);
  stretch_.observations.resize(all * columns());
  stretch_.actions.resize(all * width);
  for (auto* of : {&stretch_.likelihoods, &stretch_.rewards, &stretch_.advantages, &stretch_.returns}) of->resize(all);
  stretch_.values.resize(all + count);
  stretch_.ends.resize(all);
  if (!actions.is_discrete()) deviations_ = log_deviation_.to_vector<float>();
  std::vector<float> taken(count * static_cast<size_t>(actions.width()));
  for (size_t t = 0; t <= static_cast<size_t>(options_.steps); ++t) {
    const std::span<const float> outputs = outputs_of(environments_.observations());
    for (size_t i = 0; i < count; ++i)
      stretch_.values[t * count + i] = outputs[(i + 1) * static_cast<size_t>(choices_ + 1) - 1];
    if (t == static_cast<size_t>(options_.steps)) break;
    std::ranges::copy(environments_.observations(), stretch_.observations.begin() + static_cast<ptrdiff_t>(t * count * columns()));
    for (size_t i = 0; i < count; ++i) {
      const size_t at = t * count + i;
      const std::span<float> action = std::span(stretch_.actions).subspan(at * width, width);
      stretch_.likelihoods[at] = draw(outputs.subspan(i * static_cast<size_t>(choices_ + 1)), action);
      if (actions.is_discrete()) {
        taken[i] = static_cast<float>(std::ranges::max_element(action) - action.begin());
        continue;
      }
      for (size_t k = 0; k < width; ++k) taken[i * width + k] = std::clamp(action[k], actions.low, actions.high);
    }
    environments_.step(taken);
    const std::span<const Outcome> outcomes = environments_.outcomes();
    // An episode that is cut off would have gone on: what comes after is worth what the value says.
    const bool any_cut = std::ranges::any_of(outcomes, [](const Outcome& one) { return one.truncated && !one.terminated; });
    const std::span<const float> after = any_cut ? outputs_of(environments_.next()) : std::span<const float>();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = t * count + i;
      stretch_.rewards[at] = outcomes[i].reward;
      stretch_.ends[at] = outcomes[i].ends();
      if (outcomes[i].truncated && !outcomes[i].terminated)
        stretch_.rewards[at] += options_.discount * after[(i + 1) * static_cast<size_t>(choices_ + 1) - 1];
    }
  }
}

// How much better each action went than expected (Schulman et al. 2016), and what each observation turned out to be worth.
void Ppo::weigh() {
  const size_t count = rows(), steps = static_cast<size_t>(options_.steps);
  for (size_t i = 0; i < count; ++i) {
    double advantage = 0;
    for (size_t t = steps; t-- > 0;) {
      const size_t at = t * count + i;
      const double goes_on = stretch_.ends[at] != 0 ? 0 : options_.discount;
      const double surprise = stretch_.rewards[at] + goes_on * stretch_.values[at + count] - stretch_.values[at];
      advantage = surprise + goes_on * options_.trace * advantage;
      stretch_.advantages[at] = advantage;
      stretch_.returns[at] = advantage + stretch_.values[at];
    }
  }
}

void Ppo::learn() {
  const size_t all = stretch_.rewards.size(), batch = all / static_cast<size_t>(options_.minibatches);
  const size_t width = static_cast<size_t>(width_);
  std::vector<size_t> order(all);
  std::iota(order.begin(), order.end(), size_t{0});
  for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
    for (size_t i = all - 1; i > 0; --i) std::swap(order[i], order[random_.below(static_cast<uint32_t>(i + 1))]);
    for (size_t begin = 0; begin < all; begin += batch) {
      const std::span<const size_t> places = std::span(order).subspan(begin, batch);
      double mean = 0, square = 0;
      for (const size_t at : places) mean += stretch_.advantages[at] / static_cast<double>(batch);
      for (const size_t at : places)
        square += (stretch_.advantages[at] - mean) * (stretch_.advantages[at] - mean) / static_cast<double>(batch);
      const double scale = 1 / (std::sqrt(square) + 1e-8);
      float* to = sent_.data();
      for (size_t i = 0; i < batch; ++i) {
        const size_t at = places[i];
        std::copy_n(stretch_.observations.data() + at * columns(), columns(), to + layout_.observations + i * columns());
        std::copy_n(stretch_.actions.data() + at * width, width, to + layout_.actions + i * width);
        to[layout_.likelihoods + i] = static_cast<float>(stretch_.likelihoods[at]);
        to[layout_.advantages + i] = static_cast<float>((stretch_.advantages[at] - mean) * scale);
        to[layout_.returns + i] = static_cast<float>(stretch_.returns[at]);
      }
      refill(sent_there_, std::as_bytes(std::span(sent_)));
      loss_ = step_(sent_there_);
    }
  }
}

int64_t Ppo::round() {
  play();
  weigh();
  learn();
  return options_.steps * static_cast<int64_t>(rows());
}

double Ppo::loss() const { return loss_.defined() ? loss_.item<float>() : std::numeric_limits<double>::quiet_NaN(); }

void Ppo::act(std::span<const float> observations, std::span<float> actions) {
  const Actions& kind = environments_.actions();
  const size_t count = observations.size() / columns(), width = static_cast<size_t>(kind.width());
  if (observations.size() != count * columns() || actions.size() != count * width)
    fail("ppo", "{} numbers of observations and room for {} of actions; a row is {} and {}", observations.size(),
         actions.size(), columns(), width);
  if (count == 0) return;
  const std::span<const float> outputs = outputs_of(observations);
  for (size_t i = 0; i < count; ++i) {
    const std::span<const float> row = outputs.subspan(i * static_cast<size_t>(choices_ + 1), static_cast<size_t>(choices_));
    if (kind.is_discrete()) {
      actions[i] = static_cast<float>(std::ranges::max_element(row) - row.begin());
      continue;
    }
    for (size_t k = 0; k < width; ++k) actions[i * width + k] = std::clamp(row[k], kind.low, kind.high);
  }
}

std::vector<std::pair<std::string, nn::Module*>> Ppo::networks() { return {{"policy", &policy_}, {"value", &value_}}; }

NamedTensors Ppo::state() const {
  NamedTensors state = Agent::state();
  add_part(state, "policy", policy_.state_dict());
  add_part(state, "value", value_.state_dict());
  add_part(state, "optimizer", adam_->state_dict());
  if (log_deviation_.defined()) state.emplace("log_deviation", log_deviation_.detach());
  return state;
}

void Ppo::load(const NamedTensors& state) {
  require_finite(state);
  if (log_deviation_.defined() && find(state, "log_deviation").shape() != log_deviation_.shape())
    fail("ppo", "log_deviation of the saved state is of another agent");
  const NamedTensors before = this->state();
  NamedTensors kept;
  for (const auto& [name, tensor] : before) kept.emplace(name, tensor.clone().eval());
  const auto take = [&](const NamedTensors& from) {
    policy_.load_state_dict(part(from, "policy"));
    value_.load_state_dict(part(from, "value"));
    adam_->load_state_dict(part(from, "optimizer"));
    Agent::load(from);
    const NoGrad copying;
    if (log_deviation_.defined()) log_deviation_.copy_(find(from, "log_deviation"));
  };
  try {
    take(state);
  } catch (...) {
    take(kept);
    throw;
  }
}

}  // namespace tenon::rl
