// The printer numbers nodes in topological order, so equal graphs print equal text.

#include "tenon/ir/print.h"

#include <fmt/format.h>

#include <unordered_map>

#include "tenon/ir/topology.h"

namespace tenon::ir {

std::string to_string(const Type& type) { return fmt::format("{}{}", tenon::name(type.dtype), to_string(type.shape)); }

std::string describe(const Node& node) {
  const std::string attrs = to_string(node.attrs());
  std::string text = fmt::format("{}{}{} :", name(node.op()), attrs.empty() ? "" : " ", attrs);
  for (size_t i = 0; i < node.results(); ++i) text += fmt::format(" {}", to_string(node.type(i)));
  return text;
}

std::string to_string(std::span<const Value> outputs) {
  std::unordered_map<const Node*, size_t> number;
  std::string text;
  for (const NodeRef& node : topological_order(outputs)) {
    const size_t id = number.size();
    number.emplace(node.get(), id);
    text += fmt::format("%{} = {}", id, name(node->op()));
    for (const Value& input : node->inputs()) {
      text += fmt::format(" %{}", number.at(input.node.get()));
      if (input.node->results() > 1) text += fmt::format(".{}", input.index);
    }
    const std::string attrs = to_string(node->attrs());
    if (!attrs.empty()) text += " " + attrs;
    text += " :";
    for (size_t i = 0; i < node->results(); ++i) text += " " + to_string(node->type(i));
    text += "\n";
  }
  return text;
}

}  // namespace tenon::ir
