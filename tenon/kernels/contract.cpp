// Which kernel, which tile and how many parts.
//
// Where there are too few tiles for the device's processors, the inner dimension is cut into parts that are summed by
// themselves and added one after another by a second dispatch.

#include "tenon/kernels/contract.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/divide.h"
#include "tenon/base/error.h"
#include "tenon/codegen/numbers.h"
#include "tenon/kernels/contract_problem.h"
#include "tenon/kernels/contract_row.h"

namespace tenon::kernels {
namespace {

using base::ceil_div;
using codegen::Builder;
using codegen::Dispatch;
using codegen::Id;
using codegen::Located;
using codegen::Scalar;
using ir::Op;

bool uses_tiles(const ContractProblem& p, const ir::Limits& limits) {
  return p.a.dtype == p.b.dtype && p.sums == DType::f32 && limits.tile_dtypes.contains(p.a.dtype);
}

// ---- waves ----

// Large tiles as a device wants them whose shared memory is scarce: by subgroups that fill the registers of half a
// processor, so that two blocks are on it at once, or one of twice the size. A product takes whole waves of such
// blocks, each of which takes about as many cycles for a step along the inner dimension, and to begin and end, as was
// measured on an H200, be it full or half full.
struct WaveTile {
  ContractTile tile;
  int64_t at_once;  // blocks on a processor
  double step, start;
};
constexpr WaveTile kWaveTiles[] = {{{128, 128, 32, 64, 64, 128}, 2, 54, 5000},
                                   {{128, 96, 32, 64, 48, 128}, 2, 48, 5000},
                                   {{128, 256, 32, 64, 64, 256}, 1, 51.5, 9000}};

bool has_waves(const ContractProblem& p, const ir::Limits& limits) {
  return uses_tiles(p, limits) && limits.scarce_shared;
}
int64_t blocks_of(const ContractProblem& p, const ContractTile& tile, int64_t parts) {
  return p.batches() * ceil_div(p.rows, tile.block_m) * ceil_div(p.columns, tile.block_n) * parts;
}
double cycles_of(const ContractProblem& p, const WaveTile& wave, int64_t parts, const ir::Limits& limits) {
  const int64_t waves = ceil_div(blocks_of(p, wave.tile, parts), wave.at_once * limits.processors);
  return static_cast<double>(waves) * (static_cast<double>(part_length(p, parts)) * wave.step + wave.start);
}
const WaveTile& wave_tile_of(const ContractProblem& p, int64_t parts, const ir::Limits& limits) {
  return *std::ranges::min_element(kWaveTiles, {},
                                   [&](const WaveTile& wave) { return cycles_of(p, wave, parts, limits); });
}

// ---- parts ----

// What a product in parts costs, in cycles of a GPU's processor. One that is cut pays for the second dispatch and for
// memory in between; one that is not leaves processors idle. A block by itself waits for shared memory most of the
// time, so that two on a processor take hardly longer than one.
double cycles_in_parts(const ContractProblem& p, int64_t parts, bool has_tiles, const ir::Limits& limits) {
  constexpr double kStart = 1500, kSecondDispatch = 5000, kBytes = 1500;
  constexpr int64_t kDeep = 2048;  // shorter sums have other things to wait for than their products
  const double adding = parts == 1 ? 0 : kSecondDispatch + static_cast<double>(p.elements() * (parts + 1) * 4) / kBytes;
  if (has_waves(p, limits) && p.depth >= kDeep)
    return cycles_of(p, wave_tile_of(p, parts, limits), parts, limits) + adding;
  const int64_t unit = has_tiles ? 128 : 64;
  const double alone = has_tiles ? 8 : 88,
               among_others = has_tiles ? 8 : 34;  // for each step along the inner dimension
  const auto blocks = static_cast<double>(p.batches() * ceil_div(p.rows, unit) * ceil_div(p.columns, unit) * parts);
  const double each = has_tiles ? std::max(1.0, blocks / limits.processors) : std::ceil(blocks / limits.processors);
  const double step = std::max(alone, each * among_others);
  return static_cast<double>(part_length(p, parts)) * step + each * kStart + adding;
}

// Weights of a layer are few and pixels many: without parts most processors would have nothing to do, and with one
// block each they would wait for memory after every strip.
int64_t parts_of_pixels(const ContractProblem& p, const ir::Limits& limits) {
  constexpr int64_t kShortest = 512;
  const auto tiles = [](int64_t size) { return ceil_div(size, size > 64 ? 128 : 64); };
  const int64_t blocks = p.batches() * tiles(p.rows) * tiles(p.columns), processors = limits.processors;
  const int64_t wanted = blocks < processors ? ceil_div(5 * processors, 2 * blocks) : 1;
  const int64_t most = std::clamp<int64_t>(p.depth / kShortest, 1, kMostPartsOfPixels);
  return std::max(std::min(wanted, most), ceil_div(p.depth, kLongestPart));
}

int64_t parts_of(const ContractProblem& p, const ir::Limits& limits) {
  if (p.elements() == 0) return 1;
  if (p.sums_pixels) return parts_of_pixels(p, limits);
  const bool has_tiles = uses_tiles(p, limits);
  int64_t best = 1;
  const int64_t blocks = p.batches() * ceil_div(p.rows, 64) * ceil_div(p.columns, 64);
  const int64_t most = has_tiles || blocks < limits.processors ? kMostParts : 1;
  for (int64_t parts = 2; parts <= std::min(most, p.depth / kLeastPart); ++parts) {
    if (cycles_in_parts(p, parts, has_tiles, limits) < cycles_in_parts(p, best, has_tiles, limits)) best = parts;
  }
  return std::max(best, ceil_div(p.depth, kLongestPart));
}

// ---- tiles ----

constexpr ContractTile kLaneTiles[] = {
    {128, 128, 16, 8, 8, 256}, {128, 128, 8, 8, 8, 256}, {64, 192, 16, 8, 12, 128}, {128, 96, 16, 8, 6, 256},
    {128, 64, 16, 8, 8, 128},  {64, 128, 16, 8, 8, 128}, {128, 64, 16, 8, 4, 256},  {64, 96, 16, 8, 6, 128},
    {64, 64, 16, 8, 4, 128},   {64, 64, 32, 8, 4, 128},  {64, 64, 16, 4, 4, 256},   {64, 48, 16, 4, 6, 128},
    {64, 48, 32, 4, 6, 128},   {64, 32, 16, 8, 4, 64},   {64, 32, 16, 4, 4, 128},   {32, 64, 16, 4, 4, 128},
    {32, 32, 16, 4, 4, 64},    {16, 64, 16, 2, 4, 128},  {8, 128, 16, 1, 4, 256},   {16, 32, 16, 2, 4, 64},
};
// Without subgroups threads are loops over a vector unit, and registers are memory.
constexpr ContractTile kSmallTiles[] = {{32, 32, 16, 4, 4, 64}, {8, 32, 16, 1, 4, 64}};

// Each subgroup has rows and columns of `thread_m` and `thread_n`.
constexpr ContractTile kMatrixTiles[] = {
    {128, 128, 32, 64, 64, 128}, {128, 128, 32, 64, 32, 256}, {128, 64, 32, 32, 32, 256}, {128, 64, 32, 64, 32, 128},
    {64, 128, 32, 32, 32, 256},  {64, 128, 32, 32, 64, 128},  {64, 64, 32, 32, 32, 128},  {64, 64, 64, 32, 32, 128},
    {32, 128, 32, 32, 32, 128},  {32, 64, 32, 16, 32, 128},
};

// More of them to be timed on devices whose tiles come in waves.
constexpr ContractTile kMoreTiles[] = {
    {128, 96, 32, 64, 48, 128}, {128, 256, 32, 64, 64, 256}, {256, 128, 32, 64, 64, 256}};

// Registers of a thread, about, as ptxas gives them: its sums, what it multiplies, and what is on its way with its
// addresses.
double registers_of(const ContractProblem& p, const ContractTile& tile, bool has_tiles) {
  double registers = has_tiles ? 16 : 30;
  for (const bool is_left : {true, false}) {
    const ContractStrip strip = contract_strip(p, is_left);
    const double elements = (is_left ? tile.block_m : tile.block_n) * tile.strip_k / static_cast<double>(tile.threads);
    const double at_once = has_tiles ? (strip.reads_by(p, 8) ? 8 : 2) : strip.reads_by(p, 4) ? 4 : 1;
    const double of_an_address = has_tiles ? 2 : at_once == 1 ? 6 : 3;  // single elements have a mask each as well
    registers += elements / (has_tiles ? 2 : 1) + of_an_address * elements / at_once;
  }
  const double m = tile.thread_m, n = tile.thread_n;
  return registers + (has_tiles ? m * n / 32 + (m + n) / 4 : m * n + 2 * (m + n));
}

// Cycles of the processor with the most blocks. What a thread reads of shared memory goes with its rows and columns,
// what a block reads of memory with its own, and a strip takes no less than memory needs to answer. Blocks that are on
// a processor together fill each other's gaps.
double cycles_of(const ContractProblem& p, const ContractTile& tile, int64_t parts, bool has_tiles,
                 const ir::Limits& limits) {
  constexpr double kMemoryBytes = 26, kStart = 1500, kRegisters = 65536, kMostOfAThread = 190;
  const int64_t blocks = p.batches() * ceil_div(p.rows, tile.block_m) * ceil_div(p.columns, tile.block_n) * parts;
  const auto each = static_cast<double>(ceil_div(blocks, limits.processors));
  const double registers = registers_of(p, tile, has_tiles);
  const double at_once = std::clamp(std::floor(kRegisters / (registers * tile.threads)), 1.0, std::min(each, 8.0));
  const double bm = tile.block_m, bn = tile.block_n, tm = tile.thread_m, tn = tile.thread_n;
  const double reads = (tm + tn) / (tm * tn), products_a_cycle = has_tiles ? 2400 : 128;
  double multiplying = bm * bn / products_a_cycle * (1 + (has_tiles ? 12 : 1.2) * reads);
  const double subgroups = at_once * tile.threads / 32;
  if (subgroups < 8) multiplying *= 1 + 0.06 * (8 - subgroups);
  multiplying *=
      std::ceil(subgroups / 4) * 4 / subgroups;  // processors have four parts, each with subgroups of its own
  if (registers > kMostOfAThread) multiplying *= 2;
  const double fetching = (bm + bn) * static_cast<double>(size_of(p.a.dtype)) / kMemoryBytes;
  const double work = tile.strip_k * at_once * std::max(multiplying, fetching);
  const double answer = has_tiles ? 800 : 500;  // under the load of what multiplies so fast
  const double strip = std::max(work, answer) + 0.1 * work;
  const auto strips = static_cast<double>(ceil_div(part_length(p, parts), tile.strip_k));
  return std::ceil(each / at_once) * (strips * strip + kStart);
}

bool fits(const ContractProblem& p, const ContractTile& tile, const ir::Limits& limits) {
  const size_t bytes = uses_tiles(p, limits) ? tile_product_bytes(p, tile, limits) : lane_product_bytes(p, tile);
  return tile.threads <= limits.max_threads && bytes <= limits.shared_bytes;
}

std::vector<ContractTile> tiles_of(const ContractProblem& p, const ir::Limits& limits) {
  const bool has_tiles = uses_tiles(p, limits);
  const std::span<const ContractTile> all = has_tiles             ? std::span<const ContractTile>(kMatrixTiles)
                                            : limits.subgroup > 1 ? std::span<const ContractTile>(kLaneTiles)
                                                                  : std::span<const ContractTile>(kSmallTiles);
  std::vector<ContractTile> made;
  for (const ContractTile& tile : all) {
    if (fits(p, tile, limits)) made.push_back(tile);
  }
  if (made.empty()) made.push_back(all.back());
  return made;
}

ContractTile tile_of(const ContractProblem& p, const ir::Limits& limits) {
  const std::vector<ContractTile> tiles = tiles_of(p, limits);
  const int64_t parts = parts_of(p, limits);
  const bool has_tiles = uses_tiles(p, limits);
  // Products of few rows or columns, as layers of 64 channels are, would leave half of such a tile idle.
  if (has_waves(p, limits) && std::min(p.rows, p.columns) > 64) {
    const WaveTile& wave = wave_tile_of(p, parts, limits);
    const bool is_filled = 4 * blocks_of(p, wave.tile, parts) >= 3 * int64_t{limits.processors};
    if (is_filled && fits(p, wave.tile, limits)) return wave.tile;
  }
  return *std::min_element(tiles.begin(), tiles.end(), [&](const ContractTile& x, const ContractTile& y) {
    return cycles_of(p, x, parts, has_tiles, limits) < cycles_of(p, y, parts, has_tiles, limits);
  });
}

// ---- the second dispatch ----

// Adds up the parts of every element.
Dispatch add_parts(const ContractProblem& p, int64_t parts, const ir::Limits& limits) {
  const uint32_t threads = std::clamp(limits.max_threads, 1u, 256u);
  Builder b("product_parts", threads);
  const ContractBuffers buffers =
      add_contract_buffers(b, p, codegen::in_memory(p.a.dtype), codegen::in_memory(p.b.dtype));
  const uint32_t partial = b.add_buffer(codegen::in_memory(p.sums), false);
  const Scalar type = index_type(p);
  const Id at = b.add(b.mul(b.convert(b.block(), type), b.whole(type, threads)), b.convert(b.thread(), type));
  if (p.elements() % threads != 0) b.leave_if(b.is_not(b.less(at, b.whole(type, p.elements()))));
  const Id total = b.variable(codegen::from_memory(b, p.sums, b.load(partial, at)));
  b.loop(
      1, static_cast<uint64_t>(parts),
      [&](Id part) {
        const Id place = b.add(b.mul(b.convert(part, type), b.whole(type, p.elements())), at);
        const Id next = codegen::from_memory(b, p.sums, b.load(partial, place));
        b.set(total, codegen::join(b, Op::sum, p.sums, b.get(total), next));
      },
      limits.subgroup > 1);
  const Id column = b.mod(at, b.whole(type, p.columns));
  const auto store = [&](Id to) {
    b.store(buffers.out, to, finished_sum(b, p, buffers, b.whole(type, p.bias_offset), b.get(total), to, column));
  };
  if (p.windows && !p.has_natural_rows) {
    const Id line = b.div(at, b.whole(type, p.columns));
    const Id batch = b.div(line, b.whole(type, p.rows)), row = b.mod(line, b.whole(type, p.rows));
    const WindowSizes sizes(b, *p.windows, batch);
    const Located to = ResultRows(b, p, &sizes, b.whole(type, p.rows), b.whole(type, p.columns)).line(batch, row);
    const Id place = b.add(to.at, column);
    if (to.valid == codegen::kNoValue)
      store(place);
    else
      b.branch(to.valid, [&] { store(place); });
  } else {
    store(at);
  }
  Dispatch made{b.finish(), {static_cast<uint64_t>(ceil_div(p.elements(), threads)), 1, 1}, contract_bindings(p), true};
  made.sizes = b.sizes();
  return made;
}

std::vector<ContractTile> tiles_to_try(const ContractProblem& p, const ir::Limits& limits) {
  std::vector<ContractTile> made = tiles_of(p, limits);
  if (!has_waves(p, limits)) return made;
  for (const ContractTile& tile : kMoreTiles) {
    if (fits(p, tile, limits)) made.push_back(tile);
  }
  return made;
}

}  // namespace

std::vector<ContractTile> contract_tiles(const ir::Call& call, const ir::Limits& limits) {
  return tiles_to_try(contract_problem(call), limits);
}
ContractTile contract_tile(const ir::Call& call, const ir::Limits& limits) {
  return tile_of(contract_problem(call), limits);
}
int64_t contract_parts(const ir::Call& call, const ir::Limits& limits) {
  return parts_of(contract_problem(call), limits);
}
bool contract_uses_tiles(const ir::Call& call, const ir::Limits& limits) {
  return uses_tiles(contract_problem(call), limits);
}

std::vector<ir::Way> contract_ways(const ir::Call& call, const ir::Limits& limits) {
  const ContractProblem p = contract_problem(call);
  return is_row_product(p, limits) ? std::vector<ir::Way>() : product_ways(p, limits);
}

std::vector<ir::Way> product_ways(const ContractProblem& p, const ir::Limits& limits) {
  std::vector<ContractTile> tiles = tiles_to_try(p, limits);
  const auto usual = std::find(tiles.begin(), tiles.end(), tile_of(p, limits));
  if (usual != tiles.end())
    std::rotate(tiles.begin(), usual, usual + 1);
  else
    tiles.insert(tiles.begin(), tile_of(p, limits));
  std::vector<ir::Way> made;
  for (const ContractTile& t : tiles)
    made.push_back({t.block_m, t.block_n, t.strip_k, t.thread_m, t.thread_n, t.threads});
  return made;
}

ContractTile contract_tile_of(const ir::Way& way) {
  if (way.size() != 6) base::fail("contract", "a way of {} numbers is no tile", way.size());
  return {way[0], way[1], way[2], way[3], way[4], way[5]};
}

codegen::Dispatch product_sum(const ContractProblem& p, int64_t parts, const ir::Limits& limits) {
  codegen::Dispatch made = add_parts(p, parts, limits);
  made.buffers.push_back({static_cast<uint32_t>(made.buffers.size()), 0});
  return made;
}

codegen::Dispatch contract_sum(const ir::Call& call, int64_t parts, const ir::Limits& limits) {
  return product_sum(contract_problem(call), parts, limits);
}

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits) {
  return lower_contract(call, limits, contract_tile(call, limits));
}

codegen::Module lower_contract(const ir::Call& call, const ir::Limits& limits, const ContractTile& tile) {
  const ContractProblem p = contract_problem(call);
  if (p.elements() == 0 || !is_row_product(p, limits)) return lower_product(p, limits, tile);
  codegen::Module made;
  made.dispatches.push_back(row_product(p, limits));
  return made;
}

codegen::Module lower_product(const ContractProblem& p, const ir::Limits& limits,
                              const std::optional<ContractTile>& wanted) {
  codegen::Module made;
  if (p.elements() == 0) return made;
  const ContractTile tile = wanted ? *wanted : tile_of(p, limits);
  const int64_t parts = parts_of(p, limits);
  made.dispatches.push_back(uses_tiles(p, limits) ? tile_product(p, tile, parts, limits)
                                                  : lane_product(p, tile, parts, limits));
  if (parts == 1) return made;
  made.scratch_bytes = static_cast<size_t>(p.elements() * parts) * size_of(p.sums);
  made.dispatches[0].buffers.push_back({static_cast<uint32_t>(made.dispatches[0].buffers.size()), 0});
  made.dispatches.push_back(product_sum(p, parts, limits));
  return made;
}

}  // namespace tenon::kernels
