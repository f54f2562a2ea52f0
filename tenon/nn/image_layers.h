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
///   nn::ZeroPad2d pad(Dims{1, 1, 0, 0});
///   pad(images).shape();  // (2, 3, 8, 10)
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

#define TENON_PAD(Name, dims, mode)                              \
  class Name : public Pad {                                      \
   public:                                                       \
    explicit Name(int64_t size) : Pad(dims, Dims{size}, mode) {} \
    explicit Name(const Dims& sizes) : Pad(dims, sizes, mode) {} \
  };
/// Zeros around sequences (batch, channels, length).
///   nn::ZeroPad1d(2)(ones({1, 2, 5})).shape();  // (1, 2, 9)
TENON_PAD(ZeroPad1d, 1, "constant")
/// Zeros around images.
///   nn::ZeroPad2d(1)(images).shape();  // (2, 3, 10, 10)
TENON_PAD(ZeroPad2d, 2, "constant")
/// Zeros around volumes.
///   nn::ZeroPad3d(1)(ones({1, 1, 2, 2, 2})).shape();  // (1, 1, 4, 4, 4)
TENON_PAD(ZeroPad3d, 3, "constant")
/// Sequences mirrored at their ends.
///   nn::ReflectionPad1d(1)(tensor({{1, 2, 3}}));  // [[2 1 2 3 2]]
TENON_PAD(ReflectionPad1d, 1, "reflect")
/// Images mirrored at their borders.
///   nn::ReflectionPad2d(1)(images).shape();  // (2, 3, 10, 10)
TENON_PAD(ReflectionPad2d, 2, "reflect")
/// Volumes mirrored at their borders.
///   nn::ReflectionPad3d(1)(ones({1, 1, 2, 2, 2})).shape();  // (1, 1, 4, 4, 4)
TENON_PAD(ReflectionPad3d, 3, "reflect")
/// Sequences with their outermost elements repeated.
///   nn::ReplicationPad1d(1)(tensor({{1, 2, 3}}));  // [[1 1 2 3 3]]
TENON_PAD(ReplicationPad1d, 1, "replicate")
/// Images with their outermost pixels repeated.
///   nn::ReplicationPad2d(1)(images).shape();  // (2, 3, 10, 10)
TENON_PAD(ReplicationPad2d, 2, "replicate")
/// Volumes with their outermost elements repeated.
///   nn::ReplicationPad3d(1)(ones({1, 1, 2, 2, 2})).shape();  // (1, 1, 4, 4, 4)
TENON_PAD(ReplicationPad3d, 3, "replicate")
/// Sequences that go on from their other end.
///   nn::CircularPad1d(1)(tensor({{1, 2, 3}}));  // [[3 1 2 3 1]]
TENON_PAD(CircularPad1d, 1, "circular")
/// Images that go on from their other side.
///   nn::CircularPad2d(1)(images).shape();  // (2, 3, 10, 10)
TENON_PAD(CircularPad2d, 2, "circular")
/// Volumes that go on from their other side.
///   nn::CircularPad3d(1)(ones({1, 1, 2, 2, 2})).shape();  // (1, 1, 4, 4, 4)
TENON_PAD(CircularPad3d, 3, "circular")
#undef TENON_PAD

#define TENON_PAD(Name, dims)                                                      \
  class Name : public Pad {                                                        \
   public:                                                                         \
    Name(int64_t size, double value) : Pad(dims, Dims{size}, "constant", value) {} \
    Name(const Dims& sizes, double value) : Pad(dims, sizes, "constant", value) {} \
  };
/// One number around sequences.
///   nn::ConstantPad1d(1, 7)(tensor({{1, 2}}));  // [[7 1 2 7]]
TENON_PAD(ConstantPad1d, 1)
/// One number around images.
///   nn::ConstantPad2d(1, 0.5)(images).shape();  // (2, 3, 10, 10)
TENON_PAD(ConstantPad2d, 2)
/// One number around volumes.
///   nn::ConstantPad3d(1, 0.5)(ones({1, 1, 2, 2, 2})).shape();  // (1, 1, 4, 4, 4)
TENON_PAD(ConstantPad3d, 3)
#undef TENON_PAD

/// pixel_shuffle() as a layer: channels become pixels.
///   nn::PixelShuffle(2)(ones({1, 4, 2, 2})).shape();  // (1, 1, 4, 4)
class PixelShuffle : public Layer {
 public:
  explicit PixelShuffle(int64_t upscale_factor) : factor_(upscale_factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

/// pixel_unshuffle() as a layer: pixels become channels.
///   nn::PixelUnshuffle(2)(ones({1, 1, 4, 4})).shape();  // (1, 4, 2, 2)
class PixelUnshuffle : public Layer {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor) : factor_(downscale_factor) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t factor_;
};

/// Deals channels out from several groups by turns.
///   nn::ChannelShuffle(2)(ones({1, 4, 2, 2})).shape();  // (1, 4, 2, 2)
class ChannelShuffle : public Layer {
 public:
  explicit ChannelShuffle(int64_t groups) : groups_(groups) {}
  Tensor forward(const Tensor& x) const override;

 private:
  int64_t groups_;
};

/// local_response_norm() as a layer: channels divided by what their neighbours, so many of them, are like.
///   nn::LocalResponseNorm(3)(images).shape();  // (2, 3, 8, 8)
class LocalResponseNorm : public Layer {
 public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1)
      : size_(size), alpha_(alpha), beta_(beta), k_(k) {}
  Tensor forward(const Tensor& x) const override { return local_response_norm(x, size_, alpha_, beta_, k_); }

 private:
  int64_t size_;
  double alpha_, beta_, k_;
};

/// All windows of images as columns.
///   nn::Unfold({2})(ones({1, 2, 4, 4})).shape();  // (1, 8, 9)
class Unfold : public Layer {
 public:
  explicit Unfold(Dims kernel_size, WindowOptions options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Dims kernel_size_;
  WindowOptions options_;
};

/// Columns of windows summed into images of this size.
///   nn::Fold({4}, {2})(ones({1, 8, 9})).shape();  // (1, 2, 4, 4)
class Fold : public Layer {
 public:
  Fold(Dims output_size, Dims kernel_size, WindowOptions options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Dims output_size_, kernel_size_;
  WindowOptions options_;
};

}  // namespace tenon::nn
