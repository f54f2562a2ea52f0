// Images whose channels come last, on devices that convolve such images.
//
// Values keep the shapes that the program gave them, (N, C, H, W); how they lie in memory is the plan's choice. A
// convolution that the device takes is recorded anew over (N, H, W, C), and what it gives is shown to the program as a
// permutation, which is a view. Whatever is computed from it element by element, sums, pooling and padding follow: they
// are computed in the order of their operands, and the permutation is shown on top. So an image changes its order in
// memory where it comes from outside of such a chain, or is a result, and nowhere between.

#pragma once

#include <functional>
#include <vector>

#include "tenon/ir/call.h"
#include "tenon/ir/node.h"

namespace tenon::plan {

/// The outputs of the graph with all convolutions that `takes` accepts, and what follows from them, channels last.
/// Those that it does not accept stay as they are.
std::vector<ir::Value> with_channels_last(const std::vector<ir::Value>& outputs,
                                          const std::function<bool(const ir::Call&)>& takes);

}  // namespace tenon::plan
