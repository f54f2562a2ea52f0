// DLPack: tensors of the host that other libraries (PyTorch, JAX, numpy, CuPy, ...) give and take without a copy. Both
// sides may write the memory then; share.h says who sees what.
//
//   DLManagedTensor* shown = to_dlpack(x);       // whoever takes it calls its deleter
//   const Tensor y = from_dlpack(from_others);   // y keeps it, and calls its deleter

#pragma once

#include "tenon/tensor/tensor.h"

struct DLManagedTensor;           // of DLPack's own header, which need not be there
struct DLManagedTensorVersioned;  // the same since DLPack 1

namespace tenon {

/// Computes a tensor of the cpu and shows its memory. Fails for one that requires grad.
///   DLManagedTensor* shown = to_dlpack(ones({2}, Device("cpu")));
///   Tensor y = from_dlpack(shown);
DLManagedTensor* to_dlpack(const Tensor& tensor);

/// A tensor over memory of another library's, of which it lets go when it is gone itself, or when the call fails: where
/// there is no such dtype, for strides that no view has, and for memory that may only be read.
///   Tensor y = from_dlpack(to_dlpack(ones({2}, Device("cpu"))));
Tensor from_dlpack(DLManagedTensor* managed);
Tensor from_dlpack(DLManagedTensorVersioned* managed);

/// Lets go of what nobody has taken.
void release_dlpack(DLManagedTensor* managed);
void release_dlpack(DLManagedTensorVersioned* managed);

}  // namespace tenon
