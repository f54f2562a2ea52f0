// Keys by name, and their values as text: what --set reads and messages show.

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/io/input.h"
#include "tenon/train/config_keys.h"

namespace tenon::train {
namespace {

using base::fail;
using io::in_quotes;

// "model.layers" in two at its dot; a name without one is all name.
std::pair<std::string_view, std::string_view> halves(std::string_view path) {
  const size_t dot = path.find('.');
  if (dot == path.npos) return {{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

std::string bound_text(const Range& range) {
  if (!range.above_least && !range.below_most) return fmt::format("from {} to {}", range.least, range.most);
  return fmt::format("{} {} and {} {}", range.above_least ? "above" : "at least", range.least,
                     range.below_most ? "below" : "at most", range.most);
}

std::string whole_bound_text(const Range& range) {
  return fmt::format("from {} to {}", static_cast<int64_t>(range.least), static_cast<int64_t>(range.most));
}

// As a message shows it: texts in quotes, and short whatever they hold.
std::string shown(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* texts = std::get_if<Texts>(&value);
  if (text) return in_quotes(*text);
  if (texts) return in_quotes(fmt::format("{}", fmt::join(*texts, ",")));
  return text_of_value(value);
}

[[noreturn]] void refuse(const Key& key, const Value& value, std::string_view name) {
  fail("config", "{}: {} is {}; it must be {}", name, key.path, shown(value), key.allowed());
}

void check_choice(const Key& key, const std::string& text, std::string_view name) {
  if (key.choices.empty()) return;
  for (const std::string_view choice : key.choices) {
    if (text == choice) return;
  }
  const std::string near = base::nearest(text, std::vector<std::string>(key.choices.begin(), key.choices.end()));
  if (near.empty()) refuse(key, text, name);
  fail("config", "{}: {} is {}; did you mean {}? It must be {}", name, key.path, in_quotes(text), near, key.allowed());
}

Texts split(std::string_view text) {
  Texts parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

// The value as the field's type where it says the same: 1 as 1.0, "a,b" as a list.
template <typename T>
std::optional<T> converted(const Value& value) {
  if (const T* same = std::get_if<T>(&value)) return *same;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  }
  if constexpr (std::is_same_v<T, Texts>) {
    if (const auto* text = std::get_if<std::string>(&value)) return split(*text);
  }
  return std::nullopt;
}

template <typename T>
void check_value(const Key& key, const T& value, std::string_view name) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
    if (!key.range.holds(static_cast<double>(value))) refuse(key, value, name);
  }
  if constexpr (std::is_same_v<T, std::string>) check_choice(key, value, name);
  if constexpr (std::is_same_v<T, Texts>) {
    for (const std::string& text : value) {
      if (text.empty() || text.find(',') != text.npos) refuse(key, value, name);
    }
  }
}

template <typename T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view Key::section() const { return halves(path).first; }
std::string_view Key::name() const { return halves(path).second; }

Value Key::value(const Config& config) const {
  // The field only ever reads here; it is one function for both directions.
  return std::visit([&](auto one) -> Value { return one(const_cast<Config&>(config)); }, field);
}

std::string_view Key::type() const {
  static constexpr std::string_view names[] = {"true or false", "whole number", "number", "text", "list of texts"};
  return names[field.index()];
}

std::string Key::allowed() const {
  if (!choices.empty()) return fmt::format("one of {}", fmt::join(choices, ", "));
  if (std::holds_alternative<FieldOf<bool>>(field)) return "true or false";
  if (std::holds_alternative<FieldOf<int64_t>>(field)) return "a whole number " + whole_bound_text(range);
  if (std::holds_alternative<FieldOf<double>>(field)) return "a number " + bound_text(range);
  return std::holds_alternative<FieldOf<Texts>>(field) ? "a list of names without commas" : "a text";
}

std::vector<std::string> config_sections() {
  std::vector<std::string> sections;
  for (const Key& key : config_keys()) {
    if (!key.section().empty() && (sections.empty() || sections.back() != key.section()))
      sections.emplace_back(key.section());
  }
  return sections;
}

const Key* find_key(std::string_view path) {
  for (const Key& key : config_keys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

namespace {

// What other systems call these keys: Hugging Face, nanoGPT, llm.c and trainers written by hand.
struct Alias {
  std::string_view name, path;
};
constexpr Alias kAliases[] = {
    {"d_model", "model.width"},
    {"hidden_size", "model.width"},
    {"n_embd", "model.width"},
    {"embed_dim", "model.width"},
    {"embedding_dim", "model.width"},
    {"dim", "model.width"},
    {"num_heads", "model.heads"},
    {"n_head", "model.heads"},
    {"n_heads", "model.heads"},
    {"nhead", "model.heads"},
    {"num_attention_heads", "model.heads"},
    {"num_key_value_heads", "model.kv_heads"},
    {"n_kv_heads", "model.kv_heads"},
    {"num_layers", "model.layers"},
    {"n_layer", "model.layers"},
    {"n_layers", "model.layers"},
    {"num_hidden_layers", "model.layers"},
    {"num_blocks", "model.layers"},
    {"depth", "model.layers"},
    {"max_length", "model.context"},
    {"max_seq_len", "model.context"},
    {"max_seq_length", "model.context"},
    {"max_sequence_length", "model.context"},
    {"context_length", "model.context"},
    {"block_size", "model.context"},
    {"n_positions", "model.context"},
    {"n_ctx", "model.context"},
    {"max_position_embeddings", "model.context"},
    {"intermediate_size", "model.hidden"},
    {"n_inner", "model.hidden"},
    {"d_ff", "model.hidden"},
    {"dim_feedforward", "model.hidden"},
    {"ffn_dim", "model.hidden"},
    {"vocab_size", "model.vocabulary"},
    {"dropout_rate", "model.dropout"},
    {"embd_pdrop", "model.dropout"},
    {"resid_pdrop", "model.dropout"},
    {"attn_pdrop", "model.dropout"},
    {"attention_dropout", "model.dropout"},
    {"tie_word_embeddings", "model.tied_head"},
    {"tie_weights", "model.tied_head"},
    {"model_type", "model.architecture"},
    {"pretrained", "model.init_from"},
    {"seq_len", "training.sequence_length"},
    {"seq_length", "training.sequence_length"},
    {"train_batch_size", "training.batch_size"},
    {"per_device_train_batch_size", "training.batch_size"},
    {"gradient_accumulation_steps", "training.micro_batches"},
    {"accumulation_steps", "training.micro_batches"},
    {"max_steps", "training.steps"},
    {"max_iters", "training.steps"},
    {"num_steps", "training.steps"},
    {"num_train_steps", "training.steps"},
    {"grad_clip", "training.clip_norm"},
    {"max_grad_norm", "training.clip_norm"},
    {"gradient_clip", "training.clip_norm"},
    {"dtype", "training.precision"},
    {"mixed_precision", "training.precision"},
    {"eval_interval", "training.eval_every"},
    {"eval_steps", "training.eval_every"},
    {"eval_iters", "training.eval_batches"},
    {"log_interval", "training.log_every"},
    {"logging_steps", "training.log_every"},
    {"label_smoothing_factor", "training.label_smoothing"},
    {"learning_rate", "optimizer.lr"},
    {"adam_beta1", "optimizer.beta1"},
    {"adam_beta2", "optimizer.beta2"},
    {"adam_epsilon", "optimizer.epsilon"},
    {"eps", "optimizer.epsilon"},
    {"ema_decay", "optimizer.average"},
    {"warmup", "schedule.warmup_steps"},
    {"warmup_iters", "schedule.warmup_steps"},
    {"num_warmup_steps", "schedule.warmup_steps"},
    {"lr_decay_iters", "schedule.decay_steps"},
    {"min_learning_rate", "schedule.min_lr"},
    {"lr_scheduler_type", "schedule.kind"},
    {"save_steps", "checkpoint.every"},
    {"save_interval", "checkpoint.every"},
    {"save_total_limit", "checkpoint.keep_last"},
    {"device_type", "device.name"},
    {"num_threads", "device.threads"},
};

}  // namespace

// What other systems call it comes first, then the name, which counts more than the section: model.batch_size means
// training.batch_size.
void refuse_unknown(std::string_view path, std::string_view name) {
  const auto [section, last] = halves(path);
  const std::vector<std::string> sections = config_sections();
  const std::string near_section = section.empty() ? "" : base::nearest(section, sections);
  const Alias* const alias = std::ranges::find(kAliases, last, &Alias::name);
  std::string near(alias != std::end(kAliases) ? alias->path : "");
  if (near == "model.vocabulary" && near_section == "tokenizer") near = "tokenizer.vocabulary";
  std::vector<std::string> names;
  for (const Key& key : config_keys()) {
    if (key.name() == last && (near.empty() || key.section() == near_section)) near = key.path;
    if (key.section() == near_section) names.emplace_back(key.name());
  }
  if (near.empty()) {
    const std::string near_name = base::nearest(last, names);
    if (!near_name.empty()) near = near_section.empty() ? near_name : near_section + "." + near_name;
  }
  if (near.empty() && section.empty()) near = base::nearest(path, sections);
  const std::string shown_path = in_quotes(path);
  const std::string_view bare = std::string_view(shown_path).substr(1, shown_path.rfind('"') - 1);
  if (!near.empty()) fail("config", "{}: {} is no key; did you mean {}?", name, bare, near);
  fail("config", "{}: {} is no key; tenon config --print-defaults shows all", name, bare);
}

void assign(Config& config, const Key& key, const Value& value, std::string_view name) {
  std::visit(
      [&](auto field) {
        using T = std::remove_reference_t<decltype(field(config))>;
        const std::optional<T> fits = converted<T>(value);
        if (!fits) refuse(key, value, name);
        check_value(key, *fits, name);
        field(config) = *fits;
      },
      key.field);
}

Value value_of(const Key& key, std::string_view text, std::string_view name) {
  const Value as_text = std::string(text);
  if (!io::is_utf8(text)) fail("config", "{}: {} is {}, which is not UTF-8", name, key.path, in_quotes(text));
  int64_t whole = 0;
  double number = 0;
  switch (key.field.index()) {
    case 0:
      if (text != "true" && text != "false") refuse(key, as_text, name);
      return text == "true";
    case 1:
      if (!read_number(text, whole)) refuse(key, as_text, name);
      return whole;
    case 2:
      if (!read_number(text, number)) refuse(key, as_text, name);
      return number;
    default: return as_text;
  }
}

std::string text_of_value(const Value& value) {
  return std::visit(
      [](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Texts>)
          return fmt::format("{}", fmt::join(v, ","));
        else
          return fmt::format("{}", v);
      },
      value);
}

void set(Config& config, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == assignment.npos)
    fail("config", "--set: {} has no =; write a key and its value, as in training.steps=200", in_quotes(assignment));
  const std::string_view path = assignment.substr(0, equals);
  const Key* key = find_key(path);
  if (!key) refuse_unknown(path, "--set");
  assign(config, *key, value_of(*key, assignment.substr(equals + 1), "--set"), "--set");
}

void set_all(Config& config, std::span<const std::string> assignments) {
  const Config before = config;
  std::set<std::string_view> asked;
  for (const std::string& assignment : assignments) {
    set(config, assignment);
    asked.insert(std::string_view(assignment).substr(0, assignment.find('=')));
  }
  // A key that goes back may be what another one needed, so as often as one does.
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const Key& key : config_keys()) {
      const bool is_idle = key.when.holds(before) && !key.when.holds(config) && !asked.contains(key.path);
      if (!is_idle || key.value(config) == key.default_value()) continue;
      assign(config, key, key.default_value(), key.path);
      goes_on = true;
    }
  }
}

namespace {

int64_t steps_of_schedule(const Config& config) { return std::min(config.training.steps, config.decay_steps()); }

// Each takes one key back to what fits, where the config itself had set it. What holds here is accepted by
// validate().
struct Fit {
  std::string_view path;
  bool (*holds)(const Config&);
  void (*make)(Config& config, const Config& before);
};
constexpr Fit kFits[] = {
    {"schedule.warmup_steps",
     [](const Config& c) { return c.schedule.warmup_steps == 0 || c.schedule.warmup_steps < steps_of_schedule(c); },
     [](Config& c, const Config& before) {
       const double part = static_cast<double>(steps_of_schedule(c)) / static_cast<double>(steps_of_schedule(before));
       c.schedule.warmup_steps = static_cast<int64_t>(part * static_cast<double>(c.schedule.warmup_steps));
     }},
    {"schedule.min_lr", [](const Config& c) { return c.schedule.min_lr <= c.optimizer.lr; },
     [](Config& c, const Config& before) { c.schedule.min_lr *= c.optimizer.lr / before.optimizer.lr; }},
    {"training.micro_batches", [](const Config& c) { return c.training.batch_size % c.training.micro_batches == 0; },
     [](Config& c, const Config&) {
       c.training.micro_batches = std::gcd(c.training.batch_size, c.training.micro_batches);
     }},
    {"training.sequence_length", [](const Config& c) { return c.training.sequence_length <= c.model.context; },
     [](Config& c, const Config&) { c.training.sequence_length = 0; }},
};

}  // namespace

std::vector<Difference> make_fit(Config& config, const Config& before, std::span<const std::string> assignments) {
  const Config asked = config;
  for (const Fit& fit : kFits) {
    const bool is_asked = std::ranges::any_of(
        assignments, [&](std::string_view one) { return one.substr(0, one.find('=')) == fit.path; });
    if (!is_asked && fit.holds(before) && !fit.holds(config)) fit.make(config, before);
  }
  return differences(asked, config);
}

std::string get(const Config& config, std::string_view path) {
  const Key* key = find_key(path);
  if (!key) refuse_unknown(path, "get");
  return text_of_value(key->value(config));
}

std::vector<Difference> differences(const Config& before, const Config& after) {
  std::vector<Difference> found;
  for (const Key& key : config_keys()) {
    const Value a = key.value(before), b = key.value(after);
    if (a != b) found.push_back({std::string(key.path), text_of_value(a), text_of_value(b)});
  }
  return found;
}

}  // namespace tenon::train
