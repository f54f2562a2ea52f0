// What a device can do, as plain data: part of every plan and of every cache key.

#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>

#include "tenon/ir/dtype.h"
#include "tenon/ir/op.h"

namespace tenon::ir {

/// A set of ops, or of any other small enumeration.
template <typename T>
class EnumSet {
 public:
  EnumSet() = default;
  EnumSet(std::initializer_list<T> members) {
    for (const T member : members) bits_.set(static_cast<size_t>(member));
  }
  bool contains(T member) const { return bits_.test(static_cast<size_t>(member)); }
  void insert(T member) { bits_.set(static_cast<size_t>(member)); }
  bool empty() const { return bits_.none(); }
  bool operator==(const EnumSet&) const = default;

 private:
  std::bitset<128> bits_;
};

/// Buffers that a code generator may bind beyond Limits::max_buffers, for what it keeps between dispatches.
inline constexpr uint32_t kScratchBuffers = 4;

/// The defaults are those of the cpu device, which also looks up inside kernels.
struct Limits {
  bool one_op_per_kernel = false;  // the reference device: every op is a call of its own
  bool fuses = true;               // false: every op is a kernel of its own, to compare bits against

  // What fusion keeps to.
  uint32_t max_buffers = 32;        // bound to one kernel, read and written; at least 4
  uint32_t max_instructions = 160;  // of one kernel
  uint32_t few_rows = 16;           // fewer rows than this leave it idle where a kernel works row by row
  uint32_t column_blocks = 32;      // parts in which a sum over all rows is taken, so that they can be shared out

  // Memory.
  uint32_t alignment = 64;              // bytes: offsets of buffers inside an arena, and of kernel arguments
  uint64_t max_binding = ~uint64_t{0};  // bytes of one buffer that a kernel can reach

  // What it lacks. Such calls are taken apart by the planner. f64 is refused by name; other dtypes are made of what
  // there is by the code generator (an i64 of two halves, a bf16 as f32).
  EnumSet<Op> missing_calls;
  EnumSet<DType> missing_dtypes;
  bool gathers_inside = false;  // rows of a table are looked up by the kernel that needs them; always without the call

  // What it has beyond the calls. An activation that a product computes itself is not bit-equal to the recorded ops.
  uint32_t product_granule = 1;  // 16-bit products are quick where large sizes are multiples of it, and small ones of 8
  bool tf32 = false;             // products of f32 may round their operands to it, where the program allows that
  bool gelu_epilogue = false;    // products of 16-bit results give gelu of their sums
  bool relu_epilogue = false;    // products of f32 with a bias give the larger of their sums and 0, which is bit-equal
  bool conv_epilogue = false;    // convolutions of f32 add a bias, and with the above give the larger of that and 0
  bool slope_epilogue = false;   // and multiply them by its slope; a kernel that does both for backward may be quicker
  bool channels_last = false;    // convolutions whose channels come last, though it lacks those of other images

  bool looks_up_inside() const { return gathers_inside || missing_calls.contains(Op::gather); }

  // For code generators.
  uint32_t max_threads = 1;      // of one block
  uint32_t subgroup = 1;         // threads that run in step
  uint32_t processors = 1;       // blocks that run at once
  uint32_t shared_bytes = 0;     // of one block
  uint32_t vector = 1;           // neighbouring elements that one thread takes
  bool has_fma = false;          // as quick as a product
  EnumSet<DType> tile_dtypes;    // of matrix tiles: 16 x 16 x 16 products of these, summed in f32 by a subgroup
  bool scarce_shared = false;    // blocks with tiles that take little of it are many on a processor
  bool has_tile_places = false;  // a thread knows which numbers of a tile it holds (codegen::TilePlace)

  bool operator==(const Limits&) const = default;
};

}  // namespace tenon::ir
