// Elements that are computed and lie where the host reads them: nothing is planned, sent or waited for.

#pragma once

#include <cstddef>
#include <span>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// Copies the elements in row-major order, in the tensor's dtype, if they are there; else gives false.
bool read_at_once(const Tensor& tensor, std::span<std::byte> to);

}  // namespace tenon
