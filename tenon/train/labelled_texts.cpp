#include "tenon/train/labelled_texts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/base/parallel.h"
#include "tenon/data/checksum.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/text_table.h"
#include "tenon/io/input.h"
#include "tenon/models/bert_texts.h"
#include "tenon/train/corpus.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;

/// 16, 32, 64 ..., and no more than `most`.
int64_t filled_up(int64_t length, int64_t most) {
  int64_t tokens = 16;
  while (tokens < length) tokens *= 2;
  return std::min(tokens, most);
}

data::TextTable table_of(const Config& config, std::string_view key, const std::string& path) {
  if (!fs::exists(path))
    fail("train", "{} {}: there is no such file; name a CSV, .tsv or .jsonl file with a row for each text", key, path);
  const DataConfig& d = config.data;
  return data::read_text_table(path, {.text = {d.field, "data.field"},
                                      .second = {d.second_field, "data.second_field"},
                                      .label = {d.label_field, "data.label_field"}});
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Numbers in the order of numbers, all else in that of letters.
std::vector<std::string> sorted_labels(const std::vector<std::string>& of_texts) {
  std::vector<std::string> labels = of_texts;
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (std::ranges::all_of(labels, is_whole_number))
    std::ranges::stable_sort(labels, {}, [](const std::string& label) { return std::stoll(label); });
  return labels;
}

std::string listed(const std::vector<std::string>& labels) {
  constexpr size_t kMostShown = 12;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(labels.size(), kMostShown); ++i) shown.push_back(io::in_quotes(labels[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "), labels.size() > kMostShown ? ", ..." : "");
}

std::vector<std::string> labels_of(const Config& config, const data::TextTable& table,
                                   const std::vector<std::string>& known) {
  std::vector<std::string> labels = sorted_labels(table.labels);
  const std::string &file = config.data.train, &field = config.data.label_field;
  if (labels.size() == 1)
    fail("train", "{}: all {} texts have the label {}; a classifier needs two labels at least", file,
         table.texts.size(), io::in_quotes(labels[0]));
  if (labels.size() == table.texts.size() && labels.size() > 2)
    fail("train", "{}: each of the {} texts has a label of its own; is {} the field of labels (data.label_field)?",
         file, labels.size(), io::in_quotes(field));
  std::vector<std::string> as_sorted = known;
  std::ranges::sort(as_sorted);
  std::vector<std::string> ours = labels;
  std::ranges::sort(ours);
  return as_sorted == ours ? known : labels;
}

std::vector<int64_t> classes_of(const data::TextTable& table, const std::vector<std::string>& labels,
                                const std::string& file, const Config& config) {
  std::map<std::string_view, int64_t> class_of;
  for (size_t i = 0; i < labels.size(); ++i) class_of[labels[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> classes;
  for (size_t row = 0; row < table.labels.size(); ++row) {
    const auto found = class_of.find(table.labels[row]);
    if (found == class_of.end())
      fail("train", "{}: row {} has the label {}, which no text of {} has: there are {}", file, row + 1,
           io::in_quotes(table.labels[row]), config.data.train, listed(labels));
    classes.push_back(found->second);
  }
  return classes;
}

std::shared_ptr<const text::WordPiece> learned(const Config& config, const data::TextTable& table) {
  text::WordPieceCounter counter({.vocabulary = config.tokenizer.vocabulary});
  for (const auto* column : {&table.texts, &table.seconds}) {
    for (const std::string& text : *column) counter.add(text);
  }
  return std::make_shared<const text::WordPiece>(counter.model());
}

std::shared_ptr<const text::WordPiece> tokenizer_of(const Config& config, const data::TextTable& table,
                                                    const fs::path& run_folder, bool goes_on,
                                                    const io::OpenFolder* initial) {
  const fs::path kept = run_folder / "tokenizer.json";
  const bool is_kept = goes_on && fs::exists(kept);
  std::shared_ptr<const text::WordPiece> tokenizer;
  if (std::shared_ptr<const text::Tokenizer> given = given_tokenizer(config, initial))
    tokenizer = models::as_wordpiece(given, config.tokenizer_path());
  else
    tokenizer = is_kept ? models::load_wordpiece(kept) : learned(config, table);
  if (!is_kept) tokenizer->save(run_folder);
  return tokenizer;
}

std::vector<EncodedTexts::Text> encoded(const data::TextTable& table, const std::vector<int64_t>& classes,
                                        const text::WordPiece& tokenizer, int64_t longest) {
  constexpr int64_t kGrain = 64;
  std::vector<EncodedTexts::Text> texts(table.texts.size());
  base::parallel_for(std::ssize(texts), kGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const bool has_second = !table.seconds.empty();
      text::BertInput input = tokenizer.encode_for_bert(
          table.texts[i], has_second ? std::optional<std::string_view>(table.seconds[i]) : std::nullopt, longest);
      texts[i] = {has_second ? table.texts[i] + " | " + table.seconds[i] : table.texts[i], std::move(input.ids),
                  std::move(input.types), classes[i]};
    }
  });
  return texts;
}

struct Parts {
  std::vector<EncodedTexts::Text> train, validation;
};

/// The same share of every class, chosen by chance; one text at least stays to train on.
Parts split_of(std::vector<EncodedTexts::Text> texts, size_t classes, double fraction, uint64_t seed) {
  std::vector<std::vector<size_t>> by_class(classes);
  for (size_t i = 0; i < texts.size(); ++i) by_class[static_cast<size_t>(texts[i].label)].push_back(i);
  std::vector<bool> is_held_back(texts.size());
  for (size_t label = 0; label < classes; ++label) {
    std::vector<size_t>& places = by_class[label];
    data::Random random(seed, -1, static_cast<int64_t>(label));
    for (size_t i = places.size(); i > 1; --i)
      std::swap(places[i - 1], places[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
    const auto wanted = static_cast<int64_t>(std::llround(fraction * static_cast<double>(places.size())));
    const int64_t count = std::clamp<int64_t>(wanted, 0, std::ssize(places) - 1);
    for (int64_t i = 0; i < count; ++i) is_held_back[places[static_cast<size_t>(i)]] = true;
  }
  Parts parts;
  for (size_t i = 0; i < texts.size(); ++i)
    (is_held_back[i] ? parts.validation : parts.train).push_back(std::move(texts[i]));
  return parts;
}

void add_to(data::Checksum& checksum, const EncodedTexts& texts) {
  for (int64_t i = 0; i < texts.size(); ++i) {
    const EncodedTexts::Text& text = texts[i];
    checksum.add(std::as_bytes(std::span(text.ids)));
    checksum.add(std::as_bytes(std::span(text.types)));
    checksum.add(std::as_bytes(std::span(&text.label, 1)));
  }
}

std::string fingerprint_of(const LabelledTexts& all) {
  data::Checksum checksum;
  for (const std::string& label : all.labels) {
    const std::string line = label + "\n";
    checksum.add(std::as_bytes(std::span(line)));
  }
  add_to(checksum, *all.train);
  const uint64_t of_train = checksum.value();
  add_to(checksum, *all.validation);
  return fmt::format("{:016x}-{:016x}", of_train, checksum.value());
}

}  // namespace

data::Sample EncodedTexts::batch(std::span<const int64_t> indices, int64_t rows, Device device) const {
  size_t longest = 0;
  for (const int64_t i : indices) longest = std::max(longest, (*this)[i].ids.size());
  const int64_t tokens = filled_up(static_cast<int64_t>(longest), longest_);
  const auto count = static_cast<size_t>(rows * tokens);
  std::vector<int32_t> ids(count, padding_), types(count);
  std::vector<bool> mask(count);
  std::vector<int64_t> labels(static_cast<size_t>(rows), kNoText);
  for (int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<ptrdiff_t>(row * tokens);
    mask[static_cast<size_t>(at)] = true;  // attention needs a token to look at, in rows without a text, too
    if (row >= std::ssize(indices)) continue;
    const Text& text = (*this)[indices[static_cast<size_t>(row)]];
    std::ranges::copy(text.ids, ids.begin() + at);
    std::ranges::copy(text.types, types.begin() + at);
    std::fill_n(mask.begin() + at, text.ids.size(), true);
    labels[static_cast<size_t>(row)] = text.label;
  }
  const Dims shape{rows, tokens};
  const Options on_device(device);
  return {{"ids", from_vector(ids, shape, on_device)},
          {"mask", from_vector(mask, shape, on_device)},
          {"types", from_vector(types, shape, on_device)},
          {"label", from_vector(labels, {rows}, on_device)}};
}

std::optional<data::Sample> EncodedTexts::stacked(std::span<const int64_t> indices, Device device) const {
  return batch(indices, std::ssize(indices), device);
}

data::Sample EncodedTexts::get(int64_t i) const {
  data::Sample sample = batch(std::span(&i, 1), 1, data::host());
  for (int64_t field = 0; field < sample.size(); ++field) sample.set(field, sample[field].select(0, 0));
  return sample;
}

LabelledTexts read_labelled_texts(const Config& config, const fs::path& run_folder, bool goes_on,
                                  const io::OpenFolder* initial, const std::vector<std::string>& known) {
  const data::TextTable table = table_of(config, "data.train", config.data.train);
  LabelledTexts all;
  all.labels = labels_of(config, table, known);
  all.tokenizer = tokenizer_of(config, table, run_folder, goes_on, initial);
  const int64_t longest = config.sequence_length();
  const int32_t padding = models::padding_token(*all.tokenizer);
  Parts parts{encoded(table, classes_of(table, all.labels, config.data.train, config), *all.tokenizer, longest), {}};
  if (!config.data.validation.empty()) {
    const data::TextTable held_back = table_of(config, "data.validation", config.data.validation);
    parts.validation =
        encoded(held_back, classes_of(held_back, all.labels, config.data.validation, config), *all.tokenizer, longest);
  } else {
    parts = split_of(std::move(parts.train), all.labels.size(), config.data.validation_fraction,
                     static_cast<uint64_t>(config.data.seed));
  }
  all.train = std::make_shared<const EncodedTexts>(std::move(parts.train), longest, padding);
  all.validation = std::make_shared<const EncodedTexts>(std::move(parts.validation), longest, padding);
  all.fingerprint = fingerprint_of(all);
  if (config.training.batch_size > all.train->size())
    fail("train", "{}: has {} texts to train on, which do not fill a batch of {}; lower training.batch_size",
         config.data.train, all.train->size(), config.training.batch_size);
  return all;
}

}  // namespace tenon::train
