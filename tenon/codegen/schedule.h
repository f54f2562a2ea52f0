// How the elements of a row are shared out among the threads of a block, and in which order they are therefore folded.
//
// All of it follows from the length of the row and the device alone, never from dtype, from what else the kernel does
// or from how many rows there are: so a sum has the same bits wherever it is computed.
//
// A row has `threads` threads, and a block `lanes` rows. Element j belongs to step j / (threads * vector), and within
// it to thread j / vector % threads. A thread folds its elements of `chunk` steps, each place of the vector by itself,
// then the places pairwise, and the chunks one after another; then the threads are folded. Columns are folded over the
// rows of a part: each lane takes every so manyeth row, then lanes are folded one after another, and then parts.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::codegen {

struct RowSchedule {
  uint32_t vector = 1;
  uint32_t threads = 1;   // of a row: a power of two up to a subgroup, then a multiple of it
  uint32_t lanes = 1;     // rows of a block
  uint32_t subgroup = 1;  // threads that are folded without a barrier
  uint32_t steps = 0;
  uint32_t chunk = 1;
  uint32_t chunks = 1;
  int64_t size = 0;  // of the row

  uint32_t block() const { return threads * lanes; }
  uint32_t width() const { return threads * vector; }  // elements of a step
  uint32_t full_steps() const { return static_cast<uint32_t>(size / width()); }
  /// Whether a thread can hold its elements of a row in registers from one stage to the next.
  bool holds_row() const { return steps * vector <= 16; }
  /// Words of a thread for loads that several stages read, where it cannot hold all values: with 1024 threads a block
  /// there are 64 registers.
  static constexpr uint32_t kHeldWords = 32;
  /// And of rows that are too long to be held, whose blocks have 512: with more words, a processor has room for one
  /// block only.
  static constexpr uint32_t kKeptWords = 16;
};
RowSchedule schedule_rows(int64_t row_size, const ir::Limits& limits);

/// How column folds share out the rows.
struct ColumnSchedule {
  int64_t part = 1;  // rows of a part
  int64_t parts = 0;
  uint32_t lanes = 1;  // of the second dispatch: each folds every so manyeth part of a column
};
ColumnSchedule schedule_columns(const ir::LoopNest& nest);

/// How a nest that folds nothing goes through shared memory, because loads of it have their neighbours along another
/// axis than its stores: squares of that axis and the last one, read along the first and written along the second.
struct TileSchedule {
  size_t axis = 0;              // along which `loads` have their neighbours
  uint32_t size = 0;            // of a side
  uint32_t threads = 0;         // of a block: a power of two
  std::vector<uint32_t> loads;  // instructions
  /// Elements of a row of a square in shared memory: one word more than there are, so that neighbours along the other
  /// axis lie in different banks.
  static uint32_t pitch(uint32_t size, size_t bytes) { return size + static_cast<uint32_t>(bytes < 4 ? 4 / bytes : 1); }
};
/// Whether an index may be read behind a store to its memory, by a thread that has nothing to do at that place.
bool may_overwrite_indices(const ir::LoopNest& nest);

/// Nothing where it would not pay, or shared memory is too small.
std::optional<TileSchedule> schedule_tiles(const ir::LoopNest& nest, const ir::Limits& limits);

/// Where a block of a kernel that folds nothing stays in one row, so that its threads compute what belongs to the row
/// once for several elements: how often a thread goes on to the next of its `groups` of neighbours. 0 where rows are
/// too short for that.
uint32_t row_turns(int64_t groups, uint32_t threads);

/// Threads of a block where there is nothing to fold.
uint32_t flat_threads(const ir::Limits& limits);

}  // namespace tenon::codegen
