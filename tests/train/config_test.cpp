// The table of keys: every one is read, printed, bounded and documented; and the messages of what is refused.

#include "tenon/train/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/train/config_keys.h"
#include "tests/error_text.h"

namespace tenon::train {
namespace {

using nlohmann::json;

std::string refusal(const std::string& text) {
  return text_of([&] { validate(parse_config(text, "a.json"), "a.json"); });
}
std::string refusal_of_set(const std::string& assignment) {
  Config config;
  return text_of([&] { set(config, assignment); });
}
std::string refusal_with(std::initializer_list<const char*> settings) {
  Config config;
  for (const char* setting : settings) set(config, setting);
  return text_of([&] { validate(config); });
}

// A value the key may have that is not its default.
Value another(const Key& key) {
  const Value value = key.default_value();
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* whole = std::get_if<int64_t>(&value))
    return key.range.holds(static_cast<double>(*whole + 1)) ? *whole + 1 : *whole - 1;
  if (const auto* number = std::get_if<double>(&value)) {
    const double half = *number / 2, middle = (key.range.least + key.range.most) / 2;
    return key.range.holds(half) && half != *number ? half : middle;
  }
  if (std::holds_alternative<Texts>(value)) return Texts{"first", "second"};
  if (key.choices.empty()) return std::string("some \"text\"");
  return std::string(key.choices.back() == std::get<std::string>(value) ? key.choices.front() : key.choices.back());
}

std::string json_with(const Key& key, const json& value) {
  json all;
  if (key.section().empty())
    all[std::string(key.name())] = value;
  else
    all[std::string(key.section())][std::string(key.name())] = value;
  return all.dump();
}

json json_of(const Value& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}

class EveryKey : public testing::TestWithParam<const Key*> {};

TEST_P(EveryKey, IsReadFromJsonAndPrintedBack) {
  const Key& key = *GetParam();
  const Value wanted = another(key);
  ASSERT_NE(wanted, key.default_value());
  const Config read = parse_config(json_with(key, json_of(wanted)), "a.json");
  EXPECT_EQ(key.value(read), wanted);
  EXPECT_EQ(to_json(parse_config(to_json(read), "again")), to_json(read));
}

TEST_P(EveryKey, IsOneDifference) {
  const Key& key = *GetParam();
  const Config read = parse_config(json_with(key, json_of(another(key))), "a.json");
  const std::vector<Difference> found = differences({}, read);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, key.path);
  EXPECT_EQ(found[0].before, get({}, key.path));
  EXPECT_EQ(found[0].after, get(read, key.path));
}

TEST_P(EveryKey, IsSetByText) {
  const Key& key = *GetParam();
  Config config;
  set(config, std::string(key.path) + "=" + text_of_value(another(key)));
  EXPECT_EQ(key.value(config), another(key));
}

TEST_P(EveryKey, RefusesAnotherType) {
  const Key& key = *GetParam();
  const bool is_text = std::holds_alternative<FieldOf<std::string>>(key.field);
  const bool is_list = std::holds_alternative<FieldOf<Texts>>(key.field);
  const json wrong = is_text || is_list ? json(3) : json("three");
  const std::string shown = is_text || is_list ? "3" : "\"three\"";
  EXPECT_EQ(refusal(json_with(key, wrong)),
            fmt::format("[config] a.json: {} is {}; it must be {}", key.path, shown, key.allowed()));
  EXPECT_NE(refusal(json_with(key, nullptr)).find("is null; leave it out"), std::string::npos);
  EXPECT_NE(refusal(json_with(key, json::object())).find("is an object; it must be"), std::string::npos);
}

TEST_P(EveryKey, RefusesWhatIsOutOfRange) {
  const Key& key = *GetParam();
  std::vector<json> outside;
  if (std::holds_alternative<FieldOf<int64_t>>(key.field)) {
    outside = {static_cast<int64_t>(key.range.least) - 1, static_cast<int64_t>(key.range.most) + 2, 1e300,
               uint64_t{18446744073709551615U}};
  } else if (std::holds_alternative<FieldOf<double>>(key.field)) {
    const double least = key.range.least, most = key.range.most, infinity = HUGE_VAL;
    outside = {key.range.above_least ? least : std::nextafter(least, -infinity),
               key.range.below_most ? most : std::nextafter(most, infinity)};
    EXPECT_NE(refusal_of_set(std::string(key.path) + "=nan"), "nothing was thrown");
  } else if (!key.choices.empty()) {
    outside = {"", "no_such_choice"};
  }
  for (const json& value : outside) {
    const std::string text = refusal(json_with(key, value));
    EXPECT_TRUE(text.starts_with(fmt::format("[config] a.json: {} is ", key.path))) << text;
    EXPECT_NE(text.find(key.allowed()), std::string::npos) << text;
  }
}

TEST_P(EveryKey, TakesItsBounds) {
  const Key& key = *GetParam();
  const bool is_number =
      std::holds_alternative<FieldOf<int64_t>>(key.field) || std::holds_alternative<FieldOf<double>>(key.field);
  if (!is_number) return;
  Config config;
  const auto bound = [&](double value) {
    set(config,
        fmt::format("{}={}", key.path,
                    std::holds_alternative<FieldOf<int64_t>>(key.field) ? fmt::format("{}", static_cast<int64_t>(value))
                                                                        : fmt::format("{}", value)));
  };
  if (!key.range.above_least) bound(key.range.least);  // a refusal throws, and fails the test
  if (!key.range.below_most) bound(key.range.most);
}

TEST_P(EveryKey, ActsOrIsRefused) {
  const Key& key = *GetParam();
  const Config config = parse_config(json_with(key, json_of(another(key))), "a.json");
  if (key.when.holds(config)) return;  // its own cross checks may still refuse it
  const std::string text = text_of([&] { validate(config, "a.json"); });
  EXPECT_TRUE(text.starts_with(fmt::format("[config] a.json: {} is ", key.path))) << text;
  EXPECT_NE(text.find(fmt::format("acts only when {}", key.when.text)), std::string::npos) << text;
}

TEST_P(EveryKey, IsInTheSchema) {
  const Key& key = *GetParam();
  const json schema = json::parse(json_schema());
  const json& properties =
      key.section().empty() ? schema["properties"] : schema["properties"][std::string(key.section())]["properties"];
  const json& entry = properties.at(std::string(key.name()));
  EXPECT_EQ(entry["default"], json_of(key.default_value()));
  EXPECT_TRUE(entry["description"].get<std::string>().starts_with(key.does));
  EXPECT_EQ(entry.contains("enum"), !key.choices.empty());
}

TEST(ConfigTable, OnResumeWhatIsComputedStays) {
  std::vector<std::string_view> free;
  for (const Key& key : config_keys()) {
    const bool is_watching = key.section() == "checkpoint" || key.section() == "sample";
    EXPECT_TRUE(!is_watching || key.on_resume == OnResume::may_change) << key.path;
    if (!is_watching && key.on_resume == OnResume::may_change) free.push_back(key.path);
  }
  EXPECT_EQ(free, (std::vector<std::string_view>{"description", "data.prefetch", "training.steps",
                                                 "training.eval_every", "training.eval_batches", "training.log_every",
                                                 "training.check_finite", "training.capture", "device.name",
                                                 "device.threads", "device.memory_limit"}));
}

TEST(ConfigTable, OnResumeOnlyDataMayLieElsewhere) {
  std::vector<std::string_view> moving;
  for (const Key& key : config_keys()) {
    if (key.on_resume == OnResume::may_move) moving.push_back(key.path);
  }
  EXPECT_EQ(moving, (std::vector<std::string_view>{"data.train", "data.validation", "data.path"}));
}

std::vector<const Key*> all_keys() {
  std::vector<const Key*> keys;
  for (const Key& key : config_keys()) keys.push_back(&key);
  return keys;
}
INSTANTIATE_TEST_SUITE_P(Config, EveryKey, testing::ValuesIn(all_keys()), [](const auto& test) {
  std::string name(test.param->path);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(Config, DefaultsAreValid) { EXPECT_NO_THROW(validate({})); }

TEST(Config, AnEmptyObjectIsTheDefaults) { EXPECT_TRUE(differences({}, parse_config("{}", "a.json")).empty()); }

TEST(Config, NamesTheNearestKey) {
  const auto hint = [](const std::string& text) { return refusal(text); };
  EXPECT_EQ(hint(R"({"training": {"batch_siez": 4}})"),
            "[config] a.json: training.batch_siez is no key; did you mean training.batch_size?");
  EXPECT_EQ(hint(R"({"model": {"batch_size": 4}})"),
            "[config] a.json: model.batch_size is no key; did you mean training.batch_size?");
  EXPECT_EQ(hint(R"({"batch_size": 4})"), "[config] a.json: batch_size is no key; did you mean training.batch_size?");
  EXPECT_EQ(hint(R"({"modle": {}})"), "[config] a.json: modle is no key; did you mean model?");
  EXPECT_EQ(hint(R"({"zzzzzz": 4})"), "[config] a.json: zzzzzz is no key; tenon config --print-defaults shows all");
  EXPECT_EQ(hint(R"({"model": {"d_model": 4}})"), "[config] a.json: model.d_model is no key; did you mean model.width?");
  EXPECT_EQ(hint(R"({"num_heads": 4})"), "[config] a.json: num_heads is no key; did you mean model.heads?");
  EXPECT_EQ(hint(R"({"training": {"learning_rate": 4}})"),
            "[config] a.json: training.learning_rate is no key; did you mean optimizer.lr?");
  EXPECT_EQ(hint(R"({"tokenizer": {"vocab_size": 4}})"),
            "[config] a.json: tokenizer.vocab_size is no key; did you mean tokenizer.vocabulary?");
  EXPECT_EQ(refusal_of_set("trainign.steps=4"),
            "[config] --set: trainign.steps is no key; did you mean training.steps?");
  EXPECT_EQ(hint(R"({"optimizer": {"kind": "adm"}})"),
            "[config] a.json: optimizer.kind is \"adm\"; did you mean adam? It must be one of adamw, adam, sgd, "
            "rmsprop, adagrad, lion");
}

TEST(Config, KnowsTheNamesOfOtherSystems) {
  const std::pair<const char*, const char*> all[] = {
      {"d_model", "model.width"},         {"n_embd", "model.width"},
      {"num_layers", "model.layers"},     {"n_layer", "model.layers"},
      {"num_heads", "model.heads"},       {"num_attention_heads", "model.heads"},
      {"max_length", "model.context"},    {"max_position_embeddings", "model.context"},
      {"learning_rate", "optimizer.lr"},  {"gradient_accumulation_steps", "training.micro_batches"},
      {"max_steps", "training.steps"},    {"max_grad_norm", "training.clip_norm"},
      {"intermediate_size", "model.hidden"}, {"vocab_size", "model.vocabulary"}};
  for (const auto& [theirs, ours] : all) {
    EXPECT_NE(find_key(ours), nullptr) << ours;
    EXPECT_EQ(refusal(fmt::format(R"({{"{}": 4}})", theirs)),
              fmt::format("[config] a.json: {} is no key; did you mean {}?", theirs, ours));
  }
}

TEST(Config, RefusesDuplicates) {
  EXPECT_EQ(refusal(R"({"training": {"steps": 4, "steps": 5}})"), "[config] a.json: training.steps is given twice");
  EXPECT_EQ(refusal(R"({"model": {}, "model": {}})"), "[config] a.json: model is given twice");
}

TEST(Config, SyntaxErrorsHaveALineAndAColumn) {
  EXPECT_EQ(refusal("{\n  \"model\": {\n    \"layers\": 3,\n  }\n}"),
            "[config] a.json: line 4, column 3: this is not JSON, at \"}\"");
  EXPECT_EQ(refusal("{\"model\": {}"), "[config] a.json: line 1, column 13: the JSON ends too early");
  EXPECT_EQ(refusal("{} {}"), "[config] a.json: line 1, column 4: this is not JSON, at \"{}\"");
  EXPECT_EQ(refusal(std::string("{}\0", 3)), "[config] a.json: line 1, column 3: this is not JSON, at \"\\x00\"");
  EXPECT_EQ(refusal(""), "[config] a.json: line 1, column 1: the JSON ends too early");
}

TEST(Config, RefusesOtherShapesOfJson) {
  EXPECT_EQ(refusal("[]"), "[config] a.json: this is no JSON object; a config starts with {");
  EXPECT_EQ(refusal("3"), "[config] a.json: this is no JSON object; a config starts with {");
  EXPECT_EQ(refusal(R"({"model.layers": 3})"),
            "[config] a.json: model.layers stands outside of its section; write it as \"model\": {\"layers\": ...}");
  EXPECT_EQ(refusal(R"({"model": 3})"), "[config] a.json: model holds keys; write it as { ... }");
  EXPECT_EQ(refusal(R"({"model": [3]})"), "[config] a.json: model holds keys; write it as { ... }");
  EXPECT_EQ(refusal(R"({"training": {"lora_targets": ["a", 3]}})"),
            "[config] a.json: training.lora_targets holds 3; it must be a list of names without commas");
  EXPECT_EQ(refusal(R"({"training": {"steps": 4.5}})"),
            "[config] a.json: training.steps is 4.5; it must be a whole number from 1 to 1000000000");
}

TEST(Config, WholeNumbersServeAsNumbers) {
  EXPECT_EQ(parse_config(R"({"optimizer": {"lr": 1}})", "a.json").optimizer.lr, 1.0);
}

TEST(Config, ListsMayBeOneText) {
  const Texts wanted = {"q_proj", "v_proj"};
  EXPECT_EQ(parse_config(R"({"training": {"lora_targets": "q_proj,v_proj"}})", "a").training.lora_targets, wanted);
  EXPECT_EQ(parse_config(R"({"training": {"lora_targets": ["q_proj", "v_proj"]}})", "a").training.lora_targets, wanted);
  Config config;
  set(config, "training.lora_targets=q_proj,v_proj");
  EXPECT_EQ(config.training.lora_targets, wanted);
  EXPECT_EQ(refusal_of_set("training.lora_targets=a,,b"),
            "[config] --set: training.lora_targets is \"a,,b\"; it must be a list of names without commas");
  set(config, "training.lora_targets=");
  EXPECT_TRUE(config.training.lora_targets.empty());
}

TEST(Config, SetTakesTextAsItIs) {
  Config config;
  set(config, "sample.prompt=a = b, \"c\"");
  EXPECT_EQ(config.sample.prompt, "a = b, \"c\"");
  EXPECT_EQ(refusal_of_set("training.steps"),
            "[config] --set: \"training.steps\" has no =; write a key and its value, as in training.steps=200");
  EXPECT_EQ(refusal_of_set("model.bias=yes"), "[config] --set: model.bias is \"yes\"; it must be true or false");
  EXPECT_EQ(refusal_of_set("training.steps=12x"),
            "[config] --set: training.steps is \"12x\"; it must be a whole number from 1 to 1000000000");
  for (const std::string limit : {"-1", "abc", "2147483648"})
    EXPECT_EQ(refusal_of_set("device.memory_limit=" + limit), "[config] --set: device.memory_limit is " +
                                                                  (limit == "abc" ? "\"abc\"" : limit) +
                                                                  "; it must be a whole number from 0 to 1073741824");
  EXPECT_EQ(refusal_of_set("sample.prompt=\xff"), "[config] --set: sample.prompt is \"\\xff\", which is not UTF-8");
}

TEST(ConfigCheck, KeysWithoutEffectAreRefused) {
  EXPECT_EQ(refusal_with({"optimizer.momentum=0.9"}),
            "[config] config: optimizer.momentum is 0.9, but acts only when optimizer.kind is sgd or rmsprop; take it "
            "out or set it to its default, 0");
  EXPECT_EQ(refusal_with({"optimizer.kind=sgd", "optimizer.momentum=0.9"}), "nothing was thrown");
  EXPECT_EQ(refusal_with({"schedule.kind=cosine", "schedule.gamma=0.1"}), "nothing was thrown");  // its default
}

TEST(ConfigCheck, SaysWhatToChange) {
  EXPECT_EQ(refusal_with({"model.heads=3"}),
            "[config] config: model.width 128 cannot be divided among 3 heads; make model.width a multiple of 3");
  EXPECT_EQ(refusal_with({"model.architecture=llama", "model.heads=8", "model.kv_heads=3"}),
            "[config] config: 8 heads cannot share 3 key/value heads evenly; make model.kv_heads a divisor of "
            "model.heads");
  EXPECT_EQ(refusal_with({"model.architecture=llama", "model.width=12"}),
            "[config] config: heads 3 wide cannot be turned in pairs; make model.width an even multiple of "
            "model.heads");
  EXPECT_EQ(refusal_with({"training.sequence_length=129"}),
            "[config] config: training.sequence_length 129 is longer than model.context 128; lower it or raise "
            "model.context");
  EXPECT_EQ(refusal_with({"training.micro_batches=3"}),
            "[config] config: training.batch_size 16 cannot be cut into 3 micro-batches; make it a multiple of "
            "training.micro_batches");
  EXPECT_EQ(refusal_with({"data.train="}),
            "[config] config: data.train is empty; name a file, or stories for the built-in corpus");
  EXPECT_EQ(refusal_with({"data.train=a.txt", "data.validation=a.txt"}),
            "[config] config: data.validation is the training data; name another file, or leave it empty and set "
            "data.validation_fraction");
  EXPECT_EQ(refusal_with({"tokenizer.kind=file"}),
            "[config] config: tokenizer.kind is file; name the file in tokenizer.path");
  EXPECT_EQ(refusal_with({"tokenizer.vocabulary=256"}),
            "[config] config: tokenizer.vocabulary 256 is too small for bpe, which begins with the 256 bytes; make it "
            "at least 257");
  EXPECT_EQ(refusal_with({"model.vocabulary=1000"}),
            "[config] config: model.vocabulary 1000 is smaller than the tokenizer's 1024; set it to 0 to take the "
            "tokenizer's");
  EXPECT_EQ(refusal_with({"training.mode=lora"}),
            "[config] config: training.mode is lora; name the folder of weights in model.init_from");
  EXPECT_EQ(refusal_with({"model.init_from=gpt2"}),
            "[config] config: model.init_from is given, but training.mode is scratch; set training.mode to finetune "
            "or lora");
}

TEST(ConfigCheck, SchedulesFitTheRun) {
  EXPECT_EQ(refusal_with({"schedule.min_lr=0.1"}),
            "[config] config: schedule.min_lr 0.1 is above optimizer.lr 0.001; lower it");
  EXPECT_EQ(refusal_with({"schedule.warmup_steps=1001"}),
            "[config] config: schedule.warmup_steps 1001 is more than training.steps 1000; lower it or train longer");
  EXPECT_EQ(refusal_with({"schedule.warmup_steps=100", "schedule.decay_steps=100"}),
            "[config] config: schedule.warmup_steps 100 leaves nothing of 100 steps for the cosine schedule; lower it");
  EXPECT_EQ(refusal_with({"schedule.kind=constant", "schedule.warmup_steps=1000"}), "nothing was thrown");
  EXPECT_EQ(refusal_with({"schedule.kind=cosine_restarts"}),
            "[config] config: schedule.kind is cosine_restarts; set schedule.restart_every to the steps of its first "
            "cycle");
  EXPECT_EQ(refusal_with({"schedule.kind=step"}),
            "[config] config: schedule.kind is step; set schedule.step_every to the steps between two falls of the "
            "rate");
  EXPECT_EQ(refusal_with({"schedule.kind=plateau", "training.eval_every=0"}),
            "[config] config: schedule.kind is plateau, which needs validation losses; give data.validation or "
            "data.validation_fraction, and training.eval_every above 0");
  EXPECT_EQ(refusal_with({"schedule.kind=one_cycle", "training.steps=1"}),
            "[config] config: a one_cycle schedule needs more than one step");
}

TEST(ConfigSizes, ZeroMeansTheArchitecturesOwn) {
  Config config;
  EXPECT_EQ(config.model.hidden_width(), 512);
  set(config, "model.architecture=llama");
  EXPECT_EQ(config.model.hidden_width(), 352);  // 341.3 in steps of 32
  set(config, "model.hidden=100");
  EXPECT_EQ(config.model.hidden_width(), 100);
  EXPECT_EQ(config.model.padded(50257), 50304);
  EXPECT_EQ(config.sequence_length(), 128);
  EXPECT_EQ(config.decay_steps(), 1000);
}

TEST(TakeModel, SizesAreTheFoldersUnlessOthersWereAskedFor) {
  ModelConfig found;
  found.layers = 6;
  found.width = 768;
  found.heads = 12;
  found.context = 1024;
  Config config;
  set(config, "model.init_from=distilgpt2");
  set(config, "model.layers=6");
  set(config, "model.dropout=0.1");
  take_model(config, found);
  EXPECT_EQ(config.model.width, 768);
  EXPECT_EQ(config.model.dropout, 0.1);
  EXPECT_EQ(config.model.init_from, "distilgpt2");

  found.layers = 12;
  EXPECT_EQ(text_of([&] { take_model(config, found); }),
            "[config] distilgpt2: model.layers is 12 there, but the config asks for 6; take it out of the config");
  found.layers = 6;
  set(config, "training.sequence_length=2048");
  EXPECT_EQ(text_of([&] { take_model(config, found); }),
            "[config] distilgpt2: training.sequence_length 2048 is longer than the model's context 1024; lower it");
}

TEST(Presets, AllAreValid) {
  ASSERT_EQ(presets().size(), 14u);
  for (const Preset& preset : presets()) {
    const Config config = load_config(std::string(preset.name));
    EXPECT_NO_THROW(validate(config, preset.name)) << preset.name;
    EXPECT_FALSE(config.description.empty()) << preset.name;
  }
}

struct Sizes {
  int64_t layers, heads, width, hidden, context, batch, vocabulary;
  bool operator==(const Sizes&) const = default;
};

Sizes sizes_of(const std::string& name) {
  const Config c = load_config(name);
  const int64_t vocabulary = c.model.vocabulary > 0 ? c.model.vocabulary : c.tokenizer.vocabulary;
  return {c.model.layers,  c.model.heads,         c.model.width, c.model.hidden_width(),
          c.model.context, c.training.batch_size, vocabulary};
}

TEST(Presets, HaveTheSizesTheyAreNamedFor) {
  EXPECT_EQ(sizes_of("demo"), (Sizes{4, 4, 128, 512, 128, 8, 2048}));
  EXPECT_EQ(sizes_of("wiki_base"), (Sizes{6, 8, 512, 2048, 512, 64, 16000}));
  EXPECT_EQ(sizes_of("wiki_cache_optimized"), (Sizes{4, 8, 384, 1536, 128, 32, 16000}));
  EXPECT_EQ(sizes_of("wiki_performance_tuned"), (Sizes{4, 8, 256, 1024, 128, 32, 16000}));
  const Sizes distil = sizes_of("distilgpt2"), small = sizes_of("gpt2_124m");
  EXPECT_EQ(distil, (Sizes{6, 12, 768, 3072, 1024, distil.batch, 50257}));
  EXPECT_EQ(small, (Sizes{12, 12, 768, 3072, 1024, small.batch, 50257}));
}

TEST(Presets, ShakespeareIsNanoGpts) {
  for (const std::string name : {"shakespeare_char", "shakespeare_char_cpu"}) {
    const Config c = load_config(name);
    const bool is_cpu = name.ends_with("cpu");
    EXPECT_EQ(c.model.layers, is_cpu ? 4 : 6);
    EXPECT_EQ(c.model.heads, is_cpu ? 4 : 6);
    EXPECT_EQ(c.model.width, is_cpu ? 128 : 384);
    EXPECT_EQ(c.model.context, is_cpu ? 64 : 256);
    EXPECT_EQ(c.model.dropout, is_cpu ? 0 : 0.2);
    EXPECT_EQ(c.training.batch_size, is_cpu ? 12 : 64);
    EXPECT_EQ(c.training.steps, is_cpu ? 2000 : 5000);
    EXPECT_EQ(c.training.clip_norm, 1);
    EXPECT_EQ(c.training.eval_every, 250);
    EXPECT_EQ(c.training.eval_batches, 0);
    EXPECT_EQ(c.tokenizer.kind, "char");
    EXPECT_EQ(c.data.validation_fraction, 0.1);
    EXPECT_EQ(c.optimizer.lr, 1e-3);
    EXPECT_EQ(c.optimizer.beta1, 0.9);
    EXPECT_EQ(c.optimizer.beta2, 0.99);
    EXPECT_EQ(c.optimizer.weight_decay, 0.1);
    EXPECT_EQ(c.optimizer.decay, "matrices");
    EXPECT_EQ(c.schedule.kind, "cosine");
    EXPECT_EQ(c.schedule.warmup_steps, 100);
    EXPECT_EQ(c.schedule.min_lr, 1e-4);
  }
}

TEST(Presets, UnknownOnesAreRefusedWithTheNearest) {
  EXPECT_EQ(text_of([] { load_config("dmo"); }), "[config] dmo: there is no such preset or file; did you mean demo?");
  EXPECT_TRUE(text_of([] { load_config("nothing.json"); }).starts_with("[config] nothing.json: cannot be read"));
}

TEST(ConfigDocs, AreUpToDate) {
  std::ifstream file(TENON_SOURCE_DIR "/docs/config.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), config_markdown()) << "write it again: tenon config --markdown > docs/config.md";
}

TEST(SetAll, WhatAPresetSetsYields) {
  Config config = load_config("wiki_base");
  const std::string settings[] = {"data.train=wiki.tokens", "tokenizer.kind=file", "tokenizer.path=wiki16k"};
  set_all(config, settings);
  EXPECT_NO_THROW(validate(config));
  EXPECT_EQ(config.tokenizer.vocabulary, TokenizerConfig{}.vocabulary);
  EXPECT_EQ(config.model.width, 512);  // what still acts stays
}

TEST(SetAll, WhatIsAskedForDoesNot) {
  Config config = load_config("wiki_base");
  const std::string settings[] = {"tokenizer.kind=byte", "tokenizer.vocabulary=500"};
  set_all(config, settings);
  EXPECT_NE(text_of([&] { validate(config); }).find("tokenizer.vocabulary is 500, but acts only when"),
            std::string::npos);
}

/// What a preset becomes with these settings, and what it says about them: "key before after".
std::pair<Config, std::vector<std::string>> fitted(const std::string& preset,
                                                   const std::vector<std::string>& settings) {
  Config config = load_config(preset);
  const Config before = config;
  set_all(config, settings);
  std::vector<std::string> said;
  for (const Difference& one : make_fit(config, before, settings))
    said.push_back(one.path + " " + one.before + " " + one.after);
  return {config, said};
}

using Said = std::vector<std::string>;

TEST(MakeFit, AShorterRunHasAShorterWarmUp) {
  for (const Preset& preset : presets()) {
    for (const std::string steps : {"1", "2", "5", "30"}) {
      const auto [config, said] = fitted(std::string(preset.name), {"training.steps=" + steps});
      EXPECT_NO_THROW(validate(config)) << preset.name << " " << steps;
    }
  }
  EXPECT_EQ(fitted("demo", {"training.steps=40"}).second, Said{"schedule.warmup_steps 50 2"});
  EXPECT_EQ(fitted("demo", {"training.steps=5"}).second, Said{"schedule.warmup_steps 50 0"});
  EXPECT_EQ(fitted("demo", {"training.steps=100"}).second, Said{});  // there is room
}

TEST(MakeFit, ALowerRateHasALowerFloor) {
  const auto [config, said] = fitted("demo", {"optimizer.lr=0.00003"});
  EXPECT_EQ(config.schedule.min_lr, 0.0001 * (0.00003 / 0.003));
  EXPECT_NO_THROW(validate(config));
  EXPECT_EQ(said.size(), 1U);
}

TEST(MakeFit, AnotherBatchIsCutOtherwise) {
  const auto [config, said] = fitted("distilgpt2", {"training.batch_size=24"});
  EXPECT_EQ(said, Said{"training.micro_batches 16 8"});
  EXPECT_NO_THROW(validate(config));
}

TEST(MakeFit, WhatIsAskedForStays) {
  const auto [config, said] = fitted("demo", {"training.steps=5", "schedule.warmup_steps=9"});
  EXPECT_EQ(said, Said{});
  EXPECT_NE(
      text_of([&config = config] { validate(config); }).find("schedule.warmup_steps 9 is more than training.steps 5"),
      std::string::npos);
}

}  // namespace
}  // namespace tenon::train
