// What the memory of tensors holds, for profiles: whoever gives a tensor its part says so.

#pragma once

#include "tenon/device/timeline.h"
#include "tenon/tensor/tensor.h"

namespace tenon {

/// Profiles count the memory of a tensor here from now on, whatever is written there; nothing where it has none yet.
void hold_as(const Tensor& tensor, device::Holder holder);

}  // namespace tenon
