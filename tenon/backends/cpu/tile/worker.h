// One thread's share of a tile program: interprets the instructions of code.h on registers of its own.
//
// A row value has an element for every row of the tile, so that it is computed for all of them at once like any other
// tile. Where an element instruction does not take it as it is, it is spread over a register.

#pragma once

#include <span>

#include "tenon/backends/cpu/arguments.h"
#include "tenon/backends/cpu/bad_index.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/code.h"

namespace tenon::backends::cpu {

class TileWorker {
 public:
  TileWorker(const TileCode& code, const Arguments& args, FirstBadIndex& bad);
  ~TileWorker();
  TileWorker(const TileWorker&) = delete;
  TileWorker& operator=(const TileWorker&) = delete;

  /// Column c folds elements begin ... end - 1 of the rows to come into memory at partials + c * stride.
  void start_columns(std::byte* partials, size_t stride, int64_t begin, int64_t end);
  /// Rows begin ... end - 1.
  void run_rows(int64_t begin, int64_t end);
  /// Elements begin ... end - 1 of a row, where tiles are parts of rows.
  void run_part(int64_t row, int64_t begin, int64_t end);

 private:
  std::byte* own(uint32_t r) { return registers_ + r * code_.register_bytes; }
  std::byte* scalar(uint32_t s) { return scalars_ + s * scalar_bytes_; }
  ReduceState* states_of(const TileInstr& instr) { return states_ + instr.out * code_.rows_per_tile; }

  void go_to(int64_t row);
  void next_row();
  void run_whole_rows();
  void repeat(const TileInstr& instr);
  void spread(const Splat& splat, size_t rows, size_t n);
  void run_row_instr(const TileInstr& instr, size_t rows);

  void run_tile(const TileStage& stage, int64_t at, size_t n);
  void run_tile_instr(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n);
  void apply(const TileInstr& instr, std::byte* out, size_t n);
  void fold_columns(const TileInstr& instr, int64_t at, size_t n);
  std::byte* column_sums(const TileInstr& instr, int64_t at);
  std::byte* direct_result(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n);

  bool runs_as_chains(const TileStage& stage, size_t n) const;
  void run_chained(const TileStage& stage, int64_t at, size_t n);
  void finish_chain(const TileStage& stage, size_t n);
  void go_on_with(uint32_t reg);
  void add_links(const TileStage& stage, const TileInstr& instr, int64_t at, size_t n);
  void add_apply(const TileInstr& instr);

  std::byte* address_of(const TileInstr& instr, int64_t at, size_t n);
  void transfer(const TileInstr& instr, std::byte* tile, int64_t at, size_t n);
  void load_padded_rows(const TileInstr& instr, std::byte* tile);
  void transfer_row_values(const TileInstr& instr, std::byte* values, size_t rows);
  void transfer_row(const TileInstr& instr, std::byte* tile, int64_t at, size_t n);
  void run_along(const TileInstr& instr, const TileAccess& access, std::byte* tile, int64_t offset, int64_t column,
                 size_t n, bool valid);
  void piece(const TileInstr& instr, std::byte* tile, int64_t position, int64_t stride, size_t n);
  void random(const TileInstr& instr, std::byte* tile, int64_t position, int64_t stride, size_t n);
  void run_by_run(const TileInstr& instr, const TileAccess& access, std::byte* tile, int64_t at, size_t n);
  static bool moves_evenly(const TileInstr& instr, const TileAccess& access);
  template <typename F>
  void along_last_row_axis(size_t rows, F&& f);
  void block(const TileInstr& instr, std::byte* tile, int64_t position, int64_t row_stride, size_t rows,
             size_t columns);
  void load_columns(const TileInstr& instr, std::byte* tile, const std::byte* from, int64_t row_stride, size_t rows,
                    size_t columns);
  std::byte* row_of_table(const TileInstr& instr, int64_t at, size_t n);
  void look_up_rows(const TileInstr& instr, std::byte* tile);
  void look_up(const TileInstr& instr, std::byte* tile, int64_t position, int64_t step, size_t n);
  int64_t index_of(const TileInstr& instr, const std::byte* indices, size_t i) const;
  bool is_inside(const TileInstr& instr, int64_t index) const { return static_cast<uint64_t>(index) < instr.bits; }
  void tell_bad(const TileInstr& instr, size_t element, int64_t index);
  int64_t row_offset(const ir::View& view) const;
  int64_t element_offset(const ir::View& view, int64_t at) const;
  bool row_valid(const ir::View& view) const;

  const TileCode& code_;
  const std::span<std::byte* const> buffers_;
  const std::span<const uint64_t> numbers_;
  FirstBadIndex& bad_;
  const size_t scalar_bytes_;
  const Scratch memory_;
  ReduceState* states_ = nullptr;  // of every fold one for each row of a tile
  std::byte *registers_ = nullptr, *scalars_ = nullptr;
  base::SmallVector<std::byte*, 48> at_;      // where the value of a register lies: in it, or in a buffer
  base::SmallVector<std::byte*, 4> columns_;  // partial results of the block at hand
  base::SmallVector<Link, 32> chain_;
  uint32_t in_vectors_ = kNoRegister;  // the register whose elements the chain has in vectors at its end
  Dims row_index_, index_;
  int64_t row_ = 0;      // the first of the tile
  int64_t tile_at_ = 0;  // its first element of the row
  size_t rows_ = 1;      // of the tile
};

}  // namespace tenon::backends::cpu
