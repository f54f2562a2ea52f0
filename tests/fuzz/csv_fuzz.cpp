// CSV, of which the first byte chooses the options.

#include <cstdlib>

#include "target.h"
#include "tenon/data/csv_columns.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size < 1) return 0;
  data::CsvOptions options;
  options.header = data[0] % 2 == 0;
  options.separator = data[0] % 4 < 2 ? ',' : ';';
  if (data[0] % 8 >= 4) options.types = {{"column 1", data::ColumnType::kWhole}};
  const auto input = fuzz::input_of("csv", data + 1, size - 1);
  // A column of its own for every separator, and a text of its own for every field.
  fuzz::run(size, 512, [&] {
    const auto columns = data::parse_csv(input, options);
    for (const auto& column : columns) {
      if (column.missing.size() != columns[0].missing.size()) std::abort();
      if (column.whole.size() + column.real.size() + column.text.size() != column.missing.size()) std::abort();
    }
  });
  return 0;
}
