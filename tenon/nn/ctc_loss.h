// Connectionist temporal classification: a loss of sequences whose labels are given without their places.

#pragma once

#include "tenon/nn/losses.h"

namespace tenon::nn {

/// How ctc_loss() reads sequences.
struct CtcLossOptions {
  int64_t blank = 0;                      // the class that stands for no label
  Reduction reduction = Reduction::mean;  // mean: of losses divided by the lengths of their targets
  bool zero_infinity = false;             // targets that do not fit their input count 0 and have no gradient
};
/// log_probabilities (T, N, C) or (T, C), targets (N, S), or all in one vector, lengths (N): the negative logarithm of
/// the probability of all ways to read a target. The gradient is PyTorch's, which holds behind log_softmax. Lengths of
/// targets in one vector are read at once.
///   const Tensor log_probabilities = log_softmax(zeros({4, 1, 3}), -1);
///   nn::ctc_loss(log_probabilities, tensor({{1, 2}}), tensor({4}), tensor({2})).shape();  // ()
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcLossOptions& options = {});

}  // namespace tenon::nn
