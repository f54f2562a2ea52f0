// What a config says about sizes is believed only as far as the weights bear it out: both are compared, name by name,
// before any memory is taken. A config.json of a hundred bytes could otherwise ask for terabytes, or make a model that
// has rows which no file ever held.

#pragma once

#include <functional>
#include <string>

#include "tenon/ir/shape.h"
#include "tenon/models/bert_config.h"
#include "tenon/models/gpt2_config.h"
#include "tenon/models/llama_config.h"
#include "tenon/nn/module.h"

namespace tenon::models {

/// The shape of the weights of a name (that of the module: "transformer.h.0.ln_1.weight"); null where there are none.
using FindShape = std::function<const Dims*(const std::string& name)>;

/// The shapes of a state dict, which must outlive it.
FindShape shapes_of(const nn::StateDict& state);

/// Fails with one line, "[gpt2] where: ...", at the first size that the weights do not have. `rows` are those of the
/// embedding.
void require_weights(const Gpt2Config& config, int64_t rows, const std::string& where, const FindShape& find);
void require_weights(const LlamaConfig& config, int64_t rows, const std::string& where, const FindShape& find);
/// Of the embeddings and layers: heads may be new.
void require_weights(const BertConfig& config, const std::string& where, const FindShape& find);

}  // namespace tenon::models
