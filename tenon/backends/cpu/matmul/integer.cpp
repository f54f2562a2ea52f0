// Integer products. They wrap around, so any order gives the same bits: sums stay in registers, a few rows by two
// vectors of columns, while a packed strip of the right operand passes by.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/matmul/integer.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kVectors = 2, kRows = 4;

// Few machines multiply words of 64 bits: elsewhere of halves.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V times(D d, V a, V b) {
  if constexpr (HWY_TARGET <= HWY_AVX3 || sizeof(hn::TFromD<D>) == 4) {
    return hn::Mul(a, b);
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, hn::GetLane(a) * hn::GetLane(b));
#else
    const hn::Repartition<uint32_t, D> halves;
    const auto low = [&](V x) { return hn::BitCast(halves, x); };
    const auto high = [&](V x) { return hn::BitCast(halves, hn::ShiftRight<32>(x)); };
    const V crossed = hn::Add(hn::MulEven(high(a), low(b)), hn::MulEven(low(a), high(b)));
    return hn::Add(hn::MulEven(low(a), low(b)), hn::ShiftLeft<32>(crossed));
#endif
  }
}

// So many rows of the left operand times a strip: k rows of kVectors vectors.
template <int64_t kCount, typename In, typename Sum, typename Out>
void multiply_strip(const Product& p, int64_t row, const Sum* strip, int64_t column, int64_t columns) {
  const hn::ScalableTag<Sum> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kStep = static_cast<int64_t>(kLanesOf<decltype(d)>);
  const In* left = reinterpret_cast<const In*>(p.a) + row * p.a_row;
  V sums[kCount][kVectors];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kCount; ++i) sums[i][0] = sums[i][1] = hn::Zero(d);
  for (int64_t k = 0; k < p.k; ++k, left += p.a_column, strip += kVectors * kStep) {
    const V first = hn::LoadU(d, strip), second = hn::LoadU(d, strip + kStep);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kCount; ++i) {
      const V element = hn::Set(d, static_cast<Sum>(left[i * p.a_row]));
      sums[i][0] = hn::Add(sums[i][0], times(d, element, first));
      sums[i][1] = hn::Add(sums[i][1], times(d, element, second));
    }
  }
  alignas(64) Sum finished[kVectors * kStep];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kCount; ++i) {
    hn::StoreU(sums[i][0], d, finished);
    hn::StoreU(sums[i][1], d, finished + kStep);
    Out* to = reinterpret_cast<Out*>(p.c) + (row + i) * p.c_row + column;
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<Out>(finished[j]);
  }
}

template <typename In, typename Out>
void multiply(const Product& p) {
  using Sum = std::make_unsigned_t<std::conditional_t<(sizeof(Out) > 4), int64_t, int32_t>>;
  constexpr auto kColumns = kVectors * static_cast<int64_t>(kLanesOf<hn::ScalableTag<Sum>>);
  const In* b = reinterpret_cast<const In*>(p.b);
  const Scratch scratch(static_cast<size_t>(p.k * kColumns) * sizeof(Sum));
  Sum* strip = scratch.as<Sum>();
  for (int64_t column = 0; column < p.n; column += kColumns) {
    const int64_t columns = std::min(kColumns, p.n - column);
    for (int64_t k = 0; k < p.k; ++k) {
      const In* from = b + k * p.b_row + column * p.b_column;
      Sum* to = strip + k * kColumns;
      for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<Sum>(from[j * p.b_column]);
      std::fill(to + columns, to + kColumns, Sum{0});
    }
    int64_t row = 0;
    for (; row + kRows <= p.m; row += kRows) multiply_strip<kRows, In, Sum, Out>(p, row, strip, column, columns);
    for (; row < p.m; ++row) multiply_strip<1, In, Sum, Out>(p, row, strip, column, columns);
  }
}

}  // namespace

void multiply_integers_here(const Product& product) {
  dispatch(product.in, [&]<typename In>() {
    dispatch(product.out, [&]<typename Out>() {
      constexpr bool kWhole = std::is_integral_v<In> && std::is_integral_v<Out>;
      if constexpr (kWhole && !std::is_same_v<In, bool> && !std::is_same_v<Out, bool>) multiply<In, Out>(product);
    });
  });
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(multiply_integers_here);

void multiply_integers(const Product& product) { HWY_DYNAMIC_DISPATCH(multiply_integers_here)(product); }

}  // namespace tenon::backends::cpu
#endif
