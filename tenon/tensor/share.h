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
  std::byte* address = nullptr;       // of the first element
  std::shared_ptr<const void> owner;  // keeps the memory while it lives
};

/// Computes a tensor and shares its memory from now on. Fails where the host cannot address it.
///   Tensor y = ones({4}, Device("cpu"));
///   SharedMemory memory = share_memory(y);
///   reinterpret_cast<float*>(memory.address)[0] = 5;
SharedMemory share_memory(const Tensor& tensor);

/// A tensor over memory of others, which `owner` keeps; on the device of the options, which must work on host memory.
/// Nothing is copied or read.
///   auto values = std::make_shared<std::vector<float>>(4, 1.0f);
///   auto first = reinterpret_cast<std::byte*>(values->data());
///   Tensor y = over_shared_memory(first, values, {4}, Options(float32, Device("cpu")));
Tensor over_shared_memory(std::byte* address, std::shared_ptr<const void> owner, const Dims& shape,
                          const Options& options);

/// The same for elements that lie `strides` apart along each dim, none of them twice, from `first` on: rows of a
/// picture that end with padding, say. Nothing where no view of memory has these strides.
///   auto values = std::make_shared<std::vector<float>>(8, 1.0f);
///   auto first = reinterpret_cast<std::byte*>(values->data());
///   auto y = over_strided_memory(first, values, {2, 3}, {4, 1}, Options(float32, Device("cpu")));
std::optional<Tensor> over_strided_memory(std::byte* first, std::shared_ptr<const void> owner, const Dims& shape,
                                          const Dims& strides, const Options& options);

/// Whether its memory is shared with others.
///   is_shared(ones({2}));  // false
bool is_shared(const Tensor& tensor);

/// What the tensor holds now, in a tensor of its own: what is written to the one is not seen by the other.
///   Tensor before = as_of_now(x);
Tensor as_of_now(const Tensor& tensor);

}  // namespace tenon
