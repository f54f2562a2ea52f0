// Attention of the cuda device: which calls the kernels for Hopper take, how these are started, and that NVRTC compiles
// them (no GPU is needed). What they compute is for a GPU: see real_test.cpp.

#include "tenon/backends/cuda/attention.h"

#include <stdlib.h>

#include <algorithm>

#include "attention_case.h"
#include "on_stand_in.h"
#include "tenon/backends/cuda/toolchain.h"

namespace tenon::backends::cuda {
namespace {

using ir::Op;
using Case = AttentionCase;

bool is_taken(const Case& c) {
  const bool forward = plan_attention(c.call(Op::attention)).has_value();
  EXPECT_EQ(plan_attention(c.call(Op::attention_backward)).has_value(), forward);
  return forward;
}

size_t shared_bytes(const codegen::Dispatch& dispatch) { return dispatch.kernel.shared[0].count * 4; }

TEST(HopperAttention, TakesSixteenBitHeadsOf64And128) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const int64_t width : {64, 128}) {
      for (const bool causal : {true, false}) {
        EXPECT_TRUE(is_taken({.width = width, .causal = causal, .dtype = dtype}));
        EXPECT_TRUE(is_taken({.width = width, .causal = causal, .dtype = dtype, .in_heads = true}));
      }
    }
  }
}

TEST(HopperAttention, TakesAnyLengthsAndSharedHeads) {
  EXPECT_TRUE(is_taken({.groups = 2, .queries = 77, .keys = 77}));
  EXPECT_TRUE(is_taken({.groups = 1, .queries = 17, .keys = 1, .in_heads = true}));
  EXPECT_TRUE(is_taken({.queries = 300, .keys = 517, .in_heads = true}));
}

TEST(HopperAttention, LeavesMasksAndDroppedWeights) {
  EXPECT_FALSE(is_taken({.masked = true}));
  EXPECT_FALSE(is_taken({.dropout = 0.1}));
}

TEST(HopperAttention, LeavesOtherHeadsAndDtypes) {
  EXPECT_FALSE(is_taken({.width = 80}));
  EXPECT_FALSE(is_taken({.width = 256}));
  EXPECT_FALSE(is_taken({.dtype = DType::f32}));
  EXPECT_FALSE(is_taken({.dtype = DType::f64}));
}

TEST(HopperAttention, LeavesFewQueries) {
  EXPECT_FALSE(is_taken({.queries = 1, .keys = 4096, .in_heads = true}));
  EXPECT_FALSE(is_taken({.queries = 16, .in_heads = true}));
  EXPECT_FALSE(is_taken({.keys = 0, .in_heads = true}));
  EXPECT_FALSE(is_taken({.batch = 0, .in_heads = true}));
}

// Rows that do not begin at multiples of 16 bytes.
TEST(HopperAttention, LeavesOddStrides) {
  EXPECT_TRUE(is_taken({.behind = 8}));
  EXPECT_FALSE(is_taken({.behind = 4}));
}

// Where each score may be small and its sum no float.
TEST(HopperAttention, LeavesTinyAndNegativeScales) {
  EXPECT_FALSE(is_taken({.scale = 0x1p-126}));
  EXPECT_FALSE(is_taken({.scale = -0.125}));
  EXPECT_FALSE(is_taken({.scale = 0}));
}

TEST(HopperAttention, LeavesOtherOps) {
  ir::Call call = Case{}.call(Op::attention);
  call.op = Op::contract;
  EXPECT_FALSE(plan_attention(call).has_value());
}

TEST(HopperAttention, ReadsPartsOfOneMatrixInPlace) {
  const Case c{.groups = 2};  // tokens of (4 + 2 + 2) * 64 numbers, 2 bytes each
  const codegen::Module made = *plan_attention(c.call(Op::attention));
  ASSERT_EQ(made.dispatches.size(), 1);
  const codegen::Dispatch& one = made.dispatches[0];
  EXPECT_EQ(one.buffers[0].offset, 0);
  EXPECT_EQ(one.buffers[1].offset, 4 * 64 * 2);
  EXPECT_EQ(one.buffers[2].offset, 6 * 64 * 2);
  EXPECT_NE(one.kernel.text.find("#define K_ROW 1024\n"), std::string::npos);
  const uint64_t token = 1024, of_batch = 200 * token, of_head = 128;
  const std::vector<uint64_t> expected = {4,        2,       200,      200,     of_batch,   of_head,
                                          of_batch, of_head, of_batch, of_head, 0x3e000000, 8};  // 0.125, and 8 lines
  EXPECT_EQ(one.sizes, expected);
}

TEST(HopperAttention, WritesJoinedGradientsIntoOneResult) {
  const codegen::Module made = *plan_attention(Case{.groups = 2, .joined = true}.call(Op::attention_backward));
  ASSERT_EQ(made.dispatches.size(), 2);
  const auto &queries = made.dispatches[0].buffers, &keys = made.dispatches[1].buffers;
  EXPECT_EQ(queries[6].arg, 6);  // behind q, k, v, o, lse and its gradient
  EXPECT_EQ(queries[6].offset, 0);
  EXPECT_EQ(keys[5].arg, 6);
  EXPECT_EQ(keys[5].offset, 4 * 64 * 2);
  EXPECT_EQ(keys[6].arg, 6);
  EXPECT_EQ(keys[6].offset, 6 * 64 * 2);
  // Both know of the scratch memory: two floats for each of 2 * 4 * 256 queries.
  EXPECT_EQ(queries[7].arg, 7);
  EXPECT_EQ(keys[4].arg, 7);
  EXPECT_EQ(made.scratch_bytes, 2 * 4 * 256 * 2 * sizeof(float));
}

// Each tile of each line has a block; a grid may have some more, of lines that there are not.
TEST(HopperAttention, GridsHaveABlockForEachTile) {
  for (const int64_t batch : {1, 2, 37, 1000}) {
    const Case c{.batch = batch, .heads = 12, .groups = 3, .queries = 1000, .keys = 1024, .in_heads = true};
    const auto check = [&](const codegen::Dispatch& one, uint64_t tiles, uint64_t lines) {
      EXPECT_EQ(one.blocks[1], tiles) << one.kernel.name;
      EXPECT_GE(one.blocks[0] * one.blocks[2], lines);
      EXPECT_LT(one.blocks[0] * one.blocks[2], lines + one.blocks[2]);
    };
    const auto lines = static_cast<uint64_t>(batch);
    const codegen::Module forward = *plan_attention(c.call(Op::attention));
    check(forward.dispatches[0], 16, lines * 12);
    const codegen::Module backward = *plan_attention(c.call(Op::attention_backward));
    check(backward.dispatches[0], 16, lines * 12);
    const uint64_t splits = batch < 37 ? 2 : 1;
    check(backward.dispatches[1], 16, lines * 3 * splits);
  }
}

// Few lines with many heads each would leave most of a chip to wait for the longest blocks.
TEST(HopperAttention, HeadsThatShareKeysAreDividedAmongBlocks) {
  const Case c{.batch = 4, .heads = 32, .groups = 4, .queries = 2048, .keys = 2048, .in_heads = true};
  const codegen::Module made = *plan_attention(c.call(Op::attention_backward));
  ASSERT_EQ(made.dispatches.size(), 3);
  const codegen::Dispatch &keys = made.dispatches[1], &sums = made.dispatches[2];
  EXPECT_NE(keys.kernel.text.find("#define KEY_SPLITS 2\n"), std::string::npos);
  EXPECT_EQ(keys.blocks, (std::array<uint64_t, 3>{16, 32, 2}));
  EXPECT_NE(sums.kernel.text.find("#define PARTS_COUNT 2\n"), std::string::npos);
  EXPECT_EQ(sums.blocks, (std::array<uint64_t, 3>{8, 2048 * 4 * 64 / 8 / 256, 1}));
  // Two floats for each query, then the parts: f32, of keys and of values.
  const size_t rows = 4 * 32 * 2048 * 2 * sizeof(float), part = 4 * 2048 * 4 * 64 * sizeof(float);
  EXPECT_EQ(made.scratch_bytes, rows + 4 * part);
  EXPECT_EQ(keys.buffers[5].offset, rows);
  EXPECT_EQ(keys.buffers[6].offset, rows + 2 * part);
  EXPECT_EQ(sums.buffers[0].offset, rows);

  const auto dispatches = [](const Case& other) {
    return plan_attention(other.call(Op::attention_backward))->dispatches.size();
  };
  EXPECT_EQ(dispatches({.batch = 4, .heads = 32, .groups = 32, .queries = 2048, .keys = 2048}), 2);
  EXPECT_EQ(dispatches({.batch = 32, .heads = 32, .groups = 4, .queries = 2048, .keys = 2048}), 2);
}

TEST(HopperAttention, ManyLinesStayWithinTheLimitsOfAGrid) {
  const Case c{.batch = 3000, .heads = 64, .groups = 64, .queries = 65536, .keys = 65536, .in_heads = true};
  const codegen::Module made = *plan_attention(c.call(Op::attention));
  for (const uint64_t blocks : made.dispatches[0].blocks) EXPECT_LE(blocks, 65535);
}

std::vector<codegen::Dispatch> all_dispatches(const Case& c) {
  std::vector<codegen::Dispatch> all;
  for (const Op op : {Op::attention, Op::attention_backward}) {
    const codegen::Module made = *plan_attention(c.call(op));
    all.insert(all.end(), made.dispatches.begin(), made.dispatches.end());
  }
  return all;
}

// A processor of Hopper has 228 KiB, of which each block takes one for itself.
TEST(HopperAttention, BlocksShareTheMemoryOfAProcessor) {
  for (const int64_t width : {64, 128}) {
    for (const codegen::Dispatch& one : all_dispatches({.width = width})) {
      const std::string& text = one.kernel.text;
      const size_t at = text.find("_BLOCKS ");
      ASSERT_NE(at, std::string::npos);
      const size_t blocks = static_cast<size_t>(text[at + 8] - '0');
      EXPECT_LE(blocks * (shared_bytes(one) + 1024), size_t{228} << 10) << one.kernel.name << " of " << width;
      EXPECT_GT((blocks + 1) * (shared_bytes(one) + 1024), size_t{228} << 10) << one.kernel.name << " of " << width;
    }
  }
}

// A place and an offset for each buffer, the numbers, the fault words and whether they guard.
TEST(HopperAttention, KernelsTakeWhatTheyAreGiven) {
  std::vector<codegen::Dispatch> all = all_dispatches({});
  for (codegen::Dispatch& one : all_dispatches({.heads = 16, .groups = 1, .queries = 1000, .keys = 1000}))
    all.push_back(std::move(one));
  ASSERT_EQ(all.size(), 7);
  for (const codegen::Dispatch& one : all) {
    const std::string& text = one.kernel.text;
    const size_t begin = text.find(one.kernel.name + "("), end = text.find(") {", begin);
    ASSERT_NE(begin, std::string::npos);
    const auto parameters = static_cast<size_t>(1 + std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                                               text.begin() + static_cast<std::ptrdiff_t>(end), ','));
    EXPECT_EQ(parameters, 2 * one.buffers.size() + one.sizes.size() + 2) << one.kernel.name;
    EXPECT_EQ(one.kernel.numbers, one.sizes.size());
  }
}

TEST(HopperAttention, NvrtcCompilesTheKernels) {
  if (!nvrtc()) GTEST_SKIP() << why_no_compiler();
  const Case shared{.heads = 16, .groups = 1, .queries = 1000, .keys = 1000};
  for (const Case& c : {Case{}, Case{.width = 128, .causal = false, .dtype = DType::f16}, shared}) {
    for (const codegen::Dispatch& one : all_dispatches(c)) {
      try {
        EXPECT_FALSE(compile(*nvrtc(), one.kernel.text, std::string(kAttentionChip)).empty());
      } catch (const gpu::Refused& refused) {
        ADD_FAILURE() << one.kernel.name << ": " << refused.why << "\n" << refused.log;
      }
    }
  }
}

// ---- on the stand-in of a Hopper GPU ----

class HopperAttentionOnDevice : public OnStandIn {};

TEST_F(HopperAttentionOnDevice, IsTheDevicesChoiceUnlessItsOwnKernelsAreWanted) {
  const device::Kernel taken = Case{}.call(Op::attention), left = Case{.masked = true}.call(Op::attention);
  EXPECT_NE(device_->compiler().saved_as(taken).find("wgmma"), std::string::npos);
  EXPECT_EQ(device_->compiler().saved_as(left).find("wgmma"), std::string::npos);
  setenv("TENON_ATTENTION", "own", 1);
  const auto other = open_cuda();
  unsetenv("TENON_ATTENTION");
  EXPECT_EQ(other->compiler().saved_as(taken).find("wgmma"), std::string::npos);
}

TEST_F(HopperAttentionOnDevice, IsLaunchedAndLoadedAgain) {
  if (!nvrtc()) GTEST_SKIP() << why_no_compiler();
  const Case c{.joined = true};
  const ir::Call call = c.call(Op::attention_backward);
  device::Compiler& compiler = device_->compiler();
  const device::ProgramRef program = compiler.compile(call);
  const auto launch = [&](const device::ProgramRef& of) {
    device::Launch made{of, {}, static_cast<uint32_t>(call.inputs.size())};
    const auto add = [&](size_t bytes) { made.args.push_back({make(bytes), 0, bytes}); };
    for (const ir::Operand& input : call.inputs) add(ir::bytes_reached(input.map, input.dtype).end);
    for (const ir::Type& output : call.outputs)
      add(static_cast<size_t>(ir::count(output.shape)) * size_of(output.dtype));
    add(of->scratch_bytes());
    run({made});
    for (const device::Arg& arg : made.args) device_->release(arg.buffer);
  };
  launch(program);
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 2);
  const device::ProgramRef again = compiler.load(call, compiler.save(*program));
  ASSERT_NE(again, nullptr);
  launch(again);
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 4);
}

// Kernels write 16 bytes at once; rows of something larger may begin anywhere.
TEST_F(HopperAttentionOnDevice, ResultsThatBeginAnywhereAreCopiedThere) {
  if (!nvrtc()) GTEST_SKIP() << why_no_compiler();
  const ir::Call call = Case{}.call(Op::attention);
  device::Launch launch{device_->compiler().compile(call), {}, static_cast<uint32_t>(call.inputs.size())};
  const auto add = [&](size_t bytes, size_t offset) { launch.args.push_back({make(bytes + offset), offset, bytes}); };
  for (const ir::Operand& input : call.inputs) add(ir::bytes_reached(input.map, input.dtype).end, 0);
  for (const ir::Type& output : call.outputs)
    add(static_cast<size_t>(ir::count(output.shape)) * size_of(output.dtype), 6);
  if (const size_t scratch = launch.program->scratch_bytes()) add(scratch, 0);
  run({launch});
  for (const device::Arg& arg : launch.args) device_->release(arg.buffer);
  EXPECT_EQ(stand_in().calls("cuMemAllocAsync"), static_cast<int>(call.outputs.size()));
  EXPECT_EQ(stand_in().calls("cuMemcpyDtoDAsync"), static_cast<int>(call.outputs.size()));
}

}  // namespace
}  // namespace tenon::backends::cuda
