// The cross-entropy of a linear layer without its logits: they exist for a chunk of rows at a time.
//
// With a vocabulary of 50304, the logits of 8192 tokens are 1.6 GB and their gradient as much again, more than all else
// a small model keeps. In chunks of 1024 rows they are an eighth of that.
//
//   Tensor loss = nn::linear_cross_entropy(x, head.weight, targets, {.chunk = 1024});

#pragma once

#include "tenon/tensor/tensor.h"

namespace tenon::nn {

/// Which targets and classes count, and how many logits exist at a time.
struct LinearCrossEntropyOptions {
  int64_t ignore_index = -100;  // targets that do not count
  int64_t chunk = 1024;         // rows whose logits exist at a time
  int64_t classes = 0;          // rows of the weight that are classes; those behind are padding. 0: all
};

/// The mean of cross_entropy(linear(x, weight), targets) over the targets that count: x (N, width), weight (classes,
/// width), targets (N).
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options = {});

}  // namespace tenon::nn
