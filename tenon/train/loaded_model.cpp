// What a path is shows in the files it holds: a checkpoint has checkpoint.json, a run has checkpoints/, and what
// remains with a config.json is a Hugging Face folder.

#include "tenon/train/loaded_model.h"

#include "tenon/base/error.h"
#include "tenon/io/file.h"
#include "tenon/io/hugging_face.h"
#include "tenon/io/open_folder.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/models/lora.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/corpus.h"
#include "tenon/train/game_run.h"
#include "tenon/train/model.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;

constexpr std::string_view kOp = "model", kPrefix = "model.";

std::string text_of_file(const fs::path& path) {
  const auto file = io::MappedFile::open(kOp, path);
  return std::string(io::as_text(file->bytes()));
}

nn::StateDict model_state(const Checkpoint& checkpoint) {
  nn::StateDict state;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kPrefix)) state[name.substr(kPrefix.size())] = tensor;
  }
  return state;
}

// Of one of the kinds that load_tokenizer knows.
bool holds_tokenizer(const io::OpenFolder& folder) {
  for (const std::string& name : folder.names()) {
    if (name == "tokenizer.json" || name == "vocab.json" || name == "encoder.json" || name == "vocab.txt")
      return true;
    if (name.starts_with("tok") && name.ends_with(".bin")) return true;
  }
  return false;
}

std::shared_ptr<const text::Tokenizer> tokenizer_in(const io::OpenFolder& folder, const LoadOptions& options) {
  if (!options.tokenizer.empty()) return text::load_tokenizer(options.tokenizer);
  if (holds_tokenizer(folder)) return text::load_tokenizer(folder);
  if (options.needs_tokenizer) fail(kOp, "{}: holds no tokenizer; name one with --tokenizer", folder.path().string());
  return nullptr;
}

// Opened once: its name may lead to another model by the time that the tokenizer is read.
LoadedModel load_hugging_face(const fs::path& path, const LoadOptions& options) {
  const io::OpenFolder folder(kOp, path);
  const std::string type = model_type_of(io::as_text(folder.open("config.json")->bytes()), path);
  const Options where(DType::f32, options.device);
  LoadedModel loaded;
  if (type == "gpt2")
    loaded.model = models::Gpt2::load(folder, where, 0, 0.0);
  else if (type == "llama")
    loaded.model = models::Llama::load(folder, where);
  else
    fail(kOp, "{}: its config.json is of a model of type {}; gpt2 and llama are supported", path.string(),
         io::as_one_line(type));
  loaded.tokenizer = tokenizer_in(folder, options);
  io::require_unchanged_model(folder);
  loaded.description = fmt::format("{} ({})", path.string(), type);
  return loaded;
}

LoadedModel load_llama2c(const fs::path& file, const LoadOptions& options) {
  LoadedModel loaded;
  if (!options.tokenizer.empty())
    loaded.tokenizer = text::load_tokenizer(options.tokenizer);
  else if (options.needs_tokenizer)
    fail(kOp, "{}: a llama2.c file brings no tokenizer; name one with --tokenizer", file.string());
  loaded.model = models::Llama::load_llama2c(file, Options(DType::f32, options.device));
  loaded.description = fmt::format("{} (llama2.c)", file.string());
  return loaded;
}

Config config_of_run(const fs::path& run) {
  const std::string text = text_of_file(run / "config.json");
  if (is_game_config(text))
    fail(kOp, "{0}: is a run of 2048, which is no language model; tenon play2048 --model {0} shows it play",
         run.string());
  return parse_config(text, (run / "config.json").string());
}

LoadedModel load_from_run(const fs::path& run, const Checkpoint& checkpoint, const LoadOptions& options) {
  Config config = config_of_run(run);
  if (!config.is_language())
    fail(kOp, "{}: is a run of a {}, which is no language model", run.string(), config.model.architecture);
  config.device.name = options.device.name();
  config.model.dropout = 0;
  LoadedModel loaded;
  loaded.tokenizer =
      options.tokenizer.empty() ? load_run_tokenizer(config, run) : text::load_tokenizer(options.tokenizer);
  const bool has_lora = config.training.mode == "lora";
  const int64_t vocabulary = model_vocabulary(config, loaded.tokenizer->vocabulary());
  const nn::StateDict state = model_state(checkpoint);
  // One that was tuned may have what a config here cannot say; its sizes are checked where it is read.
  if (config.model.init_from.empty()) require_weights(config, vocabulary, run.string(), models::shapes_of(state));
  loaded.model = make_model(config, vocabulary, text_tokens(*loaded.tokenizer));
  {
    const base::Scope scope(run.string());
    // Corrections may be saved alone: the model they correct was read from its own files.
    loaded.model->load_state_dict(state, !has_lora);
  }
  if (has_lora) models::merge_lora(*loaded.model);
  loaded.description = fmt::format("{} ({}, step {})", run.string(), config.model.architecture, checkpoint.step);
  return loaded;
}

// A checkpoint may be named through the link `best`, and stands in RUN/checkpoints.
fs::path run_of_checkpoint(const fs::path& path) { return fs::canonical(path).parent_path().parent_path(); }

LoadedModel load_checkpoint(const fs::path& path, const LoadOptions& options) {
  const fs::path run = run_of_checkpoint(path);
  if (!fs::exists(run / "config.json"))
    fail(kOp, "{}: the checkpoint has left its run: {} is missing", path.string(), (run / "config.json").string());
  return load_from_run(run, read_checkpoint(path), options);
}

LoadedModel load_run(const fs::path& run, const LoadOptions& options) {
  const fs::path checkpoints = run / "checkpoints";
  std::string why = "it has none yet";
  if (best_step(checkpoints)) {
    try {
      return load_from_run(run, read_checkpoint(checkpoints / "best"), options);
    } catch (const DamagedCheckpoint& failure) {
      why = failure.what();  // it has good neighbours; a wrong config has not
    }
  }
  const auto newest = newest_checkpoint(checkpoints, [&](const std::string& refused) { why = refused; });
  if (!newest) fail(kOp, "{}: there is no good checkpoint: {}", run.string(), without_tag(why));
  return load_from_run(run, *newest, options);
}

LoadedModel load_any(const fs::path& path, const LoadOptions& options) {
  if (io::type_of(kOp, path) != fs::file_type::directory) {
    if (path.extension() == ".bin") return load_llama2c(path, options);
    fail(kOp, "{}: is no model; name a folder, or a llama2.c file that ends in .bin", path.string());
  }
  if (fs::exists(path / "checkpoint.json")) return load_checkpoint(path, options);
  if (fs::is_directory(path / "checkpoints")) return load_run(path, options);
  if (fs::exists(path / "config.json")) return load_hugging_face(path, options);
  fail(kOp, "{}: holds no model: neither config.json nor checkpoints", path.string());
}

}  // namespace

LoadedModel load_model(const fs::path& path, const LoadOptions& options) {
  LoadedModel loaded = load_any(path, options);
  if (!options.lora.empty()) {
    models::load_lora(*loaded.model, options.lora);
    models::merge_lora(*loaded.model);
    loaded.description += fmt::format(" with {}", options.lora.string());
  }
  loaded.model->eval();
  if (loaded.tokenizer && loaded.tokenizer->vocabulary() > loaded.model->vocabulary()) {
    fail(kOp, "{}: the tokenizer has {} tokens, the model only {}; it belongs to another model", path.string(),
         loaded.tokenizer->vocabulary(), loaded.model->vocabulary());
  }
  return loaded;
}

std::vector<fs::path> sources_of_run(const fs::path& path) {
  const bool is_checkpoint = fs::exists(path / "checkpoint.json");
  const fs::path run = is_checkpoint ? run_of_checkpoint(path) : path;
  std::vector<fs::path> sources = {run};
  for (const int64_t step : checkpoint_steps(run / "checkpoints"))
    sources.push_back(checkpoint_path(run / "checkpoints", step));
  if (!fs::exists(run / "config.json")) return sources;
  const Config config = config_of_run(run);
  if (!config.model.init_from.empty()) sources.emplace_back(config.model.init_from);
  return sources;
}

}  // namespace tenon::train
