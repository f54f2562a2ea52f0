// The tensors of a checkpoint: weights ("model."), moments ("optimizer.") and counters ("step."). Of a model with
// low-rank additions only those are kept; the rest is in model.init_from.

#pragma once

#include <map>
#include <string>

#include "tenon/nn/module.h"
#include "tenon/optim/optimizer.h"
#include "tenon/train/step.h"

namespace tenon::train {

using NamedTensors = std::map<std::string, Tensor>;

/// What changes in a step.
struct TrainedParts {
  nn::Module& model;
  optim::Optimizer& optimizer;
  TrainingStep& step;
};

NamedTensors tensors_to_save(const TrainedParts& parts);
/// Takes over what tensors_to_save gave; fails where it is of another model or optimizer.
void load_tensors(const TrainedParts& parts, const NamedTensors& saved);

/// The part of a name space: what begins with "model.", by the rest of its name.
NamedTensors with_prefix(const NamedTensors& saved, std::string_view prefix);

}  // namespace tenon::train
