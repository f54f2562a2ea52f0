// The picks are sorted by their target, and each target row, with all that is added to it, belongs to the first pick of
// its run: one thread a column adds the rows one after another, in the order of their indices. So no two threads write
// one element, and the bits are those of a loop over the picks.

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

struct Scatter {
  const ir::Call& call;
  int64_t axis = std::get<ir::AxisAttrs>(call.attrs).axis;
  Lines lines{call.outputs[0].shape, axis};
  DType dtype = call.outputs[0].dtype;
  const ir::Operand& index = call.inputs[1];
  const ir::Operand& value = call.inputs[2];
  int64_t picks = ir::count(index.map.shape());

  int64_t additions() const { return lines.outer * picks * lines.inner; }
};

// The target of a pick; one behind the last row where it is a bad one, which is a fault.
Id checked_target(Builder& b, const Scatter& s, Id pick, Scalar key) {
  const Scalar own = codegen::in_register(s.index.dtype);
  const Scalar plain = own == Scalar::i64 ? Scalar::u64 : Scalar::u32;
  const Id target = load_at(b, 0, s.index.map, pick), bits = b.bitcast(target, plain);
  const int64_t most = own == Scalar::i64 ? s.lines.length : std::min(s.lines.length, int64_t{1} << 31);
  const Id is_good = b.less(bits, b.whole(plain, most));
  b.fault_if(Op::scatter_add, b.is_not(is_good), b.convert(target, Scalar::i64), static_cast<uint32_t>(s.axis),
             static_cast<uint64_t>(s.lines.length));
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

codegen::Dispatch add_rows(const Scatter& s, const Sorted& sorted, Scalar key, const ir::Limits& limits) {
  const uint32_t threads = codegen::flat_threads(limits);
  Builder b("scatter_add", threads);
  const uint32_t values = b.add_buffer(codegen::in_memory(s.dtype), false);
  const uint32_t out = b.add_buffer(codegen::in_memory(s.dtype), true);
  const bool is_twice = key != Scalar::u32;
  const uint32_t keys = b.add_buffer(key, false), positions = is_twice ? b.add_buffer(Scalar::u32, false) : keys;
  std::vector<codegen::Dispatch::Binding> bindings{{kValue, 0}, {kOut, 0}, {kScratch, 0}};
  if (is_twice) bindings.push_back({kScratch, 0});

  const int64_t pairs = 8 * s.picks;  // of words, at most
  const Scalar type = index_type(std::max({s.additions(), s.lines.elements(), pairs}), {&s.value.map});
  const auto index = [&](Id each) { return b.convert(each, type); };
  const auto index_of = [&](int64_t number) { return b.whole(type, number); };
  const auto key_at = [&](Id place) { return b.load(keys, b.add(index(place), index_of(sorted.keys))); };

  const Id at = b.add(b.mul(index(b.block()), index_of(threads)), index(b.thread()));
  if (s.additions() % threads != 0) b.leave_if(b.is_not(b.less(at, index_of(s.additions()))));
  const Id row = b.div(at, index_of(s.lines.inner)), column = b.mod(at, index_of(s.lines.inner));
  const Id outer = b.div(row, index_of(s.picks));
  const Id first = b.convert(s.lines.outer == 1 ? row : b.mod(row, index_of(s.picks)), Scalar::u32);
  const Id target = key_at(first);
  const Id is_first = b.equal(first, b.u32(0));
  const Id before = key_at(b.select(is_first, first, b.sub(first, b.u32(1))));
  b.leave_if(b.both(b.is_not(is_first), b.equal(before, target)));     // not the first of its run
  b.leave_if(b.is_not(b.less(target, b.whole(key, s.lines.length))));  // a bad index
  const Id end = end_of_run(b, s, first, target, key_at);

  const Id line = b.add(b.mul(outer, index_of(s.lines.length)), b.convert(target, type));
  const Id place = b.add(b.mul(line, index_of(s.lines.inner)), column);
  const Id total = b.variable(codegen::from_memory(b, s.dtype, b.load(out, place)));
  const uint32_t ahead = limits.subgroup > 1 ? kRowsAhead : 1;
  b.loop(first, end, b.u32(ahead), [&](Id next) {
    std::vector<Id> rows, is_there;
    for (uint32_t i = 0; i < ahead; ++i) {
      const Id own = b.add(next, b.u32(i));
      is_there.push_back(i == 0 ? b.boolean(true) : b.less(own, end));
      const Id sorted_at = b.add(index(b.select(is_there[i], own, next)), index_of(sorted.positions));
      const Id pick = index(b.load(positions, sorted_at));
      const Id from = b.add(b.mul(b.add(b.mul(outer, index_of(s.picks)), pick), index_of(s.lines.inner)), column);
      rows.push_back(codegen::from_memory(b, s.dtype, load_at(b, values, s.value.map, from)));
    }
    for (uint32_t i = 0; i < ahead; ++i) {
      const Id sum = b.math(Op::add, codegen::in_register(s.dtype), {b.get(total), rows[i]});
      b.set(total, b.select(is_there[i], sum, b.get(total)));
    }
  });
  b.store(out, place, codegen::to_memory(b, s.dtype, b.get(total)));
  return {b.finish(), {static_cast<uint32_t>(base::ceil_div(s.additions(), threads)), 1, 1}, std::move(bindings)};
}

}  // namespace

codegen::Module lower_scatter_add(const ir::Call& call, const ir::Limits& limits) {
  const Scatter s{call};
  require_countable(call.op, s.picks);
  codegen::Module made;
  const Scalar key = s.lines.length < INT32_MAX ? Scalar::u32 : Scalar::u64;
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
  if (s.additions() > 0 && s.lines.length > 0) made.dispatches.push_back(add_rows(s, sorted, key, limits));
  return made;
}

}  // namespace tenon::kernels
