#include "tenon/data/csv.h"

#include <algorithm>
#include <map>

#include "tenon/base/error.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/unpacked.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::data {

Table::Table(std::vector<CsvColumn> columns) : columns_(std::move(columns)) {
  for (const CsvColumn& column : columns_) {
    if (column.missing.size() != columns_[0].missing.size()) {
      base::fail("table", "columns of {} and {} rows", columns_[0].missing.size(), column.missing.size());
    }
  }
}

int64_t Table::rows() const { return columns_.empty() ? 0 : static_cast<int64_t>(columns_[0].missing.size()); }

std::vector<std::string> Table::names() const {
  std::vector<std::string> all;
  for (const CsvColumn& column : columns_) all.push_back(column.name);
  return all;
}

bool Table::contains(std::string_view name) const {
  return std::any_of(columns_.begin(), columns_.end(), [&](const CsvColumn& column) { return column.name == name; });
}

const CsvColumn& Table::column_called(std::string_view name) const {
  for (const CsvColumn& column : columns_) {
    if (column.name == name) return column;
  }
  std::vector<std::string> known;
  for (const CsvColumn& column : columns_) known.push_back(io::in_quotes(column.name));
  base::fail("table", "there is no column {}; there are {}", io::in_quotes(name), fmt::join(known, ", "));
}

// Converted on the host, because some devices lack f64.
Tensor Table::column(std::string_view wanted, std::optional<DType> dtype) const {
  const CsvColumn& column = column_called(wanted);
  const auto made = [&](const auto& values, DType usual) {
    return from_vector(values, {rows()}, Options(dtype.value_or(usual), host())).to(Device());
  };
  switch (column.type) {
    case ColumnType::kWhole: return made(column.whole, DType::i64);
    case ColumnType::kReal: return made(column.real, DType::f32);
    case ColumnType::kBoolean: return made(std::vector<bool>(column.whole.begin(), column.whole.end()), DType::boolean);
    default:
      base::fail("table", "column {} holds text; categories() has it as numbers, texts() as it is",
                 io::in_quotes(wanted));
  }
}

Tensor Table::columns(const std::vector<std::string>& wanted, DType dtype) const {
  std::vector<Tensor> all;
  for (const std::string& name : wanted) all.push_back(column(name, dtype));
  if (all.empty()) base::fail("table", "no columns are asked for");
  return stack(all, 1);
}

const std::vector<std::string>& Table::texts(std::string_view wanted) const {
  const CsvColumn& column = column_called(wanted);
  if (column.type != ColumnType::kText) {
    base::fail("table", "column {} holds {}; give read_csv() its type to have it as text", io::in_quotes(wanted),
               name(column.type));
  }
  return column.text;
}

Categories Table::categories(std::string_view wanted) const {
  const std::vector<std::string>& all = texts(wanted);
  const std::vector<bool>& missing = column_called(wanted).missing;
  std::map<std::string_view, int64_t> code_of;
  for (size_t row = 0; row < all.size(); ++row) {
    if (!missing[row]) code_of[all[row]] = 0;
  }
  Categories result;
  for (auto& [text, code] : code_of) {
    code = static_cast<int64_t>(result.names.size());
    result.names.emplace_back(text);
  }
  std::vector<int64_t> codes;
  for (size_t row = 0; row < all.size(); ++row) codes.push_back(missing[row] ? -1 : code_of.at(all[row]));
  result.codes = from_vector(codes, {rows()});
  return result;
}

Tensor Table::missing(std::string_view wanted) const { return from_vector(column_called(wanted).missing, {rows()}); }

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const std::vector<std::byte> text = read_unpacked("csv", path);
  return Table(parse_csv({"csv", path.string(), text}, options));
}

}  // namespace tenon::data
