// `tenon tune`: which tiles of a training step's products, or which algorithms of a library, are the quickest on a
// device, found by trying.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/device/about.h"
#include "tenon/device/registry.h"
#include "tenon/exec/disk_cache.h"
#include "tenon/exec/inspect.h"
#include "tenon/exec/tuning.h"
#include "tenon/io/file.h"
#include "tenon/io/input.h"
#include "tenon/models/lora.h"
#include "tenon/tensor/creation.h"
#include "tenon/train/language_loss.h"
#include "tenon/train/model.h"
#include "tenon/train/optimizer.h"
#include "tenon/train/step.h"

namespace tenon::cli {
namespace {

struct TuneArguments {
  std::string config = "distilgpt2", device, out;
  std::vector<std::string> settings;
};

// A call of a training step, and how often a step does it.
struct Used {
  ir::Call call;
  size_t times = 0;
};

int64_t vocabulary_of(const train::Config& config) {
  if (config.model.vocabulary > 0) return config.model.vocabulary;
  return config.tokenizer.kind == "byte" ? 256 : config.tokenizer.vocabulary;
}

// Tokens and what follows them.
std::vector<Tensor> any_batch(const train::Config& config, int64_t vocabulary) {
  const Dims shape{config.training.batch_size, config.sequence_length()};
  std::minstd_rand dice(1);
  std::uniform_int_distribution<int32_t> token(0, static_cast<int32_t>(vocabulary) - 1);
  std::vector<Tensor> batch;
  for (int i = 0; i < 2; ++i) {
    std::vector<int32_t> ids(static_cast<size_t>(shape[0] * shape[1]));
    std::ranges::generate(ids, [&] { return token(dice); });
    batch.push_back(from_vector(ids, shape, Options(DType::i32, Device(config.device.name))));
  }
  return batch;
}

std::vector<Used> calls_with_ways(const plan::Plan& plan, const device::Compiler& compiler) {
  std::vector<Used> found;
  for (const plan::Launch& launch : plan.launches) {
    const auto* call = std::get_if<ir::Call>(&plan.kernels[launch.kernel]);
    if (!call || compiler.ways(*call).size() < 2) continue;
    const auto known = std::ranges::find(found, *call, &Used::call);
    ++(known != found.end() ? *known : found.emplace_back(*call)).times;
  }
  return found;
}

// Takes one step with tokens drawn at random, and notes the calls of its plan that can be done in several ways.
std::vector<Used> calls_of_step(const train::Config& config, const device::Compiler& compiler) {
  std::vector<Used> found;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    std::vector<Used> here = calls_with_ways(plan, compiler);
    if (here.size() >= found.size()) found = std::move(here);  // the step itself has most of them
  });
  const int64_t vocabulary = vocabulary_of(config);
  const std::unique_ptr<models::CausalLm> model = train::make_model(config, vocabulary);
  const std::unique_ptr<optim::Optimizer> optimizer = train::make_optimizer(config, models::trainable(*model));
  model->train();
  const train::LanguageLoss loss(config, *model);
  train::TrainingStep step(
      config, *model, [&](std::span<const Tensor> batch) { return loss(batch[0], batch[1]); }, *optimizer);
  step.run(any_batch(config, vocabulary));
  step.look();  // waits for it
  return found;
}

ir::Call any_product() {
  ir::Call call;
  call.op = ir::Op::contract;
  call.attrs = ir::ContractAttrs{};
  for (int i = 0; i < 2; ++i) call.inputs.push_back({DType::f32, ir::IndexMap(Dims{256, 256})});
  call.outputs.push_back({DType::f32, Dims{256, 256}});
  return call;
}

// A tile has six numbers.
std::string way_text(const ir::Way& way) {
  return way.size() == 6 ? fmt::format("{} x {} x {}", way[0], way[1], way[2]) : fmt::format("{}", fmt::join(way, " "));
}

// That nothing is kept is a failure where there is a place for it; elsewhere it is what was asked for.
void tell_not_kept(const std::string& device, const std::string& description) {
  constexpr std::string_view kSaid = "nothing is kept ({}); name a file with --out";
  const exec::DiskCache* cache = exec::DiskCache::standard();
  if (cache && !description.empty()) {
    std::string why = cache->why_unusable();
    if (why.empty()) why = cache->why_not_kept();
    base::fail("tune", kSaid, "the disk cache cannot be used: " + why);
  }
  const std::string why = cache                                     ? device + " is no hardware"
                          : base::env::is_set(base::env::kCacheDir) ? "TENON_CACHE_DIR is empty"
                                                                    : "there is no home folder";
  tell(fmt::format(kSaid, why) + "\n");
}

void run(const TuneArguments& wanted) {
  if (is_game(wanted.config, ""))
    base::fail("tune", "{}: is of a game; the products of gpt2 and llama can be tuned", wanted.config);
  train::Config config = train::load_config(wanted.config);
  train::set_all(config, wanted.settings);
  if (!wanted.device.empty()) config.device.name = wanted.device;
  require_computing(config.device.name);
  config.training.capture = false;
  train::validate(config, wanted.config);
  if (!config.is_language())
    base::fail("tune", "{}: is of a {}; the products of gpt2 and llama can be tuned", wanted.config,
               config.model.architecture);
  if (!wanted.out.empty()) require_no_run("tune", wanted.out);
  const ir::DeviceId id = device::find(config.device.name);
  config.device.name = id.name;  // where it is auto
  device::Device& device = device::open(id);
  const std::string description = device.describe();
  print("{}{}\n", config.device.name, description.empty() ? "" : ": " + description);
  std::optional<io::ReplacingFile> file;
  if (!wanted.out.empty()) file.emplace("tune", wanted.out);  // what cannot be written is told before the work
  const bool has_ways = !device.compiler().ways(any_product()).empty() || !device.compiler().timed_on().empty();
  const std::vector<Used> calls = has_ways ? calls_of_step(config, device.compiler()) : std::vector<Used>();
  if (calls.empty()) {
    print("{} does every call of a step in one way: there is nothing to tune\n", config.device.name);
    return;
  }
  exec::Tuning now;
  print("{:>5}  {:>10}  {:>10}  {:<18}{}\n", "times", "usual us", "best us",
        device.compiler().timed_on().empty() ? "tile" : "algorithm", "product");
  double before = 0, after = 0;
  size_t ways = 0;
  for (const Used& used : calls) {
    const exec::Tuned one = exec::tune(device, used.call, [&](const ir::Way&, double) { ++ways; });
    print("{:>5}  {:>10.1f}  {:>10.1f}  {:<18}{}\n", used.times, one.usual_us, one.best_us, way_text(one.way),
          one.what);
    before += static_cast<double>(used.times) * one.usual_us;
    after += static_cast<double>(used.times) * one.best_us;
    now.add(one);
  }
  print("{} {} of {} products tried; products of a step: {:.2f} ms instead of {:.2f}\n", ways,
        device.compiler().timed_on().empty() ? "tiles" : "algorithms", calls.size(), after / 1e3, before / 1e3);
  const bool is_kept = exec::use(device, now);
  if (is_kept) print("kept for this device; it is used from now on\n");
  if (!wanted.out.empty()) {
    file->write(now.to_text());
    file->commit();
    print("written to {}; TENON_TUNED={} uses it elsewhere\n", shown(wanted.out), shown(wanted.out));
  } else if (!is_kept) {
    tell_not_kept(config.device.name, description);
  }
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tune", "Find the quickest tiles of a config's products on a device");
  command->footer(
      "Takes one step of a config's training with tokens drawn at random, tries all tiles of its products, and keeps\n"
      "the quickest for this device. Results of programs stay the same to the last bit: only tiles that add in the "
      "same\n"
      "order compete. On CUDA algorithms of cuBLASLt are tried, whose last bits may differ; runs that were begun keep\n"
      "theirs.\n"
      "\n"
      "Examples:\n"
      "  tenon tune --device opencl\n"
      "  tenon tune wiki_base --device opencl:1 --set training.batch_size=16 --out h200.tuned\n"
      "  TENON_TUNED=h200.tuned tenon train wiki_base --set device.name=opencl");
  const auto wanted = std::make_shared<TuneArguments>();
  command->add_option("config", wanted->config, "A config file, or a preset (tenon config --list)")
      ->type_name("CONFIG")
      ->capture_default_str()
      ->check(path_name());
  command->add_option("--device", wanted->device, "The device (tenon info lists them; the config's unless given)");
  command->add_option("--set", wanted->settings, "Change a key: training.batch_size=16; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--out", wanted->out, "Write what was found into a file as well, to use it elsewhere")
      ->type_name("FILE")
      ->check(path_name());
  command->callback([wanted] { run(*wanted); });
}

}  // namespace tenon::cli
