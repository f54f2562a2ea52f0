// `tenon eval`: how well a model tells a text: loss, perplexity, bits per byte.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/data/tokens.h"
#include "tenon/io/file.h"
#include "tenon/io/input.h"
#include "tenon/train/corpus.h"
#include "tenon/train/evaluation.h"
#include "tenon/train/loaded_model.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string model, data, tokenizer, lora, device = train::default_device_name(), precision = "f32";
  int64_t batch = 8, length = 0, threads = 0;
  bool json = false;
};

struct Text {
  data::Tokens tokens;
  double bytes_per_token = 0;
};

Text tokens_of(const EvalArguments& wanted, const text::Tokenizer& tokenizer) {
  const auto file = io::MappedFile::open("eval", wanted.data);
  const std::string_view bytes = io::as_text(file->bytes());
  if (bytes.starts_with("TENONTOK")) {
    const auto tokens = data::TokenFile::open(wanted.data);
    const uint64_t made_with = tokens->header().tokenizer;
    if ((made_with != 0 && made_with != data::tokenizer_fingerprint(tokenizer)) ||
        tokens->vocabulary() > tokenizer.vocabulary())
      base::fail("eval", "{}: is a token file that was made with another tokenizer than the model's; prepare it again",
                 wanted.data);
    Text text{data::Tokens(tokens), 0};
    std::vector<int32_t> ids(static_cast<size_t>(text.tokens.size()));
    text.tokens.copy(0, ids);
    text.bytes_per_token = static_cast<double>(tokenizer.decode(ids).size()) / static_cast<double>(ids.size());
    return text;
  }
  train::require_text(wanted.data);
  if (bytes.empty()) base::fail("eval", "{}: is empty", wanted.data);
  train::EncodedText text = train::encode_documents(wanted.data, tokenizer);
  const double ratio = static_cast<double>(text.bytes) / static_cast<double>(text.tokens.size());
  return {std::move(text.tokens), ratio};
}

void run(const EvalArguments& wanted) {
  require_computing(wanted.device);
  if (wanted.threads > 0) base::set_num_threads(static_cast<int>(wanted.threads));
  const train::LoadedModel loaded = train::load_model(
      wanted.model, {.tokenizer = wanted.tokenizer, .lora = wanted.lora, .device = Device(wanted.device)});
  const Text text = tokens_of(wanted, *loaded.tokenizer);
  const int64_t length = wanted.length > 0 ? wanted.length : loaded.model->positions();
  if (length > loaded.model->positions())
    base::fail("eval", "{}: --length {} is longer than the model's context {}; lower it", wanted.model, length,
               loaded.model->positions());
  if (text.tokens.size() < 2)
    base::fail("eval", "{}: has fewer than two tokens; there is nothing to tell", wanted.data);
  train::Config config;
  config.training.precision = wanted.precision;
  config.device.name = wanted.device;
  const auto start = std::chrono::steady_clock::now();
  const train::Evaluated seen = train::Evaluation(config, *loaded.model).run(text.tokens, wanted.batch, length);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double perplexity = std::exp(seen.loss), bits = seen.loss / std::log(2.0) / text.bytes_per_token;
  const double speed = static_cast<double>(seen.items) / seconds;
  if (wanted.json) {
    const nlohmann::ordered_json json = {
        {"model", wanted.model},    {"data", wanted.data},   {"tokens", seen.items},      {"loss", seen.loss},
        {"perplexity", perplexity}, {"bits_per_byte", bits}, {"tokens_per_second", speed}};
    print("{}\n", json.dump(-1, ' ', out_is_terminal(), nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  print("{}\n{} tokens of {} in windows of {}, {:.0f} tokens/s\n", io::escaped(loaded.description), seen.items,
        shown(wanted.data), length, speed);
  print("loss           {:.4f}\nperplexity     {:.3f}\nbits per byte  {:.4f}\n", seen.loss, perplexity, bits);
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App* command = app.add_subcommand("eval", "Loss, perplexity and bits per byte of a model on a text");
  command->footer(
      "Each token is predicted once, from the tokens before it in its window.\n"
      "\n"
      "Examples:\n"
      "  tenon eval runs/shakespeare input.txt\n"
      "  tenon eval gpt2 corpus.tokens --length 512 --json");
  const auto wanted = std::make_shared<EvalArguments>();
  command->add_option("model", wanted->model, "A run, a checkpoint, or a folder of Hugging Face weights")
      ->type_name("MODEL")
      ->required()
      ->check(path_name());
  command->add_option("data", wanted->data, "Text, JSON lines or a token file; <|endoftext|> ends a document")
      ->type_name("FILE")
      ->required()
      ->check(path_name());
  command->add_option("--tokenizer", wanted->tokenizer, "Another tokenizer than the model's")
      ->type_name("PATH")
      ->check(path_name());
  command->add_option("--lora", wanted->lora, "An adapter to merge in")->type_name("FOLDER")->check(path_name());
  command->add_option("--batch", wanted->batch, "Windows at a time")->check(whole_number(1, 4096));
  command->add_option("--length", wanted->length, "Tokens of a window (the model's context unless given)")
      ->check(whole_number(1, 1 << 30));
  command->add_option("--precision", wanted->precision, "Type of the products: f32, tf32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "tf32", "bf16", "f16"}));
  command->add_option("--device", wanted->device, "Where to run (see tenon info)");
  command->add_option("--threads", wanted->threads, "Threads (all cores unless given)")->check(whole_number(1, 4096));
  command->add_flag("--json", wanted->json, "One JSON object instead of lines");
  command->callback([wanted] { run(*wanted); });
}

}  // namespace tenon::cli
