// Functions of images that arrange their pixels or read them at other places, as torch.nn.functional has them.

#pragma once

#include <string_view>

#include "tenon/tensor/ops.h"

namespace tenon::nn {

/// More elements before and after, last dim first; negative sizes cut. mode: "constant", or what lies inside: "reflect"
/// mirrored, "replicate" its outermost elements, "circular" from the other side.
///   nn::pad(tensor({{1, 2}}), {1, 1}, "constant", 0);  // [[0 1 2 0]]
Tensor pad(const Tensor& x, const Dims& sizes, std::string_view mode = "constant", Number value = 0.0);

/// How windows lie on an image: one number for both dims, or one for each.
struct WindowOptions {
  /// Elements between two of a window, zeros around the image, elements between two windows.
  Dims dilation{1}, padding{0}, stride{1};
};
/// All windows of (batch, channels, height, width), or of (channels, height, width), as columns: (batch, channels *
/// window, windows).
///   nn::unfold(ones({1, 2, 4, 4}), {2}).shape();  // (1, 8, 9)
Tensor unfold(const Tensor& x, const Dims& kernel_size, const WindowOptions& options = {});
/// Sums columns of windows, as unfold() makes them, into an image.
///   nn::fold(ones({1, 8, 9}), {4}, {2}).shape();  // (1, 2, 4, 4)
Tensor fold(const Tensor& x, const Dims& output_size, const Dims& kernel_size, const WindowOptions& options = {});

/// Channels become pixels: (..., channels * r * r, height, width) to (..., channels, height * r, width * r).
///   nn::pixel_shuffle(ones({1, 4, 2, 2}), 2).shape();  // (1, 1, 4, 4)
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
/// Pixels become channels, the other way round.
///   nn::pixel_unshuffle(ones({1, 1, 4, 4}), 2).shape();  // (1, 4, 2, 2)
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);

/// The places, from -1 to 1, that grid_sample() reads for images of a size (batch, channels, height, width) moved by
/// matrices (batch, 2, 3). align_corners: -1 and 1 are the middles of the outermost pixels, else their outer edges.
///   nn::affine_grid(tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}), {1, 3, 8, 8}).shape();  // (1, 8, 8, 2)
Tensor affine_grid(const Tensor& theta, const Dims& size, bool align_corners = false);

/// x / (k + alpha * mean of the squares of so many neighbouring channels) ^ beta; Krizhevsky et al., 2012.
///   nn::local_response_norm(images, 3).shape();  // (2, 3, 8, 8)
Tensor local_response_norm(const Tensor& x, int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);
/// x divided by its p-norm along a dim.
///   nn::normalize(tensor({{3.0, 4.0}}));  // [[0.6 0.8]]
Tensor normalize(const Tensor& x, double p = 2, int64_t dim = 1, double eps = 1e-12);

}  // namespace tenon::nn
