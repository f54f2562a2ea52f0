// Inside a subgroup by shuffles, beyond it through shared memory; a device without shuffles lets one thread add up.

#include "tenon/codegen/fold.h"

#include <bit>

namespace tenon::codegen {
namespace {

using ir::Op;

constexpr uint32_t kFewGroups = 4;  // subgroups of a row that are folded one after another

Id shuffled(Builder& b, Id value, uint32_t distance) {
  const Scalar type = b.type_of(value);
  if (type == Scalar::boolean) return b.convert(b.shuffle(b.convert(value, Scalar::u32), distance), Scalar::boolean);
  if (size_of(type) == 4) return b.shuffle(value, distance);
  const Id bits = b.bitcast(value, Scalar::u64), half = b.whole(Scalar::u64, 32);
  const Id low = b.shuffle(b.convert(bits, Scalar::u32), distance);
  const Id high = b.shuffle(b.convert(b.math(Op::shr, Scalar::u64, {bits, half}), Scalar::u32), distance);
  const Id joined =
      b.math(Op::bit_or, Scalar::u64,
             {b.math(Op::shl, Scalar::u64, {b.convert(high, Scalar::u64), half}), b.convert(low, Scalar::u64)});
  return b.bitcast(joined, type);
}

}  // namespace

Id fold_pairwise(Builder& b, Op op, DType dtype, std::vector<Id> values) {
  while (values.size() > 1) {
    std::vector<Id> half;
    for (size_t i = 0; i + 1 < values.size(); i += 2) half.push_back(join(b, op, dtype, values[i], values[i + 1]));
    if (values.size() % 2 == 1) half.push_back(values.back());
    values = std::move(half);
  }
  return values[0];
}

Accumulator::Accumulator(Builder& b, Op op, DType dtype, uint32_t lanes) : op_(op), dtype_(dtype) {
  const Id begin = identity_of(b, op, dtype);
  for (uint32_t i = 0; i < lanes; ++i) totals_.push_back(b.variable(begin));
}

void Accumulator::add(Builder& b, uint32_t lane, Id value) {
  b.set(totals_[lane], join(b, op_, dtype_, b.get(totals_[lane]), value));
}

Id Accumulator::result(Builder& b) const {
  std::vector<Id> lanes;
  for (const Id total : totals_) lanes.push_back(b.get(total));
  return fold_pairwise(b, op_, dtype_, lanes);
}

namespace {

// What the subgroups of a row have left in shared memory. Many of them are folded as a subgroup folds its threads,
// every one doing the same: one after another would take longer than a thread has been busy with its elements.
Id fold_groups(Builder& b, Op op, DType dtype, uint32_t parts, Id first, uint32_t groups, uint32_t together) {
  const uint32_t places = std::bit_ceil(groups);
  if (groups <= kFewGroups || places > together) {
    const Id total = b.variable(b.shared_load(parts, first));
    b.loop(
        1, groups, [&](Id i) { b.set(total, join(b, op, dtype, b.get(total), b.shared_load(parts, b.add(first, i)))); },
        groups <= kFewGroups);
    return b.get(total);
  }
  const Id place = b.mod(b.thread(), b.u32(places));
  const Id is_there = groups == places ? kNoValue : b.less(place, b.u32(groups));
  const Id at = is_there == kNoValue ? place : b.select(is_there, place, b.u32(0));
  Id value = b.shared_load(parts, b.add(first, at));
  if (is_there != kNoValue) value = b.select(is_there, value, identity_of(b, op, dtype));
  for (uint32_t distance = 1; distance < places; distance *= 2)
    value = join(b, op, dtype, value, shuffled(b, value, distance));
  return value;
}

}  // namespace

Id fold_threads(Builder& b, const RowSchedule& schedule, Op op, DType dtype, Id value, bool is_repeated) {
  const Scalar type = b.type_of(value);
  const uint32_t together = std::min(schedule.subgroup, schedule.threads);
  for (uint32_t distance = 1; distance < together; distance *= 2)
    value = join(b, op, dtype, value, shuffled(b, value, distance));
  const uint32_t groups = schedule.threads / together;  // of a row
  if (groups == 1) return value;

  const Id thread = b.thread(), size = b.u32(schedule.threads);
  const Id lane = b.div(thread, size), inside = b.mod(thread, size);
  if (together > 1) {
    const uint32_t parts = b.add_shared(type, groups * schedule.lanes);
    const Id first = b.mul(lane, b.u32(groups));
    b.branch(b.equal(b.mod(inside, b.u32(together)), b.u32(0)),
             [&] { b.shared_store(parts, b.add(first, b.div(inside, b.u32(together))), value); });
    b.barrier();
    const Id total = fold_groups(b, op, dtype, parts, first, groups, together);
    if (is_repeated) b.barrier();
    return total;
  }
  const uint32_t parts = b.add_shared(type, schedule.block());
  b.shared_store(parts, thread, value);
  b.barrier();
  const Id first = b.mul(lane, size);
  b.branch(b.equal(inside, b.u32(0)), [&] {
    const Id total = b.variable(b.shared_load(parts, first));
    b.loop(1, schedule.threads,
           [&](Id i) { b.set(total, join(b, op, dtype, b.get(total), b.shared_load(parts, b.add(first, i)))); });
    b.shared_store(parts, first, b.get(total));
  });
  b.barrier();
  const Id total = b.shared_load(parts, first);
  if (is_repeated) b.barrier();
  return total;
}

}  // namespace tenon::codegen
