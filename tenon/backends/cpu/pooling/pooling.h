// Windows over planes, as the loops that find or spread their largest elements see them.
//
// A plane is cut into sub-planes, one for every remainder of its rows and columns by the stride, whose rows are as long
// as one row of windows and what hangs over. All windows of a band of rows are then one run, in which an element of the
// window (a tap) is a distance: short rows fill whole vectors, whatever the stride.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/ir/attrs.h"

namespace tenon::backends::cpu {

struct PoolTap {
  int64_t sub_plane, row_shift, column_shift;
};

struct PoolPlan {
  int64_t planes = 0;
  ir::ConvAxis rows, columns;
  std::vector<PoolTap> taps;  // row by row
  int64_t most_row_shift = 0;
  int64_t pitch = 1;         // elements from row to row
  bool overlaps = false;     // an element may be in several windows
  bool has_padding = false;  // before the first element of a row or column

  int64_t sub_planes() const { return rows.stride * columns.stride; }
  int64_t image() const { return rows.image * columns.image; }
  int64_t out() const { return rows.out * columns.out; }
};

PoolPlan plan_pool(const ir::PoolAttrs& attrs, int64_t planes);

/// `places` are u8 or i32, as attrs.place_dtype() says.
struct PoolProblem {
  const PoolPlan* plan = nullptr;
  const std::byte* in = nullptr;  // images, or numbers for windows
  std::byte* out = nullptr;       // the other
  std::byte* places = nullptr;    // written by max_pool, read by its gradient
  DType dtype = DType::f32, place_dtype = DType::u8;
};
void find_largest(const PoolProblem& problem);
void spread_largest(const PoolProblem& problem);

}  // namespace tenon::backends::cpu
