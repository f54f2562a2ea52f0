// vmap(): a function of one example, called once for a whole batch.
//
//   Tensor norms = vmap([](const Tensor& row) { return norm(row); }, rows);
//
// The function is recorded once, on tensors of one example's shape that have no values, and what it recorded is then
// recorded for all examples together. So it costs what code for batches costs, whatever the batch.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// A function of tensors that gives tensors.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// Which dims count examples, and what they share.
struct VmapOptions {
  /// Which dim of each input counts its examples; none for an input that all share. The first of every input unless
  /// given.
  std::vector<std::optional<int64_t>> in_dims;
  /// Which dim of each result counts examples; the first of every result unless given.
  std::vector<int64_t> out_dims;
  /// Every example gets the same random numbers; without it, drawing any is an error.
  bool same_randomness = false;
  /// How many examples are computed together; all unless given.
  std::optional<int64_t> chunk_size;
};

/// f of every example of the inputs, side by side. Gradients go through it, it may be nested and captured. Inside,
/// values cannot be read, backward() is refused (grad() is not), and tensors from outside cannot be written in place;
/// ops without a rule, and functions that LAPACK or FFTW computes on the host, are refused by name.
///   const TensorFunction f = [](std::span<const Tensor> in) { return std::vector{in[0].dot(in[1])}; };
///   vmap(f, std::vector{ones({2, 3}), ones({2, 3})})[0];  // [3. 3.]
std::vector<Tensor> vmap(const TensorFunction& f, std::span<const Tensor> inputs, const VmapOptions& options = {});
/// The same for a function of one tensor that gives one.
///   vmap([](const Tensor& row) { return row.sum(); }, ones({2, 3}));  // [3. 3.]
Tensor vmap(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, int64_t in_dim = 0, int64_t out_dim = 0);

}  // namespace tenon
