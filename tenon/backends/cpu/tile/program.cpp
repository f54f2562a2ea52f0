// Runs tile programs along rows: rows, parts of rows or tiles of several rows are shared among threads.

#include "tenon/backends/cpu/tile/program.h"

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/build.h"
#include "tenon/backends/cpu/tile/worker.h"
#include "tenon/base/divide.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrain = 1 << 17;  // element instructions: about 30 µs, less is not worth a second thread
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kBlocksTogether = 64;  // of rows: their sums are added up by themselves, so that none grows long

using base::ceil_div;

class AlongProgram : public TileProgram {
 public:
  explicit AlongProgram(const ir::LoopNest& nest)
      : code_(build_tiles(nest)),
        rows_(code_.rows),
        row_size_(code_.row_size),
        cost_per_element_(static_cast<int64_t>(nest.code.size()) + 1) {}

  void run(const Arguments& args) const override {
    FirstBadIndex bad;
    run(args, bad);
    bad.require_none();
  }

 private:
  void run(const Arguments& args, FirstBadIndex& bad) const {
    if (!code_.columns.empty()) return run_with_columns(args, bad);
    if (rows_ == 0) return;
    if (code_.whole_rows || code_.folds > 0) {
      const int64_t together = code_.rows_per_tile;
      base::parallel_for(ceil_div(rows_, together), grain_of(together * row_size_), [&](int64_t begin, int64_t end) {
        TileWorker(code_, args, bad).run_rows(begin * together, std::min(rows_, end * together));
      });
      return;
    }
    const int64_t tiles = std::max<int64_t>(1, ceil_div(row_size_, code_.tile));
    base::parallel_for(rows_ * tiles, grain_of(std::min(row_size_, code_.tile)), [&](int64_t begin, int64_t end) {
      TileWorker worker(code_, args, bad);
      while (begin < end) {
        const int64_t row = begin / tiles, first = begin % tiles, count = std::min(end - begin, tiles - first);
        worker.run_part(row, first * code_.tile, std::min(row_size_, (first + count) * code_.tile));
        begin += count;
      }
    });
  }

  int64_t grain_of(int64_t elements) const {
    return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements * cost_per_element_));
  }

  // Blocks of rows fold into rows of partial results, which are folded at the end. Without row reductions a block is
  // shared out along its rows too.
  void run_with_columns(const Arguments& args, FirstBadIndex& bad) const {
    const int64_t block = ir::column_block(rows_), blocks = ceil_div(rows_, block);
    const int64_t tiles = ceil_div(row_size_, code_.tile);
    int64_t strips = 1;
    const bool small = rows_ * row_size_ * cost_per_element_ < 2 * kGrain;
    if (code_.folds == 0 && !small)
      strips = std::clamp<int64_t>(ceil_div(kTasksPerThread * base::num_threads(), blocks), 1, tiles);
    const Scratch partials(code_.columns.size() * static_cast<size_t>(blocks) * partial_bytes());
    const auto fold_block = [&](int64_t task) {
      const int64_t at = task / strips, strip = task % strips;
      const int64_t begin = tiles * strip / strips * code_.tile;
      const int64_t end = std::min(row_size_, tiles * (strip + 1) / strips * code_.tile);
      TileWorker worker(code_, args, bad);
      worker.start_columns(partials.data() + static_cast<size_t>(at) * partial_bytes(),
                           static_cast<size_t>(blocks) * partial_bytes(), begin, end);
      const int64_t last = std::min(rows_, (at + 1) * block);
      if (code_.whole_rows) return worker.run_rows(at * block, last);
      for (int64_t row = at * block; row < last; ++row) worker.run_part(row, begin, end);
    };
    if (small)
      for (int64_t i = 0; i < blocks * strips; ++i) fold_block(i);
    else
      base::parallel_tasks(blocks * strips, fold_block);
    for (size_t column = 0; column < code_.columns.size(); ++column) {
      const std::byte* first = partials.data() + column * static_cast<size_t>(blocks) * partial_bytes();
      base::parallel_for(row_size_, kGrain / (blocks + 1), [&](int64_t begin, int64_t end) {
        finish_column(code_.columns[column], first, blocks, begin, end, args.buffers);
      });
    }
  }

  size_t partial_bytes() const { return (static_cast<size_t>(row_size_) * 8 + 63) / 64 * 64; }

  void finish_column(const Column& column, const std::byte* partials, int64_t blocks, int64_t begin, int64_t end,
                     std::span<std::byte* const> buffers) const {
    const DType wide = accumulator(column.dtype);
    const size_t element = tile_element_size(wide);
    alignas(64) std::byte sum[kTileBytes], rounded[kTileBytes];
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(kTile)) {
      const auto n = static_cast<size_t>(std::min<int64_t>(end - at, kTile));
      const std::byte* from = partials + static_cast<size_t>(at) * element;
      for (int64_t first = 0; first < blocks; first += kBlocksTogether) {
        std::byte* together = first == 0 ? sum : rounded;
        const auto partial = [&](int64_t b) { return from + static_cast<size_t>(b) * partial_bytes(); };
        std::memcpy(together, partial(first), n * element);
        for (int64_t b = first + 1; b < std::min(blocks, first + kBlocksTogether); ++b) {
          const void* args[2] = {together, partial(b)};
          column.fold(together, args, n);
        }
        const void* args[2] = {sum, together};
        if (first > 0) column.fold(sum, args, n);
      }
      const void* made = sum;
      if (wide != column.dtype) {
        tile_cast(wide, column.dtype)(rounded, &made, n);
        made = rounded;
      }
      tile_store(column.dtype)(buffers[column.buffer] + static_cast<size_t>(at) * size_of(column.dtype), 1, made, n);
    }
  }

  const TileCode code_;
  const int64_t rows_, row_size_, cost_per_element_;
};

}  // namespace

std::unique_ptr<TileProgram> compile_tiles(const ir::LoopNest& nest) {
  if (better_across(nest)) return compile_across(nest);
  return std::make_unique<AlongProgram>(nest);
}

}  // namespace tenon::backends::cpu
