// Convolutions over one, two and three axes, as functions and as layers, with PyTorch's layouts: images are (batch,
// channels, height, width) or (channels, height, width), weights (out, in / groups, height, width); volumes have a
// depth before the height.
//
//   nn::Conv2d conv(3, 64, 7, {.stride = 2, .padding = 3, .bias = false});
//   nn::Conv2d wide(64, 64, {3, 5}, {.padding = "same"});
//   Tensor y = wide(conv(images));

#pragma once

#include <concepts>
#include <string_view>

#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// One number for both axes, or {height, width}.
///   nn::Size2 size = {3, 5};
struct Size2 {
  int64_t height, width;  // of an image, or along it
  template <std::integral T>
  Size2(T both) : height(static_cast<int64_t>(both)), width(height) {}  // NOLINT: a number is the usual size
  Size2(int64_t h, int64_t w) : height(h), width(w) {}
  bool operator==(const Size2&) const = default;
};

/// Zeros on each side: a number, {height, width}, "valid" for none, or "same" for as many as keep the size.
///   nn::Conv2dOptions options = {.padding = "same"};
struct Padding {
  Size2 sides = 0;    // zeros on each side
  bool same = false;  // as many as keep the size
  Padding() = default;
  template <std::integral T>
  Padding(T both) : sides(both) {}      // NOLINT
  Padding(Size2 each) : sides(each) {}  // NOLINT
  Padding(int64_t height, int64_t width) : sides(height, width) {}
  Padding(std::string_view word);                                 // NOLINT
  Padding(const char* word) : Padding(std::string_view(word)) {}  // NOLINT
};

/// One number for all three axes, or {depth, height, width}.
///   nn::Size3 size = {3, 5, 5};
struct Size3 {
  int64_t depth, height, width;  // of a volume, or along it
  template <std::integral T>
  Size3(T all) : depth(static_cast<int64_t>(all)), height(depth), width(depth) {}  // NOLINT: a number is the usual size
  Size3(int64_t d, int64_t h, int64_t w) : depth(d), height(h), width(w) {}
  bool operator==(const Size3&) const = default;
};

/// Padding of volumes.
///   nn::Conv3dOptions options = {.padding = 1};
struct Padding3 {
  Size3 sides = 0;
  bool same = false;
  Padding3() = default;
  template <std::integral T>
  Padding3(T all) : sides(all) {}        // NOLINT
  Padding3(Size3 each) : sides(each) {}  // NOLINT
  Padding3(int64_t depth, int64_t height, int64_t width) : sides(depth, height, width) {}
  Padding3(std::string_view word) : same(Padding(word).same) {}     // NOLINT
  Padding3(const char* word) : Padding3(std::string_view(word)) {}  // NOLINT
};

/// How a convolution over one axis goes through its input, and what its layer has.
struct Conv1dOptions {
  int64_t stride = 1;    // elements between two windows
  Padding padding = 0;   // zeros before the first element and after the last
  int64_t dilation = 1;  // elements between two of a window
  int64_t groups = 1;    // channels are divided among so many, each with weights of its own
  bool bias = true;      // of the layer
  Options options = {};  // of the layer's parameters
};
/// The same over two axes.
struct Conv2dOptions {
  Size2 stride = 1;
  Padding padding = 0;
  Size2 dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Options options = {};
};
/// The same over three axes.
struct Conv3dOptions {
  Size3 stride = 1;
  Padding3 padding = 0;
  Size3 dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Options options = {};
};
/// The convolution over one axis whose gradient this is, and what its layer has.
struct ConvTranspose1dOptions {
  int64_t stride = 1, padding = 0;
  int64_t output_padding = 0;  // sizes that a convolution would round down to the same: which of them is meant
  int64_t groups = 1, dilation = 1;
  bool bias = true;
  Options options = {};
};
/// The same over two axes.
struct ConvTranspose2dOptions {
  Size2 stride = 1, padding = 0, output_padding = 0;
  int64_t groups = 1;
  Size2 dilation = 1;
  bool bias = true;
  Options options = {};
};
/// The same over three axes.
struct ConvTranspose3dOptions {
  Size3 stride = 1, padding = 0, output_padding = 0;
  int64_t groups = 1;
  Size3 dilation = 1;
  bool bias = true;
  Options options = {};
};

/// x (N, C, L) with weight (O, C / groups, K) and bias (O).
///   nn::conv1d(tensor({{1.0, 2.0, 3.0}}), ones({1, 1, 2}));  // [[3. 5.]]
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(), const Conv1dOptions& options = {});
/// x (N, C, H, W) with weight (O, C / groups, KH, KW) and bias (O).
///   nn::conv2d(images, ones({4, 3, 3, 3}), {}, {.padding = 1}).shape();  // (2, 4, 8, 8)
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(), const Conv2dOptions& options = {});
/// x (N, C, D, H, W) with weight (O, C / groups, KD, KH, KW) and bias (O).
///   nn::conv3d(ones({1, 2, 4, 4, 4}), ones({5, 2, 3, 3, 3})).shape();  // (1, 5, 2, 2, 2)
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(), const Conv3dOptions& options = {});
/// The gradient of conv1d with respect to its input, as a layer of its own: weight is (C, O / groups, K).
///   nn::conv_transpose1d(tensor({{1.0, 2.0}}), ones({1, 1, 2}));  // [[1. 3. 2.]]
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(),
                        const ConvTranspose1dOptions& options = {});
/// The same of conv2d: weight is (C, O / groups, KH, KW).
///   nn::conv_transpose2d(images, ones({3, 4, 2, 2}), {}, {.stride = 2}).shape();  // (2, 4, 16, 16)
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(),
                        const ConvTranspose2dOptions& options = {});
/// And of conv3d: weight is (C, O / groups, KD, KH, KW).
///   nn::conv_transpose3d(ones({1, 2, 2, 2, 2}), ones({2, 5, 2, 2, 2})).shape();  // (1, 5, 3, 3, 3)
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor(),
                        const ConvTranspose3dOptions& options = {});

/// conv1d() with a weight and a bias of its own: (batch, in, length) to (batch, out, length').
///   nn::Conv1d(3, 8, 5, {.padding = 2})(ones({2, 3, 10})).shape();  // (2, 8, 10)
class Conv1d : public Layer {
 public:
  Conv1d(int64_t in, int64_t out, int64_t kernel, const Conv1dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;  // (out, in / groups, kernel) and (out), undefined without one

 private:
  Conv1dOptions options_;
};

/// The same of images: (batch, in, height, width) to (batch, out, height', width').
///   nn::Conv2d(3, 8, 3, {.padding = 1})(images).shape();  // (2, 8, 8, 8)
class Conv2d : public Layer {
 public:
  Conv2d(int64_t in, int64_t out, Size2 kernel, const Conv2dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;

 private:
  Conv2dOptions options_;
};

/// The same of volumes: (batch, in, depth, height, width).
///   nn::Conv3d(2, 5, 3)(ones({1, 2, 4, 4, 4})).shape();  // (1, 5, 2, 2, 2)
class Conv3d : public Layer {
 public:
  Conv3d(int64_t in, int64_t out, Size3 kernel, const Conv3dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;

 private:
  Conv3dOptions options_;
};

/// conv_transpose1d() with a weight and a bias of its own.
///   nn::ConvTranspose1d(3, 8, 2, {.stride = 2})(ones({2, 3, 10})).shape();  // (2, 8, 20)
class ConvTranspose1d : public Layer {
 public:
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, const ConvTranspose1dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;  // (in, out / groups, kernel) and (out), undefined without one

 private:
  ConvTranspose1dOptions options_;
};

/// The same of images.
///   nn::ConvTranspose2d(3, 8, 2, {.stride = 2})(images).shape();  // (2, 8, 16, 16)
class ConvTranspose2d : public Layer {
 public:
  ConvTranspose2d(int64_t in, int64_t out, Size2 kernel, const ConvTranspose2dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;

 private:
  ConvTranspose2dOptions options_;
};

/// The same of volumes.
///   nn::ConvTranspose3d(2, 5, 2)(ones({1, 2, 2, 2, 2})).shape();  // (1, 5, 3, 3, 3)
class ConvTranspose3d : public Layer {
 public:
  ConvTranspose3d(int64_t in, int64_t out, Size3 kernel, const ConvTranspose3dOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  Tensor weight, bias;

 private:
  ConvTranspose3dOptions options_;
};

}  // namespace tenon::nn
