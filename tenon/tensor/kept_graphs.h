// Graphs that tensors keep although the weights they were made with have been written since.
//
// The gradient of such a tensor needs the old weights, so each step that it is kept for is a copy of them in memory: a
// sum of losses that nobody has detached keeps one a step. PyTorch refuses such a gradient; here it is given as long as
// the old weights are few. When they are twice the weights of a step, the tensors that have kept them longest keep
// their values and let go of their graphs, and a gradient that is asked of them says so.

#pragma once

#include <memory>
#include <span>

#include "tenon/ir/data.h"

namespace tenon {
struct TensorImpl;
}

namespace tenon::kept_graphs {

/// A tensor that this thread has made and gradients pass.
void add(const std::shared_ptr<TensorImpl>& tensor);
/// An evaluation is about to replace what these states hold.
void note_replaced(std::span<const ir::DataRef> states);
/// Lets go of graphs until the old weights that are kept for them are few.
void bound();

}  // namespace tenon::kept_graphs
