// The three sides of a convolution whose channels come last, for devices without a library of them: products of the
// windows of images, of which no memory holds more than the images themselves.
//
// As for other products, the bits follow from sizes, dtypes and the device's limits; sums are taken in the order of the
// taps, each with its channels, in the parts of contract.h.

#pragma once

#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// Whether there are kernels for it; others are planned as products of windows that lie in memory.
bool takes_convolution(const ir::Call& call);

codegen::Module lower_convolution(const ir::Call& call, const ir::Limits& limits);
/// Tiles, as for products.
std::vector<ir::Way> convolution_ways(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
