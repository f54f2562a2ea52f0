#include "tenon/rl/deep_q.h"

#include <algorithm>
#include <cmath>

#include "tenon/nn/losses.h"
#include "tenon/rl/captured.h"
#include "tenon/rl/diverged.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/refill.h"
#include "tenon/tensor/stats.h"

namespace tenon::rl {
namespace {

using base::fail;

DeepQOptions checked_deep_q(const DeepQOptions& options, const Environments& environments) {
  const auto require_count = [](int64_t value, int64_t least, int64_t most, std::string_view what) {
    if (value < least || value > most) fail("deep_q", "{} is {} to {}, not {}", what, least, most, value);
  };
  if (!environments.actions().is_discrete())
    fail("deep_q", "deep Q-learning chooses one of some actions, and these are {} real numbers; use Ppo",
         environments.actions().size);
  if (!(options.lr > 0 && options.lr <= 1)) fail("deep_q", "a learning rate is above 0 and at most 1, not {}", options.lr);
  if (!(options.discount >= 0 && options.discount <= 1))
    fail("deep_q", "a discount is 0 to 1, not {}", options.discount);
  require_count(options.batch, 1, 65536, "a batch");
  require_count(options.replay, 1, static_cast<int64_t>(kMostTransitions), "the number of transitions that are kept");
  require_count(options.learn_from, 0, int64_t{1} << 40, "learn_from");
  require_count(options.learn_every, 1, 1'000'000, "learn_every");
  require_count(options.renew_target_every, 1, int64_t{1} << 40, "renew_target_every");
  if (!(options.max_norm > 0)) fail("deep_q", "the norm of gradients is bounded above 0, not by {}", options.max_norm);
  options.exploration.at(0);  // which refuses what are no shares
  const double bytes = static_cast<double>(options.replay) * sizeof(float) *
                       (2.0 * static_cast<double>(environments.observation_size()) + 3);
  constexpr double kSmall = 64e6;  // asking what is free takes some 50 us
  const auto available = bytes > kSmall ? available_memory(Device("cpu")) : std::nullopt;
  if (available && bytes > static_cast<double>(*available))
    fail("deep_q", "{} transitions take {:.0f} MB and {} MB are free; lower replay", options.replay, bytes * 1e-6,
         *available / 1'000'000);
  return options;
}

}  // namespace

DeepQ::DeepQ(Environments& environments, const DeepQOptions& options)
    : Agent(environments, options.device),
      options_(checked_deep_q(options, environments)),
      choices_(environments.actions().count),
      values_(compile(
          [this](const Tensor& observations) {
            const NoGrad playing;
            return network_(observations);
          },
          kReadsArgumentsAlone)),
      step_(compile([this](const Tensor& batch) { return step(batch); }, kReadsArgumentsAlone)) {
  random_ = Random(options.seed, kOfAgent);
  manual_seed(options.seed);
  for (nn::Sequential* one : {&network_, &target_}) {
    add_layers(*one, environments.observation_size(), options.hidden, choices_, false, 1.0);
    one->to(device_);
  }
  adam_ = std::make_unique<optim::Adam>(network_.parameters(), optim::AdamOptions{.lr = options.lr});
  target_.requires_grad_(false);
  renew_target();

  const int64_t batch = options.batch;
  const auto take = [&](int64_t count) { return std::exchange(layout_.size, layout_.size + count); };
  layout_.observations = take(batch * environments.observation_size());
  layout_.next = take(batch * environments.observation_size());
  layout_.actions = take(batch * choices_);
  layout_.rewards = take(batch);
  layout_.discounts = take(batch);
  sent_.resize(static_cast<size_t>(layout_.size));
  sent_there_ = sent(sent_, {layout_.size}, device_);
  taken_.resize(rows());
}

void DeepQ::renew_target() {
  const NoGrad copying;
  const std::vector<Tensor> from = network_.parameters(), to = target_.parameters();
  for (size_t i = 0; i < to.size(); ++i) Tensor(to[i]).copy_(from[i]);
  eval(to);
}

Tensor DeepQ::step(const Tensor& batch) {
  const int64_t count = options_.batch, width = static_cast<int64_t>(columns());
  const auto rows_at = [&](int64_t at, int64_t columns) {
    return batch.slice(0, at, at + count * columns).reshape({count, columns});
  };
  const auto column_at = [&](int64_t at) { return batch.slice(0, at, at + count); };
  Tensor target;
  {
    const NoGrad fixed;
    const Tensor next = rows_at(layout_.next, width);
    const Tensor worth = options_.double_q ? gather(target_(next), 1, argmax(network_(next), 1, true)).squeeze(1)
                                           : amax(target_(next), 1);
    target = column_at(layout_.rewards) + column_at(layout_.discounts) * worth;
  }
  const Tensor values = (network_(rows_at(layout_.observations, width)) * rows_at(layout_.actions, choices_)).sum(1);
  Tensor loss = nn::smooth_l1_loss(values, target);
  loss.backward();
  adam_->clip_grad_norm(options_.max_norm);
  adam_->step();
  adam_->zero_grad();
  return loss.detach();
}

std::span<const float> DeepQ::values_of(std::span<const float> observations) {
  for (const float one : observations) {
    if (!std::isfinite(one)) fail("deep_q", "an observation holds {}; it holds finite numbers", one);
  }
  const auto count = static_cast<int64_t>(observations.size() / columns());
  const Dims shape{count, static_cast<int64_t>(columns())};
  if (!observations_there_.defined() || observations_there_.shape() != shape)
    observations_there_ = from_bytes(std::as_bytes(observations), shape, Options(DType::f32, device_));
  else
    refill(observations_there_, std::as_bytes(observations));
  last_values_.resize(static_cast<size_t>(count * choices_));
  read<float>(values_(observations_there_), last_values_);
  for (const float one : last_values_) {
    if (!std::isfinite(one)) throw Diverged("[deep_q] what actions are worth is not finite any more; lower lr");
  }
  return last_values_;
}

void DeepQ::act(std::span<const float> observations, std::span<float> actions) {
  const size_t count = observations.size() / columns();
  if (observations.size() != count * columns() || actions.size() != count)
    fail("deep_q", "{} numbers of observations and room for {} actions; a row is {} numbers", observations.size(),
         actions.size(), columns());
  if (count == 0) return;
  const std::span<const float> values = values_of(observations);
  const auto choices = static_cast<size_t>(choices_);
  for (size_t i = 0; i < count; ++i) {
    const std::span<const float> row = values.subspan(i * choices, choices);
    actions[i] = static_cast<float>(std::ranges::max_element(row) - row.begin());
  }
}

void DeepQ::play() {
  const double epsilon = options_.exploration.at(played_);
  std::vector<uint8_t> explores(rows());
  for (uint8_t& one : explores) one = static_cast<uint8_t>(random_.uniform() < epsilon);
  if (std::ranges::count(explores, 0) > 0) act(environments_.observations(), taken_);
  for (size_t i = 0; i < rows(); ++i) {
    if (explores[i] != 0) taken_[i] = static_cast<float>(random_.below(static_cast<uint32_t>(choices_)));
  }
  const std::vector<float> before(environments_.observations().begin(), environments_.observations().end());
  environments_.step(taken_);
  for (size_t i = 0; i < rows(); ++i) {
    if (kept_.count < options_.replay) {
      ++kept_.count;
      const auto count = static_cast<size_t>(kept_.count);
      for (auto* of : {&kept_.observations, &kept_.next}) of->resize(count * columns());
      for (auto* of : {&kept_.actions, &kept_.rewards, &kept_.discounts}) of->resize(count);
    }
    const auto at = static_cast<size_t>(kept_.position);
    const auto row = static_cast<ptrdiff_t>(at * columns());
    const Outcome& made = environments_.outcomes()[i];
    std::copy_n(before.begin() + static_cast<ptrdiff_t>(i * columns()), columns(), kept_.observations.begin() + row);
    std::copy_n(environments_.next().begin() + static_cast<ptrdiff_t>(i * columns()), columns(), kept_.next.begin() + row);
    kept_.actions[at] = taken_[i];
    kept_.rewards[at] = static_cast<float>(made.reward);
    kept_.discounts[at] = made.terminated ? 0.0F : static_cast<float>(options_.discount);
    kept_.position = (kept_.position + 1) % options_.replay;
  }
  played_ += static_cast<int64_t>(rows());
}

void DeepQ::learn() {
  float* to = sent_.data();
  std::fill(to + layout_.actions, to + layout_.rewards, 0.0F);
  for (size_t i = 0; i < static_cast<size_t>(options_.batch); ++i) {
    const size_t at = random_.below(static_cast<uint32_t>(kept_.count));
    std::copy_n(kept_.observations.data() + at * columns(), columns(), to + layout_.observations + i * columns());
    std::copy_n(kept_.next.data() + at * columns(), columns(), to + layout_.next + i * columns());
    to[layout_.actions + i * static_cast<size_t>(choices_) + static_cast<size_t>(kept_.actions[at])] = 1;
    to[layout_.rewards + i] = kept_.rewards[at];
    to[layout_.discounts + i] = kept_.discounts[at];
  }
  refill(sent_there_, std::as_bytes(std::span(sent_)));
  loss_ = step_(sent_there_);
  if (++learned_ % options_.renew_target_every == 0) renew_target();
}

int64_t DeepQ::round() {
  const int64_t before = played_;
  // As many steps as lie between two of learning, at least one in each environment.
  do {
    play();
  } while (played_ / options_.learn_every == before / options_.learn_every);
  if (played_ >= options_.learn_from && kept_.count >= options_.batch) {
    for (int64_t i = before / options_.learn_every; i < played_ / options_.learn_every; ++i) learn();
  }
  return played_ - before;
}

double DeepQ::loss() const { return loss_.defined() ? loss_.item<float>() : std::numeric_limits<double>::quiet_NaN(); }

NamedTensors DeepQ::state() const {
  NamedTensors state = Agent::state();
  add_part(state, "network", network_.state_dict());
  add_part(state, "target", target_.state_dict());
  add_part(state, "optimizer", adam_->state_dict());
  state.emplace("counts", saved(std::vector<int64_t>{played_, learned_, kept_.position}));
  const auto add = [&](const std::string& name, const std::vector<float>& numbers) {
    state.emplace("kept." + name, from_vector(numbers, {static_cast<int64_t>(numbers.size())}, Options(Device("cpu"))));
  };
  add("observations", kept_.observations);
  add("next", kept_.next);
  add("actions", kept_.actions);
  add("rewards", kept_.rewards);
  add("discounts", kept_.discounts);
  return state;
}

void DeepQ::load(const NamedTensors& state) {
  const std::vector<int64_t> counts = numbers(state, "counts", 3);
  require_counts("counts", counts);
  require_finite(state);
  Kept kept{.count = find(state, "kept.rewards").numel(), .position = counts[2]};
  if (kept.count > options_.replay || kept.position >= options_.replay ||
      (kept.count < options_.replay && kept.position != kept.count))
    fail("deep_q", "the saved replay holds {} transitions and goes on at {}, which does not fit one of {}", kept.count,
         kept.position, options_.replay);
  const auto take = [&](std::vector<float>& into, const std::string& name, size_t each) {
    const Tensor& from = find(state, "kept." + name);
    if (from.dtype() != DType::f32 || from.shape() != Dims{kept.count * static_cast<int64_t>(each)})
      fail("deep_q", "kept.{} of the saved state does not fit {} transitions", name, kept.count);
    into = from.to_vector<float>();
  };
  take(kept.observations, "observations", columns());
  take(kept.next, "next", columns());
  take(kept.actions, "actions", 1);
  take(kept.rewards, "rewards", 1);
  take(kept.discounts, "discounts", 1);
  for (const float action : kept.actions) {
    if (!(action >= 0 && action < static_cast<float>(choices_) && action == std::floor(action)))
      fail("deep_q", "the saved replay has an action {}; they are 0 to {}", action, choices_ - 1);
  }
  const NamedTensors before = this->state();
  NamedTensors own;
  for (const auto& [name, tensor] : before) own.emplace(name, tensor.clone().eval());
  const auto take_networks = [&](const NamedTensors& from) {
    network_.load_state_dict(part(from, "network"));
    target_.load_state_dict(part(from, "target"));
    adam_->load_state_dict(part(from, "optimizer"));
    Agent::load(from);
  };
  try {
    take_networks(state);
  } catch (...) {
    take_networks(own);
    throw;
  }
  kept_ = std::move(kept);
  played_ = counts[0];
  learned_ = counts[1];
}

}  // namespace tenon::rl
