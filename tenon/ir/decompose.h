// Calls written out in simpler ops: what a device without the call runs, and what its second derivative is taken of.

#pragma once

#include <vector>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// True when the op has a decomposition. Those of the others, elementwise ops and reductions, would be themselves; a
/// gather is part of whatever kernel reads it.
bool can_decompose(Op op);
/// The results of the call, recorded as simpler ops on the same operands.
std::vector<Value> decompose(Op op, std::span<const Value> operands, const Attrs& attrs);

/// Of the three sides of a convolution.
std::vector<Value> decompose_convolution(Op op, std::span<const Value> operands, const ConvAttrs& attrs);
/// Of pooling and its gradient.
std::vector<Value> decompose_pooling(Op op, std::span<const Value> operands, const PoolAttrs& attrs);

/// What a recurrent layer computes at every time.
struct RecurrentSteps {
  std::vector<Value> h, c;      // the states behind it; c of an LSTM
  std::vector<Value> products;  // the states' share of the gates, (gates, batch, hidden)
};
/// Of a recurrent layer, which also tells its steps if it is asked for them.
std::vector<Value> decompose_recurrent(std::span<const Value> operands, const RecurrentAttrs& attrs,
                                       RecurrentSteps* steps = nullptr);
/// Of its gradient. Where the steps are computed in the same graph, they are read one by one; otherwise they are cut
/// from the operands.
std::vector<Value> decompose_recurrent_backward(std::span<const Value> operands, const RecurrentAttrs& attrs,
                                                const RecurrentSteps* steps = nullptr);

/// Of every other call but attention and its gradient.
std::vector<Value> decompose_simple_call(Op op, std::span<const Value> operands, const Attrs& attrs);

}  // namespace tenon::ir
