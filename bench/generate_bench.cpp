// Text from GPT-2 124M with random weights, greedy, over the cache of keys and values: tokens per second as one line of
// JSON.
//
//   generate_bench [--prompt 32] [--new 128] [--batch 1] [--rounds 3] [--dtype f32]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "tenon/base/parallel.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char** argv) {
  int64_t prompt_tokens = 32, new_tokens = 128, batch = 1, rounds = 3;
  DType dtype = DType::f32;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--prompt") prompt_tokens = std::atoll(argv[i + 1]);
    if (name == "--new") new_tokens = std::atoll(argv[i + 1]);
    if (name == "--batch") batch = std::atoll(argv[i + 1]);
    if (name == "--rounds") rounds = std::atoll(argv[i + 1]);
    if (name == "--dtype") dtype = std::string_view(argv[i + 1]) == "bf16" ? DType::bf16 : DType::f32;
  }
  manual_seed(0);
  models::Gpt2 model(models::Gpt2Config::gpt2());
  model.to(dtype);
  models::Decoder::Sequences prompts(batch);
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t i = 0; i < prompt_tokens; ++i) prompts[row].push_back((i * 7919 + row * 104729) % 50257);
  }
  models::Decoder decoder(model);
  decoder.run(prompts, {.new_tokens = 8});  // makes the weights and records the step
  std::vector<double> seconds;
  for (int64_t round = 0; round < rounds; ++round) {
    const double start = now();
    decoder.run(prompts, {.new_tokens = new_tokens});
    seconds.push_back(now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  fmt::print(
      "{{\"prompt\":{},\"new\":{},\"batch\":{},\"dtype\":\"{}\",\"threads\":{},\"tokens_s\":{:.2f},\"ms_per_token\":{:.3f},"
      "\"slowest_s\":{:.3f}}}\n",
      prompt_tokens, new_tokens, batch, name(dtype), base::num_threads(), static_cast<double>(new_tokens * batch) / median,
      median * 1e3 / static_cast<double>(new_tokens), seconds.back());
}
