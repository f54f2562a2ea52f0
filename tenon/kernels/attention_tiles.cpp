// Rows and columns of a thread are fours that lie apart, so that threads which read at once read beside each other.

#include "tenon/kernels/attention_tiles.h"

#include <algorithm>
#include <bit>

#include "tenon/base/divide.h"
#include "tenon/codegen/address.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using base::round_up;
using codegen::Id;
using codegen::kNoValue;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

constexpr uint32_t kRun = 4;        // elements that a thread copies at once
constexpr uint32_t kUnroll = 8;     // steps of a product written out
constexpr uint32_t kMostSums = 64;  // registers of 32 bits for the sums of a thread, beside those for scores

// Columns of a strip of matrices of this width: few barriers, and little that is 0.
uint32_t strip_depth(int64_t width) {
  if (width <= 32) return static_cast<uint32_t>(round_up(std::max<int64_t>(width, 1), kRun));
  return round_up(width, 32) == round_up(width, 16) ? 32 : 16;
}

int64_t panel_of(int64_t width) { return std::min(width, kAttentionPanel); }

// `is_staged`: results pass through shared memory as well.
uint32_t strip_elements(const AttentionProblem& p, const AttentionTile& tile, bool is_staged) {
  const uint32_t depth = std::max(strip_depth(p.width), strip_depth(p.value_width));
  const int64_t panel = round_up(panel_of(std::max(p.width, p.value_width)), tile.across) + kRun;
  return std::max(depth * (tile.rows + tile.columns + 2 * kRun),
                  static_cast<uint32_t>((is_staged ? tile.rows : 4) * panel));
}

uint32_t shared_bytes(const AttentionProblem& p, const AttentionTile& tile, bool is_staged) {
  const uint32_t elements =
      strip_elements(p, tile, is_staged) + tile.columns * (tile.rows + kRun) + tile.rows * tile.across;
  return elements * static_cast<uint32_t>(size_of(p.sums));
}

// Place i of a thread of `threads` that have `own` each.
Id place_of(codegen::Builder& b, Id thread, uint32_t i, uint32_t own, uint32_t threads) {
  const uint32_t run = AttentionTiles::run_of(own);
  return b.add(b.u32(i / run * run * threads), b.add(b.mul(thread, b.u32(run)), b.u32(i % run)));
}

}  // namespace

AttentionTile choose_attention_tile(const AttentionProblem& p, int64_t rows, int64_t blocks,
                                    std::span<const int64_t> widths, const ir::Limits& limits) {
  // A device that runs the threads of a block one after another has nothing of large tiles but code to compile.
  const bool has_subgroups = limits.subgroup > 1;
  const AttentionTile least{16, 16, 8, 8};
  std::vector<AttentionTile> tiles;
  if (has_subgroups) tiles = {{64, 64, 16, 16}, {32, 64, 16, 16}, {32, 32, 16, 16}, {16, 64, 16, 16}};
  tiles.push_back({16, 32, 16, 8});
  AttentionTile chosen = least;
  for (const AttentionTile& tile : tiles) {
    int64_t sums = 0;
    for (const int64_t width : widths) sums += ceil_div(panel_of(width), tile.across) * tile.thread_rows();
    const bool is_least = tile.thread_rows() == 1 || !has_subgroups;
    const bool fits = tile.threads() <= limits.max_threads &&
                      shared_bytes(p, tile, !has_subgroups) <= limits.shared_bytes &&
                      (sums * static_cast<int64_t>(size_of(p.sums)) <= 4 * kMostSums || is_least);
    if (!fits) continue;
    chosen = tile;
    if (rows * 2 > tile.rows && blocks * ceil_div(rows, tile.rows) >= limits.processors) break;
    if (is_least) break;
  }
  return chosen;
}

AttentionTiles::AttentionTiles(std::string name, const AttentionProblem& problem, const AttentionTile& shape,
                               const ir::Limits& limits)
    : AttentionKernel(std::move(name), problem, shape.threads()),
      tile(shape),
      uses_fma_(limits.has_fma),
      unrolls_(limits.subgroup > 1),
      subgroup_(limits.subgroup),
      strip_size_(strip_elements(problem, shape, limits.subgroup <= 1)) {
  strips_ = b.add_shared(type, strip_size_);
  weights_ = b.add_shared(type, tile.columns * row_pitch());
  across_at = b.mod(b.thread(), b.u32(tile.across));
  down_at = b.div(b.thread(), b.u32(tile.across));
}

Id AttentionTiles::row(uint32_t i) { return place_of(b, down_at, i, tile.thread_rows(), tile.down); }
Id AttentionTiles::column(uint32_t j) { return place_of(b, across_at, j, tile.thread_columns(), tile.across); }
Id AttentionTiles::sum_column(uint32_t i, int64_t width) {
  return place_of(b, across_at, i, own_columns(width), tile.across);
}
uint32_t AttentionTiles::own_columns(int64_t width) const {
  return static_cast<uint32_t>(ceil_div(panel_of(width), tile.across));
}

AttentionTiles::Matrix AttentionTiles::matrix(const AttentionOperand& operand, uint32_t buffer, Id batch,
                                              Id head) const {
  const Dims& shape = operand.map.shape();
  return {&operand, buffer, batch, head, shape[2], shape[3]};
}

std::vector<Id> AttentionTiles::zeros(size_t count) {
  std::vector<Id> made;
  for (size_t i = 0; i < count; ++i) made.push_back(b.variable(b.whole(type, 0)));
  return made;
}

// ---- products ----

Id AttentionTiles::add_product(Id a, Id c, Id sum) { return uses_fma_ ? b.fma(a, c, sum) : b.add(sum, b.mul(a, c)); }

void AttentionTiles::steps(uint32_t count, const std::function<void(Id)>& body) {
  if (!unrolls_ || count <= kUnroll || count % kUnroll != 0) return b.loop(0, count, body, unrolls_);
  b.loop(0, count / kUnroll, [&](Id some) {
    const Id first = b.mul(some, b.u32(kUnroll));
    b.loop(
        0, kUnroll, [&](Id step) { body(b.add(first, step)); }, true);
  });
}

// Rows and columns of a matrix into shared memory; 0 where it ends. Turned, a column of it is a row there. `unit`: its
// rows are visited in tiles of so many.
void AttentionTiles::copy(const Matrix& from, Id first_row, uint32_t rows, uint32_t unit, Id first_column,
                          uint32_t columns, uint32_t at, uint32_t pitch, bool turned) {
  const ir::IndexMap& map = from.operand->map;
  bool by_four = map.is_strided() && from.width % kRun == 0;
  if (by_four) {
    const ir::View& view = map.views()[0];
    by_four = view.strides[3] == 1 && view.offset % kRun == 0;
    for (size_t i = 0; i < 3; ++i) by_four = by_four && view.strides[i] % kRun == 0;
  }
  const bool has_all_rows = from.rows % unit == 0, has_all_columns = from.width % columns == 0 && has_even_panels();
  const Id zero = b.whole(type, 0), size = b.u32(static_cast<uint64_t>(from.rows)),
           width = b.u32(static_cast<uint64_t>(from.width));
  const auto widened = [&](Id loaded, Id is_there) {
    const Id value = codegen::from_memory(b, from.operand->dtype, loaded);
    Id wide = codegen::cast(b, from.operand->dtype, p.sums, value);
    if (from.factor != 1) wide = b.mul(wide, real(from.factor));
    return is_there == kNoValue ? wide : b.select(is_there, wide, zero);
  };
  const auto copy_group = [&](Id group) {
    const Id r = b.div(group, b.u32(columns / kRun)), c = b.mul(b.mod(group, b.u32(columns / kRun)), b.u32(kRun));
    const Id from_row = b.add(first_row, r);
    const Id row_there = has_all_rows ? kNoValue : b.less(from_row, size);
    const Id safe_row = has_all_rows ? from_row : b.select(row_there, from_row, b.u32(0));
    const auto located = [&](uint32_t i) -> std::pair<Located, Id> {
      const Id place = b.add(first_column, b.add(c, b.u32(i)));
      const Id column_there = has_all_columns ? kNoValue : b.less(place, width);
      const Id safe = has_all_columns ? place : b.select(column_there, place, b.u32(0));
      const Id indices[] = {as_index(from.batch), as_index(from.head), as_index(safe_row), as_index(safe)};
      return {codegen::locate(b, index, map, indices), b.both(row_there, column_there)};
    };
    std::vector<Id> elements;
    if (by_four) {
      const auto [place, is_there] = located(0);
      elements = b.load_several(from.buffer, place.at, kRun);
      for (Id& each : elements) each = widened(each, is_there);
    } else {
      for (uint32_t i = 0; i < kRun; ++i) {
        const auto [place, is_there] = located(i);
        elements.push_back(widened(b.load(from.buffer, place.at, place.valid), is_there));
      }
    }
    for (uint32_t i = 0; i < kRun; ++i) {
      const Id inside = b.add(c, b.u32(i));
      const Id line = turned ? inside : r, place = turned ? r : inside;
      b.shared_store(strips_, b.add(b.u32(at), b.add(b.mul(line, b.u32(pitch)), place)), elements[i]);
    }
  };
  const uint32_t groups = rows * columns / kRun, threads = tile.threads();
  // Threads too many copy the last group again: to let them stand aside is what PoCL gets wrong, see `copy_out`.
  if (groups % threads != 0) {
    return b.loop(0, static_cast<uint64_t>(ceil_div(groups, threads)), [&](Id turn) {
      copy_group(b.min(b.add(b.mul(turn, b.u32(threads)), b.thread()), b.u32(groups - 1)));
    });
  }
  b.loop(
      0, groups / threads, [&](Id turn) { copy_group(b.add(b.mul(turn, b.u32(threads)), b.thread())); }, unrolls_);
}

void AttentionTiles::multiply(const Matrix& rows, Id first_row, const Matrix& columns, Id first_column,
                              std::span<const Id> products) {
  for (const Id each : products) b.set(each, b.whole(type, 0));
  if (rows.width == 0) return;
  const uint32_t depth = strip_depth(rows.width), behind = depth * row_pitch();
  const auto strip = [&](Id first) {
    copy(rows, first_row, tile.rows, tile.rows, first, depth, 0, row_pitch(), true);
    copy(columns, first_column, tile.columns, tile.columns, first, depth, behind, column_pitch(), true);
    b.barrier();
    steps(depth, [&](Id k) {
      std::vector<Id> left, right;
      const Id line = b.mul(k, b.u32(row_pitch())), other = b.add(b.u32(behind), b.mul(k, b.u32(column_pitch())));
      for (uint32_t i = 0; i < tile.thread_rows(); ++i) left.push_back(b.shared_load(strips_, b.add(line, row(i))));
      for (uint32_t j = 0; j < tile.thread_columns(); ++j)
        right.push_back(b.shared_load(strips_, b.add(other, column(j))));
      for (uint32_t i = 0; i < left.size(); ++i) {
        for (uint32_t j = 0; j < right.size(); ++j) {
          const Id product = products[i * right.size() + j];
          b.set(product, add_product(left[i], right[j], b.get(product)));
        }
      }
    });
    b.barrier();
  };
  if (rows.width <= depth) return strip(b.u32(0));
  b.loop(b.u32(0), b.u32(static_cast<uint64_t>(rows.width)), b.u32(depth), strip);
}

void AttentionTiles::share_weights(std::span<const Id> weights) {
  for (uint32_t j = 0; j < tile.thread_columns(); ++j) {
    const Id line = b.mul(column(j), b.u32(row_pitch()));
    for (uint32_t i = 0; i < tile.thread_rows(); ++i)
      b.shared_store(weights_, b.add(line, row(i)), weights[i * tile.thread_columns() + j]);
  }
}

// The first strip's barrier also makes the weights seen, the last one's lets them be overwritten.
void AttentionTiles::add_weighted(std::span<const Id> sums, const Matrix& values, Id first, Id first_column,
                                  Id may_hide) {
  const uint32_t own = own_columns(values.width), pitch = sum_pitch(values.width);
  if (own == 0) return b.barrier();
  const uint32_t depth = std::min(tile.columns, std::bit_floor(strip_size_ / pitch));
  b.loop(0, tile.columns / depth, [&](Id some) {
    const Id begin = b.mul(some, b.u32(depth));
    copy(values, b.add(first, begin), depth, tile.columns, first_column, own * tile.across, 0, pitch, false);
    b.barrier();
    const auto add_strip = [&](bool skips_hidden) {
      steps(depth, [&](Id k) {
        std::vector<Id> left, right;
        const Id line = b.mul(b.add(begin, k), b.u32(row_pitch())), other = b.mul(k, b.u32(pitch));
        for (uint32_t i = 0; i < tile.thread_rows(); ++i) left.push_back(b.shared_load(weights_, b.add(line, row(i))));
        for (uint32_t e = 0; e < own; ++e)
          right.push_back(b.shared_load(strips_, b.add(other, sum_column(e, values.width))));
        for (uint32_t i = 0; i < left.size(); ++i) {
          for (uint32_t e = 0; e < own; ++e) {
            const Id before = b.get(sums[i * own + e]), after = add_product(left[i], right[e], before);
            const Id skips = skips_hidden ? b.equal(left[i], real(0)) : b.boolean(false);
            b.set(sums[i * own + e], b.select(skips, before, after));
          }
        }
      });
    };
    b.branch(
        may_hide, [&] { add_strip(true); }, [&] { add_strip(false); });
    b.barrier();
  });
}

// By shuffles where the threads of a row are in one subgroup; else each reads what all of them wrote, in order.
std::vector<Id> AttentionTiles::fold_rows(std::vector<Id> values, const std::function<Id(Id, Id)>& join) {
  if (subgroup_ >= tile.across && type == Scalar::f32) {
    for (Id& value : values) {
      for (uint32_t distance = 1; distance < tile.across; distance *= 2)
        value = join(value, b.shuffle(value, distance));
    }
    return values;
  }
  if (!folds_) folds_ = b.add_shared(type, tile.rows * tile.across);
  for (uint32_t i = 0; i < values.size(); ++i)
    b.shared_store(*folds_, b.add(b.mul(row(i), b.u32(tile.across)), across_at), values[i]);
  b.barrier();
  for (uint32_t i = 0; i < values.size(); ++i) {
    const Id line = b.mul(row(i), b.u32(tile.across));
    const Id total = b.variable(b.shared_load(*folds_, line));
    b.loop(1, tile.across,
           [&](Id other) { b.set(total, join(b.get(total), b.shared_load(*folds_, b.add(line, other)))); });
    values[i] = b.get(total);
  }
  return values;
}

void AttentionTiles::write(uint32_t buffer, DType dtype, std::span<const Id> sums, int64_t width, Id first_row,
                           int64_t rows, Id first_column, int64_t step, const std::function<Id(Id)>& line,
                           const std::function<Id(uint32_t, Id)>& finished) {
  if (!unrolls_) return write_staged(buffer, dtype, sums, width, first_row, rows, first_column, line, finished);
  const uint32_t own = own_columns(width);
  if (own == 0) return;
  const uint32_t run = own % 4 == 0 && width % 4 == 0 && step % 4 == 0 ? 4 : 1;
  const bool has_all_rows = rows % tile.rows == 0,
             has_all_columns = width % (own * tile.across) == 0 && has_even_panels();
  for (uint32_t i = 0; i < tile.thread_rows(); ++i) {
    const Id to_row = b.add(first_row, row(i));
    const Id row_there = has_all_rows ? b.boolean(true) : b.less(to_row, b.u32(static_cast<uint64_t>(rows)));
    const Id begin = line(to_row);
    for (uint32_t e = 0; e < own; e += run) {
      const Id place = b.add(first_column, sum_column(e, width));
      const Id column_there = has_all_columns ? b.boolean(true) : b.less(place, b.u32(static_cast<uint64_t>(width)));
      b.branch(b.both(row_there, column_there), [&] {
        std::vector<Id> results;
        for (uint32_t c = 0; c < run; ++c) {
          const Id value = finished(i, b.get(sums[i * own + e + c]));
          results.push_back(codegen::to_memory(b, dtype, codegen::cast(b, p.sums, dtype, value)));
        }
        const Id at = b.add(begin, as_index(place));
        if (run == 1)
          b.store(buffer, at, results[0]);
        else
          b.store_several(buffer, at, results);
      });
    }
  }
}

// Through shared memory, so that no branch depends on the thread: see `copy_out`.
void AttentionTiles::write_staged(uint32_t buffer, DType dtype, std::span<const Id> sums, int64_t width, Id first_row,
                                  int64_t rows, Id first_column, const std::function<Id(Id)>& line,
                                  const std::function<Id(uint32_t, Id)>& finished) {
  const uint32_t own = own_columns(width), pitch = sum_pitch(width);
  if (own == 0) return;
  for (uint32_t i = 0; i < tile.thread_rows(); ++i) {
    for (uint32_t e = 0; e < own; ++e) {
      const Id at = b.add(b.mul(row(i), b.u32(pitch)), sum_column(e, width));
      b.shared_store(strips_, at, finished(i, b.get(sums[i * own + e])));
    }
  }
  b.barrier();
  const Id there = left(first_row, rows, tile.rows), across = left(first_column, width, own * tile.across);
  copy_out(there, across, [&](Id r, Id c) {
    const Id value = b.shared_load(strips_, b.add(b.mul(r, b.u32(pitch)), c));
    const Id at = b.add(line(b.add(first_row, r)), as_index(b.add(first_column, c)));
    b.store(buffer, at, codegen::to_memory(b, dtype, codegen::cast(b, p.sums, dtype, value)));
  });
  b.barrier();
}

Id AttentionTiles::left(Id first, int64_t size, uint32_t most) {
  const Id whole = b.u32(static_cast<uint64_t>(size));
  return b.select(b.less(first, whole), b.min(b.sub(whole, first), b.u32(most)), b.u32(0));
}

// Threads beyond the edge have no turn in the loop. Behind branches that differ between threads and stand beside
// barriers, PoCL 3.1 was seen to store what the branch forbids.
void AttentionTiles::copy_out(Id rows, Id columns, const std::function<void(Id, Id)>& body) {
  b.loop(b.thread(), b.mul(rows, columns), b.u32(tile.threads()),
         [&](Id at) { body(b.div(at, columns), b.mod(at, columns)); });
}

void AttentionTiles::store_rows(std::span<const uint32_t> buffers, std::span<const std::vector<Id>> values, Id is_here,
                                Id first_row, int64_t rows, const std::function<Id(Id)>& at) {
  if (unrolls_) {
    for (uint32_t i = 0; i < tile.thread_rows(); ++i) {
      const Id to = b.add(first_row, row(i));
      const Id is_there = b.both(b.equal(across_at, b.u32(0)), b.less(to, b.u32(static_cast<uint64_t>(rows))));
      b.branch(b.both(is_here, is_there), [&] {
        for (size_t k = 0; k < buffers.size(); ++k) b.store(buffers[k], at(to), values[k][i]);
      });
    }
    return;
  }
  for (size_t k = 0; k < buffers.size(); ++k) {
    for (uint32_t i = 0; i < tile.thread_rows(); ++i) b.shared_store(strips_, row(i), values[k][i]);
    b.barrier();
    const Id there = b.select(is_here, left(first_row, rows, tile.rows), b.u32(0));
    copy_out(there, b.u32(1),
             [&](Id r, Id) { b.store(buffers[k], at(b.add(first_row, r)), b.shared_load(strips_, r)); });
    b.barrier();
  }
}

void AttentionTiles::copy_weights_out(uint32_t buffer, DType dtype, Id is_here, Id first_row, int64_t rows,
                                      Id first_column, int64_t columns, const std::function<Id(Id, Id)>& at) {
  b.barrier();
  const Id there = b.select(is_here, left(first_row, rows, tile.rows), b.u32(0));
  copy_out(there, left(first_column, columns, tile.columns), [&](Id r, Id c) {
    const Id value = b.shared_load(weights_, b.add(b.mul(c, b.u32(row_pitch())), r));
    const Id to = at(b.add(first_row, r), b.add(first_column, c));
    b.store(buffer, to, codegen::to_memory(b, dtype, codegen::cast(b, p.sums, dtype, value)));
  });
}

// ---- scores ----

Id AttentionTiles::is_hidden(Id query, Id key, uint32_t queries, uint32_t keys) {
  Id hidden = b.boolean(false);
  if (p.queries % queries != 0)
    hidden = b.either(hidden, b.is_not(b.less(query, b.u32(static_cast<uint64_t>(p.queries)))));
  if (p.keys % keys != 0) hidden = b.either(hidden, b.is_not(b.less(key, b.u32(static_cast<uint64_t>(p.keys)))));
  return p.attrs.causal ? b.either(hidden, b.less(query, key)) : hidden;
}

AttentionTiles::Score AttentionTiles::score(Id product, Id hidden, uint32_t mask, Id batch, Id head, Id query, Id key) {
  if (!p.attrs.has_mask) return {product, hidden};
  const Id masked = mask_of(mask, batch, head, query, key);
  return {b.add(product, masked), b.either(hidden, hides(masked))};
}

}  // namespace tenon::kernels
