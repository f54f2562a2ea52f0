// Values that nobody asks for now and that are computed beside those that are: later they would cost more.

#pragma once

#include <span>
#include <vector>

#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

inline bool is_waiting_copy(const ir::Node& node) { return node.op() == ir::Op::copy && !node.evaluated(); }

/// Adds the stores among `pending` that share work with the values, whose order of evaluation is `order`. True where
/// there are any.
bool add_pending(std::vector<ir::Value>& values, const std::vector<ir::NodeRef>& order,
                 std::span<const ir::Value> pending);

/// Adds of the values that `unread` gives those that would keep the old content of states in memory, and then those
/// that a loop carries to its next step. Gives the number of the latter.
size_t add_unread(std::vector<ir::Value>& values, const std::vector<ir::NodeRef>& order, const Unread& unread);

/// Adds what was computed several times on the way to other values.
void keep_recomputed(std::vector<ir::Value>& values, const std::vector<ir::NodeRef>& order);

}  // namespace tenon::exec
