// Nests that read along one axis and write along another (a transposition made contiguous, alone or amid other work):
// squares of both axes go through shared memory, so that both sides touch memory that lies together.

#include <algorithm>

#include "tenon/base/divide.h"
#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using base::ceil_div;
using ir::Instr;

namespace {

// Threads of a block on a square: each takes `lanes` neighbours along the side they run along, `rows` rows at once.
struct Walk {
  Walk(const TileSchedule& tiles, uint32_t most)
      : lanes(std::max(1u, std::min(most, tiles.size * tiles.size / tiles.threads))),
        groups(tiles.size / lanes),
        rows(tiles.threads / groups),
        passes(tiles.size / rows) {}
  uint32_t lanes, groups, rows, passes;

  Id along(Builder& b) const { return b.mul(b.mod(b.thread(), b.u32(groups)), b.u32(lanes)); }
  Id row(Builder& b, Id pass) const { return b.add(b.div(b.thread(), b.u32(groups)), b.mul(pass, b.u32(rows))); }
};

// Elements that one thread reads at once: 16 bytes of them where they begin at a multiple of that, and 32 at most.
uint32_t lanes_along(const ir::LoopNest& nest, const Instr& load, size_t axis, const ir::Limits& limits) {
  uint32_t lanes = std::max(1u, limits.vector);
  if (lanes == 4 && size_of(load.dtype) <= 2) lanes = 8;
  while (lanes > 1 && (nest.space[axis] % lanes != 0 || !is_run(load.map, axis, lanes))) lanes /= 2;
  return lanes;
}

}  // namespace

// The place of an element of a square; what is outside of the space is element 0 of its axis.
std::vector<Id> Lowering::within_tile(Writing& to, const TileSchedule& tiles, std::span<const Id> origin, Id down,
                                      Id across) {
  std::vector<Id> indices(origin.begin(), origin.end());
  const auto move = [&](size_t axis, Id by) {
    const Id at = to.b.add(origin[axis], to.w.index(by)), end = to.w.index_of(nest_.space[axis]);
    indices[axis] = nest_.space[axis] % tiles.size == 0 ? at : to.b.select(to.b.less(at, end), at, to.w.index_of(0));
  };
  move(tiles.axis, down);
  move(nest_.space.size() - 1, across);
  return indices;
}

// A square of what a load reads, in shared memory as it is written: one row for each place along the load's axis. All
// is read before anything is put down, so that much is on its way at once.
uint32_t Lowering::read_tile(Writing& to, const TileSchedule& tiles, uint32_t load, std::span<const Id> origin) {
  const Instr& instr = nest_.code[load];
  const Walk walk(tiles, lanes_along(nest_, instr, tiles.axis, limits_));
  const uint32_t pitch = TileSchedule::pitch(tiles.size, size_of(instr.dtype));
  const uint32_t array = to.b.add_shared(in_memory(instr.dtype), tiles.size * pitch);
  const Id down = walk.along(to.b);
  std::vector<std::vector<Id>> read;
  for (uint32_t pass = 0; pass < walk.passes; ++pass) {
    const Id across = walk.row(to.b, to.b.u32(pass));
    read.push_back(to.w.elements(load, within_tile(to, tiles, origin, down, across), walk.lanes));
  }
  for (uint32_t pass = 0; pass < walk.passes; ++pass) {
    const Id across = walk.row(to.b, to.b.u32(pass));
    for (uint32_t lane = 0; lane < walk.lanes; ++lane) {
      const Id row = to.b.mul(to.b.add(down, to.b.u32(lane)), to.b.u32(pitch));
      to.b.shared_store(array, to.b.add(row, across), read[pass][lane]);
    }
  }
  return array;
}

void Lowering::add_tiles(const TileSchedule& tiles) {
  Writing to = start("tiles", tiles.threads);
  const size_t last = nest_.space.size() - 1;
  std::vector<int64_t> grid(nest_.space.begin(), nest_.space.end());
  for (const size_t axis : {tiles.axis, last}) grid[axis] = ceil_div(grid[axis], int64_t{tiles.size});
  std::vector<Id> origin = to.w.unravel(to.w.index(to.b.block()), grid);
  for (const size_t axis : {tiles.axis, last}) origin[axis] = to.b.mul(origin[axis], to.w.index_of(tiles.size));

  std::map<uint32_t, uint32_t> arrays;
  for (const uint32_t load : tiles.loads) arrays[load] = read_tile(to, tiles, load, origin);
  to.b.barrier();

  write_constants(to);
  const Walk walk(tiles, flat_lanes());
  const Id across = walk.along(to.b);
  const bool is_short = nest_.code.size() <= 8;
  to.b.loop(
      0, walk.passes,
      [&](Id pass) {
        const Id down = walk.row(to.b, pass);
        const std::vector<Id> indices = within_tile(to, tiles, origin, down, across);
        to.place.row.assign(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(nest_.row_rank));
        to.place.element.assign(walk.lanes, {indices.begin() + static_cast<ptrdiff_t>(nest_.row_rank), indices.end()});
        for (uint32_t lane = 1; lane < walk.lanes; ++lane)
          to.place.element[lane].back() = to.b.add(indices.back(), to.w.index_of(lane));
        to.place.is_run = walk.lanes > 1;
        Id mask = kNoValue;
        for (const auto& [axis, by] : {std::pair{tiles.axis, down}, std::pair{last, across}}) {
          if (nest_.space[axis] % tiles.size == 0) continue;
          const Id at = to.b.add(origin[axis], to.w.index(by));
          mask = to.b.both(mask, to.b.less(at, to.w.index_of(nest_.space[axis])));
        }
        const std::vector<Id> masks(mask == kNoValue ? 0 : 1, mask);
        for (uint32_t i = 0; i < nest_.code.size(); ++i) {
          const Instr& instr = nest_.code[i];
          if (!is_needed(i) || stages_.values[i].scope == Scope::constant) continue;
          if (const auto found = arrays.find(i); found != arrays.end()) {
            const uint32_t pitch = TileSchedule::pitch(tiles.size, size_of(instr.dtype));
            const Id first = to.b.add(to.b.mul(down, to.b.u32(pitch)), across);
            for (uint32_t lane = 0; lane < walk.lanes; ++lane) {
              const Id held = to.b.shared_load(found->second, to.b.add(first, to.b.u32(lane)));
              to.known[i].push_back(from_memory(to.b, instr.dtype, held));
            }
          } else if (is_store(instr)) {
            to.w.store(i, to.place, to.operands(), masks);
          } else {
            to.known[i] = to.w.values(i, to.place, to.operands());
          }
        }
      },
      is_short);
  int64_t blocks = 1;
  for (const int64_t tiles_along : grid) blocks *= tiles_along;
  finish(to, {blocks, 1, 1});
}

}  // namespace tenon::codegen
