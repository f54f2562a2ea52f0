// LoRA for a whole model: freeze it, correct some of its layers, save the corrections alone.
//
//   auto model = models::Gpt2::load("gpt2");
//   models::attach_lora(*model, {"c_attn"}, {.rank = 8});
//   optim::AdamW optimizer(models::trainable(*model), {.lr = 1e-4});
//   ...
//   models::save_lora(*model, "adapter");  // a few hundred kilobytes, in the layout of Hugging Face's peft
//   models::merge_lora(*model);
//   model->save("tuned");

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/nn/lora.h"
#include "tenon/nn/module.h"

namespace tenon::models {

/// Freezes the model and gives every layer of one of these names ("c_attn", "q_proj") a correction. Fails with the
/// names there are when none fits.
void attach_lora(nn::Module& model, const std::vector<std::string>& targets, const nn::LoraOptions& options = {});
/// Adds all corrections to their weights; the model is an ordinary one afterwards, and trainable again.
void merge_lora(nn::Module& model);
/// Whether any layer has a correction.
///   models::has_lora(net);  // false
bool has_lora(const nn::Module& model);
/// Fails if there are corrections: what is saved as a whole model has none.
void require_merged(const nn::Module& model);

/// The parameters that require grad.
std::vector<Tensor> trainable(const nn::Module& model);

/// Writes adapter_config.json and adapter_model.safetensors.
void save_lora(const nn::Module& model, const std::filesystem::path& folder, const nn::LoraOptions& options);
/// attach_lora with what save_lora or peft has written.
///   auto model = models::Gpt2::load("models/gpt2");
///   models::load_lora(*model, "adapter");
void load_lora(nn::Module& model, const std::filesystem::path& folder);

}  // namespace tenon::models
