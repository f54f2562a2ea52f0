// `tenon tokenize`: text to token numbers and back, and training a tokenizer.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/parallel.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/text/bpe.h"
#include "tenon/text/bpe_trainer.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/text/char_tokenizer.h"
#include "tenon/text/tokenizer.h"
#include "tenon/text/word_tokenizer.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kTokenize = "tokenize";
constexpr const char* kTokenizeExamples = R"(
Text comes from the arguments, each a text of its own, from --file, or else from stdin, byte for byte.

Examples:
  tenon tokenize --tokenizer gpt2/ "Hello world"             ids, apart by blanks: 15496 995
  tenon tokenize --tokenizer gpt2/ --decode 15496 995        Hello world
  tenon tokenize --tokenizer gpt2/ --stats --file book.txt   tokens, bytes per token, MB/s
  tenon tokenize --vocab vocab.txt "Hello world"             BERT's, or any list of tokens, one a line
  tenon tokenize --tokenizer gpt2/ --jsonl cases.jsonl       a line {"text": ...} or {"utf8_hex": ...}, a list of ids
  tenon tokenize --train a.txt b.txt --vocabulary 8000 --out mine/
  tenon tokenize --train input.txt --kind char --out chars/
  tenon tokenize --tokenizer tok512.bin --out mine/          writes it as mine/tokenizer.json)";

struct TokenizeArguments {
  std::string tokenizer, jsonl, out, kind = "bpe";
  std::vector<std::string> texts, files, train, special_tokens;
  bool decode = false, stats = false, special = false, begin = false, unknown = false;
  int64_t vocabulary = 0, min_count = 0;
  int threads = 0;
};

/// Calls f(text) for each of the texts that the command line names.
template <typename F>
void for_each_text(const TokenizeArguments& options, F&& f) {
  for (const std::string& text : options.texts) f(std::string_view(text));
  for (const std::string& path : options.files) f(io::as_text(io::MappedFile::open(kTokenize, path)->bytes()));
  if (options.texts.empty() && options.files.empty()) f(std::string_view(read_stdin(kTokenize)));
}

text::Special special_of(bool allowed) { return allowed ? text::Special::kAllowed : text::Special::kAsText; }

std::vector<int32_t> encode(const text::Tokenizer& tokenizer, std::string_view text, const TokenizeArguments& options,
                            bool special) {
  std::vector<int32_t> ids = text::encode_parallel(tokenizer, text, special_of(special));
  if (options.begin && tokenizer.begin_of_text()) ids.insert(ids.begin(), *tokenizer.begin_of_text());
  return ids;
}

/// Numbers apart by blanks or commas, in brackets or not.
std::vector<int32_t> parse_ids(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<int32_t> ids;
  for (size_t at = text.find_first_not_of(kBetween); at != text.npos; at = text.find_first_not_of(kBetween, at)) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    int32_t id = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || rest != word.data() + word.size()) {
      base::fail(kTokenize, "{} is not a token number", io::in_quotes(word));
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

void decode(const text::Tokenizer& tokenizer, const TokenizeArguments& options) {
  std::vector<int32_t> ids;
  for_each_text(options, [&](std::string_view text) {
    const std::vector<int32_t> more = parse_ids(text);
    ids.insert(ids.end(), more.begin(), more.end());
  });
  write_text(tokenizer.decode(ids));
}

void print_stats(const text::Tokenizer& tokenizer, const TokenizeArguments& options) {
  size_t bytes = 0, tokens = 0;
  double seconds = 0;
  std::vector<bool> seen(static_cast<size_t>(tokenizer.vocabulary()));
  for_each_text(options, [&](std::string_view text) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int32_t> ids = encode(tokenizer, text, options, options.special);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bytes += text.size();
    tokens += ids.size();
    for (const int32_t id : ids) seen[static_cast<size_t>(id)] = true;
  });
  write_out(fmt::format("tokenizer        {}, vocabulary {}\n", tokenizer.kind(), tokenizer.vocabulary()));
  write_out(fmt::format("bytes            {}\ntokens           {}\n", bytes, tokens));
  if (tokens > 0) {
    write_out(fmt::format("bytes per token  {:.3f}\n", static_cast<double>(bytes) / static_cast<double>(tokens)));
  }
  write_out(fmt::format("distinct tokens  {}\n", std::ranges::count(seen, true)));
  if (seconds > 0) {
    write_out(fmt::format("MB/s             {:.1f} ({} threads)\n", static_cast<double>(bytes) / seconds / 1e6,
                          base::num_threads()));
  }
}

std::string from_hex(const std::string& hex, std::string_view where) {
  const auto digit = [&](char letter) {
    const size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(std::tolower(letter)));
    if (value == std::string_view::npos) base::fail(kTokenize, "{}: utf8_hex has a letter that is no digit", where);
    return value;
  };
  if (hex.size() % 2) base::fail(kTokenize, "{}: utf8_hex has an odd number of digits", where);
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return bytes;
}

struct Case {
  std::string text;
  bool special = false;
};

Case parse_case(std::string_view line, std::string_view where) {
  const auto json = io::parse_json<nlohmann::json>(kTokenize, std::string(where), line);
  if (!json.is_object()) base::fail(kTokenize, "{}: is not a JSON object", where);
  const auto text_at = [&](const char* name) {
    if (!json.at(name).is_string()) base::fail(kTokenize, "{}: {} must be a string", where, name);
    return json.at(name).get<std::string>();
  };
  Case result;
  if (json.contains("utf8_hex"))
    result.text = from_hex(text_at("utf8_hex"), where);
  else if (json.contains("text"))
    result.text = text_at("text");
  else
    base::fail(kTokenize, "{}: has neither text nor utf8_hex", where);
  if (json.contains("special")) {
    if (!json.at("special").is_boolean()) base::fail(kTokenize, "{}: special must be true or false", where);
    result.special = json.at("special").get<bool>();
  }
  return result;
}

void encode_jsonl(const text::Tokenizer& tokenizer, const TokenizeArguments& options) {
  const auto file = io::MappedFile::open(kTokenize, options.jsonl);
  std::string_view rest = io::as_text(file->bytes());
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const Case next = parse_case(line, fmt::format("{}:{}", options.jsonl, number));
    const bool special = options.special || next.special;
    write_out(fmt::format("[{}]\n", fmt::join(encode(tokenizer, next.text, options, special), ",")));
  }
}

std::unique_ptr<text::Tokenizer> train_bpe(const TokenizeArguments& options) {
  text::BpeOptions wanted;
  if (options.vocabulary != 0) wanted.vocabulary = options.vocabulary;
  if (options.min_count != 0) wanted.min_count = options.min_count;
  if (!options.special_tokens.empty()) wanted.special_tokens = options.special_tokens;
  text::BpeTrainer trainer(wanted);
  for (const std::string& path : options.train)
    trainer.add(io::as_text(io::MappedFile::open(kTokenize, path)->bytes()));
  return std::make_unique<text::Bpe>(trainer.train());
}

template <typename Counter>
Counter count_files(const TokenizeArguments& options) {
  Counter counter;
  for (const std::string& path : options.train)
    counter.add(io::as_text(io::MappedFile::open(kTokenize, path)->bytes()));
  return counter;
}

std::unique_ptr<text::Tokenizer> train(const TokenizeArguments& options) {
  if (options.kind == "bpe") return train_bpe(options);
  if (options.kind == "byte") return std::make_unique<text::ByteTokenizer>(/*with_end_of_text=*/true);
  if (options.kind == "char") {
    const auto counter = count_files<text::CharCounter>(options);
    return std::make_unique<text::CharTokenizer>(counter.model(options.unknown, /*has_end_of_text=*/false));
  }
  const auto counter = count_files<text::WordCounter>(options);
  return std::make_unique<text::WordTokenizer>(
      counter.model({options.vocabulary, std::max<int64_t>(options.min_count, 1), /*has_end_of_text=*/true}));
}

// What is read stays as it is: a tokenizer may say more than Tenon writes again.
void require_other_file(const TokenizeArguments& options) {
  const std::filesystem::path out = std::filesystem::path(options.out) / "tokenizer.json";
  std::vector<std::filesystem::path> read(options.train.begin(), options.train.end());
  read.emplace_back(options.tokenizer);
  read.push_back(std::filesystem::path(options.tokenizer) / "tokenizer.json");
  for (const std::filesystem::path& path : read) {
    std::error_code missing;
    if (std::filesystem::equivalent(path, out, missing))
      base::fail(kTokenize, "{}: is what is read; write to another folder", path.string());
  }
  require_no_run(kTokenize, out);
}

// There is nothing to learn from, and a tokenizer that knows no word is no use.
void require_text(const TokenizeArguments& options) {
  for (const std::string& path : options.train) {
    if (!io::MappedFile::open(kTokenize, path)->bytes().empty()) return;
  }
  if (!options.train.empty()) base::fail(kTokenize, "{}: is empty; name a text to learn from", options.train.front());
}

void run(const TokenizeArguments& options) {
  if (!options.out.empty()) require_other_file(options);
  if (options.threads != 0) base::set_num_threads(options.threads);
  const bool trains = !options.train.empty() || options.kind == "byte";
  if (trains) {
    if (options.out.empty()) throw CLI::RequiredError("--out");
    require_text(options);
    const std::unique_ptr<text::Tokenizer> trained = train(options);
    trained->save(options.out);
    const bool is_short = options.kind == "bpe" && trained->vocabulary() < options.vocabulary;
    write_out(fmt::format(
        "{}: {}, vocabulary {}{}\n", shown(std::filesystem::path(options.out) / "tokenizer.json"), trained->kind(),
        trained->vocabulary(),
        is_short ? fmt::format(", less than {}: no more pairs occur often enough", options.vocabulary) : ""));
    return;
  }
  if (options.tokenizer.empty()) throw CLI::RequiredError("--tokenizer or --train");
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(options.tokenizer);
  if (!options.out.empty())
    tokenizer->save(options.out);
  else if (options.decode)
    decode(*tokenizer, options);
  else if (options.stats)
    print_stats(*tokenizer, options);
  else if (!options.jsonl.empty())
    encode_jsonl(*tokenizer, options);
  else
    for_each_text(options, [&](std::string_view text) {
      write_out(fmt::format("{}\n", fmt::join(encode(*tokenizer, text, options, options.special), " ")));
    });
  flush_out();
}

}  // namespace

void add_tokenize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "Turn text into tokens and back, or train a tokenizer");
  command->footer(kTokenizeExamples);
  auto options = std::make_shared<TokenizeArguments>();
  const auto path = [&](const std::string& name, auto& value, const std::string& what) {
    return command->add_option(name, value, what)->type_name("PATH")->check(path_name());
  };
  command->add_option("TEXT", options->texts, "Texts to encode, or with --decode token numbers");
  auto* tokenizer = path("--tokenizer,-t,--vocab", options->tokenizer,
                         "File or folder: tokenizer.json, vocab.json + merges.txt, encoder.json + vocab.bpe, vocab.txt "
                         "with one token a line, or llama2.c's tok*.bin");
  path("--file,-f", options->files, "Files to read instead of stdin, each one text");
  auto* jsonl =
      path("--jsonl", options->jsonl, "File with a JSON object a line: utf8_hex (wins) or text, and special: true");
  auto* decode = command->add_flag("--decode,-d", options->decode, "Token numbers to text");
  auto* stats = command->add_flag("--stats", options->stats, "Print figures instead of token numbers");
  stats->excludes(decode)->excludes(jsonl);
  command->add_flag("--special", options->special, "Names such as <|endoftext|> in a text are special tokens");
  command->add_flag("--begin", options->begin, "Put the token that begins a text first, if the tokenizer has one");
  command->add_option("--threads", options->threads, "Threads to use (default: all)")->check(whole_number(1, 4096));

  auto* train = path("--train", options->train, "Train a tokenizer on these files");
  train->excludes(tokenizer)->excludes(decode)->excludes(jsonl)->excludes(stats);
  auto* kind = command->add_option("--kind", options->kind, "Of the tokenizer to train (default: bpe)");
  kind->check(CLI::IsMember({"bpe", "char", "word", "byte"}))->excludes(tokenizer);
  auto* vocabulary =
      command->add_option("--vocabulary", options->vocabulary, "Tokens in all (default: bpe 16000, word no limit)");
  vocabulary->check(whole_number(1, 1 << 30))->needs(train);
  auto* min_count = command->add_option("--min-count", options->min_count,
                                        "Leave out what occurs less often (default: bpe 2, word 1)");
  min_count->check(whole_number(1, 1 << 30))->needs(train);
  auto* special_token =
      command->add_option("--special-token", options->special_tokens, "Of a bpe, repeatable (default: <|endoftext|>)");
  special_token->needs(train)->allow_extra_args(false);
  auto* unknown =
      command->add_flag("--unknown", options->unknown, "Give a char tokenizer a token for unknown characters");
  unknown->needs(train);
  path("--out,-o", options->out, "Folder for tokenizer.json");
  command->callback([options] { run(*options); });
}

}  // namespace tenon::cli
