// Layers that arrange the elements of sequences, images and volumes; their arithmetic is that of images.h.
//
//   nn::Sequential net;
//   net.emplace<nn::ReflectionPad2d>(1);
//   net.emplace<nn::Conv2d>(3, 12, 3);
//   net.emplace<nn::PixelShuffle>(2);

#pragma once

#include <string>

#include "tenon/nn/images.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

/// What the pads share: so many elements before and after, last dim first, or one number for all sides.
class Pad : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;

 protected:
  Pad(int64_t dims, Dims sizes, std::string mode, double value = 0);

 private:
  int64_t dims_;
  Dims sizes_;
  std::string mode_;
  double value_;
};

#define TENON_PAD(Name, dims, mode)                                    \
  class Name : public Pad {                                            \
   public:                                                             \
    explicit Name(int64_t size) : Pad(dims, Dims{size}, mode) {}        \
    explicit Name(const Dims& sizes) : Pad(dims, sizes, mode) {}        \
  };
TENON_PAD(ZeroPad1d, 1, "constant")
TENON_PAD(ZeroPad2d, 2, "constant")
TENON_PAD(ZeroPad3d, 3, "constant")
TENON_PAD(ReflectionPad1d, 1, "reflect")
TENON_PAD(ReflectionPad2d, 2, "reflect")
TENON_PAD(ReflectionPad3d, 3, "reflect")
TENON_PAD(ReplicationPad1d, 1, "replicate")
TENON_PAD(ReplicationPad2d, 2, "replicate")
TENON_PAD(ReplicationPad3d, 3, "replicate")
TENON_PAD(CircularPad1d, 1, "circular")
TENON_PAD(CircularPad2d, 2, "circular")
TENON_PAD(CircularPad3d, 3, "circular")
#undef TENON_PAD

#define TENON_PAD(Name, dims)                                                                         \
  class Name : public Pad {                                                                           \
   public:                                                                                            \
    Name(int64_t size, double value) : Pad(dims, Dims{size}, "constant", value) {}                     \
    Name(const Dims& sizes, double value) : Pad(dims, sizes, "constant", value) {}                     \
  };
TENON_PAD(ConstantPad1d, 1)
TENON_PAD(ConstantPad2d, 2)
TENON_PAD(ConstantPad3d, 3)
#undef TENON_PAD

class PixelShuffle : public Layer {
 public:
  explicit PixelShuffle(int64_t upscale_factor) : factor_(upscale_factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

class PixelUnshuffle : public Layer {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor) : factor_(downscale_factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

class ChannelShuffle : public Layer {
 public:
  explicit ChannelShuffle(int64_t groups) : groups_(groups) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t groups_;
};

/// All windows of images as columns.
class Unfold : public Layer {
 public:
  explicit Unfold(Dims kernel_size, WindowOptions options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Dims kernel_size_;
  WindowOptions options_;
};

/// Columns of windows summed into images of this size.
class Fold : public Layer {
 public:
  Fold(Dims output_size, Dims kernel_size, WindowOptions options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Dims output_size_, kernel_size_;
  WindowOptions options_;
};

}  // namespace tenon::nn
