// One multiplication and one addition for each axis that a view steps along; divisions only where a view lies on a
// view.

#include "tenon/codegen/address.h"

#include <algorithm>
#include <cmath>

namespace tenon::codegen {

bool fits_32(const ir::IndexMap& map, double further) {
  double far = 0;
  for (const ir::View& view : map.views()) {
    double reach = std::abs(static_cast<double>(view.offset));
    for (size_t i = 0; i < view.shape.size(); ++i)
      reach += static_cast<double>(view.shape[i]) * std::abs(static_cast<double>(view.strides[i]));
    far = std::max(far, reach);
  }
  return far + further < static_cast<double>(int64_t{1} << 31);
}

namespace {

bool goes_in_runs(const ir::View& view, size_t axis, uint32_t lanes) {
  const auto count = static_cast<int64_t>(lanes);
  if (axis >= view.shape.size() || view.strides[axis] != 1 || view.offset % count != 0) return false;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (i != axis && view.shape[i] != 1 && view.strides[i] % count != 0) return false;
  }
  return true;
}

}  // namespace

bool is_run(const ir::IndexMap& map, size_t axis, uint32_t lanes) {
  return map.is_strided() && goes_in_runs(map.views()[0], axis, lanes);
}

bool is_padded_alike(const ir::IndexMap& map, size_t axis, uint32_t lanes) {
  if (map.views().size() != 1) return false;
  const ir::View& view = map.views()[0];
  if (!view.masked()) return true;
  const auto count = static_cast<int64_t>(lanes);
  const bool ends_whole = view.valid_to[axis] == view.shape[axis] || view.valid_to[axis] % count == 0;
  return view.valid_from[axis] % count == 0 && ends_whole;
}

bool is_padded_run(const ir::IndexMap& map, size_t axis, uint32_t lanes) {
  return is_padded_alike(map, axis, lanes) && goes_in_runs(map.views()[0], axis, lanes);
}

std::vector<Id> unravel(Builder& b, Id position, std::span<const int64_t> sizes) {
  const Scalar type = b.type_of(position);
  std::vector<Id> made(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      made[i] = position;  // what is left is below the size already
    } else if (sizes[i] <= 1) {
      made[i] = b.whole(type, 0);
    } else {
      made[i] = b.mod(position, b.whole(type, sizes[i]));
      position = b.div(position, b.whole(type, sizes[i]));
    }
  }
  return made;
}

Located locate(Builder& b, Scalar index, const ir::IndexMap& map, std::span<const Id> indices) {
  std::vector<Id> inner(indices.begin(), indices.end());
  Id valid = kNoValue;
  for (size_t level = map.views().size(); level-- > 0;) {
    const ir::View& view = map.views()[level];
    Id at = b.whole(index, view.offset);
    for (size_t i = 0; i < view.shape.size(); ++i) {
      at = b.add(at, b.mul(inner[i], b.whole(index, view.strides[i])));
      if (!view.masked()) continue;
      if (view.valid_from[i] > 0) valid = b.both(valid, b.is_not(b.less(inner[i], b.whole(index, view.valid_from[i]))));
      if (view.valid_to[i] < view.shape[i]) valid = b.both(valid, b.less(inner[i], b.whole(index, view.valid_to[i])));
    }
    if (level == 0) return {at, valid};
    const Dims& below = map.views()[level - 1].shape;
    inner = unravel(b, at, {below.data(), below.size()});
  }
  return {b.whole(index, 0), valid};
}

}  // namespace tenon::codegen
