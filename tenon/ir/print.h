// Graphs as text, for people and for tests.

#pragma once

#include <string>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// One node: "f32(8, 4) = add axes=..".
std::string describe(const Node& node);
/// Every node below the outputs, one a line, numbered: "%2 = mul %0 %1 : f32(3,)".
std::string to_string(std::span<const Value> outputs);
/// "f32(3, 4)".
std::string to_string(const Type& type);

/// The op table as a markdown page; docs/ops.md is this text, and a test keeps it so.
std::string table_as_markdown();

}  // namespace tenon::ir
