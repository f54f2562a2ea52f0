// Indexing without tensors: positions, slices, NewAxis and Ellipsis, all in one view.

#pragma once

#include <span>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// x through these entries, which stand for at most as many dims as x has. It makes one view where a view for each
/// entry would cost several times as much.
Tensor viewed_through(const Tensor& x, std::span<const IndexEntry> entries);

}  // namespace tenon
