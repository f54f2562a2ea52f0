// Views as index maps: where element (i, j, ...) of a tensor lies in its buffer, or that it is padding.
//
// One View is shape, strides, offset and a valid range per axis. Every movement op but reshape maps a View to a View; a
// reshape that strides cannot express (of a transposed or padded view) starts a second View on top, whose flat index is
// unravelled into the first. So no movement ever copies. Where what is cut out of the second one shows no padding and
// goes evenly through the first, the two are one again.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/ir/attrs.h"
#include "tenon/ir/shape.h"

namespace tenon::ir {

struct View {
  Dims shape, strides;
  int64_t offset = 0;
  Dims valid_from, valid_to;  // indices outside [from, to) of any axis are padding; empty when there is none

  static View contiguous(const Dims& shape);
  bool masked() const { return !valid_from.empty(); }
  bool is_contiguous() const;
  bool operator==(const View&) const = default;
};

/// Bytes begin .. end - 1 of something.
struct ByteRange {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// The result shape of a movement op; fails when the move does not fit the shape.
Dims moved_shape(const Move& move, const Dims& shape);

class IndexMap {
 public:
  static constexpr int64_t kPadding = -1;

  IndexMap() { views_.emplace_back(); }  // of a single number
  explicit IndexMap(const Dims& shape) { views_.push_back(View::contiguous(shape)); }

  const Dims& shape() const { return views_.back().shape; }
  std::span<const View> views() const { return {views_.data(), views_.size()}; }

  /// Looks at this map through one more movement op.
  void apply(const Move& move);
  /// The same, of a movement op with these attributes.
  void apply(Op op, const Attrs& attrs);
  void apply(std::span<const Move> moves) {
    for (const Move& move : moves) apply(move);
  }

  /// True when elements lie in row-major order from offset 0 on.
  bool is_contiguous() const { return views_.size() == 1 && views_[0].is_contiguous(); }
  /// True when one set of strides describes it, without padding: what PyTorch calls a view.
  bool is_strided() const { return views_.size() == 1 && !views_[0].masked(); }

  /// The buffer element that `index` refers to, or kPadding.
  int64_t locate(std::span<const int64_t> index) const;

  /// Neighbours along the last axis that lie `step` elements apart from `where` on, or are all padding.
  struct Run {
    int64_t where = kPadding, step = 0, count = 1;
  };
  /// Those from `index` on: as many as the map leads to evenly, and `most` at most, which stay inside the axis.
  Run run_from(std::span<const int64_t> index, int64_t most) const;

  /// Calls f(position, buffer element or kPadding) for every element in row-major order.
  template <typename F>
  void for_each(F&& f) const {
    const Dims& sizes = shape();
    const int64_t total = count(sizes);
    Dims index(sizes.size());
    for (int64_t position = 0; position < total; ++position) {
      f(position, locate({index.data(), index.size()}));
      for (size_t axis = sizes.size(); axis-- > 0;) {
        if (++index[axis] < sizes[axis]) break;
        index[axis] = 0;
      }
    }
  }

  /// True when no element is padding and all elements with equal indices along the other axes share one place.
  bool is_constant_along(size_t axis) const;
  /// Joins axes i and i + 1 into one, where the map goes through both evenly.
  bool can_merge(size_t axis) const;
  void merge(size_t axis);
  /// Drops the axes from `rank` on, along which the map is constant.
  void keep_leading(size_t rank);
  /// Drops the first axes, along which the map must be constant.
  void drop_leading(size_t axes);
  bool has_padding() const;
  /// Lets every element lie so many elements further on in the buffer.
  void shift(int64_t elements) { views_[0].offset += elements; }

  uint64_t hash() const;
  std::string to_string() const;
  bool operator==(const IndexMap&) const = default;

 private:
  template <typename AnyAttrs>
  void look_through(Op op, const AnyAttrs& attrs);
  void reshape(const Dims& shape);
  void join_views();

  base::SmallVector<View, 1> views_;  // the last one is what the reader sees, the first addresses the buffer
};

/// Moves that show elements of this shape, in row-major order, as the view does: what as_strided() is elsewhere. None
/// where the view has padding or no elements, or where its axes do not nest.
std::optional<std::vector<Move>> moves_to(const View& view, const Dims& shape);

/// The bytes of the buffer between the first and the last element that a map leads to; none where all is padding.
ByteRange bytes_reached(const IndexMap& map, DType dtype);

}  // namespace tenon::ir
