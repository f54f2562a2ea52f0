// The numbers here are what kernels of this kind want: a few elements for each thread, 256 threads to a block.

#include "tenon/codegen/schedule.h"

#include <algorithm>
#include <bit>

#include "tenon/base/divide.h"

namespace tenon::codegen {
namespace {

constexpr uint32_t kBlock = 256;
constexpr int64_t kSteps = 4;          // for each thread of a row, until there are enough threads
constexpr uint32_t kChunk = 16;        // steps that are folded into one before they join the rest
constexpr uint32_t kMostChunks = 256;  // so that whoever folds them is not busy for long
constexpr uint32_t kAlone = 64;        // threads of a row where every fold between threads costs barriers

}  // namespace

RowSchedule schedule_rows(int64_t row_size, const ir::Limits& limits) {
  RowSchedule made;
  made.vector = std::max<uint32_t>(1, limits.vector);
  made.subgroup = std::bit_floor(std::clamp<uint32_t>(limits.subgroup, 1, 32));
  const uint32_t group = made.subgroup > 1 ? made.subgroup : 16;
  const uint32_t most = made.subgroup > 1 ? limits.max_threads : std::min(limits.max_threads, kAlone);
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
  made.chunks = std::max(1u, static_cast<uint32_t>(base::ceil_div(made.steps, made.chunk)));
  return made;
}

ColumnSchedule schedule_columns(const ir::LoopNest& nest) {
  ColumnSchedule made;
  made.part = ir::column_block(nest.rows(), nest.column_blocks);
  made.parts = base::ceil_div(nest.rows(), made.part);
  made.lanes = made.parts >= 64 ? 16 : 1;
  return made;
}

uint32_t flat_threads(const ir::Limits& limits) { return std::clamp(limits.max_threads, 1u, kBlock); }

}  // namespace tenon::codegen
