// Chance for training images, as tensor code: it is recorded with the step and runs on its device, and every image of a
// batch draws for itself.

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon::train {

/// Images (batch, channels, height, width), each moved by up to `most` pixels along both axes; zeros move in.
Tensor shifted_at_random(const Tensor& images, int64_t most);

/// Every other image, by chance, turned left to right.
Tensor flipped_at_random(const Tensor& images);

}  // namespace tenon::train
