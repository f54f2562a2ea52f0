// Convolutions of groups of few channels, one channel above all (depthwise ones), each by its own loop.
//
// There is nothing to share among many results as in a product: memory is what they wait for. Neighbouring threads have
// neighbouring channels, a thread has a few pixels, and the weights of a block's channels lie in shared memory. The
// gradient of weights sums over all pixels: threads of a block take them in turn, blocks take parts of them, and both
// are added up in order.

#pragma once

#include <optional>

#include "tenon/kernels/contract_problem.h"

namespace tenon::kernels {

/// The kernels of forward convolutions and of gradients of images; none where it is a matter for a product. The
/// operands of the problem are read in the orders `windows` and `weights`.
std::optional<codegen::Module> direct_convolution(const ContractProblem& p, const ir::Limits& limits);
/// The kernels of gradients of weights.
std::optional<codegen::Module> direct_weights(const ContractProblem& p, const ir::Limits& limits);

}  // namespace tenon::kernels
