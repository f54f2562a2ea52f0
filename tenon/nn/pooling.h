// Pooling of sequences (batch, channels, length), images (batch, channels, height, width) and volumes (batch, channels,
// depth, height, width), with or without the batch.
//
//   nn::Sequential net;
//   net.emplace<nn::Conv2d>(1, 32, 3, nn::Conv2dOptions{.padding = 1});
//   net.emplace<nn::ReLU>();
//   net.emplace<nn::MaxPool2d>(2);
//   net.emplace<nn::Flatten>();

#pragma once

#include <optional>
#include <string>

#include "tenon/nn/convolution.h"

namespace tenon::nn {

/// How the windows of max pooling lie on a sequence.
struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  // the kernel's size unless given
  /// Elements before the first and after the last, which never win; elements between two of a window.
  int64_t padding = 0, dilation = 1;
  bool ceil_mode = false;  // also windows that hang over the end, by less than a stride
};
/// The same on an image.
struct MaxPool2dOptions {
  std::optional<Size2> stride = {};
  Size2 padding = 0, dilation = 1;
  bool ceil_mode = false;
};
/// The same on a volume.
struct MaxPool3dOptions {
  std::optional<Size3> stride = {};
  Size3 padding = 0, dilation = 1;
  bool ceil_mode = false;
};
/// How the windows of average pooling lie on a sequence.
struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};
  int64_t padding = 0;  // zeros before the first element and after the last
  bool ceil_mode = false;
  bool count_include_pad = true;  // zeros of the padding count as elements
};
/// The same on an image.
struct AvgPool2dOptions {
  std::optional<Size2> stride = {};
  Size2 padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // sums are divided by it, whatever the number of elements
};
/// The same on a volume.
struct AvgPool3dOptions {
  std::optional<Size3> stride = {};
  Size3 padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // sums are divided by it, whatever the number of elements
};

/// The largest element of every window; its gradient goes to the first of several, as in PyTorch.
///   nn::max_pool1d(tensor({{1.0, 3.0, 2.0, 4.0}}), 2);  // [[3. 4.]]
Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
Tensor max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options = {});
Tensor max_pool3d(const Tensor& x, Size3 kernel, const MaxPool3dOptions& options = {});
/// With where each one lies in its image, counted row by row (i64): PyTorch's return_indices.
struct MaxPooled {
  Tensor y, indices;  // the elements, and their places
};
/// The pools above with the places of what they found.
///   nn::max_pool1d_with_indices(tensor({{1.0, 3.0, 2.0, 4.0}}), 2).indices;  // [[1 3]]
MaxPooled max_pool1d_with_indices(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
MaxPooled max_pool2d_with_indices(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options = {});
MaxPooled max_pool3d_with_indices(const Tensor& x, Size3 kernel, const MaxPool3dOptions& options = {});
/// The largest elements of so many parts of the input, of nearly the same size.
///   nn::adaptive_max_pool2d(images, 2).shape();  // (2, 3, 2, 2)
Tensor adaptive_max_pool1d(const Tensor& x, int64_t output);
Tensor adaptive_max_pool2d(const Tensor& x, Size2 output);
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, int64_t output);
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, Size2 output);
/// The mean of every window.
///   nn::avg_pool1d(tensor({{1.0, 3.0, 2.0, 4.0}}), 2);  // [[2. 3.]]
Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& options = {});
Tensor avg_pool2d(const Tensor& x, Size2 kernel, const AvgPool2dOptions& options = {});
Tensor avg_pool3d(const Tensor& x, Size3 kernel, const AvgPool3dOptions& options = {});
/// Means over so many parts of the input, of nearly the same size.
///   nn::adaptive_avg_pool2d(images, 1).shape();  // (2, 3, 1, 1)
Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output);
Tensor adaptive_avg_pool2d(const Tensor& x, Size2 output);

/// max_pool1d() as a layer.
///   nn::MaxPool1d(2)(ones({1, 2, 6})).shape();  // (1, 2, 3)
class MaxPool1d : public Layer {
 public:
  explicit MaxPool1d(int64_t kernel, const MaxPool1dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool1d(x, kernel_, options_); }
  /// The same with the places of what was found.
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool1d_with_indices(x, kernel_, options_); }

 private:
  int64_t kernel_;
  MaxPool1dOptions options_;
};

/// max_pool2d() as a layer.
///   nn::MaxPool2d(2)(images).shape();  // (2, 3, 4, 4)
class MaxPool2d : public Layer {
 public:
  explicit MaxPool2d(Size2 kernel, const MaxPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool2d(x, kernel_, options_); }
  /// The same with the places of what was found.
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool2d_with_indices(x, kernel_, options_); }

 private:
  Size2 kernel_;
  MaxPool2dOptions options_;
};

/// max_pool3d() as a layer.
///   nn::MaxPool3d(2)(ones({1, 1, 4, 4, 4})).shape();  // (1, 1, 2, 2, 2)
class MaxPool3d : public Layer {
 public:
  explicit MaxPool3d(Size3 kernel, const MaxPool3dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool3d(x, kernel_, options_); }
  /// The same with the places of what was found.
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool3d_with_indices(x, kernel_, options_); }

 private:
  Size3 kernel_;
  MaxPool3dOptions options_;
};

/// avg_pool1d() as a layer.
///   nn::AvgPool1d(2)(ones({1, 2, 6})).shape();  // (1, 2, 3)
class AvgPool1d : public Layer {
 public:
  explicit AvgPool1d(int64_t kernel, const AvgPool1dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool1d(x, kernel_, options_); }

 private:
  int64_t kernel_;
  AvgPool1dOptions options_;
};

/// avg_pool2d() as a layer.
///   nn::AvgPool2d(2)(images).shape();  // (2, 3, 4, 4)
class AvgPool2d : public Layer {
 public:
  explicit AvgPool2d(Size2 kernel, const AvgPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool2d(x, kernel_, options_); }

 private:
  Size2 kernel_;
  AvgPool2dOptions options_;
};

/// avg_pool3d() as a layer.
///   nn::AvgPool3d(2)(ones({1, 1, 4, 4, 4})).shape();  // (1, 1, 2, 2, 2)
class AvgPool3d : public Layer {
 public:
  explicit AvgPool3d(Size3 kernel, const AvgPool3dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool3d(x, kernel_, options_); }

 private:
  Size3 kernel_;
  AvgPool3dOptions options_;
};

/// adaptive_max_pool1d() as a layer.
///   nn::AdaptiveMaxPool1d(3)(ones({1, 2, 6})).shape();  // (1, 2, 3)
class AdaptiveMaxPool1d : public Layer {
 public:
  explicit AdaptiveMaxPool1d(int64_t output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_max_pool1d(x, output_); }
  /// The same with the places of what was found.
  MaxPooled forward_with_indices(const Tensor& x) const { return adaptive_max_pool1d_with_indices(x, output_); }

 private:
  int64_t output_;
};

/// adaptive_max_pool2d() as a layer.
///   nn::AdaptiveMaxPool2d(2)(images).shape();  // (2, 3, 2, 2)
class AdaptiveMaxPool2d : public Layer {
 public:
  explicit AdaptiveMaxPool2d(Size2 output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_max_pool2d(x, output_); }
  /// The same with the places of what was found.
  MaxPooled forward_with_indices(const Tensor& x) const { return adaptive_max_pool2d_with_indices(x, output_); }

 private:
  Size2 output_;
};

/// adaptive_avg_pool1d() as a layer.
///   nn::AdaptiveAvgPool1d(3)(ones({1, 2, 6})).shape();  // (1, 2, 3)
class AdaptiveAvgPool1d : public Layer {
 public:
  explicit AdaptiveAvgPool1d(int64_t output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_avg_pool1d(x, output_); }

 private:
  int64_t output_;
};

/// adaptive_avg_pool2d() as a layer.
///   nn::AdaptiveAvgPool2d(1)(images).shape();  // (2, 3, 1, 1)
class AdaptiveAvgPool2d : public Layer {
 public:
  explicit AdaptiveAvgPool2d(Size2 output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_avg_pool2d(x, output_); }

 private:
  Size2 output_;
};

}  // namespace tenon::nn
