// Batches of matrix products.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// What a block computes of a product, and what each of its threads does. None of it changes a bit: an element is
/// summed in the order of the inner dimension, whatever its tile.
struct ProductTile {
  uint32_t rows, columns, depth;         // of a block
  uint32_t thread_rows, thread_columns;  // of a thread: 1, 2 or a multiple of 4
  uint32_t threads() const { return rows / thread_rows * (columns / thread_columns); }
};

/// The tiles that suit a device, best for large products first.
std::vector<ProductTile> product_tiles(const ir::Limits& limits);
ProductTile choose_tile(int64_t batches, int64_t rows, int64_t columns, const ir::Limits& limits);

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits, const ProductTile& tile);

}  // namespace tenon::kernels
