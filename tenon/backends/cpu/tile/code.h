// A tile program as plain data: what build.h makes of a loop nest and worker.h runs.

#pragma once

#include <array>
#include <vector>

#include "tenon/backends/cpu/tile/chain.h"
#include "tenon/backends/cpu/tile/tile.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::backends::cpu {

inline constexpr uint32_t kNoRegister = ~0u;

/// How the elements that an instruction reads or writes lie in its buffer: strides over the space, or the map itself
/// when strides do not tell.
struct TileAccess {
  bool strided = false;
  bool dense = false;  // the whole space, or all rows when per_row, without gaps and in its own order
  // Of a gather, which is never dense: whether it leads to the same place from all rows, and from all elements too.
  bool same_in_all_rows = false, one_place = false;
  ir::View view;
  ir::IndexMap map;
};

/// One instruction of the nest, with the code that does it and the registers it works on.
struct TileInstr {
  ir::Instr::Kind kind = ir::Instr::Kind::apply;
  ir::Op op = ir::Op::add;
  DType dtype = DType::f32;
  bool per_row = false, per_column = false;
  bool loads_in_place = false;                // a tile of it looks the same in memory
  bool keeps_padding = false;                 // a load of rows that are padding or not, whose register is its own
  bool stores_in_place = false;               // a tile of it looks the same in memory
  uint32_t out = kNoRegister;                 // register; scalar when per_row; number of the fold for reductions
  uint32_t scalar = 0;                        // its number in the nest, and where a row reduction leaves its result
  base::SmallVector<uint32_t, 3> args;        // registers, or scalars when per_row
  uint8_t numbers = 0;                        // bit i: args[i] is a scalar though the others are registers
  RowsFn apply_numbers = nullptr;             // takes the place of apply then
  bool number_varies = false;                 // from row to row
  uint32_t stored_by = kNoRegister;           // which of tile_code stores this result, if it can be made in place
  bool chains = false;                        // can be done by links of a chain
  std::array<LinkFn, kLinkForms> links = {};  // of an apply: one for each form
  bool kept = true;                           // something but the next link reads the result
  bool streams = false;                       // a store past the caches
  TileFn apply = nullptr;
  FoldFn fold = nullptr;  // of a row reduction, where a tile has whole rows
  LoadFn load = nullptr;
  StoreFn store = nullptr;
  PickFn pick = nullptr;     // of a gather, where every element has an index of its own
  DType index = DType::i64;  // of a gather
  int64_t stride = 0;        // of a gather: elements by which an index of 1 moves
  uint32_t axis = 0;         // of a gather: for its message
  ir::LookUp use = ir::LookUp::of_op;
  uint32_t buffer = 0;
  uint32_t access = kNoRegister;  // which of TileCode::accesses
  uint64_t bits = 0;              // of a gather: how many there are to pick from; of random numbers: see ir::Instr
};

/// A row value spread over a register.
struct Splat {
  uint32_t scalar, reg;
  size_t element;  // bytes
  LoadFn fill;     // with a stride of 0
};

/// What is done with a row before the next reductions are known.
struct TileStage {
  std::vector<TileInstr> row_code;   // once per row, before the tiles
  std::vector<Splat> splats;         // then
  std::vector<TileInstr> tile_code;  // once per tile
  std::vector<TileInstr> folds;      // row reductions of tile_code: finished per row
  bool chained = false;              // a chain saves some instruction a pass of its own
  bool chained_by_rows = false;      // a chain must know where rows end
};

/// A reduction over all rows, and where its result goes.
struct Column {
  ir::Op op;
  DType dtype;
  TileFn fold = nullptr;
  uint32_t buffer = 0;
};

struct TileCode {
  std::vector<TileInstr> once;  // what is the same for all rows
  std::vector<Splat> once_splats;
  std::vector<TileInstr> once_tiles;  // elements that are the same for all rows, where a tile has whole rows
  std::vector<uint32_t> padded;       // registers of loads that keep padding
  std::vector<TileStage> stages;
  std::vector<TileAccess> accesses;
  std::vector<Column> columns;
  uint32_t registers = 0, scalars = 0, folds = 0;
  Dims space;
  size_t row_rank = 0;
  int64_t rows = 0, row_size = 0;
  int64_t tile = 0;  // elements of a tile
  bool whole_rows = false;
  int64_t rows_per_tile = 1;  // above 1 where rows are short
  size_t register_bytes = 0;  // from one register to the next
  size_t chain_width = cpu::chain_width();
  struct {
    LinkFn load = link_load(), store = link_store(), stream = link_stream(), sum = link_sum();
    LinkFn column_sum = link_column_sum(), end = link_end();
  } links;
  bool streams = false;  // some result is too large for the caches
};

}  // namespace tenon::backends::cpu
