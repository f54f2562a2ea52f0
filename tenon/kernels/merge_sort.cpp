// Runs of 1, 2, 4, ... elements are merged, each element finding its place by itself: its own place in its run, plus
// how many elements of the other run come before it, by binary search. That needs one barrier a pass where a bitonic
// network needs one a comparison, no lengths that are powers of two, and no positions to be stable: of equal keys,
// those of the left run come first.
//
// A block sorts short lines, or a tile of a long one, in shared memory; then each doubling of the runs is a dispatch
// from one half of scratch memory to the other.

#include "tenon/kernels/merge_sort.h"

#include <algorithm>
#include <bit>

#include "tenon/base/divide.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::Scalar;
using codegen::size_of;
using ir::Op;

constexpr int64_t kMostTile = 1024;  // elements a block sorts
constexpr uint32_t kMostThreads = 512;
constexpr uint32_t kMergeThreads = 256;

// The place of element `at` of a line of `count`, where runs of `run` = 2^(steps - 1) elements become runs of twice as
// many.
Id merged_place(Builder& b, Id at, Id run, Id steps, Id count, Id mine, const std::function<Id(Id)>& key_at) {
  const Id in_run = b.math(Op::bit_and, Scalar::u32, {at, b.sub(run, b.u32(1))});
  const Id run_start = b.sub(at, in_run);
  const Id is_right = b.is_not(b.equal(b.math(Op::bit_and, Scalar::u32, {run_start, run}), b.u32(0)));
  const Id pair_start = b.select(is_right, b.sub(run_start, run), run_start);
  const Id other = b.select(is_right, pair_start, b.min(b.add(run_start, run), count));
  const Id other_count = b.min(run, b.sub(count, other));
  const Id before = b.variable(b.u32(0));  // elements of the other run that come before this one
  b.loop(b.u32(0), steps, b.u32(1), [&](Id step) {
    const Id tried = b.add(b.get(before), b.math(Op::shr, Scalar::u32, {run, step}));
    const Id is_there = b.is_not(b.less(other_count, tried));
    const Id key = key_at(b.select(is_there, b.sub(b.add(other, tried), b.u32(1)), at));
    const Id comes_first = b.either(b.less(key, mine), b.both(is_right, b.equal(key, mine)));
    b.set(before, b.select(b.both(is_there, comes_first), tried, b.get(before)));
  });
  return b.add(b.add(pair_start, in_run), b.get(before));
}

class MergeSort {
 public:
  MergeSort(codegen::Module& to, const LineSort& sort, const ir::Limits& limits) : to_(to), sort_(sort) {
    const auto pair = static_cast<int64_t>(size_of(sort.key) + sizeof(uint32_t));
    const auto room = std::max<uint32_t>(limits.shared_bytes, 16 << 10);
    tile_ = std::min(kMostTile, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(room / (2 * pair)))));
    is_long_ = sort.length > tile_;
    lines_of_block_ = is_long_ ? 1 : std::max<int64_t>(1, std::min(sort.lines, tile_ / sort.length));
    tiles_of_line_ = is_long_ ? ceil_div(sort.length, tile_) : 1;
    if (!is_long_) tile_ = sort.length * lines_of_block_;
    threads_ =
        static_cast<uint32_t>(std::min<int64_t>({int64_t{limits.max_threads}, int64_t{kMostThreads},
                                                 static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tile_)))}));
    merge_threads_ = std::clamp(limits.max_threads, 1u, kMergeThreads);
    halves_ = is_long_ ? 2 : 1;
    index_ = elements() * halves_ * pair / 4 < int64_t{1} << 31 ? sort.index : Scalar::u64;
    if (is_long_ || !sort.put) to.scratch_bytes = static_cast<size_t>(elements() * halves_ * pair);
  }

  Sorted run() {
    sort_tiles();
    int64_t half = 0;
    for (int64_t run = tile_; is_long_ && run < sort_.length; run *= 2, half = 1 - half)
      merge(run, half, run * 2 >= sort_.length);
    return {keys_of(half), positions_of(half)};
  }

 private:
  int64_t elements() const { return sort_.lines * sort_.length; }
  // Keys of both halves, then positions of both.
  int64_t keys_of(int64_t half) const { return half * elements(); }
  int64_t positions_of(int64_t half) const {
    return static_cast<int64_t>(size_of(sort_.key) / sizeof(uint32_t)) * halves_ * elements() + half * elements();
  }

  struct Kernel {
    Builder b;
    std::vector<Dispatch::Binding> bindings;
    uint32_t keys = 0, positions = 0;  // scratch memory, as elements of both types
  };
  void bind(Kernel& k, const std::vector<BoundBuffer>& buffers, bool is_written) const {
    for (const BoundBuffer& each : buffers) {
      k.b.add_buffer(each.element, is_written);
      k.bindings.push_back(each.binding);
    }
  }
  void bind_scratch(Kernel& k, bool is_written) const {
    const bool is_twice = sort_.key != Scalar::u32;
    k.keys = k.positions = k.b.add_buffer(sort_.key, is_written, is_twice);
    k.bindings.push_back({sort_.scratch, 0});
    if (!is_twice) return;
    k.positions = k.b.add_buffer(Scalar::u32, is_written, true);
    k.bindings.push_back({sort_.scratch, 0});
  }
  void finish(Kernel& k, int64_t blocks, bool puts) const {
    to_.dispatches.push_back({k.b.finish(), {static_cast<uint32_t>(blocks), 1, 1}, std::move(k.bindings), puts});
  }

  Id index(Builder& b, Id value) const { return b.convert(value, index_); }
  Id index_of(Builder& b, int64_t value) const { return b.whole(index_, value); }
  static Id whole32(Builder& b, int64_t value) { return b.u32(static_cast<uint64_t>(value)); }
  Id outside(Builder& b, Id line) const { return b.convert(line, sort_.index); }

  // What is known to be at a place of its sorted line.
  void write(Kernel& k, bool puts, int64_t half, Id line, Id place, Id key, Id position) const {
    Builder& b = k.b;
    if (puts) return sort_.put(b, outside(b, line), place, position);
    const Id at = b.add(b.mul(line, index_of(b, sort_.length)), index(b, place));
    b.store(k.keys, b.add(at, index_of(b, keys_of(half))), key);
    b.store(k.positions, b.add(at, index_of(b, positions_of(half))), position);
  }

  void sort_tiles() {
    Kernel k{Builder(sort_.name + "_tiles", threads_), {}};
    Builder& b = k.b;
    const bool puts = sort_.put && !is_long_;
    bind(k, sort_.reads, false);
    if (puts)
      bind(k, sort_.writes, true);
    else
      bind_scratch(k, true);
    // Two tiles each, to and fro.
    const auto size = static_cast<uint32_t>(tile_);
    const uint32_t keys = b.add_shared(sort_.key, 2 * size), positions = b.add_shared(Scalar::u32, 2 * size);

    const Id block = b.block();
    const Id first_line = is_long_ ? index(b, b.div(block, whole32(b, tiles_of_line_)))
                                   : b.mul(index(b, block), index_of(b, lines_of_block_));
    const Id first = is_long_ ? b.mul(b.mod(block, whole32(b, tiles_of_line_)), b.u32(size)) : b.u32(0);
    const int64_t rest_of_lines = sort_.lines % lines_of_block_;
    Id count = b.u32(size);  // elements of this tile
    if (is_long_ && sort_.length % tile_ != 0) {
      count = b.min(count, b.sub(whole32(b, sort_.length), first));
    } else if (!is_long_ && rest_of_lines != 0) {
      const Id is_last = b.equal(block, whole32(b, sort_.lines / lines_of_block_));
      count = b.select(is_last, whole32(b, rest_of_lines * sort_.length), count);
    }
    const Id line_size = is_long_ ? b.u32(size) : whole32(b, sort_.length);
    const Id line_count = is_long_ ? count : line_size;
    const auto each = [&](const std::function<void(Id at, Id line, Id in_line)>& body) {
      b.loop(b.thread(), count, b.u32(threads_), [&](Id at) {
        if (lines_of_block_ == 1) return body(at, first_line, at);
        body(at, b.add(first_line, index(b, b.div(at, line_size))), b.mod(at, line_size));
      });
    };

    each([&](Id at, Id line, Id in_line) {
      const Id place = b.add(first, in_line);
      b.shared_store(keys, at, sort_.key_at(b, outside(b, line), place));
      b.shared_store(positions, at, place);
    });
    b.barrier();
    const auto passes = std::bit_width(static_cast<uint64_t>(std::min(tile_, sort_.length)) - 1);
    b.loop(0, static_cast<uint64_t>(passes), [&](Id pass) {
      const Id from = b.mul(b.math(Op::bit_and, Scalar::u32, {pass, b.u32(1)}), b.u32(size));
      const Id to = b.sub(b.u32(size), from);
      const Id run = b.math(Op::shl, Scalar::u32, {b.u32(1), pass}), steps = b.add(pass, b.u32(1));
      each([&](Id at, Id, Id in_line) {
        const Id mine = b.shared_load(keys, b.add(from, at)), line_start = b.sub(at, in_line);
        const Id place = merged_place(b, in_line, run, steps, line_count, mine, [&](Id other) {
          return b.shared_load(keys, b.add(from, b.add(line_start, other)));
        });
        const Id target = b.add(to, b.add(line_start, place));
        b.shared_store(keys, target, mine);
        b.shared_store(positions, target, b.shared_load(positions, b.add(from, at)));
      });
      b.barrier();
    });
    const Id last = b.u32(passes % 2 == 1 ? size : 0);
    each([&](Id at, Id line, Id in_line) {
      const Id position = b.shared_load(positions, b.add(last, at));
      const Id key = puts ? codegen::kNoValue : b.shared_load(keys, b.add(last, at));
      write(k, puts, 0, line, b.add(first, in_line), key, position);
    });
    finish(k, is_long_ ? sort_.lines * tiles_of_line_ : ceil_div(sort_.lines, lines_of_block_), puts);
  }

  void merge(int64_t run, int64_t half, bool is_last) {
    Kernel k{Builder(sort_.name + "_merge_" + std::to_string(run), merge_threads_), {}};
    Builder& b = k.b;
    const bool puts = sort_.put && is_last;
    if (puts) {
      bind(k, sort_.reads, false);
      bind(k, sort_.writes, true);
    }
    bind_scratch(k, !puts);
    const Id at = b.add(b.mul(index(b, b.block()), index_of(b, merge_threads_)), index(b, b.thread()));
    if (elements() % merge_threads_ != 0) b.leave_if(b.is_not(b.less(at, index_of(b, elements()))));
    const Id line = b.div(at, index_of(b, sort_.length));
    const Id in_line = b.convert(sort_.lines == 1 ? at : b.mod(at, index_of(b, sort_.length)), Scalar::u32);
    const Id start = b.add(b.mul(line, index_of(b, sort_.length)), index_of(b, keys_of(half)));
    const Id mine = b.load(k.keys, b.add(start, index(b, in_line)));
    const Id position = b.load(k.positions, b.add(at, index_of(b, positions_of(half))));
    const auto steps = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(run)));
    const Id place = merged_place(b, in_line, whole32(b, run), b.u32(steps), whole32(b, sort_.length), mine,
                                  [&](Id other) { return b.load(k.keys, b.add(start, index(b, other))); });
    write(k, puts, 1 - half, line, place, mine, position);
    finish(k, ceil_div(elements(), merge_threads_), puts);
  }

  codegen::Module& to_;
  const LineSort& sort_;
  int64_t tile_ = 1, lines_of_block_ = 1, tiles_of_line_ = 1, halves_ = 1;
  uint32_t threads_ = 1, merge_threads_ = 1;
  bool is_long_ = false;
  Scalar index_ = Scalar::u32;
};

}  // namespace

Sorted add_sort(codegen::Module& to, const LineSort& sort, const ir::Limits& limits) {
  return MergeSort(to, sort, limits).run();
}

}  // namespace tenon::kernels
