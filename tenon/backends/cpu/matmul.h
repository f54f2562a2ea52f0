// Matrix products: what the parts of `contract` hand each other.

#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backends/cpu/calls.h"

namespace tenon::backends::cpu {

/// A rectangle of one product (m, k) x (k, n); a, b and c point at its first elements. Strides are in elements.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  int64_t a_row = 0, a_column = 0;
  int64_t b_row = 0, b_column = 0;
  int64_t c_row = 0;
  DType in = DType::f32, out = DType::f32;
};

/// On the calling thread, with sums in f32 or f64. Every element is summed in blocks of kDepth along k, whatever the
/// rectangle: cutting a product into rectangles changes no bit.
void multiply_f32(const Product& product);
void multiply_f64(const Product& product);
/// The same for integers, which wrap around.
void multiply_integers(const Product& product);

/// Which library computes float products.
enum class MatmulEngine : uint8_t { automatic, own, onednn, amx };
bool has_onednn();

/// contract with a chosen engine; `automatic` is what compile_call takes.
std::unique_ptr<CallKernel> compile_contract_with(const ir::Call& call, MatmulEngine engine);

}  // namespace tenon::backends::cpu
