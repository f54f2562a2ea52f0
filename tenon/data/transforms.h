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
Transform compose(std::vector<Transform> transforms);

/// u8 from 0 to 255 to f32 from 0 to 1; f32 stays as it is.
Transform to_float();

/// (x - mean) / deviation of an f32 image, for each channel; one number serves all channels.
Transform normalize(std::vector<double> mean, std::vector<double> deviation);

struct CropOptions {
  int64_t padding = 0;  // pixels on each side, before the crop is chosen
  double fill = 0;      // of which value
};
/// A part of this size, anywhere in the padded image.
Transform random_crop(int64_t height, int64_t width, const CropOptions& options = {});
/// The part of this size in the middle.
Transform center_crop(int64_t height, int64_t width);

/// Left and right changed over, with this probability.
Transform random_horizontal_flip(double probability = 0.5);

enum class Interpolation { kNearest, kBilinear };
/// Another size, as PyTorch's interpolate with align_corners=False and without antialias. u8 is rounded to nearest.
Transform resize(int64_t height, int64_t width, Interpolation interpolation = Interpolation::kBilinear);
/// Another size, whose shorter side is this one and whose sides keep their ratio. What a pixel of a smaller picture
/// stands for is averaged: PyTorch's antialias=True.
Transform resize_shorter(int64_t side);

struct ResizedCropOptions {
  double least_area = 0.08, most_area = 1;             // share of the picture
  double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;  // of width to height
};
/// A part of chance area and ratio, anywhere in the picture, in this size; smaller ones averaged as by resize_shorter.
Transform random_resized_crop(int64_t height, int64_t width, const ResizedCropOptions& options = {});

}  // namespace tenon::data
