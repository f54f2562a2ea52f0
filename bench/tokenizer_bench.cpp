// How fast a tokenizer encodes a text and how long training one takes, as one line of JSON.
//
//   tokenizer_bench TOKENIZER TEXT [--rounds 7] [--ids FILE]   MB/s on 1 and 2 threads; writes the ids as int32
//   tokenizer_bench --train TEXT [--vocabulary 16000]          seconds on 1 and 2 threads
//
// Times are on the clock; on a machine that others use too, the processor time of one thread tells more.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "tenon/base/parallel.h"
#include "tenon/io/file.h"
#include "tenon/text/bpe_trainer.h"
#include "tenon/text/tokenizer.h"

using namespace tenon;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double processor_time() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Arguments {
  std::string tokenizer, text, ids;
  bool train = false;
  int64_t rounds = 7, vocabulary = 16000;
};

Arguments parsed(int argc, char** argv) {
  Arguments given;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (name == "--train")
      given.train = true;
    else if (name == "--rounds")
      given.rounds = std::atoll(value());
    else if (name == "--vocabulary")
      given.vocabulary = std::atoll(value());
    else if (name == "--ids")
      given.ids = value();
    else
      paths.emplace_back(name);
  }
  if (paths.size() != (given.train ? 1U : 2U) || given.rounds < 1) {
    base::fail("tokenizer_bench",
               "usage: tokenizer_bench TOKENIZER TEXT [--rounds N] [--ids FILE] | --train TEXT [--vocabulary N]");
  }
  given.text = paths.back();
  if (!given.train) given.tokenizer = paths.front();
  return given;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> clock, processor;
};
template <typename F>
Times measured(int threads, int64_t rounds, F&& f) {
  base::set_num_threads(threads);
  Times times;
  for (int64_t i = 0; i < rounds; ++i) {
    const double start = now(), processor_start = processor_time();
    f();
    times.clock.push_back(now() - start);
    times.processor.push_back(processor_time() - processor_start);
  }
  return times;
}

void encode(const Arguments& given, std::string_view text) {
  const auto tokenizer = text::load_tokenizer(given.tokenizer);
  std::vector<int32_t> ids;
  const auto run = [&] { ids = text::encode_parallel(*tokenizer, text); };
  const auto speed = [&](const std::vector<double>& seconds) {
    return static_cast<double>(text.size()) / median(seconds) / 1e6;
  };
  const Times one = measured(1, given.rounds, run), two = measured(2, given.rounds, run);
  fmt::print("{{\"bytes\": {}, \"tokens\": {}, \"MB_s_1\": {:.1f}, \"MB_s_2\": {:.1f}, \"MB_s_processor\": {:.1f}}}\n",
             text.size(), ids.size(), speed(one.clock), speed(two.clock), speed(one.processor));
  if (given.ids.empty()) return;
  io::ReplacingFile file("tokenizer_bench", given.ids);
  file.write(std::as_bytes(std::span(ids)));
  file.commit();
}

void train(const Arguments& given, std::string_view text) {
  const auto run = [&] {
    text::BpeTrainer trainer({.vocabulary = given.vocabulary});
    trainer.add(text);
    trainer.train();
  };
  const Times one = measured(1, 3, run), two = measured(2, 3, run);
  fmt::print("{{\"bytes\": {}, \"vocabulary\": {}, \"s_1\": {:.4f}, \"s_2\": {:.4f}, \"s_processor\": {:.4f}}}\n",
             text.size(), given.vocabulary, median(one.clock), median(two.clock), median(one.processor));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments given = parsed(argc, argv);
    const auto file = io::MappedFile::open("tokenizer_bench", given.text);
    const std::string_view text = io::as_text(file->bytes());
    given.train ? train(given, text) : encode(given, text);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
