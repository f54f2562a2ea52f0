// The numbers here are what kernels of this kind want: a few elements for each thread, 256 threads to a block.

#include "tenon/codegen/schedule.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>

#include "tenon/base/divide.h"

namespace tenon::codegen {
namespace {

constexpr uint32_t kBlock = 256;
constexpr int64_t kSteps = 4;          // for each thread of a row, until there are enough threads
constexpr uint32_t kChunk = 16;        // steps that are folded into one before they join the rest
constexpr uint32_t kMostChunks = 256;  // so that whoever folds them is not busy for long
// Beyond that chunks are more: Mesa's compiler for CPUs ends every loop after 65,535 rounds, and says nothing.
constexpr uint32_t kLongestChunk = 32768;
constexpr uint32_t kLongRow = 512;   // threads of a row: while one block folds, another reads
constexpr int64_t kWideRow = 16384;  // from here on a thread takes two vectors at a time
constexpr uint32_t kAlone = 64;      // threads of a row where every fold between threads costs barriers

constexpr int64_t kLeastPart = 32;  // rows: partial results are then a fraction of what they are made of
constexpr int64_t kLeastSide = 16;  // shorter ones are read from caches before they are gone
constexpr int64_t kFarBytes = 32;   // apart: what memory hands out at once is then of one element
constexpr uint32_t kTiles[] = {64, 32};

// The axis along which a load's neighbours lie in memory, where that is not the last one and reading along the last one
// takes much more than is needed.
std::optional<size_t> other_axis(const ir::LoopNest& nest, const ir::Instr& instr) {
  if (instr.kind != ir::Instr::Kind::load || instr.per_row || instr.per_column || instr.map.views().size() != 1)
    return std::nullopt;
  const ir::View& view = instr.map.views()[0];
  const int64_t last = std::abs(view.strides.back());
  if (last * static_cast<int64_t>(size_of(instr.dtype)) < kFarBytes) return std::nullopt;
  for (size_t i = 0; i + 1 < view.shape.size(); ++i) {
    if (std::abs(view.strides[i]) == 1 && nest.space[i] >= kLeastSide) return i;
  }
  return std::nullopt;
}

bool is_written_along_last(const ir::Instr& instr) {
  if (instr.per_row || instr.per_column || instr.map.views().size() != 1) return false;
  return std::abs(instr.map.views()[0].strides.back()) == 1;
}

size_t tile_bytes(uint32_t size, DType dtype) {
  const size_t bytes = size_of(dtype);
  return bytes * size * TileSchedule::pitch(size, bytes);
}

}  // namespace

RowSchedule schedule_rows(int64_t row_size, const ir::Limits& limits) {
  RowSchedule made;
  made.size = row_size;
  made.vector = std::max<uint32_t>(1, limits.vector);
  if (made.vector == 4 && row_size >= kWideRow && row_size % 8 == 0) made.vector = 8;
  made.subgroup = std::bit_floor(std::clamp<uint32_t>(limits.subgroup, 1, 32));
  const uint32_t group = made.subgroup > 1 ? made.subgroup : 16;
  const uint32_t most = std::min(limits.max_threads, made.subgroup > 1 ? kLongRow : kAlone);
  const int64_t places = base::ceil_div(row_size, int64_t{made.vector});
  if (places <= group)
    made.threads = static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, places))));
  else
    made.threads = static_cast<uint32_t>(std::min<int64_t>(base::round_up(base::ceil_div(places, kSteps), group),
                                                           std::max(most / group * group, group)));
  made.threads = std::min(made.threads, std::max(1u, limits.max_threads));
  made.lanes = std::max(1u, std::min(kBlock, limits.max_threads) / made.threads);
  made.steps = static_cast<uint32_t>(base::ceil_div(row_size, int64_t{made.width()}));
  made.chunk = std::max(kChunk, static_cast<uint32_t>(base::ceil_div(made.steps, kMostChunks)));
  made.chunk = std::min(made.chunk, kLongestChunk);
  made.chunks = std::max(1u, static_cast<uint32_t>(base::ceil_div(made.steps, made.chunk)));
  return made;
}

ColumnSchedule schedule_columns(const ir::LoopNest& nest) {
  ColumnSchedule made;
  made.part = std::max(kLeastPart, base::ceil_div(nest.rows(), int64_t{nest.column_blocks}));
  made.parts = base::ceil_div(nest.rows(), made.part);
  made.lanes = made.parts >= 64 ? 16 : 1;
  return made;
}

bool may_overwrite_indices(const ir::LoopNest& nest) {
  const bool overwrites = std::any_of(nest.in_place.begin(), nest.in_place.end(),
                                      [](uint32_t input) { return input != ir::LoopNest::kFresh; });
  return overwrites && std::any_of(nest.code.begin(), nest.code.end(), [](const ir::Instr& instr) {
           return instr.kind == ir::Instr::Kind::gather && !instr.per_row;
         });
}

std::optional<TileSchedule> schedule_tiles(const ir::LoopNest& nest, const ir::Limits& limits) {
  using Kind = ir::Instr::Kind;
  if (nest.space.size() < 2 || nest.row_rank >= nest.space.size() || nest.space.back() < kLeastSide)
    return std::nullopt;
  if (may_overwrite_indices(nest)) return std::nullopt;
  TileSchedule made;
  made.threads = std::bit_floor(flat_threads(limits));
  std::map<size_t, std::vector<uint32_t>> along;
  for (uint32_t i = 0; i < nest.code.size(); ++i) {
    const ir::Instr& instr = nest.code[i];
    if (instr.kind == Kind::reduce || (instr.kind == Kind::store && !is_written_along_last(instr))) return std::nullopt;
    const bool is_overwritten =
        std::find(nest.in_place.begin(), nest.in_place.end(), instr.buffer) != nest.in_place.end();
    if (const auto axis = other_axis(nest, instr); axis && !is_overwritten) along[*axis].push_back(i);
  }
  if (along.empty() || made.threads < kTiles[0]) return std::nullopt;
  // One axis for all, that of most loads; what lies along another is read where it is.
  const auto most = std::max_element(along.begin(), along.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  made.axis = most->first;
  const int64_t down = nest.space[made.axis], across = nest.space.back();
  const int64_t others = ir::count(nest.space) / std::max<int64_t>(1, down * across);
  for (const uint32_t size : kTiles) {
    const int64_t blocks = others * base::ceil_div(down, int64_t{size}) * base::ceil_div(across, int64_t{size});
    size_t bytes = 0;
    for (const uint32_t i : most->second) bytes += tile_bytes(size, nest.code[i].dtype);
    const bool is_last = size == *std::rbegin(kTiles);
    if (!is_last && (bytes > limits.shared_bytes || blocks < 4 * int64_t{limits.processors})) continue;
    made.size = size;
    break;
  }
  size_t bytes = 0;
  for (const uint32_t i : most->second) {
    bytes += tile_bytes(made.size, nest.code[i].dtype);
    if (bytes <= limits.shared_bytes) made.loads.push_back(i);
  }
  if (made.loads.empty()) return std::nullopt;
  return made;
}

uint32_t row_turns(int64_t groups, uint32_t threads) {
  uint32_t best = 0;
  int64_t least = 0;
  for (uint32_t turns = 3; turns <= 8; ++turns) {  // the one with the fewest places behind the end of the row
    const int64_t block = int64_t{threads} * turns;
    const int64_t places = base::ceil_div(groups, block) * block;
    if (groups < block || (best != 0 && places > least)) continue;
    best = turns;
    least = places;
  }
  return best;
}

uint32_t flat_threads(const ir::Limits& limits) { return std::clamp(limits.max_threads, 1u, kBlock); }

}  // namespace tenon::codegen
