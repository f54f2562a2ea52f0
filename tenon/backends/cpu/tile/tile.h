// The vector instructions of the CPU device: what a tile program is made of.
//
// A tile is a run of some hundred or thousand elements in a register-like buffer. Every instruction is one call over a
// whole tile (about 5 ns to dispatch, measured), written once with Highway and dispatched at run time to the best
// instruction set. In a tile f16 and bf16 elements are floats that have been rounded to their dtype; bool and u8 are
// bytes.

#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/ir/attrs.h"
#include "tenon/ir/dtype.h"
#include "tenon/ir/op.h"

namespace tenon::backends::cpu {

/// Elements that an instruction which needs memory of its own works on at a time.
inline constexpr size_t kTile = 512;
/// Bytes of so many of the widest elements.
inline constexpr size_t kTileBytes = kTile * 8;

/// Bytes of an element inside a tile: 4 for f32, f16, bf16 and i32, 8 for f64 and i64, 1 for u8 and bool.
size_t tile_element_size(DType dtype);

/// out[i] = op(in[0][i], in[1][i], ...) for i < n.
using TileFn = void (*)(void* out, const void* const* in, size_t n);

/// The instruction of an elementwise op on operands of this dtype (of the branches, for where); null if there is none.
TileFn tile_function(ir::Op op, DType dtype);
/// The instruction of an elementwise op, conversions included; fails, naming the op, where there is none.
TileFn tile_instruction(ir::Op op, DType operand, DType result);
/// The elementwise op that folds one more element into a reduction.
constexpr ir::Op folding(ir::Op op) {
  return op == ir::Op::sum ? ir::Op::add : op == ir::Op::prod ? ir::Op::mul : ir::Op::maximum;
}
/// tile_function for a tile of `rows` rows of n elements each, and an op whose operand `which` has one element for a
/// row; null where there is none.
using RowsFn = void (*)(void* out, const void* const* in, size_t rows, size_t n);
RowsFn tile_function_with_numbers(ir::Op op, DType dtype, size_t which);
/// Conversion between tiles of two dtypes, rounding as the reference device does.
TileFn tile_cast(DType from, DType to);
/// Reinterprets the bits of a tile as another dtype of the same storage size.
TileFn tile_bitcast(DType from, DType to);

/// Memory to tile and back, `stride` in elements (1: contiguous, 0: one element repeated); converts storage to tile
/// form.
using LoadFn = void (*)(void* tile, const std::byte* from, int64_t stride, size_t n);
using StoreFn = void (*)(std::byte* to, int64_t stride, const void* tile, size_t n);
LoadFn tile_load(DType dtype);
StoreFn tile_store(DType dtype);
/// Past the caches, for results that no cache could keep; not for 16-bit floats. Others see it after a fence.
StoreFn tile_stream(DType dtype);
void tile_fence();
/// tile[i] = from[i * step + index[i] * stride] in tile form, the index i32 or i64; 0 where the index is not in
/// 0 ... size - 1, and false then.
using PickFn = bool (*)(void* tile, const std::byte* from, int64_t step, const std::byte* index, int64_t stride,
                        int64_t size, size_t n);
PickFn tile_pick(DType dtype, DType index);
/// Writes n copies of a number in tile form.
void tile_fill(void* tile, DType dtype, double real, int64_t whole, size_t n);
/// tile[i] = start + i * step as i32 or i64, or converted to any other dtype.
void tile_ramp(void* tile, DType dtype, int64_t start, int64_t step, size_t n);
/// 32-bit Philox words position, position + 1, ... of the stream `seed` (ir/philox.h), as i32.
void tile_philox(void* tile, uint64_t seed, uint64_t position, size_t n);

/// A reduction in progress: element j of a row is folded into lane j % kLanes, and the lanes are joined pairwise at the
/// end. In a long row every block of kBlock elements has lanes of its own, which are added up block after block: one
/// sum would lose the last digits of what is added to it. The order depends on the row length only: not on tiles,
/// vector width, threads or neighbours.
inline constexpr size_t kLanes = 16;
inline constexpr int64_t kBlock = 1024, kLongestWithoutBlocks = 8192;
constexpr bool folds_in_blocks(int64_t row_size) { return row_size > kLongestWithoutBlocks; }
struct alignas(64) ReduceState {
  std::byte lanes[kLanes * 8];
};
/// 16-bit dtypes accumulate in f32 (sum, prod) and are rounded by reduce_finish.
void reduce_start(ReduceState& state, ir::Op op, DType dtype);
/// Folds elements position..position+n-1 of the row in; position is a multiple of kLanes.
void reduce_tile(ReduceState& state, ir::Op op, DType dtype, const void* tile, size_t n);
/// Folds the lanes of a block into those of the blocks before it, and starts it anew.
void reduce_block(ReduceState& blocks, ReduceState& block, ir::Op op, DType dtype);
/// Writes the results of `rows` reductions, one element each, in tile form.
void reduce_finish(const ReduceState* states, ir::Op op, DType dtype, void* out, size_t rows = 1);
/// All of it for a tile of whole rows of n elements each: the same bits.
using FoldFn = void (*)(void* out, const void* tile, size_t rows, size_t n);
FoldFn tile_fold(ir::Op op, DType dtype);

}  // namespace tenon::backends::cpu
