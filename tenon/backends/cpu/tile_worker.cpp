// The steps of a tile: rows, instructions and chains. Where their operands lie is tile_worker_memory.cpp's concern.

#include "tenon/backends/cpu/tile_worker.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::backends::cpu {
namespace {

using ir::Instr;

size_t bytes_of(const TileCode& code, size_t scalar_bytes) {
  return code.registers * code.register_bytes + code.scalars * scalar_bytes +
         code.folds * static_cast<size_t>(code.rows_per_tile) * sizeof(ReduceState) + 64;
}

}  // namespace

TileWorker::TileWorker(const TileCode& code, std::span<std::byte* const> buffers)
    : code_(code),
      buffers_(buffers),
      scalar_bytes_(static_cast<size_t>(code.rows_per_tile) * 8),
      memory_(bytes_of(code, scalar_bytes_)),
      row_index_(code.row_rank) {
  states_ = memory_.as<ReduceState>();
  registers_ = reinterpret_cast<std::byte*>(states_ + code.folds * static_cast<size_t>(code.rows_per_tile));
  scalars_ = registers_ + code.registers * code.register_bytes;
  for (uint32_t r = 0; r < code.registers; ++r) at_.push_back(own(r));
  const auto rows = static_cast<size_t>(code.rows_per_tile);
  for (const Step& step : code.once) {
    run_row_step(step, 1);
    tile_load(accumulator(step.dtype))(scalar(step.out), scalar(step.out), 0, rows);
  }
  const int64_t width = code.whole_rows ? code.tile : std::min(code.tile, code.row_size);
  for (const Splat& splat : code.once_splats) spread(splat, 1, static_cast<size_t>(width));
  for (const Step& step : code.once_tiles) repeat(step);
  for (const uint32_t reg : code.padded) std::memset(own(reg), 0, code.register_bytes);
}

TileWorker::~TileWorker() {
  if (code_.streams) tile_fence();
}

void TileWorker::start_columns(std::byte* partials, size_t stride, int64_t begin, int64_t end) {
  for (size_t c = 0; c < code_.columns.size(); ++c) {
    const Column& column = code_.columns[c];
    const size_t element = tile_element_size(accumulator(column.dtype));
    columns_.push_back(partials + c * stride);
    ReduceState state;
    reduce_start(state, column.op, column.dtype);
    tile_load(accumulator(column.dtype))(columns_[c] + static_cast<size_t>(begin) * element, state.lanes, 0,
                                         static_cast<size_t>(end - begin));
  }
}

void TileWorker::go_to(int64_t row) {
  for (size_t axis = code_.row_rank; axis-- > 0;) {
    row_index_[axis] = row % code_.space[axis];
    row /= code_.space[axis];
  }
}

void TileWorker::next_row() {
  int64_t* index = row_index_.data();
  const int64_t* space = code_.space.data();
  for (size_t axis = code_.row_rank; axis-- > 0;) {
    if (++index[axis] < space[axis]) return;
    index[axis] = 0;
  }
}

void TileWorker::run_rows(int64_t begin, int64_t end) {
  for (row_ = begin; row_ < end; row_ += code_.rows_per_tile) {
    if (!code_.whole_rows) {
      run_part(row_, 0, code_.row_size);
      continue;
    }
    rows_ = static_cast<size_t>(std::min(end - row_, code_.rows_per_tile));
    run_whole_rows();
  }
}

void TileWorker::run_whole_rows() {
  go_to(row_);
  const auto row_size = static_cast<size_t>(code_.row_size);
  for (const Stage& stage : code_.stages) {
    for (const Step& step : stage.row_steps) run_row_step(step, rows_);
    for (const Splat& splat : stage.splats) spread(splat, rows_, row_size);
    run_tile(stage, 0, rows_ * row_size);
  }
}

void TileWorker::run_part(int64_t row, int64_t begin, int64_t end) {
  go_to(row);
  for (const Stage& stage : code_.stages) {
    for (const Step& step : stage.row_steps) run_row_step(step, 1);
    const auto width = static_cast<size_t>(std::min<int64_t>(end - begin, code_.tile));
    for (const Splat& splat : stage.splats) spread(splat, 1, width);
    for (const Step& step : stage.folds) reduce_start(states_[step.out], step.op, step.dtype);
    for (int64_t at = begin; at < end; at += code_.tile)
      run_tile(stage, at, static_cast<size_t>(std::min<int64_t>(end - at, code_.tile)));
    for (const Step& step : stage.folds) reduce_finish(states_ + step.out, step.op, step.dtype, scalar(step.scalar));
  }
}

// One row of elements, as often as a tile has rows.
void TileWorker::repeat(const Step& step) {
  std::byte* tile = own(step.out);
  const auto n = static_cast<size_t>(code_.row_size);
  go_to(0);
  if (step.kind == Instr::Kind::apply)
    apply(step, tile, n);
  else
    access_row(step, tile, 0, n);
  const size_t row = n * tile_element_size(step.dtype);
  for (int64_t i = 1; i < code_.rows_per_tile; ++i) std::memcpy(tile + static_cast<size_t>(i) * row, tile, row);
}

void TileWorker::spread(const Splat& splat, size_t rows, size_t n) {
  std::byte* to = at_[splat.reg] = own(splat.reg);
  for (size_t row = 0; row < rows; ++row)
    splat.fill(to + row * n * splat.element, scalar(splat.scalar) + row * splat.element, 0, n);
}

void TileWorker::run_row_step(const Step& step, size_t rows) {
  switch (step.kind) {
    case Instr::Kind::number: {
      const bool real = is_float(step.dtype);
      tile_fill(scalar(step.out), step.dtype, real ? std::bit_cast<double>(step.bits) : 0,
                static_cast<int64_t>(step.bits), rows);
      break;
    }
    case Instr::Kind::apply: {
      const void* args[3] = {};
      for (size_t i = 0; i < step.args.size(); ++i) args[i] = scalar(step.args[i]);
      step.apply(scalar(step.out), args, rows);
      break;
    }
    case Instr::Kind::store: access_row_values(step, scalar(step.args[0]), rows); break;
    default: access_row_values(step, scalar(step.out), rows); break;
  }
}

void TileWorker::run_tile(const Stage& stage, int64_t at, size_t n) {
  if (runs_as_chains(stage, n)) return run_chained(stage, at, n);
  for (const Step& step : stage.tile_steps) run_tile_step(stage, step, at, n);
}

void TileWorker::run_tile_step(const Stage& stage, const Step& step, int64_t at, size_t n) {
  switch (step.kind) {
    case Instr::Kind::apply: {
      std::byte* direct = direct_result(stage, step, at, n);
      std::byte* out = direct ? direct : own(step.out);
      apply(step, out, n);
      at_[step.out] = out;
      break;
    }
    case Instr::Kind::reduce:
      if (step.per_column)
        fold_columns(step, at, n);
      else if (code_.whole_rows)
        step.fold(scalar(step.scalar), at_[step.args[0]], rows_, static_cast<size_t>(code_.row_size));
      else
        reduce_tile(states_[step.out], step.op, step.dtype, at_[step.args[0]], n);
      break;
    case Instr::Kind::store:
      if (step.stores_in_place && at_[step.args[0]] == address_of(step, at, n)) break;  // made there
      access(step, at_[step.args[0]], at, n);
      break;
    case Instr::Kind::load:
      if (std::byte* memory = step.loads_in_place ? address_of(step, at, n) : nullptr) {
        at_[step.out] = memory;
        break;
      }
      [[fallthrough]];
    default: access(step, at_[step.out] = own(step.out), at, n); break;
  }
}

void TileWorker::apply(const Step& step, std::byte* out, size_t n) {
  const void* args[3] = {};
  for (size_t i = 0; i < step.args.size(); ++i)
    args[i] = step.numbers >> i & 1 ? scalar(step.args[i]) : at_[step.args[i]];
  if (step.number_varies)
    step.apply_numbers(out, args, rows_, n / rows_);
  else if (step.apply_numbers)
    step.apply_numbers(out, args, 1, n);
  else
    step.apply(out, args, n);
}

std::byte* TileWorker::direct_result(const Stage& stage, const Step& step, int64_t at, size_t n) {
  return step.stored_by == kNoRegister ? nullptr : address_of(stage.tile_steps[step.stored_by], at, n);
}

std::byte* TileWorker::column_sums(const Step& step, int64_t at) {
  return columns_[step.out] + static_cast<size_t>(at) * tile_element_size(accumulator(step.dtype));
}

void TileWorker::fold_columns(const Step& step, int64_t at, size_t n) {
  std::byte* sums = column_sums(step, at);
  const size_t row = n / rows_;
  for (size_t i = 0; i < rows_; ++i) {
    const void* args[2] = {sums, at_[step.args[0]] + i * row * tile_element_size(step.dtype)};
    code_.columns[step.out].fold(sums, args, row);
  }
}

bool TileWorker::runs_as_chains(const Stage& stage, size_t n) const {
  return stage.chained && (stage.chained_by_rows ? n / rows_ : n) % code_.chain_width == 0;
}

// Steps without links run in between. Links hold addresses, because a later step may use a register anew.
void TileWorker::run_chained(const Stage& stage, int64_t at, size_t n) {
  const auto is_chained_sum = [&](const Step& step) { return code_.whole_rows && step.chains; };
  for (const Step& step : stage.folds) {
    if (is_chained_sum(step)) std::memset(states_of(step), 0, rows_ * sizeof(ReduceState));
  }
  for (const Step& step : stage.tile_steps) {
    if (step.chains) {
      add_links(stage, step, at, n);
    } else {
      finish_chain(stage, n);
      run_tile_step(stage, step, at, n);
    }
  }
  finish_chain(stage, n);
  for (const Step& step : stage.folds) {
    if (is_chained_sum(step)) reduce_finish(states_of(step), step.op, step.dtype, scalar(step.scalar), rows_);
  }
}

void TileWorker::finish_chain(const Stage& stage, size_t n) {
  if (!chain_.empty()) {
    chain_.push_back({code_.links.end});
    const size_t rows = stage.chained_by_rows ? rows_ : 1;
    run_chain(chain_.data(), rows, n / rows);
    chain_.clear();
  }
  at_hand_ = kNoRegister;
}

// The chain goes on with the elements of this register.
void TileWorker::take_up(uint32_t reg) {
  if (at_hand_ == reg) return;
  chain_.push_back({code_.links.load, at_[reg]});
  at_hand_ = reg;
}

void TileWorker::add_links(const Stage& stage, const Step& step, int64_t at, size_t n) {
  switch (step.kind) {
    case Instr::Kind::load:
      at_[step.out] = address_of(step, at, n);
      if (at_hand_ == step.out) at_hand_ = kNoRegister;
      break;
    case Instr::Kind::reduce:
      take_up(step.args[0]);
      if (step.per_column)
        chain_.push_back({code_.links.column_sum, nullptr, column_sums(step, at)});
      else
        chain_.push_back({code_.links.sum, nullptr, states_of(step)->lanes});
      break;
    case Instr::Kind::store: {
      std::byte* to = address_of(step, at, n);
      if (at_[step.args[0]] == to) break;  // made there
      take_up(step.args[0]);
      const bool streams = step.streams && reinterpret_cast<uintptr_t>(to) % 64 == 0;
      chain_.push_back({streams ? code_.links.stream : code_.links.store, nullptr, to});
      break;
    }
    default: {
      add_apply(step);
      at_hand_ = step.out;
      at_[step.out] = nullptr;
      if (!step.kept) break;
      std::byte* direct = direct_result(stage, step, at, n);
      at_[step.out] = direct ? direct : own(step.out);
      chain_.push_back({code_.links.store, nullptr, at_[step.out]});
    }
  }
}

void TileWorker::add_apply(const Step& step) {
  if (step.op == ir::Op::where) return take_up(step.args[*scalar(step.args[0]) != std::byte{0} ? 1 : 2]);
  const auto add = [&](LinkForm form, const std::byte* in) {
    chain_.push_back({step.links[static_cast<size_t>(form)], in});
  };
  const auto is_number = [&](size_t i) { return (step.numbers >> i & 1) != 0; };
  const auto is_at_hand = [&](size_t i) { return !is_number(i) && step.args[i] == at_hand_; };
  if (step.args.size() == 1) {
    take_up(step.args[0]);
    return add(LinkForm::v, nullptr);
  }
  if (!is_at_hand(0) && !is_at_hand(1)) take_up(step.args[is_number(0) ? 1 : 0]);
  if (is_at_hand(0) && is_at_hand(1)) return add(LinkForm::v_v, nullptr);
  const size_t other = is_at_hand(0) ? 1 : 0;
  const std::byte* in = is_number(other) ? scalar(step.args[other]) : at_[step.args[other]];
  if (other == 1)
    add(is_number(1) ? LinkForm::v_number : LinkForm::v_elements, in);
  else
    add(is_number(0) ? LinkForm::number_v : LinkForm::elements_v, in);
}

}  // namespace tenon::backends::cpu
