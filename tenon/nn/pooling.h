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

struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  // the kernel's size unless given
  int64_t padding = 0, dilation = 1;
  bool ceil_mode = false;  // also windows that hang over the end, by less than a stride
};
struct MaxPool2dOptions {
  std::optional<Size2> stride = {};
  Size2 padding = 0, dilation = 1;
  bool ceil_mode = false;
};
struct MaxPool3dOptions {
  std::optional<Size3> stride = {};
  Size3 padding = 0, dilation = 1;
  bool ceil_mode = false;
};
struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};
  int64_t padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // zeros of the padding count as elements
};
struct AvgPool2dOptions {
  std::optional<Size2> stride = {};
  Size2 padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // sums are divided by it, whatever the number of elements
};
struct AvgPool3dOptions {
  std::optional<Size3> stride = {};
  Size3 padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // sums are divided by it, whatever the number of elements
};

/// The largest element of every window; its gradient goes to the first of several, as in PyTorch.
Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
Tensor max_pool2d(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options = {});
Tensor max_pool3d(const Tensor& x, Size3 kernel, const MaxPool3dOptions& options = {});
/// With where each one lies in its image, counted row by row (i64): PyTorch's return_indices.
struct MaxPooled {
  Tensor y, indices;
};
MaxPooled max_pool1d_with_indices(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
MaxPooled max_pool2d_with_indices(const Tensor& x, Size2 kernel, const MaxPool2dOptions& options = {});
MaxPooled max_pool3d_with_indices(const Tensor& x, Size3 kernel, const MaxPool3dOptions& options = {});
/// The largest elements of so many parts of the input, of nearly the same size.
Tensor adaptive_max_pool1d(const Tensor& x, int64_t output);
Tensor adaptive_max_pool2d(const Tensor& x, Size2 output);
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, int64_t output);
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, Size2 output);
/// The mean of every window.
Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& options = {});
Tensor avg_pool2d(const Tensor& x, Size2 kernel, const AvgPool2dOptions& options = {});
Tensor avg_pool3d(const Tensor& x, Size3 kernel, const AvgPool3dOptions& options = {});
/// Means over so many parts of the input, of nearly the same size.
Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output);
Tensor adaptive_avg_pool2d(const Tensor& x, Size2 output);

class MaxPool1d : public Layer {
 public:
  explicit MaxPool1d(int64_t kernel, const MaxPool1dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool1d(x, kernel_, options_); }
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool1d_with_indices(x, kernel_, options_); }

 private:
  int64_t kernel_;
  MaxPool1dOptions options_;
};

class MaxPool2d : public Layer {
 public:
  explicit MaxPool2d(Size2 kernel, const MaxPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool2d(x, kernel_, options_); }
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool2d_with_indices(x, kernel_, options_); }

 private:
  Size2 kernel_;
  MaxPool2dOptions options_;
};

class MaxPool3d : public Layer {
 public:
  explicit MaxPool3d(Size3 kernel, const MaxPool3dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return max_pool3d(x, kernel_, options_); }
  MaxPooled forward_with_indices(const Tensor& x) const { return max_pool3d_with_indices(x, kernel_, options_); }

 private:
  Size3 kernel_;
  MaxPool3dOptions options_;
};

class AvgPool1d : public Layer {
 public:
  explicit AvgPool1d(int64_t kernel, const AvgPool1dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool1d(x, kernel_, options_); }

 private:
  int64_t kernel_;
  AvgPool1dOptions options_;
};

class AvgPool2d : public Layer {
 public:
  explicit AvgPool2d(Size2 kernel, const AvgPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool2d(x, kernel_, options_); }

 private:
  Size2 kernel_;
  AvgPool2dOptions options_;
};

class AvgPool3d : public Layer {
 public:
  explicit AvgPool3d(Size3 kernel, const AvgPool3dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor forward(const Tensor& x) const override { return avg_pool3d(x, kernel_, options_); }

 private:
  Size3 kernel_;
  AvgPool3dOptions options_;
};

class AdaptiveMaxPool1d : public Layer {
 public:
  explicit AdaptiveMaxPool1d(int64_t output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_max_pool1d(x, output_); }
  MaxPooled forward_with_indices(const Tensor& x) const { return adaptive_max_pool1d_with_indices(x, output_); }

 private:
  int64_t output_;
};

class AdaptiveMaxPool2d : public Layer {
 public:
  explicit AdaptiveMaxPool2d(Size2 output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_max_pool2d(x, output_); }
  MaxPooled forward_with_indices(const Tensor& x) const { return adaptive_max_pool2d_with_indices(x, output_); }

 private:
  Size2 output_;
};

class AdaptiveAvgPool1d : public Layer {
 public:
  explicit AdaptiveAvgPool1d(int64_t output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_avg_pool1d(x, output_); }

 private:
  int64_t output_;
};

class AdaptiveAvgPool2d : public Layer {
 public:
  explicit AdaptiveAvgPool2d(Size2 output) : output_(output) {}
  Tensor forward(const Tensor& x) const override { return adaptive_avg_pool2d(x, output_); }

 private:
  Size2 output_;
};

}  // namespace tenon::nn
