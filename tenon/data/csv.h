// CSV files as tensors.
//
//   data::Table table = data::read_csv("iris.csv");
//   Tensor x = table.columns({"length", "width"});            // f32 (rows, 2)
//   auto [species, names] = table.categories("species");      // i64 (rows), and what the numbers stand for
//   data::TensorDataset dataset({x, species});

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/data/csv_columns.h"
#include "tenon/tensor/tensor.h"

namespace tenon::data {

/// A column of text as numbers: the place of each text among the sorted different ones, -1 where there is no value.
struct Categories {
  Tensor codes;                    // i64, one for each row
  std::vector<std::string> names;  // what the numbers stand for
};

/// Columns under names; a name that is not there is an error that lists them.
class Table {
 public:
  explicit Table(std::vector<CsvColumn> columns);

  /// How many rows there are; the names of the columns; whether there is a column of that name; what it holds.
  int64_t rows() const;
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const;
  ColumnType type(std::string_view name) const { return column_called(name).type; }

  /// A column of numbers: i64, f32, where there is no value NaN, or bool; in another dtype where one is given.
  Tensor column(std::string_view name, std::optional<DType> dtype = {}) const;
  /// Several columns of numbers side by side: (rows, columns).
  Tensor columns(const std::vector<std::string>& names, DType dtype = DType::f32) const;
  /// A column of text as it is, or as numbers for its different texts.
  const std::vector<std::string>& texts(std::string_view name) const;
  Categories categories(std::string_view name) const;
  /// Which rows have no value there: bool.
  Tensor missing(std::string_view name) const;

 private:
  const CsvColumn& column_called(std::string_view name) const;
  std::vector<CsvColumn> columns_;
};

/// Reads a file, which may be compressed. What a column holds is found out: whole numbers, numbers, true or false,
/// text. Fails with one line that starts with `[csv] path` and names line and column.
Table read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

}  // namespace tenon::data
