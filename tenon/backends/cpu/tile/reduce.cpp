// Reductions in an order that depends on the row length alone: element j joins lane j % 16, then lanes 8, 4, 2 and 1
// apart are joined. So the bits do not depend on the instruction set either.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/reduce.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using ir::Op;

// A reduction: `start` makes of a vector of lanes what is carried through a tile, `run` folds a vector in, and `lanes`
// gives the lanes back.
template <typename T>
struct Sum {
  static constexpr T kIdentity = 0;
  static constexpr bool kHasVectors = true;
  template <class V>
  static HWY_INLINE V start(V lanes) {
    return lanes;
  }
  template <class V>
  static HWY_INLINE V run(V total, V x) {
    return hn::Add(total, x);
  }
  template <class V>
  static HWY_INLINE V lanes(V total) {
    return total;
  }
  template <class V>
  static HWY_INLINE V join_lanes(V a, V b) {
    return hn::Add(a, b);
  }
  static T join(T a, T b) { return static_cast<T>(a + b); }
};

template <typename T>
struct Product : Sum<T> {
  static constexpr T kIdentity = 1;
  static constexpr bool kHasVectors = std::is_floating_point_v<T> || sizeof(T) == 4;  // few machines have the others
  template <class V>
  static HWY_INLINE V run(V total, V x) {
    return hn::Mul(total, x);
  }
  template <class V>
  static HWY_INLINE V join_lanes(V a, V b) {
    return hn::Mul(a, b);
  }
  static T join(T a, T b) { return static_cast<T>(a * b); }
};

// 0 rather than -0, and the last NaN once there is one. A largest number has the sign that all numbers have in common,
// or none: so the three parts of the answer can be found one by one, and none makes the next vector wait for long.
template <typename T>
struct Largest {
  static constexpr T kIdentity =
      std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static constexpr bool kHasVectors = true;
  template <class V>
  struct Parts {
    V largest, common, nan;
  };
  template <class V>
  static HWY_INLINE auto start(V lanes) {
    if constexpr (std::is_floating_point_v<T>)
      return Parts<V>{lanes, lanes, lanes};
    else
      return lanes;
  }
  template <class V>
  static HWY_INLINE Parts<V> run(Parts<V> total, V x) {
    return {hn::Max(total.largest, x), hn::And(total.common, x), hn::IfThenElse(hn::IsNaN(x), x, total.nan)};
  }
  template <class V>
  static HWY_INLINE V run(V total, V x) {
    return hn::IfThenElse(hn::Lt(total, x), x, total);
  }
  template <class V>
  static HWY_INLINE V lanes(Parts<V> total) {
    return hn::IfThenElse(hn::IsNaN(total.nan), total.nan, hn::CopySign(total.largest, total.common));
  }
  template <class V>
  static HWY_INLINE V lanes(V total) {
    return total;
  }
  template <class V>
  static HWY_INLINE V join_lanes(V a, V b) {
    if constexpr (std::is_floating_point_v<T>) {
      const V larger = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
      return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
    } else
      return hn::IfThenElse(hn::Lt(a, b), b, a);
  }
  static T join(T a, T b) {
    if (a == b) return std::is_floating_point_v<T> && std::signbit(static_cast<double>(a)) ? b : a;
    return a < b || b != b ? b : a;
  }
};

/// Folds whole groups of kLanes elements into the lanes. The totals are parameters, loaded one by one, because an array
/// of them would not stay in registers.
template <class F, typename T, class... Totals>
HWY_INLINE void fold_vectors(T* lanes, const T* x, size_t n, Totals... totals) {
  const hn::CappedTag<T, kLanes> d;
  constexpr size_t kStep = kLanesOf<decltype(d)>, kLoaded = sizeof...(totals) * kStep;
  if constexpr (kLoaded < kLanes) {
    fold_vectors<F>(lanes, x, n, totals..., F::start(hn::LoadU(d, lanes + kLoaded)));
  } else {
    for (size_t i = 0; i < n; i += kLanes) {
      const T* next = x + i;
      ((totals = F::run(totals, hn::LoadU(d, next)), next += kStep), ...);
    }
    ((hn::StoreU(F::lanes(totals), d, lanes), lanes += kStep), ...);
  }
}

template <class F, typename T>
HWY_INLINE void fold(T* lanes, const T* x, size_t n) {
  if constexpr (F::kHasVectors) {
    fold_vectors<F>(lanes, x, n);
  } else {
    for (size_t i = 0; i < n; i += kLanes) {
      for (size_t j = 0; j < kLanes; ++j) lanes[j] = F::join(lanes[j], x[i + j]);
    }
  }
}

// The tail is padded with the identity, which changes no lane: a sum of lanes that starts at +0 is never -0.
template <class F, typename T>
void fold_tile(ReduceState& state, const void* tile, size_t n) {
  T* lanes = reinterpret_cast<T*>(state.lanes);
  const T* x = static_cast<const T*>(tile);
  const size_t groups = n / kLanes * kLanes;
  fold<F>(lanes, x, groups);
  if (groups == n) return;
  T padded[kLanes];
  for (T& element : padded) element = F::kIdentity;
  std::memcpy(padded, x + groups, (n - groups) * sizeof(T));
  fold<F>(lanes, padded, kLanes);
}

template <class F, typename T>
void start(ReduceState& state) {
  T* lanes = reinterpret_cast<T*>(state.lanes);
  for (size_t j = 0; j < kLanes; ++j) lanes[j] = F::kIdentity;
}

/// Joins the lanes into the first of them.
template <class F, size_t kApart, typename T>
HWY_INLINE void join_all(T* lanes) {
  const hn::CappedTag<T, kApart> d;
  if constexpr (F::kHasVectors) {
    for (size_t j = 0; j < kApart; j += kLanesOf<decltype(d)>)
      hn::StoreU(F::join_lanes(hn::LoadU(d, lanes + j), hn::LoadU(d, lanes + j + kApart)), d, lanes + j);
  } else {
    for (size_t j = 0; j < kApart; ++j) lanes[j] = F::join(lanes[j], lanes[j + kApart]);
  }
  if constexpr (kApart > 1) join_all<F, kApart / 2>(lanes);
}

template <class F, typename T>
void finish(const ReduceState* states, void* out, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    alignas(64) T lanes[kLanes];
    std::memcpy(lanes, states[row].lanes, sizeof lanes);
    join_all<F, kLanes / 2>(lanes);
    static_cast<T*>(out)[row] = lanes[0];
  }
}

/// Rows that have no more elements than there are lanes: lane j holds element j, or nothing. A vector takes that
/// element of as many rows as it has lanes, and the vectors are joined as lanes are: the same bits in a tenth of the
/// time.
template <class F, typename T>
void fold_short_rows(T* out, const T* tile, size_t rows, size_t n) {
  const hn::CappedTag<T, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t kStep = kLanesOf<decltype(d)>;
  alignas(64) T elements[kLanes * kStep];
  for (size_t first = 0; first < rows; first += kStep) {
    const size_t count = rows - first < kStep ? rows - first : kStep;
    const T* from = tile + first * n;
    if (count < kStep) std::memset(elements, 0, sizeof elements);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < n; ++j) elements[j * kStep + i] = from[i * n + j];
    }
    const V identity = hn::Set(d, F::kIdentity);
    for (size_t j = 0; j < n; ++j)
      hn::Store(F::join_lanes(identity, hn::Load(d, elements + j * kStep)), d, elements + j * kStep);
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
      for (size_t j = 0; j < half && j + half < n; ++j) {
        const V a = hn::Load(d, elements + j * kStep), b = hn::Load(d, elements + (j + half) * kStep);
        hn::Store(F::join_lanes(a, b), d, elements + j * kStep);
      }
    }
    std::memcpy(out + first, elements, count * sizeof(T));
  }
}

template <class F, typename T>
void fold_rows(void* out, const void* tile, size_t rows, size_t n) {
  if constexpr (F::kHasVectors && sizeof(T) >= 4) {
    constexpr size_t kFew = 4;  // rows
    if (n > 0 && n <= kLanes && rows >= kFew)
      return fold_short_rows<F>(static_cast<T*>(out), static_cast<const T*>(tile), rows, n);
  }
  // Lanes are joined for several rows after one another, because each joining waits for the one before it.
  constexpr size_t kTogether = 8;
  for (size_t first = 0; first < rows; first += kTogether) {
    const size_t count = rows - first < kTogether ? rows - first : kTogether;
    ReduceState states[kTogether];
    for (size_t i = 0; i < count; ++i) {
      start<F, T>(states[i]);
      fold_tile<F, T>(states[i], static_cast<const T*>(tile) + (first + i) * n, n);
    }
    finish<F, T>(states, static_cast<T*>(out) + first, count);
  }
}

void round_results(DType dtype, void* out, size_t rows) {
  static const TileFn kRoundF16 = tile_cast(DType::f32, DType::f16), kRoundBf16 = tile_cast(DType::f32, DType::bf16);
  const void* from = out;
  (dtype == DType::f16 ? kRoundF16 : kRoundBf16)(out, &from, rows);
}
template <class F, DType kDType>
void fold_half_rows(void* out, const void* tile, size_t rows, size_t n) {
  fold_rows<F, float>(out, tile, rows, n);
  round_results(kDType, out, rows);
}

/// Calls action.template operator()<F, T>() for the reduction and the type of its lanes. Integers are added and
/// multiplied as unsigned, because they wrap.
template <class Action>
void with_reduction(Op op, DType dtype, Action action) {
  const auto with_types = [&]<typename T, typename Wrapping>() {
    if (op == Op::sum) return action.template operator()<Sum<Wrapping>, Wrapping>();
    if (op == Op::prod) return action.template operator()<Product<Wrapping>, Wrapping>();
    action.template operator()<Largest<T>, T>();
  };
  switch (dtype) {
    case DType::f64: return with_types.template operator()<double, double>();
    case DType::i32: return with_types.template operator()<int32_t, uint32_t>();
    case DType::i64: return with_types.template operator()<int64_t, uint64_t>();
    case DType::u8:
    case DType::boolean: return with_types.template operator()<uint8_t, uint8_t>();
    default: return with_types.template operator()<float, float>();
  }
}

}  // namespace

void reduce_tile_here(ReduceState& state, Op op, DType dtype, const void* tile, size_t n) {
  with_reduction(op, dtype, [&]<class F, typename T>() { fold_tile<F, T>(state, tile, n); });
}

void reduce_finish_here(const ReduceState* states, Op op, DType dtype, void* out, size_t rows) {
  with_reduction(op, dtype, [&]<class F, typename T>() { finish<F, T>(states, out, rows); });
  if (accumulator(dtype) != dtype) round_results(dtype, out, rows);
}

FoldFn find_fold_here(Op op, DType dtype) {
  FoldFn found = nullptr;
  with_reduction(op, dtype, [&]<class F, typename T>() {
    found = fold_rows<F, T>;
    if constexpr (std::is_same_v<T, float>) {
      if (dtype == DType::f16) found = fold_half_rows<F, DType::f16>;
      if (dtype == DType::bf16) found = fold_half_rows<F, DType::bf16>;
    }
  });
  return found;
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(reduce_tile_here);
HWY_EXPORT(reduce_finish_here);
HWY_EXPORT(find_fold_here);

void reduce_start(ReduceState& state, ir::Op op, DType dtype) {
  using namespace HWY_NAMESPACE;
  with_reduction(op, dtype, [&]<class F, typename T>() { start<F, T>(state); });
}

void reduce_tile(ReduceState& state, ir::Op op, DType dtype, const void* tile, size_t n) {
  HWY_DYNAMIC_DISPATCH(reduce_tile_here)(state, op, dtype, tile, n);
}

void reduce_block(ReduceState& blocks, ReduceState& block, ir::Op op, DType dtype) {
  reduce_tile(blocks, op, accumulator(dtype), block.lanes, kLanes);
  reduce_start(block, op, dtype);
}

void reduce_finish(const ReduceState* states, ir::Op op, DType dtype, void* out, size_t rows) {
  HWY_DYNAMIC_DISPATCH(reduce_finish_here)(states, op, dtype, out, rows);
}

FoldFn tile_fold(ir::Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_fold_here)(op, dtype); }

}  // namespace tenon::backends::cpu
#endif
