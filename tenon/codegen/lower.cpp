// Chooses among few kinds of kernels, by what a nest folds.
//
// Nothing: flat, a few neighbouring elements for each thread; or by squares that pass through shared memory where what
// is read lies along another axis than what is written. Rows: the stages of a row one after another in the threads that
// share it (schedule.h); what later stages read again is held in registers where it fits, and computed anew where it
// does not. Few long rows are cut into parts: each stage is then a dispatch that folds parts, and one that folds those;
// the results stand in scratch memory, from which a flat kernel does the rest. Columns: a block takes one part of the
// rows and keeps a partial result for each column; a second dispatch folds the parts.

#include "tenon/codegen/lower.h"

#include <fmt/format.h>

#include "tenon/base/divide.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using ir::Instr;

Lowering::Lowering(const ir::LoopNest& nest, const ir::Limits& limits)
    : nest_(nest),
      limits_(limits),
      stages_(stages(nest)),
      rows_(nest.rows()),
      size_(nest.row_size()),
      row_dims_(nest.space.begin(), nest.space.begin() + nest.row_rank),
      element_dims_(nest.space.begin() + nest.row_rank, nest.space.end()) {
  for (uint32_t i = 0; i < nest.code.size(); ++i) {
    if (!is_needed(i) || !is_fold(nest.code[i])) continue;
    (nest.code[i].per_column ? column_folds_ : row_folds_).push_back(i);
  }
}

Module Lowering::run() {
  if (row_folds_.empty() && column_folds_.empty()) {
    if (const auto tiles = schedule_tiles(nest_, limits_))
      add_tiles(*tiles);
    else
      add_flat();
  } else {
    shape_ = schedule_rows(size_, limits_);
    if (!column_folds_.empty()) {
      if (!row_folds_.empty() && !shape_.holds_row()) save_row_folds();
      add_columns();
    } else if (is_worth_splitting()) {
      add_split();
    } else {
      add_rows();
    }
  }
  made_.scratch_bytes = scratch_;
  return std::move(made_);
}

size_t Lowering::new_scratch(DType dtype, int64_t count) {
  const size_t at = scratch_;
  scratch_ += base::round_up(static_cast<int64_t>(size_of(dtype)) * count, 256);
  return at;
}
Lowering::Scratch Lowering::bind_scratch(Writing& to, DType dtype, size_t offset, bool is_written) {
  constexpr size_t kNear = size_t{2} << 30;  // what lies further on may be too far for an index of 32 bits
  if (offset > kNear) {
    to.bindings.push_back({nest_.inputs + nest_.outputs, offset});
    return {to.b.add_buffer(in_memory(dtype), is_written), 0};
  }
  const auto [found, is_new] = to.scratch.try_emplace({in_memory(dtype), is_written});
  if (is_new) {
    to.bindings.push_back({nest_.inputs + nest_.outputs, 0});
    found->second = to.b.add_buffer(in_memory(dtype), is_written);
  }
  return {found->second, static_cast<int64_t>(offset / size_of(dtype))};
}
Id Lowering::load_scratch(Writing& to, const Scratch& from, Id at) {
  return to.b.load(from.buffer, to.b.add(at, to.w.index_of(from.first)));
}
void Lowering::store_scratch(Writing& to, const Scratch& target, Id at, Id value, Id mask) {
  to.b.store(target.buffer, to.b.add(at, to.w.index_of(target.first)), value, mask);
}
void Lowering::load_saved(Writing& to, Id row) {
  for (const auto& [fold, offset] : saved_) {
    const Id loaded = load_scratch(to, bind_scratch(to, wide(fold), offset, false), row);
    to.known[fold] = {rounded(to.b, nest_.code[fold].dtype, from_memory(to.b, wide(fold), loaded))};
  }
}

void Lowering::finish(Writing& writing, std::array<int64_t, 3> blocks, bool writes_results) {
  if (blocks[0] <= 0 || blocks[1] <= 0 || blocks[2] <= 0) return;
  made_.dispatches.push_back(
      {writing.b.finish(),
       {static_cast<uint64_t>(blocks[0]), static_cast<uint64_t>(blocks[1]), static_cast<uint64_t>(blocks[2])},
       std::move(writing.bindings),
       writes_results});
}

Writing Lowering::start(std::string_view kind, uint32_t threads) {
  return Writing(fmt::format("{}_{}", kind, made_.dispatches.size()), threads, nest_);
}

// Kernels of columns have entered no row yet; to a constant any will do.
void Lowering::write_constants(Writing& to) {
  Place first = to.place;
  if (first.row.empty()) first.row.assign(nest_.row_rank, to.w.index_of(0));
  for (const uint32_t i : stages_.constants) to.known[i] = to.w.values(i, first, to.operands());
}

void Lowering::write_per_row(Writing& to, const std::vector<uint32_t>& code, Id is_first) {
  for (const uint32_t i : code) {
    if (nest_.code[i].kind == Instr::Kind::store)
      to.w.store(i, to.place, to.operands(), std::array{is_first});
    else
      to.known[i] = to.w.values(i, to.place, to.operands());
  }
}

void Lowering::write_rows_without_stores(Writing& to, const std::vector<uint32_t>& code) {
  for (const uint32_t i : code) {
    if (!is_store(nest_.code[i]) && !is_saved(i)) to.known[i] = to.w.values(i, to.place, to.operands());
  }
}

Module lower(const ir::LoopNest& nest, const ir::Limits& limits) { return Lowering(nest, limits).run(); }

}  // namespace tenon::codegen
