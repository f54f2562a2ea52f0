// How keys must fit together: what a run would only find out when it is under way is told before it starts.

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/io/input.h"
#include "tenon/train/config_keys.h"

namespace tenon::train {
namespace {

class Checker {
 public:
  Checker(const Config& config, std::string_view name) : c_(config), name_(name) {}

  void run() const {
    every_key_acts();
    sizes();
    data();
    tokens();
    batches();
    starting_point();
    schedule();
    device();
  }

 private:
  template <typename... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (!holds) base::fail("config", "{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  void every_key_acts() const {
    for (const Key& key : config_keys()) {
      const Value value = key.value(c_);
      require(key.when.holds(c_) || value == key.default_value(),
              "{} is {}, but acts only when {}; take it out or set it to its default, {}", key.path, quoted(value),
              key.when.text, quoted(key.default_value()));
    }
  }

  static std::string quoted(const Value& value) {
    const std::string text = text_of_value(value);
    const bool is_text = std::holds_alternative<std::string>(value) || std::holds_alternative<Texts>(value);
    return is_text ? io::in_quotes(text) : text;
  }

  // Where weights come from a folder, the sizes are the folder's: see take_model.
  void sizes() const {
    const ModelConfig& m = c_.model;
    constexpr int64_t kResNets[] = {18, 34, 50, 101, 152};
    require(m.architecture != "resnet" || std::ranges::find(kResNets, m.layers) != std::end(kResNets),
            "model.layers is {}; a resnet has 18, 34, 50, 101 or 152", m.layers);
    if (!m.init_from.empty() || !c_.has_tokens()) return;
    require(m.width % m.heads == 0,
            "model.width {} cannot be divided among {} heads; make model.width a multiple of {}", m.width, m.heads,
            m.heads);
    if (m.architecture == "llama") {
      require(m.kv_heads == 0 || (m.kv_heads <= m.heads && m.heads % m.kv_heads == 0),
              "{} heads cannot share {} key/value heads evenly; make model.kv_heads a divisor of model.heads", m.heads,
              m.kv_heads);
      require(m.width / m.heads % 2 == 0,
              "heads {} wide cannot be turned in pairs; make model.width an even multiple of model.heads",
              m.width / m.heads);
    }
    require(c_.training.sequence_length <= m.context,
            "training.sequence_length {} is longer than model.context {}; lower it or raise model.context",
            c_.training.sequence_length, m.context);
  }

  void data() const {
    require(!c_.is_text() || !is_any_of(c_.data.train, {"", "stories"}),
            "data.train is {}; name a CSV, .tsv or .jsonl file with a field of texts (data.field) and one of labels "
            "(data.label_field)",
            c_.data.train.empty() ? "empty" : c_.data.train);
    require(!c_.is_text() || (!c_.data.field.empty() && !c_.data.label_field.empty()),
            "data.field and data.label_field cannot be empty; name the fields of texts and labels");
    require(!c_.data.train.empty(), "data.train is empty; name a file, or stories for the built-in corpus");
    require(c_.data.validation.empty() || c_.data.validation != c_.data.train,
            "data.validation is the training data; name another file, or leave it empty and set "
            "data.validation_fraction");
    require(c_.data.dataset != "folder" || !c_.data.path.empty(),
            "data.path is empty; name the folder that has a folder of pictures for each class");
    require(!c_.is_picture() || !c_.data.path.empty() || c_.data.dataset == "fashion_mnist",
            "data.path is empty; name the folder of {} (of fashion_mnist, a package may bring it)", c_.data.dataset);
  }

  void tokens() const {
    const TokenizerConfig& t = c_.tokenizer;
    require(t.kind != "file" || !c_.tokenizer_path().empty(),
            "tokenizer.kind is file; name the file in tokenizer.path");
    require(!c_.is_text() || is_any_of(t.kind, {"file", "wordpiece"}),
            "tokenizer.kind is {}, but a bert reads a WordPiece; set it to file, or to wordpiece to learn one from the "
            "training texts",
            t.kind);
    require(!c_.is_language() || t.kind != "wordpiece",
            "tokenizer.kind is wordpiece, from whose tokens no text can be written again; take word or bpe");
    require(t.kind != "bpe" || t.vocabulary > 256,
            "tokenizer.vocabulary {} is too small for bpe, which begins with the 256 bytes; make it at least 257",
            t.vocabulary);
    const int64_t least = t.kind == "byte" ? 256 : learns_vocabulary(t) ? t.vocabulary : 0;
    require(c_.model.vocabulary == 0 || c_.model.vocabulary >= least,
            "model.vocabulary {} is smaller than the tokenizer's {}; set it to 0 to take the tokenizer's",
            c_.model.vocabulary, least);
  }
  static bool is_any_of(const std::string& text, std::initializer_list<std::string_view> choices) {
    return std::ranges::find(choices, text) != choices.end();
  }
  static bool learns_vocabulary(const TokenizerConfig& t) { return t.kind == "bpe" || t.kind == "word"; }

  void batches() const {
    const TrainingConfig& t = c_.training;
    require(t.batch_size % t.micro_batches == 0,
            "training.batch_size {} cannot be cut into {} micro-batches; make it a multiple of training.micro_batches",
            t.batch_size, t.micro_batches);
    if (t.method != "masked_lm") return;
    require(c_.model.architecture == "gpt2" || !c_.model.init_from.empty(),
            "training.method is masked_lm, but a llama sees only what stands before; set model.architecture to gpt2");
    require(c_.sample.every == 0,
            "sample.every is {}, but a model of training.method masked_lm does not write text; set it to 0",
            c_.sample.every);
  }

  void starting_point() const {
    const bool is_scratch = c_.training.mode == "scratch", has_weights = !c_.model.init_from.empty();
    require(!is_scratch || !has_weights,
            "model.init_from is given, but training.mode is scratch; set training.mode to finetune or lora");
    require(!c_.is_text() || c_.training.mode != "lora",
            "training.mode is lora, which a bert has not; set it to finetune");
    require(is_scratch || has_weights, "training.mode is {}; name the folder of weights in model.init_from",
            c_.training.mode);
  }

  void schedule() const {
    const ScheduleConfig& s = c_.schedule;
    require(s.min_lr <= c_.optimizer.lr, "schedule.min_lr {} is above optimizer.lr {}; lower it", s.min_lr,
            c_.optimizer.lr);
    require(s.warmup_steps <= c_.training.steps,
            "schedule.warmup_steps {} is more than training.steps {}; lower it or train longer", s.warmup_steps,
            c_.training.steps);
    const bool ends = s.kind == "linear" || s.kind == "cosine" || s.kind == "one_cycle";
    require(!ends || s.warmup_steps == 0 || s.warmup_steps < c_.decay_steps(),
            "schedule.warmup_steps {} leaves nothing of {} steps for the {} schedule; lower it", s.warmup_steps,
            c_.decay_steps(), s.kind);
    require(s.kind != "one_cycle" || c_.decay_steps() > 1, "a one_cycle schedule needs more than one step");
    require(s.kind != "plateau" || s.gamma < 1,
            "schedule.gamma is 1, so that the rate of a plateau schedule never falls; lower it");
    require(s.kind != "cosine_restarts" || s.restart_every > 0,
            "schedule.kind is cosine_restarts; set schedule.restart_every to the steps of its first cycle");
    require(s.kind != "step" || s.step_every > 0,
            "schedule.kind is step; set schedule.step_every to the steps between two falls of the rate");
    require(s.kind != "plateau" || (c_.has_validation() && c_.training.eval_every > 0),
            "schedule.kind is plateau, which needs validation losses; give data.validation or "
            "data.validation_fraction, and training.eval_every above 0");
  }

  void device() const {
    require(c_.device.name != "null", "device.name is null, which computes nothing; take cpu");
    try {
      tenon::device::find(c_.device.name);
    } catch (const Error& error) {
      require(false, "device.name: {}", error.what());
    }
  }

  const Config& c_;
  std::string_view name_;
};

int64_t next_multiple(int64_t of, int64_t least) { return (least + of - 1) / of * of; }

}  // namespace

int64_t ModelConfig::hidden_width() const {
  if (hidden > 0) return hidden;
  return architecture == "llama" ? next_multiple(32, (8 * width + 2) / 3) : 4 * width;
}

int64_t ModelConfig::padded(int64_t tokens) const { return next_multiple(pad_vocabulary_to, tokens); }

int64_t Config::sequence_length() const {
  return training.sequence_length > 0 ? training.sequence_length : model.context;
}

int64_t Config::decay_steps() const { return schedule.decay_steps > 0 ? schedule.decay_steps : training.steps; }

// Pictures come with a set to test on, and the tasks of programs say for themselves.
bool Config::has_validation() const {
  return !has_tokens() || !data.validation.empty() || data.validation_fraction > 0;
}

bool Config::is_picture() const { return model.architecture == "cnn" || model.architecture == "resnet"; }

bool Config::is_language() const { return model.architecture == "gpt2" || model.architecture == "llama"; }

bool Config::is_text() const { return model.architecture == "bert"; }

std::string Config::tokenizer_path() const { return tokenizer.path.empty() ? model.init_from : tokenizer.path; }

std::string Config::data_name() const {
  if (has_tokens()) return data.train;
  if (model.architecture == "custom") return "its task";
  return data.path.empty() ? data.dataset : data.path;
}

void validate(const Config& config, std::string_view name) { Checker(config, name).run(); }

void take_model(Config& config, const ModelConfig& found) {
  constexpr std::string_view kChosenHere[] = {"model.init_from", "model.dropout", "model.pad_vocabulary_to"};
  const std::string& folder = config.model.init_from;
  Config other = config;
  other.model = found;
  for (const Key& key : config_keys()) {
    if (key.section() != "model" || std::ranges::find(kChosenHere, key.path) != std::end(kChosenHere)) continue;
    const Value asked = key.value(config), is = key.value(other);
    if (asked != key.default_value() && asked != is)
      base::fail("config", "{}: {} is {} there, but the config asks for {}; take it out of the config", folder,
                 key.path, text_of_value(is), text_of_value(asked));
  }
  other.model.init_from = config.model.init_from;
  other.model.dropout = config.model.dropout;
  other.model.pad_vocabulary_to = config.model.pad_vocabulary_to;
  if (other.training.sequence_length > found.context)
    base::fail("config", "{}: training.sequence_length {} is longer than the model's context {}; lower it", folder,
               other.training.sequence_length, found.context);
  config = other;
}

}  // namespace tenon::train
