// Chooses among few kinds of kernels, by what a nest folds.
//
// Nothing: flat, a few neighbouring elements for each thread. Rows: the stages of a row one after another in the
// threads that share it (schedule.h); what later stages read again is held in registers where it fits, and computed
// anew where it does not. Few long rows are cut into parts: each stage is then a dispatch that folds parts, and one
// that folds those; the results stand in scratch memory, from which a flat kernel does the rest. Columns: a block takes
// one part of the rows and keeps a partial result for each column; a second dispatch folds the parts.

#include "tenon/codegen/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/codegen/element.h"
#include "tenon/codegen/fold.h"
#include "tenon/codegen/schedule.h"
#include "tenon/codegen/stages.h"

namespace tenon::codegen {
namespace {

using base::ceil_div;
using ir::Instr;

// One kernel in the making: the builder, and what is known of the nest's values at this place of its code.
struct Writing {
  Writing(std::string name, uint32_t threads, const ir::LoopNest& nest)
      : b(std::move(name), threads), w(b, nest), known(nest.code.size()) {
    for (uint32_t i = 0; i < nest.inputs + nest.outputs; ++i) bindings.push_back({i, 0});
  }
  Builder b;
  ElementWriter w;
  std::vector<Dispatch::Binding> bindings;
  Place place;
  std::vector<std::vector<Id>> known;  // for each instruction: one for each lane, or one for all

  Id value(uint32_t i, uint32_t lane) const { return known[i].size() == 1 ? known[i][0] : known[i].at(lane); }
  ElementWriter::Operand operands() {
    return [this](uint32_t arg, uint32_t lane) { return value(arg, lane); };
  }
};

class Lowering {
 public:
  Lowering(const ir::LoopNest& nest, const ir::Limits& limits)
      : nest_(nest),
        limits_(limits),
        stages_(stages(nest)),
        rows_(nest.rows()),
        size_(nest.row_size()),
        row_dims_(nest.space.begin(), nest.space.begin() + nest.row_rank),
        element_dims_(nest.space.begin() + nest.row_rank, nest.space.end()) {
    for (uint32_t i = 0; i < nest.code.size(); ++i) {
      if (!is_needed(i) || nest.code[i].kind != Instr::Kind::reduce) continue;
      (nest.code[i].per_column ? column_folds_ : row_folds_).push_back(i);
    }
  }

  Module run() {
    if (row_folds_.empty() && column_folds_.empty()) {
      add_flat();
    } else {
      shape_ = schedule_rows(size_, limits_);
      if (column_folds_.empty()) {
        if (is_worth_splitting())
          add_split();
        else
          add_rows();
      } else if (row_folds_.empty() || shape_.holds_row()) {
        add_columns();
      } else {
        save_row_folds();
        add_columns();
      }
    }
    made_.scratch_bytes = scratch_;
    return std::move(made_);
  }

 private:
  bool is_needed(uint32_t i) const { return stages_.values[i].made != kNone; }
  bool is_saved(uint32_t i) const { return saved_.contains(i); }
  DType wide(uint32_t i) const { return accumulator(nest_.code[i].dtype); }

  // ---- memory beside the arguments ----

  size_t new_scratch(DType dtype, int64_t count) {
    const size_t at = scratch_;
    scratch_ += base::round_up(static_cast<int64_t>(size_of(dtype)) * count, 256);
    return at;
  }
  uint32_t bind_scratch(Writing& to, DType dtype, size_t offset, bool is_written) {
    to.bindings.push_back({nest_.inputs + nest_.outputs, offset});
    return to.b.add_buffer(in_memory(dtype), is_written);
  }
  // Row folds of earlier dispatches, for this row.
  void load_saved(Writing& to, Id row) {
    for (const auto& [fold, offset] : saved_) {
      const uint32_t buffer = bind_scratch(to, wide(fold), offset, false);
      to.known[fold] = {rounded(to.b, nest_.code[fold].dtype, from_memory(to.b, wide(fold), to.b.load(buffer, row)))};
    }
  }

  void finish(Writing& writing, std::array<int64_t, 3> blocks, bool writes_results = true) {
    if (blocks[0] <= 0 || blocks[1] <= 0 || blocks[2] <= 0) return;
    made_.dispatches.push_back(
        {writing.b.finish(),
         {static_cast<uint64_t>(blocks[0]), static_cast<uint64_t>(blocks[1]), static_cast<uint64_t>(blocks[2])},
         std::move(writing.bindings),
         writes_results});
  }

  Writing start(std::string_view kind, uint32_t threads) {
    return Writing(fmt::format("{}_{}", kind, made_.dispatches.size()), threads, nest_);
  }

  // ---- instructions ----

  void write_constants(Writing& to) {
    for (const uint32_t i : stages_.constants) to.known[i] = to.w.values(i, to.place, to.operands());
  }

  // What is done once for a row. Every thread of the row does it; only the one for which `is_first` holds stores.
  void write_per_row(Writing& to, const std::vector<uint32_t>& code, Id is_first) {
    for (const uint32_t i : code) {
      if (nest_.code[i].kind == Instr::Kind::store)
        to.w.store(i, to.place, to.operands(), std::array{is_first});
      else
        to.known[i] = to.w.values(i, to.place, to.operands());
    }
  }

  static bool is_fold(const Instr& instr) { return instr.kind == Instr::Kind::reduce; }
  static bool is_store(const Instr& instr) { return instr.kind == Instr::Kind::store; }

  // ---- flat ----

  uint32_t flat_lanes() const {
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
  bool stores_rows_only() const {
    return std::all_of(nest_.code.begin(), nest_.code.end(),
                       [](const Instr& instr) { return !is_store(instr) || instr.per_row; });
  }

  void add_flat() {
    const bool rows_only = !saved_.empty() && stores_rows_only();
    const int64_t total = rows_only ? rows_ : ir::count(nest_.space);
    const uint32_t lanes = rows_only ? 1 : flat_lanes(), threads = flat_threads(limits_);
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

  void set_flat_place(Writing& to, Id position, uint32_t lanes) {
    const std::vector<Id> indices = to.w.unravel(position, {nest_.space.data(), nest_.space.size()});
    to.place.row.assign(indices.begin(), indices.begin() + nest_.row_rank);
    to.place.element.assign(lanes, {indices.begin() + nest_.row_rank, indices.end()});
    for (uint32_t lane = 1; lane < lanes; ++lane)
      to.place.element[lane].back() = to.b.add(indices.back(), to.w.index_of(lane));
    to.place.is_run = lanes > 1;
  }
  Id row_of(Writing& to, Id group, uint32_t lanes) {
    return to.b.div(to.b.mul(group, to.w.index_of(lanes)), to.w.index_of(size_));
  }
  Id is_first_of_row(Writing& to) {
    Id all = to.b.boolean(true);
    for (const Id index : to.place.element[0]) all = to.b.both(all, to.b.equal(index, to.w.index_of(0)));
    return all;
  }

  // ---- rows ----

  // Where a thread stands in a row: which of the row's threads it is, and which row of the block's.
  struct Threads {
    Id inside, lane;
  };
  Threads threads_of(Writing& to) const {
    const Id thread = to.b.thread(), size = to.b.u32(shape_.threads);
    return {shape_.lanes == 1 ? thread : to.b.mod(thread, size),
            shape_.lanes == 1 ? to.b.u32(0) : to.b.div(thread, size)};
  }

  // The row's indices; a row that is not there is row 0, whose results nobody stores.
  Id enter_row(Writing& to, Id row, Id is_there) {
    const Id safe = is_there == kNoValue ? row : to.b.select(is_there, row, to.w.index_of(0));
    to.place.row = to.w.unravel(safe, {row_dims_.data(), row_dims_.size()});
    return safe;
  }

  // The elements of a step; those behind the end of the row are element 0, and have a mask that says so.
  std::vector<Id> enter_step(Writing& to, Id step, Id inside) {
    const uint32_t lanes = shape_.vector;
    const Id first = to.b.mul(to.b.add(to.b.mul(to.w.index(step), to.w.index_of(shape_.threads)), to.w.index(inside)),
                              to.w.index_of(lanes));
    const bool is_even = size_ % lanes == 0;
    const bool is_full = size_ % shape_.width() == 0;
    const Id end = to.w.index_of(size_), zero = to.w.index_of(0);
    to.place.element.assign(lanes, {});
    to.place.is_run = false;
    std::vector<Id> masks;
    // Neighbours along the last axis: all of them in one row of it.
    const bool is_run = is_even && !element_dims_.empty() && element_dims_.back() % lanes == 0;
    if (is_run) {
      Id safe = first;
      if (!is_full) {
        masks = {to.b.less(first, end)};
        safe = to.b.select(masks[0], first, zero);
      }
      const std::vector<Id> indices = to.w.unravel(safe, {element_dims_.data(), element_dims_.size()});
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        to.place.element[lane] = indices;
        to.place.element[lane].back() = to.b.add(indices.back(), to.w.index_of(lane));
      }
      to.place.is_run = lanes > 1;
      return masks;
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      Id at = to.b.add(first, to.w.index_of(lane));
      if (!is_full) {
        masks.push_back(to.b.less(at, end));
        at = to.b.select(masks.back(), at, zero);
      }
      to.place.element[lane] = to.w.unravel(at, {element_dims_.data(), element_dims_.size()});
    }
    return masks;
  }

  static Id mask_of(const std::vector<Id>& masks, uint32_t lane) {
    return masks.empty() ? kNoValue : masks.size() == 1 ? masks[0] : masks[lane];
  }
  // The element's value where it is there, else what changes no fold.
  Id folded_value(Writing& to, uint32_t fold, uint32_t lane, Id mask) {
    const Instr& instr = nest_.code[fold];
    const Id value = to.value(instr.args[0], lane);
    return mask == kNoValue ? value : to.b.select(mask, value, identity_of(to.b, instr.op, instr.dtype));
  }

  // Values that are held from stage to stage where there are several steps: an array for each lane, read when first
  // needed in a step.
  struct Held {
    std::map<uint32_t, std::vector<uint32_t>> arrays;
    bool contains(uint32_t i) const { return arrays.contains(i); }
  };
  Held hold_values(Writing& to) {
    Held held;
    if (!shape_.holds_row() || shape_.steps <= 1) return held;
    for (uint32_t i = 0; i < nest_.code.size(); ++i) {
      if (!stages_.outlives_its_stage(i) || is_fold(nest_.code[i])) continue;
      const Scalar type = in_register(nest_.code[i].dtype);
      for (uint32_t lane = 0; lane < shape_.vector; ++lane)
        held.arrays[i].push_back(to.b.add_array(type == Scalar::boolean ? Scalar::u32 : type, shape_.steps));
    }
    return held;
  }
  void keep(Writing& to, const Held& held, uint32_t i, Id step) {
    const auto& arrays = held.arrays.at(i);
    for (uint32_t lane = 0; lane < arrays.size(); ++lane) {
      const Id value = to.value(i, lane);
      to.b.array_store(arrays[lane], step,
                       to.b.type_of(value) == Scalar::boolean ? to.b.convert(value, Scalar::u32) : value);
    }
  }
  void fetch(Writing& to, const Held& held, uint32_t i, Id step) {
    const bool is_truth = in_register(nest_.code[i].dtype) == Scalar::boolean;
    for (const uint32_t array : held.arrays.at(i)) {
      const Id loaded = to.b.array_load(array, step);
      to.known[i].push_back(is_truth ? to.b.convert(loaded, Scalar::boolean) : loaded);
    }
  }

  // One step of a stage: computes, stores, and hands on what is folded.
  using OnFold = std::function<void(uint32_t fold, uint32_t lane, Id step, Id value)>;
  void write_step(Writing& to, const std::vector<uint32_t>& code, const Held& held, uint32_t stage, Id step, Id inside,
                  Id row_is_there, const OnFold& on_fold, bool stores = true) {
    const std::vector<Id> masks = enter_step(to, step, inside);
    for (const uint32_t i : code) {
      const Instr& instr = nest_.code[i];
      if (is_saved(i)) continue;
      for (const uint32_t arg : instr.args) {
        if (held.contains(arg) && to.known[arg].empty() && stages_.values[arg].made < stage) fetch(to, held, arg, step);
      }
      if (is_fold(instr)) {
        if (on_fold) {
          for (uint32_t lane = 0; lane < shape_.vector; ++lane)
            on_fold(i, lane, step, folded_value(to, i, lane, mask_of(masks, lane)));
        }
      } else if (is_store(instr)) {
        if (!stores) continue;
        std::vector<Id> both = masks;
        if (row_is_there != kNoValue) {
          if (both.empty())
            both = {row_is_there};
          else
            for (Id& mask : both) mask = to.b.both(mask, row_is_there);
        }
        to.w.store(i, to.place, to.operands(), both);
      } else {
        to.known[i] = to.w.values(i, to.place, to.operands());
        if (held.contains(i) && stages_.values[i].made == stage) keep(to, held, i, step);
      }
    }
  }

  // Forgets what was known inside a loop only.
  void forget_elements(Writing& to) {
    for (uint32_t i = 0; i < nest_.code.size(); ++i) {
      if (stages_.values[i].scope >= Scope::column && !is_row_fold(i)) to.known[i].clear();
    }
  }
  bool is_row_fold(uint32_t i) const { return is_fold(nest_.code[i]) && !nest_.code[i].per_column; }

  const std::vector<uint32_t>& code_of(const Stage& stage) const {
    return shape_.holds_row() ? stage.first_time : stage.per_element;
  }

  // Steps `first` to below `last` of a stage folded by this thread, one accumulator for each place of the vector.
  std::vector<Id> fold_steps(Writing& to, const Stage& stage, uint32_t number, const Held& held, Id first, Id last,
                             Id inside, Id row_is_there, const OnFold& on_column, bool stores = true) {
    std::vector<std::vector<Id>> totals;
    for (const uint32_t fold : stage.row_folds) {
      if (is_saved(fold)) continue;
      std::vector<Id>& lanes = totals.emplace_back();
      for (uint32_t lane = 0; lane < shape_.vector; ++lane)
        lanes.push_back(to.b.variable(identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype)));
    }
    const auto on_fold = [&](uint32_t fold, uint32_t lane, Id step, Id value) {
      if (nest_.code[fold].per_column) {
        if (on_column) on_column(fold, lane, step, value);
        return;
      }
      size_t which = 0;
      for (const uint32_t other : stage.row_folds) {
        if (other == fold) break;
        if (!is_saved(other)) ++which;
      }
      const Id total = totals[which][lane];
      to.b.set(total, join(to.b, nest_.code[fold].op, nest_.code[fold].dtype, to.b.get(total), value));
    };
    const auto body = [&](Id step) {
      write_step(to, code_of(stage), held, number, step, inside, row_is_there, on_fold, stores);
    };
    const auto begin = to.b.known(first), end = to.b.known(last);
    const bool is_unrolled = begin && end && *end - *begin <= 1;
    if (is_unrolled) {
      if (*begin < *end) body(first);
    } else {
      to.b.loop(first, last, to.b.u32(1), body, shape_.holds_row());
      forget_elements(to);
    }
    std::vector<Id> folded;
    size_t which = 0;
    for (const uint32_t fold : stage.row_folds) {
      if (is_saved(fold)) continue;
      std::vector<Id> lanes;
      for (const Id total : totals[which]) lanes.push_back(to.b.get(total));
      folded.push_back(fold_pairwise(to.b, nest_.code[fold].op, nest_.code[fold].dtype, lanes));
      ++which;
    }
    return folded;
  }

  // All stages of one row.
  void write_row(Writing& to, const Held& held, const Threads& threads, Id row_is_there, const OnFold& on_column) {
    const Id is_first = first_thread(to, threads, row_is_there);
    for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
      const Stage& stage = stages_.stages[number];
      write_per_row(to, stage.per_row, is_first);
      if (code_of(stage).empty()) continue;
      std::vector<Id> folded;
      const Id steps = to.b.u32(shape_.steps);
      if (shape_.chunks == 1) {
        folded = fold_steps(to, stage, number, held, to.b.u32(0), steps, threads.inside, row_is_there, on_column);
      } else {
        std::vector<Id> totals;
        for (const uint32_t fold : stage.row_folds)
          totals.push_back(to.b.variable(identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype)));
        to.b.loop(0, shape_.chunks, [&](Id chunk) {
          const Id first = to.b.mul(chunk, to.b.u32(shape_.chunk));
          const Id last = to.b.min(to.b.add(first, to.b.u32(shape_.chunk)), steps);
          const std::vector<Id> parts =
              fold_steps(to, stage, number, held, first, last, threads.inside, row_is_there, on_column);
          for (size_t i = 0; i < parts.size(); ++i) {
            const Instr& fold = nest_.code[stage.row_folds[i]];
            to.b.set(totals[i], join(to.b, fold.op, fold.dtype, to.b.get(totals[i]), parts[i]));
          }
        });
        forget_elements(to);
        for (const Id total : totals) folded.push_back(to.b.get(total));
      }
      for (size_t i = 0; i < folded.size(); ++i) {
        const uint32_t fold = stage.row_folds[i];
        const Instr& instr = nest_.code[fold];
        to.known[fold] = {rounded(to.b, instr.dtype, fold_threads(to.b, shape_, instr.op, instr.dtype, folded[i]))};
      }
    }
  }

  Id first_thread(Writing& to, const Threads& threads, Id row_is_there) {
    return to.b.both(to.b.equal(threads.inside, to.b.u32(0)), row_is_there);
  }

  void add_rows() {
    Writing to = start("rows", shape_.block());
    const Threads threads = threads_of(to);
    const Id row = to.b.add(to.b.mul(to.w.index(to.b.block()), to.w.index_of(shape_.lanes)), to.w.index(threads.lane));
    const Id is_there = rows_ % shape_.lanes == 0 ? kNoValue : to.b.less(row, to.w.index_of(rows_));
    enter_row(to, row, is_there);
    write_constants(to);
    const Held held = hold_values(to);
    write_row(to, held, threads, is_there, nullptr);
    finish(to, {ceil_div(rows_, shape_.lanes), 1, 1});
  }

  // ---- few long rows, cut into parts ----

  bool is_worth_splitting() const { return shape_.chunks > 1 && rows_ * 2 <= limits_.processors && shape_.lanes >= 1; }

  void add_split() {
    save_row_folds_in_parts();
    add_flat();
  }

  // Every stage's folds one after another into scratch memory.
  void save_row_folds_in_parts() {
    for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
      const Stage& stage = stages_.stages[number];
      if (stage.row_folds.empty()) continue;
      std::vector<size_t> parts;
      for (const uint32_t fold : stage.row_folds)
        parts.push_back(new_scratch(wide(fold), rows_ * shape_.chunks * shape_.threads));
      add_parts(stage, number, parts);
      add_folded_parts(stage, parts);
    }
  }

  void add_parts(const Stage& stage, uint32_t number, const std::vector<size_t>& parts) {
    RowSchedule alone = shape_;
    alone.lanes = 1;
    std::swap(alone, shape_);
    Writing to = start("parts", shape_.threads);
    const Id chunk = to.b.block(0), row = to.w.index(to.b.block(1)), thread = to.b.thread();
    enter_row(to, row, kNoValue);
    write_constants(to);
    load_saved(to, row);
    for (uint32_t earlier = 0; earlier <= number; ++earlier)
      write_rows_without_stores(to, stages_.stages[earlier].per_row);
    const Id first = to.b.mul(chunk, to.b.u32(shape_.chunk));
    const Id last = to.b.min(to.b.add(first, to.b.u32(shape_.chunk)), to.b.u32(shape_.steps));
    const std::vector<Id> folded = fold_steps(to, stage, number, Held(), first, last, thread, kNoValue, nullptr, false);
    const Id at = to.b.add(to.b.mul(to.b.add(to.b.mul(row, to.w.index_of(shape_.chunks)), to.w.index(chunk)),
                                    to.w.index_of(shape_.threads)),
                           to.w.index(thread));
    for (size_t i = 0; i < folded.size(); ++i) {
      const DType dtype = wide(stage.row_folds[i]);
      to.b.store(bind_scratch(to, dtype, parts[i], true), at, to_memory(to.b, dtype, folded[i]));
    }
    finish(to, {shape_.chunks, rows_, 1}, false);
    std::swap(alone, shape_);
  }

  void write_rows_without_stores(Writing& to, const std::vector<uint32_t>& code) {
    for (const uint32_t i : code) {
      if (!is_store(nest_.code[i]) && !is_saved(i)) to.known[i] = to.w.values(i, to.place, to.operands());
    }
  }

  void add_folded_parts(const Stage& stage, const std::vector<size_t>& parts) {
    RowSchedule alone = shape_;
    alone.lanes = 1;
    Writing to = start("folded", shape_.threads);
    const Id row = to.w.index(to.b.block()), thread = to.b.thread();
    for (size_t i = 0; i < stage.row_folds.size(); ++i) {
      const uint32_t fold = stage.row_folds[i];
      const Instr& instr = nest_.code[fold];
      const DType dtype = wide(fold);
      const uint32_t from = bind_scratch(to, dtype, parts[i], false);
      const Id total = to.b.variable(identity_of(to.b, instr.op, instr.dtype));
      to.b.loop(0, shape_.chunks, [&](Id chunk) {
        const Id at = to.b.add(to.b.mul(to.b.add(to.b.mul(row, to.w.index_of(shape_.chunks)), to.w.index(chunk)),
                                        to.w.index_of(shape_.threads)),
                               to.w.index(thread));
        const Id part = from_memory(to.b, dtype, to.b.load(from, at));
        to.b.set(total, join(to.b, instr.op, instr.dtype, to.b.get(total), part));
      });
      const Id folded = fold_threads(to.b, alone, instr.op, instr.dtype, to.b.get(total));
      saved_[fold] = new_scratch(dtype, rows_);
      const uint32_t target = bind_scratch(to, dtype, saved_[fold], true);
      to.b.branch(to.b.equal(thread, to.b.u32(0)), [&] { to.b.store(target, row, to_memory(to.b, dtype, folded)); });
    }
    finish(to, {rows_, 1, 1}, false);
  }

  // ---- columns ----

  // All row folds into scratch memory, and nothing else: for column folds over rows that are too long to be held.
  void save_row_folds() {
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
      std::vector<Id> totals;
      for (const uint32_t fold : stage.row_folds)
        totals.push_back(to.b.variable(identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype)));
      to.b.loop(0, shape_.chunks, [&](Id chunk) {
        const Id first = to.b.mul(chunk, to.b.u32(shape_.chunk));
        const Id last = to.b.min(to.b.add(first, to.b.u32(shape_.chunk)), to.b.u32(shape_.steps));
        const std::vector<Id> parts =
            fold_steps(to, stage, number, Held(), first, last, threads.inside, is_there, nullptr, false);
        for (size_t i = 0; i < parts.size(); ++i) {
          const Instr& fold = nest_.code[stage.row_folds[i]];
          to.b.set(totals[i], join(to.b, fold.op, fold.dtype, to.b.get(totals[i]), parts[i]));
        }
      });
      forget_elements(to);
      for (size_t i = 0; i < totals.size(); ++i) {
        const uint32_t fold = stage.row_folds[i];
        const Instr& instr = nest_.code[fold];
        const Id folded = fold_threads(to.b, shape_, instr.op, instr.dtype, to.b.get(totals[i]));
        to.known[fold] = {rounded(to.b, instr.dtype, folded)};
        saved[fold] = new_scratch(wide(fold), rows_);
        const uint32_t target = bind_scratch(to, wide(fold), saved[fold], true);
        to.b.branch(is_first, [&] { to.b.store(target, row, to_memory(to.b, wide(fold), folded)); });
      }
    }
    finish(to, {ceil_div(rows_, shape_.lanes), 1, 1}, false);
    saved_ = std::move(saved);
  }

  // Where folds over rows are all that is there (or all others are known), columns are cut into tiles as wide as a
  // step, and a block walks down the rows of one part; otherwise it takes whole rows.
  void add_columns() {
    const ColumnSchedule columns = schedule_columns(nest_);
    const bool by_tiles = row_folds_.empty() || !saved_.empty();
    const uint32_t steps = by_tiles ? 1 : shape_.steps;
    Writing to = start("columns", shape_.block());
    const Threads threads = threads_of(to);
    const Id part = to.w.index(to.b.block(0));
    write_constants(to);
    const Held held = by_tiles ? Held() : hold_values(to);

    // For each fold and lane: a variable where there is one step, an array where there are several.
    std::map<uint32_t, std::vector<uint32_t>> totals;
    for (const uint32_t fold : column_folds_) {
      const Id begin = identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype);
      const Scalar type = to.b.type_of(begin);
      for (uint32_t lane = 0; lane < shape_.vector; ++lane) {
        if (steps <= 1) {
          totals[fold].push_back(to.b.variable(begin));
          continue;
        }
        const uint32_t array = to.b.add_array(type == Scalar::boolean ? Scalar::u32 : type, steps);
        totals[fold].push_back(array);
        to.b.loop(
            0, steps, [&](Id step) { array_set(to, array, step, begin); }, true);
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
        const Id before = array_get(to, total, step, in_register(wide(fold)));
        array_set(to, total, step, join(to.b, instr.op, instr.dtype, before, value));
      }
    };
    to.b.loop(0, static_cast<uint64_t>(turns), [&](Id turn) {
      const Id below = to.b.add(to.b.mul(to.w.index(turn), to.w.index_of(shape_.lanes)), to.w.index(threads.lane));
      const Id row = to.b.add(first, below);
      Id is_there = kNoValue;
      if (rows_ % columns.part != 0) is_there = to.b.less(row, to.w.index_of(rows_));
      if (columns.part % shape_.lanes != 0)
        is_there = to.b.both(is_there, to.b.less(below, to.w.index_of(columns.part)));
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
    std::map<uint32_t, uint32_t> targets;
    for (const auto& [fold, offset] : partial) targets[fold] = bind_scratch(to, wide(fold), offset, true);
    const Id owns = shape_.lanes == 1 ? kNoValue : to.b.equal(threads.lane, to.b.u32(0));
    to.b.loop(0, steps, [&](Id step) {
      std::vector<Id> masks = enter_step(to, step_of_tile(to, by_tiles, step), threads.inside);
      if (owns != kNoValue) {
        if (masks.empty())
          masks = {owns};
        else
          for (Id& mask : masks) mask = to.b.both(mask, owns);
      }
      for (const uint32_t fold : column_folds_) {
        std::vector<Id> folded;
        for (uint32_t lane = 0; lane < shape_.vector; ++lane) {
          const Id total = totals[fold][lane];
          const Id own = steps <= 1 ? to.b.get(total) : array_get(to, total, step, in_register(wide(fold)));
          folded.push_back(fold_lanes(to, fold, own, threads));
        }
        if (is_one_part) {
          for (Id& each : folded) each = rounded(to.b, nest_.code[fold].dtype, each);
          to.known[fold] = folded;
          continue;
        }
        for (uint32_t lane = 0; lane < shape_.vector; ++lane) {
          const Id column = column_of(to, step_of_tile(to, by_tiles, step), threads.inside, lane);
          const Id at = to.b.add(to.b.mul(part, to.w.index_of(size_)), column);
          Id mask = mask_of(masks, lane);
          to.b.store(targets[fold], at, to_memory(to.b, wide(fold), folded[lane]), mask);
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

  bool has_element_stores() const {
    return std::any_of(nest_.code.begin(), nest_.code.end(),
                       [](const Instr& instr) { return is_store(instr) && !instr.per_column; });
  }

  Id step_of_tile(Writing& to, bool by_tiles, Id step) { return by_tiles ? to.b.block(1) : step; }

  Id column_of(Writing& to, Id step, Id inside, uint32_t lane) {
    const Id first = to.b.mul(to.b.add(to.b.mul(to.w.index(step), to.w.index_of(shape_.threads)), to.w.index(inside)),
                              to.w.index_of(shape_.vector));
    return to.b.add(first, to.w.index_of(lane));
  }

  void array_set(Writing& to, uint32_t array, Id at, Id value) {
    to.b.array_store(array, at, to.b.type_of(value) == Scalar::boolean ? to.b.convert(value, Scalar::u32) : value);
  }
  Id array_get(Writing& to, uint32_t array, Id at, Scalar type) {
    const Id loaded = to.b.array_load(array, at);
    return type == Scalar::boolean ? to.b.convert(loaded, type) : loaded;
  }

  void load_saved_rows(Writing& to, Id row) {
    for (const auto& [fold, offset] : saved_) {
      if (!saved_buffers_.contains(fold)) saved_buffers_[fold] = bind_scratch(to, wide(fold), offset, false);
      const Id loaded = from_memory(to.b, wide(fold), to.b.load(saved_buffers_[fold], row));
      to.known[fold] = {rounded(to.b, nest_.code[fold].dtype, loaded)};
    }
  }

  // Everything of the nest for one row and one tile of columns; all row folds are known.
  void write_tile(Writing& to, const Threads& threads, Id row_is_there, const OnFold& on_fold) {
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
    write_step(to, per_element, Held(), 0, tile, threads.inside, row_is_there, on_fold);
  }

  // Joins what the lanes of a block have of one column; the first lane knows the result.
  Id fold_lanes(Writing& to, uint32_t fold, Id own, const Threads& threads) {
    if (shape_.lanes == 1) return own;
    const Instr& instr = nest_.code[fold];
    const Scalar type = to.b.type_of(own), kept = type == Scalar::boolean ? Scalar::u32 : type;
    const auto found = lane_arrays_.find(kept);
    const uint32_t array =
        found != lane_arrays_.end() ? found->second : (lane_arrays_[kept] = to.b.add_shared(kept, shape_.block()));
    to.b.barrier();
    to.b.shared_store(array, to.b.thread(), type == Scalar::boolean ? to.b.convert(own, Scalar::u32) : own);
    to.b.barrier();
    const Id total = to.b.variable(own);
    to.b.branch(to.b.equal(threads.lane, to.b.u32(0)), [&] {
      to.b.loop(1, shape_.lanes, [&](Id lane) {
        const Id at = to.b.add(to.b.mul(lane, to.b.u32(shape_.threads)), threads.inside);
        const Id loaded = to.b.shared_load(array, at);
        const Id other = type == Scalar::boolean ? to.b.convert(loaded, type) : loaded;
        to.b.set(total, join(to.b, instr.op, instr.dtype, to.b.get(total), other));
      });
    });
    return to.b.get(total);
  }

  // The second dispatch: parts of each column are folded, by several threads where there are many of them.
  void add_folded_columns(const ColumnSchedule& columns, const std::map<uint32_t, size_t>& partial) {
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
    for (const uint32_t fold : column_folds_) {
      const Instr& instr = nest_.code[fold];
      const DType dtype = wide(fold);
      const Id total = to.b.variable(identity_of(to.b, instr.op, instr.dtype));
      if (columns.parts > 0) {
        const uint32_t from = bind_scratch(to, dtype, partial.at(fold), false);
        to.b.loop(lane, to.b.u32(static_cast<uint64_t>(columns.parts)), to.b.u32(lanes), [&](Id part) {
          const Id at = to.b.add(to.b.mul(to.w.index(part), to.w.index_of(size_)), safe);
          to.b.set(total,
                   join(to.b, instr.op, instr.dtype, to.b.get(total), from_memory(to.b, dtype, to.b.load(from, at))));
        });
      }
      Id folded = to.b.get(total);
      if (lanes > 1) {
        const Scalar type = to.b.type_of(folded), kept = type == Scalar::boolean ? Scalar::u32 : type;
        const uint32_t array = to.b.add_shared(kept, wide_block * lanes);
        to.b.shared_store(array, thread, type == Scalar::boolean ? to.b.convert(folded, Scalar::u32) : folded);
        to.b.barrier();
        to.b.branch(to.b.equal(lane, to.b.u32(0)), [&] {
          to.b.loop(1, lanes, [&](Id other) {
            const Id loaded = to.b.shared_load(array, to.b.add(to.b.mul(other, to.b.u32(wide_block)), across));
            const Id value = type == Scalar::boolean ? to.b.convert(loaded, type) : loaded;
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

  const ir::LoopNest& nest_;
  const ir::Limits& limits_;
  const Stages stages_;
  const int64_t rows_, size_;
  const std::vector<int64_t> row_dims_, element_dims_;
  std::vector<uint32_t> row_folds_, column_folds_;
  RowSchedule shape_;
  Module made_;
  size_t scratch_ = 0;
  std::map<uint32_t, size_t> saved_;  // row folds that stand in scratch memory, and where
  std::map<uint32_t, uint32_t> saved_buffers_;
  std::map<Scalar, uint32_t> lane_arrays_;
};

}  // namespace

Module lower(const ir::LoopNest& nest, const ir::Limits& limits) { return Lowering(nest, limits).run(); }

}  // namespace tenon::codegen
