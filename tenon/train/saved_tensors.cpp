// Names are those of the modules and of the optimizer's state, each behind the name of its part.

#include "tenon/train/saved_tensors.h"

#include "tenon/models/lora.h"

namespace tenon::train {
namespace {

bool is_addition(const std::string& name) { return name.find(".lora.") != std::string::npos; }

void add(NamedTensors& all, std::string_view prefix, const NamedTensors& part) {
  for (const auto& [name, tensor] : part) all[std::string(prefix) + name] = tensor;
}

}  // namespace

NamedTensors with_prefix(const NamedTensors& saved, std::string_view prefix) {
  NamedTensors part;
  for (const auto& [name, tensor] : saved) {
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  }
  return part;
}

NamedTensors tensors_to_save(const TrainedParts& parts) {
  NamedTensors all;
  const bool only_additions = models::has_lora(parts.model);
  for (const auto& [name, tensor] : parts.model.state_dict()) {
    if (!only_additions || is_addition(name)) all["model." + name] = tensor.detach();
  }
  add(all, "optimizer.", parts.optimizer.state_dict());
  add(all, "step.", parts.step.state());
  return all;
}

void load_tensors(const TrainedParts& parts, const NamedTensors& saved) {
  nn::StateDict weights = with_prefix(saved, "model.");
  if (models::has_lora(parts.model)) {
    for (const auto& [name, tensor] : parts.model.state_dict()) {
      if (!is_addition(name)) weights.emplace(name, tensor.detach());  // as model.init_from has them
    }
  }
  parts.model.load_state_dict(weights);
  parts.optimizer.load_state_dict(with_prefix(saved, "optimizer."));
  parts.step.load(with_prefix(saved, "step."));
}

}  // namespace tenon::train
