#include "tenon/train/augment.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::train {

// Windows of the padded images: where each begins is drawn, and its pixels are gathered.
Tensor shifted_at_random(const Tensor& images, int64_t most) {
  const int64_t batch = images.size(0), channels = images.size(1), height = images.size(2), width = images.size(3);
  const int64_t padded_height = height + 2 * most, padded_width = width + 2 * most;
  const Options whole(DType::i32, images.device());
  const auto places = [&](int64_t size) {  // (batch, size)
    return randint(0, 2 * most + 1, {batch, 1}, whole) + arange(size, whole);
  };
  Tensor index = places(height).unsqueeze(2) * padded_width + places(width).unsqueeze(1);
  set_known_range(index, 0, padded_height * padded_width - 1, false);
  index = index.reshape({batch, 1, height * width}).expand({batch, channels, height * width});
  const Tensor padded = pad(images, {most, most, most, most}).reshape({batch, channels, padded_height * padded_width});
  return gather(padded, 2, index).reshape(images.shape());
}

Tensor flipped_at_random(const Tensor& images) {
  const Tensor chance = rand({images.size(0), 1, 1, 1}, Options(DType::f32, images.device()));
  return where(chance < 0.5, flip(images, {3}), images);
}

}  // namespace tenon::train
