// Few long rows, cut into parts so that all processors have work.
//
// Each stage that folds is a dispatch that folds parts, and one that folds those. The results stand in scratch memory,
// from which a flat kernel does the rest.

#include "tenon/base/divide.h"
#include "tenon/codegen/fold.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using base::ceil_div;
using ir::Instr;

bool Lowering::is_worth_splitting() const {
  return shape_.chunks > 1 && rows_ * 2 <= limits_.processors && shape_.lanes >= 1;
}

void Lowering::add_split() {
  save_row_folds_in_parts();
  add_flat();
}

// Every stage's folds one after another into scratch memory.
void Lowering::save_row_folds_in_parts() {
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

void Lowering::add_parts(const Stage& stage, uint32_t number, const std::vector<size_t>& parts) {
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
  const Id at = to.b.add(
      to.b.mul(to.b.add(to.b.mul(row, to.w.index_of(shape_.chunks)), to.w.index(chunk)), to.w.index_of(shape_.threads)),
      to.w.index(thread));
  for (size_t i = 0; i < folded.size(); ++i) {
    const DType dtype = wide(stage.row_folds[i]);
    store_scratch(to, bind_scratch(to, dtype, parts[i], true), at, to_memory(to.b, dtype, folded[i]));
  }
  finish(to, {shape_.chunks, rows_, 1}, false);
  std::swap(alone, shape_);
}

void Lowering::add_folded_parts(const Stage& stage, const std::vector<size_t>& parts) {
  RowSchedule alone = shape_;
  alone.lanes = 1;
  Writing to = start("folded", shape_.threads);
  const Id row = to.w.index(to.b.block()), thread = to.b.thread();
  for (size_t i = 0; i < stage.row_folds.size(); ++i) {
    const uint32_t fold = stage.row_folds[i];
    const Instr& instr = nest_.code[fold];
    const DType dtype = wide(fold);
    const Scratch from = bind_scratch(to, dtype, parts[i], false);
    const Id total = to.b.variable(identity_of(to.b, instr.op, instr.dtype));
    to.b.loop(0, shape_.chunks, [&](Id chunk) {
      const Id at = to.b.add(to.b.mul(to.b.add(to.b.mul(row, to.w.index_of(shape_.chunks)), to.w.index(chunk)),
                                      to.w.index_of(shape_.threads)),
                             to.w.index(thread));
      const Id part = from_memory(to.b, dtype, load_scratch(to, from, at));
      to.b.set(total, join(to.b, instr.op, instr.dtype, to.b.get(total), part));
    });
    const Id folded = fold_threads(to.b, alone, instr.op, instr.dtype, to.b.get(total), false);
    saved_[fold] = new_scratch(dtype, rows_);
    const Scratch target = bind_scratch(to, dtype, saved_[fold], true);
    to.b.branch(to.b.equal(thread, to.b.u32(0)),
                [&] { store_scratch(to, target, row, to_memory(to.b, dtype, folded)); });
  }
  finish(to, {rows_, 1, 1}, false);
}

}  // namespace tenon::codegen
