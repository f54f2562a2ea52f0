// Autocast: products and attention in bf16 or f16; losses, norms, softmax and sums in f32.
//
// Products take their operands in the lower type, sum in f32, add the bias there, and round once: their result has the
// lower type, as in PyTorch. Gradients of weights are summed in f32 and never rounded. A weight may have a shadow, a
// copy in the lower type that whoever updates the weight writes along: then no product converts it.
//
//   Autocast lower(DType::bf16);
//   Tensor loss = model.loss(ids);
//   loss.backward();
//
// AllowTf32: products of f32 may round their operands to tf32 (10 bits of mantissa, the range of f32) where a device
// multiplies quicker so, which is cuda with cuBLASLt. Everything stays f32, and without it nothing is rounded.

#pragma once

#include <optional>

#include "tenon/tensor/tensor.h"

namespace tenon {

/// While alive, products and attention of this thread take their operands in `dtype`.
///   Autocast lower(bfloat16);
///   matmul(ones({2, 2}), ones({2, 2})).dtype() == bfloat16;  // true
class Autocast {
 public:
  explicit Autocast(DType dtype = DType::bf16, bool enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::optional<DType> before_;
};

/// The type that products take their operands in; none outside of any Autocast.
///   autocast_dtype().has_value();  // false
std::optional<DType> autocast_dtype();

/// While alive, products of f32 that this thread records, and their gradients, may take their operands as tf32.
///   AllowTf32 allowed;
///   Tensor y = matmul(ones({2, 2}), ones({2, 2}));
class AllowTf32 {
 public:
  explicit AllowTf32(bool allowed = true);
  ~AllowTf32();
  AllowTf32(const AllowTf32&) = delete;
  AllowTf32& operator=(const AllowTf32&) = delete;

 private:
  std::optional<bool> before_;
};
/// What holds for all threads outside of any AllowTf32; they may not until this says so.
///   set_tf32_allowed(false);
void set_tf32_allowed(bool allowed);

/// Whether they may now.
///   tf32_allowed();  // false
bool tf32_allowed();

/// Whether Autocast converts such operands of products: f32 and 16-bit floats, never f64.
bool is_autocast(DType dtype);
/// x as products take it: converted under Autocast, but for f64 and integers.
Tensor autocast(const Tensor& x);
/// The values of a weight as products take them, without history: those of its shadow, if it has one.
Tensor autocast_values(const Tensor& weight);
/// The same with the weight's history: gradients of `low`, which are those values, go to the weight.
Tensor with_history_of(const Tensor& weight, const Tensor& low);
/// x as losses, norms and sums take it: in f32 under Autocast when it is a 16-bit float, as it is otherwise.
Tensor autocast_wide(const Tensor& x);
/// x (..., K) times weight (K, N), and bias (N) if it is defined, as Autocast does it.
Tensor autocast_product(const Tensor& x, const Tensor& weight, const Tensor& bias, DType dtype);

/// Gives a tensor that owns its memory a copy in a lower type, which products read under Autocast.
void keep_shadow(Tensor& tensor, DType dtype);
/// Writes the tensor and, from the same value, its shadow.
void write_with_shadow(Tensor& tensor, const Tensor& value);
/// The shadow; undefined when there is none.
Tensor shadow_of(const Tensor& tensor);

}  // namespace tenon
