// Recorded values of tensors, and when they are let go of: an evaluated value forgets how it was made, and a recording
// that nobody reads is evaluated before it grows without end.

#pragma once

#include "tenon/tensor/tensor_impl.h"

namespace tenon {

/// Whether the value is a differentiable leaf's.
bool is_param(const ir::Value& value);
/// The leaf, if it is one.
std::shared_ptr<Leaf> leaf_of(const ir::Value& value);

/// Whether a value was evaluated beside others and still holds on to how it was made.
bool can_settle(const ir::Value& value);
/// The value without how it was made, where it is evaluated.
ir::Value settled(const ir::Value& value);

/// Lets go of how a tensor's evaluated value was made. A view looks at its root's value, so that there is one leaf for
/// both; one with gradients behind it stays what they lead to.
void forget_how_made(TensorImpl& tensor);

/// Bytes of evaluated values that are in memory for the sake of what is recorded below these values and of nothing
/// else: weights are not, their model has them anyway. And the number of nodes below them.
uint64_t bytes_held_for(std::span<const ir::Value> tops, size_t* nodes = nullptr);

/// Whether what is recorded below a value, and not computed, is a graph of several megabytes.
bool has_large_graph(const ir::Value& value);

/// A loop that records and never reads would grow without end: a metric that is added up, say.
void evaluate_growth(const ir::Value& value);

}  // namespace tenon
