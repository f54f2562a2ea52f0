#include "tenon/kernels/block_lines.h"

namespace tenon::kernels {

using codegen::Id;

Id sum_of_subgroup(codegen::Builder& b, uint32_t subgroup, uint32_t apart, Id value) {
  for (uint32_t distance = apart; distance < subgroup; distance *= 2) value = b.add(value, b.shuffle(value, distance));
  return value;
}

// Of subgroups first, each of which leaves a line.
ColumnSums::ColumnSums(codegen::Builder& b, uint32_t threads, uint32_t subgroup, uint32_t lanes,
                       const std::vector<Id>& values)
    : b_(b),
      groups_(threads / subgroup),
      width_(lanes * static_cast<uint32_t>(values.size())),
      shared_(b.add_shared(codegen::Scalar::f32, groups_ * width_)) {
  std::vector<Id> sums;
  for (const Id value : values) sums.push_back(sum_of_subgroup(b, subgroup, lanes, value));
  const Id lane = b.mod(b.thread(), b.u32(subgroup)), group = b.div(b.thread(), b.u32(subgroup));
  b.branch(b.less(lane, b.u32(lanes)), [&] {
    const Id first = b.add(b.mul(group, b.u32(width_)), b.mul(lane, b.u32(values.size())));
    for (size_t i = 0; i < sums.size(); ++i) b.shared_store(shared_, b.add(first, b.u32(i)), sums[i]);
  });
  b.barrier();
}

Id ColumnSums::total(Id column) const {
  const Id total = b_.variable(b_.shared_load(shared_, column));
  b_.loop(
      1, groups_,
      [&](Id i) {
        const Id next = b_.shared_load(shared_, b_.add(b_.mul(i, b_.u32(width_)), column));
        b_.set(total, b_.add(b_.get(total), next));
      },
      true);
  return b_.get(total);
}

}  // namespace tenon::kernels
