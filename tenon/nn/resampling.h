// Sequences, images and volumes in another size, and images read at places of one's own.

#pragma once

#include <concepts>
#include <type_traits>
#include <vector>

#include "tenon/nn/convolution.h"

namespace tenon::nn {

/// A number for all axes, or one for each: {height, width}, {depth, height, width}.
///   nn::UpsampleOptions options = {.size = nn::Size2(16, 24)};
template <typename T>
class PerAxis {
 public:
  PerAxis() = default;
  template <typename N>
  requires std::is_arithmetic_v<N> PerAxis(N all) : each_{static_cast<T>(all)} {}  // NOLINT: a number is the usual size
  PerAxis(Size2 size) requires std::same_as<T, int64_t> : each_{size.height, size.width} {}              // NOLINT
  PerAxis(Size3 size) requires std::same_as<T, int64_t> : each_{size.depth, size.height, size.width} {}  // NOLINT
  PerAxis(std::vector<T> each) : each_(std::move(each)) {}                                               // NOLINT

  /// Whether nothing was given; how many numbers were; that of an axis.
  bool empty() const { return each_.empty(); }
  size_t count() const { return each_.size(); }
  T of(size_t axis) const { return each_[each_.size() == 1 ? 0 : axis]; }

 private:
  std::vector<T> each_;
};

/// Between elements: `linear` of sequences, `bilinear` and `bicubic` of images, `trilinear` of volumes. `nearest`
/// takes the element in front of a place, `nearest_exact` the one whose middle is nearest. `area` averages.
enum class Resample : uint8_t { nearest, nearest_exact, linear, bilinear, trilinear, bicubic, area };

/// Which size, and where its elements come from.
struct UpsampleOptions {
  PerAxis<int64_t> size = {};         // either this ...
  PerAxis<double> scale = {};         // ... or this
  Resample mode = Resample::nearest;  // how elements between those of the input are found
  bool align_corners = false;         // between elements: the corners of both images lie on each other
  bool recompute_scale = false;       // elements come from where the sizes say, not the scale
  bool antialias = false;             // bilinear and bicubic: what makes an image smaller averages what it leaves out
};
/// The size of UpsamplingNearest2d and UpsamplingBilinear2d, or the scale.
struct Upsampling2dOptions {
  PerAxis<int64_t> size = {};  // either this ...
  PerAxis<double> scale = {};  // ... or this
};
/// (batch, channels, length), (batch, channels, height, width) or (batch, channels, depth, height, width) in another
/// size. A scale that is given says where elements come from, not the sizes: PyTorch's interpolate without
/// recompute_scale_factor. Linear interpolation leaves an axis whose size stays as it is.
///   nn::interpolate(images, {.scale = 2}).shape();  // (2, 3, 16, 16)
Tensor interpolate(const Tensor& x, const UpsampleOptions& options);

/// What grid_sample() reads between pixels, and outside.
struct GridSampleOptions {
  Resample mode = Resample::bilinear;  // or nearest
  bool border = false;                 // what lies outside is the nearest pixel of the border, not 0
  bool align_corners = false;          // -1 and 1 are the middles of the outermost pixels, not their outer edges
};
/// Images (batch, channels, height, width) read at places (batch, rows, columns, 2), x before y, from -1 to 1.
///   nn::grid_sample(images, zeros({2, 4, 4, 2})).shape();  // (2, 3, 4, 4)
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {});

/// interpolate() as a layer.
///   nn::Upsample({.scale = 2})(images).shape();  // (2, 3, 16, 16)
class Upsample : public Layer {
 public:
  explicit Upsample(const UpsampleOptions& options) : options_(options) {}
  Tensor forward(const Tensor& x) const override { return interpolate(x, options_); }

 private:
  UpsampleOptions options_;
};

/// Images in another size, each pixel that of the nearest place: a size, or a scale as {.scale = 2}.
///   nn::UpsamplingNearest2d({.scale = 2})(images).shape();  // (2, 3, 16, 16)
class UpsamplingNearest2d : public Upsample {
 public:
  explicit UpsamplingNearest2d(const Upsampling2dOptions& options) : Upsample({options.size, options.scale}) {}
};

/// Images in another size, between the pixels, whose outermost ones stay where they are.
///   nn::UpsamplingBilinear2d({.size = nn::Size2(16, 24)})(images).shape();  // (2, 3, 16, 24)
class UpsamplingBilinear2d : public Upsample {
 public:
  explicit UpsamplingBilinear2d(const Upsampling2dOptions& options)
      : Upsample({options.size, options.scale, Resample::bilinear, true}) {}
};

}  // namespace tenon::nn
