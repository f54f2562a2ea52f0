// Integer products. They wrap around, so any order gives the same bits; rare enough to be left to the compiler.

#include <algorithm>
#include <type_traits>

#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/scratch.h"

namespace tenon::backends::cpu {
namespace {

template <typename In, typename Out>
void multiply(const Product& p) {
  using Sum = std::make_unsigned_t<std::conditional_t<(sizeof(Out) > 4), int64_t, int32_t>>;
  const In* a = reinterpret_cast<const In*>(p.a);
  const In* b = reinterpret_cast<const In*>(p.b);
  const Scratch scratch(static_cast<size_t>(p.n) * sizeof(Sum));
  Sum* sums = scratch.as<Sum>();
  for (int64_t row = 0; row < p.m; ++row) {
    std::fill_n(sums, p.n, Sum{0});
    for (int64_t k = 0; k < p.k; ++k) {
      const auto left = static_cast<Sum>(a[row * p.a_row + k * p.a_column]);
      const In* right = b + k * p.b_row;
      for (int64_t j = 0; j < p.n; ++j) sums[j] += left * static_cast<Sum>(right[j * p.b_column]);
    }
    Out* to = reinterpret_cast<Out*>(p.c) + row * p.c_row;
    for (int64_t j = 0; j < p.n; ++j) to[j] = static_cast<Out>(sums[j]);
  }
}

}  // namespace

void multiply_integers(const Product& product) {
  dispatch(product.in, [&]<typename In>() {
    dispatch(product.out, [&]<typename Out>() {
      constexpr bool kWhole = std::is_integral_v<In> && std::is_integral_v<Out>;
      if constexpr (kWhole && !std::is_same_v<In, bool> && !std::is_same_v<Out, bool>) multiply<In, Out>(product);
    });
  });
}

}  // namespace tenon::backends::cpu
