// Matrix products: what the parts of `contract` hand each other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tenon/backends/cpu/calls/calls.h"

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

/// On the calling thread, with sums in f32 or f64. Every element is summed in the same blocks along k, whatever the
/// rectangle: cutting a product into rectangles changes no bit.
void multiply_f32(const Product& product);
void multiply_f64(const Product& product);
/// How long those blocks are for this many elements of k.
int64_t depth_of_products(int64_t k);
/// The same for integers, which wrap around.
void multiply_integers(const Product& product);
/// Adds one row to all rows, `step` elements apart, and takes the larger of that and 0 for relu: the bits of the ops.
void add_row(const float* row, float* sums, int64_t step, int64_t rows, int64_t columns, bool relu);

/// Told that rows x columns of a finished result, all batches counted as rows, are complete: on the thread that made
/// them, or that added up what several have made.
using Finished = std::function<void(int64_t row, int64_t rows, int64_t column, int64_t columns)>;

/// A product that can tell of its progress.
class ContractKernel : public CallKernel {
 public:
  void run(const Arguments& args) const override {
    multiply(args[0], args[1], args[2], scratch_bytes() > 0 ? args[3] : nullptr, nullptr);
  }
  /// `scratch` is memory of scratch_bytes(); `finished` may be null.
  virtual void multiply(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
                        const Finished* finished) const = 0;
};

/// Which library computes float products, and convolutions.
enum class MatmulEngine : uint8_t { automatic, own, onednn, amx };
/// TENON_MATMUL=own, onednn or amx takes one library where it can, to compare them: own is vectors only.
MatmulEngine chosen_engine();
bool has_onednn();

/// contract with a chosen engine; `automatic` is what compile_call takes.
std::unique_ptr<CallKernel> compile_contract_with(const ir::Call& call, MatmulEngine engine);
/// The same around a product of f32 sums: adds what the call's epilogue says, rounds, writes.
std::unique_ptr<CallKernel> compile_epilogue(const ir::Call& call, std::unique_ptr<ContractKernel> product);

}  // namespace tenon::backends::cpu
