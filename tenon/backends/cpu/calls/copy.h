// Copies between two strided views of the same shape: what `contiguous`, `store` and packing are made of.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tenon/ir/shape.h"
#include "tenon/ir/view.h"

namespace tenon::backends::cpu {

/// to[index . to_strides] = from[index . from_strides] for every index of a shape; strides are in elements and may be 0
/// or negative. The shape is brought to its simplest form once; a run picks memcpy, fill, transposition or single
/// elements.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(const Dims& shape, const Dims& from_strides, const Dims& to_strides, size_t element_bytes);

  /// Both point at element (0, ..., 0). In parallel when there is enough to do.
  void run(const std::byte* from, std::byte* to) const;
  /// The same on the calling thread, for copies inside a parallel region.
  void run_here(const std::byte* from, std::byte* to) const;

 private:
  enum class Kind : uint8_t { empty, rows, fill, transpose, elements };
  struct Axis {
    int64_t size, from, to;
  };

  void simplify(const Dims& shape, const Dims& from_strides, const Dims& to_strides);
  void run_items(const std::byte* from, std::byte* to, int64_t begin, int64_t end) const;
  void run_item(const std::byte* from, std::byte* to, int64_t block, int64_t column_block) const;

  Kind kind_ = Kind::empty;
  size_t bytes_ = 1;                  // of an element
  bool ordered_ = false;              // elements of the target coincide: the last one in row-major order stays
  base::SmallVector<Axis, 4> outer_;  // walked one index at a time
  Axis row_{1, 0, 0};                 // the innermost axis of the target, in blocks of block_
  Axis column_{1, 0, 0};              // transpose: the innermost axis of the source; else the one over a short row
  int64_t block_ = 1, column_block_ = 1;
  int64_t blocks_ = 1, column_blocks_ = 1;
  int64_t items_ = 0;  // outer indices times blocks: what threads share
};

/// Brings any index map into row-major order; padding becomes zero.
class Packer {
 public:
  Packer() = default;
  Packer(const ir::IndexMap& map, size_t element_bytes);
  void run(const std::byte* buffer, std::byte* to) const;

 private:
  enum class Kind : uint8_t { strided, padded, one_by_one };

  void plan(std::span<const ir::View> views);
  void copy_one_by_one(const std::byte* buffer, std::byte* to) const;

  Kind kind_ = Kind::strided;
  size_t bytes_ = 1;
  int64_t count_ = 0;
  int64_t from_offset_ = 0, to_offset_ = 0;  // of the copied box
  StridedCopy copy_;
  std::shared_ptr<const Packer> lower_;  // of the views below, when one copy cannot look through them
  ir::IndexMap map_;
};

}  // namespace tenon::backends::cpu
