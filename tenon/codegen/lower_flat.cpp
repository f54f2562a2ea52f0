// Nests that fold nothing, or whose folds are known: a few neighbouring elements for each thread.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using base::ceil_div;
using ir::Instr;

uint32_t Lowering::flat_lanes() const {
  if (nest_.space.empty()) return 1;
  uint32_t lanes = std::max(1u, limits_.vector);
  const bool is_narrow = std::all_of(nest_.code.begin(), nest_.code.end(), [](const Instr& instr) {
    if (instr.kind == Instr::Kind::random) return false;
    const bool moves = instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store;
    return !moves || instr.per_row || size_of(instr.dtype) <= 2;
  });
  if (is_narrow && lanes == 4) lanes = 8;
  while (lanes > 1 && nest_.space.back() % lanes != 0) lanes /= 2;
  return lanes;
}

// Where all that is left to do is once for each row.
bool Lowering::stores_rows_only() const {
  return std::all_of(nest_.code.begin(), nest_.code.end(),
                     [](const Instr& instr) { return !is_store(instr) || instr.per_row; });
}

void Lowering::add_flat() {
  const bool rows_only = !saved_.empty() && stores_rows_only();
  const int64_t total = rows_only ? rows_ : ir::count(nest_.space);
  const uint32_t lanes = rows_only ? 1 : flat_lanes(), threads = flat_threads(limits_);
  if (!rows_only && size_ > 0 && size_ % lanes == 0 && has_row_values()) {
    if (const uint32_t turns = row_turns(size_ / lanes, threads)) return add_flat_rows(lanes, turns);
  }
  Writing to = start("flat", threads);
  const Id group = to.b.add(to.b.mul(to.w.index(to.b.block()), to.w.index_of(threads)), to.w.index(to.b.thread()));
  const int64_t groups = total / lanes;
  if (groups % threads != 0) to.b.leave_if(to.b.is_not(to.b.less(group, to.w.index_of(groups))));
  if (rows_only) {
    enter_row(to, group, kNoValue);
    to.place.element = {{}};
  } else {
    set_flat_place(to, to.b.mul(group, to.w.index_of(lanes)), lanes);
  }
  write_constants(to);
  if (!saved_.empty()) load_saved(to, rows_only ? group : row_of(to, group, lanes));
  Id is_first = kNoValue;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    const Instr& instr = nest_.code[i];
    if (!is_needed(i) || is_saved(i) || !to.known[i].empty()) continue;
    if (rows_only && stages_.values[i].scope >= Scope::column) continue;
    if (is_store(instr)) {
      if (instr.per_row && !rows_only && is_first == kNoValue) is_first = is_first_of_row(to);
      const std::vector<Id> masks(is_first != kNoValue && instr.per_row ? 1 : 0, is_first);
      to.w.store(i, to.place, to.operands(), masks);
    } else {
      to.known[i] = to.w.values(i, to.place, to.operands());
    }
  }
  finish(to, {ceil_div(groups, threads), 1, 1});
}

// Whether anything has to be computed once for a row. Where indices are overwritten it does not count: threads behind
// the end of a row would take what is written there for an index.
bool Lowering::has_row_values() const {
  if (may_overwrite_indices(nest_)) return false;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    if (is_needed(i) && !is_store(nest_.code[i]) && stages_.values[i].scope == Scope::row) return true;
  }
  return false;
}

// Each block stays in one row; what is computed for the row is computed once by a thread, for all its turns.
void Lowering::add_flat_rows(uint32_t lanes, uint32_t turns) {
  const uint32_t threads = flat_threads(limits_);
  const int64_t groups = size_ / lanes, of_block = int64_t{threads} * turns, parts = ceil_div(groups, of_block);
  Writing to = start("flat_rows", threads);
  const Id block = to.w.index(to.b.block()), part = to.b.mod(block, to.w.index_of(parts));
  const Id row = enter_row(to, to.b.div(block, to.w.index_of(parts)), kNoValue);
  to.place.element = {{}};
  write_constants(to);
  if (!saved_.empty()) load_saved(to, row);
  const Id first = to.b.add(to.b.mul(part, to.w.index_of(of_block)), to.w.index(to.b.thread()));
  std::vector<uint32_t> per_row, per_element;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    if (!is_needed(i) || is_saved(i) || !to.known[i].empty()) continue;
    (stages_.values[i].scope == Scope::row ? per_row : per_element).push_back(i);
  }
  write_per_row(to, per_row, to.b.equal(first, to.w.index_of(0)));
  to.b.loop(
      0, turns,
      [&](Id turn) {
        const Id group = to.b.add(first, to.b.mul(to.w.index(turn), to.w.index_of(threads)));
        std::vector<Id> masks;
        if (groups % of_block != 0) masks.push_back(to.b.less(group, to.w.index_of(groups)));
        const Id safe = masks.empty() ? group : to.b.select(masks[0], group, to.w.index_of(0));
        const std::vector<Id> indices = to.w.unravel(to.b.mul(safe, to.w.index_of(lanes)), element_dims_);
        to.place.element.assign(lanes, indices);
        for (uint32_t lane = 1; lane < lanes; ++lane)
          to.place.element[lane].back() = to.b.add(indices.back(), to.w.index_of(lane));
        to.place.is_run = lanes > 1;
        for (const uint32_t i : per_element) {
          if (is_store(nest_.code[i]))
            to.w.store(i, to.place, to.operands(), masks);
          else
            to.known[i] = to.w.values(i, to.place, to.operands());
        }
      },
      true);
  finish(to, {rows_ * parts, 1, 1});
}

void Lowering::set_flat_place(Writing& to, Id position, uint32_t lanes) {
  const std::vector<Id> indices = to.w.unravel(position, {nest_.space.data(), nest_.space.size()});
  to.place.row.assign(indices.begin(), indices.begin() + nest_.row_rank);
  to.place.element.assign(lanes, {indices.begin() + nest_.row_rank, indices.end()});
  for (uint32_t lane = 1; lane < lanes; ++lane)
    to.place.element[lane].back() = to.b.add(indices.back(), to.w.index_of(lane));
  to.place.is_run = lanes > 1;
}
Id Lowering::row_of(Writing& to, Id group, uint32_t lanes) {
  return to.b.div(to.b.mul(group, to.w.index_of(lanes)), to.w.index_of(size_));
}
Id Lowering::is_first_of_row(Writing& to) {
  Id all = to.b.boolean(true);
  for (const Id index : to.place.element[0]) all = to.b.both(all, to.b.equal(index, to.w.index_of(0)));
  return all;
}

}  // namespace tenon::codegen
