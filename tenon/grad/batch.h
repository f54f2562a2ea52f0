// From the graph of one example to that of a batch: adds nodes, one rule per op of the table.
//
// A function that vmap() maps is recorded once, on placeholders that have the shape of one example. Everything made of
// them is then recorded again with the examples side by side along a new first axis; what they share stays one value.

#pragma once

#include <span>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::autodiff {

/// A leaf of this type that equals no other and has no value: nothing that is made of it can be computed.
ir::Value placeholder(const ir::Type& type, ir::DeviceId device);

/// What stands for one example, and all of them along axis 0.
struct Examples {
  ir::Value one, all;
};

/// The values of all examples, along a new axis 0 of this size. Fails, naming the op, where one has no rule.
std::vector<ir::Value> batched(std::span<const ir::Value> values, std::span<const Examples> examples, int64_t count);

}  // namespace tenon::autodiff
