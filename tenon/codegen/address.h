// Where a map leads, as instructions of a kernel. Addresses are unsigned and wrap: a view that goes backwards has a
// negative stride, and only the whole sum need be in range.

#pragma once

#include <span>
#include <vector>

#include "tenon/codegen/builder.h"
#include "tenon/ir/view.h"

namespace tenon::codegen {

struct Located {
  Id at = kNoValue;
  Id valid = kNoValue;  // kNoValue where there is no padding
};

/// Whether everything that is computed on the way to an address stays below 2^31 elements, `further` at its end.
bool fits_32(const ir::IndexMap& map, double further = 0);

/// Whether neighbours along an axis lie beside each other in memory, so many of them beginning at a multiple of their
/// number wherever the index is one.
bool is_run(const ir::IndexMap& map, size_t axis, uint32_t lanes);
/// Whether so many neighbours, from such an index on, are all padding or all none.
bool is_padded_alike(const ir::IndexMap& map, size_t axis, uint32_t lanes);
/// Both: a run that lies wholly inside or wholly outside.
bool is_padded_run(const ir::IndexMap& map, size_t axis, uint32_t lanes);

/// The indices along axes of these sizes of a position in row-major order, all of the position's type.
std::vector<Id> unravel(Builder& b, Id position, std::span<const int64_t> sizes);

/// The element of the buffer that `indices` of type `index` lead to.
Located locate(Builder& b, Scalar index, const ir::IndexMap& map, std::span<const Id> indices);

}  // namespace tenon::codegen
