// The table of optimizers: what a config calls each, the keys it reads, and how it is made. The choices of
// optimizer.kind, the conditions under which keys act, their texts in docs/config.md and in messages, and
// make_optimizer all come from it, so that a new update rule is its class and a row here.
//
// A header, because the table of config keys takes only names from it: what reads configs needs no tensors, and is
// linked without them by the fuzz targets.

#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/optim/optimizers.h"
#include "tenon/train/config.h"

namespace tenon::train {

/// What a rule does with optimizer.weight_decay times the weights.
enum class Decay : uint8_t {
  taken_from_weights,
  added_to_gradient,
};

/// Keys of the section that every optimizer reads are not listed: kind, lr, weight_decay and decay.
struct OptimizerRow {
  std::string_view name;
  std::vector<std::string_view> reads;
  Decay decay;
};

/// Calls visit(row, make) for each, in the order in which they are listed to users; make takes the groups of parameters
/// and the section of the config.
template <typename Visit>
void for_each_optimizer(Visit&& visit) {
  using Groups = std::vector<optim::ParamGroup>;
  using Section = OptimizerConfig;
  visit(OptimizerRow{"adamw", {"beta1", "beta2", "epsilon"}, Decay::taken_from_weights},
        [](Groups groups, const Section& o) {
          const optim::AdamWOptions options{
              .lr = o.lr, .beta1 = o.beta1, .beta2 = o.beta2, .eps = o.epsilon, .weight_decay = o.weight_decay};
          return std::make_unique<optim::AdamW>(std::move(groups), options);
        });
  visit(OptimizerRow{"adam", {"beta1", "beta2", "epsilon"}, Decay::added_to_gradient},
        [](Groups groups, const Section& o) {
          const optim::AdamOptions options{
              .lr = o.lr, .beta1 = o.beta1, .beta2 = o.beta2, .eps = o.epsilon, .weight_decay = o.weight_decay};
          return std::make_unique<optim::Adam>(std::move(groups), options);
        });
  visit(OptimizerRow{"sgd", {"momentum", "nesterov"}, Decay::added_to_gradient}, [](Groups groups, const Section& o) {
    const optim::SgdOptions options{
        .lr = o.lr, .momentum = o.momentum, .weight_decay = o.weight_decay, .nesterov = o.nesterov};
    return std::make_unique<optim::SGD>(std::move(groups), options);
  });
  visit(OptimizerRow{"rmsprop", {"epsilon", "momentum", "alpha"}, Decay::added_to_gradient},
        [](Groups groups, const Section& o) {
          const optim::RmspropOptions options{
              .lr = o.lr, .alpha = o.alpha, .eps = o.epsilon, .weight_decay = o.weight_decay, .momentum = o.momentum};
          return std::make_unique<optim::RMSprop>(std::move(groups), options);
        });
  visit(OptimizerRow{"adagrad", {"epsilon"}, Decay::added_to_gradient}, [](Groups groups, const Section& o) {
    const optim::AdagradOptions options{.lr = o.lr, .weight_decay = o.weight_decay, .eps = o.epsilon};
    return std::make_unique<optim::Adagrad>(std::move(groups), options);
  });
  visit(OptimizerRow{"lion", {"beta1", "beta2"}, Decay::taken_from_weights}, [](Groups groups, const Section& o) {
    const optim::LionOptions options{.lr = o.lr, .beta1 = o.beta1, .beta2 = o.beta2, .weight_decay = o.weight_decay};
    return std::make_unique<optim::Lion>(std::move(groups), options);
  });
}

}  // namespace tenon::train
