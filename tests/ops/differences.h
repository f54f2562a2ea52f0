// Finite differences: the judge of gradients, which knows no rule.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tenon/tensor/tensor.h"
#include "tests/ops/rows.h"

namespace tenon::ops_test {

/// Takes leaves that require grad (those that are not floats do not) to one number.
using Function = std::function<Tensor(std::span<const Tensor>)>;

/// Numbers from -2 to 2, the same for the same seed.
Host random_host(const ir::Type& type, uint64_t seed);

/// The gradient of each argument, zeros where it plays no part; arguments that are not floats give themselves.
std::vector<Host> gradients_of(const Function& f, std::span<const Host> at, ir::DeviceId device);

/// Compares every element of every gradient with (f(x + e) - f(x - e)) / 2e. NaN elements are poison that no layout
/// shows: their gradient must be 0.
testing::AssertionResult gradient_is_slope(const Function& f, const std::vector<Host>& at, ir::DeviceId device);

/// The same for the gradient itself: all gradients, weighted at random and summed, are one more function.
testing::AssertionResult second_gradient_is_slope(const Function& f, const std::vector<Host>& at, ir::DeviceId device);

/// A sample in one layout as a function from its buffers to one number: every result times a random weight, summed. The
/// weights are arguments too, so that second derivatives run through the gradients that arrive.
Function function_of(const Sample& sample, Layout layout, DType element, ir::DeviceId device,
                     std::vector<Host>& arguments);

}  // namespace tenon::ops_test
