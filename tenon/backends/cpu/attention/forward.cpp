// Attention, forward: for each tile of queries, the tiles of keys pass by once, and a running maximum and sum turn
// their scores into a softmax (flash attention).
//
// Scores lie transposed, a row per key: so the softmax runs down columns without reductions inside a vector, and the
// tile is at once in the form in which its product with the values wants it.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/attention/forward.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
class Forward {
 public:
  Forward(const AttentionRun& run, int64_t keys)
      : run_(run),
        padded_width_(whole_vectors<T>(run.width)),
        padded_values_(whole_vectors<T>(run.value_width)),
        key_count_(keys),
        scratch_(carve(nullptr)) {
    carve(scratch_.data());
  }

  void pack_keys_and_values(int64_t batch, int64_t group) {
    pack_rows(run_.k, batch, group, 0, key_count_, run_.width, keys_, padded_width_);
    pack_rows(run_.v, batch, group, 0, key_count_, run_.value_width, values_, padded_values_);
  }

  void run_tile(int64_t batch, int64_t head, int64_t query) {
    const int64_t n = std::min(kQueries, run_.queries - query);
    pack_columns(run_.q, batch, head, query, n, run_.width, queries_turned_, kQueries);
    scale_by(queries_turned_, run_.width * kQueries, static_cast<T>(run_.scale), queries_turned_);
    std::fill_n(top_, kQueries, kLowest);
    std::fill_n(total_, kQueries, T(0));
    const int64_t visible = std::min(key_count_, run_.visible_keys(query + n));
    for (int64_t key = 0; key < visible; key += kKeys) {
      const int64_t keys = std::min(kKeys, visible - key);
      const bool is_diagonal = run_.causal && key == query;
      score(batch, head, query, n, key, keys, is_diagonal);
      softmax(n, keys, is_diagonal, key == 0);
      if (run_.dropout > 0) drop(batch, head, query, n, key, keys);
      multiply_tile<Left::by_steps>(is_diagonal ? Reach::steps_to_row : Reach::all, n, run_.value_width, keys, scores_,
                                    kQueries, values_ + key * padded_values_, padded_values_, sums_, padded_values_,
                                    key > 0);
    }
    if (visible == 0) std::fill_n(sums_, n * padded_values_, T(0));
    finish(batch, head, query, n);
  }

 private:
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  size_t carve(std::byte* base) {
    Carver carver(base);
    keys_ = carver.take<T>(key_count_ * padded_width_);
    values_ = carver.take<T>(key_count_ * padded_values_);
    queries_turned_ = carver.take<T>(run_.width * kQueries);
    scores_ = carver.take<T>(kKeys * kQueries);
    mask_ = carver.take<T>(kKeys * kQueries);
    sums_ = carver.take<T>(kQueries * padded_values_);
    top_ = carver.take<T>(kQueries);
    total_ = carver.take<T>(kQueries);
    return carver.used();
  }

  // scores[key][query] = scale q . k + mask. Of a tile on the diagonal, a column has the keys below keys_seen alone.
  void score(int64_t batch, int64_t head, int64_t query, int64_t n, int64_t key, int64_t keys, bool is_diagonal) {
    multiply_tile<Left::by_rows>(is_diagonal ? Reach::columns_from_row : Reach::all, keys, n, run_.width,
                                 keys_ + key * padded_width_, padded_width_, queries_turned_, kQueries, scores_,
                                 kQueries, false);
    if (!run_.has_mask) return;
    Tensor4 mask = run_.mask;
    mask.data = mask.at(0, 0, 0, key);
    pack_columns(mask, batch, head, query, n, keys, mask_, kQueries);
    const hn::ScalableTag<T> d;
    for (int64_t i = 0; i < keys * kQueries; i += kVectorSize<T>)
      hn::StoreU(hn::Add(hn::LoadU(d, scores_ + i), hn::LoadU(d, mask_ + i)), d, scores_ + i);
  }

  // Keys of a tile on the diagonal that the product with the values reads for a vector of queries.
  static int64_t keys_seen(int64_t column, int64_t keys) {
    return std::min(keys, block_end(column + kVectorSize<T> - 1));
  }

  // What causality hides of them is -inf.
  void hide_future(int64_t column, int64_t seen) {
    const hn::ScalableTag<T> d;
    for (int64_t i = column + 1; i < seen; ++i) {
      T* at = scores_ + i * kQueries + column;
      const auto hidden = hn::FirstN(d, static_cast<size_t>(std::min(i - column, kVectorSize<T>)));
      hn::StoreU(hn::IfThenElse(hidden, hn::Set(d, kLowest), hn::LoadU(d, at)), d, at);
    }
  }

  // scores become e^(score - top); what was summed under an older top is brought to the new one. A column that has seen
  // only -inf counts from 0, so that it stays empty instead of becoming NaN.
  void softmax(int64_t n, int64_t keys, bool is_diagonal, bool is_first) {
    const hn::ScalableTag<T> d;
    for (int64_t j = 0; j < n; j += kVectorSize<T>) {
      const int64_t seen = is_diagonal ? keys_seen(j, keys) : keys;
      if (is_diagonal) hide_future(j, seen);
      const auto before = hn::LoadU(d, top_ + j), top = hn::Max(before, highest(scores_ + j, seen));
      const auto base = hn::IfThenZeroElse(hn::Eq(top, hn::Set(d, kLowest)), top);
      const auto total = exponentials(scores_ + j, seen, base);
      const auto shrink = exp_of_score(d, hn::Sub(before, base));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, total_ + j), shrink, total), d, total_ + j);
      hn::StoreU(top, d, top_ + j);
      if (is_first || hn::AllTrue(d, hn::Eq(before, top))) continue;
      alignas(64) T factors[kVectorSize<T>];
      hn::StoreU(shrink, d, factors);
      for (int64_t i = 0; i < kVectorSize<T> && j + i < n; ++i) {
        T* sums = sums_ + (j + i) * padded_values_;
        scale_by(sums, padded_values_, factors[i], sums);
      }
    }
  }

  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr int64_t kAbreast = 4;  // keys handled together: their operations do not wait for each other

  // The largest of a column of vectors.
  HWY_INLINE V highest(const T* column, int64_t keys) const {
    const hn::ScalableTag<T> d;
    V top[kAbreast];
    for (V& one : top) one = hn::Set(d, kLowest);
    int64_t i = 0;
    for (; i + kAbreast <= keys; i += kAbreast) {
#pragma GCC unroll 4
      for (int64_t k = 0; k < kAbreast; ++k) top[k] = hn::Max(top[k], hn::LoadU(d, column + (i + k) * kQueries));
    }
    for (; i < keys; ++i) top[0] = hn::Max(top[0], hn::LoadU(d, column + i * kQueries));
    return hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]));
  }

  // The column becomes e^(score - base); returns its sum, taken in the order of keys.
  HWY_INLINE V exponentials(T* column, int64_t keys, V base) const {
    const hn::ScalableTag<T> d;
    V total = hn::Zero(d);
    const auto some = [&]<int kCount>(T* at) HWY_ATTR {
      V p[kCount];
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k) p[k] = hn::Sub(hn::LoadU(d, at + k * kQueries), base);
      exp_of_scores(d, p);
#pragma GCC unroll 4
      for (int k = 0; k < kCount; ++k) {
        hn::StoreU(p[k], d, at + k * kQueries);
        total = hn::Add(total, p[k]);
      }
    };
    int64_t i = 0;
    for (; i + kAbreast <= keys; i += kAbreast) some.template operator()<kAbreast>(column + i * kQueries);
    for (; i < keys; ++i) some.template operator()<1>(column + i * kQueries);
    return total;
  }

  void drop(int64_t batch, int64_t head, int64_t query, int64_t n, int64_t key, int64_t keys) {
    T shares[kKeys];
    for (int64_t j = 0; j < n; ++j) {
      const int64_t seen = std::min(keys, run_.visible_keys(query + j + 1) - key);
      kept_shares(run_, batch, head, query + j, key, seen, shares);
      for (int64_t i = 0; i < seen; ++i) scores_[i * kQueries + j] *= shares[i];
    }
  }

  static HWY_INLINE V log_of(V x) {
    const hn::ScalableTag<T> d;
    if constexpr (sizeof(T) == 4) {
      return Log::run(d, x);
    } else {
      alignas(64) T lanes[kVectorSize<T>];
      hn::Store(x, d, lanes);
      for (T& lane : lanes) lane = std::log(lane);
      return hn::Load(d, lanes);
    }
  }

  // A row that sees nothing has an empty sum, and gives 0. Its log-sum-exp is 0 by agreement: in the gradient its
  // weights are e^(-inf - 0) then.
  void finish(int64_t batch, int64_t head, int64_t query, int64_t n) {
    const hn::ScalableTag<T> d;
    for (int64_t i = 0; i < n; i += kVectorSize<T>) {
      const V top = hn::LoadU(d, top_ + i), total = hn::LoadU(d, total_ + i);
      const auto sees_nothing = hn::Eq(total, hn::Zero(d));
      hn::StoreU(hn::IfThenZeroElse(sees_nothing, hn::Add(top, log_of(total))), d, top_ + i);
      hn::StoreU(hn::IfThenZeroElse(sees_nothing, hn::Div(hn::Set(d, T(1)), total)), d, total_ + i);
    }
    const int64_t row = (batch * run_.heads + head) * run_.queries + query;
    std::copy_n(top_, n, reinterpret_cast<T*>(run_.lse) + row);
    const auto bytes = static_cast<int64_t>(size_of(run_.q.dtype));
    const int64_t at = (batch * run_.queries + query) * run_.heads + head;
    write_rows(sums_, padded_values_, n, run_.value_width, run_.q.dtype, run_.o + at * run_.value_width * bytes,
               run_.heads * run_.value_width, [this](int64_t i) { return total_[i]; });
  }

  const AttentionRun& run_;
  int64_t padded_width_, padded_values_, key_count_;
  T *keys_ = nullptr, *values_ = nullptr, *queries_turned_ = nullptr, *scores_ = nullptr, *mask_ = nullptr;
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
