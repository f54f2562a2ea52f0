// A block copies a strip of both matrices into shared memory, each thread multiplies its few rows and columns of it out
// in registers, and so on along the inner dimension.
//
// Where there are too few tiles for the device's processors, the inner dimension is cut into parts that are summed by
// themselves and added one after another by a second dispatch. Whether and where it is cut follows from the sizes and
// the device, not from the tile, so that tiles can be chosen freely.

#include "tenon/kernels/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/codegen/address.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::kNoValue;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

constexpr int64_t kLeastPart = 128;  // of the inner dimension
constexpr int64_t kMostParts = 32;
constexpr int64_t kLongestPart = 1 << 16;  // a longer sum would lose digits
constexpr int64_t kUsualTile = 64;         // by which the work of a product is judged

// One operand: a batch of matrices, as strides where the map allows.
struct Side {
  DType dtype = DType::f32;
  ir::IndexMap map;
  Dims batch_strides;
  int64_t offset = 0, row = 0, column = 0;  // strides
  bool is_strided = false;
};

struct Problem {
  Dims batch;
  int64_t rows = 0, columns = 0, depth = 0;
  Side a, b;
  DType sums = DType::f32, out = DType::f32;
  bool has_bias = false, has_residual = false;
  DType bias = DType::f32;
  int64_t bias_offset = 0;
  bool is_in_place = false;

  int64_t batches() const { return ir::count(batch); }
  int64_t elements() const { return batches() * rows * columns; }
};

Side side_of(const ir::Operand& operand) {
  Side made{operand.dtype, operand.map, {}, 0, 0, 0, operand.map.is_strided()};
  if (!made.is_strided) return made;
  const ir::View& view = operand.map.views()[0];
  const size_t rank = view.shape.size();
  made.batch_strides = Dims(view.strides.begin(), view.strides.end() - 2);
  made.offset = view.offset;
  made.row = view.strides[rank - 2];
  made.column = view.strides[rank - 1];
  return made;
}

// A batch that the right matrix does not change along is more rows of the left one.
void join_batches_with_rows(Problem& p) {
  if (!p.a.is_strided || !p.b.is_strided) return;
  while (!p.batch.empty()) {
    const int64_t size = p.batch.back(), step = p.a.batch_strides.back();
    const bool joins = size == 1 || (p.b.batch_strides.back() == 0 && (p.rows == 1 || step == p.rows * p.a.row));
    if (!joins) return;
    if (size != 1) {
      if (p.rows == 1) p.a.row = step;
      p.rows *= size;
    }
    p.batch.pop_back();
    p.a.batch_strides.pop_back();
    p.b.batch_strides.pop_back();
  }
}

Problem problem_of(const ir::Call& call) {
  Problem p;
  const Dims &a = call.inputs[0].map.shape(), &b = call.inputs[1].map.shape();
  const size_t rank = a.size();
  p.batch = Dims(a.begin(), a.end() - 2);
  p.rows = a[rank - 2];
  p.depth = a[rank - 1];
  p.columns = b[rank - 1];
  p.a = side_of(call.inputs[0]);
  p.b = side_of(call.inputs[1]);
  p.out = call.outputs[0].dtype;
  const auto& attrs = std::get<ir::ContractAttrs>(call.attrs);
  p.sums = accumulator(attrs.result);
  p.has_bias = call.epilogue.bias;
  p.has_residual = call.epilogue.residual;
  if (p.has_bias) {
    p.bias = call.inputs[2].dtype;
    p.bias_offset = call.inputs[2].map.views()[0].offset;
  }
  join_batches_with_rows(p);
  return p;
}

bool needs_64_bits(const Problem& p) {
  const auto most_parts = static_cast<double>(std::max(kMostParts, ceil_div(p.depth, kLongestPart)));
  return !codegen::fits_32(p.a.map) || !codegen::fits_32(p.b.map) ||
         static_cast<double>(p.elements()) * most_parts >= 2147483648.0;
}

// The buffers of all kernels of a product: operands, addends, result.
struct Buffers {
  uint32_t a, b, bias = 0, residual = 0, out;
};
Buffers add_buffers(Builder& b, const Problem& p) {
  Buffers made{};
  made.a = b.add_buffer(codegen::in_memory(p.a.dtype), false);
  made.b = b.add_buffer(codegen::in_memory(p.b.dtype), false);
  if (p.has_bias) made.bias = b.add_buffer(codegen::in_memory(p.bias), false);
  if (p.has_residual) made.residual = b.add_buffer(codegen::in_memory(p.sums), false, true);
  made.out = b.add_buffer(codegen::in_memory(p.out), true, p.has_residual);
  return made;
}
std::vector<Dispatch::Binding> bindings_of(const Problem& p) {
  std::vector<Dispatch::Binding> made;
  const uint32_t args = 3 + (p.has_bias ? 1 : 0) + (p.has_residual ? 1 : 0);
  for (uint32_t i = 0; i < args; ++i) made.push_back({i, 0});
  return made;
}

// What follows a sum: bias, then residual, then rounding. `at`: of the result; `column`: of the matrix.
Id finished(Builder& b, const Problem& p, const Buffers& buffers, Id sum, Id at, Id column) {
  if (p.has_bias) {
    const Id place = b.add(column, b.whole(b.type_of(column), p.bias_offset));
    const Id bias = codegen::from_memory(b, p.bias, b.load(buffers.bias, place));
    sum = codegen::apply(b, Op::add, p.sums, p.sums, std::array{sum, codegen::cast(b, p.bias, p.sums, bias)});
  }
  if (p.has_residual) {
    const Id residual = codegen::from_memory(b, p.sums, b.load(buffers.residual, at));
    sum = codegen::apply(b, Op::add, p.sums, p.sums, std::array{sum, residual});
  }
  return codegen::to_memory(b, p.out, codegen::cast(b, p.sums, p.out, codegen::rounded(b, p.sums, sum)));
}

class TiledProduct {
 public:
  TiledProduct(const Problem& p, const ProductTile& tile, int64_t parts, const ir::Limits& limits)
      : p_(p),
        tile_(tile),
        parts_(parts),
        part_(ceil_div(ceil_div(p.depth, parts), int64_t{kDepthUnit}) * kDepthUnit),
        uses_fma_(limits.has_fma && is_float(p.sums)),
        unrolls_(limits.subgroup > 1),
        index_(needs_64_bits(p) ? Scalar::u64 : Scalar::u32),
        b_("product", tile.threads()),
        buffers_(add_buffers(b_, p)) {}

  Dispatch run() {
    partial_ = parts_ > 1 ? b_.add_buffer(codegen::in_memory(p_.sums), true) : 0;
    const Scalar sums = codegen::in_register(p_.sums);
    shared_a_ = b_.add_shared(sums, tile_.depth * row_pitch());
    shared_b_ = b_.add_shared(sums, tile_.depth * column_pitch());
    const uint32_t across = tile_.columns / tile_.thread_columns;
    thread_row_ = b_.div(b_.thread(), b_.u32(across));
    thread_column_ = b_.mod(b_.thread(), b_.u32(across));
    first_row_ = index(b_.mul(b_.block(1), b_.u32(tile_.rows)));
    first_column_ = index(b_.mul(b_.block(0), b_.u32(tile_.columns)));
    const Id plane = b_.block(2);
    const Id batch = parts_ > 1 ? b_.div(plane, whole32(parts_)) : plane;
    const Id part = parts_ > 1 ? b_.mod(plane, whole32(parts_)) : b_.u32(0);
    batch_ = index(batch);
    batch_indices_ = codegen::unravel(b_, batch_, {p_.batch.data(), p_.batch.size()});
    base_a_ = base_of(p_.a);
    base_b_ = base_of(p_.b);

    for (uint32_t i = 0; i < tile_.thread_rows * tile_.thread_columns; ++i)
      totals_.push_back(b_.variable(b_.whole(sums, 0)));
    const Id begin = b_.mul(part, whole32(part_));
    const Id end = parts_ > 1 ? b_.min(b_.add(begin, whole32(part_)), whole32(p_.depth)) : whole32(p_.depth);
    if (p_.depth > 0) {
      b_.loop(begin, end, b_.u32(tile_.depth), [&](Id depth) {
        copy_strip(p_.a, buffers_.a, base_a_, shared_a_, true, depth, end);
        copy_strip(p_.b, buffers_.b, base_b_, shared_b_, false, depth, end);
        b_.barrier();
        b_.loop(
            0, tile_.depth, [&](Id k) { multiply(k); }, unrolls_);
        b_.barrier();
      });
    }
    write(part);
    return {b_.finish(),
            {static_cast<uint64_t>(ceil_div(p_.columns, tile_.columns)),
             static_cast<uint64_t>(ceil_div(p_.rows, tile_.rows)), static_cast<uint64_t>(p_.batches() * parts_)},
            bindings_of(p_),
            parts_ == 1};
  }

 private:
  static constexpr uint32_t kDepthUnit = 32;  // parts begin at whole strips of every tile

  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  Id whole32(int64_t value) { return b_.u32(static_cast<uint64_t>(value)); }
  // Rows of shared memory are a little longer than the tile, so that threads that store down a column meet different
  // banks; multiples of 4 keep what is read together aligned.
  uint32_t row_pitch() const { return tile_.rows + 4; }
  uint32_t column_pitch() const { return tile_.columns + 4; }

  Id base_of(const Side& side) {
    if (!side.is_strided) return kNoValue;
    Id at = index_of(side.offset);
    for (size_t i = 0; i < p_.batch.size(); ++i)
      at = b_.add(at, b_.mul(batch_indices_[i], index_of(side.batch_strides[i])));
    return at;
  }

  // Copies elements `depth` .. of a strip: of the left matrix its rows, of the right one its columns. Threads take
  // neighbours in memory, four at a time where they lie so.
  void copy_strip(const Side& side, uint32_t buffer, Id base, uint32_t shared, bool is_left, Id depth, Id end) {
    const uint32_t across = is_left ? tile_.rows : tile_.columns;
    const int64_t size = is_left ? p_.rows : p_.columns;
    const int64_t stride = is_left ? side.row : side.column, depth_stride = is_left ? side.column : side.row;
    const bool along_depth = side.is_strided ? depth_stride == 1 || (stride != 1 && depth_stride < stride) : is_left;
    const int64_t inner_size = along_depth ? p_.depth : size, outer_stride = along_depth ? stride : depth_stride;
    bool by_four = side.is_strided && (along_depth ? depth_stride : stride) == 1 && inner_size % 4 == 0 &&
                   outer_stride % 4 == 0 && side.offset % 4 == 0;
    for (const int64_t step : side.batch_strides) by_four = by_four && step % 4 == 0;
    const uint32_t run = 4, inner = along_depth ? tile_.depth : across;
    const uint32_t groups = across * tile_.depth / run, threads = tile_.threads();
    const Id first = is_left ? first_row_ : first_column_;
    const uint32_t pitch = is_left ? row_pitch() : column_pitch();
    const auto copy_group = [&](Id group) {
      const Id in_run = b_.mul(b_.mod(group, b_.u32(inner / run)), b_.u32(run));
      const Id beyond = b_.div(group, b_.u32(inner / run));
      std::vector<Id> elements;
      if (by_four) {
        const Id k = b_.add(depth, along_depth ? in_run : beyond);
        const Id place = b_.add(first, index(along_depth ? beyond : in_run));
        const Id k_there = b_.less(k, end), place_there = b_.less(place, index_of(size));
        const Id safe_k = index(b_.select(k_there, k, b_.u32(0)));
        const Id safe_place = b_.select(place_there, place, index_of(0));
        const Id at =
            b_.add(base, b_.add(b_.mul(safe_place, index_of(stride)), b_.mul(safe_k, index_of(depth_stride))));
        elements = b_.load_several(buffer, at, run);
        for (Id& each : elements) each = widened(side.dtype, each, k_there);
      } else {
        for (uint32_t i = 0; i < run; ++i) {
          const Id inside = b_.add(in_run, b_.u32(i));
          const Id k = b_.add(depth, along_depth ? inside : beyond);
          const Id place = b_.add(first, index(along_depth ? beyond : inside));
          const Id k_there = b_.less(k, end), place_there = b_.less(place, index_of(size));
          const Id safe_k = index(b_.select(k_there, k, b_.u32(0)));
          const Id safe_place = b_.select(place_there, place, index_of(0));
          const Located at = locate(side, base, is_left, safe_place, safe_k);
          elements.push_back(widened(side.dtype, b_.load(buffer, at.at, at.valid), k_there));
        }
      }
      for (uint32_t i = 0; i < run; ++i) {
        const Id inside = b_.add(in_run, b_.u32(i));
        const Id k = along_depth ? inside : beyond, place = along_depth ? beyond : inside;
        b_.shared_store(shared, b_.add(b_.mul(k, b_.u32(pitch)), place), elements[i]);
      }
    };
    if (groups % threads == 0) {
      b_.loop(
          0, groups / threads, [&](Id turn) { copy_group(b_.add(b_.mul(turn, b_.u32(threads)), b_.thread())); },
          unrolls_);
    } else {
      b_.loop(0, ceil_div(groups, threads), [&](Id turn) {
        const Id group = b_.add(b_.mul(turn, b_.u32(threads)), b_.thread());
        b_.branch(b_.less(group, b_.u32(groups)), [&] { copy_group(group); });
      });
    }
  }

  Located locate(const Side& side, Id base, bool is_left, Id place, Id k) {
    if (side.is_strided) {
      const int64_t stride = is_left ? side.row : side.column, depth_stride = is_left ? side.column : side.row;
      return {b_.add(base, b_.add(b_.mul(place, index_of(stride)), b_.mul(k, index_of(depth_stride)))), kNoValue};
    }
    std::vector<Id> indices = batch_indices_;
    indices.push_back(is_left ? place : k);
    indices.push_back(is_left ? k : place);
    return codegen::locate(b_, index_, side.map, indices);
  }

  // Behind the end of the inner dimension both matrices are 0.
  Id widened(DType dtype, Id loaded, Id is_there) {
    const Id value = codegen::cast(b_, dtype, p_.sums, codegen::from_memory(b_, dtype, loaded));
    return b_.select(is_there, value, b_.whole(codegen::in_register(p_.sums), 0));
  }

  // Row i of a thread: fours that lie apart, so that threads which read at once read beside each other.
  static Id place_of(Builder& b, Id thread, uint32_t i, uint32_t own, uint32_t whole) {
    const uint32_t run = std::min(own, 4u), threads = whole / own;
    return b.add(b.u32(i / run * run * threads), b.add(b.mul(thread, b.u32(run)), b.u32(i % run)));
  }
  Id row_of(uint32_t i) { return place_of(b_, thread_row_, i, tile_.thread_rows, tile_.rows); }
  Id column_of(uint32_t j) { return place_of(b_, thread_column_, j, tile_.thread_columns, tile_.columns); }

  void multiply(Id k) {
    std::vector<Id> rows, columns;
    const Id row_base = b_.mul(k, b_.u32(row_pitch())), column_base = b_.mul(k, b_.u32(column_pitch()));
    for (uint32_t i = 0; i < tile_.thread_rows; ++i)
      rows.push_back(b_.shared_load(shared_a_, b_.add(row_base, row_of(i))));
    for (uint32_t j = 0; j < tile_.thread_columns; ++j)
      columns.push_back(b_.shared_load(shared_b_, b_.add(column_base, column_of(j))));
    const Scalar type = codegen::in_register(p_.sums);
    for (uint32_t i = 0; i < tile_.thread_rows; ++i) {
      for (uint32_t j = 0; j < tile_.thread_columns; ++j) {
        const Id total = totals_[i * tile_.thread_columns + j], before = b_.get(total);
        b_.set(total, uses_fma_ ? b_.fma(rows[i], columns[j], before)
                                : b_.math(Op::add, type, {before, b_.math(Op::mul, type, {rows[i], columns[j]})}));
      }
    }
  }

  void write(Id part) {
    const bool is_whole = p_.rows % tile_.rows == 0 && p_.columns % tile_.columns == 0;
    const bool by_four = tile_.thread_columns % 4 == 0 && p_.columns % 4 == 0;
    const Id strip = b_.mul(index(part), index_of(p_.elements()));
    for (uint32_t i = 0; i < tile_.thread_rows; ++i) {
      const Id row = b_.add(first_row_, index(row_of(i)));
      const Id line = b_.mul(b_.add(b_.mul(batch_, index_of(p_.rows)), row), index_of(p_.columns));
      const Id row_there = is_whole ? kNoValue : b_.less(row, index_of(p_.rows));
      for (uint32_t j = 0; j < tile_.thread_columns; j += by_four ? 4 : 1) {
        const Id column = b_.add(first_column_, index(column_of(j)));
        const Id is_there = is_whole ? b_.boolean(true) : b_.both(row_there, b_.less(column, index_of(p_.columns)));
        b_.branch(is_there, [&] {
          std::vector<Id> results;
          for (uint32_t c = 0; c < (by_four ? 4u : 1u); ++c) {
            const Id sum = b_.get(totals_[i * tile_.thread_columns + j + c]);
            const Id at = b_.add(line, b_.add(column, index_of(c)));
            results.push_back(parts_ > 1 ? codegen::to_memory(b_, p_.sums, sum)
                                         : finished(b_, p_, buffers_, sum, at, b_.add(column, index_of(c))));
          }
          const Id at = b_.add(line, column);
          const uint32_t target = parts_ > 1 ? partial_ : buffers_.out;
          const Id place = parts_ > 1 ? b_.add(strip, at) : at;
          if (results.size() == 1)
            b_.store(target, place, results[0]);
          else
            b_.store_several(target, place, results);
        });
      }
    }
  }

  const Problem& p_;
  const ProductTile tile_;
  const int64_t parts_, part_;
  const bool uses_fma_, unrolls_;
  const Scalar index_;
  Builder b_;
  const Buffers buffers_;
  uint32_t partial_ = 0, shared_a_ = 0, shared_b_ = 0;
  Id thread_row_ = 0, thread_column_ = 0, first_row_ = 0, first_column_ = 0, batch_ = 0, base_a_ = 0, base_b_ = 0;
  std::vector<Id> batch_indices_, totals_;
};

// Into so many parts the inner dimension is cut, by sizes and device alone.
int64_t parts_of(const Problem& p, const ir::Limits& limits) {
  const int64_t tiles = p.batches() * ceil_div(p.rows, kUsualTile) * ceil_div(p.columns, kUsualTile);
  if (tiles == 0 || p.elements() == 0) return 1;
  const int64_t wanted = std::min(ceil_div(limits.processors, tiles), p.depth / kLeastPart);
  return std::max(std::clamp<int64_t>(wanted, 1, kMostParts), ceil_div(p.depth, kLongestPart));
}

// Adds up the parts of every element.
Dispatch add_parts(const Problem& p, int64_t parts, const ir::Limits& limits) {
  const uint32_t threads = std::clamp(limits.max_threads, 1u, 256u);
  Builder b("product_parts", threads);
  const Buffers buffers = add_buffers(b, p);
  const uint32_t partial = b.add_buffer(codegen::in_memory(p.sums), false);
  const Scalar type = needs_64_bits(p) ? Scalar::u64 : Scalar::u32;
  const Id at = b.add(b.mul(b.convert(b.block(), type), b.whole(type, threads)), b.convert(b.thread(), type));
  if (p.elements() % threads != 0) b.leave_if(b.is_not(b.less(at, b.whole(type, p.elements()))));
  const Id total = b.variable(codegen::from_memory(b, p.sums, b.load(partial, at)));
  b.loop(1, static_cast<uint64_t>(parts), [&](Id part) {
    const Id place = b.add(b.mul(b.convert(part, type), b.whole(type, p.elements())), at);
    const Id next = codegen::from_memory(b, p.sums, b.load(partial, place));
    b.set(total, codegen::join(b, Op::sum, p.sums, b.get(total), next));
  });
  b.store(buffers.out, at, finished(b, p, buffers, b.get(total), at, b.mod(at, b.whole(type, p.columns))));
  return {b.finish(), {static_cast<uint64_t>(ceil_div(p.elements(), threads)), 1, 1}, bindings_of(p), true};
}

}  // namespace

std::vector<ProductTile> product_tiles(const ir::Limits& limits) {
  if (limits.subgroup <= 1) return {{32, 32, 16, 4, 4}, {8, 32, 16, 1, 4}};
  return {{128, 128, 16, 8, 8}, {128, 64, 16, 8, 4}, {64, 64, 16, 4, 4}, {32, 64, 32, 2, 4}, {8, 128, 32, 1, 4}};
}

ProductTile choose_tile(int64_t batches, int64_t rows, int64_t columns, const ir::Limits& limits) {
  const std::vector<ProductTile> tiles = product_tiles(limits);
  for (const ProductTile& tile : tiles) {
    const bool fits = tile.threads() <= limits.max_threads && rows * 2 > tile.rows;
    const int64_t blocks = batches * ceil_div(rows, tile.rows) * ceil_div(columns, tile.columns);
    if (fits && blocks >= limits.processors) return tile;
  }
  for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile) {
    if (rows <= tile->rows && tile->threads() <= limits.max_threads) return *tile;
  }
  for (const ProductTile& tile : tiles) {
    if (tile.rows <= 64 && tile.threads() <= limits.max_threads) return tile;
  }
  return tiles.back();
}

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits) {
  const Problem p = problem_of(call);
  const int64_t parts = parts_of(p, limits);
  return lower_contract(call, limits, choose_tile(p.batches() * parts, p.rows, p.columns, limits));
}

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits, const ProductTile& tile) {
  const Problem p = problem_of(call);
  codegen::Module made;
  if (p.elements() == 0) return made;
  const int64_t parts = parts_of(p, limits);
  made.dispatches.push_back(TiledProduct(p, tile, parts, limits).run());
  if (parts == 1) return made;
  made.scratch_bytes = static_cast<size_t>(p.elements() * parts) * size_of(p.sums);
  const auto scratch = static_cast<uint32_t>(made.dispatches[0].buffers.size());
  made.dispatches[0].buffers.push_back({scratch, 0});
  made.dispatches.push_back(add_parts(p, parts, limits));
  made.dispatches[1].buffers.push_back({scratch, 0});
  return made;
}

}  // namespace tenon::kernels
