// Products by fma: each thread keeps its few rows and columns of the result in registers.
//
// A block holds a strip of both matrices in shared memory, twice: while one is multiplied out, the next is on its way
// from memory to registers, and goes to the other place when the multiplications are done. So a strip takes one
// barrier, and memory has as much time as the multiplications take.

#include <algorithm>
#include <functional>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"
#include "tenon/kernels/contract_problem.h"

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

// Rows of shared memory are a little longer than the tile, so that threads that store down a column meet different
// banks: of 8 rows in turn each begins 4 banks further. Multiples of 4 keep what is read together aligned.
uint32_t pitch_of(uint32_t across) { return across + 4; }

class LaneProduct {
 public:
  LaneProduct(const ContractProblem& p, const ContractTile& tile, int64_t parts, const ir::Limits& limits)
      : p_(p),
        tile_(tile),
        parts_(parts),
        sums_(codegen::in_register(p.sums)),
        uses_fma_(limits.has_fma && is_float(p.sums)),
        has_subgroups_(limits.subgroup > 1),
        index_(index_type(p)),
        b_("product", tile.threads),
        buffers_(add_contract_buffers(b_, p, codegen::in_memory(p.a.dtype), codegen::in_memory(p.b.dtype))),
        partial_(parts > 1 ? b_.add_buffer(codegen::in_memory(p.sums), true) : 0),
        sizes_(b_, p, tile, parts, index_),
        block_(b_, p, sizes_, tile, parts, index_),
        places_(b_, p, sizes_, index_, block_.batch) {
    if (p.windows) windows_.emplace(b_, *p.windows, block_.batch);
    if (p.windows && p.windows->phases() > 1) block_.end_at(b_, windows_->depth());
  }

  Dispatch run() {
    take_threads();
    Operand a = operand(true), b = operand(false);
    for (uint32_t i = 0; i < tile_.thread_m * tile_.thread_n; ++i) totals_.push_back(b_.variable(b_.whole(sums_, 0)));
    if (p_.depth > 0) {
      store(a, fetch(a, block_.begin), b_.u32(0));
      store(b, fetch(b, block_.begin), b_.u32(0));
      b_.barrier();
      const Id stage = b_.variable(b_.u32(0));
      b_.loop(block_.begin, block_.end, b_.u32(tile_.strip_k), [&](Id depth) {
        const Id next = b_.add(depth, b_.u32(tile_.strip_k)), here = b_.get(stage);
        const Id there = b_.math(Op::bit_xor, Scalar::u32, {here, b_.u32(1)});
        const Loaded next_a = fetch(a, next), next_b = fetch(b, next);
        const Id first_a = b_.add(b_.mul(here, b_.u32(stage_size(a))), a.first);
        const Id first_b = b_.add(b_.mul(here, b_.u32(stage_size(b))), b.first);
        b_.loop(
            0, tile_.strip_k, [&](Id k) { multiply(a, b, first_a, first_b, k); }, has_subgroups_);
        store(a, next_a, there);
        store(b, next_b, there);
        b_.barrier();
        b_.set(stage, there);
      });
    }
    write();
    Dispatch made{b_.finish(), ContractBlock::grid(p_, tile_, parts_), contract_bindings(p_), parts_ == 1};
    made.sizes = b_.sizes();
    return made;
  }

 private:
  // A few elements that one thread takes of every strip: where they are in memory but for the strip's own depth, which
  // of the strip's elements they are, and whether they are inside the matrix.
  struct Group {
    Id place, k;                 // in the matrix, of type index; in the strip, u32
    Id at;                       // in memory, at depth 0; where the operand is strided
    Id shared;                   // in shared memory, of the first place
    Id is_there;                 // or kNoValue
    Id is_taken;                 // whether this thread has such a group at all; or kNoValue
    WindowReader::Place window;  // where the operand is read through windows
  };
  struct Operand {
    ContractStrip strip;
    uint32_t buffer, shared, across, pitch, run;
    Id first;  // of this thread's rows or columns, in shared memory
    std::optional<WindowReader> reader;
    std::vector<Group> groups;
  };
  using Loaded = std::vector<std::vector<Id>>;  // for each group its elements; those behind the end are 0

  Id index(Id value) { return b_.convert(value, index_); }
  Id index_of(int64_t value) { return b_.whole(index_, value); }
  uint32_t stage_size(const Operand& o) const { return tile_.strip_k * o.pitch; }

  // In a subgroup 4 x 8 threads, so that what they read at once is as little as can be.
  void take_threads() {
    const uint32_t across = tile_.block_n / tile_.thread_n, down = tile_.block_m / tile_.thread_m;
    if (!has_subgroups_ || across % 8 != 0 || down % 4 != 0) {
      thread_row_ = b_.div(b_.thread(), b_.u32(across));
      thread_column_ = b_.mod(b_.thread(), b_.u32(across));
      return;
    }
    const Id group = b_.div(b_.thread(), b_.u32(32)), lane = b_.mod(b_.thread(), b_.u32(32));
    thread_row_ = b_.add(b_.mul(b_.div(group, b_.u32(across / 8)), b_.u32(4)), b_.div(lane, b_.u32(8)));
    thread_column_ = b_.add(b_.mul(b_.mod(group, b_.u32(across / 8)), b_.u32(8)), b_.mod(lane, b_.u32(8)));
  }

  Operand operand(bool is_left) {
    Operand made;
    made.strip = contract_strip(p_, is_left);
    made.buffer = is_left ? buffers_.a : buffers_.b;
    made.across = is_left ? tile_.block_m : tile_.block_n;
    made.pitch = pitch_of(made.across);
    made.shared = b_.add_shared(sums_, 2 * stage_size(made));
    made.first =
        b_.mul(is_left ? thread_row_ : thread_column_, b_.u32(run_of(is_left ? tile_.thread_m : tile_.thread_n)));
    made.run = made.strip.reads_by(p_, 4) ? 4 : made.strip.reads_by(p_, 2) ? 2 : 1;
    if (made.strip.side->order != ContractSide::Order::matrix)
      made.reader.emplace(b_, *made.strip.side, *windows_, made.run, tile_.strip_k);
    const uint32_t groups = made.across * tile_.strip_k / made.run;
    for (uint32_t first = 0; first < groups; first += tile_.threads) {
      Group group = group_of(made, b_.add(b_.u32(first), b_.thread()));
      group.is_taken =
          first + tile_.threads > groups ? b_.less(b_.add(b_.u32(first), b_.thread()), b_.u32(groups)) : kNoValue;
      group.is_there = b_.both(group.is_there, group.is_taken);
      made.groups.push_back(group);
    }
    return made;
  }

  // Neighbours in memory go to neighbouring threads. Along the inner dimension those are 32 bytes of f32 at a time,
  // then comes the next row: threads of a subgroup then store to different banks.
  Group group_of(const Operand& o, Id number) {
    Group made{};
    Id across;
    if (o.strip.along_depth) {
      const uint32_t quick = std::min(8 / o.run, tile_.strip_k / o.run);
      const Id low = b_.mod(number, b_.u32(quick)), above = b_.div(number, b_.u32(quick));
      const Id high = b_.div(above, b_.u32(o.across));
      across = b_.mod(above, b_.u32(o.across));
      made.k = b_.mul(b_.add(b_.mul(high, b_.u32(quick)), low), b_.u32(o.run));
    } else {
      across = b_.mul(b_.mod(number, b_.u32(o.across / o.run)), b_.u32(o.run));
      made.k = b_.div(number, b_.u32(o.across / o.run));
    }
    made.place = b_.add(o.strip.is_left ? block_.first_row : block_.first_column, index(across));
    made.shared = b_.add(b_.mul(made.k, b_.u32(o.pitch)), across);
    made.is_there =
        o.strip.size % o.across == 0 ? kNoValue : b_.less(made.place, (o.strip.is_left ? sizes_.rows : sizes_.columns));
    if (o.reader)
      made.window = o.reader->place(b_.convert(made.place, Scalar::u32), made.k);
    else if (o.strip.side->is_strided)
      made.at = places_.locate(o.strip, made.place, index(made.k)).at;
    return made;
  }

  Loaded fetch(const Operand& o, Id depth) {
    Loaded all;
    const bool is_strided = o.strip.side->is_strided;
    const Id ahead = is_strided ? b_.mul(index(depth), (o.strip.is_left ? sizes_.a : sizes_.b).depth_stride) : kNoValue;
    for (const Group& group : o.groups) {
      const Id k = b_.add(depth, group.k);
      const Id is_there = b_.both(group.is_there, b_.less(k, block_.end));
      if (o.reader) {
        const Located at = o.reader->at(group.window, depth);
        all.push_back(b_.load_several(o.buffer, b_.mul(at.at, b_.u32(o.run)), o.run, b_.both(is_there, at.valid)));
      } else if (is_strided) {
        all.push_back(b_.load_several(o.buffer, b_.add(group.at, ahead), o.run, is_there));
      } else {
        const Located at = places_.locate(o.strip, group.place, index(k));
        all.push_back({b_.load(o.buffer, at.at, b_.both(is_there, at.valid))});
      }
    }
    return all;
  }

  void store(const Operand& o, const Loaded& all, Id stage) {
    const Id base = b_.mul(stage, b_.u32(stage_size(o)));
    for (size_t g = 0; g < all.size(); ++g) {
      const auto store_group = [&] {
        std::vector<Id> values;
        for (const Id each : all[g])
          values.push_back(
              codegen::cast(b_, o.strip.side->dtype, p_.sums, codegen::from_memory(b_, o.strip.side->dtype, each)));
        const Id at = b_.add(base, o.groups[g].shared);
        if (!o.strip.along_depth) return store_run(o.shared, at, values);
        for (uint32_t i = 0; i < o.run; ++i) b_.shared_store(o.shared, b_.add(at, b_.u32(i * o.pitch)), values[i]);
      };
      if (o.groups[g].is_taken == kNoValue)
        store_group();
      else
        b_.branch(o.groups[g].is_taken, store_group);
    }
  }

  // Shared memory in vectors of up to 16 bytes.
  uint32_t widest(uint32_t count) const {
    return codegen::size_of(sums_) < 4 ? 1
                                       : std::min<uint32_t>(count, static_cast<uint32_t>(16 / codegen::size_of(sums_)));
  }
  void store_run(uint32_t shared, Id at, std::span<const Id> values) {
    const uint32_t width = widest(static_cast<uint32_t>(values.size()));
    for (uint32_t i = 0; i < values.size(); i += width) {
      const Id to = b_.add(at, b_.u32(i));
      if (width == 1)
        b_.shared_store(shared, to, values[i]);
      else
        b_.shared_store_several(shared, to, values.subspan(i, width));
    }
  }

  // Rows of a thread lie in runs of up to four, and the runs apart, so that threads which read at once read beside each
  // other.
  static uint32_t run_of(uint32_t own) { return own % 4 == 0 ? 4 : own % 2 == 0 ? 2 : 1; }
  static uint32_t run_at(uint32_t i, uint32_t own, uint32_t whole) {
    return i / run_of(own) * run_of(own) * (whole / own);
  }

  std::vector<Id> read(const Operand& o, uint32_t own, Id first, Id k) {
    std::vector<Id> made;
    const uint32_t run = run_of(own), width = widest(run);
    const Id base = b_.add(first, b_.mul(k, b_.u32(o.pitch)));
    for (uint32_t i = 0; i < own; i += width) {
      const Id at = b_.add(base, b_.u32(run_at(i, own, o.across) + i % run));
      for (const Id each : b_.shared_load_several(o.shared, at, width)) made.push_back(each);
    }
    return made;
  }

  void multiply(const Operand& a, const Operand& b, Id first_a, Id first_b, Id k) {
    const std::vector<Id> rows = read(a, tile_.thread_m, first_a, k), columns = read(b, tile_.thread_n, first_b, k);
    for (uint32_t i = 0; i < tile_.thread_m; ++i) {
      for (uint32_t j = 0; j < tile_.thread_n; ++j) {
        const Id total = totals_[i * tile_.thread_n + j], before = b_.get(total);
        b_.set(total, uses_fma_ ? b_.fma(rows[i], columns[j], before)
                                : b_.math(Op::add, sums_, {before, b_.math(Op::mul, sums_, {rows[i], columns[j]})}));
      }
    }
  }

  Id place_of(Id thread, uint32_t i, uint32_t own, uint32_t whole) {
    const uint32_t run = run_of(own);
    return b_.add(b_.u32(run_at(i, own, whole) + i % run), b_.mul(thread, b_.u32(run)));
  }

  void write() {
    const bool is_whole = p_.rows % tile_.block_m == 0 && p_.columns % tile_.block_n == 0;
    uint32_t width = run_of(tile_.thread_n);
    while (p_.columns % width != 0) width /= 2;
    const Id strip = b_.mul(index(block_.part), sizes_.elements);
    const ResultRows lines(b_, p_, windows_ ? &*windows_ : nullptr, sizes_.rows, sizes_.columns);
    for (uint32_t i = 0; i < tile_.thread_m; ++i) {
      const Id row = b_.add(block_.first_row, index(place_of(thread_row_, i, tile_.thread_m, tile_.block_m)));
      const Id counted = b_.mul(b_.add(b_.mul(block_.batch, sizes_.rows), row), sizes_.columns);
      const Located line = parts_ > 1 ? Located{counted, kNoValue} : lines.line(block_.batch, row);
      const Id row_there = b_.both(is_whole ? kNoValue : b_.less(row, sizes_.rows), line.valid);
      for (uint32_t j = 0; j < tile_.thread_n; j += width) {
        const Id column =
            b_.add(block_.first_column, index(place_of(thread_column_, j, tile_.thread_n, tile_.block_n)));
        const Id column_there = is_whole ? b_.boolean(true) : b_.less(column, sizes_.columns);
        b_.branch(b_.both(row_there, column_there), [&] {
          const Id at = b_.add(line.at, column);
          std::vector<Id> results;
          for (uint32_t c = 0; c < width; ++c) {
            const Id sum = b_.get(totals_[i * tile_.thread_n + j + c]);
            results.push_back(parts_ > 1 ? codegen::to_memory(b_, p_.sums, sum)
                                         : finished_sum(b_, p_, buffers_, sizes_.bias_offset, sum,
                                                        b_.add(at, index_of(c)), b_.add(column, index_of(c))));
          }
          const uint32_t target = parts_ > 1 ? partial_ : buffers_.out;
          const Id place = parts_ > 1 ? b_.add(strip, at) : at;
          if (width == 1)
            b_.store(target, place, results[0]);
          else
            b_.store_several(target, place, results);
        });
      }
    }
  }

  const ContractProblem& p_;
  const ContractTile tile_;
  const int64_t parts_;
  const Scalar sums_;
  const bool uses_fma_, has_subgroups_;
  const Scalar index_;
  Builder b_;
  const ContractBuffers buffers_;
  const uint32_t partial_;
  const ContractSizes sizes_;
  ContractBlock block_;
  const ContractPlaces places_;
  std::optional<WindowSizes> windows_;
  Id thread_row_ = 0, thread_column_ = 0;
  std::vector<Id> totals_;
};

}  // namespace

Dispatch lane_product(const ContractProblem& p, const ContractTile& tile, int64_t parts, const ir::Limits& limits) {
  return LaneProduct(p, tile, parts, limits).run();
}

size_t lane_product_bytes(const ContractProblem& p, const ContractTile& tile) {
  return size_t{2} * tile.strip_k * (pitch_of(tile.block_m) + pitch_of(tile.block_n)) *
         codegen::size_of(codegen::in_register(p.sums));
}

}  // namespace tenon::kernels
