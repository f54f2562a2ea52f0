// Rotary position embedding (Su et al., 2021): pairs of a head's elements are turned by angles that grow with the
// position, so that the product of a query and a key depends on their distance.
//
//   nn::RotaryEmbedding rotary(64, 2048);
//   q = rotary.apply(q);  // (..., time, 64)

#pragma once

#include "tenon/nn/module.h"

namespace tenon::nn {

/// Which elements are turned together.
enum class RotaryLayout : uint8_t {
  halves,       // i and i + width / 2: Hugging Face's models
  interleaved,  // 2 i and 2 i + 1: llama2.c, GPT-J
};

/// The angles of all positions, and what turns queries and keys by them.
///   nn::RotaryEmbedding rotary(8, 128);
///   rotary.apply(randn({2, 4, 5, 8})).shape();  // (2, 4, 5, 8)
class RotaryEmbedding : public ModuleOf<RotaryEmbedding> {
 public:
  RotaryEmbedding(int64_t width, int64_t max_positions, double theta = 10000,
                  RotaryLayout layout = RotaryLayout::halves, Device device = {});

  /// Turns x (..., time, width), whose first row is at position `offset`.
  Tensor apply(const Tensor& x, int64_t offset = 0) const;
  /// The same with the positions of the rows as an i64 tensor, (time,) or for x (batch, heads, time, width) one list a
  /// sequence, (batch, time): one recording serves all positions.
  Tensor apply(const Tensor& x, const Tensor& positions) const;
  Tensor forward(const Tensor& x, int64_t offset = 0) const { return apply(x, offset); }

  Tensor cos, sin;  // (max_positions, width / 2); not part of state dicts

 private:
  Tensor turned(const Tensor& x, const Tensor& cosine, const Tensor& sine) const;
  void require_input(const Tensor& x) const;

  RotaryLayout layout_;
};

}  // namespace tenon::nn
