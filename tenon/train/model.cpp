// From the names of a config to those of the models.

#include "tenon/train/model.h"

#include "tenon/base/error.h"
#include "tenon/io/hugging_face.h"
#include "tenon/io/json.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/bert_config.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/models/lora.h"

namespace tenon::train {
namespace {

using base::fail;
namespace fs = std::filesystem;

bool is_masked(const Config& config) { return config.training.method == "masked_lm"; }

// What both architectures have.
template <typename Sizes>
Sizes sized(const ModelConfig& m, int64_t vocabulary) {
  Sizes made;
  made.vocabulary = vocabulary;
  made.padded_vocabulary = m.padded(vocabulary);
  made.positions = m.context;
  made.width = m.width;
  made.layers = m.layers;
  made.heads = m.heads;
  made.inner = m.hidden_width();
  made.tied_head = m.tied_head;
  return made;
}

models::Gpt2Config gpt2_config(const Config& config, int64_t vocabulary, const TextTokens& tokens = {}) {
  const ModelConfig& m = config.model;
  auto made = sized<models::Gpt2Config>(m, vocabulary);
  made.bias = m.bias;
  made.causal = !is_masked(config);
  made.end_token = tokens.end;
  made.start_token = tokens.begin >= 0 ? tokens.begin : tokens.end;
  return made.set_dropout(m.dropout);
}

models::LlamaConfig llama_config(const Config& config, int64_t vocabulary, const TextTokens& tokens = {}) {
  const ModelConfig& m = config.model;
  auto made = sized<models::LlamaConfig>(m, vocabulary);
  made.kv_heads = m.kv_heads;
  made.rotary_theta = m.rope_theta;
  made.end_token = tokens.end;
  made.start_token = tokens.begin >= 0 ? tokens.begin : tokens.end;
  return made;
}

std::string architecture_of(const std::string& config_json, const fs::path& folder, bool trains_bert) {
  const std::string type = model_type_of(config_json, folder);
  if (type != "gpt2" && type != "llama" && type != "bert")
    fail("train", "{}: its config.json is of type {}; gpt2, llama and bert can be trained", folder.string(),
         io::as_one_line(type));
  if (type == "bert" && !trains_bert)
    fail("train", "{}: is a bert, which tells texts apart; set model.architecture to bert", folder.string());
  return type;
}

std::unique_ptr<models::CausalLm> loaded(const Config& config, const io::OpenFolder& folder) {
  const ModelConfig& m = config.model;
  const Options options(DType::f32, Device(config.device.name));
  const int64_t rows = m.padded(m.vocabulary);
  std::unique_ptr<models::CausalLm> model;
  if (m.architecture == "llama")
    model = models::Llama::load(folder, options, rows);
  else
    model = models::Gpt2::load(folder, options, rows, m.dropout);
  io::require_unchanged_model(folder);
  return model;
}

}  // namespace

std::string model_type_of(std::string_view config_json, const fs::path& folder) {
  const auto json = io::parse_json("config", (folder / "config.json").string(), config_json);
  const bool is_named = json.is_object() && json.contains("model_type") && json["model_type"].is_string();
  return is_named ? json["model_type"].get<std::string>() : "unknown";
}

int64_t model_vocabulary(const Config& config, int64_t tokenizer_vocabulary) {
  const int64_t least = tokenizer_vocabulary + (is_masked(config) ? 1 : 0);
  if (config.model.vocabulary == 0) return least;
  if (config.model.vocabulary < least) {
    const bool is_given = !config.model.init_from.empty();
    fail("train", "the tokenizer has {} tokens{}, {} {}; {}", tokenizer_vocabulary,
         is_masked(config) ? " and the mask needs one more" : "",
         is_given ? "the model in model.init_from knows" : "model.vocabulary is", config.model.vocabulary,
         is_given ? "take the tokenizer that the model was trained with" : "set it to 0 to take the tokenizer's");
  }
  return config.model.vocabulary;
}

std::shared_ptr<const io::OpenFolder> take_initial_model(Config& config) {
  const fs::path folder = config.model.init_from;
  if (folder.empty()) return nullptr;
  auto open = std::make_shared<const io::OpenFolder>("train", folder);
  const std::string text(io::as_text(open->open("config.json")->bytes()));
  ModelConfig found = config.model;
  found.architecture = architecture_of(text, folder, config.is_text());
  const auto named = [&](const auto& parse) {  // messages name the folder
    const base::Scope scope(folder.string());
    return parse();
  };
  const auto take = [&](const auto& sizes) {
    found.vocabulary = sizes.vocabulary;
    found.context = sizes.positions;
    found.width = sizes.width;
    found.layers = sizes.layers;
    found.heads = sizes.heads;
    if constexpr (requires { sizes.tied_head; }) found.tied_head = sizes.tied_head;
  };
  if (found.architecture == "bert") {
    const auto sizes = named([&] { return models::BertConfig::from_json(text); });
    take(sizes);
    found.hidden = sizes.inner;
  } else if (found.architecture == "llama") {
    if (is_masked(config))
      fail("train", "{}: is a llama, which sees only what stands before; set training.method to autoregressive",
           folder.string());
    const auto sizes = named([&] { return models::LlamaConfig::from_json(text); });
    take(sizes);
    found.kv_heads = sizes.kv_heads;
    found.hidden = sizes.inner;
    found.rope_theta = sizes.rotary_theta;
  } else {
    const auto sizes = named([&] { return models::Gpt2Config::from_json(text); });
    take(sizes);
    found.hidden = sizes.inner_width();
    if (sizes.causal == is_masked(config))
      fail("train", "{}: was trained by {}; set training.method to it", folder.string(),
           sizes.causal ? "autoregressive" : "masked_lm");
  }
  take_model(config, found);
  return open;
}

TextTokens text_tokens(const text::Tokenizer& tokenizer) {
  return {tokenizer.begin_of_text().value_or(-1), tokenizer.end_of_text().value_or(-1)};
}

void require_weights(const Config& config, int64_t vocabulary, const std::string& where,
                     const models::FindShape& find) {
  const int64_t rows = config.model.padded(vocabulary);
  if (config.model.architecture == "llama")
    models::require_weights(llama_config(config, vocabulary), rows, where, find);
  else
    models::require_weights(gpt2_config(config, vocabulary), rows, where, find);
}

std::unique_ptr<models::CausalLm> make_model(const Config& config, int64_t vocabulary, const TextTokens& tokens,
                                             const io::OpenFolder* initial) {
  const Options options(DType::f32, Device(config.device.name));
  std::unique_ptr<models::CausalLm> model;
  if (initial)
    model = loaded(config, *initial);
  else if (!config.model.init_from.empty())
    model = loaded(config, io::OpenFolder("train", config.model.init_from));
  else if (config.model.architecture == "llama")
    model = std::make_unique<models::Llama>(llama_config(config, vocabulary, tokens), options);
  else
    model = std::make_unique<models::Gpt2>(gpt2_config(config, vocabulary, tokens), options);
  if (config.training.mode == "lora") models::attach_lora(*model, lora_targets(config), lora_options(config));
  return model;
}

nn::LoraOptions lora_options(const Config& config) {
  const TrainingConfig& t = config.training;
  return {t.lora_rank, t.lora_alpha, t.lora_dropout};
}

std::vector<std::string> lora_targets(const Config& config) {
  if (!config.training.lora_targets.empty()) return config.training.lora_targets;
  if (config.model.architecture == "llama") return {"q_proj", "v_proj"};
  return {"c_attn"};
}

fs::path export_model(models::CausalLm& model, const text::Tokenizer& tokenizer, const Config& config,
                      const fs::path& run_folder) {
  if (models::has_lora(model)) {
    const fs::path folder = run_folder / "adapter";
    models::save_lora(model, folder, lora_options(config));
    return folder;
  }
  const fs::path folder = run_folder / "model";
  model.save(folder);
  tokenizer.save(folder);
  return folder;
}

}  // namespace tenon::train
