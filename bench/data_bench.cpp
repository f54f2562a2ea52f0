// Preparing data and loading it: megabytes a second from a corpus to a token file, and tokens a second out of one.
//
//   data_bench [--tokenizer PATH] [--text FILE] [--megabytes 32] [--threads 0] [--json]
//
// Without a tokenizer bytes are tokens; without a text, stories are. Every figure is the median of five. With --json
// every line is an object of work, unit and value.

#include <bzlib.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string_view>

#include "tenon/data/loader.h"
#include "tenon/data/prepare.h"
#include "tenon/data/stories.h"
#include "tenon/data/wiki_markup.h"
#include "tenon/text/byte_tokenizer.h"

using namespace tenon;

namespace {

namespace fs = std::filesystem;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median_seconds(const std::function<void()>& work) {
  std::vector<double> taken;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    work();
    taken.push_back(now() - begin);
  }
  std::sort(taken.begin(), taken.end());
  return taken[2];
}

struct Arguments {
  std::string tokenizer, text;
  double megabytes = 32;
  int threads = 0;
  bool json = false;
};

Arguments parsed(int argc, char** argv) {
  Arguments given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--json") {
      given.json = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (name == "--tokenizer") {
      given.tokenizer = value;
    } else if (name == "--text") {
      given.text = value;
    } else if (name == "--megabytes") {
      given.megabytes = std::atof(value);
    } else if (name == "--threads") {
      given.threads = std::atoi(value);
    } else {
      fmt::print(stderr, "data_bench: unknown argument {}\n", name);
      std::exit(2);
    }
  }
  return given;
}

bool as_json = false;

void print(const std::string& work, double value, const char* unit, int digits) {
  if (as_json) {
    fmt::print("{{\"work\": \"{}\", \"unit\": \"{}\", \"value\": {:.6g}}}\n", work, unit, value);
  } else {
    fmt::print("{:<42} {:8.{}f} {}\n", work, value, digits, unit);
  }
}

/// The text again and again until there is enough of it.
std::string corpus_of(const Arguments& given) {
  const auto bytes = static_cast<size_t>(given.megabytes * 1e6);
  if (given.text.empty()) return data::stories(static_cast<int64_t>(bytes), 1);
  std::ifstream file(given.text, std::ios::binary);
  const std::string once(std::istreambuf_iterator<char>(file), {});
  std::string all;
  while (!once.empty() && all.size() < bytes) all += once;
  return all;
}

/// Each paragraph an article, with the markup that articles have.
std::string wiki_dump_of(const std::string& text) {
  std::string dump = "<mediawiki>";
  size_t at = 0;
  for (int page = 0; at < text.size(); ++page) {
    const size_t end = std::min(text.find(' ', std::min(at + 3000, text.size() - 1)), text.size());
    std::string body = text.substr(at, end - at);
    for (char& c : body) {
      if (c == '<' || c == '&') c = ' ';
    }
    dump += fmt::format(
        "<page><title>Page {}</title><ns>0</ns><revision><text>{{{{Infobox|name=[[x]]|a={{{{b}}}}}}}}\n'''Page''' "
        "[[a|b]]&lt;ref name=\"x\"&gt;{{{{cite book|title=T}}}}&lt;/ref&gt; {}\n== Notes ==\n* [https://x.org "
        "y]\n[[Category:X]]</text></revision></page>\n",
        page, body);
    at = end;
  }
  return dump + "</mediawiki>";
}

std::string bzipped(const std::string& text) {
  std::string packed(text.size() + text.size() / 50 + 1000, '\0');
  auto size = static_cast<unsigned>(packed.size());
  BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), 9,
                           0, 0);
  packed.resize(size);
  return packed;
}

void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

void bench_prepare(const Arguments& given, const text::Tokenizer& tokenizer, const fs::path& folder,
                   const std::string& text) {
  const std::string dump = wiki_dump_of(text);
  write(folder / "a.txt", text);
  write(folder / "a.xml", dump);
  write(folder / "b.xml.bz2", bzipped(dump));
  const auto megabytes_a_second = [&](const char* name, size_t bytes) {
    data::PrepareOptions options{.inputs = {folder / name}, .out = folder / "out.tokens"};
    options.threads = given.threads;
    const double taken = median_seconds([&] { data::prepare(tokenizer, options); });
    print(fmt::format("prepare {}", name), static_cast<double>(bytes) / 1e6 / taken, "MB/s", 1);
  };
  megabytes_a_second("a.xml", dump.size());
  megabytes_a_second("b.xml.bz2", dump.size());
  megabytes_a_second("a.txt", text.size());
  const double markup = median_seconds([&] { data::plain_text(dump); });
  print("markup alone", static_cast<double>(dump.size()) / 1e6 / markup, "MB/s", 1);
}

void bench_loader(const fs::path& file) {
  const auto opened = data::TokenFile::open(file, data::Verify::kHeader);
  const double bytes = static_cast<double>(opened->size() * opened->header().token_bytes);
  const double verify = median_seconds([&] { data::TokenFile::open(file); });
  print("open, verified", bytes / 1e9 / verify, "GB/s", 2);
  for (const auto order : {data::Order::kRandom, data::Order::kShuffled, data::Order::kSequential}) {
    for (const bool prefetch : {false, true}) {
      for (const int64_t length : {64, 1024}) {
        data::Loader loader(data::Tokens(opened),
                            {.batch = 16, .length = length, .micro_batches = 4, .order = order, .prefetch = prefetch});
        data::Batch batch;
        const int64_t steps = 20'000'000 / (64 * length);
        const double taken = median_seconds([&] {
          for (int64_t i = 0; i < steps; ++i) loader.next(batch);
        });
        print(fmt::format("loader {}, length {}, {}", name(order), length, prefetch ? "prefetch" : "no prefetch"),
              static_cast<double>(steps * 64 * length) / 1e6 / taken, "M tokens/s", 0);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments given = parsed(argc, argv);
  as_json = given.json;
  const std::unique_ptr<text::Tokenizer> tokenizer =
      given.tokenizer.empty() ? std::make_unique<text::ByteTokenizer>(true) : text::load_tokenizer(given.tokenizer);
  std::string made = (fs::temp_directory_path() / "tenon-bench-XXXXXX").string();
  if (!mkdtemp(made.data())) return 1;
  const std::string text = corpus_of(given);
  const double telling = median_seconds([] { data::stories(4'000'000, 1); });
  print("stories", 4 / telling, "MB/s", 1);
  bench_prepare(given, *tokenizer, made, text);
  bench_loader(fs::path(made) / "out.tokens");
  fs::remove_all(made);
}
