// Texts in columns: CSV, tab-separated values (.tsv) and JSON lines (.jsonl, .ndjson, .json), packed or not, with a row
// for each text and, where they are wanted, a second text and a label beside it.
//
//   data::TextTable reviews = data::read_text_table("reviews.csv", {.text = {"review"}, .label = {"stars"}});

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::data {

/// A column by its name; empty: it is not wanted.
struct TextColumn {
  std::string name = {};
  std::string_view chosen_by = {};  // what a message names to choose another: "--field"
};

struct TextColumns {
  TextColumn text = {}, second = {}, label = {};
};

/// As many of each, or none where the column was not wanted.
struct TextTable {
  std::vector<std::string> texts, seconds, labels;
};

/// Whether the name of a file is that of a table: .csv, .tsv, .jsonl, .ndjson or .json, and .gz, .bz2 or .zst after
/// it.
bool is_text_table(const std::filesystem::path& path);

/// Fails with one line that starts with `[texts] path`, or `[csv] path`, where a column or a label is missing, and
/// where there are no rows.
TextTable read_text_table(const std::filesystem::path& path, const TextColumns& columns);

}  // namespace tenon::data
