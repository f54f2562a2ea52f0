// Memory that a tensor shares with the program around it: arrays of numpy, tensors of other libraries.
//
// Whoever holds such memory may read and write it. What Tenon writes there (x.add_(1), x[0] = 2) is written before the
// call returns, and values recorded before it keep what they were recorded with. What others write is seen by
// everything that is computed afterwards: by ops recorded later, and by those recorded earlier that nobody has computed
// yet; wait() settles these first.

#pragma once

#include <memory>
#include <optional>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// Where the first element lies, strides() apart from the others, and what keeps the memory.
struct SharedMemory {
  std::byte* address = nullptr;
  std::shared_ptr<const void> owner;
};

/// Computes a tensor and shares its memory from now on. Fails where the host cannot address it.
SharedMemory share_memory(const Tensor& tensor);

/// A tensor over memory of others, which `owner` keeps; on the device of the options, which must work on host memory.
/// Nothing is copied or read.
Tensor over_shared_memory(std::byte* address, std::shared_ptr<const void> owner, const Dims& shape,
                          const Options& options);

/// The same for elements that lie `strides` apart along each dim, none of them twice, from `first` on: rows of a
/// picture that end with padding, say. Nothing where no view of memory has these strides.
std::optional<Tensor> over_strided_memory(std::byte* first, std::shared_ptr<const void> owner, const Dims& shape,
                                          const Dims& strides, const Options& options);

bool is_shared(const Tensor& tensor);

/// What the tensor holds now, in a tensor of its own: what is written to the one is not seen by the other.
Tensor as_of_now(const Tensor& tensor);

}  // namespace tenon
