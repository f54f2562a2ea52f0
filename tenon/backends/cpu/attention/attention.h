// Attention: what its parts hand each other.
//
// q (B, H, T, D), k (B, G, S, D) and v (B, G, S, E) with G dividing H, optionally an additive mask (B, H, T, S). The
// scores exist only as tiles of kQueries x kKeys. Arithmetic is in f32, in f64 for f64 operands.

#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/ir/dtype.h"

namespace tenon::backends::cpu {

/// An operand of four axes, read through strides (in elements).
struct Tensor4 {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  int64_t strides[4] = {0, 0, 0, 0};

  const std::byte* at(int64_t i, int64_t j, int64_t k, int64_t l = 0) const {
    const int64_t offset = i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
    return data + offset * static_cast<int64_t>(size_of(dtype));
  }
};

/// One run of attention or its gradient. Results are row-major and lie by tokens: (B, T, H, D).
struct AttentionRun {
  int64_t batches = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  double scale = 1;
  bool causal = false, has_mask = false;
  double dropout = 0;
  uint64_t seed = 0, first_word = 0;  // of the weights' random numbers
  Tensor4 q, k, v, mask;

  // Forward.
  std::byte* o = nullptr;    // (B, T, H, E), dtype of q
  std::byte* lse = nullptr;  // (B, H, T), f32 or f64

  // Backward; gradients lie by tokens too.
  Tensor4 o_saved, lse_saved, o_grad;
  std::byte* dq = nullptr;
  std::byte* dk = nullptr;
  std::byte* dv = nullptr;
  std::byte* dmask = nullptr;
  int64_t query_stride = 0, key_stride = 0, value_stride = 0;  // elements from token to token of the gradients

  int64_t heads_per_group() const { return heads / groups; }
  /// Keys that queries below `query` can see.
  int64_t visible_keys(int64_t query) const { return causal && query < keys ? query : keys; }
};

/// Tiles of the score matrix. All sums over keys or queries are taken tile by tile, in ascending order. Causality cuts
/// those on the diagonal in half, and hides others whole or not at all, because they are squares.
inline constexpr int64_t kQueries = 64, kKeys = 64;
static_assert(kQueries == kKeys);

constexpr int64_t tiles_of(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

/// All heads of one group for the query tiles first_tile ... last_tile - 1, on the calling thread.
void attention_forward(const AttentionRun& run, int64_t batch, int64_t group, int64_t first_tile, int64_t last_tile);

/// The same for few queries, which read keys and values where they lie: both have dense rows. There is no dropout, and
/// at least one key.
void attention_few_queries(const AttentionRun& run, int64_t batch, int64_t group);

/// All gradients of one group.
void attention_backward_group(const AttentionRun& run, int64_t batch, int64_t group);
/// The same in two parts that need no other thread's results, but compute the scores twice.
void attention_backward_keys(const AttentionRun& run, int64_t batch, int64_t group, int64_t key_tile);
void attention_backward_queries(const AttentionRun& run, int64_t batch, int64_t head, int64_t query_tile);

}  // namespace tenon::backends::cpu
