// contract against the reference: shapes, layouts, dtypes, engines.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "calls_support.h"
#include "tenon/backends/cpu/matmul/amx.h"
#include "tenon/backends/cpu/matmul/arm.h"
#include "tenon/backends/cpu/matmul/matmul.h"
#include "tenon/backends/cpu/tile/targets.h"

namespace tenon::backends::cpu {
namespace {

ir::Call contract_of(const Given& a, const Given& b, DType result) {
  Dims shape = a.shape();
  shape[shape.size() - 1] = b.shape().back();
  return call_of(ir::Op::contract, ir::ContractAttrs{result}, {a, b}, {{result, shape}});
}

void expect_product(const Given& a, const Given& b, DType result, double slack = 40) {
  expect_as_reference(contract_of(a, b, result), {a, b}, slack);
}

TEST(Contract, OddShapes) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {1, 7, 5},
                                                                   {2, 3, 1},
                                                                   {3, 300, 17},
                                                                   {5, 8, 13},
                                                                   {7, 1, 12},
                                                                   {8, 257, 16},
                                                                   {31, 33, 37},
                                                                   {100, 70, 50},
                                                                   {9, 513, 100}}) {
    SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
    expect_product(given(DType::f32, {m, k}), given(DType::f32, {k, n}, {}, 2), DType::f32);
  }
}

TEST(Contract, LargeEnoughForThreadsAndBlocks) {
  expect_product(given(DType::f32, {300, 280}), given(DType::f32, {280, 530}, {}, 2), DType::f32, 80);
  expect_product(given(DType::f32, {2, 600}), given(DType::f32, {600, 1500}, {}, 2), DType::f32, 80);
  expect_product(given(DType::f32, {1500, 600}), given(DType::f32, {600, 1}, {}, 2), DType::f32, 80);
}

TEST(Contract, EmptyOperands) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}})
    expect_product(given(DType::f32, {m, k}), given(DType::f32, {k, n}), DType::f32);
  expect_product(given(DType::bf16, {0, 2, 3}), given(DType::bf16, {0, 3, 4}), DType::f32);
  expect_product(given(DType::i64, {2, 0}), given(DType::i64, {0, 4}), DType::i64);
}

// The views through which matmul and its gradients look at (m, k).
std::vector<Given> layouts(DType dtype, int64_t m, int64_t k, uint64_t seed) {
  return {
      given(dtype, {m, k}, {}, seed),
      given(dtype, {k, m}, {permuted({1, 0})}, seed),
      given(dtype, {m + 3, 2 * k + 1}, {cut({2, 1}, {m, k}, {1, 2})}, seed),
      given(dtype, {1, k}, {expanded({m, k})}, seed),
      given(dtype, {m, 1}, {expanded({m, k})}, seed),
      given(dtype, {m, k}, {flipped({0, 1})}, seed),
      given(dtype, {m - 2, k - 1}, {padded({1, 0}, {1, 1})}, seed),
      given(dtype, {k, m}, {permuted({1, 0}), reshaped({m * k}), reshaped({m, k})}, seed),
  };
}

TEST(Contract, EveryLayoutOfBothOperands) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Given& a : layouts(dtype, 19, 23, 1)) {
      for (const Given& b : layouts(dtype, 23, 30, 2)) expect_product(a, b, dtype);
    }
  }
}

TEST(Contract, EveryDtypeAndResult) {
  const DType floats[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
  for (const DType in : floats) {
    for (const DType out : floats) expect_product(given(in, {21, 40}), given(in, {40, 26}, {}, 2), out);
  }
  for (const DType in : {DType::i32, DType::i64, DType::u8}) {
    for (const DType out : {DType::i32, DType::i64, DType::u8, DType::f32, DType::f64})
      expect_product(given(in, {21, 40}), given(in, {26, 40}, {permuted({1, 0})}, 2), out);
  }
}

TEST(Contract, IntegersWrapAround) {
  const Given a = exactly(DType::i32, {1, 2}, {2147483647, 5}), b = exactly(DType::i32, {2, 1}, {3, 1});
  expect_product(a, b, DType::i32);
}

TEST(Contract, Batches) {
  expect_product(given(DType::f32, {2, 3, 9, 20}), given(DType::f32, {2, 3, 20, 11}, {}, 2), DType::f32);
  // One right operand for all, with rows that go on evenly, and with rows that do not.
  const Given weights = given(DType::f32, {1, 1, 20, 11}, {expanded({2, 3, 20, 11})}, 2);
  expect_product(given(DType::f32, {2, 3, 9, 20}), weights, DType::f32);
  expect_product(given(DType::f32, {2, 9, 3, 20}, {permuted({0, 2, 1, 3})}), weights, DType::f32);
  expect_product(given(DType::f32, {2, 3, 1, 20}), weights, DType::f32);
  // One left operand for all, and batches of vectors.
  expect_product(given(DType::f32, {1, 9, 20}, {expanded({6, 9, 20})}), given(DType::f32, {6, 20, 11}, {}, 2),
                 DType::f32);
  expect_product(given(DType::f32, {6, 9, 20}), given(DType::f32, {6, 20, 1}, {}, 2), DType::f32);
  expect_product(given(DType::bf16, {64, 5, 20}), given(DType::bf16, {64, 20, 7}, {}, 2), DType::bf16);
}

// The gates of a GRU are three: whole ones would leave one of two threads idle for a third of the time.
TEST(Contract, ThreadsShareBatchesEvenly) {
  const auto rectangles = [](int64_t batches, int threads) {
    const Threads some(threads);
    const Given a = given(DType::f32, {batches, 32, 256}), b = given(DType::f32, {batches, 256, 256}, {}, 2);
    const ir::Call call = contract_of(a, b, DType::f32);
    const std::unique_ptr<CallKernel> kernel = compile_contract_with(call, MatmulEngine::own);
    Bytes result(static_cast<size_t>(batches * 32 * 256) * sizeof(float));
    std::atomic<int64_t> count = 0, elements = 0;
    const Finished finished = [&](int64_t, int64_t rows, int64_t, int64_t columns) {
      ++count;
      elements += rows * columns;
    };
    dynamic_cast<const ContractKernel&>(*kernel).multiply(a.bytes.data(), b.bytes.data(), result.data(), nullptr,
                                                          &finished);
    EXPECT_EQ(elements, batches * 32 * 256);
    return count.load();
  };
  EXPECT_EQ(rectangles(4, 2), 4);
  EXPECT_EQ(rectangles(3, 2), 6);
  EXPECT_EQ(rectangles(3, 16), 15);
}

// A transposed operand and its copy must give the same bits, or results would depend on what the planner copies.
TEST(Contract, BitsDoNotDependOnLayout) {
  const Given turned = given(DType::f32, {300, 70}, {permuted({1, 0})});
  const Bytes copied = run_on_cpu(call_of(ir::Op::contiguous, {}, {turned}, {{DType::f32, {70, 300}}}), {turned})[0];
  const Given copy{{DType::f32, ir::IndexMap(Dims{70, 300})}, copied};
  const Given right = given(DType::f32, {300, 45}, {}, 2);
  EXPECT_EQ(run_on_cpu(contract_of(turned, right, DType::f32), {turned, right}),
            run_on_cpu(contract_of(copy, right, DType::f32), {copy, right}));
  const auto with_vectors = [&](const Given& left) {
    const ir::Call call = contract_of(left, right, DType::f32);
    return run(*compile_contract_with(call, MatmulEngine::own), call, {left, right})[0];
  };
  const Bytes whole = with_vectors(turned);
  for (int64_t row : {0, 33, 69}) {  // a single row takes another kernel
    Given one = turned;
    one.operand.map.apply(cut({row, 0}, {1, 300}, {1, 1}));
    const Bytes part = with_vectors(one);
    const auto begin = whole.begin() + row * 45 * 4;
    EXPECT_EQ(part, Bytes(begin, begin + 45 * 4));
  }
}

// Small products are read where they lie, larger ones are packed.
TEST(Contract, SmallProductsHaveTheBitsOfTheWhole) {
  const auto lying = [](DType dtype, const Dims& shape, bool by_columns, uint64_t seed) {
    const Given by_rows = given(dtype, shape, {}, seed);
    if (!by_columns) return by_rows;
    Given turned = by_rows;
    turned.operand.map.apply(permuted({1, 0}));
    const Dims columns{shape[1], shape[0]};
    Given made{{dtype, ir::IndexMap(columns)},
               run_on_cpu(call_of(ir::Op::contiguous, {}, {turned}, {{dtype, columns}}), {turned})[0]};
    made.operand.map.apply(permuted({1, 0}));
    return made;
  };
  constexpr int64_t kDepth = 64, kColumns = 400;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto bytes = static_cast<int64_t>(size_of(dtype));
    const Given left = given(dtype, {37, kDepth}), right = given(dtype, {kDepth, kColumns}, {}, 2);
    const Bytes whole = run_on_cpu(contract_of(left, right, dtype), {left, right})[0];
    for (const int64_t columns : {64, 36, 8}) {
      for (const bool left_turned : {false, true}) {
        for (const bool right_turned : {false, true}) {
          const Given rows = lying(dtype, {37, kDepth}, left_turned, 1);
          Given some = lying(dtype, {kDepth, kColumns}, right_turned, 2);
          some.operand.map.apply(cut({0, 0}, {kDepth, columns}, {1, 1}));
          const Bytes part = run_on_cpu(contract_of(rows, some, dtype), {rows, some})[0];
          for (int64_t row = 0; row < 37; ++row) {
            const auto begin = whole.begin() + row * kColumns * bytes;
            EXPECT_TRUE(std::equal(begin, begin + columns * bytes, part.begin() + row * columns * bytes))
                << columns << " columns, row " << row;
          }
        }
      }
    }
  }
}

TEST(Contract, FewRowsTimesTurnedColumnsHaveTheBitsOfTheWhole) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Given right = given(dtype, {77, 700}, {permuted({1, 0})}, 2);  // (700, 77)
    const Given rows = given(dtype, {9, 700});
    const Bytes whole = run_on_cpu(contract_of(rows, right, dtype), {rows, right})[0];
    for (int64_t count : {1, 2, 3}) {
      Given few = rows;
      few.operand.map.apply(cut({4, 0}, {count, 700}, {1, 1}));
      const auto row = static_cast<int64_t>(77 * size_of(dtype));
      EXPECT_EQ(run_on_cpu(contract_of(few, right, dtype), {few, right})[0],
                Bytes(whole.begin() + 4 * row, whole.begin() + (4 + count) * row));
    }
  }
}

// Threads share the inner dimension of few rows.
TEST(Contract, FewRowsHaveTheSameBitsWithAnyThreads) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Given right = given(dtype, {1700, 431}, {}, 2);
    for (int64_t count : {1, 2, 3}) {
      const Given rows = given(dtype, {count, 1700});
      expect_product(rows, right, dtype);
      const ir::Call call = contract_of(rows, right, dtype);
      const Threads many(5);
      const Results results = run_on_cpu(call, {rows, right});
      const Threads one(1);
      EXPECT_EQ(run_on_cpu(call, {rows, right}), results);
    }
    const Given column = given(dtype, {1700, 1});
    const Given left = given(dtype, {1700, 431}, {permuted({1, 0})}, 2);
    expect_product(left, column, dtype);
  }
}

TEST(Contract, EveryInstructionSet) {
  for (const std::string_view target : tile_targets()) {
    SCOPED_TRACE(target);
    use_tile_target(target);
    expect_product(given(DType::f32, {33, 300}), given(DType::f32, {45, 300}, {permuted({1, 0})}, 2), DType::f32);
    expect_product(given(DType::f16, {300, 13}, {permuted({1, 0})}), given(DType::f16, {300, 45}, {}, 2), DType::f16);
    expect_product(given(DType::f64, {33, 30}), given(DType::f64, {30, 45}, {}, 2), DType::f64);
  }
  use_tile_target("");
}

void expect_engine_agrees(MatmulEngine engine, const std::vector<std::pair<DType, DType>>& dtypes) {
  for (const auto& [in, out] : dtypes) {
    const std::vector<std::pair<Given, Given>> operands = {
        {given(in, {70, 33}), given(in, {33, 50}, {}, 2)},
        {given(in, {33, 70}, {permuted({1, 0})}), given(in, {50, 33}, {permuted({1, 0})}, 2)},
        {given(in, {64, 96}), given(in, {96, 128}, {}, 2)},
        {given(in, {2, 9, 3, 20}, {permuted({0, 2, 1, 3})}), given(in, {1, 1, 20, 11}, {expanded({2, 3, 20, 11})}, 2)},
        {given(in, {140, 190}), given(in, {190, 340}, {}, 2)},
        {given(in, {33, 1100}), given(in, {1100, 47}, {}, 2)},
        {given(in, {300, 600}), given(in, {600, 300}, {}, 2)},
        {given(in, {70, 1500}, {permuted({1, 0})}), given(in, {70, 96}, {}, 2)},
        {given(in, {1100, 500}, {permuted({1, 0})}), given(in, {1100, 96}, {}, 2)},
        {given(in, {3301, 160}, {permuted({1, 0})}), given(in, {3301, 41}, {}, 2)},
        {given(in, {2, 160, 3301}), given(in, {2, 3301, 41}, {}, 2)},
    };
    for (const auto& [a, b] : operands) {
      const ir::Call call = contract_of(a, b, out);
      const auto kernel = compile_contract_with(call, engine);
      const Results results = run(*kernel, call, {a, b});
      expect_close(call, results, run_on_reference(call, {a, b}), 60);
      const Threads one(1);
      EXPECT_EQ(run(*compile_contract_with(call, engine), call, {a, b}), results);
    }
  }
}

TEST(Contract, OneDnnAgrees) {
  if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
  expect_engine_agrees(MatmulEngine::onednn,
                       {{DType::f32, DType::f32}, {DType::bf16, DType::f32}, {DType::bf16, DType::bf16}});
}

TEST(Contract, TheMatrixUnitsAgree) {
  if (!has_amx()) GTEST_SKIP() << "this machine has no AMX";
  expect_engine_agrees(MatmulEngine::amx, {{DType::bf16, DType::f32}, {DType::bf16, DType::bf16}});
}

// Rounded sums and what a product packs lie side by side in memory that it is given.
TEST(Contract, SumsThatAreRoundedAgreeOnEveryEngine) {
  const std::vector<std::pair<Given, Given>> operands = {
      {given(DType::bf16, {160, 3301}), given(DType::bf16, {3301, 41}, {}, 2)},
      {given(DType::bf16, {2, 160, 3301}), given(DType::bf16, {2, 3301, 41}, {}, 2)},
  };
  for (const auto& [a, b] : operands) {
    ir::Call call = contract_of(a, b, DType::bf16);
    const Results expected = run_on_reference(call, {a, b});
    call.attrs = ir::ContractAttrs{DType::f32};
    for (const MatmulEngine engine : {MatmulEngine::own, MatmulEngine::onednn, MatmulEngine::amx}) {
      const auto kernel = compile_contract_with(call, engine);
      EXPECT_GE(kernel->scratch_bytes(), static_cast<size_t>(ir::count(call.outputs[0].shape)) * sizeof(float));
      expect_close(call, run(*kernel, call, {a, b}), expected, 60);
    }
  }
}

TEST(Contract, WhatThreadsShareForTheMatrixUnitsIsPackedInGivenMemory) {
  if (!has_amx()) GTEST_SKIP() << "this machine has no AMX";
  const Given a = given(DType::bf16, {3301, 160}, {permuted({1, 0})}), b = given(DType::bf16, {3301, 41}, {}, 2);
  const ir::Call call = contract_of(a, b, DType::f32);
  const size_t tiles = 10 * 104;  // of 16 rows by 32 elements of k
  EXPECT_EQ(compile_contract_with(call, MatmulEngine::amx)->scratch_bytes(), tiles * 16 * 32 * 2);
}

TEST(Contract, MatrixInstructionsAgree) {
  if (!has_bf16_products()) GTEST_SKIP() << "this machine has no BFMMLA";
  expect_engine_agrees(MatmulEngine::automatic, {{DType::bf16, DType::f32}, {DType::bf16, DType::bf16}});
}

// Of its row alone; large and small numbers keep their results.
TEST(Contract, AnInfinityChangesItsRow) {
  constexpr int64_t kSize = 96;
  const auto matrix = [](float fill) { return std::vector<float>(kSize * kSize, fill); };
  const auto as_given = [](const std::vector<float>& values) {
    Bytes bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return Given{{DType::f32, ir::IndexMap(Dims{kSize, kSize})}, std::move(bytes)};
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLarge = std::numeric_limits<float>::max();
  std::vector<float> a = matrix(1), b = matrix(0.5f);
  a[1 * kSize + 3] = kInfinity;
  a[40 * kSize + 3] = -kInfinity;
  a[50 * kSize + 7] = std::numeric_limits<float>::quiet_NaN();
  a[60 * kSize + 9] = kLarge;
  for (int64_t k = 0; k < kSize; ++k) a[70 * kSize + k] = 1e-30f * static_cast<float>(k + 1);
  const Given left = as_given(a), right = as_given(b);
  const ir::Call call = contract_of(left, right, DType::f32);
  const Bytes bytes = run(*compile_contract_with(call, MatmulEngine::automatic), call, {left, right})[0];
  std::vector<float> c(kSize * kSize);
  std::memcpy(c.data(), bytes.data(), bytes.size());
  for (int64_t j = 0; j < kSize; ++j) {
    EXPECT_EQ(c[0 * kSize + j], 48);
    EXPECT_EQ(c[1 * kSize + j], kInfinity);
    EXPECT_EQ(c[40 * kSize + j], -kInfinity);
    EXPECT_TRUE(std::isnan(c[50 * kSize + j]));
    EXPECT_EQ(c[60 * kSize + j], kLarge / 2);
    EXPECT_NEAR(c[70 * kSize + j], 0.5 * 1e-30 * kSize * (kSize + 1) / 2, 1e-33);
  }
}

}  // namespace
}  // namespace tenon::backends::cpu
