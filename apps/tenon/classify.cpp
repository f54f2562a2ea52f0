// `tenon classify`: the classes of texts from the command line, a file or stdin.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/tenon/commands.h"
#include "apps/tenon/output.h"
#include "tenon/base/parallel.h"
#include "tenon/data/text_table.h"
#include "tenon/io/file.h"
#include "tenon/io/input.h"
#include "tenon/models/text_classifier.h"

namespace tenon::cli {
namespace {

using base::fail;

constexpr std::string_view kClassify = "classify";
constexpr const char* kClassifyExamples = R"(
MODEL is a finished run of `tenon train` with model.architecture bert, or a folder of transformers that holds a
BertForSequenceClassification and its tokenizer. Without TEXT and --file, texts are read from stdin, one a line. A file
that ends in .csv, .tsv or .jsonl has its texts in the column --field. For each text a line is printed: its label, how
probable that is, and the text.

Examples:
  tenon classify runs/reviews "A film to see twice." "Two hours of rain."
  tenon classify runs/reviews --file new_reviews.csv --field review --json > labels.jsonl
  tail -n 20 messages.txt | tenon classify runs/spam)";

struct ClassifyArguments {
  std::string model, file, field = "text", second_field, device = train::default_device_name();
  std::vector<std::string> texts;
  int64_t batch = 32;
  int threads = 0;
  bool json = false, chooses_field = false;
};

struct Texts {
  std::vector<std::string> first, second;  // none of the second where there are no pairs
};

Texts texts_of(const ClassifyArguments& job) {
  if (!job.texts.empty()) return {job.texts, {}};
  if (job.file.empty()) return {lines_of(read_stdin(kClassify)), {}};
  if (data::is_text_table(job.file)) {
    data::TextTable table = data::read_text_table(
        job.file, {.text = {job.field, "--field"}, .second = {job.second_field, "--second-field"}});
    return {std::move(table.texts), std::move(table.seconds)};
  }
  if (job.chooses_field)
    throw CLI::ValidationError("--field", "is for .csv, .tsv and .jsonl files; other files have a text a line");
  const auto file = io::MappedFile::open(kClassify, job.file);
  return {lines_of(io::as_text(file->bytes())), {}};
}

std::string json_line(const Texts& texts, size_t i, const models::TextClass& found,
                      const std::vector<std::string>& labels) {
  nlohmann::ordered_json line = {{"text", texts.first[i]}};
  if (!texts.second.empty()) line["second"] = texts.second[i];
  line["label"] = found.label;
  line["probability"] = found.probability;
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (size_t label = 0; label < labels.size(); ++label) all[labels[label]] = found.probabilities[label];
  line["probabilities"] = std::move(all);
  // On a terminal in plain ASCII, where no control of 8 bits can hide.
  return line.dump(-1, ' ', out_is_terminal(), nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Tabs and ends of lines stand between what is printed, so none may stand inside.
std::string as_field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::string text_line(const Texts& texts, size_t i, const models::TextClass& found) {
  std::string line = fmt::format("{}\t{:.4f}\t{}", as_field(found.label), found.probability, as_field(texts.first[i]));
  if (!texts.second.empty()) line += "\t" + as_field(texts.second[i]);
  return line + "\n";
}

void run(const ClassifyArguments& job) {
  if (job.threads != 0) base::set_num_threads(job.threads);
  require_computing(job.device);
  const models::TextClassifier classifier = models::TextClassifier::load(job.model, Device(job.device));
  const Texts texts = texts_of(job);
  if (texts.first.empty())
    fail(kClassify, "{}: holds no texts; write one a line", job.file.empty() ? "stdin" : job.file);
  const auto batch = static_cast<size_t>(job.batch);
  for (size_t first = 0; first < texts.first.size(); first += batch) {
    const size_t last = std::min(texts.first.size(), first + batch);
    const auto part_of = [&](const std::vector<std::string>& all) {
      if (all.empty()) return all;
      return std::vector(all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(last));
    };
    const std::vector<models::TextClass> found =
        classifier.classify(part_of(texts.first), job.batch, part_of(texts.second));
    for (size_t i = 0; i < found.size(); ++i) {
      if (job.json)
        write_out(json_line(texts, first + i, found[i], classifier.labels()));
      else
        write_text(text_line(texts, first + i, found[i]));
    }
    flush_out();
  }
}

}  // namespace

void add_classify(CLI::App& app) {
  CLI::App* command = app.add_subcommand("classify", "Tell texts apart with a model that was trained for it");
  command->footer(kClassifyExamples);
  const auto job = std::make_shared<ClassifyArguments>();
  command->add_option("MODEL", job->model, "A finished run, or a folder of transformers")
      ->required()
      ->check(path_name());
  auto* texts = command->add_option("TEXT", job->texts, "Texts, each as one argument")->type_name("TEXT");
  auto* file = command->add_option("--file,-f", job->file, "A file of texts, one a line, or a table of them")
                   ->type_name("FILE")
                   ->check(path_name())
                   ->excludes(texts);
  auto* field = command->add_option("--field", job->field, "The column of a .csv, .tsv or .jsonl file with the texts")
                    ->default_val("text")
                    ->needs(file);
  command->add_option("--second-field", job->second_field, "The column of second texts, of pairs")->needs(file);
  command->add_flag("--json", job->json, "A JSON object a line: text, label, probability, probabilities");
  command->add_option("--batch", job->batch, "Texts at a time")->default_val(32)->check(whole_number(1, 4096));
  command->add_option("--device", job->device, "Where to run (see tenon info)")->capture_default_str();
  command->add_option("--threads", job->threads, "Threads to use (default: all)")->check(whole_number(1, 4096));
  command->callback([job, field] {
    job->chooses_field = field->count() > 0 || !job->second_field.empty();
    run(*job);
  });
}

}  // namespace tenon::cli
