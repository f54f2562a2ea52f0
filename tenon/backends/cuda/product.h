// Which products cuBLASLt takes, and as which calls. Pure: what is decided follows from the call and the limits.
//
// The bits of a product are to be the same with and without an epilogue, alone and in a plan. So sums over parts of the
// inner dimension are never the library's own choice: it is asked for algorithms without any, and where a device would
// idle the parts are ours, as in our own kernels, and added in order by a kernel of ours that also finishes the sums.
// What the library does beyond sums (a bias, a matrix that is added, the rounding to 16 bits) it does where that gives
// the bits of the recorded ops; gelu and its slope it computes as well as they do.
//
// Its 16-bit kernels fall off a cliff where memory is not aligned to 16 bytes or a dimension is no multiple of 8
// (768 -> 50257 took 26.7 ms where 50256 takes 3.4 on an H200). The inner dimension, and rows that lie side by side in
// memory, are cut into such a multiple and a rest; what has odd strides is for our own kernels.

#pragma once

#include <optional>
#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::backends::cuda {

/// One operand of a call, as the library sees it: columns lie side by side.
struct Matrix {
  DType dtype = DType::f32;
  uint32_t arg = 0;          // of the launch
  int64_t offset = 0;        // bytes behind the beginning of the argument
  int64_t leading = 0;       // elements from one column to the next
  int64_t batch_stride = 0;  // elements
  bool is_transposed = false;
};

/// result (columns x rows of ours) = right (columns x depth) * left (depth x rows), in the library's order: row-major
/// matrices of ours are its columns.
struct LtCall {
  int64_t rows = 0, columns = 0, depth = 0, batches = 1;  // of ours
  Matrix left, right, result;
  bool tf32 = false;            // operands of f32 are rounded to it
  std::optional<Matrix> added;  // a matrix of the result's shape
  std::optional<Matrix> bias;   // a row of ours; neither leading nor batch_stride
  ir::Epilogue::Activation activation = ir::Epilogue::Activation::none;
  std::optional<Matrix> aux;   // of the result's shape: what gelu is taken of, written, or its slope, read
  bool writes_results = true;  // not sums into scratch memory
  bool is_part = false;        // of the inner dimension: sums in f32, whatever follows the product
};

struct Product {
  std::vector<LtCall> calls;  // in order
  codegen::Module rest;       // our own kernels behind them, and all of the scratch memory but workspaces
  uint32_t scratch_arg = 0;   // where it comes
};

/// A way of so many numbers is an algorithm of the library (lt_product.h); tiles of our own kernels have six.
inline constexpr size_t kNumbersOfAlgorithm = 7;

/// None where our own kernels do all of it, and where a tile of theirs is wanted.
std::optional<Product> plan_product(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::backends::cuda
