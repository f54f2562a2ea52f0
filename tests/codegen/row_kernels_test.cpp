// How kernels that fold rows and columns share out their work: blocks, barriers, and when they ask for memory.

#include <gtest/gtest.h>

#include "tenon/codegen/lower.h"
#include "tenon/codegen/schedule.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using codegen::Inst;
using ir::Instr;
using ir::Op;

ir::Limits gpu() {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = 132;
  limits.shared_bytes = 48 << 10;
  limits.vector = 4;
  return limits;
}

/// store(y * sum(x)), and the column sums of it on demand.
ir::LoopNest scaled_by_sum(int64_t rows, int64_t elements, bool sums_columns) {
  ir::LoopNest nest;
  nest.space = {rows, elements};
  nest.row_rank = 1;
  nest.inputs = 2;
  nest.outputs = sums_columns ? 2 : 1;
  nest.column_blocks = 512;
  const ir::IndexMap map(nest.space);
  const auto add = [&](Instr instr, std::initializer_list<uint32_t> args) {
    for (const uint32_t arg : args) instr.args.push_back(arg);
    nest.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest.code.size() - 1);
  };
  const uint32_t x = add({.kind = Instr::Kind::load, .buffer = 0, .map = map}, {});
  const uint32_t sum = add({.kind = Instr::Kind::reduce, .op = Op::sum, .per_row = true}, {x});
  const uint32_t y = add({.kind = Instr::Kind::load, .buffer = 1, .map = map}, {});
  const uint32_t product = add({.kind = Instr::Kind::apply, .op = Op::mul}, {y, sum});
  add({.kind = Instr::Kind::store, .buffer = 2, .map = map}, {product});
  if (!sums_columns) return nest;
  const uint32_t columns = add({.kind = Instr::Kind::reduce, .op = Op::sum, .per_column = true}, {product});
  add({.kind = Instr::Kind::store, .per_column = true, .buffer = 3, .map = ir::IndexMap({elements})}, {columns});
  return nest;
}

int barriers(const codegen::KernelIr& kernel) {
  int count = 0;
  for (const Inst& inst : kernel.code) count += inst.kind == Inst::Kind::barrier;
  return count;
}

TEST(RowKernels, ColumnsOf8192RowsAreSummedBy256Blocks) {
  const codegen::Module made = codegen::lower(scaled_by_sum(8192, 768, true), gpu());
  ASSERT_EQ(made.dispatches.size(), 2u);
  EXPECT_EQ(made.dispatches[0].blocks[0], 256u);
}

TEST(RowKernels, AProcessorHasRoomForTwoBlocksThatHoldColumnSums) {
  EXPECT_EQ(codegen::lower(scaled_by_sum(8192, 1024, true), gpu()).dispatches[0].kernel.resident, 2u);
  EXPECT_EQ(codegen::lower(scaled_by_sum(8192, 1024, false), gpu()).dispatches[0].kernel.resident, 1u);
  EXPECT_EQ(codegen::lower(scaled_by_sum(8192, 1536, true), gpu()).dispatches[0].kernel.resident, 1u);  // has it anyway
}

// Of 1024 parts, of which each of 16 threads takes 64.
TEST(RowKernels, PartsOfColumnsAreAskedFor16AtATime) {
  ir::LoopNest nest = scaled_by_sum(32768, 1024, true);
  nest.column_blocks = 1024;
  const codegen::Module made = codegen::lower(nest, gpu());
  std::vector<bool> unrolled;
  for (const Inst& inst : made.dispatches.at(1).kernel.code) {
    if (inst.kind == Inst::Kind::loop) unrolled.push_back(inst.bits == static_cast<uint64_t>(codegen::Unroll::always));
  }
  EXPECT_EQ(unrolled, (std::vector<bool>{false, true, false}));  // pieces, a piece, and the lanes at the end
}

TEST(RowKernels, PartsOfColumnsHave32RowsOrMore) {
  EXPECT_EQ(codegen::schedule_columns(scaled_by_sum(100, 8, true)).part, 32);
  EXPECT_EQ(codegen::schedule_columns(scaled_by_sum(1 << 16, 8, true)).part, 128);
}

TEST(RowKernels, AFoldOfTwoSubgroupsTakesOneBarrier) {
  const codegen::Module made = codegen::lower(scaled_by_sum(8192, 768, false), gpu());
  EXPECT_EQ(barriers(made.dispatches[0].kernel), 1);
}

TEST(RowKernels, SixteenSubgroupsAreFoldedLikeTheThreadsOfOne) {
  const codegen::Module made = codegen::lower(scaled_by_sum(8192, 8192, false), gpu());
  ASSERT_EQ(made.dispatches[0].kernel.threads, 512u);
  int shuffles = 0;
  for (const Inst& inst : made.dispatches[0].kernel.code) shuffles += inst.kind == Inst::Kind::shuffle;
  EXPECT_EQ(shuffles, 5 + 4);
}

TEST(RowKernels, RowsOfAnyNumberOfSubgroupsHaveTheirSum) {
  for (const int64_t size : {700, 2500, 4100, 5000, 7777, 9000}) {
    const Tensor x = ones({5, size}, Options(DType::f32, "simulated"));
    EXPECT_EQ(x.sum({1}).to_vector<float>(), std::vector<float>(5, static_cast<float>(size)));
  }
}

TEST(RowKernels, AFoldThatIsRepeatedTakesTwo) {
  const codegen::Module made = codegen::lower(scaled_by_sum(8192, 768, true), gpu());
  const codegen::KernelIr& kernel = made.dispatches[0].kernel;
  int in_loop = 0, depth = 0;
  for (const Inst& inst : kernel.code) {
    if (inst.kind == Inst::Kind::loop || inst.kind == Inst::Kind::branch) ++depth;
    if (inst.kind == Inst::Kind::end) --depth;
    if (inst.kind == Inst::Kind::barrier && depth == 1) ++in_loop;
  }
  EXPECT_GE(in_loop, 2);
}

TEST(RowKernels, WhatALaterStageLoadsIsAskedForBeforeTheFirstFold) {
  const codegen::Module made = codegen::lower(scaled_by_sum(8192, 768, false), gpu());
  for (const Inst& inst : made.dispatches[0].kernel.code) {
    ASSERT_NE(inst.kind, Inst::Kind::barrier) << "before the load of the second factor";
    if (inst.kind == Inst::Kind::load && inst.slot == 1) break;
  }
}

TEST(RowKernels, BlocksStayInRowsThatAreLongEnough) {
  EXPECT_EQ(codegen::row_turns(6288, 256), 5u);  // five blocks of 1280 groups leave 112 places empty
  EXPECT_EQ(codegen::row_turns(2048, 256), 8u);
  EXPECT_EQ(codegen::row_turns(700, 256), 0u);
}

TEST(RowKernels, LayerNormIsTheSameFusedOrNot) {
  for (const Dims& shape : {Dims{300, 768}, Dims{33, 50}, Dims{70, 4100}}) {
    const auto gradients = [&](const char* device) {
      const auto made = [&](const Dims& of, int64_t by) {
        const Tensor number = arange(ir::count(of), Options(DType::i32, "cpu"));
        return (remainder(number * by, 251).to(DType::f32) / 100.0).reshape(of).to(device).requires_grad_();
      };
      const Tensor x = made(shape, 37), w = made({shape[1]}, 91), b = made({shape[1]}, 13),
                   g = made(shape, 53).detach();
      const std::vector<Tensor> y{nn::layer_norm(x, {shape[1]}, w, b)};
      std::vector<Tensor> all = grad(y, std::vector<Tensor>{x, w, b}, {{g}});
      all.push_back(y[0].detach());
      return all;
    };
    const std::vector<Tensor> fused = gradients("simulated"), apart = gradients("simulated_unfused");
    for (size_t i = 0; i < fused.size(); ++i)
      EXPECT_EQ(fused[i].to_bytes(), apart[i].to_bytes()) << shape[1] << " " << i;
  }
}

}  // namespace
}  // namespace tenon
