// Attention, backward: each tile of scores is computed again from the saved log-sum-exp and gives its share of all
// gradients. A sum over queries or keys takes its tiles in ascending order in every variant, so that the variants, and
// with them the number of threads, change no bit.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/attention/backward.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

/// Which gradients a tile adds to.
enum class Part : uint8_t { all, keys, queries };

template <typename T>
class Backward {
 public:
  /// Room for so many tiles of queries and of keys' gradients at a time.
  Backward(const AttentionRun& run, int64_t query_tiles, int64_t key_tiles)
      : run_(run),
        width_(whole_vectors<T>(run.width)),
        value_width_(whole_vectors<T>(run.value_width)),
        query_tiles_(query_tiles),
        key_tiles_(key_tiles),
        scratch_(carve(nullptr)) {
    carve(scratch_.data());
    std::fill_n(dk_, key_tiles_ * kKeys * width_, T(0));
    std::fill_n(dv_, key_tiles_ * kKeys * value_width_, T(0));
  }

  /// Packs a tile of queries into a slot and clears its gradient.
  void pack_queries(int64_t batch, int64_t head, int64_t tile, int64_t slot) {
    const int64_t query = tile * kQueries, n = queries_in(tile);
    const Queries at = slot_at(slot);
    pack_rows(run_.q, batch, head, query, n, run_.width, at.q, width_);
    pack_rows(run_.o_grad, batch, head, query, n, run_.value_width, at.o_grad, value_width_);
    scale_by(at.q, n * width_, static_cast<T>(run_.scale), at.q);
    const T* lse = reinterpret_cast<const T*>(run_.lse_saved.at(batch, head, query));
    for (int64_t i = 0; i < n; ++i) at.lse[i] = lse[i * run_.lse_saved.strides[2]];
    // delta = o . do, the part of dS that a whole row shares.
    pack_rows(run_.o_saved, batch, head, query, n, run_.value_width, o_, value_width_);
    for (int64_t i = 0; i < n; ++i) at.delta[i] = dot(o_ + i * value_width_, at.o_grad + i * value_width_);
    std::fill_n(at.dq, n * width_, T(0));
  }

  void pack_keys(int64_t batch, int64_t group, int64_t tile) {
    const int64_t key = tile * kKeys, n = keys_in(tile);
    pack_columns(run_.k, batch, group, key, n, run_.width, k_turned_, kKeys);
    pack_columns(run_.v, batch, group, key, n, run_.value_width, v_turned_, kKeys);
    pack_rows(run_.k, batch, group, key, n, run_.width, k_, width_);
  }

  /// Adds what one tile of scores contributes. The keys are those packed last; `key_slot` holds their gradients.
  void add_tile(Part part, int64_t batch, int64_t head, int64_t query_tile, int64_t slot, int64_t key_tile,
                int64_t key_slot) {
    if (run_.causal && key_tile > query_tile) return;
    const Queries at = slot_at(slot);
    const Tile tile = tile_at(query_tile, key_tile);
    const int64_t n = tile.queries, keys = tile.keys;
    const Reach columns = tile.is_diagonal ? Reach::columns_to_row : Reach::all;
    multiply_tile<Left::by_rows>(columns, n, keys, run_.width, at.q, width_, k_turned_, kKeys, p_, kKeys, false);
    multiply_tile<Left::by_rows>(columns, n, keys, run_.value_width, at.o_grad, value_width_, v_turned_, kKeys, ds_,
                                 kKeys, false);
    if (run_.has_mask) {
      Tensor4 mask = run_.mask;
      mask.data = mask.at(0, 0, 0, tile.key);
      pack_rows(mask, batch, head, tile.query, n, keys, mask_, kKeys);
    }
    for (int64_t i = 0; i < n && run_.dropout > 0; ++i)
      kept_shares(run_, batch, head, tile.query + i, tile.key, tile.seen_by(i), kept_ + i * kKeys);
    for (int64_t row = 0; row < n; row += kTileRows) soften_block(at, tile, row);

    if (part != Part::queries) {
      const Reach steps = tile.is_diagonal ? Reach::steps_from_row : Reach::all;
      multiply_tile<Left::by_steps>(steps, keys, run_.value_width, n, p_, kKeys, at.o_grad, value_width_,
                                    dv_at(key_slot), value_width_, true);
      multiply_tile<Left::by_steps>(steps, keys, run_.width, n, ds_, kKeys, at.q, width_, dk_at(key_slot), width_,
                                    true);
      if (run_.has_mask) write_mask(batch, head, tile);
    }
    if (part == Part::keys) return;
    multiply_tile<Left::by_rows>(tile.is_diagonal ? Reach::steps_to_row : Reach::all, n, run_.width, keys, ds_, kKeys,
                                 k_, width_, at.dq, width_, true);
  }

  void write_queries(int64_t batch, int64_t head, int64_t tile, int64_t slot) {
    const int64_t at = (batch * run_.queries + tile * kQueries) * run_.query_stride + head * run_.width;
    write_rows(slot_at(slot).dq, width_, queries_in(tile), run_.width, run_.q.dtype, run_.dq + at * bytes(),
               run_.query_stride, [scale = static_cast<T>(run_.scale)](int64_t) { return scale; });
  }
  void write_keys(int64_t batch, int64_t group, int64_t tile, int64_t key_slot) {
    const int64_t row = batch * run_.keys + tile * kKeys, n = keys_in(tile);
    const int64_t key = row * run_.key_stride + group * run_.width,
                  value = row * run_.value_stride + group * run_.value_width;
    const auto unscaled = [](int64_t) { return T(1); };
    write_rows(dk_at(key_slot), width_, n, run_.width, run_.q.dtype, run_.dk + key * bytes(), run_.key_stride,
               unscaled);
    write_rows(dv_at(key_slot), value_width_, n, run_.value_width, run_.q.dtype, run_.dv + value * bytes(),
               run_.value_stride, unscaled);
  }

 private:
  struct Queries {
    T *q, *o_grad, *dq, *lse, *delta;
  };

  // Where a tile of scores begins and how far it goes: on the diagonal, no further than its queries see.
  struct Tile {
    int64_t query, key, queries, keys;
    bool is_diagonal;
    int64_t seen_by(int64_t i) const { return is_diagonal ? std::min(i + 1, keys) : keys; }
  };
  Tile tile_at(int64_t query_tile, int64_t key_tile) const {
    const int64_t n = queries_in(query_tile), keys = keys_in(key_tile);
    const bool is_diagonal = run_.causal && query_tile == key_tile;
    return {query_tile * kQueries, key_tile * kKeys, n, is_diagonal ? std::min(n, keys) : keys, is_diagonal};
  }

  size_t carve(std::byte* base) {
    Carver carver(base);
    queries_ = carver.take<T>(query_tiles_ * slot_size());
    dk_ = carver.take<T>(key_tiles_ * kKeys * width_);
    dv_ = carver.take<T>(key_tiles_ * kKeys * value_width_);
    k_turned_ = carver.take<T>(run_.width * kKeys);
    v_turned_ = carver.take<T>(run_.value_width * kKeys);
    k_ = carver.take<T>(kKeys * width_);
    o_ = carver.take<T>(kQueries * value_width_);
    p_ = carver.take<T>(kQueries * kKeys);
    ds_ = carver.take<T>(kQueries * kKeys);
    mask_ = carver.take<T>(kQueries * kKeys);
    kept_ = carver.take<T>(run_.dropout > 0 ? kQueries * kKeys : 0);
    return carver.used();
  }

  int64_t slot_size() const { return kQueries * (2 * width_ + value_width_ + 2); }
  Queries slot_at(int64_t slot) const {
    Queries at;
    at.q = queries_ + slot * slot_size();
    at.o_grad = at.q + kQueries * width_;
    at.dq = at.o_grad + kQueries * value_width_;
    at.lse = at.dq + kQueries * width_;
    at.delta = at.lse + kQueries;
    return at;
  }
  T* dk_at(int64_t key_slot) const { return dk_ + key_slot * kKeys * width_; }
  T* dv_at(int64_t key_slot) const { return dv_ + key_slot * kKeys * value_width_; }

  int64_t queries_in(int64_t tile) const { return std::min(kQueries, run_.queries - tile * kQueries); }
  int64_t keys_in(int64_t tile) const { return std::min(kKeys, run_.keys - tile * kKeys); }
  int64_t bytes() const { return static_cast<int64_t>(size_of(run_.q.dtype)); }

  T dot(const T* a, const T* b) const {
    const hn::ScalableTag<T> d;
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < value_width_; i += kVectorSize<T>)
      sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  // Rows of one block: p = e^(score + mask - lse), 0 where hidden; ds = p (dp - delta). With dropout dp, and then p,
  // are multiplied with what is kept. A few rows together, which do not wait for each other.
  void soften_block(const Queries& at, const Tile& tile, int64_t row) {
    constexpr int kAbreast = kTileRows / 2;
    const int64_t end = std::min(tile.queries, row + kTileRows);
    const int64_t keys = tile.is_diagonal ? std::min(tile.keys, end) : tile.keys;
    for (; row + kAbreast <= end; row += kAbreast) soften<kAbreast>(at, tile, row, keys);
    for (; row < end; ++row) soften<1>(at, tile, row, keys);
  }

  template <int kRows>
  HWY_INLINE void soften(const Queries& at, const Tile& tile, int64_t row, int64_t keys) {
    const hn::ScalableTag<T> d;
    for (int64_t j = 0; j < keys; j += kVectorSize<T>) {
      hn::Vec<decltype(d)> share[kRows];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kRows; ++i) {
        const int64_t place = (row + i) * kKeys + j;
        auto score = hn::LoadU(d, p_ + place);
        if (run_.has_mask) score = hn::Add(score, hn::LoadU(d, mask_ + place));
        share[i] = hn::Sub(score, hn::Set(d, at.lse[row + i]));
      }
      exp_of_scores(d, share);
#pragma GCC unroll 4
      for (int64_t i = 0; i < kRows; ++i) {
        const int64_t place = (row + i) * kKeys + j, seen = tile.seen_by(row + i) - j;
        auto product = hn::LoadU(d, ds_ + place);
        if (run_.dropout > 0) product = hn::Mul(product, hn::LoadU(d, kept_ + place));
        auto slope = hn::Mul(share[i], hn::Sub(product, hn::Set(d, at.delta[row + i])));
        if (run_.dropout > 0) share[i] = hn::Mul(share[i], hn::LoadU(d, kept_ + place));
        if (seen < kVectorSize<T>) {
          const auto is_seen = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(0, seen)));
          share[i] = hn::IfThenElseZero(is_seen, share[i]);
          slope = hn::IfThenElseZero(is_seen, slope);
        }
        hn::StoreU(share[i], d, p_ + place);
        hn::StoreU(slope, d, ds_ + place);
      }
    }
  }

  void write_mask(int64_t batch, int64_t head, const Tile& tile) {
    const auto size = static_cast<int64_t>(size_of(run_.mask.dtype));
    for (int64_t i = 0; i < tile.queries; ++i) {
      const int64_t row = (batch * run_.heads + head) * run_.queries + tile.query + i;
      write_rows(ds_ + i * kKeys, kKeys, 1, tile.seen_by(i), run_.mask.dtype,
                 run_.dmask + (row * run_.keys + tile.key) * size, kKeys, [](int64_t) { return T(1); });
    }
  }

  const AttentionRun& run_;
  int64_t width_, value_width_;  // in whole vectors
  int64_t query_tiles_, key_tiles_;
  T *queries_ = nullptr, *dk_ = nullptr, *dv_ = nullptr;
  T *k_turned_ = nullptr, *v_turned_ = nullptr, *k_ = nullptr, *o_ = nullptr;
  T *p_ = nullptr, *ds_ = nullptr, *mask_ = nullptr, *kept_ = nullptr;  // [query][key]
  Scratch scratch_;
};

template <typename T>
void run_group(const AttentionRun& run, int64_t batch, int64_t group) {
  const int64_t query_tiles = tiles_of(run.queries, kQueries), key_tiles = tiles_of(run.keys, kKeys);
  Backward<T> backward(run, query_tiles, key_tiles);
  for (int64_t i = 0; i < run.heads_per_group(); ++i) {
    const int64_t head = group * run.heads_per_group() + i;
    for (int64_t tile = 0; tile < query_tiles; ++tile) backward.pack_queries(batch, head, tile, tile);
    for (int64_t key_tile = 0; key_tile < key_tiles; ++key_tile) {
      backward.pack_keys(batch, group, key_tile);
      for (int64_t tile = 0; tile < query_tiles; ++tile)
        backward.add_tile(Part::all, batch, head, tile, tile, key_tile, key_tile);
    }
    for (int64_t tile = 0; tile < query_tiles; ++tile) backward.write_queries(batch, head, tile, tile);
  }
  for (int64_t key_tile = 0; key_tile < key_tiles; ++key_tile) backward.write_keys(batch, group, key_tile, key_tile);
}

template <typename T>
void run_keys(const AttentionRun& run, int64_t batch, int64_t group, int64_t key_tile) {
  const int64_t query_tiles = tiles_of(run.queries, kQueries);
  Backward<T> backward(run, 1, 1);
  backward.pack_keys(batch, group, key_tile);
  const int64_t first = run.causal ? key_tile * kKeys / kQueries : 0;  // earlier queries see none of these keys
  for (int64_t i = 0; i < run.heads_per_group(); ++i) {
    const int64_t head = group * run.heads_per_group() + i;
    for (int64_t tile = first; tile < query_tiles; ++tile) {
      backward.pack_queries(batch, head, tile, 0);
      backward.add_tile(Part::keys, batch, head, tile, 0, key_tile, 0);
    }
  }
  backward.write_keys(batch, group, key_tile, 0);
}

template <typename T>
void run_queries(const AttentionRun& run, int64_t batch, int64_t head, int64_t query_tile) {
  Backward<T> backward(run, 1, 0);
  backward.pack_queries(batch, head, query_tile, 0);
  const int64_t visible = run.visible_keys(std::min(run.queries, (query_tile + 1) * kQueries));
  for (int64_t key_tile = 0; key_tile < tiles_of(visible, kKeys); ++key_tile) {
    backward.pack_keys(batch, head / run.heads_per_group(), key_tile);
    backward.add_tile(Part::queries, batch, head, query_tile, 0, key_tile, 0);
  }
  backward.write_queries(batch, head, query_tile, 0);
}

void attention_backward_group(const AttentionRun& run, int64_t batch, int64_t group) {
  run.q.dtype == DType::f64 ? run_group<double>(run, batch, group) : run_group<float>(run, batch, group);
}
void attention_backward_keys(const AttentionRun& run, int64_t batch, int64_t group, int64_t tile) {
  run.q.dtype == DType::f64 ? run_keys<double>(run, batch, group, tile) : run_keys<float>(run, batch, group, tile);
}
void attention_backward_queries(const AttentionRun& run, int64_t batch, int64_t head, int64_t tile) {
  run.q.dtype == DType::f64 ? run_queries<double>(run, batch, head, tile) : run_queries<float>(run, batch, head, tile);
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(attention_backward_group);
HWY_EXPORT(attention_backward_keys);
HWY_EXPORT(attention_backward_queries);

void attention_backward_group(const AttentionRun& run, int64_t batch, int64_t group) {
  HWY_DYNAMIC_DISPATCH(attention_backward_group)(run, batch, group);
}
void attention_backward_keys(const AttentionRun& run, int64_t batch, int64_t group, int64_t key_tile) {
  HWY_DYNAMIC_DISPATCH(attention_backward_keys)(run, batch, group, key_tile);
}
void attention_backward_queries(const AttentionRun& run, int64_t batch, int64_t head, int64_t query_tile) {
  HWY_DYNAMIC_DISPATCH(attention_backward_queries)(run, batch, head, query_tile);
}

}  // namespace tenon::backends::cpu
#endif
