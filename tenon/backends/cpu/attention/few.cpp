// Attention of few queries, as when text is written token by token: one pass over the keys, one over the values, both
// read where they lie.
//
// The tiled way packs keys and values first, which pays when many queries read them. For one query it is most of the
// work: 119 µs instead of 32 for 12 heads, 160 keys and a width of 64 on one core. Keys that the mask hides before the
// first or behind the last visible one are not read at all, so that a cache costs what it holds and not what it could
// hold.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/attention/few.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

template <typename T, typename From>
HWY_INLINE auto load_as(const From* from) {
  if constexpr (std::is_same_v<T, float>)
    return load_floats(from);
  else
    return hn::LoadU(hn::ScalableTag<T>(), from);
}

template <typename D>
HWY_INLINE hn::TFromD<D> sum_of(D d, hn::Vec<D> lanes) {
  return hn::GetLane(hn::SumOfLanes(d, lanes));
}

// One query of one head. T is the type of sums, From that of the operands.
template <typename T, typename From>
class FewQueries {
 public:
  explicit FewQueries(const AttentionRun& run) : run_(run), scratch_(carve(nullptr)) { carve(scratch_.data()); }

  void run_query(int64_t batch, int64_t head, int64_t query) {
    const int64_t group = head / run_.heads_per_group();
    const int64_t visible = std::min(run_.keys, run_.visible_keys(query + 1));
    find_range(batch, head, query, visible);
    pack_rows(run_.q, batch, head, query, 1, run_.width, query_, whole_vectors<T>(run_.width));
    scale_by(query_, whole_vectors<T>(run_.width), static_cast<T>(run_.scale), query_);
    score(batch, group);
    const T top = *std::max_element(scores_, scores_ + last_ - first_);
    const T total = softmax(top);
    add_up(batch, group);
    finish(batch, head, query, top, total);
  }

 private:
  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  size_t carve(std::byte* base) {
    Carver carver(base);
    query_ = carver.take<T>(whole_vectors<T>(run_.width));
    scores_ = carver.take<T>(whole_vectors<T>(run_.keys));
    mask_ = carver.take<T>(whole_vectors<T>(run_.keys));
    sums_ = carver.take<T>(whole_vectors<T>(run_.value_width));
    return carver.used();
  }

  // The keys first_ ... last_ - 1 hold all that the query sees. There is at least one, hidden where the query sees
  // nothing, so that its largest score is -inf and the sum of its weights 0.
  void find_range(int64_t batch, int64_t head, int64_t query, int64_t visible) {
    first_ = 0;
    last_ = visible;
    if (!run_.has_mask) return;
    pack_rows(run_.mask, batch, head, query, 1, visible, mask_, visible);
    while (last_ > 1 && mask_[last_ - 1] == kHidden) --last_;
    while (first_ < last_ - 1 && mask_[first_] == kHidden) ++first_;
  }

  // scores[i] = scale q . k + mask of key first_ + i. Four keys at a time: their sums do not wait for each other.
  void score(int64_t batch, int64_t group) {
    const auto* keys = reinterpret_cast<const From*>(run_.k.at(batch, group, first_));
    const int64_t stride = run_.k.strides[2], count = last_ - first_;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const From* key = keys + i * stride;
      const hn::ScalableTag<T> d;
      auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
      int64_t at = 0;
      for (; at + kVectorSize<T> <= run_.width; at += kVectorSize<T>) {
        const auto q = hn::LoadU(d, query_ + at);
        a = hn::MulAdd(q, load_as<T>(key + at), a);
        b = hn::MulAdd(q, load_as<T>(key + stride + at), b);
        c = hn::MulAdd(q, load_as<T>(key + 2 * stride + at), c);
        e = hn::MulAdd(q, load_as<T>(key + 3 * stride + at), e);
      }
      scores_[i] = sum_of(d, a) + rest_of_product(key, at);
      scores_[i + 1] = sum_of(d, b) + rest_of_product(key + stride, at);
      scores_[i + 2] = sum_of(d, c) + rest_of_product(key + 2 * stride, at);
      scores_[i + 3] = sum_of(d, e) + rest_of_product(key + 3 * stride, at);
    }
    for (; i < count; ++i) scores_[i] = product(keys + i * stride);
    if (!run_.has_mask) return;
    for (i = 0; i < count; ++i) scores_[i] += mask_[first_ + i];
  }

  HWY_INLINE T product(const From* key) const {
    const hn::ScalableTag<T> d;
    auto sum = hn::Zero(d);
    int64_t at = 0;
    for (; at + kVectorSize<T> <= run_.width; at += kVectorSize<T>)
      sum = hn::MulAdd(hn::LoadU(d, query_ + at), load_as<T>(key + at), sum);
    return sum_of(d, sum) + rest_of_product(key, at);
  }

  HWY_INLINE T rest_of_product(const From* key, int64_t at) const {
    T sum = 0;
    for (; at < run_.width; ++at) sum += query_[at] * convert<T>(key[at]);
    return sum;
  }

  // scores become e^(score - top); returns their sum.
  T softmax(T top) {
    const hn::ScalableTag<T> d;
    const int64_t count = last_ - first_;
    std::fill(scores_ + count, scores_ + whole_vectors<T>(count), kHidden);
    const auto base = hn::Set(d, top == kHidden ? T(0) : top);
    auto total = hn::Zero(d);
    for (int64_t i = 0; i < count; i += kVectorSize<T>) {
      const auto p = exp_of_score(d, hn::Sub(hn::LoadU(d, scores_ + i), base));
      hn::StoreU(p, d, scores_ + i);
      total = hn::Add(total, p);
    }
    return sum_of(d, total);
  }

  // sums = the values, each times its score.
  void add_up(int64_t batch, int64_t group) {
    const auto* values = reinterpret_cast<const From*>(run_.v.at(batch, group, first_));
    int64_t at = 0;
    for (; at + 8 * kVectorSize<T> <= run_.value_width; at += 8 * kVectorSize<T>) add_up_columns<8>(values, at);
    for (; at + kVectorSize<T> <= run_.value_width; at += kVectorSize<T>) add_up_columns<1>(values, at);
    for (; at < run_.value_width; ++at) {
      T sum = 0;
      for (int64_t i = 0; i < last_ - first_; ++i) sum += scores_[i] * convert<T>(values[i * run_.v.strides[2] + at]);
      sums_[at] = sum;
    }
    std::fill(sums_ + at, sums_ + whole_vectors<T>(at), T(0));
  }

  template <int kVectors>
  HWY_INLINE void add_up_columns(const From* values, int64_t at) {
    const hn::ScalableTag<T> d;
    hn::Vec<hn::ScalableTag<T>> sums[kVectors];
#pragma GCC unroll 8
    for (auto& sum : sums) sum = hn::Zero(d);
    for (int64_t i = 0; i < last_ - first_; ++i) {
      const auto p = hn::Set(d, scores_[i]);
      const From* row = values + i * run_.v.strides[2] + at;
#pragma GCC unroll 8
      for (int64_t k = 0; k < kVectors; ++k) sums[k] = hn::MulAdd(p, load_as<T>(row + k * kVectorSize<T>), sums[k]);
    }
#pragma GCC unroll 8
    for (int64_t k = 0; k < kVectors; ++k) hn::StoreU(sums[k], d, sums_ + at + k * kVectorSize<T>);
  }

  void finish(int64_t batch, int64_t head, int64_t query, T top, T total) {
    const bool sees_nothing = total == 0;  // as in the tiled way
    reinterpret_cast<T*>(run_.lse)[(batch * run_.heads + head) * run_.queries + query] =
        sees_nothing ? 0 : top + std::log(total);
    const T share = sees_nothing ? 0 : 1 / total;
    const int64_t row = (batch * run_.queries + query) * run_.heads + head;
    write_rows(sums_, 0, 1, run_.value_width, run_.q.dtype,
               run_.o + row * run_.value_width * static_cast<int64_t>(size_of(run_.q.dtype)), 0,
               [share](int64_t) { return share; });
  }

  const AttentionRun& run_;
  int64_t first_ = 0, last_ = 0;
  T *query_ = nullptr, *scores_ = nullptr, *mask_ = nullptr, *sums_ = nullptr;
  Scratch scratch_;
};

void attention_few_queries(const AttentionRun& run, int64_t batch, int64_t group) {
  dispatch(run.k.dtype, [&]<typename From>() HWY_ATTR {
    if constexpr (!std::is_integral_v<From>) {
      FewQueries<std::conditional_t<std::is_same_v<From, double>, double, float>, From> queries(run);
      const int64_t heads = run.heads_per_group();
      for (int64_t head = group * heads; head < (group + 1) * heads; ++head) {
        for (int64_t query = 0; query < run.queries; ++query) queries.run_query(batch, head, query);
      }
    }
  });
}

}  // namespace
}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(attention_few_queries);

void attention_few_queries(const AttentionRun& run, int64_t batch, int64_t group) {
  HWY_DYNAMIC_DISPATCH(attention_few_queries)(run, batch, group);
}

}  // namespace tenon::backends::cpu
#endif
