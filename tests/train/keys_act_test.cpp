// Every key of the table changes what a run does: for each there is a config under which it acts, another value, and
// the one thing that must then be different. A key without a row here fails by name.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tenon/base/parallel.h"
#include "tenon/tensor/stats.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tenon/train/config_keys.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

// What can be seen of a run, from inside and outside.
struct Seen {
  std::string weights, shapes, metrics, samples, files, report, error;
  size_t replays = 0, launches = 0;
  int threads = 0;         // that parallel work may use
  int64_t os_threads = 0;  // of the process
};

struct Row {
  std::string key;
  std::vector<std::string> base;  // settings on top of the tiny run's
  std::string other;              // value of the key
  std::variant<std::string Seen::*, size_t Seen::*, int Seen::*, int64_t Seen::*> differs;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.key; }

const auto kWeights = &Seen::weights, kShapes = &Seen::shapes, kMetrics = &Seen::metrics, kSamples = &Seen::samples,
           kFiles = &Seen::files, kReport = &Seen::report, kError = &Seen::error;
const auto kReplays = &Seen::replays, kLaunches = &Seen::launches;

// FOLDER is the test's own, in which lie text.txt, other.txt, lines.jsonl, two tokenizers, and two models.
const std::vector<Row>& rows() {
  const std::string tuned = "model.init_from=FOLDER/gpt2", lora = "training.mode=lora";
  const std::vector<std::string> cnn = {"model.architecture=cnn"}, resnet = {"model.architecture=resnet"},
                                 folder = {"data.dataset=folder"}, bert = {"model.architecture=bert"};
  static const std::vector<Row> all = {
      {"description", {}, "of mine", kReport},

      {"model.architecture", {"model.dropout=0"}, "llama", kShapes},
      {"model.layers", {}, "2", kShapes},
      {"model.heads", {}, "4", kWeights},
      {"model.kv_heads", {"model.dropout=0", "model.architecture=llama"}, "1", kShapes},
      {"model.width", {}, "48", kShapes},
      {"model.hidden", {}, "96", kShapes},
      {"model.context", {}, "24", kShapes},
      {"model.vocabulary", {}, "400", kShapes},
      {"model.pad_vocabulary_to", {"tokenizer.kind=char"}, "128", kShapes},
      {"model.dropout", {}, "0.3", kWeights},
      {"model.bias", {}, "false", kShapes},
      {"model.tied_head", {}, "false", kShapes},
      {"model.rope_theta", {"model.dropout=0", "model.architecture=llama"}, "100", kWeights},
      {"model.init_from", {tuned, "training.mode=finetune"}, "FOLDER/gpt2_other", kWeights},
      {"model.channels", cnn, "8", kShapes},
      {"model.convolutions", cnn, "2", kShapes},
      {"model.batch_norm", cnn, "false", kShapes},
      {"model.small_pictures", resnet, "true", kShapes},

      {"data.train", {}, "FOLDER/other.txt", kWeights},
      {"data.validation", {"data.validation_fraction=0.1"}, "FOLDER/other.txt", kMetrics},
      {"data.validation_fraction", {}, "0.3", kMetrics},
      {"data.story_megabytes", {"data.train=stories", "data.story_megabytes=1"}, "2", kWeights},
      {"data.story_seed", {"data.train=stories", "data.story_megabytes=1"}, "2", kWeights},
      {"data.order", {}, "sequential", kWeights},
      {"data.seed", {}, "2", kWeights},
      {"data.prefetch", {}, "false", &Seen::os_threads},
      {"data.field", {"data.train=FOLDER/lines.jsonl"}, "other", kWeights},
      {"data.second_field", bert, "label", kWeights},
      {"data.label_field", bert, "other", kWeights},
      {"data.dataset", cnn, "fashion_mnist", kSamples},  // the same files, and other names of the classes
      {"data.path", cnn, "FOLDER/other_digits", kWeights},
      {"data.picture_size", folder, "8", kWeights},
      {"data.least_area", folder, "0.3", kWeights},
      {"data.shift", cnn, "1", kWeights},
      {"data.flip", cnn, "true", kWeights},

      {"tokenizer.kind", {}, "char", kShapes},
      {"tokenizer.path", {"tokenizer.kind=file", "tokenizer.path=FOLDER/bytes"}, "FOLDER/chars", kShapes},
      {"tokenizer.vocabulary", {"tokenizer.kind=bpe", "tokenizer.vocabulary=300"}, "400", kShapes},

      {"training.steps", {}, "5", kMetrics},
      {"training.batch_size", {}, "6", kWeights},
      {"training.micro_batches", {}, "2", kLaunches},
      {"training.sequence_length", {}, "12", kWeights},
      {"training.precision", {}, "bf16", kWeights},
      {"training.method", {"sample.every=0", "sample.tokens=64"}, "masked_lm", kWeights},
      {"training.mask_fraction", {"sample.every=0", "sample.tokens=64", "training.method=masked_lm"}, "0.3", kWeights},
      {"training.mode", {tuned, "training.mode=finetune"}, "lora", kFiles},
      {"training.lora_rank", {tuned, lora}, "4", kShapes},
      {"training.lora_alpha", {tuned, lora, "optimizer.lr=0.01"}, "32", kWeights},
      {"training.lora_dropout", {tuned, lora}, "0.5", kWeights},
      {"training.lora_targets", {tuned, lora}, "c_fc", kShapes},
      {"training.seed", {}, "2", kWeights},
      {"training.clip_norm", {"training.clip_norm=0.01", "optimizer.kind=sgd"}, "0", kWeights},
      {"training.eval_every", {}, "1", kMetrics},
      {"training.eval_batches", {}, "3", kMetrics},
      {"training.log_every", {}, "1", kMetrics},
      {"training.loss_chunk", {}, "16", kLaunches},
      {"training.label_smoothing", cnn, "0.2", kWeights},
      {"training.check_finite",
       {"optimizer.kind=sgd", "optimizer.lr=100", "training.clip_norm=0", "training.steps=40", "training.log_every=1"},
       "false",
       kError},
      {"training.capture", {}, "false", kReplays},

      {"optimizer.kind", {"optimizer.weight_decay=0"}, "lion", kWeights},
      {"optimizer.lr", {}, "0.002", kWeights},
      {"optimizer.beta1", {}, "0.8", kWeights},
      {"optimizer.beta2", {}, "0.99", kWeights},
      {"optimizer.epsilon", {}, "0.1", kWeights},
      {"optimizer.weight_decay", {}, "0.5", kWeights},
      {"optimizer.decay", {"optimizer.weight_decay=0.5"}, "all", kWeights},
      {"optimizer.momentum", {"optimizer.kind=sgd"}, "0.9", kWeights},
      {"optimizer.nesterov", {"optimizer.kind=sgd", "optimizer.momentum=0.9"}, "true", kWeights},
      {"optimizer.alpha", {"optimizer.kind=rmsprop"}, "0.9", kWeights},
      {"optimizer.average", {}, "0.9", kMetrics},

      {"schedule.kind", {}, "linear", kMetrics},
      {"schedule.warmup_steps", {}, "2", kMetrics},
      {"schedule.min_lr", {}, "0.0005", kMetrics},
      {"schedule.decay_steps", {}, "8", kMetrics},
      {"schedule.restart_every", {"schedule.kind=cosine_restarts", "schedule.restart_every=3"}, "2", kMetrics},
      {"schedule.restart_factor",
       {"schedule.kind=cosine_restarts", "schedule.restart_every=1", "training.log_every=1"},
       "2",
       kMetrics},
      {"schedule.gamma", {"schedule.kind=exponential"}, "0.5", kMetrics},
      {"schedule.step_every", {"schedule.kind=step", "schedule.step_every=1"}, "2", kMetrics},
      {"schedule.patience",
       {"schedule.kind=plateau", "training.eval_every=1", "optimizer.lr=3", "schedule.patience=0", "training.steps=8"},
       "5",
       kMetrics},

      {"checkpoint.every", {}, "1", kFiles},
      {"checkpoint.keep_last", {}, "1", kFiles},
      {"checkpoint.keep_best", {}, "false", kFiles},
      {"checkpoint.at_end", {"checkpoint.every=3", "checkpoint.keep_best=false"}, "false", kFiles},

      {"sample.every", {}, "1", kSamples},
      {"sample.prompt", {}, "Once", kSamples},
      {"sample.tokens", {}, "3", kSamples},
      {"sample.count", {}, "2", kSamples},
      {"sample.temperature", {}, "0", kSamples},
      {"sample.top_k", {}, "1", kSamples},
      {"sample.top_p", {}, "0.01", kSamples},
      {"sample.min_p", {}, "0.99", kSamples},
      {"sample.repetition_penalty", {"sample.temperature=0", "optimizer.lr=0.02"}, "50", kSamples},
      {"sample.seed", {}, "2", kSamples},

      {"device.name", {"training.steps=1"}, "reference", kLaunches},
      {"device.threads", {"device.threads=2"}, "1", &Seen::threads},
      {"device.memory_limit", {"model.width=256"}, "1", kError},
  };
  return all;
}

int64_t threads_of_process() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

class KeysAct : public Runs, public testing::WithParamInterface<Row> {
 protected:
  KeysAct() {
    std::string text = io::content_of(path());
    std::reverse(text.begin(), text.end());
    write("other.txt", text);
    std::ofstream lines(path("lines.jsonl"));
    for (int i = 0; i < 300; ++i)
      lines << R"({"text": "The fox sees the owl.", "other": "Two and two are four, said Tom."})"
            << "\n";
    if (GetParam().key.starts_with("tokenizer.")) {
      text::ByteTokenizer(false).save(path("bytes"));
      text::CharCounter counter;
      counter.add(text);
      text::CharTokenizer(counter.model(false, false)).save(path("chars"));
    }
    if (is_cnn()) {
      write_digits("digits");
      write_digits("other_digits", 2);
    }
    if (is_bert()) write_texts("texts.csv");
    if (is_folder() || is_resnet()) write_pictures("pictures");
    if (is_tuned()) {
      small_gpt2();
      fs::rename(path("gpt2"), path("gpt2_other"));
      small_gpt2(4);
    }
  }

  static bool is_tuned() {
    return std::ranges::any_of(GetParam().base,
                               [](const std::string& one) { return one.starts_with("model.init_from"); });
  }

  static bool is_cnn() { return GetParam().base == std::vector<std::string>{"model.architecture=cnn"}; }

  static bool is_folder() { return GetParam().base == std::vector<std::string>{"data.dataset=folder"}; }
  static bool is_bert() { return GetParam().base == std::vector<std::string>{"model.architecture=bert"}; }
  static bool is_resnet() { return GetParam().base == std::vector<std::string>{"model.architecture=resnet"}; }

  Config base() {
    if (is_folder()) return tiny_pictures({"training.steps=4", "training.eval_every=2"});
    if (is_resnet()) {
      Config config = tiny_pictures({"training.steps=1", "sample.every=0", "checkpoint.every=0"});
      config.model = ModelConfig{.architecture = "resnet", .layers = 18};
      return config;
    }
    if (is_bert()) return tiny_bert({"training.steps=4"});
    if (is_cnn()) return tiny_cnn({"training.steps=4", "training.eval_every=2", "sample.every=2", "sample.count=4"});
    Config config = tiny({"training.steps=4", "training.log_every=2", "training.eval_every=2",
                          "training.eval_batches=2", "checkpoint.every=2", "sample.every=2"});
    if (is_tuned()) config.model = {};
    for (const std::string& setting : GetParam().base) put(config, setting);
    return config;
  }

  void put(Config& config, std::string setting) const {
    if (const size_t at = setting.find("FOLDER"); at != setting.npos) setting.replace(at, 6, folder_.string());
    set(config, setting);
  }

  Seen run(const std::string& name, const Config& config) {
    Seen seen;
    (ones({1 << 21}) * 2.0).eval();  // large enough to start the device's own thread, which is there from now on
    const Stats before = stats();
    const auto watch = [&](const watch::StepMetrics&) {
      seen.threads = base::num_threads();
      seen.os_threads = threads_of_process();
    };
    seen.error = text_of([&] { train_in(name, config, {.on_metrics = watch}); });
    seen.replays = stats().replays - before.replays;
    seen.launches = stats().launches - before.launches;
    const fs::path folder = path(name);
    if (!fs::exists(folder)) return seen;  // it was refused at its start
    seen.report = io::content_of(folder / "report.html");
    const Traces traces = traces_of(folder);
    for (const auto& [tensor, content] : traces.tensors) {
      if (!tensor.starts_with("model.")) continue;
      seen.weights += content;
      seen.shapes += tensor + " " + content.substr(0, content.find(')') + 1) + "\n";
    }
    for (const std::string& line : traces.metrics) seen.metrics += line;
    for (const auto& [step, text] : traces.samples) seen.samples += fmt::format("{}: {}\n", step, text);
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string file = fs::relative(entry.path(), folder).string();
      if (!file.starts_with("tensorboard")) files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    seen.files = fmt::format("{}", fmt::join(files, " "));
    return seen;
  }
};

TEST_P(KeysAct, ChangesTheRun) {
  const Row& row = GetParam();
  ASSERT_NE(find_key(row.key), nullptr);
  Config config = base();
  const Seen before = run("base", config);
  ASSERT_NE(get(config, row.key), row.other);
  put(config, row.key + "=" + row.other);
  const Seen after = run("other", config);
  std::visit([&](const auto member) { EXPECT_TRUE(before.*member != after.*member); }, row.differs);
  if (row.differs != decltype(row.differs)(kError)) {
    EXPECT_EQ(before.error, "nothing was thrown");
    EXPECT_EQ(after.error, "nothing was thrown");
  }
}

INSTANTIATE_TEST_SUITE_P(All, KeysAct, testing::ValuesIn(rows()), [](const auto& one) {
  std::string name = one.param.key;
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST(KeysActTable, HasARowForEveryKey) {
  std::vector<std::string> wanted, there;
  for (const Key& key : config_keys()) wanted.emplace_back(key.path);
  for (const Row& row : rows()) there.push_back(row.key);
  EXPECT_EQ(there, wanted);
}

}  // namespace
}  // namespace tenon::train
