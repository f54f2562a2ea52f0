// The table of a module: one line per module that has parameters or stands for others, and the totals. That of a call
// is made of what is recorded between the beginning and the end of each module's own call.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tenon/ir/node.h"
#include "tenon/nn/module.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/trace.h"

namespace tenon::nn {
namespace {

using Row = std::vector<std::string>;

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

// Columns from the right one `numbers` on hold numbers.
std::string table(const std::vector<Row>& rows, size_t numbers) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string_view gap = i == 0 ? "" : "  ";
      line += i < numbers ? fmt::format("{}{:<{}}", gap, row[i], widths[i])
                          : fmt::format("{}{:>{}}", gap, row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string totals(const Module& module) {
  std::string text = fmt::format("{} parameters, {} trainable, {}", grouped(module.count_parameters()),
                                 grouped(module.count_parameters(true)), readable(total_bytes(module.parameters())));
  if (const int64_t bytes = total_bytes(module.buffers()); bytes > 0)
    text += fmt::format("; buffers {}", readable(bytes));
  return text;
}

// Of one node, in products alone: what takes the time of a network.
int64_t operations_of(const ir::Node& node) {
  const auto shape = [&](size_t i) -> const Dims& { return node.input(i).shape(); };
  const auto window = [&] { return ir::count(shape(1)) / std::max<int64_t>(1, shape(1)[0]); };
  switch (node.op()) {
    case ir::Op::contract: return 2 * ir::count(node.type(0).shape) * shape(0).back();
    case ir::Op::conv: return 2 * ir::count(node.type(0).shape) * window();
    case ir::Op::conv_transpose: return 2 * ir::count(shape(0)) * window();
    case ir::Op::attention:  // scores, and the values they weigh
      return 2 * shape(0)[0] * shape(0)[1] * shape(0)[2] * shape(1)[2] * (shape(0)[3] + shape(2)[3]);
    case ir::Op::recurrent: return 2 * ir::count(shape(0)) * shape(1).back();  // of the states with their weights
    default: return 0;
  }
}

// What modules give, and the operations that were recorded while each was the innermost one.
class CallCounts : public CallObserver {
 public:
  struct Counted {
    std::string shapes;
    int64_t operations = 0;
    int calls = 0;
  };

  void enter(const Module& module, const std::vector<Tensor>& arguments) override {
    account(arguments);  // made by who calls
    open_.push_back(&module);
  }
  void leave(const Module& module, const std::vector<Tensor>& results) override {
    account(results);
    open_.pop_back();
    Counted& counted = of_[&module];
    ++counted.calls;
    counted.shapes.clear();
    for (const Tensor& x : results) counted.shapes += (counted.shapes.empty() ? "" : ", ") + ir::to_string(x.shape());
  }

  const Counted* find(const Module& module) const {
    const auto found = of_.find(&module);
    return found == of_.end() ? nullptr : &found->second;
  }
  int64_t operations() const { return operations_; }

 private:
  void account(const std::vector<Tensor>& tensors) {
    std::vector<const ir::Node*> waiting;
    for (const Tensor& x : tensors) {
      held_.push_back(value_of(x));  // so that no address is used twice
      waiting.push_back(held_.back().node.get());
    }
    while (!waiting.empty()) {
      const ir::Node* node = waiting.back();
      waiting.pop_back();
      if (!seen_.insert(node).second || node->evaluated()) continue;
      const int64_t operations = operations_of(*node);
      operations_ += operations;
      if (!open_.empty()) of_[open_.back()].operations += operations;
      for (const ir::Value& input : node->inputs()) waiting.push_back(input.node.get());
    }
  }

  std::unordered_map<const Module*, Counted> of_;
  std::vector<const Module*> open_;
  std::vector<ir::Value> held_;
  std::unordered_set<const ir::Node*> seen_;
  int64_t operations_ = 0;
};

thread_local CallObserver* observing = nullptr;

}  // namespace

CallObserver::CallObserver() : before_(std::exchange(observing, this)) {}
CallObserver::~CallObserver() { observing = before_; }
CallObserver* CallObserver::current() { return observing; }

namespace {

// Parts with commas between them, in lines that leave the table about 100 columns wide.
std::vector<std::string> lines_of(const std::vector<std::string>& parts) {
  constexpr size_t kMost = 60;
  std::vector<std::string> lines{""};
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : "");
    if (!lines.back().empty() && lines.back().size() + 1 + part.size() > kMost) lines.push_back("");
    lines.back() += (lines.back().empty() ? "" : " ") + part;
  }
  return lines;
}

}  // namespace

std::string Module::summary() const {
  std::vector<Row> rows{{"module", "type", "parameters", "count"}};
  std::unordered_set<const void*> counted;
  for (const auto& [path, module] : tree()) {
    std::vector<std::string> parts;
    int64_t count = 0;
    for (const Entry& entry : module->tensors_) {
      if (entry.is_buffer || !entry.tensor->defined()) continue;
      const bool is_new = counted.insert(impl_of(*entry.tensor).get()).second;
      if (is_new) count += entry.tensor->numel();
      parts.push_back(
          fmt::format("{} {}{}", entry.name, ir::to_string(entry.tensor->shape()), is_new ? "" : " (shared)"));
    }
    const std::vector<std::string> lines = lines_of(parts);
    const std::string number = parts.empty() ? "" : grouped(count);
    rows.push_back({path.empty() ? (name().empty() ? "." : name()) : path, module->type_name(), lines[0], number});
    for (size_t i = 1; i < lines.size(); ++i) rows.push_back({"", "", lines[i], ""});
  }
  return table(rows, 3) + totals(*this) + "\n";
}

std::string summary_of_call(const Module& module, const std::function<void()>& call) {
  const auto tree = module.tree();
  std::vector<bool> modes;
  for (const auto& [path, one] : tree) modes.push_back(std::exchange(*one->training_, false));
  const auto restore = [&] {
    for (size_t i = 0; i < tree.size(); ++i) *tree[i].second->training_ = modes[i];
    note_switch();
  };
  note_switch();
  CallCounts counts;
  try {
    const NoGrad recording;
    call();
  } catch (...) {
    restore();
    throw;
  }
  restore();

  std::vector<Row> rows{{"module", "type", "output", "parameters", "FLOPs"}};
  std::unordered_set<const void*> counted;
  for (const auto& [path, one] : tree) {
    int64_t count = 0;
    bool has_parameters = false;
    for (const Module::Entry& entry : one->tensors_) {
      if (entry.is_buffer || !entry.tensor->defined()) continue;
      has_parameters = true;
      if (counted.insert(impl_of(*entry.tensor).get()).second) count += entry.tensor->numel();
    }
    const CallCounts::Counted* seen = counts.find(*one);
    std::string output = seen ? seen->shapes : "";
    if (seen && seen->calls > 1) output += fmt::format(" ({} calls)", seen->calls);
    rows.push_back({path.empty() ? (module.name().empty() ? "." : module.name()) : path, one->type_name(), output,
                    has_parameters ? grouped(count) : "",
                    seen && seen->operations > 0 ? grouped(seen->operations) : ""});
  }
  return table(rows, 3) + totals(module) + fmt::format("; {} FLOPs\n", grouped(counts.operations()));
}

}  // namespace tenon::nn
