// The picks are sorted by their target, and each target row, with all that is added to it, belongs to the first pick of
// its run: one thread a column adds the rows one after another, in the order of their indices. So no two threads write
// one element. Where rows are written and not added, the last pick of a run writes its own.
//
// Of a run longer than a segment of 32, each further segment is summed by threads of its own before; the first pick's
// adds these sums in order. So the order follows from the length of the run alone, and up to 32 it is that of a loop.

#include "tenon/kernels/scatter.h"

#include <algorithm>
#include <bit>

#include "tenon/base/divide.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/schedule.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/lines.h"
#include "tenon/kernels/merge_sort.h"

namespace tenon::kernels {
namespace {

using codegen::Builder;
using codegen::Id;
using codegen::Scalar;
using ir::Op;

// Arguments of the launch.
constexpr uint32_t kBase = 0, kIndex = 1, kValue = 2, kOut = 3, kScratch = 4;
// Rows that a thread reads before it adds the first of them, because a single load would keep it waiting.
constexpr uint32_t kRowsAhead = 8;
constexpr uint32_t kSegment = 32;  // rows of a run that are added one after another

struct Scatter {
  const ir::Call& call;
  int64_t axis = std::get<ir::AxisAttrs>(call.attrs).axis;
  Lines lines{call.outputs[0].shape, axis};
  DType dtype = call.outputs[0].dtype;
  const ir::Operand& index = call.inputs[1];
  const ir::Operand& value = call.inputs[2];
  int64_t picks = ir::count(index.map.shape());

  int64_t additions() const { return lines.outer * picks * lines.inner; }
  /// Places for sums of segments. Of all but the first segments of runs, no two begin within 32 sorted picks, so each
  /// has the place of its beginning / 32.
  int64_t segments() const { return picks > kSegment ? base::ceil_div(picks, int64_t{kSegment}) : 0; }
  int64_t segment_sums() const { return lines.outer * segments() * lines.inner; }
};

// The target of a pick; one behind the last row where it is a bad one, which is a fault.
Id checked_target(Builder& b, const Scatter& s, Id pick, Scalar key) {
  const Scalar own = codegen::in_register(s.index.dtype);
  const Scalar plain = own == Scalar::i64 ? Scalar::u64 : Scalar::u32;
  const Id target = load_at(b, 0, s.index.map, pick), bits = b.bitcast(target, plain);
  const int64_t most = own == Scalar::i64 ? s.lines.length : std::min(s.lines.length, int64_t{1} << 31);
  const Id is_good = b.less(bits, b.whole(plain, most));
  b.fault_if(s.call.op, ir::LookUp::of_op, b.is_not(is_good), b.convert(target, Scalar::i64),
             static_cast<uint32_t>(s.axis), static_cast<uint64_t>(s.lines.length));
  return b.select(is_good, b.convert(bits, key), b.whole(key, s.lines.length));
}

// Where the run of equal keys ends that begins at `first`: keys are sorted, and `picks` of them.
Id end_of_run(Builder& b, const Scatter& s, Id first, Id target, const std::function<Id(Id)>& key_at) {
  const Id same = b.variable(b.u32(0));  // keys behind the first that are known to equal it
  const auto steps = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(s.picks)));
  b.loop(0, steps, [&](Id step) {
    const Id tried = b.add(b.get(same), b.math(Op::shr, Scalar::u32, {b.u32(uint64_t{1} << (steps - 1)), step}));
    const Id at = b.add(first, tried);
    const Id is_there = b.less(at, b.u32(static_cast<uint64_t>(s.picks)));
    const Id is_same = b.equal(key_at(b.select(is_there, at, first)), target);
    b.set(same, b.select(b.both(is_there, is_same), tried, b.get(same)));
  });
  return b.add(b.add(first, b.get(same)), b.u32(1));
}

// Where the run of equal keys begins that `last` belongs to.
Id start_of_run(Builder& b, const Scatter& s, Id last, Id target, const std::function<Id(Id)>& key_at) {
  const Id same = b.variable(b.u32(0));  // keys before the last that are known to equal it
  const auto steps = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(s.picks)));
  b.loop(0, steps, [&](Id step) {
    const Id tried = b.add(b.get(same), b.math(Op::shr, Scalar::u32, {b.u32(uint64_t{1} << (steps - 1)), step}));
    const Id is_there = b.is_not(b.less(last, tried));
    const Id is_same = b.equal(key_at(b.select(is_there, b.sub(last, tried), last)), target);
    b.set(same, b.select(b.both(is_there, is_same), tried, b.get(same)));
  });
  return b.sub(last, b.get(same));
}

// What both kernels see: the sorted picks, the rows they stand for, and the sums of segments.
class ScatterWriter {
 public:
  ScatterWriter(std::string name, const Scatter& s, const Sorted& sorted, Scalar key, size_t sums_at,
                const ir::Limits& limits)
      : s_(s),
        sorted_(sorted),
        key_(key),
        sums_at_(sums_at),
        threads_(codegen::flat_threads(limits)),
        ahead_(limits.subgroup > 1 ? kRowsAhead : 1),
        type_(index_type(std::max({s.additions(), s.lines.elements(), 8 * s.picks, s.segment_sums()}), {&s.value.map})),
        b_(std::move(name), threads_) {
    values_ = add_buffer(codegen::in_memory(s.dtype), false, {kValue, 0});
    keys_ = add_buffer(key, false, {kScratch, 0});
    positions_ = key == Scalar::u32 ? keys_ : add_buffer(Scalar::u32, false, {kScratch, 0});
  }

  // The sum of each segment but the first of a run.
  codegen::Dispatch add_segments() {
    const uint32_t sums = add_buffer(codegen::in_register(s_.dtype), true, {kScratch, sums_at_});
    const Id at = enter(s_.segment_sums(), s_.segments());
    const Id window = b_.mul(row_, b_.u32(kSegment));  // a segment that begins in it is of the run of its first pick
    const Id target = key_at(window), start = start_of_run(b_, s_, window, target, keys_at());
    const Id further = b_.sub(window, start), segment = b_.u32(kSegment);
    const Id first = b_.add(start, b_.mul(b_.div(b_.add(further, b_.u32(kSegment - 1)), segment), segment));
    const Id is_first_of_run = b_.equal(further, b_.u32(0));
    const Id is_there = b_.less(first, picks());
    b_.leave_if(b_.either(is_first_of_run, b_.is_not(is_there)));
    b_.leave_if(b_.is_not(b_.equal(key_at(first), target)));
    b_.leave_if(is_bad(target));
    const Id end = b_.min(end_of_run(b_, s_, first, target, keys_at()), b_.add(first, segment));
    const Id total = b_.variable(b_.whole(codegen::in_register(s_.dtype), 0));
    add_rows(total, first, end);
    b_.store(sums, at, b_.get(total));
    return finish(s_.segment_sums(), false);
  }

  // A row of the last pick of a run.
  codegen::Dispatch write_last() {
    const uint32_t out = add_buffer(codegen::in_memory(s_.dtype), true, {kOut, 0});
    enter(s_.additions(), s_.picks);
    const Id own = row_, target = key_at(own), next = b_.add(own, b_.u32(1));
    const Id is_behind = b_.less(next, picks());  // somebody is
    b_.leave_if(b_.both(is_behind, b_.equal(key_at(b_.select(is_behind, next, own)), target)));
    b_.leave_if(is_bad(target));
    b_.store(out, place_of(target), value_of(own));
    return finish(s_.additions(), true);
  }

  // All that is added to a row, by the first pick of its run.
  codegen::Dispatch add_runs() {
    const uint32_t out = add_buffer(codegen::in_memory(s_.dtype), true, {kOut, 0});
    const bool has_segments = s_.segments() > 0;
    const uint32_t sums = has_segments ? add_buffer(codegen::in_register(s_.dtype), false, {kScratch, sums_at_}) : 0;
    enter(s_.additions(), s_.picks);
    const Id first = row_, target = key_at(first), is_first = b_.equal(first, b_.u32(0));
    const Id before = key_at(b_.select(is_first, first, b_.sub(first, b_.u32(1))));
    b_.leave_if(b_.both(b_.is_not(is_first), b_.equal(before, target)));  // not the first of its run
    b_.leave_if(is_bad(target));
    const Id end = end_of_run(b_, s_, first, target, keys_at());

    const Id place = place_of(target);
    const Id total = b_.variable(codegen::from_memory(b_, s_.dtype, b_.load(out, place)));
    const Id second = b_.add(first, b_.u32(kSegment));
    add_rows(total, first, has_segments ? b_.min(end, second) : end);
    if (has_segments) {
      add_ahead(total, second, end, kSegment, [&](Id begin) {
        const Id place_of_sum = b_.add(b_.mul(outer_, index_of(s_.segments())), index(b_.div(begin, b_.u32(kSegment))));
        return b_.load(sums, b_.add(b_.mul(place_of_sum, index_of(s_.lines.inner)), column_));
      });
    }
    b_.store(out, place, codegen::to_memory(b_, s_.dtype, b_.get(total)));
    return finish(s_.additions(), true);
  }

 private:
  uint32_t add_buffer(Scalar element, bool is_written, codegen::Dispatch::Binding binding) {
    bindings_.push_back(binding);
    return b_.add_buffer(element, is_written);
  }
  Id index(Id each) { return b_.convert(each, type_); }
  Id index_of(int64_t number) { return b_.whole(type_, number); }
  Id picks() { return b_.u32(static_cast<uint64_t>(s_.picks)); }
  Id key_at(Id place) { return b_.load(keys_, b_.add(index(place), index_of(sorted_.keys))); }
  std::function<Id(Id)> keys_at() {
    return [this](Id place) { return key_at(place); };
  }
  Id is_bad(Id target) { return b_.is_not(b_.less(target, b_.whole(key_, s_.lines.length))); }

  // Where the thread stands among so many results, `rows` of each outer line; returns its number.
  Id enter(int64_t results, int64_t rows) {
    const Id at = b_.add(b_.mul(index(b_.block()), index_of(threads_)), index(b_.thread()));
    if (results % threads_ != 0) b_.leave_if(b_.is_not(b_.less(at, index_of(results))));
    const Id row = b_.div(at, index_of(s_.lines.inner));
    column_ = b_.mod(at, index_of(s_.lines.inner));
    outer_ = b_.div(row, index_of(rows));
    row_ = b_.convert(s_.lines.outer == 1 ? row : b_.mod(row, index_of(rows)), Scalar::u32);
    return at;
  }

  // total += the values at `begin` and every `step` behind it, one after another; a few are read before they are
  // needed.
  void add_ahead(Id total, Id begin, Id end, uint32_t step, const std::function<Id(Id)>& value_at) {
    b_.loop(begin, end, b_.u32(ahead_ * step), [&](Id next) {
      std::vector<Id> values, is_there;
      for (uint32_t i = 0; i < ahead_; ++i) {
        const Id own = b_.add(next, b_.u32(i * step));
        is_there.push_back(i == 0 ? b_.boolean(true) : b_.less(own, end));
        values.push_back(value_at(b_.select(is_there[i], own, next)));
      }
      for (uint32_t i = 0; i < ahead_; ++i) {
        const Id sum = b_.math(Op::add, codegen::in_register(s_.dtype), {b_.get(total), values[i]});
        b_.set(total, b_.select(is_there[i], sum, b_.get(total)));
      }
    });
  }
  void add_rows(Id total, Id begin, Id end) {
    add_ahead(total, begin, end, 1,
              [&](Id sorted_at) { return codegen::from_memory(b_, s_.dtype, value_of(sorted_at)); });
  }

  // The thread's element of a target row, and of the row that a pick brings, as it lies in memory.
  Id place_of(Id target) {
    const Id line = b_.add(b_.mul(outer_, index_of(s_.lines.length)), b_.convert(target, type_));
    return b_.add(b_.mul(line, index_of(s_.lines.inner)), column_);
  }
  Id value_of(Id sorted_at) {
    const Id pick = index(b_.load(positions_, b_.add(index(sorted_at), index_of(sorted_.positions))));
    const Id row = b_.add(b_.mul(outer_, index_of(s_.picks)), pick);
    const Id from = b_.add(b_.mul(row, index_of(s_.lines.inner)), column_);
    return load_at(b_, values_, s_.value.map, from);
  }

  codegen::Dispatch finish(int64_t results, bool writes_results) {
    return {b_.finish(), {static_cast<uint32_t>(base::ceil_div(results, threads_)), 1, 1}, bindings_, writes_results};
  }

  const Scatter& s_;
  const Sorted& sorted_;
  const Scalar key_;
  const size_t sums_at_;
  const int64_t threads_;
  const uint32_t ahead_;
  const Scalar type_;
  Builder b_;
  std::vector<codegen::Dispatch::Binding> bindings_;
  uint32_t values_ = 0, keys_ = 0, positions_ = 0;
  Id row_ = 0, column_ = 0, outer_ = 0;
};

Scalar key_of(const Scatter& s) { return s.lines.length < INT32_MAX ? Scalar::u32 : Scalar::u64; }

// Sorts the picks, and has the base where the result will be.
Sorted begin(codegen::Module& made, const Scatter& s, const ir::Limits& limits) {
  const ir::Call& call = s.call;
  require_countable(call.op, s.picks);
  const Scalar key = key_of(s);
  Sorted sorted;
  if (s.picks > 0) {  // even where there is nothing to add: indices are checked before anything is written
    LineSort sort;
    sort.name = "scatter";
    sort.length = s.picks;
    sort.key = key;
    sort.index = index_type(s.picks, {&s.index.map});
    sort.scratch = kScratch;
    sort.reads = {{codegen::in_memory(s.index.dtype), {kIndex, 0}}};
    sort.key_at = [&](Builder& b, Id, Id pick) { return checked_target(b, s, b.convert(pick, sort.index), key); };
    sorted = add_sort(made, sort, limits);
  }
  codegen::Module copy =
      copy_kernel(s.dtype, kBase, call.inputs[0].map, kOut, ir::IndexMap(call.outputs[0].shape), limits);
  for (codegen::Dispatch& dispatch : copy.dispatches) {
    if (call.inputs[0].map.is_contiguous()) dispatch.unless_same = {kBase, kOut};
    made.dispatches.push_back(std::move(dispatch));
  }
  return sorted;
}

}  // namespace

codegen::Module lower_scatter(const ir::Call& call, const ir::Limits& limits) {
  const Scatter s{call};
  codegen::Module made;
  const Sorted sorted = begin(made, s, limits);
  if (s.additions() == 0 || s.lines.length == 0) return made;
  made.dispatches.push_back(ScatterWriter("scatter", s, sorted, key_of(s), 0, limits).write_last());
  return made;
}

codegen::Module lower_scatter_add(const ir::Call& call, const ir::Limits& limits) {
  const Scatter s{call};
  codegen::Module made;
  const Sorted sorted = begin(made, s, limits);
  if (s.additions() == 0 || s.lines.length == 0) return made;
  const Scalar key = key_of(s);
  const size_t sums_at = base::round_up(made.scratch_bytes, size_t{256});
  if (s.segments() > 0) {
    const size_t element = codegen::size_of(codegen::in_register(s.dtype));
    made.scratch_bytes = sums_at + static_cast<size_t>(s.segment_sums()) * element;
    made.dispatches.push_back(ScatterWriter("scatter_segments", s, sorted, key, sums_at, limits).add_segments());
  }
  made.dispatches.push_back(ScatterWriter("scatter_add", s, sorted, key, sums_at, limits).add_runs());
  return made;
}

}  // namespace tenon::kernels
