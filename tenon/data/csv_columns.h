// CSV as columns of numbers and text. No tensor is made here.
//
// The text is gone through twice: first to see how many rows there are and what each column holds, then to fill the
// columns. Keeping cells in between would take many times the memory of the file.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::data {

/// What a column holds.
enum class ColumnType { kWhole, kReal, kBoolean, kText };
/// "whole numbers", "numbers", "true or false", "text".
///   data::name(data::ColumnType::kText);  // text
std::string_view name(ColumnType type);

/// How a file of comma-separated values is read.
struct CsvOptions {
  char separator = ',';                          // between fields
  char quote = '"';                              // around fields that hold separators
  bool header = true;                            // whether the first line has the names of the columns
  std::vector<std::string> names = {};           // instead of those of the header, or where there is none
  std::map<std::string, ColumnType> types = {};  // of columns that shall not be found out
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL"};  // what stands for no value
  std::optional<ColumnType> type_of_all = {};  // of columns that `types` does not name, which is else found out
};

struct CsvColumn {
  std::string name;
  ColumnType type = ColumnType::kText;
  std::vector<int64_t> whole;     // of kWhole, and 0 or 1 of kBoolean
  std::vector<double> real;       // of kReal; NaN where there is no value
  std::vector<std::string> text;  // of kText
  std::vector<bool> missing;      // of every row
};

/// Fields may stand in quotes, and then hold separators, ends of lines and doubled quotes. Empty lines are passed over.
/// Fails with one line that names line and column.
std::vector<CsvColumn> parse_csv(const io::Input& input, const CsvOptions& options);

}  // namespace tenon::data
