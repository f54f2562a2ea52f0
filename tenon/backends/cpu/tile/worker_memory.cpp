// Where the operands of a tile lie in the buffers, and how they get into registers and back.

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/tile/worker.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::cpu {
namespace {

using ir::IndexMap;
using ir::Instr;

bool inside(const ir::View& view, size_t axis, int64_t index) {
  return !view.masked() || (index >= view.valid_from[axis] && index < view.valid_to[axis]);
}

}  // namespace

// Where a run of elements lies that has neither gaps nor padding; null for any other.
std::byte* TileWorker::address_of(const TileInstr& instr, int64_t at, size_t n) {
  const TileAccess& access = code_.accesses[instr.access];
  const ir::View& view = access.view;
  const auto size = static_cast<int64_t>(size_of(instr.dtype));
  if (code_.rows_per_tile > 1) {
    if (n == 0 || !access.dense) return nullptr;
    return buffers_[instr.buffer] + (view.offset + row_ * code_.row_size) * size;
  }
  if (n == 0 || !access.strided || view.masked() || code_.space.size() <= code_.row_rank || view.strides.back() != 1)
    return nullptr;
  const int64_t width = code_.space.back();
  if (code_.space.size() == code_.row_rank + 1) return buffers_[instr.buffer] + (row_offset(view) + at) * size;
  if (at % width + static_cast<int64_t>(n) > width) return nullptr;
  return buffers_[instr.buffer] + (row_offset(view) + element_offset(view, at)) * size;
}

// From the first element of a row to another.
int64_t TileWorker::element_offset(const ir::View& view, int64_t at) const {
  int64_t offset = 0;
  for (size_t axis = code_.space.size(); axis-- > code_.row_rank; at /= code_.space[axis])
    offset += at % code_.space[axis] * view.strides[axis];
  return offset;
}

void TileWorker::transfer(const TileInstr& instr, std::byte* tile, int64_t at, size_t n) {
  if (code_.rows_per_tile == 1) return transfer_row(instr, tile, at, n);
  const TileAccess& access = code_.accesses[instr.access];
  if (access.dense) return piece(instr, tile, access.view.offset + row_ * code_.row_size, 1, n);
  if (instr.keeps_padding) return load_padded_rows(instr, tile);
  if (access.one_place && instr.numbers == 0) return look_up(instr, tile, access.view.offset, 0, n);
  if (access.same_in_all_rows && instr.numbers != 0 && code_.space.size() == code_.row_rank + 1)
    return look_up_rows(instr, tile);
  if (moves_evenly(instr, access) && code_.space.size() == code_.row_rank + 1) {
    const auto columns = static_cast<size_t>(code_.row_size);
    return along_last_row_axis(rows_, [&](size_t first, size_t rows) {
      std::byte* to = tile + first * columns * tile_element_size(instr.dtype);
      block(instr, to, row_offset(access.view), access.view.strides[code_.row_rank - 1], rows, columns);
    });
  }
  go_to(row_);
  const auto row = static_cast<size_t>(code_.row_size);
  for (size_t i = 0; i < rows_; ++i, next_row())
    transfer_row(instr, tile + i * row * tile_element_size(instr.dtype), 0, row);
}

// A tile begins where the last row axis does; what is padding along it is zero from the start.
void TileWorker::load_padded_rows(const TileInstr& instr, std::byte* tile) {
  const ir::View& view = code_.accesses[instr.access].view;
  const auto row = static_cast<size_t>(code_.row_size);
  const size_t last = code_.row_rank - 1, bytes = row * tile_element_size(instr.dtype);
  const int64_t axis = code_.space[last], rows = static_cast<int64_t>(rows_);
  for (int64_t first = 0; first < rows; first += axis) {
    go_to(row_ + first);
    for (int64_t i = view.valid_from[last]; i < view.valid_to[last]; ++i) {
      row_index_[last] = i;
      transfer_row(instr, tile + static_cast<size_t>(first + i) * bytes, 0, row);
    }
  }
}

// Whether elements lie a stride apart along every axis, and are read or written where they lie.
bool TileWorker::moves_evenly(const TileInstr& instr, const TileAccess& access) {
  return access.strided && !access.view.masked() &&
         (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store);
}

// Calls f(first, n) for the rows of the tile, as many at once as lie on the last row axis.
template <typename F>
void TileWorker::along_last_row_axis(size_t rows, F&& f) {
  const size_t last = code_.row_rank - 1;
  for (size_t done = 0; done < rows;) {
    go_to(row_ + static_cast<int64_t>(done));
    const size_t n = std::min(rows - done, static_cast<size_t>(code_.space[last] - row_index_[last]));
    f(done, n);
    done += n;
  }
}

// Rows of `columns` elements along the last axis, from `position` on.
void TileWorker::block(const TileInstr& instr, std::byte* tile, int64_t position, int64_t row_stride, size_t rows,
                       size_t columns) {
  const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
  const int64_t stride = code_.accesses[instr.access].view.strides.back();
  if (stride == 1 && row_stride == static_cast<int64_t>(columns))
    return piece(instr, tile, position, 1, rows * columns);
  std::byte* at = buffers_[instr.buffer] + position * bytes;
  const size_t tile_bytes = columns * tile_element_size(instr.dtype);
  constexpr size_t kFewColumns = 8;
  if (columns <= kFewColumns && rows > kFewColumns && row_stride != 0 && instr.kind == Instr::Kind::load)
    return load_columns(instr, tile, at, row_stride, rows, columns);
  if (instr.kind == Instr::Kind::load && row_stride == 0) {  // one row for all
    instr.load(tile, at, stride, columns);
    for (size_t done = tile_bytes, all = rows * tile_bytes; done < all; done *= 2)
      std::memcpy(tile + done, tile, std::min(done, all - done));
  } else if (instr.kind == Instr::Kind::load) {
    for (size_t i = 0; i < rows; ++i, at += row_stride * bytes, tile += tile_bytes)
      instr.load(tile, at, stride, columns);
  } else {
    for (size_t i = 0; i < rows; ++i, at += row_stride * bytes, tile += tile_bytes)
      instr.store(at, stride, tile, columns);
  }
}

// Short rows column by column: loading each by itself would take longer than what is done with it.
void TileWorker::load_columns(const TileInstr& instr, std::byte* tile, const std::byte* from, int64_t row_stride,
                              size_t rows, size_t columns) {
  const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
  const int64_t stride = code_.accesses[instr.access].view.strides.back();
  alignas(64) std::byte column[kTileBytes];
  const auto spread = [&]<typename T>(T* to, size_t count) {
    const T* elements = reinterpret_cast<const T*>(column);
    for (size_t i = 0; i < count; ++i) to[i * columns] = elements[i];
  };
  for (size_t first = 0; first < rows; first += kTile) {
    const size_t count = std::min(kTile, rows - first);
    for (size_t j = 0; j < columns; ++j) {
      const int64_t offset = static_cast<int64_t>(first) * row_stride + static_cast<int64_t>(j) * stride;
      instr.load(column, from + offset * bytes, row_stride, count);
      switch (const size_t at = first * columns + j; tile_element_size(instr.dtype)) {
        case 8: spread(reinterpret_cast<uint64_t*>(tile) + at, count); break;
        case 4: spread(reinterpret_cast<uint32_t*>(tile) + at, count); break;
        default: spread(reinterpret_cast<uint8_t*>(tile) + at, count); break;
      }
    }
  }
}

// One element for each row of the tile.
void TileWorker::transfer_row_values(const TileInstr& instr, std::byte* values, size_t rows) {
  if (code_.rows_per_tile == 1) return transfer_row(instr, values, 0, 1);
  const TileAccess& access = code_.accesses[instr.access];
  if (access.dense) return piece(instr, values, access.view.offset + row_, 1, rows);
  if (access.one_place) return look_up(instr, values, access.view.offset, 0, rows);
  if (moves_evenly(instr, access)) {
    return along_last_row_axis(rows, [&](size_t first, size_t n) {
      piece(instr, values + first * tile_element_size(instr.dtype), row_offset(access.view),
            access.view.strides[code_.row_rank - 1], n);
    });
  }
  go_to(row_);
  for (size_t i = 0; i < rows; ++i, next_row()) transfer_row(instr, values + i * tile_element_size(instr.dtype), 0, 1);
}

// Loads, stores and the rest of what has a map: in runs along the last axis of the space.
void TileWorker::transfer_row(const TileInstr& instr, std::byte* tile, int64_t at, size_t n) {
  const TileAccess& access = code_.accesses[instr.access];
  const size_t element = tile_element_size(instr.dtype);
  if (access.one_place) return look_up(instr, tile, access.view.offset, 0, n);
  if (!access.strided) return run_by_run(instr, access, tile, at, n);
  if (instr.per_row || code_.space.size() - code_.row_rank <= 1) {
    run_along(instr, access, tile, row_offset(access.view), at, n, row_valid(access.view));
    return;
  }
  const int64_t width = code_.space.back();
  const size_t above = code_.space.size() - 2;  // the axis over the innermost
  const bool in_blocks = moves_evenly(instr, access);
  while (n > 0) {  // several element axes: cut at the end of the innermost
    const int64_t column = at % width;
    const auto run = static_cast<size_t>(std::min<int64_t>(width - column, static_cast<int64_t>(n)));
    int64_t rest = at / width, offset = row_offset(access.view);
    const int64_t left = code_.space[above] - rest % code_.space[above];
    bool valid = row_valid(access.view);
    for (size_t axis = code_.space.size() - 1; axis-- > code_.row_rank;) {
      const int64_t index = rest % code_.space[axis];
      rest /= code_.space[axis];
      offset += index * access.view.strides[axis];
      valid = valid && inside(access.view, axis, index);
    }
    if (const auto rows = std::min<int64_t>(left, static_cast<int64_t>(n) / width);
        in_blocks && column == 0 && rows > 1) {
      block(instr, tile, offset, access.view.strides[above], static_cast<size_t>(rows), static_cast<size_t>(width));
      tile += static_cast<size_t>(rows * width) * element;
      at += rows * width;
      n -= static_cast<size_t>(rows * width);
      continue;
    }
    run_along(instr, access, tile, offset, column, run, valid);
    tile += run * element;
    at += static_cast<int64_t>(run);
    n -= run;
  }
}

int64_t TileWorker::row_offset(const ir::View& view) const {
  const int64_t *index = row_index_.data(), *strides = view.strides.data();
  int64_t offset = view.offset;
  for (size_t axis = 0; axis < code_.row_rank; ++axis) offset += index[axis] * strides[axis];
  return offset;
}

bool TileWorker::row_valid(const ir::View& view) const {
  if (!view.masked()) return true;
  const int64_t *index = row_index_.data(), *from = view.valid_from.data(), *to = view.valid_to.data();
  bool valid = true;
  for (size_t axis = 0; axis < code_.row_rank; ++axis) valid &= index[axis] >= from[axis] && index[axis] < to[axis];
  return valid;
}

// Elements column..column+n-1 along the last axis, padding cut off at both ends.
void TileWorker::run_along(const TileInstr& instr, const TileAccess& access, std::byte* tile, int64_t offset,
                           int64_t column, size_t n, bool valid) {
  const ir::View& view = access.view;
  const bool has_last = !instr.per_row && code_.space.size() > code_.row_rank;
  const int64_t stride = has_last ? view.strides.back() : 0;
  int64_t from = column, to = column + static_cast<int64_t>(n);
  if (!valid)
    to = from;
  else if (has_last && view.masked()) {
    from = std::clamp(view.valid_from.back(), column, to);
    to = std::clamp(view.valid_to.back(), from, to);
  }
  const size_t element = tile_element_size(instr.dtype);
  const auto before = static_cast<size_t>(from - column), inner = static_cast<size_t>(to - from);
  if (inner < n && instr.kind != Instr::Kind::store) std::memset(tile, 0, n * element);
  if (inner > 0) piece(instr, tile + before * element, offset + from * stride, stride, inner);
}

void TileWorker::piece(const TileInstr& instr, std::byte* tile, int64_t position, int64_t stride, size_t n) {
  const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
  switch (instr.kind) {
    case Instr::Kind::load: instr.load(tile, buffers_[instr.buffer] + position * bytes, stride, n); break;
    case Instr::Kind::store: instr.store(buffers_[instr.buffer] + position * bytes, stride, tile, n); break;
    case Instr::Kind::gather: look_up(instr, tile, position, stride, n); break;
    case Instr::Kind::ramp: tile_ramp(tile, instr.dtype, position, stride, n); break;
    case Instr::Kind::valid: std::memset(tile, 1, n); break;
    default: random(instr, tile, position, stride, n); break;
  }
}

// Where the row of a table that the index leads to can be read as it lies; null for any other.
std::byte* TileWorker::row_of_table(const TileInstr& instr, int64_t at, size_t n) {
  std::byte* first = address_of(instr, at, n);
  const int64_t index = index_of(instr, scalar(instr.args[0]), 0);
  if (!first || !is_inside(instr, index)) return nullptr;
  return first + index * instr.stride * static_cast<int64_t>(size_of(instr.dtype));
}

// A tile of several rows of a table, one for each index.
void TileWorker::look_up_rows(const TileInstr& instr, std::byte* tile) {
  const ir::View& view = code_.accesses[instr.access].view;
  const auto row = static_cast<size_t>(code_.row_size), bytes = row * tile_element_size(instr.dtype);
  const std::byte* indices = scalar(instr.args[0]);
  for (size_t i = 0; i < rows_; ++i, tile += bytes) {
    const int64_t index = index_of(instr, indices, i);
    if (!is_inside(instr, index)) {
      look_up(instr, tile, view.offset, view.strides.back(), row);
      continue;
    }
    const int64_t position = view.offset + index * instr.stride;
    instr.load(tile, buffers_[instr.buffer] + position * static_cast<int64_t>(size_of(instr.dtype)),
               view.strides.back(), row);
  }
}

// Elements of a table, moved on by the index of their row or by one each. `tile` is a place in the result's own
// register, which tells whose indices are meant. A bad one gives 0 and is told at the end of the run.
void TileWorker::look_up(const TileInstr& instr, std::byte* tile, int64_t position, int64_t step, size_t n) {
  const auto bytes = static_cast<int64_t>(size_of(instr.dtype));
  const std::byte* table = buffers_[instr.buffer] + position * bytes;
  const std::byte* first = instr.per_row ? scalar(instr.out) : own(instr.out);
  const size_t element = static_cast<size_t>(tile - first) / tile_element_size(instr.dtype);
  if (instr.numbers != 0) {
    const size_t row = code_.rows_per_tile > 1 ? element / static_cast<size_t>(code_.row_size) : 0;
    const int64_t index = index_of(instr, scalar(instr.args[0]), row);
    if (is_inside(instr, index)) return instr.load(tile, table + index * instr.stride * bytes, step, n);
    tell_bad(instr, element, index);
    std::memset(tile, 0, n * tile_element_size(instr.dtype));
    return;
  }
  const std::byte* indices = instr.per_row ? scalar(instr.args[0]) : at_[instr.args[0]];
  indices += element * size_of(instr.index);
  if (instr.pick(tile, table, step, indices, instr.stride, static_cast<int64_t>(instr.bits), n)) return;
  for (size_t i = 0; i < n; ++i) {
    if (const int64_t index = index_of(instr, indices, i); !is_inside(instr, index))
      return tell_bad(instr, element + i, index);
  }
}

int64_t TileWorker::index_of(const TileInstr& instr, const std::byte* indices, size_t i) const {
  if (instr.index == DType::i64) return reinterpret_cast<const int64_t*>(indices)[i];
  return reinterpret_cast<const int32_t*>(indices)[i];
}

// `element`: which of the tile's, or of its rows.
void TileWorker::tell_bad(const TileInstr& instr, size_t element, int64_t index) {
  const auto i = static_cast<int64_t>(element);
  const int64_t position = instr.per_row ? (row_ + i) * code_.row_size : row_ * code_.row_size + tile_at_ + i;
  bad_.found(instr.scalar, position, {index, instr.axis, static_cast<int64_t>(instr.bits), instr.use});
}

void TileWorker::random(const TileInstr& instr, std::byte* tile, int64_t position, int64_t stride, size_t n) {
  int64_t state[2];
  std::memcpy(state, buffers_[instr.buffer], sizeof(state));
  const auto seed = static_cast<uint64_t>(state[0]);
  const uint64_t start = static_cast<uint64_t>(state[1]) + numbers_[instr.bits] + static_cast<uint64_t>(position);
  if (stride == 1) return tile_philox(tile, seed, start, n);
  // Words come in blocks of four: of a few that follow one another, making all costs less than looking up each.
  constexpr int64_t kNear = 8;
  if (stride > 1 && stride <= kNear) {
    const auto step = static_cast<size_t>(stride);
    uint32_t words[kTile], *out = reinterpret_cast<uint32_t*>(tile);
    for (size_t most = kTile / step, done = 0; done < n;) {
      const size_t count = std::min(most, n - done);
      tile_philox(words, seed, start + step * done, (count - 1) * step + 1);
      for (size_t i = 0; i < count; ++i) out[done++] = words[i * step];
    }
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t word = ir::philox_word(seed, start + static_cast<uint64_t>(stride) * i);
    std::memcpy(tile + 4 * i, &word, 4);
  }
}

// Through a map that strides do not describe, as far at once as it goes evenly.
void TileWorker::run_by_run(const TileInstr& instr, const TileAccess& access, std::byte* tile, int64_t at, size_t n) {
  const size_t element = tile_element_size(instr.dtype), rank = access.map.shape().size();
  index_.resize(rank);
  std::copy_n(row_index_.begin(), code_.row_rank, index_.begin());
  while (n > 0) {
    auto most = static_cast<int64_t>(n);
    int64_t rest = at;
    for (size_t axis = rank; axis-- > code_.row_rank;) {
      index_[axis] = rest % code_.space[axis];
      rest /= code_.space[axis];
    }
    most = rank > code_.row_rank ? std::min(most, code_.space[rank - 1] - index_[rank - 1]) : 1;
    const IndexMap::Run run = access.map.run_from({index_.data(), rank}, most);
    const auto count = static_cast<size_t>(run.count);
    if (run.where != IndexMap::kPadding)
      piece(instr, tile, run.where, run.step, count);
    else if (instr.kind != Instr::Kind::store)
      std::memset(tile, 0, count * element);
    tile += count * element;
    at += run.count;
    n -= count;
  }
}

}  // namespace tenon::backends::cpu
