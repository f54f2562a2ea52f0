// A stable sort of lines of whole numbers, for kernels that need an order: sort itself, and scatter_add.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/codegen/builder.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

/// A buffer of a kernel and what is bound to it.
struct BoundBuffer {
  codegen::Scalar element = codegen::Scalar::u32;
  codegen::Dispatch::Binding binding;
};

/// Lines of keys, smallest first. Line numbers are of type `index`, places in a line u32.
struct LineSort {
  std::string name;  // with which the names of its kernels begin
  int64_t lines = 1, length = 0;
  codegen::Scalar key = codegen::Scalar::u32;  // or u64
  codegen::Scalar index = codegen::Scalar::u32;
  uint32_t scratch = 0;  // the argument that is scratch memory
  /// Buffers of `key_at`, numbered from 0 on, and behind them those that `put` alone needs.
  std::vector<BoundBuffer> reads, writes;
  std::function<codegen::Id(codegen::Builder&, codegen::Id line, codegen::Id place)> key_at;
  /// Called with the place in the sorted line of what was at `position`. Without it, keys and positions are left in
  /// scratch memory.
  std::function<void(codegen::Builder&, codegen::Id line, codegen::Id place, codegen::Id position)> put;
};

/// Where keys and positions lie in scratch memory: elements of their types before the first one.
struct Sorted {
  int64_t keys = 0, positions = 0;
};

/// Adds the dispatches, and the scratch memory they need, which begins at its first byte.
Sorted add_sort(codegen::Module& to, const LineSort& sort, const ir::Limits& limits);

}  // namespace tenon::kernels
