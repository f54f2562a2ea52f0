// Normalisation over the batch and over groups of channels, for inputs (batch, channels, ...).
//
//   nn::BatchNorm2d norm(64);
//   Tensor y = norm(images);  // in training: by the batch, and the running statistics follow
//   norm.eval();
//   y = norm(images);         // by the running statistics

#pragma once

#include <optional>
#include <string>

#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// What a BatchNorm has, and how its statistics move.
struct BatchNormOptions {
  double eps = 1e-5;                     // added to the variance
  std::optional<double> momentum = 0.1;  // the weight of a new batch; none: all batches count the same
  bool affine = true;                    // has weight and bias
  bool track_running_stats = true;       // without them every batch is normalised by itself
  Options options = {};                  // of the parameters
};

/// Mean 0 and variance 1 over all but the channels, then scaled and shifted. In training by the statistics of x, which
/// also move the running ones, where they are defined, by `momentum`; else by those.
///   nn::batch_norm(images, zeros({3}), ones({3})).shape();  // (2, 3, 8, 8)
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = Tensor(), const Tensor& bias = Tensor(), bool training = false,
                  double momentum = 0.1, double eps = 1e-5);
/// Mean 0 and variance 1 over each of `groups` runs of channels, then scaled and shifted channel by channel.
///   nn::group_norm(ones({2, 4, 5}), 2).shape();  // (2, 4, 5)
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                  double eps = 1e-5);

/// What a BatchNorm computes in training: counts the batch in `batches` and moves the running statistics by `momentum`,
/// or, without one, to the means of all batches so far.
Tensor batch_norm_counted(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, Tensor batches,
                          const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                          std::optional<double> momentum = 0.1, double eps = 1e-5);
/// Mean 0 and variance 1 over every channel of every sample of (batch, channels, ...), then scaled and shifted channel
/// by channel. By the statistics of x, which also move the running ones, where they are defined; or else by those.
///   nn::instance_norm(images).shape();  // (2, 3, 8, 8)
Tensor instance_norm(const Tensor& x, const Tensor& running_mean = Tensor(), const Tensor& running_var = Tensor(),
                     const Tensor& weight = Tensor(), const Tensor& bias = Tensor(), bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5);

/// What BatchNorm1d, BatchNorm2d and BatchNorm3d share.
///   nn::BatchNorm2d norm(3, {.momentum = 0.01});
///   norm.running_mean;  // [0. 0. 0.]
class BatchNorm : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;

  Tensor weight, bias;                                    // (channels,); undefined where left out
  Tensor running_mean, running_var, num_batches_tracked;  // part of state dicts; undefined where left out

 protected:
  BatchNorm(std::string_view op, int64_t channels, const BatchNormOptions& options);
  virtual void check(const Tensor& x) const = 0;

 private:
  int64_t channels_;
  BatchNormOptions options_;
};

/// For (batch, channels) and (batch, channels, length).
///   nn::BatchNorm1d(3)(randn({8, 3})).shape();  // (8, 3)
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("batch_norm1d", channels, options) {}

 protected:
  void check(const Tensor& x) const override;
};

/// For (batch, channels, height, width).
///   nn::BatchNorm2d(3)(images).shape();  // (2, 3, 8, 8)
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("batch_norm2d", channels, options) {}

 protected:
  void check(const Tensor& x) const override;
};

/// For (batch, channels, depth, height, width).
///   nn::BatchNorm3d(2)(randn({4, 2, 3, 3, 3})).shape();  // (4, 2, 3, 3, 3)
class BatchNorm3d : public BatchNorm {
 public:
  explicit BatchNorm3d(int64_t channels, const BatchNormOptions& options = {})
      : BatchNorm("batch_norm3d", channels, options) {}

 protected:
  void check(const Tensor& x) const override;
};

/// What an InstanceNorm has, and how its statistics move.
struct InstanceNormOptions {
  double eps = 1e-5, momentum = 0.1;  // added to the variance, and the weight of a new batch
  bool affine = false;                // has weight and bias
  bool track_running_stats = false;   // evaluation goes by running statistics
  Options options = {};               // of the parameters
};

/// What InstanceNorm1d, InstanceNorm2d and InstanceNorm3d share: mean 0 and variance 1 over every channel of every
/// sample, of (batch, channels, ...) or (channels, ...).
///   nn::InstanceNorm2d norm(3, {.affine = true});
///   norm.weight;  // [1. 1. 1.]
class InstanceNorm : public Layer {
 public:
  Tensor forward(const Tensor& x) const override;

  Tensor weight, bias;                                    // (channels,); undefined where left out
  Tensor running_mean, running_var, num_batches_tracked;  // part of state dicts; undefined where left out

 protected:
  InstanceNorm(std::string_view op, int64_t dims, int64_t channels, const InstanceNormOptions& options);

 private:
  std::string op_;
  int64_t dims_, channels_;
  InstanceNormOptions options_;
};

/// For (batch, channels, length).
///   nn::InstanceNorm1d(3)(randn({2, 3, 5})).shape();  // (2, 3, 5)
class InstanceNorm1d : public InstanceNorm {
 public:
  explicit InstanceNorm1d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("instance_norm1d", 1, channels, options) {}
};
/// For (batch, channels, height, width).
///   nn::InstanceNorm2d(3)(images).shape();  // (2, 3, 8, 8)
class InstanceNorm2d : public InstanceNorm {
 public:
  explicit InstanceNorm2d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("instance_norm2d", 2, channels, options) {}
};
/// For (batch, channels, depth, height, width).
///   nn::InstanceNorm3d(2)(randn({1, 2, 3, 3, 3})).shape();  // (1, 2, 3, 3, 3)
class InstanceNorm3d : public InstanceNorm {
 public:
  explicit InstanceNorm3d(int64_t channels, const InstanceNormOptions& options = {})
      : InstanceNorm("instance_norm3d", 3, channels, options) {}
};

/// group_norm() with a weight and a bias for each channel.
///   nn::GroupNorm(2, 4)(randn({2, 4, 5})).shape();  // (2, 4, 5)
class GroupNorm : public Layer {
 public:
  GroupNorm(int64_t groups, int64_t channels, double eps = 1e-5, bool affine = true, const Options& options = {});
  Tensor forward(const Tensor& x) const override;

  Tensor weight, bias;  // (channels,); undefined where left out

 private:
  int64_t groups_;
  double eps_;
};

}  // namespace tenon::nn
