// Folds over all rows: a block takes one part of the rows and keeps a partial result for each column, and a second
// dispatch folds the parts.
//
// Where folds over rows are all that is there (or all others are known), columns are cut into tiles as wide as a step,
// and a block walks down the rows of one part; otherwise it takes whole rows.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/fold.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using base::ceil_div;
using ir::Instr;

// Threads that hold a row and its column sums: while those of one block wait for a fold or for memory, others go on.
// Left alone, a compiler takes 130 to 170 registers for them, and a processor of NVIDIA's has room for 256 threads.
constexpr uint32_t kResidentThreads = 512;

// All row folds into scratch memory, and nothing else: for column folds over rows that are too long to be held.
void Lowering::save_row_folds() {
  if (is_worth_splitting()) return save_row_folds_in_parts();
  Writing to = start("row_folds", shape_.block());
  const Threads threads = threads_of(to);
  const Id row = to.b.add(to.b.mul(to.w.index(to.b.block()), to.w.index_of(shape_.lanes)), to.w.index(threads.lane));
  const Id is_there = rows_ % shape_.lanes == 0 ? kNoValue : to.b.less(row, to.w.index_of(rows_));
  enter_row(to, row, is_there);
  write_constants(to);
  const Id is_first = first_thread(to, threads, is_there);
  std::map<uint32_t, size_t> saved;
  for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
    const Stage& stage = stages_.stages[number];
    write_rows_without_stores(to, stage.per_row);
    if (stage.row_folds.empty()) continue;
    const std::vector<Id> totals = fold_all_steps(to, stage, number, Held(), threads.inside, is_there, nullptr, false);
    for (size_t i = 0; i < totals.size(); ++i) {
      const uint32_t fold = stage.row_folds[i];
      const Instr& instr = nest_.code[fold];
      const Id folded = fold_threads(to.b, shape_, instr.op, instr.dtype, totals[i], false);
      to.known[fold] = {rounded(to.b, instr.dtype, folded)};
      saved[fold] = new_scratch(wide(fold), rows_);
      const Scratch target = bind_scratch(to, wide(fold), saved[fold], true);
      to.b.branch(is_first, [&] { store_scratch(to, target, row, to_memory(to.b, wide(fold), folded)); });
    }
  }
  finish(to, {ceil_div(rows_, shape_.lanes), 1, 1}, false);
  saved_ = std::move(saved);
}

void Lowering::add_columns() {
  const ColumnSchedule columns = schedule_columns(nest_);
  const bool by_tiles = row_folds_.empty() || !saved_.empty();
  const uint32_t steps = by_tiles ? 1 : shape_.steps;
  if (!by_tiles) load_early();
  Writing to = start("columns", shape_.block());
  const Threads threads = threads_of(to);
  const Id part = to.w.index(to.b.block(0));
  write_constants(to);
  const Held held = by_tiles ? Held() : hold_values(to);
  if (!by_tiles && kResidentThreads % shape_.block() == 0) to.b.set_resident(kResidentThreads / shape_.block());

  // For each fold and lane: a variable where there is one step, an array where there are several.
  std::map<uint32_t, std::vector<uint32_t>> totals;
  for (const uint32_t fold : column_folds_) {
    const Id begin = identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype);
    for (uint32_t lane = 0; lane < shape_.vector; ++lane) {
      if (steps <= 1) {
        totals[fold].push_back(to.b.variable(begin));
        continue;
      }
      const uint32_t array = to.b.add_array(to.b.type_of(begin), steps);
      totals[fold].push_back(array);
      to.b.loop(
          0, steps, [&](Id step) { to.b.array_store(array, step, begin); }, true);
    }
  }

  const Id first = to.b.mul(part, to.w.index_of(columns.part));
  const int64_t turns = ceil_div(columns.part, shape_.lanes);
  const auto on_column = [&](uint32_t fold, uint32_t lane, Id step, Id value) {
    const Instr& instr = nest_.code[fold];
    const Id total = totals[fold][lane];
    if (steps <= 1) {
      to.b.set(total, join(to.b, instr.op, instr.dtype, to.b.get(total), value));
    } else {
      const Id before = to.b.array_load(total, step);
      to.b.array_store(total, step, join(to.b, instr.op, instr.dtype, before, value));
    }
  };
  to.b.loop(0, static_cast<uint64_t>(turns), [&](Id turn) {
    const Id below = to.b.add(to.b.mul(to.w.index(turn), to.w.index_of(shape_.lanes)), to.w.index(threads.lane));
    const Id row = to.b.add(first, below);
    Id is_there = kNoValue;
    if (rows_ % columns.part != 0) is_there = to.b.less(row, to.w.index_of(rows_));
    if (columns.part % shape_.lanes != 0) is_there = to.b.both(is_there, to.b.less(below, to.w.index_of(columns.part)));
    const Id safe = enter_row(to, row, is_there);
    const auto fold_there = [&](uint32_t fold, uint32_t lane, Id step, Id value) {
      const Instr& instr = nest_.code[fold];
      if (is_there != kNoValue) value = to.b.select(is_there, value, identity_of(to.b, instr.op, instr.dtype));
      on_column(fold, lane, step, value);
    };
    if (by_tiles) {
      load_saved_rows(to, safe);
      write_tile(to, threads, is_there, fold_there);
    } else {
      write_row(to, held, threads, is_there, fold_there);
    }
  });
  forget_elements(to);
  for (auto& known : to.known) known.clear();
  write_constants(to);

  std::map<uint32_t, size_t> partial;
  const bool is_one_part = columns.parts == 1;
  if (!is_one_part) {
    for (const uint32_t fold : column_folds_) partial[fold] = new_scratch(wide(fold), columns.parts * size_);
  }
  std::map<uint32_t, Scratch> targets;
  for (const auto& [fold, offset] : partial) targets[fold] = bind_scratch(to, wide(fold), offset, true);
  const Id owns = shape_.lanes == 1 ? kNoValue : to.b.equal(threads.lane, to.b.u32(0));
  to.b.loop(0, steps, [&](Id step) {
    std::vector<Id> masks =
        enter_step(to, step_of_tile(to, by_tiles, step), threads.inside, size_ % shape_.width() == 0);
    if (owns != kNoValue) {
      if (masks.empty())
        masks = {owns};
      else
        for (Id& mask : masks) mask = to.b.both(mask, owns);
    }
    for (const uint32_t fold : column_folds_) {
      std::vector<Id> own;
      for (const Id total : totals[fold]) own.push_back(steps <= 1 ? to.b.get(total) : to.b.array_load(total, step));
      std::vector<Id> folded = fold_lanes(to, fold, own, threads);
      if (is_one_part) {
        for (Id& each : folded) each = rounded(to.b, nest_.code[fold].dtype, each);
        to.known[fold] = folded;
        continue;
      }
      for (uint32_t lane = 0; lane < shape_.vector; ++lane) {
        const Id column = column_of(to, step_of_tile(to, by_tiles, step), threads.inside, lane);
        const Id at = to.b.add(to.b.mul(part, to.w.index_of(size_)), column);
        Id mask = mask_of(masks, lane);
        store_scratch(to, targets[fold], at, to_memory(to.b, wide(fold), folded[lane]), mask);
      }
    }
    if (is_one_part) {
      for (const uint32_t i : stages_.column_stores) to.w.store(i, to.place, to.operands(), masks);
    }
  });
  const int64_t tiles = by_tiles ? ceil_div(size_, shape_.width()) : 1;
  const bool writes_results = is_one_part || has_element_stores();
  if (columns.parts > 0) finish(to, {columns.parts, tiles, 1}, writes_results);
  if (!is_one_part) add_folded_columns(columns, partial);
}

bool Lowering::has_element_stores() const {
  return std::any_of(nest_.code.begin(), nest_.code.end(),
                     [](const Instr& instr) { return is_store(instr) && !instr.per_column; });
}

Id Lowering::step_of_tile(Writing& to, bool by_tiles, Id step) { return by_tiles ? to.b.block(1) : step; }

Id Lowering::column_of(Writing& to, Id step, Id inside, uint32_t lane) {
  const Id first = to.b.mul(to.b.add(to.b.mul(to.w.index(step), to.w.index_of(shape_.threads)), to.w.index(inside)),
                            to.w.index_of(shape_.vector));
  return to.b.add(first, to.w.index_of(lane));
}
void Lowering::load_saved_rows(Writing& to, Id row) {
  for (const auto& [fold, offset] : saved_) {
    if (!saved_buffers_.contains(fold)) saved_buffers_[fold] = bind_scratch(to, wide(fold), offset, false);
    const Id loaded = from_memory(to.b, wide(fold), load_scratch(to, saved_buffers_[fold], row));
    to.known[fold] = {rounded(to.b, nest_.code[fold].dtype, loaded)};
  }
}

// Everything of the nest for one row and one tile of columns; all row folds are known.
void Lowering::write_tile(Writing& to, const Threads& threads, Id row_is_there, const OnFold& on_fold) {
  const Id tile = to.b.block(1);
  const Id is_first = to.b.both(first_thread(to, threads, row_is_there), to.b.equal(tile, to.b.u32(0)));
  std::vector<uint32_t> per_element;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    const Instr& instr = nest_.code[i];
    if (!is_needed(i) || is_saved(i) || stages_.values[i].scope == Scope::constant) continue;
    if (is_store(instr) && instr.per_column) continue;
    if (stages_.values[i].scope == Scope::row)
      write_per_row(to, {i}, is_first);
    else
      per_element.push_back(i);
  }
  write_step(to, per_element, Held(), 0, tile, threads.inside, size_ % shape_.width() == 0, row_is_there, on_fold);
}

// Joins what the lanes of a block have of neighbouring columns, as many at once as memory takes; the first lane knows
// the results.
std::vector<Id> Lowering::fold_lanes(Writing& to, uint32_t fold, std::span<const Id> own, const Threads& threads) {
  if (shape_.lanes == 1) return {own.begin(), own.end()};
  constexpr uint32_t kMostBytes = 4 << 10, kVectorBytes = 16;
  const Instr& instr = nest_.code[fold];
  const Scalar type = to.b.type_of(own[0]);
  const auto bytes = static_cast<uint32_t>(size_of(type));
  auto width = type == Scalar::boolean ? 1 : static_cast<uint32_t>(own.size());
  while (width > 1 && (width * bytes > kVectorBytes || width * bytes * shape_.block() > kMostBytes)) width /= 2;
  if (!lane_arrays_.contains(type)) lane_arrays_[type] = to.b.add_shared(type, shape_.block() * width);
  const uint32_t array = lane_arrays_[type];
  std::vector<Id> folded;
  for (size_t first = 0; first < own.size(); first += width) {
    const std::span<const Id> some = own.subspan(first, width);
    to.b.barrier();
    const Id place = to.b.mul(to.b.thread(), to.b.u32(width));
    if (width == 1)
      to.b.shared_store(array, place, some[0]);
    else
      to.b.shared_store_several(array, place, some);
    to.b.barrier();
    std::vector<Id> totals;
    for (const Id each : some) totals.push_back(to.b.variable(each));
    to.b.branch(to.b.equal(threads.lane, to.b.u32(0)), [&] {
      to.b.loop(1, shape_.lanes, [&](Id lane) {
        const Id other = to.b.add(to.b.mul(lane, to.b.u32(shape_.threads)), threads.inside);
        const std::vector<Id> theirs = to.b.shared_load_several(array, to.b.mul(other, to.b.u32(width)), width);
        for (uint32_t i = 0; i < width; ++i)
          to.b.set(totals[i], join(to.b, instr.op, instr.dtype, to.b.get(totals[i]), theirs[i]));
      });
    });
    for (const Id total : totals) folded.push_back(to.b.get(total));
  }
  return folded;
}

// The second dispatch: parts of each column are folded, by several threads where there are many of them.
void Lowering::add_folded_columns(const ColumnSchedule& columns, const std::map<uint32_t, size_t>& partial) {
  const uint32_t lanes = columns.lanes;
  const uint32_t wide_block = std::max(flat_threads(limits_) / lanes, 1u);
  Writing to = start("folded_columns", wide_block * lanes);
  const Id thread = to.b.thread();
  const Id across = to.b.mod(thread, to.b.u32(wide_block)), lane = to.b.div(thread, to.b.u32(wide_block));
  const Id column = to.b.add(to.b.mul(to.w.index(to.b.block()), to.w.index_of(wide_block)), to.w.index(across));
  const Id is_there = size_ % wide_block == 0 ? kNoValue : to.b.less(column, to.w.index_of(size_));
  const Id safe = is_there == kNoValue ? column : to.b.select(is_there, column, to.w.index_of(0));
  to.place.element = {to.w.unravel(safe, {element_dims_.data(), element_dims_.size()})};
  write_constants(to);
  std::map<uint32_t, Scratch> from;
  std::map<uint32_t, Id> totals;
  for (const uint32_t fold : column_folds_) {
    totals[fold] = to.b.variable(identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype));
    if (columns.parts > 0) from[fold] = bind_scratch(to, wide(fold), partial.at(fold), false);
  }
  // All folds in one loop, and it unrolled, so that much is on its way at once; long ones in pieces.
  const auto fold_part = [&](Id part) {
    const Id at = to.b.add(to.b.mul(to.w.index(part), to.w.index_of(size_)), safe);
    for (const uint32_t fold : column_folds_) {
      const Instr& instr = nest_.code[fold];
      const Id value = from_memory(to.b, wide(fold), load_scratch(to, from[fold], at));
      to.b.set(totals[fold], join(to.b, instr.op, instr.dtype, to.b.get(totals[fold]), value));
    }
  };
  const auto parts = static_cast<uint32_t>(columns.parts);
  const uint32_t turns = parts / lanes;
  const auto fold_turn = [&](Id turn) { fold_part(to.b.add(to.b.mul(turn, to.b.u32(lanes)), lane)); };
  constexpr uint32_t kPiece = 16;
  const uint32_t pieces = turns > 2 * kPiece ? turns / kPiece : 0;
  to.b.loop(0, pieces, [&](Id piece) {
    const Id begin = to.b.mul(piece, to.b.u32(kPiece));
    to.b.loop(
        0, kPiece, [&](Id turn) { fold_turn(to.b.add(begin, turn)); }, true);
  });
  to.b.loop(pieces * kPiece, turns, fold_turn, true);
  if (parts % lanes != 0) {
    const Id last = to.b.add(to.b.u32(turns * lanes), lane);
    to.b.branch(to.b.less(last, to.b.u32(parts)), [&] { fold_part(last); });
  }
  for (const uint32_t fold : column_folds_) {
    const Instr& instr = nest_.code[fold];
    const Id total = totals[fold];
    Id folded = to.b.get(total);
    if (lanes > 1) {
      const uint32_t array = to.b.add_shared(to.b.type_of(folded), wide_block * lanes);
      to.b.shared_store(array, thread, folded);
      to.b.barrier();
      to.b.branch(to.b.equal(lane, to.b.u32(0)), [&] {
        to.b.loop(1, lanes, [&](Id other) {
          const Id value = to.b.shared_load(array, to.b.add(to.b.mul(other, to.b.u32(wide_block)), across));
          to.b.set(total, join(to.b, instr.op, instr.dtype, to.b.get(total), value));
        });
      });
      folded = to.b.get(total);
    }
    to.known[fold] = {rounded(to.b, instr.dtype, folded)};
  }
  const Id owns = lanes > 1 ? to.b.equal(lane, to.b.u32(0)) : kNoValue;
  const Id mask = to.b.both(is_there, owns);
  std::vector<Id> masks;
  if (mask != kNoValue) masks.push_back(mask);
  for (const uint32_t i : stages_.column_stores) to.w.store(i, to.place, to.operands(), masks);
  finish(to, {ceil_div(size_, wide_block), 1, 1});
}

}  // namespace tenon::codegen
