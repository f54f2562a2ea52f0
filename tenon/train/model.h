// The model that a config describes, from nothing or from files.

#pragma once

#include <memory>

#include "tenon/models/causal_lm.h"
#include "tenon/nn/lora.h"
#include "tenon/train/config.h"

namespace tenon::training {

/// Tokens of the model: those of the tokenizer, one more as the mask where tokens are masked, or what the config says.
/// Fails with one line where the config's are fewer than the tokenizer's.
int64_t model_vocabulary(const Config& config, int64_t tokenizer_vocabulary);

/// A model with initial values, or that of model.init_from; with corrections where the mode is lora.
std::unique_ptr<models::CausalLm> make_model(const Config& config, int64_t vocabulary);

/// Takes the sizes of the model in model.init_from, if there is one, into the config. Sizes that were asked for and are
/// not the model's are refused.
void take_initial_model(Config& config);

nn::LoraOptions lora_options(const Config& config);
std::vector<std::string> lora_targets(const Config& config);

}  // namespace tenon::training
