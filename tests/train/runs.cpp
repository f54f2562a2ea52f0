// The text is built-in stories, some 30 kB: more would only take longer to read.

#include "tests/train/runs.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tenon/data/image.h"
#include "tenon/data/random.h"
#include "tenon/data/stories.h"
#include "tenon/models/gpt2.h"
#include "tenon/tensor/creation.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/run_folder.h"
#include "tenon/watch/metrics.h"
#include "tenon/watch/samples.h"

namespace tenon::train {
namespace {

std::string stories(size_t bytes) {
  data::StoryTeller teller(1);
  std::string text;
  while (text.size() < bytes) text += teller.next() + "\n";
  return text;
}

// A run waits for the disk some forty times, which took nine tenths of a test: memory answers at once.
fs::path quick_folder() { return access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path(); }

std::string content_of_tensor(const Tensor& tensor) {
  const std::vector<std::byte> bytes = tensor.to_bytes();
  std::string text = fmt::format("{} {} ", name(tensor.dtype()), ir::to_string(tensor.shape()));
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

std::string comparable_line(watch::StepMetrics metrics) {
  metrics.items_per_second = metrics.seconds = 0;
  metrics.resident_bytes = 0;
  metrics.resumed = false;
  return watch::metrics_line(metrics);
}

}  // namespace

Traces traces_of(const fs::path& folder) {
  Traces traces;
  const std::vector<int64_t> steps = checkpoint_steps(folder / "checkpoints");
  if (!steps.empty()) {
    const Checkpoint last = read_checkpoint(checkpoint_path(folder / "checkpoints", steps.back()));
    for (const auto& [name, tensor] : last.tensors) traces.tensors[name] = content_of_tensor(tensor);
    nlohmann::ordered_json state = nlohmann::ordered_json::parse(last.state);
    state.erase("seconds");
    state.erase("step_seconds");
    state.erase("config");  // compared by those who change it
    traces.position = fmt::format("step {} {}", last.step, state.dump());
  }
  for (const watch::StepMetrics& metrics : watch::read_metrics(folder / "metrics.jsonl"))
    traces.metrics.push_back(comparable_line(metrics));
  for (const watch::Sample& sample : watch::read_samples(folder))
    traces.samples[sample.step] = sample.text + sample.picture;
  return traces;
}

std::string difference(const Traces& one, const Traces& other) {
  if (one.metrics.size() != other.metrics.size())
    return fmt::format("{} lines of metrics and {}", one.metrics.size(), other.metrics.size());
  for (size_t i = 0; i < one.metrics.size(); ++i) {
    if (one.metrics[i] != other.metrics[i]) return fmt::format("{} and {}", one.metrics[i], other.metrics[i]);
  }
  for (const auto& [name, content] : one.tensors) {
    const auto found = other.tensors.find(name);
    if (found == other.tensors.end() || found->second != content) return fmt::format("tensor {} differs", name);
  }
  if (one.tensors.size() != other.tensors.size())
    return fmt::format("{} tensors and {}", one.tensors.size(), other.tensors.size());
  if (one.samples != other.samples) return "samples differ";
  if (one.position != other.position) return fmt::format("{} and {}", one.position, other.position);
  return {};
}

Runs::Runs() : InFolder("text.txt", quick_folder()) { write(stories(30'000)); }

Config Runs::tiny(const std::vector<std::string>& settings) const {
  Config config;
  config.data.train = path().string();
  config.tokenizer.kind = "byte";
  config.tokenizer.vocabulary = TokenizerConfig{}.vocabulary;
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.width = 32;
  config.model.context = 16;
  config.model.dropout = 0.1;
  config.training.steps = 20;
  config.training.batch_size = 4;
  config.training.log_every = 3;
  config.training.eval_every = 10;
  config.training.eval_batches = 4;
  config.checkpoint.every = 10;
  config.sample.every = 10;
  config.sample.tokens = 8;
  config.device.name = "cpu";
  for (const std::string& setting : settings) set(config, setting);
  return config;
}

namespace {

std::string big_endian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 255);
  return bytes;
}

// A bar through the middle that leans by the class, in noise.
uint8_t pixel(int64_t label, int64_t row, int64_t column, data::Random& random) {
  const double angle = static_cast<double>(label) * 0.314, x = static_cast<double>(column) - 5.5,
               y = static_cast<double>(row) - 5.5;
  const double distance = std::abs(x * std::cos(angle) + y * std::sin(angle));
  return static_cast<uint8_t>(200 * std::exp(-distance * distance) + 40 * random.uniform());
}

}  // namespace

fs::path Runs::write_digits(const std::string& name, uint64_t seed) const {
  constexpr int64_t kSize = 12;
  fs::create_directories(path(name));
  data::Random random(seed, 0, 0);
  for (const auto& [part, count] : {std::pair("train", 96), std::pair("t10k", 40)}) {
    const std::string size = big_endian(kSize);
    std::string images = big_endian(0x803) + big_endian(static_cast<uint32_t>(count)) + size + size,
                labels = big_endian(0x801) + big_endian(static_cast<uint32_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t label = random.below(10);
      labels += static_cast<char>(label);
      for (int64_t at = 0; at < kSize * kSize; ++at)
        images += static_cast<char>(pixel(label, at / kSize, at % kSize, random));
    }
    write(name + "/" + part + "-images-idx3-ubyte", images);
    write(name + "/" + part + "-labels-idx1-ubyte", labels);
  }
  return path(name);
}

Config Runs::tiny_cnn(const std::vector<std::string>& settings) const {
  Config config;
  config.model.architecture = "cnn";
  config.model.layers = 2;
  config.model.channels = 4;
  config.model.dropout = 0.1;
  config.data.path = path("digits").string();
  config.training.steps = 20;
  config.training.batch_size = 16;
  config.training.log_every = 3;
  config.training.eval_every = 10;
  config.checkpoint.every = 10;
  config.sample.every = 10;
  config.device.name = "cpu";
  for (const std::string& setting : settings) set(config, setting);
  return config;
}

// A word of praise or blame among others that say nothing.
fs::path Runs::write_texts(const std::string& name, int64_t count, uint64_t seed) const {
  constexpr const char* kWords[2][4] = {{"dull", "tedious", "awful", "poor"}, {"fine", "moving", "clever", "bright"}};
  constexpr const char* kOthers[] = {"the", "film", "a", "story", "of", "two", "ships", "and", "their", "crew"};
  data::Random random(seed, 0, 0);
  std::string lines = "label,text,other\n";
  for (int64_t i = 0; i < count; ++i) {
    const int64_t is_good = i % 2, words = 3 + random.below(20), place = random.below(words);
    std::string text;
    for (int64_t word = 0; word < words; ++word) {
      text += word > 0 ? " " : "";
      text += word == place ? kWords[is_good][random.below(4)] : kOthers[random.below(10)];
    }
    lines += fmt::format("{},\"{}, they said.\",{}\n", is_good ? "good" : "bad", text, words > 12 ? "long" : "short");
  }
  write(name, lines);
  return path(name);
}

Config Runs::tiny_bert(const std::vector<std::string>& settings) const {
  Config config;
  config.model.architecture = "bert";
  config.model.layers = 1;
  config.model.heads = 2;
  config.model.width = 32;
  config.model.context = 32;
  config.model.dropout = 0.1;
  config.data.train = path("texts.csv").string();
  config.data.validation_fraction = 0.25;
  config.tokenizer.kind = "wordpiece";
  config.tokenizer.vocabulary = 200;
  config.training.steps = 20;
  config.training.batch_size = 8;
  config.training.log_every = 3;
  config.training.eval_every = 10;
  config.checkpoint.every = 10;
  config.sample.every = 10;
  config.sample.count = 3;
  config.device.name = "cpu";
  for (const std::string& setting : settings) set(config, setting);
  return config;
}

fs::path Runs::write_pictures(const std::string& name, int64_t of_each, bool with_broken) const {
  constexpr const char* kClasses[] = {"bars", "dots", "plain"};
  data::Random random(1, 0, 0);
  for (size_t label = 0; label < 3; ++label) {
    fs::create_directories(path(name) / kClasses[label]);
    for (int64_t i = 0; i < of_each; ++i) {
      const int64_t height = 12 + random.below(4), width = 10 + random.below(6);
      std::vector<uint8_t> pixels;
      for (int64_t at = 0; at < 3 * height * width; ++at) {
        const int64_t row = at / width % height, column = at % width;
        const bool is_set = label == 0 ? column / 3 % 2 == 0 : label == 1 && (row / 3 + column / 3) % 2 == 0;
        pixels.push_back(static_cast<uint8_t>((is_set ? 180 : 30) + random.below(60)));
      }
      data::save_image(path(name) / kClasses[label] / fmt::format("{:03}.png", i),
                       from_vector(pixels, {3, height, width}));
    }
  }
  if (with_broken) write(name + "/plain/broken.png", "\x89PNG\r\n\x1a\n and no more");
  return path(name);
}

Config Runs::tiny_pictures(const std::vector<std::string>& settings) const {
  Config config = tiny_cnn();
  config.model.dropout = 0;
  config.data.dataset = "folder";
  config.data.path = path("pictures").string();
  config.data.picture_size = 10;
  config.data.validation_fraction = 0.25;
  config.training.batch_size = 8;
  for (const std::string& setting : settings) set(config, setting);
  return config;
}

TrainResult Runs::train_in(const std::string& name, const Config& config, TrainOptions options) {
  options.folder = path(name);
  options.out = nullptr;
  return train(config, options);
}

Traces Runs::trained(const std::string& name, const Config& config) {
  train_in(name, config);
  return traces_of(path(name));
}

std::string Runs::refusal(const std::string& name, const Config& config, const TrainOptions& options) {
  const std::string text = text_of([&] { train_in(name, config, options); });
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

std::string Runs::refusal_at_start(const Config& config) {
  const std::string text = refusal("refused", config);
  EXPECT_TRUE(checkpoint_steps(path("refused") / "checkpoints").empty()) << text;
  EXPECT_FALSE(fs::exists(path("refused") / "metrics.jsonl")) << text;
  return text;
}

std::string Runs::said(const std::string& name, const Config& config, TrainOptions options) {
  std::FILE* out = std::fopen(path("said").c_str(), "w");
  options.folder = path(name);
  options.out = out;
  try {
    train(config, options);
  } catch (const Error& error) {
    std::fprintf(out, "%s\n", error.what());
  }
  std::fclose(out);
  return io::content_of(path("said"));
}

fs::path Runs::small_gpt2(uint64_t seed) {
  models::Gpt2Config config;
  config.vocabulary = 257;
  config.positions = 16;
  config.width = 32;
  config.layers = 1;
  config.heads = 2;
  manual_seed(seed);
  models::Gpt2(config.set_dropout(0)).save(path("gpt2"));
  return path("gpt2");
}

}  // namespace tenon::train
