// The model that a config describes, from nothing or from files.

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tenon/models/causal_lm.h"
#include "tenon/models/weights.h"
#include "tenon/nn/lora.h"
#include "tenon/text/tokenizer.h"
#include "tenon/train/config.h"

namespace tenon::io {
class OpenFolder;
}

namespace tenon::train {

/// What a config.json of transformers says the model is: "gpt2"; "unknown" where it says nothing. Fails where it is no
/// JSON.
std::string model_type_of(std::string_view config_json, const std::filesystem::path& folder);

/// Tokens of the model: those of the tokenizer, one more as the mask where tokens are masked, or what the config says.
/// Fails with one line where the config's are fewer than the tokenizer's.
int64_t model_vocabulary(const Config& config, int64_t tokenizer_vocabulary);

/// The numbers of the tokens that begin and end a text; -1 where the tokenizer has none. Its config.json says them, so
/// that other programs stop where the text does.
struct TextTokens {
  int64_t begin = -1, end = -1;
};
TextTokens text_tokens(const text::Tokenizer& tokenizer);

/// Fails with one line where the sizes of a config are not those of these weights, before any memory is taken.
void require_weights(const Config& config, int64_t vocabulary, const std::string& where, const models::FindShape& find);

/// Takes the sizes of the model in model.init_from, if there is one, into the config. Sizes that were asked for and are
/// not the model's are refused. Gives the open folder, for make_model().
std::shared_ptr<const io::OpenFolder> take_initial_model(Config& config);

/// A model with initial values, or that of model.init_from; with corrections where the mode is lora. It is read from
/// the folder that was opened for its sizes, if that is given; fails with one line where a file of it was replaced
/// since.
std::unique_ptr<models::CausalLm> make_model(const Config& config, int64_t vocabulary, const TextTokens& tokens = {},
                                             const io::OpenFolder* initial = nullptr);

nn::LoraOptions lora_options(const Config& config);
std::vector<std::string> lora_targets(const Config& config);

/// Writes what a finished run has made: RUN/model, a folder that transformers reads, or RUN/adapter where only low-rank
/// additions were trained. Says which.
std::filesystem::path export_model(models::CausalLm& model, const text::Tokenizer& tokenizer, const Config& config,
                                   const std::filesystem::path& run_folder);

}  // namespace tenon::train
