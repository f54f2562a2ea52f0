// Gradients of queries, keys and values that belong into one matrix: attention writes them there itself.
//
// Where one product gives all three, their gradients arrive as three pads of its result, which are added. Their rows
// lie side by side, so the sum is no arithmetic: attention_backward can write the rows where they belong.

#pragma once

#include <vector>

#include "tenon/ir/node.h"

namespace tenon::plan {

/// The graph in which attention_backward gives one result (AttentionAttrs::joined) wherever its three are only added
/// up.
std::vector<ir::Value> join_attention_gradients(const std::vector<ir::Value>& outputs);

}  // namespace tenon::plan
