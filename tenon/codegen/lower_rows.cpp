// Rows with the threads that share them: stage after stage, each a walk over the row's steps.
//
// What later stages read again is held in registers where it fits, and computed anew where it does not.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/fold.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using base::ceil_div;
using ir::Instr;

// Of rows that are too long to be held, on one processor.
constexpr uint32_t kLongRowThreads = 1024;

Lowering::Threads Lowering::threads_of(Writing& to) const {
  const Id thread = to.b.thread(), size = to.b.u32(shape_.threads);
  return {shape_.lanes == 1 ? thread : to.b.mod(thread, size),
          shape_.lanes == 1 ? to.b.u32(0) : to.b.div(thread, size)};
}

// The row's indices; a row that is not there is row 0, whose results nobody stores.
Id Lowering::enter_row(Writing& to, Id row, Id is_there) {
  const Id safe = is_there == kNoValue ? row : to.b.select(is_there, row, to.w.index_of(0));
  to.place.row = to.w.unravel(safe, {row_dims_.data(), row_dims_.size()});
  return safe;
}

// Whether the elements of a thread's step are neighbours along the last axis: all of them in one row of it.
bool Lowering::has_runs() const {
  return size_ % shape_.vector == 0 && !element_dims_.empty() && element_dims_.back() % shape_.vector == 0;
}

// The elements of a step; those behind the end of the row (never of a full step) are element 0, and have a mask that
// says so.
std::vector<Id> Lowering::enter_step(Writing& to, Id step, Id inside, bool is_full) {
  const uint32_t lanes = shape_.vector;
  const Id first = to.b.mul(to.b.add(to.b.mul(to.w.index(step), to.w.index_of(shape_.threads)), to.w.index(inside)),
                            to.w.index_of(lanes));
  const Id end = to.w.index_of(size_), zero = to.w.index_of(0);
  to.place.element.assign(lanes, {});
  to.place.is_run = false;
  std::vector<Id> masks;
  if (has_runs()) {
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

Id Lowering::mask_of(const std::vector<Id>& masks, uint32_t lane) {
  return masks.empty() ? kNoValue : masks.size() == 1 ? masks[0] : masks[lane];
}
// The element's value where it is there, else what changes no fold.
Id Lowering::folded_value(Writing& to, uint32_t fold, uint32_t lane, Id mask) {
  const Instr& instr = nest_.code[fold];
  const Id value = to.value(instr.args[0], lane);
  return mask == kNoValue ? value : to.b.select(mask, value, identity_of(to.b, instr.op, instr.dtype));
}

// Values that are held from stage to stage where there are several steps: an array for each lane, read when first
Lowering::Held Lowering::hold_values(Writing& to) {
  Held held;
  if (!shape_.holds_row()) hold_loads(to, held);
  if (!shape_.holds_row() || shape_.steps <= 1) return held;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    if (!stages_.outlives_its_stage(i) || is_fold(nest_.code[i])) continue;
    for (uint32_t lane = 0; lane < shape_.vector; ++lane)
      held.arrays[i].push_back(to.b.add_array(in_register(nest_.code[i].dtype), shape_.steps));
  }
  return held;
}
// Whether the steps of a stage are written out one after another: only then are arrays registers. Long ones are not,
// for the sake of those who compile them.
bool Lowering::is_unrolled(const Stage& stage) const {
  return shape_.chunks == 1 && (shape_.holds_row() || stage.per_element.size() * shape_.steps <= 256);
}

// Of rows too long to be held: what several stages load, as long as there are registers for it.
void Lowering::hold_loads(Writing& to, Held& held) {
  if (!has_runs() || shape_.vector % 2 != 0) return;
  const auto& all = stages_.stages;
  if (!std::all_of(all.begin(), all.end(), [&](const Stage& stage) { return is_unrolled(stage); })) return;
  uint32_t words = 0;
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    const Instr& instr = nest_.code[i];
    const size_t bytes = size_of(instr.dtype);
    if (instr.kind != Instr::Kind::load || (bytes != 2 && bytes != 4) || !to.w.takes_runs(i, shape_.vector)) continue;
    const auto readers = std::count_if(stages_.stages.begin(), stages_.stages.end(), [&](const Stage& stage) {
      return std::find(stage.per_element.begin(), stage.per_element.end(), i) != stage.per_element.end();
    });
    const auto of_step = static_cast<uint32_t>(shape_.vector * bytes / 4);
    if (readers < 2 || words + of_step * shape_.steps > RowSchedule::kKeptWords) continue;
    words += of_step * shape_.steps;
    const Scalar word = bytes == 2 ? Scalar::u32 : in_memory(instr.dtype);
    for (uint32_t k = 0; k < of_step; ++k) held.loads[i].push_back(to.b.add_array(word, shape_.steps));
  }
}

// From memory in the stage that comes first, from registers in those that follow.
void Lowering::read_held_load(Writing& to, const Held& held, uint32_t i, uint32_t stage, Id step) {
  const Instr& instr = nest_.code[i];
  const std::vector<uint32_t>& arrays = held.loads.at(i);
  const bool are_pairs = arrays.size() < shape_.vector;
  std::vector<Id> elements;
  if (stages_.values[i].made == stage) {
    elements = to.w.elements(i, to.w.indices_of(instr, to.place, 0), shape_.vector);
    for (uint32_t k = 0; k < arrays.size(); ++k) {
      const Id word =
          !are_pairs
              ? elements[k]
              : to.b.math(ir::Op::bit_or, Scalar::u32,
                          {elements[2 * k], to.b.math(ir::Op::shl, Scalar::u32, {elements[2 * k + 1], to.b.u32(16)})});
      to.b.array_store(arrays[k], step, word);
    }
  } else {
    for (const uint32_t array : arrays) {
      const Id word = to.b.array_load(array, step);
      elements.push_back(are_pairs ? to.b.math(ir::Op::bit_and, Scalar::u32, {word, to.b.u32(0xFFFF)}) : word);
      if (are_pairs) elements.push_back(to.b.math(ir::Op::shr, Scalar::u32, {word, to.b.u32(16)}));
    }
  }
  to.known[i].clear();
  for (const Id element : elements) to.known[i].push_back(from_memory(to.b, instr.dtype, element));
}

// Where a row is held, what a later stage loads is asked for at once: one wait for memory instead of one for each
// stage.
void Lowering::load_early() {
  if (!shape_.holds_row()) return;
  uint32_t words = 0;
  std::vector<uint32_t> early;
  for (uint32_t number = 1; number < stages_.stages.size(); ++number) {
    auto& code = stages_.stages[number].first_time;
    std::erase_if(code, [&](uint32_t i) {
      const Instr& instr = nest_.code[i];
      if (instr.kind != Instr::Kind::load || stages_.values[i].scope != Scope::element) return false;
      words += shape_.steps * shape_.vector;
      if (words > RowSchedule::kHeldWords) return false;
      early.push_back(i);
      return true;
    });
  }
  auto& first = stages_.stages[0].first_time;
  first.insert(first.begin(), early.begin(), early.end());
  for (const uint32_t i : early) stages_.values[i].made = 0;
}

void Lowering::keep(Writing& to, const Held& held, uint32_t i, Id step) {
  const auto& arrays = held.arrays.at(i);
  for (uint32_t lane = 0; lane < arrays.size(); ++lane) to.b.array_store(arrays[lane], step, to.value(i, lane));
}
void Lowering::fetch(Writing& to, const Held& held, uint32_t i, Id step) {
  for (const uint32_t array : held.arrays.at(i)) to.known[i].push_back(to.b.array_load(array, step));
}
// Whether a comparison of an element's position with a number comes out the same in all steps but the last, as that
// with the end of what counts in a row does.
std::optional<bool> Lowering::known_in_full_steps(const Instr& instr) const {
  if (instr.kind != Instr::Kind::apply || instr.op != ir::Op::less) return std::nullopt;
  const Instr &left = nest_.code[instr.args[0]], &right = nest_.code[instr.args[1]];
  int64_t first = 0;
  const bool is_right = counts_elements(nest_, right, first),
             is_left = !is_right && counts_elements(nest_, left, first);
  const Instr& other = is_right ? left : right;
  const bool is_whole = other.dtype == DType::i32 || other.dtype == DType::i64;
  if ((!is_left && !is_right) || other.kind != Instr::Kind::number || !is_whole) return std::nullopt;
  const auto number = static_cast<int64_t>(other.bits);
  const int64_t last = first + int64_t{shape_.full_steps()} * shape_.width() - 1;
  if (is_right) return number >= last ? std::optional(false) : number < first ? std::optional(true) : std::nullopt;
  return last < number ? std::optional(true) : first >= number ? std::optional(false) : std::nullopt;
}

// Where a stage only stores what it computes anew, and compares elements with one place of the row on the way.
std::optional<Lowering::Hit> Lowering::lone_hit(const Stage& stage, const Held& held) const {
  if (!stage.row_folds.empty() || !held.arrays.empty() || !held.loads.empty() || !has_runs() || shape_.vector == 1)
    return std::nullopt;
  std::optional<Hit> found;
  for (const uint32_t i : code_of(stage)) {
    if (is_fold(nest_.code[i])) return std::nullopt;
    const std::optional<Hit> hit = hit_of(i);
    if (hit && found) return std::nullopt;
    if (hit) found = hit;
  }
  return found;
}
// Whether the place may be among the elements of this step: the lower halves tell all others apart.
Id Lowering::is_near(Writing& to, const Hit& hit, Id step, Id inside) const {
  const Id begin = to.b.mul(to.b.add(to.b.mul(to.b.convert(step, Scalar::u32), to.b.u32(shape_.threads)), inside),
                            to.b.u32(shape_.vector));
  const Id place = to.b.convert(to.value(hit.index, 0), Scalar::u32);
  const Id ahead = to.b.sub(place, to.b.add(begin, to.b.u32(static_cast<uint32_t>(hit.first))));
  return to.b.less(ahead, to.b.u32(shape_.vector));
}

void Lowering::write_step(Writing& to, const std::vector<uint32_t>& code, const Held& held, uint32_t stage, Id step,
                          Id inside, bool is_full, Id row_is_there, const OnFold& on_fold, bool stores) {
  const std::vector<Id> masks = enter_step(to, step, inside, is_full);
  for (const uint32_t i : code) {
    const Instr& instr = nest_.code[i];
    if (is_saved(i)) continue;
    if (i == never_) {
      to.known[i] = {to.b.boolean(false)};
      continue;
    }
    if (const auto always = is_full ? known_in_full_steps(instr) : std::nullopt) {
      to.known[i] = {to.b.boolean(*always)};
      continue;
    }
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
    } else if (held.contains_load(i)) {
      read_held_load(to, held, i, stage, step);
    } else {
      to.known[i] = to.w.values(i, to.place, to.operands());
      if (held.contains(i) && stages_.values[i].made == stage) keep(to, held, i, step);
    }
  }
}

// Forgets what was known inside a loop only.
void Lowering::forget_elements(Writing& to) {
  for (uint32_t i = 0; i < nest_.code.size(); ++i) {
    if (stages_.values[i].scope >= Scope::column && !is_row_fold(i)) to.known[i].clear();
  }
}
const std::vector<uint32_t>& Lowering::code_of(const Stage& stage) const {
  return shape_.holds_row() ? stage.first_time : stage.per_element;
}

// Steps `first` to below `last`: full ones, and behind them the one that reaches beyond the end of the row, if any.
void Lowering::walk_steps(Writing& to, Id first, Id last, bool unroll,
                          const std::function<void(Id step, bool is_full)>& body) {
  const uint32_t full = shape_.full_steps();
  const auto walk = [&](Id begin, Id end, bool is_full) {
    const auto from = to.b.known(begin), until = to.b.known(end);
    if (from && until && *until <= *from + 1) {
      if (*from < *until) body(begin, is_full);
    } else {
      to.b.loop(
          begin, end, to.b.u32(1), [&](Id step) { body(step, is_full); }, unroll);
    }
  };
  if (full == shape_.steps) return walk(first, last, true);
  const Id middle = to.b.u32(full);
  if (full > 0) walk(first, to.b.min(last, middle), true);
  walk(to.b.max(first, middle), last, false);
}

// Steps `first` to below `last` of a stage folded by this thread, one accumulator for each place of the vector.
std::vector<Id> Lowering::fold_steps(Writing& to, const Stage& stage, uint32_t number, const Held& held, Id first,
                                     Id last, Id inside, Id row_is_there, const OnFold& on_column, bool stores) {
  std::vector<Accumulator> totals;
  for (const uint32_t fold : stage.row_folds) {
    if (!is_saved(fold)) totals.emplace_back(to.b, nest_.code[fold].op, nest_.code[fold].dtype, shape_.vector);
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
    totals[which].add(to.b, lane, value);
  };
  const std::optional<Hit> hit = shape_.steps > 1 ? lone_hit(stage, held) : std::nullopt;
  const auto write = [&](Id step, bool is_full) {
    write_step(to, code_of(stage), held, number, step, inside, is_full, row_is_there, on_fold, stores);
    if (shape_.steps > 1) forget_elements(to);
  };
  const auto body = [&](Id step, bool is_full) {
    if (!is_full || !hit) return write(step, is_full);
    to.b.branch(
        is_near(to, *hit, step, inside), [&] { write(step, true); },
        [&] {
          never_ = hit->comparison;
          write(step, true);
          never_ = kNone;
        });
  };
  walk_steps(to, first, last, is_unrolled(stage), body);
  std::vector<Id> folded;
  for (const Accumulator& total : totals) folded.push_back(total.result(to.b));
  return folded;
}

// The whole row: chunks of steps one after another.
std::vector<Id> Lowering::fold_all_steps(Writing& to, const Stage& stage, uint32_t number, const Held& held, Id inside,
                                         Id row_is_there, const OnFold& on_column, bool stores) {
  const Id steps = to.b.u32(shape_.steps);
  if (shape_.chunks == 1)
    return fold_steps(to, stage, number, held, to.b.u32(0), steps, inside, row_is_there, on_column, stores);
  std::vector<Id> totals;
  for (const uint32_t fold : stage.row_folds)
    totals.push_back(to.b.variable(identity_of(to.b, nest_.code[fold].op, nest_.code[fold].dtype)));
  to.b.loop(0, shape_.chunks, [&](Id chunk) {
    const Id first = to.b.mul(chunk, to.b.u32(shape_.chunk));
    const Id last = to.b.min(to.b.add(first, to.b.u32(shape_.chunk)), steps);
    const std::vector<Id> parts =
        fold_steps(to, stage, number, held, first, last, inside, row_is_there, on_column, stores);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Instr& fold = nest_.code[stage.row_folds[i]];
      to.b.set(totals[i], join(to.b, fold.op, fold.dtype, to.b.get(totals[i]), parts[i]));
    }
  });
  forget_elements(to);
  std::vector<Id> folded;
  for (const Id total : totals) folded.push_back(to.b.get(total));
  return folded;
}

// All stages of one row.
void Lowering::write_row(Writing& to, const Held& held, const Threads& threads, Id row_is_there,
                         const OnFold& on_column) {
  const Id is_first = first_thread(to, threads, row_is_there);
  const bool is_repeated = on_column != nullptr && row_folds_.size() == 1;  // there a block has rows one after another
  for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
    const Stage& stage = stages_.stages[number];
    write_per_row(to, stage.per_row, is_first);
    if (!code_of(stage).empty()) {
      const std::vector<Id> folded = fold_all_steps(to, stage, number, held, threads.inside, row_is_there, on_column);
      for (size_t i = 0; i < folded.size(); ++i) {
        const uint32_t fold = stage.row_folds[i];
        const Instr& instr = nest_.code[fold];
        to.known[fold] = {
            rounded(to.b, instr.dtype, fold_threads(to.b, shape_, instr.op, instr.dtype, folded[i], is_repeated))};
      }
    }
    write_picks(to, number);
  }
}

Id Lowering::first_thread(Writing& to, const Threads& threads, Id row_is_there) {
  return to.b.both(to.b.equal(threads.inside, to.b.u32(0)), row_is_there);
}

void Lowering::add_rows() {
  pick_elements();
  load_early();
  Writing to = start("rows", shape_.block());
  const Threads threads = threads_of(to);
  const Id row = to.b.add(to.b.mul(to.w.index(to.b.block()), to.w.index_of(shape_.lanes)), to.w.index(threads.lane));
  const Id is_there = rows_ % shape_.lanes == 0 ? kNoValue : to.b.less(row, to.w.index_of(rows_));
  enter_row(to, row, is_there);
  write_constants(to);
  // Of what is written over, a compiler keeps nothing from stage to stage: it needs no more registers than two blocks
  // have, and left alone takes fewer and waits for memory. The rest it may keep, which is quicker than a second block.
  if (!shape_.holds_row() && !nest_.in_place.empty()) to.b.set_resident(std::max(1u, kLongRowThreads / shape_.block()));
  const Held held = hold_values(to);
  write_row(to, held, threads, is_there, nullptr);
  finish(to, {ceil_div(rows_, shape_.lanes), 1, 1});
}

}  // namespace tenon::codegen
