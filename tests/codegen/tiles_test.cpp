// Which nests go through shared tiles, how large the tiles are, and what the kernel then does with memory.

#include <gtest/gtest.h>

#include "tenon/codegen/lower.h"
#include "tenon/codegen/schedule.h"

namespace tenon::codegen {
namespace {

using ir::Instr;

ir::Limits gpu() {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 100;
  limits.shared_bytes = 48 << 10;
  limits.vector = 4;
  return limits;
}

/// A nest that adds up what it loads and stores the sum; loads are of tensors with their last two axes swapped, or not.
struct Nest : ir::LoopNest {
  explicit Nest(Dims of) {
    space = std::move(of);
    row_rank = space.size() - 1;
  }
  uint32_t load_swapped(DType dtype = DType::f32) {
    Dims from = space, axes;
    std::swap(from[from.size() - 1], from[from.size() - 2]);
    for (size_t i = 0; i < space.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    ir::IndexMap map(from);
    map.apply({ir::Op::permute, ir::AxesAttrs{axes}});
    return load(map, dtype);
  }
  uint32_t load(const ir::IndexMap& map, DType dtype = DType::f32) {
    code.push_back({.kind = Instr::Kind::load, .dtype = dtype, .buffer = inputs++, .map = map});
    return static_cast<uint32_t>(code.size() - 1);
  }
  Nest& store() {
    uint32_t sum = 0;
    for (uint32_t i = 1; i < inputs; ++i) {
      Instr add{.kind = Instr::Kind::apply, .op = ir::Op::add, .dtype = code[0].dtype};
      add.args.push_back(sum);
      add.args.push_back(i);
      code.push_back(add);
      sum = static_cast<uint32_t>(code.size() - 1);
    }
    Instr stored{.kind = Instr::Kind::store, .dtype = code[0].dtype, .buffer = inputs, .map = ir::IndexMap(space)};
    stored.args.push_back(sum);
    code.push_back(stored);
    outputs = 1;
    return *this;
  }
};

Nest transposed(Dims space, DType dtype = DType::f32) {
  Nest nest(std::move(space));
  nest.load_swapped(dtype);
  return nest.store();
}

TEST(Tiles, ALargeTransposeGoesThroughSquaresOf64) {
  const auto tiles = schedule_tiles(transposed({8192, 8192}), gpu());
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->axis, 0u);
  EXPECT_EQ(tiles->size, 64u);
  EXPECT_EQ(tiles->loads, (std::vector<uint32_t>{0}));
}

TEST(Tiles, SquaresAreSmallerWhereThereAreFew) { EXPECT_EQ(schedule_tiles(transposed({512, 512}), gpu())->size, 32u); }

TEST(Tiles, ABatchAxisStaysOutside) {
  const auto tiles = schedule_tiles(transposed({64, 300, 200}), gpu());
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->axis, 1u);
}

TEST(Tiles, ShortSidesAreReadDirectly) {
  EXPECT_FALSE(schedule_tiles(transposed({8192, 3}), gpu()));
  EXPECT_FALSE(schedule_tiles(transposed({3, 8192}), gpu()));
}

TEST(Tiles, NeighboursAlongTheLastAxisNeedNone) {
  Nest nest({8192, 8192});
  nest.load(ir::IndexMap(nest.space));
  EXPECT_FALSE(schedule_tiles(nest.store(), gpu()));
}

TEST(Tiles, SeveralLoadsShareTheMemoryOfABlock) {
  Nest nest({4096, 4096});
  for (int i = 0; i < 3; ++i) nest.load_swapped(DType::f64);
  nest.load(ir::IndexMap(nest.space), DType::f64);
  const auto tiles = schedule_tiles(nest.store(), gpu());  // three of 32 * 33 * 8 bytes
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->size, 32u);
  EXPECT_EQ(tiles->loads, (std::vector<uint32_t>{0, 1, 2}));
}

TEST(Tiles, LoadsThatFindNoRoomAreReadDirectly) {
  Nest nest({4096, 4096});
  for (int i = 0; i < 8; ++i) nest.load_swapped(DType::f64);
  EXPECT_EQ(schedule_tiles(nest.store(), gpu())->loads.size(), 5u);
}

TEST(Tiles, WithoutSharedMemoryThereAreNone) {
  ir::Limits limits = gpu();
  limits.shared_bytes = 1 << 10;
  EXPECT_FALSE(schedule_tiles(transposed({8192, 8192}), limits));
}

TEST(Tiles, WhatIsOverwrittenIsReadInPlace) {
  Nest nest({8192, 8192});
  nest.load_swapped();
  nest.store().in_place = {0};
  EXPECT_FALSE(schedule_tiles(nest, gpu()));
}

uint32_t widest(const KernelIr& kernel, Inst::Kind kind) {
  uint32_t most = 0;
  for (const Inst& inst : kernel.code)
    if (inst.kind == kind) most = std::max<uint32_t>(most, inst.width);
  return most;
}

TEST(Tiles, BothSidesTakeSixteenBytesAtOnce) {
  const Module f32 = lower(transposed({8192, 8192}), gpu());
  ASSERT_EQ(f32.dispatches.size(), 1u);
  EXPECT_EQ(f32.dispatches[0].blocks[0], 128u * 128u);
  EXPECT_EQ(widest(f32.dispatches[0].kernel, Inst::Kind::load), 4u);
  EXPECT_EQ(widest(f32.dispatches[0].kernel, Inst::Kind::store), 4u);
  const Module bf16 = lower(transposed({8192, 8192}, DType::bf16), gpu());
  EXPECT_EQ(widest(bf16.dispatches[0].kernel, Inst::Kind::load), 8u);
  EXPECT_EQ(widest(bf16.dispatches[0].kernel, Inst::Kind::store), 8u);
}

TEST(Tiles, RowsOfSharedMemoryLieOneWordFurtherThanTheyAreLong) {
  const Module made = lower(transposed({8192, 8192}), gpu());
  ASSERT_EQ(made.dispatches[0].kernel.shared.size(), 1u);
  EXPECT_EQ(made.dispatches[0].kernel.shared[0].count, 64u * 65u);
}

TEST(Tiles, OddSizesHaveTilesThatReachBeyond) {
  const Module made = lower(transposed({1000, 2001}), gpu());
  EXPECT_EQ(made.dispatches[0].blocks[0], 16u * 32u);
  EXPECT_EQ(widest(made.dispatches[0].kernel, Inst::Kind::store), 1u);
}

}  // namespace
}  // namespace tenon::codegen
