// Bringing a copy to its simplest form, and running it.

#include "tenon/backends/cpu/calls/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tenon/backends/cpu/calls/transpose.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;  // below two of these a second thread costs more than it saves
constexpr int64_t kTileSide = 64;          // of a transposed tile
constexpr int64_t kShortRow = 256;         // elements of a row that is walked together with its neighbours
constexpr int64_t kElementsTogether = 4096;

using base::ceil_div;

template <typename F>
void with_element(size_t bytes, F&& f) {
  switch (bytes) {
    case 8: return f(uint64_t{});
    case 4: return f(uint32_t{});
    case 2: return f(uint16_t{});
    default: return f(uint8_t{});
  }
}

void copy_elements(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t n,
                   size_t bytes) {
  with_element(bytes, [&]<typename T>(T) {
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) target[i * to_stride] = source[i * from_stride];
  });
}

void fill_elements(const std::byte* from, std::byte* to, int64_t n, size_t bytes) {
  with_element(bytes,
               [&]<typename T>(T) { std::fill_n(reinterpret_cast<T*>(to), n, *reinterpret_cast<const T*>(from)); });
}

}  // namespace

// Axes of size 1 vanish; the others are walked in the order in which the target lies in memory, and neighbours that
// both sides step through evenly become one.
void StridedCopy::simplify(const Dims& shape, const Dims& from_strides, const Dims& to_strides) {
  base::SmallVector<Axis, 6> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    axes.push_back({shape[i], from_strides[i], to_strides[i]});
    ordered_ = ordered_ || to_strides[i] == 0;
  }
  if (!ordered_) {
    std::stable_sort(axes.begin(), axes.end(),
                     [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  }
  for (const Axis& axis : axes) {
    Axis* last = outer_.empty() ? nullptr : &outer_.back();
    if (last && last->from == axis.from * axis.size && last->to == axis.to * axis.size)
      *last = {last->size * axis.size, axis.from, axis.to};
    else
      outer_.push_back(axis);
  }
}

StridedCopy::StridedCopy(const Dims& shape, const Dims& from_strides, const Dims& to_strides, size_t element_bytes)
    : bytes_(element_bytes) {
  if (ir::count(shape) == 0) return;
  simplify(shape, from_strides, to_strides);
  if (outer_.empty()) outer_.push_back({1, 1, 1});
  row_ = outer_.back();
  outer_.pop_back();
  kind_ = Kind::elements;
  block_ = std::min(row_.size, kGrainBytes / static_cast<int64_t>(bytes_));
  if (row_.to == 1 && !ordered_) {
    const auto source_line = std::find_if(outer_.begin(), outer_.end(), [](const Axis& a) { return a.from == 1; });
    if (row_.from == 1) {
      kind_ = Kind::rows;
    } else if (row_.from == 0) {
      kind_ = Kind::fill;
    } else if (source_line != outer_.end()) {
      kind_ = Kind::transpose;
      column_ = *source_line;
      outer_.erase(source_line);
      column_block_ = kTileSide;
      block_ = kTileSide * std::max<int64_t>(1, kTileSide / column_.size);  // as many elements where lines are short
    }
  }
  if (kind_ != Kind::transpose && row_.size < kShortRow && !outer_.empty()) {
    column_ = outer_.back();
    outer_.pop_back();
    column_block_ = std::min(column_.size, kElementsTogether / row_.size);
  }
  blocks_ = ceil_div(row_.size, block_);
  column_blocks_ = ceil_div(column_.size, column_block_);
  items_ = blocks_ * column_blocks_;
  for (const Axis& axis : outer_) items_ *= axis.size;
}

void StridedCopy::run_item(const std::byte* from, std::byte* to, int64_t block, int64_t column_block) const {
  const auto bytes = static_cast<int64_t>(bytes_);
  const int64_t first = block * block_, n = std::min(block_, row_.size - first);
  const int64_t column = column_block * column_block_, columns = std::min(column_block_, column_.size - column);
  from += (first * row_.from + column * column_.from) * bytes;
  to += (first * row_.to + column * column_.to) * bytes;
  if (kind_ == Kind::transpose) return transpose_bytes(from, row_.from, to, column_.to, n, columns, bytes_);
  for (int64_t i = 0; i < columns; ++i, from += column_.from * bytes, to += column_.to * bytes) {
    switch (kind_) {
      case Kind::rows: std::memcpy(to, from, static_cast<size_t>(n * bytes)); break;
      case Kind::fill: fill_elements(from, to, n, bytes_); break;
      default: copy_elements(from, row_.from, to, row_.to, n, bytes_); break;
    }
  }
}

// An item is a block of the row, of the columns, and one index of each outer axis, the row running fastest.
void StridedCopy::run_items(const std::byte* from, std::byte* to, int64_t begin, int64_t end) const {
  const auto bytes = static_cast<int64_t>(bytes_);
  int64_t rest = begin;
  int64_t block = rest % blocks_;
  rest /= blocks_;
  int64_t column_block = rest % column_blocks_;
  rest /= column_blocks_;
  Dims index(outer_.size());
  int64_t from_at = 0, to_at = 0;
  for (size_t i = outer_.size(); i-- > 0;) {
    index[i] = rest % outer_[i].size;
    rest /= outer_[i].size;
    from_at += index[i] * outer_[i].from;
    to_at += index[i] * outer_[i].to;
  }
  for (int64_t item = begin; item < end; ++item) {
    run_item(from + from_at * bytes, to + to_at * bytes, block, column_block);
    if (++block < blocks_) continue;
    block = 0;
    if (++column_block < column_blocks_) continue;
    column_block = 0;
    for (size_t i = outer_.size(); i-- > 0;) {
      from_at += outer_[i].from;
      to_at += outer_[i].to;
      if (++index[i] < outer_[i].size) break;
      from_at -= outer_[i].from * outer_[i].size;
      to_at -= outer_[i].to * outer_[i].size;
      index[i] = 0;
    }
  }
}

void StridedCopy::run_here(const std::byte* from, std::byte* to) const { run_items(from, to, 0, items_); }

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (ordered_) return run_here(from, to);
  const int64_t item_bytes =
      std::min(block_, row_.size) * std::min(column_block_, column_.size) * static_cast<int64_t>(bytes_);
  base::parallel_for(items_, std::max<int64_t>(1, kGrainBytes / item_bytes),
                     [&](int64_t begin, int64_t end) { run_items(from, to, begin, end); });
}

Packer::Packer(const ir::IndexMap& map, size_t element_bytes)
    : bytes_(element_bytes), count_(ir::count(map.shape())), map_(map) {
  // Packing costs a copy for each view, of the view's size; looking elements up one by one costs as much as twenty
  // copies, but no memory. So it is for views that are much larger than the result.
  for (const ir::View& view : map.views()) {
    if (ir::count(view.shape) > 4 * count_ + 4096) kind_ = Kind::one_by_one;
  }
  if (kind_ != Kind::one_by_one) plan(map.views());
}

void Packer::plan(std::span<const ir::View> views) {
  // A last view that only regroups the one below reads it in its own order.
  while (views.size() > 1 && views.back().is_contiguous() &&
         ir::count(views.back().shape) == ir::count(views[views.size() - 2].shape))
    views = views.first(views.size() - 1);
  const ir::View& top = views.back();
  const Dims packed_strides = ir::row_major_strides(top.shape);
  Dims box = top.shape;
  from_offset_ = top.offset;
  if (top.masked()) {
    kind_ = Kind::padded;
    for (size_t i = 0; i < box.size(); ++i) {
      box[i] = std::max<int64_t>(0, top.valid_to[i] - top.valid_from[i]);
      from_offset_ += top.valid_from[i] * top.strides[i];
      to_offset_ += top.valid_from[i] * packed_strides[i];
    }
  }
  copy_ = StridedCopy(box, top.strides, packed_strides, bytes_);
  if (views.size() == 1) return;
  const auto below = views.first(views.size() - 1);
  auto lower = std::make_shared<Packer>();
  lower->bytes_ = bytes_;
  lower->count_ = ir::count(below.back().shape);
  lower->plan(below);
  lower_ = std::move(lower);
}

void Packer::copy_one_by_one(const std::byte* buffer, std::byte* to) const {
  map_.for_each([&](int64_t position, int64_t where) {
    std::byte* target = to + position * static_cast<int64_t>(bytes_);
    if (where == ir::IndexMap::kPadding)
      std::memset(target, 0, bytes_);
    else
      std::memcpy(target, buffer + where * static_cast<int64_t>(bytes_), bytes_);
  });
}

void Packer::run(const std::byte* buffer, std::byte* to) const {
  if (count_ == 0) return;
  if (kind_ == Kind::one_by_one) return copy_one_by_one(buffer, to);
  std::optional<Scratch> below;
  if (lower_) {
    below.emplace(static_cast<size_t>(lower_->count_) * bytes_);
    lower_->run(buffer, below->data());
    buffer = below->data();
  }
  const auto bytes = static_cast<int64_t>(bytes_);
  if (kind_ == Kind::padded) {
    base::parallel_for(count_ * bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
      std::memset(to + begin, 0, static_cast<size_t>(end - begin));
    });
  }
  copy_.run(buffer + from_offset_ * bytes, to + to_offset_ * bytes);
}

}  // namespace tenon::backends::cpu
