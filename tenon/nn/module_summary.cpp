// The table of a module: one line per module that has parameters or stands for others, and the totals.

#include <algorithm>
#include <unordered_set>

#include "tenon/nn/module.h"
#include "tenon/tensor/access.h"

namespace tenon::nn {
namespace {

struct Row {
  std::string path, type, shapes, count;
};

// 124439808 as 124,439,808.
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string readable(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

int64_t total_bytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& one : tensors) bytes += static_cast<int64_t>(ir::bytes_of(value_of(one).type()));
  return bytes;
}

std::string table(const std::vector<Row>& rows) {
  size_t path = 0, type = 0, shapes = 0, count = 0;
  for (const Row& row : rows) {
    path = std::max(path, row.path.size());
    type = std::max(type, row.type.size());
    shapes = std::max(shapes, row.shapes.size());
    count = std::max(count, row.count.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}", row.path, path, row.type, type, row.shapes, shapes,
                                   row.count, count);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string Module::summary() const {
  std::vector<Row> rows{{"module", "type", "parameters", "count"}};
  std::unordered_set<const void*> counted;
  for (const auto& [path, module] : tree()) {
    Row row{path.empty() ? (name().empty() ? "." : name()) : path, module->type_name(), "", ""};
    int64_t count = 0;
    for (const Entry& entry : module->tensors_) {
      if (entry.is_buffer || !entry.tensor->defined()) continue;
      const bool is_new = counted.insert(impl_of(*entry.tensor).get()).second;
      if (is_new) count += entry.tensor->numel();
      row.shapes += fmt::format("{}{} {}{}", row.shapes.empty() ? "" : ", ", entry.name,
                                ir::to_string(entry.tensor->shape()), is_new ? "" : " (shared)");
    }
    if (!row.shapes.empty()) row.count = grouped(count);
    rows.push_back(std::move(row));
  }
  std::string text = table(rows);
  text += fmt::format("{} parameters, {} trainable, {}", grouped(count_parameters()), grouped(count_parameters(true)),
                      readable(total_bytes(parameters())));
  if (const int64_t bytes = total_bytes(buffers()); bytes > 0) text += fmt::format("; buffers {}", readable(bytes));
  return text + "\n";
}

}  // namespace tenon::nn
