// Products: every tile on the simulated GPU against sums in double, what is chosen for a GPU, and source that its
// compiler takes; and on the OpenCL device against the cpu.

#include "tenon/kernels/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "../nvrtc.h"
#include "on_opencl.h"
#include "tenon/backends/simulated/interpreter.h"
#include "tenon/base/half.h"
#include "tenon/kernels/contract_row.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::kernels {
namespace {

ir::Limits limits_of_a_gpu(bool has_tiles = true, uint32_t processors = 132) {
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.subgroup = 32;
  limits.processors = processors;
  limits.shared_bytes = 49152;
  limits.vector = 4;
  limits.has_fma = true;
  if (has_tiles) limits.tile_dtypes = {DType::f16, DType::bf16};
  return limits;
}

// A matrix of a batch; `turned`: it lies transposed.
ir::IndexMap matrix(int64_t batch, int64_t rows, int64_t columns, bool turned) {
  Dims shape = turned ? Dims{columns, rows} : Dims{rows, columns};
  Dims axes{1, 0};
  if (batch > 0) {
    shape.insert(shape.begin(), batch);
    axes = {0, 2, 1};
  }
  ir::IndexMap map(shape);
  if (turned) map.apply(ir::Op::permute, ir::AxesAttrs{axes});
  return map;
}

struct Case {
  int64_t rows, depth, columns;
  DType dtype = DType::f32;
  bool turns_left = false, turns_right = false;
  int64_t batch = 0;  // 0: no axis of it
  bool has_bias = false, has_residual = false;

  ir::Call call() const {
    ir::Call call;
    call.op = ir::Op::contract;
    ir::ContractAttrs attrs;
    attrs.result = dtype;
    call.attrs = attrs;
    call.inputs.push_back({dtype, matrix(batch, rows, depth, turns_left)});
    call.inputs.push_back({dtype, matrix(batch, depth, columns, turns_right)});
    Dims out{rows, columns};
    if (batch > 0) out.insert(out.begin(), batch);
    if (has_bias) call.inputs.push_back({dtype, ir::IndexMap(Dims{columns})});
    if (has_residual) call.inputs.push_back({accumulator(dtype), ir::IndexMap(out)});
    call.epilogue = {has_bias, has_residual};
    call.outputs.push_back({dtype, out});
    return call;
  }
};

using Bytes = std::vector<std::byte>;

double number_at(const Bytes& bytes, DType dtype, size_t i) {
  const std::byte* at = bytes.data() + i * size_of(dtype);
  uint16_t half = 0;
  float single = 0;
  switch (dtype) {
    case DType::f32: std::memcpy(&single, at, 4); return single;
    case DType::bf16: std::memcpy(&half, at, 2); return base::bf16_to_double(half);
    default: std::memcpy(&half, at, 2); return base::f16_to_double(half);
  }
}

Bytes numbers(int64_t count, DType dtype, uint32_t seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  Bytes bytes(static_cast<size_t>(count) * size_of(dtype));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const float value = between(draw);
    const uint16_t half = dtype == DType::bf16 ? base::double_to_bf16(value) : base::double_to_f16(value);
    if (dtype == DType::f32)
      std::memcpy(&bytes[i * 4], &value, 4);
    else
      std::memcpy(&bytes[i * 2], &half, 2);
  }
  return bytes;
}

std::vector<Bytes> inputs_of(const ir::Call& call) {
  std::vector<Bytes> made;
  for (const ir::Operand& input : call.inputs)
    made.push_back(numbers(ir::count(input.map.shape()), input.dtype, static_cast<uint32_t>(made.size() + 1)));
  return made;
}

Bytes run(const ir::Call& call, const ir::Limits& limits, const ContractTile& tile) {
  std::vector<Bytes> args = inputs_of(call);
  args.emplace_back(static_cast<size_t>(ir::count(call.outputs[0].shape)) * size_of(call.outputs[0].dtype));
  const size_t out = args.size() - 1;
  const codegen::Module made = lower_contract(call, limits, tile);
  args.emplace_back(made.scratch_bytes);
  for (const codegen::Dispatch& dispatch : made.dispatches) {
    std::vector<std::span<std::byte>> buffers;
    for (const auto& binding : dispatch.buffers) buffers.emplace_back(args[binding.arg]);
    backends::simulated::run(dispatch, buffers, {});
  }
  return args[out];
}

std::vector<double> sums_of(const ir::Call& call) {
  const std::vector<Bytes> in = inputs_of(call);
  const Dims& shape = call.outputs[0].shape;
  const size_t rank = shape.size();
  const int64_t depth = call.inputs[0].map.shape()[rank - 1], columns = shape[rank - 1];
  std::vector<double> made;
  for (int64_t i = 0; i < ir::count(shape); ++i) {
    const int64_t row = i / columns % shape[rank - 2], batch = i / columns / shape[rank - 2];
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      Dims a{row, k}, b{k, i % columns};
      if (rank == 3) {
        a.insert(a.begin(), batch);
        b.insert(b.begin(), batch);
      }
      sum += number_at(in[0], call.inputs[0].dtype, static_cast<size_t>(call.inputs[0].map.locate({a.data(), rank}))) *
             number_at(in[1], call.inputs[1].dtype, static_cast<size_t>(call.inputs[1].map.locate({b.data(), rank})));
    }
    size_t next = 2;
    if (call.epilogue.bias) sum += number_at(in[next++], call.inputs[2].dtype, static_cast<size_t>(i % columns));
    if (call.epilogue.residual) sum += number_at(in[next], call.inputs[next].dtype, static_cast<size_t>(i));
    made.push_back(sum);
  }
  return made;
}

// Every tile gives the sums, and the same bits of them.
void expect_sums(const Case& c, const ir::Limits& limits) {
  SCOPED_TRACE(testing::Message() << c.rows << " x " << c.depth << " x " << c.columns << (c.turns_left ? " tn" : "")
                                  << (c.turns_right ? " nt" : "") << " " << name(c.dtype));
  const ir::Call call = c.call();
  const std::vector<double> wanted = sums_of(call);
  const double allowed = c.dtype == DType::f32 ? 1e-5 : c.dtype == DType::f16 ? 2e-3 : 8e-3;
  Bytes first;
  for (const ContractTile& tile : contract_tiles(call, limits)) {
    const Bytes got = run(call, limits, tile);
    SCOPED_TRACE(testing::Message() << "tile " << tile.block_m << " x " << tile.block_n << " x " << tile.strip_k);
    for (size_t i = 0; first.empty() && i < wanted.size(); ++i)
      ASSERT_NEAR(number_at(got, c.dtype, i), wanted[i], allowed * std::max(1.0, std::abs(wanted[i])) * 4) << i;
    if (first.empty()) first = got;
    ASSERT_EQ(got == first, true) << "other bits than the first tile's";
  }
}

constexpr bool kBoth[] = {false, true};
constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

TEST(Products, EveryTileGivesTheSameSums) {
  for (const DType dtype : kFloats) {
    expect_sums({5, 7, 3, dtype}, limits_of_a_gpu());
    expect_sums({72, 40, 136, dtype}, limits_of_a_gpu());
  }
}

TEST(Products, MatricesMayLieTransposed) {
  for (const DType dtype : kFloats) {
    for (const bool turns_left : kBoth) {
      for (const bool turns_right : kBoth) {
        expect_sums({24, 32, 40, dtype, turns_left, turns_right}, limits_of_a_gpu());
        expect_sums({19, 21, 34, dtype, turns_left, turns_right}, limits_of_a_gpu());  // rows of odd lengths
      }
    }
  }
}

// As for one token of a text: columns side by side in memory, and depth side by side.
TEST(Products, OneRowTimesAMatrix) {
  const ir::Limits limits = limits_of_a_gpu();
  for (const DType dtype : kFloats) {
    for (const bool turns_right : kBoth) {
      for (const Case& c :
           {Case{1, 768, 96, dtype, false, turns_right}, Case{1, 520, 24, dtype, false, turns_right, 0, true},
            Case{1, 40, 1000, dtype, false, turns_right}, Case{1, 3072, 8, dtype, false, turns_right, 0, true, true}}) {
        EXPECT_TRUE(is_row_product(contract_problem(c.call()), limits));
        EXPECT_EQ(lower_contract(c.call(), limits).dispatches.size(), 1u);
        EXPECT_TRUE(contract_ways(c.call(), limits).empty());
        expect_sums(c, limits);
      }
    }
  }
  // Lines of odd lengths, and what is short, are for the other kernels.
  for (const Case& c : {Case{1, 65, 33, DType::bf16}, Case{1, 65, 33, DType::bf16, false, true}, Case{1, 8, 64}}) {
    EXPECT_FALSE(is_row_product(contract_problem(c.call()), limits));
    expect_sums(c, limits);
  }
  EXPECT_FALSE(is_row_product(contract_problem(Case{2, 768, 96}.call()), limits));
}

TEST(Products, SixteenBitsWithoutMatrixTilesAreMultipliedAsF32) {
  expect_sums({24, 40, 24, DType::bf16}, limits_of_a_gpu(false));
  expect_sums({9, 11, 13, DType::f16, true, true}, limits_of_a_gpu(false));
}

TEST(Products, BatchesHaveMatricesOfTheirOwn) {
  for (const DType dtype : kFloats) {
    expect_sums({17, 24, 16, dtype, false, false, 3}, limits_of_a_gpu());
    expect_sums({6, 10, 5, dtype, true, true, 2}, limits_of_a_gpu());
  }
}

TEST(Products, LongSumsOfFewElementsAreTakenInParts) {
  for (const DType dtype : kFloats) {
    const Case c{8, 1500, 16, dtype};
    ASSERT_GT(contract_parts(c.call(), limits_of_a_gpu()), 1);
    expect_sums(c, limits_of_a_gpu());
    expect_sums({3, 1101, 5, dtype, true, true}, limits_of_a_gpu());
  }
}

TEST(Products, StripsThatEndWithTheDepthAreReadWithoutMasks) {
  ir::Limits limits = limits_of_a_gpu();
  limits.scarce_shared = true;
  for (const bool turns_left : kBoth) {
    for (const bool turns_right : kBoth) expect_sums({40, 64, 72, DType::bf16, turns_left, turns_right}, limits);
  }
  expect_sums({33, 41, 21, DType::f16}, limits);  // and those that do not
  expect_sums({40, 8, 24, DType::bf16}, limits);
  const Case in_parts{24, 1152, 16, DType::f16};
  ASSERT_GT(contract_parts(in_parts.call(), limits), 1);
  expect_sums(in_parts, limits);
}

TEST(Products, BiasAndResidualFollowTheSums) {
  for (const DType dtype : kFloats) {
    for (const int64_t depth : {20, 1100}) {
      expect_sums({9, depth, 8, dtype, false, false, 0, true, false}, limits_of_a_gpu());
      expect_sums({9, depth, 7, dtype, false, false, 0, true, true}, limits_of_a_gpu());
    }
  }
}

TEST(Products, NothingToSumIsZero) {
  for (const DType dtype : kFloats) expect_sums({4, 0, 6, dtype}, limits_of_a_gpu());
}

// ---- what is chosen ----

TEST(ProductTiles, PartsFollowFromShapeAndDeviceAlone) {
  const ir::Call call = Case{64, 4096, 64}.call();
  const int64_t parts = contract_parts(call, limits_of_a_gpu());
  EXPECT_GT(parts, 8);
  for (const ContractTile& tile : contract_tiles(call, limits_of_a_gpu())) {
    const codegen::Module made = lower_contract(call, limits_of_a_gpu(), tile);
    ASSERT_EQ(made.dispatches.size(), 2);
    EXPECT_EQ(made.scratch_bytes, static_cast<size_t>(parts) * 64 * 64 * 4);
  }
}

TEST(ProductTiles, EveryProcessorHasWork) {
  const ir::Limits limits = limits_of_a_gpu();
  for (const Case& c : {Case{512, 768, 768}, Case{1024, 1024, 1024}, Case{512, 768, 3072}, Case{512, 512, 512},
                        Case{1024, 1024, 1024, DType::bf16}, Case{2048, 2048, 2048, DType::bf16}}) {
    const codegen::Module made = lower_contract(c.call(), limits);
    EXPECT_GE(made.dispatches[0].blocks[0], 128) << c.rows << " x " << c.depth << " x " << c.columns;
  }
}

TEST(ProductTiles, LargeProductsHaveLargeTiles) {
  const ContractTile of_f32 = contract_tile(Case{4096, 4096, 4096}.call(), limits_of_a_gpu());
  EXPECT_EQ(of_f32.thread_m * of_f32.thread_n, 64);
  const ContractTile of_bf16 = contract_tile(Case{8192, 768, 3072, DType::bf16}.call(), limits_of_a_gpu());
  EXPECT_GE(of_bf16.block_m * of_bf16.block_n, 128 * 128);
}

ir::Limits limits_of_scarce_shared() {
  ir::Limits limits = limits_of_a_gpu();
  limits.scarce_shared = true;
  return limits;
}

TEST(ProductTiles, WhereSharedMemoryIsScarceOneStripIsHeld) {
  const ir::Limits limits = limits_of_scarce_shared();
  const ir::Call many = Case{8192, 768, 3072, DType::bf16}.call();
  const ContractTile tile{128, 128, 32, 64, 64, 128};
  EXPECT_EQ(contract_tile(many, limits), tile);
  const auto words = [&](const ir::Limits& on) {
    return lower_contract(many, on, tile).dispatches[0].kernel.shared[0].count;
  };
  EXPECT_EQ(2 * words(limits), words(limits_of_a_gpu()));
}

TEST(ProductTiles, SumsOverManyRowsFillWholeWavesOfADeviceWithScarceSharedMemory) {
  const ir::Limits limits = limits_of_scarce_shared();
  for (const int64_t columns : {768, 2304, 3072}) {
    const Case c{768, 8192, columns, DType::bf16, true, false};
    const uint64_t blocks = lower_contract(c.call(), limits).dispatches[0].blocks[0];
    const uint64_t wave = uint64_t{limits.processors} * 256 / contract_tile(c.call(), limits).threads;
    EXPECT_GE(blocks, wave * 3 / 4) << columns;
    EXPECT_GE(static_cast<double>(blocks), 0.75 * static_cast<double>((blocks + wave - 1) / wave * wave)) << columns;
  }
  EXPECT_EQ(contract_parts(Case{768, 8192, 3072, DType::bf16, true, false}.call(), limits), 5);
  EXPECT_EQ(contract_parts(Case{768, 8192, 50304, DType::bf16, true, false}.call(), limits), 1);
  EXPECT_EQ(contract_parts(Case{8192, 768, 3072, DType::bf16}.call(), limits), 1);
}

TEST(ProductTiles, ANarrowerTileFillsALastWaveThatWouldBeHalfEmpty) {
  const ir::Limits limits = limits_of_scarce_shared();
  for (const int64_t depth : {768, 3072}) {
    for (const bool turns : kBoth) {
      const ir::Call call = Case{8192, depth, 768, DType::bf16, false, turns}.call();
      EXPECT_EQ(contract_tile(call, limits), (ContractTile{128, 96, 32, 64, 48, 128})) << depth;
      EXPECT_EQ(contract_parts(call, limits), 1) << depth;
    }
  }
  EXPECT_EQ(contract_tile(Case{8192, 768, 2304, DType::bf16}.call(), limits).block_n, 128);
}

// Shaders count shared memory of tiles in vectors of four words; a place that is no whole one would be a wrong one.
TEST(ProductTiles, NarrowOnesBeginAtWholeVectors) {
  for (const bool turns : kBoth) {
    const Case c{8192, 3072, 768, DType::bf16, false, turns};
    const codegen::Module made = lower_contract(c.call(), limits_of_scarce_shared());
    const std::string source = render::render(made.dispatches[0].kernel, render::Language::glsl);
    EXPECT_NE(source.find(turns ? "tile_right(s0[" : "tile_left(s0["), std::string::npos);
    EXPECT_NE(source.find(turns ? ", 5u, 0x30u" : ", 13u, 0x30u"), std::string::npos) << source;
  }
}

// Of subgroups that are no power of two wide.
TEST(Products, TilesOf96ColumnsHaveAllSums) {
  ir::Limits limits = limits_of_scarce_shared();
  limits.processors = 1;
  for (const bool turns_left : kBoth) {
    for (const bool turns_right : kBoth) {
      const Case c{120, 320, 96, DType::bf16, turns_left, turns_right};
      EXPECT_EQ(contract_tile(c.call(), limits).block_n, 96);
      expect_sums(c, limits);
    }
  }
}

TEST(ProductTiles, AreWithinTheDevicesLimits) {
  for (const uint32_t bytes : {16384u, 49152u}) {
    ir::Limits limits = limits_of_a_gpu();
    limits.shared_bytes = bytes;
    limits.max_threads = 256;
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::bf16}) {
      const ir::Call call = Case{300, 300, 300, dtype}.call();
      for (const ContractTile& tile : contract_tiles(call, limits)) {
        for (const codegen::Dispatch& dispatch : lower_contract(call, limits, tile).dispatches) {
          size_t shared = 0;
          for (const codegen::KernelArray& array : dispatch.kernel.shared)
            shared += array.count * codegen::size_of(array.element);
          EXPECT_LE(shared, bytes) << name(dtype) << " " << tile.block_m << " x " << tile.block_n;
          EXPECT_LE(dispatch.kernel.threads, limits.max_threads);
        }
      }
    }
  }
}

TEST(ProductTiles, AChosenOneIsTaken) {
  ir::Call call = Case{512, 512, 512}.call();
  const ir::Limits limits = limits_of_a_gpu();
  const std::vector<ir::Way> all = ways(call, limits);
  ASSERT_EQ(all.size(), contract_tiles(call, limits).size());
  EXPECT_EQ(contract_tile_of(all.front()), contract_tile(call, limits));
  call.way = all.back();
  EXPECT_EQ(lower(call, limits).dispatches[0].kernel.threads, contract_tile_of(all.back()).threads);
}

// Compilers take long over a product: one that is wide and one that is tall are one kernel.
TEST(ProductTiles, ProductsThatDifferBySizesAloneHaveOneText) {
  const auto text_of = [](const Case& c) {
    const codegen::Module made = lower_contract(c.call(), limits_of_a_gpu());
    return render::render(made.dispatches[0].kernel, render::Language::opencl);
  };
  const std::string text = text_of({8192, 768, 3072, DType::bf16});
  EXPECT_EQ(text_of({8192, 3072, 768, DType::bf16}), text);
  EXPECT_EQ(text_of({3072, 768, 8192, DType::bf16}), text);
}

// What follows a sum stands there once, however many rows of tiles a block has.
TEST(ProductTiles, ResultsAreStoredByOneLoop) {
  const codegen::Module made = lower_contract(Case{8192, 768, 3072, DType::bf16}.call(), limits_of_a_gpu());
  size_t stores = 0;
  for (const codegen::Inst& inst : made.dispatches[0].kernel.code) stores += inst.kind == codegen::Inst::Kind::store;
  EXPECT_LE(stores, 2);
}

TEST(ProductTiles, NvrtcCompilesThem) {
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  for (const Case& c :
       {Case{512, 768, 768}, Case{512, 768, 768, DType::bf16}, Case{500, 70, 257, DType::f16, true, true},
        Case{1, 768, 2304, DType::bf16, false, false, 0, true}, Case{1, 768, 50257, DType::bf16, false, true}}) {
    for (const codegen::Dispatch& dispatch : lower_contract(c.call(), limits_of_a_gpu()).dispatches)
      EXPECT_EQ(compile_cuda(nvrtc, render::render(dispatch.kernel, render::Language::cuda)), "");
  }
}

// ---- on OpenCL ----

using kernels_test::OnOpenCl;
using kernels_test::same_bits;
using kernels_test::twice;

// Sums of whole numbers are exact, in whatever order.
TEST_F(OnOpenCl, ProductsOfEveryLayout) {
  for (const auto& [rows, depth, columns] : {std::array<int64_t, 3>{33, 50, 29}, {64, 300, 36}, {7, 16, 40}}) {
    const auto a = twice(5, {rows, depth}), b = twice(4, {depth, columns});
    const auto left = twice(5, {depth, rows}), right = twice(4, {columns, depth});
    EXPECT_TRUE(same_bits(matmul(a.opencl, b.opencl), matmul(a.cpu, b.cpu)));
    EXPECT_TRUE(same_bits(matmul(left.opencl.t(), b.opencl), matmul(left.cpu.t(), b.cpu)));
    EXPECT_TRUE(same_bits(matmul(a.opencl, right.opencl.t()), matmul(a.cpu, right.cpu.t())));
    EXPECT_TRUE(same_bits(matmul(left.opencl.t(), right.opencl.t()), matmul(left.cpu.t(), right.cpu.t())));
  }
}

TEST_F(OnOpenCl, ProductsInPartsAndBatches) {
  const auto a = twice(3, {8, 2000}), b = twice(3, {2000, 12});
  EXPECT_TRUE(same_bits(matmul(a.opencl, b.opencl), matmul(a.cpu, b.cpu)));
  const auto c = twice(3, {3, 20, 33}), d = twice(3, {3, 33, 18});
  EXPECT_TRUE(same_bits(matmul(c.opencl, d.opencl), matmul(c.cpu, d.cpu)));
}

}  // namespace
}  // namespace tenon::kernels
