// Lora: a small trainable correction of a frozen weight (Hu et al., 2021).
//
// A layer x -> x W gets x -> x W + x A^T B^T * alpha / rank, with A (rank, in) and B (out, rank). B starts as zeros, so
// that nothing changes at first. Names and layouts are those of Hugging Face's peft.

#pragma once

#include <memory>

#include "tenon/nn/module.h"
#include "tenon/tensor/creation.h"

namespace tenon::nn {

/// The size and strength of a correction.
struct LoraOptions {
  int64_t rank = 8;    // of both matrices
  double alpha = 16;   // the correction is scaled by alpha / rank
  double dropout = 0;  // of what goes into the correction, in training
};

/// The correction of one layer.
///   nn::Lora correction(3, 2, {.rank = 1}, {});
///   correction(ones({1, 3}));  // [[0. 0.]]
class Lora : public ModuleOf<Lora> {
 public:
  Lora(int64_t in, int64_t out, const LoraOptions& lora, const Options& options);
  /// x (..., in) to the correction (..., out).
  Tensor forward(const Tensor& x) const;
  /// What the correction adds to a weight (in, out).
  Tensor delta() const;

  Tensor lora_A, lora_B;  // (rank, in), (out, rank)

 private:
  double scale_, dropout_;
};

/// A layer whose weight can be corrected.
///   net.adapt({.rank = 1});
///   net.merge();
class Adaptable {
 public:
  virtual ~Adaptable() = default;
  /// Adds a correction; fails where there is one already.
  virtual void adapt(const LoraOptions& options) = 0;
  /// Adds the correction to the weight for good.
  virtual void merge() = 0;
  /// The correction; null where there is none.
  virtual const Lora* lora() const = 0;
};

}  // namespace tenon::nn
