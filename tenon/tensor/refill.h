// Host data that changes from call to call, sent into memory that is there already.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon {

/// The same as `tensor = from_bytes(bytes, its shape, its dtype and device)`. Where nobody else holds the tensor or
/// anything that reads it, its memory is used again and nothing is allocated.
void refill(Tensor& tensor, std::span<const std::byte> bytes);

}  // namespace tenon
