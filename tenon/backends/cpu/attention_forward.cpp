// Attention, forward: for each tile of queries, the tiles of keys pass by once, and a running maximum and sum turn
// their scores into a softmax (flash attention).
//
// Scores lie transposed, a row per key: so the softmax runs down columns without reductions inside a vector, and the
// tile is at once in the form in which its product with the values wants it.

#include "tenon/backends/cpu/tile_highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/attention_forward.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
class Forward {
 public:
  Forward(const AttentionRun& run, int64_t keys)
      : run_(run), padded_values_(whole_vectors<T>(run.value_width)), keys_(keys), scratch_(carve(nullptr)) {
    carve(scratch_.data());
  }

  void pack_keys_and_values(int64_t batch, int64_t group) {
    for (int64_t key = 0; key < keys_; key += kKeys) {
      const int64_t n = std::min(kKeys, keys_ - key);
      pack_columns(run_.k, batch, group, key, n, run_.width, keys_turned_ + key * run_.width, kKeys);
    }
    pack_rows(run_.v, batch, group, 0, keys_, run_.value_width, values_, padded_values_);
  }

  void run_tile(int64_t batch, int64_t head, int64_t query) {
    const int64_t n = std::min(kQueries, run_.queries - query);
    pack_columns(run_.q, batch, head, query, n, run_.width, queries_turned_, kQueries);
    scale_by(queries_turned_, run_.width * kQueries, static_cast<T>(run_.scale));
    std::fill_n(top_, kQueries, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, kQueries, T(0));
    std::fill_n(sums_, n * padded_values_, T(0));
    const int64_t visible = std::min(keys_, run_.visible_keys(query + n));
    for (int64_t key = 0; key < visible; key += kKeys) {
      const int64_t keys = std::min(kKeys, visible - key);
      score(batch, head, query, n, key, keys);
      softmax(n, keys);
      if (run_.dropout > 0) drop(batch, head, query, n, key, keys);
      multiply_blocks(n, run_.value_width, keys, scores_, kQueries, values_ + key * padded_values_, padded_values_,
                      sums_, padded_values_, true);
    }
    finish(batch, head, query, n);
  }

 private:
  size_t carve(std::byte* base) {
    Carver carver(base);
    keys_turned_ = carver.take<T>(tiles_of(keys_, kKeys) * kKeys * run_.width);
    values_ = carver.take<T>(keys_ * padded_values_);
    queries_turned_ = carver.take<T>(run_.width * kQueries);
    scores_ = carver.take<T>(kKeys * kQueries);
    mask_ = carver.take<T>(kKeys * kQueries);
    sums_ = carver.take<T>(kQueries * padded_values_);
    top_ = carver.take<T>(kQueries);
    total_ = carver.take<T>(kQueries);
    return carver.used();
  }

  // scores[key][query] = scale q . k + mask; what causality hides is -inf.
  void score(int64_t batch, int64_t head, int64_t query, int64_t n, int64_t key, int64_t keys) {
    multiply_blocks(keys, n, run_.width, keys_turned_ + key * run_.width, kKeys, queries_turned_, kQueries, scores_,
                    kQueries, false);
    if (run_.has_mask) {
      Tensor4 mask = run_.mask;
      mask.data = mask.at(0, 0, 0, key);
      pack_columns(mask, batch, head, query, n, keys, mask_, kQueries);
      const hn::ScalableTag<T> d;
      for (int64_t i = 0; i < keys * kQueries; i += kVectorSize<T>)
        hn::StoreU(hn::Add(hn::LoadU(d, scores_ + i), hn::LoadU(d, mask_ + i)), d, scores_ + i);
    }
    if (!run_.causal || key + keys - 1 <= query) return;
    for (int64_t i = 0; i < keys; ++i) {
      const int64_t hidden = std::clamp<int64_t>(key + i - query, 0, n);  // queries before this key
      std::fill_n(scores_ + i * kQueries, hidden, -std::numeric_limits<T>::infinity());
    }
  }

  // scores become e^(score - top); what was summed under an older top is brought to the new one. A column that has seen
  // only -inf counts from 0, so that it stays empty instead of becoming NaN.
  void softmax(int64_t n, int64_t keys) {
    const hn::ScalableTag<T> d;
    const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (int64_t j = 0; j < n; j += kVectorSize<T>) {
      T* column = scores_ + j;
      const auto before = hn::LoadU(d, top_ + j);
      auto top = before;
      for (int64_t i = 0; i < keys; ++i) top = hn::Max(top, hn::LoadU(d, column + i * kQueries));
      const auto base = hn::IfThenZeroElse(hn::Eq(top, lowest), top);
      auto total = hn::Zero(d);
      for (int64_t i = 0; i < keys; ++i) {
        const auto p = exp_of_score(d, hn::Sub(hn::LoadU(d, column + i * kQueries), base));
        hn::StoreU(p, d, column + i * kQueries);
        total = hn::Add(total, p);
      }
      const auto shrink = exp_of_score(d, hn::Sub(before, base));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, total_ + j), shrink, total), d, total_ + j);
      hn::StoreU(top, d, top_ + j);
      if (hn::AllTrue(d, hn::Eq(before, top))) continue;
      alignas(64) T factors[kVectorSize<T>];
      hn::StoreU(shrink, d, factors);
      for (int64_t i = 0; i < kVectorSize<T> && j + i < n; ++i)
        scale_by(sums_ + (j + i) * padded_values_, padded_values_, factors[i]);
    }
  }

  void drop(int64_t batch, int64_t head, int64_t query, int64_t n, int64_t key, int64_t keys) {
    T shares[kKeys];
    for (int64_t j = 0; j < n; ++j) {
      kept_shares(run_, batch, head, query + j, key, keys, shares);
      for (int64_t i = 0; i < keys; ++i) scores_[i * kQueries + j] *= shares[i];
    }
  }

  void finish(int64_t batch, int64_t head, int64_t query, int64_t n) {
    const int64_t row = (batch * run_.heads + head) * run_.queries + query;
    T* lse = reinterpret_cast<T*>(run_.lse) + row;
    for (int64_t i = 0; i < n; ++i) {
      const bool sees_nothing = run_.keys > 0 && top_[i] == -std::numeric_limits<T>::infinity();
      const T nan = std::numeric_limits<T>::quiet_NaN();  // as 0 / 0 in the definition
      lse[i] = sees_nothing ? nan : top_[i] + std::log(total_[i]);
      const T share = sees_nothing ? nan : run_.keys == 0 ? T(0) : 1 / total_[i];
      scale_by(sums_ + i * padded_values_, padded_values_, share);
    }
    const auto bytes = static_cast<int64_t>(size_of(run_.q.dtype));
    const int64_t at = (batch * run_.queries + query) * run_.heads + head;
    write_rows(sums_, padded_values_, n, run_.value_width, run_.q.dtype, run_.o + at * run_.value_width * bytes,
               run_.heads * run_.value_width);
  }

  const AttentionRun& run_;
  int64_t padded_values_, keys_;
  T *keys_turned_ = nullptr, *values_ = nullptr, *queries_turned_ = nullptr, *scores_ = nullptr, *mask_ = nullptr;
  T *sums_ = nullptr, *top_ = nullptr, *total_ = nullptr;
  Scratch scratch_;
};

template <typename T>
void run_forward(const AttentionRun& run, int64_t batch, int64_t group, int64_t first_tile, int64_t last_tile) {
  const int64_t end = std::min(run.queries, last_tile * kQueries);
  Forward<T> forward(run, run.visible_keys(end));
  forward.pack_keys_and_values(batch, group);
  for (int64_t i = 0; i < run.heads_per_group(); ++i) {
    for (int64_t tile = first_tile; tile < last_tile; ++tile)
      forward.run_tile(batch, group * run.heads_per_group() + i, tile * kQueries);
  }
}

void attention_forward(const AttentionRun& run, int64_t batch, int64_t group, int64_t first_tile, int64_t last_tile) {
  if (run.q.dtype == DType::f64)
    run_forward<double>(run, batch, group, first_tile, last_tile);
  else
    run_forward<float>(run, batch, group, first_tile, last_tile);
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(attention_forward);

void attention_forward(const AttentionRun& run, int64_t batch, int64_t group, int64_t first_tile, int64_t last_tile) {
  HWY_DYNAMIC_DISPATCH(attention_forward)(run, batch, group, first_tile, last_tile);
}

}  // namespace tenon::backends::cpu
#endif
