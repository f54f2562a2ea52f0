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

std::string table_as_markdown() {
  constexpr std::string_view kKinds[] = {"leaf",   "movement", "unary", "binary", "ternary",
                                         "reduce", "indexed",  "call",  "effect"};
  std::string text =
      "# The op table\n\nGenerated from `tenon/ir/ops.def`. Everything else users call is a composition of these:\n"
      "[tensors.md](tensors.md) lists the functions.\n\n"
      "| op | kind | operands | carries | gradient |\n| --- | --- | --- | --- | --- |\n";
  for (const OpInfo& row : op_table()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, kKinds[static_cast<size_t>(row.kind)],
                        row.arity < 0 ? "any" : fmt::format("{}", row.arity),
                        row.attrs_name == "NoAttrs" ? "" : row.attrs_name, row.is(kDifferentiable) ? "yes" : "");
  }
  return text;
}

}  // namespace tenon::ir
