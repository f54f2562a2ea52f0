// Config: everything that decides what a training run computes, as one value.
//
//   train::Config config = train::load_config("shakespeare_char");  // a preset, or the path of a JSON file
//   train::set(config, "training.steps=200");
//   train::validate(config);
//
// The structs below hold the defaults. What each key may be, what it does and when it acts stands in one table
// (config_keys.cpp), from which parsing, checks, printing, the JSON schema and docs/config.md all come. A key that
// would have no effect under the chosen settings is refused, so that a run never silently ignores what was asked for.

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::train {

/// The section model of a config: what is trained.
///   train::ModelConfig model{.architecture = "llama", .width = 96};
///   model.hidden_width();  // 256
struct ModelConfig {
  std::string architecture = "gpt2";
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t kv_heads = 0;  // 0: heads
  int64_t width = 128;
  int64_t hidden = 0;  // 0: what the architecture does; hidden_width() says it
  int64_t context = 128;
  int64_t vocabulary = 0;  // 0: the tokenizer's
  int64_t pad_vocabulary_to = 64;
  double dropout = 0;
  bool bias = true;
  bool tied_head = true;
  double rope_theta = 10000;
  std::string init_from;
  int64_t channels = 32;
  int64_t convolutions = 1;
  bool batch_norm = true;
  bool small_pictures = false;

  /// The width inside of the MLPs: `hidden`, or 4 * width for GPT-2 and 8/3 * width in steps of 32 for Llama.
  int64_t hidden_width() const;
  /// Rows of the embedding for a vocabulary: the next multiple of pad_vocabulary_to.
  int64_t padded(int64_t tokens) const;
};

/// The section data of a config: on what.
struct DataConfig {
  std::string train = "stories";
  std::string validation;
  double validation_fraction = 0.1;
  int64_t story_megabytes = 4;
  int64_t story_seed = 1;
  std::string order = "random";
  int64_t seed = 1;
  bool prefetch = true;
  std::string field = "text";
  std::string second_field;
  std::string label_field = "label";
  std::string dataset = "mnist";
  std::string path;
  int64_t picture_size = 224;
  double least_area = 1;
  int64_t shift = 0;
  bool flip = false;
};

/// The section tokenizer of a config: how texts become tokens.
struct TokenizerConfig {
  std::string kind = "bpe";
  std::string path;
  int64_t vocabulary = 1024;
};

/// The section training of a config: how.
struct TrainingConfig {
  int64_t steps = 1000;
  int64_t batch_size = 16;  // sequences or images of one step, all micro-batches together
  int64_t micro_batches = 1;
  int64_t sequence_length = 0;  // 0: the context
  std::string precision = "f32";
  std::string method = "autoregressive";
  double mask_fraction = 0.15;
  std::string mode = "scratch";
  int64_t lora_rank = 8;
  double lora_alpha = 16;
  double lora_dropout = 0;
  std::vector<std::string> lora_targets;  // empty: what the architecture's attention reads with
  int64_t seed = 1;
  double clip_norm = 1;  // 0: none
  int64_t eval_every = 250;
  int64_t eval_batches = 0;  // 0: the whole set
  int64_t log_every = 10;
  int64_t loss_chunk = 0;
  double label_smoothing = 0;
  bool check_finite = true;
  bool capture = true;
};

/// The section optimizer of a config: the update rule.
struct OptimizerConfig {
  std::string kind = "adamw";
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  std::string decay = "matrices";
  double momentum = 0;
  bool nesterov = false;
  double alpha = 0.99;
  double average = 0;
};

/// The section schedule of a config: the learning rate over the steps.
struct ScheduleConfig {
  std::string kind = "cosine";
  int64_t warmup_steps = 0;
  double min_lr = 0;
  int64_t decay_steps = 0;  // 0: training.steps
  int64_t restart_every = 0;
  double restart_factor = 1;
  double gamma = 0.1;
  int64_t step_every = 0;
  int64_t patience = 10;
};

/// The section checkpoint of a config: which are written and kept.
struct CheckpointConfig {
  int64_t every = 500;  // 0: none between start and end
  int64_t keep_last = 3;
  bool keep_best = true;
  bool at_end = true;
};

/// The section sample of a config: what is generated during the run.
struct SampleConfig {
  int64_t every = 0;  // 0: never
  std::string prompt;
  int64_t tokens = 64;
  int64_t count = 1;
  double temperature = 0.8;
  int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  int64_t seed = 1;
};

/// What TENON_DEVICE says, or auto.
std::string default_device_name();

/// The section device of a config: where it runs.
struct DeviceConfig {
  std::string name = default_device_name();
  int64_t threads = 0;       // 0: all
  int64_t memory_limit = 0;  // MiB; 0: all there is
};

/// A run.
///   train::Config config = train::load_config("demo");
///   train::set(config, "training.steps=20");
///   config.training.steps;  // 20
struct Config {
  std::string description;
  ModelConfig model;            // the section model
  DataConfig data;              // the section data
  TokenizerConfig tokenizer;    // the section tokenizer
  TrainingConfig training;      // the section training
  OptimizerConfig optimizer;    // the section optimizer
  ScheduleConfig schedule;      // the section schedule
  CheckpointConfig checkpoint;  // the section checkpoint
  SampleConfig sample;          // the section sample
  DeviceConfig device;          // the section device

  /// Whether a language model is trained, on tokens.
  bool is_language() const;
  /// Whether pictures are told apart.
  bool is_picture() const;
  /// Whether texts are told apart.
  bool is_text() const;
  /// Whether the model reads tokens.
  bool has_tokens() const { return is_language() || is_text(); }
  /// What messages call the data.
  std::string data_name() const;
  /// Where a tokenizer of a file lies: with the model of model.init_from unless tokenizer.path says otherwise.
  std::string tokenizer_path() const;
  /// Tokens of one sequence of a batch.
  int64_t sequence_length() const;
  /// The step at which a falling rate reaches its end.
  int64_t decay_steps() const;
  /// Whether some data are held back for validation.
  bool has_validation() const;
};

/// Reads a JSON object over the defaults. `name` is what messages call it. Keys that are unknown, given twice, of
/// another type or out of range are refused with one line; how keys fit together is left to validate(), because --set
/// may follow.
///   train::parse_config("{\"training\": {\"steps\": 20}}", "mine").training.steps;  // 20
Config parse_config(std::string_view json, std::string_view name);
/// parse_config of a file, or of a preset when there is one of that name.
///   train::Config config = train::load_config("shakespeare_char");
Config load_config(const std::string& path_or_preset);

/// Changes one key: "training.batch_size=16", "training.lora_targets=c_attn,c_proj".
///   train::Config config;
///   train::set(config, "optimizer.lr=0.01");
///   config.optimizer.lr;  // 0.01
void set(Config& config, std::string_view assignment);
/// Changes several keys. What the config had set, and what acts no more because of them, goes back to its default: who
/// chooses another tokenizer for a preset need not know which keys of the preset belong to its own. What was asked for
/// here stays, so that validate() refuses it where it would do nothing.
///   train::Config config;
///   train::set_all(config, std::vector<std::string>{"model.layers=2", "model.heads=2"});
///   config.model.layers;  // 2
void set_all(Config& config, std::span<const std::string> assignments);
/// A key whose values differ.
struct Difference {
  std::string path, before, after;  // the key, its value before and after
};
/// Changes what the config had set, and was not asked for, where it leaves no room for what was: a warm-up that is
/// longer than the run becomes as much shorter as the run does. Says what it changed.
///   train::Config config = train::load_config("demo"), before = config;
///   const std::vector<std::string> assignments = {"training.steps=20"};
///   train::set_all(config, assignments);
///   train::make_fit(config, before, assignments);
std::vector<Difference> make_fit(Config& config, const Config& before, std::span<const std::string> assignments);
/// One key's value, as set() reads it.
///   train::get(train::Config(), "model.layers");  // 4
std::string get(const Config& config, std::string_view path);

/// Fails with one line unless the keys fit together and every key that differs from its default acts.
///   train::validate(train::load_config("demo"));
void validate(const Config& config, std::string_view name = "config");

/// Takes the sizes of a model that was read from model.init_from. A size that was asked for and is not the model's is
/// refused.
void take_model(Config& config, const ModelConfig& found);

/// All keys with their values, in the order of the table; parse_config reads the same Config from it.
///   const std::string json = train::to_json(train::Config());
std::string to_json(const Config& config);

/// The keys whose values differ, in the order of the table.
///   train::Config changed;
///   changed.model.layers = 2;
///   train::differences(train::Config(), changed)[0].path;  // model.layers
std::vector<Difference> differences(const Config& before, const Config& after);

/// The schema (draft 2020-12) that editors check and complete config files by.
///   const std::string schema = train::json_schema();
std::string json_schema();
/// docs/config.md.
std::string config_markdown();

/// The files of configs/, which are part of the library.
struct Preset {
  std::string_view name, json;  // by which it is found, and its text
};
/// All of them.
///   for (const train::Preset& preset : train::presets()) std::cout << preset.name << "\n";
std::span<const Preset> presets();

}  // namespace tenon::train
