// The links of chains.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/chain.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <cmath>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/chain.h"
#include "tenon/backends/cpu/tile/math-inl.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using ir::Op;

struct Neg {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32, Floats (&x)[kCount]) {
#pragma GCC unroll 8
    for (Floats& v : x) v = hn::Neg(v);
  }
};
struct Sqrt {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32, Floats (&x)[kCount]) {
#pragma GCC unroll 8
    for (Floats& v : x) v = hn::Sqrt(v);
  }
};
struct Add {
  static HWY_INLINE Floats run(F32, Floats a, Floats b) { return hn::Add(a, b); }
};
struct Mul {
  static HWY_INLINE Floats run(F32, Floats a, Floats b) { return hn::Mul(a, b); }
};
struct Div {
  static HWY_INLINE Floats run(F32, Floats a, Floats b) { return hn::Div(a, b); }
};

// As tile/arithmetic.cpp has it.
struct Maximum {
  static HWY_INLINE Floats run(F32, Floats a, Floats b) {
    const Floats larger = hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
    return hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
  }
};

// Eight vectors of what needs many registers would not fit into them.
template <class F>
struct ByFours {
  template <size_t kCount>
  static HWY_INLINE void run_all(F32 d, Floats (&x)[kCount]) {
    constexpr size_t kGroup = kCount < 4 ? kCount : 4;
#pragma GCC unroll 2
    for (size_t first = 0; first < kCount; first += kGroup) {
      Floats group[kGroup];
#pragma GCC unroll 4
      for (size_t i = 0; i < kGroup; ++i) group[i] = x[first + i];
      F::run_all(d, group);
#pragma GCC unroll 4
      for (size_t i = 0; i < kGroup; ++i) x[first + i] = group[i];
    }
  }
};

constexpr size_t kStep = kLanesOf<F32>;
// Vectors at hand: as many as are passed in registers, but with 16 registers some must be left to compute with.
constexpr size_t kVectors = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;
constexpr size_t kWidth = kVectors * kStep;

template <class Numbers>
struct Links;

template <size_t... kAt>
struct Links<std::index_sequence<kAt...>> {
  template <size_t>
  using Vector = Floats;
  using Fn = void (*)(const Link*, size_t, size_t, size_t, Vector<kAt>...);

  static HWY_INLINE void next(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    return reinterpret_cast<Fn>(link[1].run)(link + 1, i, row, column, v...);
  }
  static HWY_INLINE const float* elements(const Link* link, size_t i) {
    return static_cast<const float*>(link->in) + i;
  }
  static HWY_INLINE float* results(const Link* link, size_t i) { return static_cast<float*>(link->out) + i; }

  template <class F>
  static void apply(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    Floats all[] = {v...};
    F::run_all(F32(), all);
    return next(link, i, row, column, all[kAt]...);
  }
  template <class F>
  static void apply_twice(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    return next(link, i, row, column, F::run(d, v, v)...);
  }
  template <class F, bool kFirst>
  static void apply_elements(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    const float* y = elements(link, i);
    if constexpr (kFirst) return next(link, i, row, column, F::run(d, v, hn::LoadU(d, y + kAt * kStep))...);
    return next(link, i, row, column, F::run(d, hn::LoadU(d, y + kAt * kStep), v)...);
  }
  template <class F, bool kFirst>
  static void apply_number(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    const Floats number = hn::Set(d, *elements(link, row));
    if constexpr (kFirst) return next(link, i, row, column, F::run(d, v, number)...);
    return next(link, i, row, column, F::run(d, number, v)...);
  }

  // Beside a number that is neither NaN nor -0 one comparison gives the same bits.
  template <bool kFirst>
  static void apply_largest(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    const float single = *elements(link, row);
    const Floats number = hn::Set(d, single);
    if (single == single && !(single == 0 && std::signbit(single)))
      return next(link, i, row, column, hn::IfThenElse(hn::Le(v, number), number, v)...);
    if constexpr (kFirst) return next(link, i, row, column, Maximum::run(d, v, number)...);
    return next(link, i, row, column, Maximum::run(d, number, v)...);
  }

  static void load(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>...) {
    const F32 d;
    const float* from = elements(link, i);
    return next(link, i, row, column, hn::LoadU(d, from + kAt * kStep)...);
  }
  static void store(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    float* to = results(link, i);
    (hn::StoreU(v, d, to + kAt * kStep), ...);
    return next(link, i, row, column, v...);
  }
  static void stream(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    float* to = results(link, i);
    (hn::Stream(v, d, to + kAt * kStep), ...);
    return next(link, i, row, column, v...);
  }
  // Element j joins lane j % kLanes, in ascending order of j. A vector has some of the lanes; where the vectors at hand
  // are fewer than have them all, they begin with those of the column.
  static void sum(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    const Floats all[] = {v...};
    constexpr size_t kStateFloats = sizeof(ReduceState) / sizeof(float);
    constexpr size_t kApart = kWidth % kLanes == 0 ? kLanes / kStep : kVectors;
    float* lanes = results(link, row * kStateFloats + (kApart == kVectors ? column % kLanes : 0));
#pragma GCC unroll 8
    for (size_t first = 0; first < kApart; ++first) {
      Floats total = hn::LoadU(d, lanes + first * kStep);
#pragma GCC unroll 8
      for (size_t j = first; j < kVectors; j += kApart) total = hn::Add(total, all[j]);
      hn::StoreU(total, d, lanes + first * kStep);
    }
    return next(link, i, row, column, v...);
  }
  static void column_sum(const Link* link, size_t i, size_t row, size_t column, Vector<kAt>... v) {
    const F32 d;
    float* sums = results(link, column);
    (hn::StoreU(hn::Add(hn::LoadU(d, sums + kAt * kStep), v), d, sums + kAt * kStep), ...);
    return next(link, i, row, column, v...);
  }
  static void end(const Link*, size_t, size_t, size_t, Vector<kAt>...) {}

  static void run(const Link* links, size_t rows, size_t n) {
    const auto first = reinterpret_cast<Fn>(links[0].run);
    const auto none = [](size_t) HWY_ATTR { return hn::Zero(F32()); };
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < n; column += kWidth) first(links, row * n + column, row, column, none(kAt)...);
    }
    // Clears the upper halves of the vector registers. GCC leaves that out of functions that pass vectors on to
    // others, as links do. While they hold something, every SSE instruction of the rest of the program waits for them:
    // 343 against 93 ns for a short chain and 20 additions.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    _mm256_zeroupper();
#endif
  }

  static LinkFn erased(Fn link) { return reinterpret_cast<LinkFn>(link); }

  template <class F>
  static LinkFn one(LinkForm form) {
    return form == LinkForm::v ? erased(apply<F>) : nullptr;
  }
  template <class F>
  static LinkFn two(LinkForm form) {
    switch (form) {
      case LinkForm::v_v: return erased(apply_twice<F>);
      case LinkForm::v_elements: return erased(apply_elements<F, true>);
      case LinkForm::elements_v: return erased(apply_elements<F, false>);
      case LinkForm::v_number: return erased(apply_number<F, true>);
      case LinkForm::number_v: return erased(apply_number<F, false>);
      default: return nullptr;
    }
  }
  static LinkFn maximum(LinkForm form) {
    if (form == LinkForm::v_number) return erased(apply_largest<true>);
    return form == LinkForm::number_v ? erased(apply_largest<false>) : two<Maximum>(form);
  }
};
using AllLinks = Links<std::make_index_sequence<kVectors>>;

}  // namespace

LinkFn link_of_here(Op op, LinkForm form) {
  switch (op) {
    case Op::neg: return AllLinks::one<Neg>(form);
    case Op::sqrt: return AllLinks::one<Sqrt>(form);
    case Op::exp: return AllLinks::one<Exp>(form);
    case Op::tanh: return AllLinks::one<ByFours<Tanh>>(form);
    case Op::erf: return AllLinks::one<ByFours<Erf>>(form);
    case Op::add: return AllLinks::two<Add>(form);
    case Op::mul: return AllLinks::two<Mul>(form);
    case Op::div: return AllLinks::two<Div>(form);
    case Op::maximum: return AllLinks::maximum(form);
    default: return nullptr;
  }
}

LinkFn link_load_here() { return AllLinks::erased(AllLinks::load); }
LinkFn link_store_here() { return AllLinks::erased(AllLinks::store); }
LinkFn link_stream_here() { return AllLinks::erased(AllLinks::stream); }
LinkFn link_sum_here() { return AllLinks::erased(AllLinks::sum); }
LinkFn link_column_sum_here() { return AllLinks::erased(AllLinks::column_sum); }
LinkFn link_end_here() { return AllLinks::erased(AllLinks::end); }
size_t chain_width_here() { return kWidth; }
void run_chain_here(const Link* links, size_t rows, size_t n) { AllLinks::run(links, rows, n); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(link_of_here);
HWY_EXPORT(link_load_here);
HWY_EXPORT(link_store_here);
HWY_EXPORT(link_stream_here);
HWY_EXPORT(link_sum_here);
HWY_EXPORT(link_column_sum_here);
HWY_EXPORT(link_end_here);
HWY_EXPORT(chain_width_here);
HWY_EXPORT(run_chain_here);

LinkFn link_of(ir::Op op, LinkForm form) { return HWY_DYNAMIC_DISPATCH(link_of_here)(op, form); }
LinkFn link_load() { return HWY_DYNAMIC_DISPATCH(link_load_here)(); }
LinkFn link_store() { return HWY_DYNAMIC_DISPATCH(link_store_here)(); }
LinkFn link_stream() { return HWY_DYNAMIC_DISPATCH(link_stream_here)(); }
LinkFn link_sum() { return HWY_DYNAMIC_DISPATCH(link_sum_here)(); }
LinkFn link_column_sum() { return HWY_DYNAMIC_DISPATCH(link_column_sum_here)(); }
LinkFn link_end() { return HWY_DYNAMIC_DISPATCH(link_end_here)(); }
size_t chain_width() { return HWY_DYNAMIC_DISPATCH(chain_width_here)(); }
void run_chain(const Link* links, size_t rows, size_t n) { HWY_DYNAMIC_DISPATCH(run_chain_here)(links, rows, n); }

}  // namespace tenon::backends::cpu
#endif
