// Transforms of images: tensors (channels, height, width) of u8 from 0 to 255 or of f32, mostly from 0 to 1.
//
//   auto augment = data::compose({data::random_crop(32, 32, {.padding = 4}), data::random_horizontal_flip(),
//                                 data::to_float(), data::normalize({0.49, 0.48, 0.45}, {0.25, 0.24, 0.26})});
//   auto train = data::transformed(data::cifar10("cifar-10-batches-bin"), augment);
//
// Names and meaning are torchvision's. They work on the host, sample by sample; what they draw comes from the stream of
// the sample (random.h).

#pragma once

#include <vector>

#include "tenon/data/dataset.h"

namespace tenon::data {

/// One after the other.
///   const data::Transform both = data::compose({data::to_float(), data::center_crop(4, 4)});
///   data::Random chance(7, 0, 0);
///   both(zeros({3, 8, 8}, uint8), chance).shape();  // (3, 4, 4)
Transform compose(std::vector<Transform> transforms);

/// u8 from 0 to 255 to f32 from 0 to 1; f32 stays as it is.
///   data::Random chance(7, 0, 0);
///   data::to_float()(tensor({{{0, 255}}}).to(uint8), chance);  // [[[0. 1.]]]
Transform to_float();

/// (x - mean) / deviation of an f32 image, for each channel; one number serves all channels.
///   data::Random chance(7, 0, 0);
///   data::normalize({0.5}, {0.25})(tensor({{{0.0, 1.0}}}), chance);  // [[[-2. 2.]]]
Transform normalize(std::vector<double> mean, std::vector<double> deviation);

/// What surrounds the picture before it is cropped.
struct CropOptions {
  int64_t padding = 0;  // pixels on each side, before the crop is chosen
  double fill = 0;      // of which value
};
/// A part of this size, anywhere in the padded image.
///   data::Random chance(7, 0, 0);
///   data::random_crop(8, 8, {.padding = 2})(zeros({3, 8, 8}), chance).shape();  // (3, 8, 8)
Transform random_crop(int64_t height, int64_t width, const CropOptions& options = {});
/// The part of this size in the middle.
///   data::Random chance(7, 0, 0);
///   data::center_crop(4, 4)(zeros({3, 8, 8}), chance).shape();  // (3, 4, 4)
Transform center_crop(int64_t height, int64_t width);

/// Left and right changed over, with this probability.
///   data::Random chance(7, 0, 0);
///   data::random_horizontal_flip(1)(tensor({{{1.0, 2.0}}}), chance);  // [[[2. 1.]]]
Transform random_horizontal_flip(double probability = 0.5);

/// Which pixels a pixel of the new size is made of: the nearest, or the four around it.
enum class Interpolation { kNearest, kBilinear };
/// Another size, as PyTorch's interpolate with align_corners=False and without antialias. u8 is rounded to nearest.
///   data::Random chance(7, 0, 0);
///   data::resize(4, 6)(zeros({3, 8, 8}), chance).shape();  // (3, 4, 6)
Transform resize(int64_t height, int64_t width, Interpolation interpolation = Interpolation::kBilinear);
/// Another size, whose shorter side is this one and whose sides keep their ratio. What a pixel of a smaller picture
/// stands for is averaged: PyTorch's antialias=True.
///   data::Random chance(7, 0, 0);
///   data::resize_shorter(4)(zeros({3, 8, 16}), chance).shape();  // (3, 4, 8)
Transform resize_shorter(int64_t side);

/// Between which limits the part is chosen.
struct ResizedCropOptions {
  double least_area = 0.08, most_area = 1;             // share of the picture
  double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;  // of width to height
};
/// A part of chance area and ratio, anywhere in the picture, in this size; smaller ones averaged as by resize_shorter.
///   data::Random chance(7, 0, 0);
///   data::random_resized_crop(4, 4)(zeros({3, 8, 8}), chance).shape();  // (3, 4, 4)
Transform random_resized_crop(int64_t height, int64_t width, const ResizedCropOptions& options = {});

}  // namespace tenon::data
