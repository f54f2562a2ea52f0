// What is done with a tile: rows, instructions and chains. worker_memory.cpp knows where their operands lie.

#include "tenon/backends/cpu/tile/worker.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::backends::cpu {
namespace {

using ir::Instr;

// One for each row of a tile, and behind them one for the blocks of a long row.
size_t state_count(const TileCode& code) { return code.folds * static_cast<size_t>(code.rows_per_tile + 1); }

size_t bytes_of(const TileCode& code, size_t scalar_bytes) {
  return code.registers * code.register_bytes + code.scalars * scalar_bytes + state_count(code) * sizeof(ReduceState) +
         64;
}

}  // namespace

TileWorker::TileWorker(const TileCode& code, const Arguments& args, FirstBadIndex& bad)
    : code_(code),
      buffers_(args.buffers),
      numbers_(args.numbers),
      bad_(bad),
      scalar_bytes_(static_cast<size_t>(code.rows_per_tile) * 8),
      memory_(bytes_of(code, scalar_bytes_)),
      row_index_(code.row_rank) {
  states_ = memory_.as<ReduceState>();
  registers_ = reinterpret_cast<std::byte*>(states_ + state_count(code));
  scalars_ = registers_ + code.registers * code.register_bytes;
  for (uint32_t r = 0; r < code.registers; ++r) at_.push_back(own(r));
  const auto rows = static_cast<size_t>(code.rows_per_tile);
  for (const TileInstr& instr : code.once) {
    run_row_instr(instr, 1);
    tile_load(accumulator(instr.dtype))(scalar(instr.out), scalar(instr.out), 0, rows);
  }
  const int64_t width = code.whole_rows ? code.tile : std::min(code.tile, code.row_size);
  for (const Splat& splat : code.once_splats) spread(splat, 1, static_cast<size_t>(width));
  for (const TileInstr& instr : code.once_tiles) repeat(instr);
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
  for (const TileStage& stage : code_.stages) {
    for (const TileInstr& instr : stage.row_code) run_row_instr(instr, rows_);
    for (const Splat& splat : stage.splats) spread(splat, rows_, row_size);
    run_tile(stage, 0, rows_ * row_size);
  }
}

void TileWorker::run_part(int64_t row, int64_t begin, int64_t end) {
  row_ = row;
  go_to(row);
  const bool in_blocks = folds_in_blocks(code_.row_size);  // tiles are blocks then
  ReduceState* blocks = states_ + code_.folds;
  for (const TileStage& stage : code_.stages) {
    for (const TileInstr& instr : stage.row_code) run_row_instr(instr, 1);
    const auto width = static_cast<size_t>(std::min<int64_t>(end - begin, code_.tile));
    for (const Splat& splat : stage.splats) spread(splat, 1, width);
    for (const TileInstr& instr : stage.folds) {
      reduce_start(states_[instr.out], instr.op, instr.dtype);
      reduce_start(blocks[instr.out], instr.op, instr.dtype);
    }
    for (int64_t at = begin; at < end; at += code_.tile) {
      run_tile(stage, at, static_cast<size_t>(std::min<int64_t>(end - at, code_.tile)));
      if (!in_blocks) continue;
      for (const TileInstr& instr : stage.folds)
        reduce_block(blocks[instr.out], states_[instr.out], instr.op, instr.dtype);
    }
    for (const TileInstr& instr : stage.folds)
      reduce_finish((in_blocks ? blocks : states_) + instr.out, instr.op, instr.dtype, scalar(instr.scalar));
  }
}

// One row of elements, as often as a tile has rows.
void TileWorker::repeat(const TileInstr& instr) {
  std::byte* tile = own(instr.out);
  const auto n = static_cast<size_t>(code_.row_size);
  go_to(0);
  if (instr.kind == Instr::Kind::apply)
    apply(instr, tile, n);
  else
    transfer_row(instr, tile, 0, n);
  const size_t row = n * tile_element_size(instr.dtype);
  for (int64_t i = 1; i < code_.rows_per_tile; ++i) std::memcpy(tile + static_cast<size_t>(i) * row, tile, row);
}

void TileWorker::spread(const Splat& splat, size_t rows, size_t n) {
  std::byte* to = at_[splat.reg] = own(splat.reg);
  for (size_t row = 0; row < rows; ++row)
    splat.fill(to + row * n * splat.element, scalar(splat.scalar) + row * splat.element, 0, n);
}

void TileWorker::run_row_instr(const TileInstr& instr, size_t rows) {
  switch (instr.kind) {
    case Instr::Kind::number: {
      const bool real = is_float(instr.dtype);
      tile_fill(scalar(instr.out), instr.dtype, real ? std::bit_cast<double>(instr.bits) : 0,
                static_cast<int64_t>(instr.bits), rows);
      break;
    }
    case Instr::Kind::apply: {
      const void* args[3] = {};
      for (size_t i = 0; i < instr.args.size(); ++i) args[i] = scalar(instr.args[i]);
      instr.apply(scalar(instr.out), args, rows);
      break;
    }
    case Instr::Kind::store: transfer_row_values(instr, scalar(instr.args[0]), rows); break;
    default: transfer_row_values(instr, scalar(instr.out), rows); break;
  }
}

void TileWorker::run_tile(const TileStage& stage, int64_t at, size_t n) {
  tile_at_ = at;
  if (runs_as_chains(stage, n)) return run_chained(stage, at, n);
  for (const TileInstr& instr : stage.tile_code) run_tile_instr(stage, instr, at, n);
}

void TileWorker::run_tile_instr(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n) {
  switch (instr.kind) {
    case Instr::Kind::apply: {
      std::byte* direct = direct_result(stage, instr, at, n);
      std::byte* out = direct ? direct : own(instr.out);
      apply(instr, out, n);
      at_[instr.out] = out;
      break;
    }
    case Instr::Kind::reduce:
      if (instr.per_column)
        fold_columns(instr, at, n);
      else if (code_.whole_rows)
        instr.fold(scalar(instr.scalar), at_[instr.args[0]], rows_, static_cast<size_t>(code_.row_size));
      else
        reduce_tile(states_[instr.out], instr.op, instr.dtype, at_[instr.args[0]], n);
      break;
    case Instr::Kind::store:
      if (instr.stores_in_place && at_[instr.args[0]] == address_of(instr, at, n)) break;  // made there
      transfer(instr, at_[instr.args[0]], at, n);
      break;
    case Instr::Kind::load:
      if (std::byte* memory = instr.loads_in_place ? address_of(instr, at, n) : nullptr) {
        at_[instr.out] = memory;
        break;
      }
      transfer(instr, at_[instr.out] = own(instr.out), at, n);
      break;
    case Instr::Kind::gather:
      if (std::byte* row = instr.loads_in_place ? row_of_table(instr, at, n) : nullptr) {
        at_[instr.out] = row;
        break;
      }
      [[fallthrough]];
    default: transfer(instr, at_[instr.out] = own(instr.out), at, n); break;
  }
}

void TileWorker::apply(const TileInstr& instr, std::byte* out, size_t n) {
  const void* args[3] = {};
  for (size_t i = 0; i < instr.args.size(); ++i)
    args[i] = instr.numbers >> i & 1 ? scalar(instr.args[i]) : at_[instr.args[i]];
  if (instr.number_varies)
    instr.apply_numbers(out, args, rows_, n / rows_);
  else if (instr.apply_numbers)
    instr.apply_numbers(out, args, 1, n);
  else
    instr.apply(out, args, n);
}

std::byte* TileWorker::direct_result(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n) {
  return instr.stored_by == kNoRegister ? nullptr : address_of(stage.tile_code[instr.stored_by], at, n);
}

std::byte* TileWorker::column_sums(const TileInstr& instr, int64_t at) {
  return columns_[instr.out] + static_cast<size_t>(at) * tile_element_size(accumulator(instr.dtype));
}

void TileWorker::fold_columns(const TileInstr& instr, int64_t at, size_t n) {
  std::byte* sums = column_sums(instr, at);
  const size_t row = n / rows_;
  for (size_t i = 0; i < rows_; ++i) {
    const void* args[2] = {sums, at_[instr.args[0]] + i * row * tile_element_size(instr.dtype)};
    code_.columns[instr.out].fold(sums, args, row);
  }
}

bool TileWorker::runs_as_chains(const TileStage& stage, size_t n) const {
  return stage.chained && (stage.chained_by_rows ? n / rows_ : n) % code_.chain_width == 0;
}

// Instructions without links run in between. Links hold addresses, because a later one may use a register anew.
void TileWorker::run_chained(const TileStage& stage, int64_t at, size_t n) {
  const auto is_chained_sum = [&](const TileInstr& instr) { return code_.whole_rows && instr.chains; };
  for (const TileInstr& instr : stage.folds) {
    if (is_chained_sum(instr)) std::memset(states_of(instr), 0, rows_ * sizeof(ReduceState));
  }
  for (const TileInstr& instr : stage.tile_code) {
    if (instr.chains) {
      add_links(stage, instr, at, n);
    } else {
      finish_chain(stage, n);
      run_tile_instr(stage, instr, at, n);
    }
  }
  finish_chain(stage, n);
  for (const TileInstr& instr : stage.folds) {
    if (is_chained_sum(instr)) reduce_finish(states_of(instr), instr.op, instr.dtype, scalar(instr.scalar), rows_);
  }
}

void TileWorker::finish_chain(const TileStage& stage, size_t n) {
  if (!chain_.empty()) {
    chain_.push_back({code_.links.end});
    const size_t rows = stage.chained_by_rows ? rows_ : 1;
    run_chain(chain_.data(), rows, n / rows);
    chain_.clear();
  }
  in_vectors_ = kNoRegister;
}

// The chain goes on with the elements of this register.
void TileWorker::go_on_with(uint32_t reg) {
  if (in_vectors_ == reg) return;
  chain_.push_back({code_.links.load, at_[reg]});
  in_vectors_ = reg;
}

void TileWorker::add_links(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n) {
  switch (instr.kind) {
    case Instr::Kind::load:
      at_[instr.out] = address_of(instr, at, n);
      if (in_vectors_ == instr.out) in_vectors_ = kNoRegister;
      break;
    case Instr::Kind::gather:
      at_[instr.out] = row_of_table(instr, at, n);
      if (!at_[instr.out]) transfer(instr, at_[instr.out] = own(instr.out), at, n);  // a bad index
      if (in_vectors_ == instr.out) in_vectors_ = kNoRegister;
      break;
    case Instr::Kind::reduce:
      go_on_with(instr.args[0]);
      if (instr.per_column)
        chain_.push_back({code_.links.column_sum, nullptr, column_sums(instr, at)});
      else
        chain_.push_back({code_.links.sum, nullptr, states_of(instr)->lanes});
      break;
    case Instr::Kind::store: {
      std::byte* to = address_of(instr, at, n);
      if (at_[instr.args[0]] == to) break;  // made there
      go_on_with(instr.args[0]);
      const bool streams = instr.streams && reinterpret_cast<uintptr_t>(to) % 64 == 0;
      chain_.push_back({streams ? code_.links.stream : code_.links.store, nullptr, to});
      break;
    }
    default: {
      add_apply(instr);
      in_vectors_ = instr.out;
      at_[instr.out] = nullptr;
      if (!instr.kept) break;
      std::byte* direct = direct_result(stage, instr, at, n);
      at_[instr.out] = direct ? direct : own(instr.out);
      chain_.push_back({code_.links.store, nullptr, at_[instr.out]});
    }
  }
}

void TileWorker::add_apply(const TileInstr& instr) {
  if (instr.op == ir::Op::where) return go_on_with(instr.args[*scalar(instr.args[0]) != std::byte{0} ? 1 : 2]);
  const auto add = [&](LinkForm form, const std::byte* in) {
    chain_.push_back({instr.links[static_cast<size_t>(form)], in});
  };
  const auto is_number = [&](size_t i) { return (instr.numbers >> i & 1) != 0; };
  const auto is_in_vectors = [&](size_t i) { return !is_number(i) && instr.args[i] == in_vectors_; };
  if (instr.args.size() == 1) {
    go_on_with(instr.args[0]);
    return add(LinkForm::v, nullptr);
  }
  if (!is_in_vectors(0) && !is_in_vectors(1)) go_on_with(instr.args[is_number(0) ? 1 : 0]);
  if (is_in_vectors(0) && is_in_vectors(1)) return add(LinkForm::v_v, nullptr);
  const size_t other = is_in_vectors(0) ? 1 : 0;
  const std::byte* in = is_number(other) ? scalar(instr.args[other]) : at_[instr.args[other]];
  if (other == 1)
    add(is_number(1) ? LinkForm::v_number : LinkForm::v_elements, in);
  else
    add(is_number(0) ? LinkForm::number_v : LinkForm::elements_v, in);
}

}  // namespace tenon::backends::cpu
