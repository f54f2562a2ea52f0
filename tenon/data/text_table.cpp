#include "tenon/data/text_table.h"

#include <algorithm>
#include <array>

#include "tenon/base/error.h"
#include "tenon/data/csv_columns.h"
#include "tenon/data/unpacked.h"
#include "tenon/io/json.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTexts = "texts";

/// Of the file when unpacked: ".csv".
std::string extension_of(fs::path path) {
  for (const char* packed : {".gz", ".bz2", ".zst"}) {
    if (path.extension() == packed) path.replace_extension();
  }
  return path.extension().string();
}

bool has_json_lines(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".jsonl" || extension == ".ndjson" || extension == ".json";
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <typename Names>
[[noreturn]] void refuse_missing(const std::string& place, const TextColumn& wanted, const Names& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(io::in_quotes(name));
  constexpr size_t kMostShown = 12;
  const bool are_many = quoted.size() > kMostShown;
  if (are_many) quoted.resize(kMostShown);
  base::fail(kTexts, "{}: has no {}, but {}{}{}", place, io::in_quotes(wanted.name), fmt::join(quoted, ", "),
             are_many ? ", ..." : "",
             wanted.chosen_by.empty() ? "" : fmt::format("; choose one with {}", wanted.chosen_by));
}

/// The columns that are wanted, and where each goes.
struct Wanted {
  const TextColumn* column;
  std::vector<std::string>* into;
};

std::vector<Wanted> wanted_of(const TextColumns& columns, TextTable& table) {
  std::vector<Wanted> wanted;
  for (const Wanted& one : {Wanted{&columns.text, &table.texts}, Wanted{&columns.second, &table.seconds},
                            Wanted{&columns.label, &table.labels}}) {
    if (!one.column->name.empty()) wanted.push_back(one);
  }
  return wanted;
}

void read_columns(const fs::path& path, std::span<const std::byte> bytes, std::span<const Wanted> wanted) {
  CsvOptions options;
  options.separator = extension_of(path) == ".tsv" ? '\t' : ',';
  options.missing.clear();
  options.type_of_all = ColumnType::kText;
  std::vector<CsvColumn> columns = parse_csv({"csv", path.string(), bytes}, options);
  for (const Wanted& one : wanted) {
    const auto found = std::ranges::find(columns, one.column->name, &CsvColumn::name);
    if (found == columns.end()) {
      std::vector<std::string> names;
      for (const CsvColumn& column : columns) names.push_back(column.name);
      refuse_missing(path.string(), *one.column, names);
    }
    *one.into = found->text;  // another may want the same
  }
}

/// What a JSON value is as a text: a label may be a number.
std::string text_of(const nlohmann::json& value, const std::string& place, const TextColumn& column) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  base::fail(kTexts, "{}: {} is {}; it must be a text or a number", place, io::in_quotes(column.name),
             io::shown_json(value));
}

void read_lines(const fs::path& path, std::string_view rest, std::span<const Wanted> wanted) {
  for (size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (without_blanks(line).empty()) continue;
    const std::string place = fmt::format("{}: line {}", path.string(), number);
    const auto object = io::parse_json<nlohmann::json>(kTexts, place, line);
    if (!object.is_object()) base::fail(kTexts, "{} is {}; it must be a JSON object", place, io::shown_json(object));
    for (const Wanted& one : wanted) {
      const auto found = object.find(one.column->name);
      if (found == object.end()) {
        std::vector<std::string> names;
        for (const auto& [name, value] : object.items()) names.push_back(name);
        refuse_missing(place, *one.column, names);
      }
      one.into->push_back(text_of(*found, place, *one.column));
    }
  }
}

void require_labels(const fs::path& path, const TextColumn& column, std::vector<std::string>& labels) {
  for (size_t row = 0; row < labels.size(); ++row) {
    labels[row] = without_blanks(labels[row]);
    if (labels[row].empty())
      base::fail(kTexts, "{}: row {} has no label in {}; every text needs one", path.string(), row + 1,
                 io::in_quotes(column.name));
  }
}

}  // namespace

bool is_text_table(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".csv" || extension == ".tsv" || has_json_lines(path);
}

TextTable read_text_table(const fs::path& path, const TextColumns& columns) {
  const std::vector<std::byte> bytes = read_unpacked(kTexts, path);
  TextTable table;
  const std::vector<Wanted> wanted = wanted_of(columns, table);
  const std::string_view content = io::as_text(bytes);
  if (without_blanks(content).empty()) base::fail(kTexts, "{}: is empty", path.string());
  if (has_json_lines(path))
    read_lines(path, content, wanted);
  else
    read_columns(path, bytes, wanted);
  if (!wanted.empty() && wanted.front().into->empty())
    base::fail(kTexts, "{}: has no row below the names of its columns", path.string());
  require_labels(path, columns.label, table.labels);
  return table;
}

}  // namespace tenon::data
