// `tenon generate`: text from a model, behind prompts from the command line, a file or stdin.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/parallel.h"
#include "tenon/io/file.h"
#include "tenon/models/text_writer.h"
#include "tenon/train/loaded_model.h"

namespace tenon::cli {
namespace {

using base::fail;

constexpr std::string_view kGenerate = "generate";
constexpr const char* kGenerateExamples = R"(
MODEL is a Hugging Face folder, a folder of `tenon train` (its best checkpoint), one checkpoint, or a llama2.c file.
Without --prompt and --file, the prompt is read from stdin. What follows the prompt is printed; a single text while it
is written.

Examples:
  tenon generate runs/demo --prompt "Once upon a time" --tokens 100
  tenon generate distilgpt2/ --prompt "The sea" --temperature 0.8 --top-p 0.95 --seed 7 --stop "\n\n"
  tenon generate stories260K.bin --tokenizer tok512.bin --prompt "One day" --stats
  tenon generate runs/demo --file prompts.txt --batch 8 --json > texts.jsonl
  tenon generate distilgpt2/ --lora adapter/ --prompt "Dear" --count 3 --temperature 1)";

struct GenerateArguments {
  std::string model, prompt, file, tokenizer, lora, device = train::default_device_name();
  models::GenerateOptions options;
  int64_t tokens = 200, count = 1, batch = 8;
  uint64_t seed = 1;
  int threads = 0;
  bool has_prompt = false, json = false, no_stream = false, stats = false;
};

// At once: a text is read while it is written.
void show(std::string_view text) {
  write_text(text);
  flush_out();
}

// A shell has no short way to write a line break into an argument.
std::string with_line_breaks(std::string text) {
  for (size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; ++at) text.replace(at, 2, "\n");
  return text;
}

std::vector<std::string> prompts_in(const std::string& path) {
  const auto file = io::MappedFile::open(kGenerate, path);
  std::vector<std::string> lines = lines_of(io::as_text(file->bytes()));
  if (lines.empty()) fail(kGenerate, "{}: holds no prompts; write one a line", path);
  return lines;
}

std::vector<std::string> prompts_of(const GenerateArguments& job) {
  std::vector<std::string> prompts;
  if (!job.file.empty()) {
    prompts = prompts_in(job.file);
  } else {
    std::string prompt = job.has_prompt ? job.prompt : read_stdin(kGenerate);
    if (!job.has_prompt && prompt.ends_with('\n')) prompt.pop_back();  // which `echo` adds
    prompts.push_back(std::move(prompt));
  }
  std::vector<std::string> repeated;
  for (const std::string& prompt : prompts) repeated.insert(repeated.end(), static_cast<size_t>(job.count), prompt);
  return repeated;
}

// A text may outgrow the context, a prompt may not: nobody would know which part of it was read.
void require_room(const std::vector<std::string>& prompts, const models::TextWriter& writer, int64_t positions) {
  for (const std::string& prompt : prompts) {
    const auto given = static_cast<int64_t>(writer.encode(prompt).size());
    if (given > positions)
      fail(kGenerate, "the prompt has {} tokens, the model looks at no more than {}; shorten it", given, positions);
  }
}

std::string json_line(const std::string& prompt, const models::Text& text) {
  const nlohmann::ordered_json line = {
      {"prompt", prompt}, {"text", text.text}, {"tokens", text.tokens}, {"stop", name(text.reason)}};
  // On a terminal in plain ASCII, where no control of 8 bits can hide.
  return line.dump(-1, ' ', out_is_terminal(), nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

struct Tally {
  int64_t tokens = 0;
  double seconds = 0;

  void print() const {
    tell(fmt::format("{} tokens in {:.2f} s, {:.1f} tokens/s\n", tokens, seconds,
                     static_cast<double>(tokens) / std::max(seconds, 1e-9)));
  }
};

void run(GenerateArguments job) {
  if (job.threads != 0) base::set_num_threads(job.threads);
  models::check(job.options);
  require_computing(job.device);
  const train::LoadedModel loaded =
      train::load_model(job.model, {.tokenizer = job.tokenizer, .lora = job.lora, .device = Device(job.device)});
  models::TextWriter writer(*loaded.model, *loaded.tokenizer);
  const std::vector<std::string> prompts = prompts_of(job);
  Generator generator(job.seed);
  job.options.generator = &generator;
  job.options.new_tokens = job.tokens;
  require_room(prompts, writer, loaded.model->positions());
  const bool streams = prompts.size() == 1 && !job.json && !job.no_stream;
  Tally tally;
  for (size_t first = 0; first < prompts.size(); first += static_cast<size_t>(job.batch)) {
    const size_t last = std::min(prompts.size(), first + static_cast<size_t>(job.batch));
    const std::vector<std::string> batch(prompts.begin() + static_cast<ptrdiff_t>(first),
                                         prompts.begin() + static_cast<ptrdiff_t>(last));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<models::Text> texts = writer.write(batch, job.options, [&](size_t, std::string_view piece) {
      if (streams) show(piece);
    });
    tally.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (size_t i = 0; i < texts.size(); ++i) {
      tally.tokens += std::ssize(texts[i].tokens);
      if (job.json)
        write_out(json_line(batch[i], texts[i]));
      else
        write_text(streams ? "\n" : texts[i].text + "\n");
      flush_out();
    }
  }
  if (job.stats) {
    tell(fmt::format("{}\n", loaded.description));
    tally.print();
  }
}

void add_sampling(CLI::App& command, models::GenerateOptions& options) {
  command.add_option("--temperature", options.temperature, "0 takes the most likely token, 1 draws as the model says")
      ->default_val(0.8)
      ->check(number(0, 100));
  command.add_option("--top-k", options.top_k, "Draw among this many most likely tokens; 0: among all")
      ->default_val(0)
      ->check(whole_number(0, 1 << 30));
  command.add_option("--top-p", options.top_p, "Draw among the fewest that have this probability together")
      ->default_val(1)
      ->check(number(0, 1, /*above_least=*/true));
  command.add_option("--min-p", options.min_p, "Draw among those with this share of the highest probability")
      ->default_val(0)
      ->check(number(0, 1));
  command.add_option("--repetition-penalty", options.repetition_penalty, "Above 1 makes used tokens less likely")
      ->default_val(1)
      ->check(number(0, 100, /*above_least=*/true));
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Write text with a model");
  command->footer(kGenerateExamples);
  const auto job = std::make_shared<GenerateArguments>();
  const auto stops = std::make_shared<std::vector<std::string>>();
  command->add_option("MODEL", job->model, "Folder, run, checkpoint or llama2.c file")->required()->check(path_name());
  auto* prompt = command->add_option("--prompt,-p", job->prompt, "What the text continues");
  command->add_option("--file,-f", job->file, "A file of prompts, one a line")
      ->type_name("FILE")
      ->check(path_name())
      ->excludes(prompt);
  command->add_option("--tokens,-n", job->tokens, "Most tokens to write; they may be more than the context")
      ->default_val(200)
      ->check(whole_number(1, 1 << 30));
  add_sampling(*command, job->options);
  command->add_option("--stop", *stops, "End before this string; may be repeated. \\n is a line break")
      ->allow_extra_args(false);
  command->add_option("--seed", job->seed, "The same seed draws the same text")
      ->default_val(1)
      ->check(whole_number(0, std::numeric_limits<int64_t>::max()));
  command->add_option("--count", job->count, "Texts for each prompt")->default_val(1)->check(whole_number(1, 1 << 20));
  command->add_option("--batch", job->batch, "Texts to write at a time")->default_val(8)->check(whole_number(1, 4096));
  command->add_flag("--json", job->json, "A JSON object a line: prompt, text, tokens, stop (length, token, string)");
  command->add_flag("--no-stream", job->no_stream, "Show a text when it is finished");
  command->add_flag("--stats", job->stats, "Say on stderr which model it was, and how fast");
  command->add_option("--tokenizer,-t", job->tokenizer, "Instead of the one that lies with the model")
      ->check(path_name());
  command->add_option("--lora", job->lora, "Folder of an adapter to merge in")->type_name("FOLDER")->check(path_name());
  command->add_option("--device", job->device, "Where to run (see tenon info)")->capture_default_str();
  command->add_option("--threads", job->threads, "Threads to use (default: all)")->check(whole_number(1, 4096));
  command->callback([job, stops, prompt] {
    job->has_prompt = prompt->count() > 0;
    for (const std::string& stop : *stops) job->options.stop_strings.push_back(with_line_breaks(stop));
    run(*job);
  });
}

}  // namespace tenon::cli
