// One training step of a language model, captured: time, first step, peak resident memory, as one line of JSON.
// `cpu_ms` is the time of all cores together, which others on the machine disturb less.
//
//   gpt2_bench [--model gpt2|llama] [--layers 6] [--width 768] [--heads 12] [--kv-heads 12] [--inner N] [--vocab 50257]
//              [--batch 4] [--time 128] [--micro 1] [--chunk 0] [--bf16|--tf32] [--steps 12]
//
// Without sizes gpt2 is DistilGPT-2 and llama TinyLlama 1.1B. --inner is the width inside of the MLPs, --chunk the
// tokens whose logits exist at a time (0: all). --micro N computes the batch in N parts, one after the other, and
// updates once. TENON_DEVICE names the device.
//
//   gpt2_bench --save FOLDER     writes GPT-2 124M with random weights
//   gpt2_bench --load FOLDER     time and resident memory of loading it, and of reading all of it

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>

#include "tenon/base/parallel.h"
#include "tenon/base/resident.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/llama.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

double processor_time() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Arguments {
  std::string model = "gpt2";
  int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, inner = 0, vocabulary = 0;  // 0: the model's own
  int64_t batch = 4, time = 128, micro = 1, chunk = 0, steps = 12;
  bool bf16 = false, tf32 = false;
};

Arguments parsed(int argc, char** argv) {
  Arguments given;
  const std::pair<std::string_view, int64_t*> numbers[] = {
      {"--layers", &given.layers},     {"--width", &given.width}, {"--heads", &given.heads},
      {"--kv-heads", &given.kv_heads}, {"--inner", &given.inner}, {"--vocab", &given.vocabulary},
      {"--batch", &given.batch},       {"--time", &given.time},   {"--micro", &given.micro},
      {"--chunk", &given.chunk},       {"--steps", &given.steps}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--bf16" || name == "--tf32") {
      (name == "--bf16" ? given.bf16 : given.tf32) = true;
      continue;
    }
    const auto* number =
        std::find_if(std::begin(numbers), std::end(numbers), [&](const auto& n) { return n.first == name; });
    if ((number == std::end(numbers) && name != "--model") || i + 1 == argc) {
      fmt::print(stderr, "gpt2_bench: unknown or incomplete argument {}\n", name);
      std::exit(2);
    }
    ++i;
    if (name == "--model")
      given.model = argv[i];
    else
      *number->second = std::atoll(argv[i]);
  }
  if (given.micro < 1 || given.batch % given.micro != 0) {
    fmt::print(stderr, "gpt2_bench: a batch of {} does not come in {} equal parts\n", given.batch, given.micro);
    std::exit(2);
  }
  return given;
}

void take(int64_t& size, int64_t given) {
  if (given > 0) size = given;
}

// The number of layers is put into the arguments where they have none.
std::unique_ptr<models::CausalLm> make_model(Arguments& given) {
  const auto take_common = [&](auto& config) {
    take(config.layers, given.layers);
    given.layers = config.layers;
    take(config.width, given.width);
    take(config.heads, given.heads);
    take(config.inner, given.inner);
    take(config.vocabulary, given.vocabulary);
    config.positions = std::max(config.positions, given.time);
  };
  if (given.model == "llama") {
    models::LlamaConfig config = models::LlamaConfig::tiny_llama();
    take_common(config);
    take(config.kv_heads, given.kv_heads);
    return std::make_unique<models::Llama>(config);
  }
  if (given.model != "gpt2" || given.kv_heads > 0) {
    fmt::print(stderr, "gpt2_bench: models are gpt2 and llama, and only llama has --kv-heads\n");
    std::exit(2);
  }
  models::Gpt2Config config = models::Gpt2Config::distilgpt2();
  take_common(config);
  config.set_dropout(0);
  return std::make_unique<models::Gpt2>(config);
}

}  // namespace

namespace {

double resident_MiB() { return static_cast<double>(base::resident_bytes()) / (1 << 20); }

void load(const char* folder) {
  wait({ones({1}).clone()});  // opens the device
  const double before = resident_MiB(), start = now();
  const auto model = models::Gpt2::load(folder);
  wait(model->parameters());
  const double loaded = now() - start, after = resident_MiB();
  Tensor total = zeros({});
  for (const Tensor& p : model->parameters()) total = (total + p.detach().sum()).eval();
  wait({total});
  const double file =
      static_cast<double>(std::filesystem::file_size(std::filesystem::path(folder) / "model.safetensors"));
  fmt::print("{{\"load_s\":{:.4f},\"file_MiB\":{:.0f},\"growth_MiB\":{:.0f},\"growth_when_read_MiB\":{:.0f}}}\n",
             loaded, file / (1 << 20), after - before, resident_MiB() - before);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--save") {
    models::Gpt2(models::Gpt2Config::gpt2()).save(argv[2]);
    return 0;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--load") {
    load(argv[2]);
    return 0;
  }
  Arguments given = parsed(argc, argv);
  const double begun = now();
  manual_seed(0);
  const std::unique_ptr<models::CausalLm> model = make_model(given);
  optim::AdamW optimizer(model->parameters(), {.lr = 3e-4});
  if (given.bf16) optimizer.keep_shadow();
  const auto step = [&](const Tensor& ids, const Tensor& targets) {
    const Autocast lower(DType::bf16, given.bf16);
    const AllowTf32 rounded(given.tf32);
    const int64_t rows = given.batch / given.micro;
    Tensor total;
    for (int64_t from = 0; from < given.batch; from += rows) {
      Tensor loss = model->loss(ids.narrow(0, from, rows), targets.narrow(0, from, rows), {.chunk = given.chunk});
      if (given.micro > 1) loss = loss / static_cast<double>(given.micro);
      loss.backward();
      total = total.defined() ? total + loss.detach() : loss.detach();
    }
    optimizer.step();
    optimizer.zero_grad();
    return total;
  };
  auto captured = compile(step);
  const Tensor ids = randint(0, model->vocabulary(), {given.batch, given.time}).eval();
  const Tensor targets = randint(0, model->vocabulary(), {given.batch, given.time}).eval();
  wait({ids, targets});
  const double made = now();
  std::vector<double> times, of_cores, hosts;
  double first = 0, loss = 0;
  exec::Stats last, before;
  for (int64_t i = 0; i < given.steps; ++i) {
    before = stats();
    const double start = now(), of_cores_before = processor_time();
    const Tensor result = captured(ids, targets);
    wait({result});
    times.push_back(now() - start);
    of_cores.push_back(processor_time() - of_cores_before);
    last = stats();
    if (i == 0) first = times[0];
    loss = result.item<double>();
  }
  const auto steady_median = [&](const std::vector<double>& all) {
    std::vector<double> steady(all.begin() + given.steps / 3, all.end());
    std::sort(steady.begin(), steady.end());
    return steady[steady.size() / 2];
  };
  // What the host does for a step when it need not wait for the one before.
  Tensor result;
  for (int i = 0; i < 4; ++i) {  // fewer than fill the queue of a driver
    const double start = now();
    result = captured(ids, targets);
    hosts.push_back(now() - start);
  }
  wait({result});
  std::sort(hosts.begin(), hosts.end());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const double median = steady_median(times);
  fmt::print(
      "{{\"model\":\"{}-L{}\",\"B\":{},\"T\":{},\"micro\":{},\"bf16\":{},\"tf32\":{},\"threads\":{},\"ms\":{:.3f},"
      "\"cpu_ms\":{:.3f},\"tokens_s\":{:.0f},"
      "\"first_step_s\":{:.3f},\"setup_s\":{:.3f},\"second_ms\":{:.1f},\"third_ms\":{:.1f},\"loss\":{:.4f},"
      "\"launches\":{},\"submits\":{},\"bytes_up\":{},\"host_us\":{:.1f},\"device_MiB\":{},\"peak_rss_MiB\":{}}}\n",
      given.model, given.layers, given.batch, given.time, given.micro, given.bf16, given.tf32, base::num_threads(),
      median * 1e3, steady_median(of_cores) * 1e3, static_cast<double>(given.batch * given.time) / median, first,
      made - begun, times.size() > 1 ? times[1] * 1e3 : 0, times.size() > 2 ? times[2] * 1e3 : 0, loss,
      last.launches - before.launches, last.submits - before.submits, last.bytes_uploaded - before.bytes_uploaded,
      hosts[hosts.size() / 2] * 1e6, memory_stats(ids.device()).peak_bytes >> 20, usage.ru_maxrss >> 10);
}
