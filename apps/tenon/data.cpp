// `tenon data`: corpora become token files, token files show what is in them, and stories for a first model are made.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "apps/tenon/progress.h"
#include "tenon/base/error.h"
#include "tenon/data/prepare.h"
#include "tenon/data/stories.h"
#include "tenon/data/token_file.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/io/file.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct PrepareArguments {
  data::PrepareOptions options;
  std::string tokenizer, format = "auto";
  bool resume = false, restart = false;
  int64_t checkpoint_megabytes = 64;
};

void prepare(PrepareArguments& given) {
  data::PrepareOptions& options = given.options;
  options.format = data::format_named(given.format);
  options.checkpoint_bytes = given.checkpoint_megabytes * 1'000'000;
  if (given.resume) options.unfinished = data::Unfinished::kMustContinue;
  if (given.restart) options.unfinished = data::Unfinished::kBeginAnew;
  const auto tokenizer = text::load_tokenizer(given.tokenizer);
  options.also_read = {given.tokenizer};
  for (const fs::path& out : {options.out, options.validation_out}) {
    if (!out.empty()) require_no_run("prepare", out);
  }

  const auto begin = Clock::now();
  auto bar = std::make_unique<ByteProgress>("prepare");
  options.progress = [&](const data::PrepareProgress& progress) { bar->show(progress.bytes, progress.total_bytes); };
  const data::Prepared done = data::prepare(*tokenizer, options);
  bar.reset();

  const double taken = seconds_since(begin);
  if (done.continued_tokens > 0) {
    print("continued an unfinished run after {} tokens\n", count_text(done.continued_tokens));
  }
  print("{}: {} tokens (vocabulary {}, {} bytes each)\n", shown(options.out), count_text(done.tokens),
        count_text(tokenizer->vocabulary()), data::token_bytes_for(tokenizer->vocabulary()));
  if (done.validation_tokens > 0) {
    print("{}: {} tokens\n", shown(options.validation_out), count_text(done.validation_tokens));
  }
  const auto bytes = static_cast<double>(done.bytes);
  print("{} document{} from {} in {:.1f} s ({}/s)\n", count_text(done.documents), done.documents == 1 ? "" : "s",
        bytes_text(bytes), taken, bytes_text(bytes / taken));
}

void add_prepare(CLI::App& data) {
  auto given = std::make_shared<PrepareArguments>();
  data::PrepareOptions& options = given->options;
  CLI::App* command = data.add_subcommand(
      "prepare",
      "Tokenize text files, folders, JSON Lines or Wikipedia dumps (also .gz, .bz2, .zst) into a token file.");
  command->footer(
      "Example:\n"
      "  tenon data prepare enwiki.xml.bz2 --tokenizer wiki16k --out wiki.tokens --validation-fraction 0.01 "
      "--validation-out wiki_validation.tokens");
  command->add_option("inputs", options.inputs, "Files and folders, in this order")->required()->check(path_name());
  command->add_option("--tokenizer,--vocab", given->tokenizer, "File or folder of the tokenizer")
      ->required()
      ->check(path_name());
  command->add_option("--out", options.out, "Token file to write")->required()->check(path_name());
  command->add_option("--format", given->format, "auto (by the name of each file), text, jsonl or wiki")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "text", "jsonl", "wiki"}));
  command->add_option("--field", options.field, "Field of JSON Lines that holds the text")->capture_default_str();
  command
      ->add_option("--validation-fraction", options.validation_fraction,
                   "Part of the tokens, from the end, to set apart")
      ->check(number(0, 1));
  command->add_option("--validation-out", options.validation_out, "Token file for that part")->check(path_name());
  command->add_option("--threads", options.threads, "Threads that tokenize; 0: one for each processor")
      ->capture_default_str()
      ->check(whole_number(0, 1024));
  command->add_option("--checkpoint-megabytes", given->checkpoint_megabytes, "Input between two checkpoints")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20));
  CLI::Option* resume =
      command->add_flag("--resume", given->resume,
                        "Continue an unfinished run, or fail where there is none (without it, one that "
                        "is there is continued)");
  command->add_flag("--restart", given->restart, "Forget an unfinished run")->excludes(resume);
  command->callback([given] { prepare(*given); });
}

/// The first tokens, as numbers or as text.
std::string sample_of(const data::TokenFile& file, const text::Tokenizer* tokenizer, int64_t count) {
  std::vector<int32_t> first(static_cast<size_t>(std::min(count, file.size())));
  file.copy(0, first);
  return tokenizer ? tokenizer->decode(first) : fmt::format("{}", fmt::join(first, " "));
}

void info(const fs::path& path, const std::string& tokenizer_path, int64_t sample) {
  const auto file = data::TokenFile::open(path);
  const data::TokenFileHeader& header = file->header();
  print("file        {} ({})\n", shown(path), bytes_text(static_cast<double>(fs::file_size(path))));
  print("tokens      {}\n", count_text(header.tokens));
  print("documents   {}\n", header.documents > 0 ? count_text(header.documents) : "not counted");
  print("vocabulary  {}\n", count_text(header.vocabulary));
  print("dtype       u{}\n", 8 * header.token_bytes);
  print("tokenizer   {:016x}\n", header.tokenizer);
  print("checksum    {:016x} (verified)\n", header.checksum);
  std::unique_ptr<text::Tokenizer> tokenizer;
  if (!tokenizer_path.empty()) {
    tokenizer = text::load_tokenizer(tokenizer_path);
    if (data::tokenizer_fingerprint(*tokenizer) != header.tokenizer) {
      base::fail("tokens", "{}: was made with another tokenizer than {}", path.string(), tokenizer_path);
    }
  }
  print("first {}:\n", std::min(sample, header.tokens));
  write_text(sample_of(*file, tokenizer.get(), sample) + "\n");
}

void add_file_info(CLI::App& data) {
  struct Arguments {
    fs::path file;
    std::string tokenizer;
    int64_t sample = 32;
  };
  auto given = std::make_shared<Arguments>();
  CLI::App* command = data.add_subcommand("info", "Check a token file and show what is in it.");
  command->footer("Example:\n  tenon data info wiki.tokens --tokenizer wiki16k");
  command->add_option("file", given->file, "Token file")->required()->check(path_name());
  command->add_option("--tokenizer", given->tokenizer, "Shows the sample as text")->check(path_name());
  command->add_option("--sample", given->sample, "Tokens to show")
      ->capture_default_str()
      ->check(whole_number(0, 100000));
  command->callback([given] { info(given->file, given->tokenizer, given->sample); });
}

void stories(double megabytes, uint64_t seed, const fs::path& out) {
  const auto bytes = static_cast<int64_t>(megabytes * 1e6);
  require_no_run("stories", out);
  io::ReplacingFile file("stories", out);
  data::StoryTeller teller(seed);
  std::string waiting;
  int64_t told = 0, written = 0;
  for (; written + static_cast<int64_t>(waiting.size()) < bytes; ++told) {
    waiting += teller.next();
    waiting += fmt::format("\n{}\n", data::kEndOfTextMark);
    if (waiting.size() < 1 << 20) continue;
    file.write(waiting);
    written += static_cast<int64_t>(waiting.size());
    waiting.clear();
  }
  file.write(waiting);
  file.commit();
  print("{}: {} stories, {}\n", shown(out), count_text(told),
        bytes_text(static_cast<double>(written + static_cast<int64_t>(waiting.size()))));
}

void add_stories(CLI::App& data) {
  struct Arguments {
    double megabytes = 10;
    uint64_t seed = 1;
    fs::path out;
  };
  auto given = std::make_shared<Arguments>();
  CLI::App* command =
      data.add_subcommand("stories", "Make up short stories in simple English to train a small model on.");
  command->footer("Example:\n  tenon data stories --megabytes 30 --seed 7 --out stories.txt");
  command->add_option("--megabytes", given->megabytes, "How much")->capture_default_str()->check(number(0.001, 1e6));
  command->add_option("--seed", given->seed, "The same seed tells the same stories")
      ->capture_default_str()
      ->check(whole_number(0, std::numeric_limits<int64_t>::max()));
  command->add_option("--out", given->out, "Text file to write")->required()->check(path_name());
  command->callback([given] { stories(given->megabytes, given->seed, given->out); });
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* data = app.add_subcommand("data", "Prepare training data.");
  data->footer(
      "Example:\n"
      "  tenon data stories --megabytes 30 --out stories.txt\n"
      "  tenon tokenize --train stories.txt --vocabulary 1024 --out tok\n"
      "  tenon data prepare stories.txt --tokenizer tok --out stories.tokens");
  data->require_subcommand(1);
  add_prepare(*data);
  add_file_info(*data);
  add_stories(*data);
}

}  // namespace tenon::cli
