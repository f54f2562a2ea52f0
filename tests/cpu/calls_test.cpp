// contiguous, store, gather, scatter_add, sort and scan against the reference.

#include <cmath>
#include <cstring>
#include <limits>

#include "calls_support.h"
#include "tenon/backends/cpu/scratch.h"
#include "tenon/backends/cpu/tile/targets.h"
#include "tenon/base/error.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u8};

void expect_contiguous(const Given& from) {
  expect_as_reference(call_of(ir::Op::contiguous, {}, {from}, {{from.dtype(), from.shape()}}), {from}, 0);
}

TEST(Contiguous, EveryDtype) {
  for (const DType dtype : kAllDTypes) expect_contiguous(given(dtype, {37, 53}, {permuted({1, 0})}));
}

TEST(Contiguous, TransposedMatrices) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 9}, {3, 2}, {16, 16}, {64, 64}, {65, 130}, {300, 257}}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::u8})
      expect_contiguous(given(dtype, {rows, columns}, {permuted({1, 0})}));
  }
}

TEST(Contiguous, EveryInstructionSetTransposes) {
  for (const std::string_view target : tile_targets()) {
    use_tile_target(target);
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::u8})
      expect_contiguous(given(dtype, {130, 67}, {permuted({1, 0})}));
  }
  use_tile_target("");
}

TEST(Contiguous, PermutationsOfFourAxes) {
  for (const Dims& axes : {Dims{0, 2, 1, 3}, Dims{0, 2, 3, 1}, Dims{3, 2, 1, 0}, Dims{1, 0, 3, 2}, Dims{2, 3, 0, 1}})
    expect_contiguous(given(DType::f32, {4, 9, 20, 17}, {permuted(axes)}));
}

TEST(Contiguous, BroadcastSlicedFlippedPaddedAndRegrouped) {
  expect_contiguous(given(DType::f32, {7, 1}, {expanded({7, 300})}));
  expect_contiguous(given(DType::f32, {1, 300}, {expanded({70, 300})}));
  expect_contiguous(given(DType::f32, {1}, {expanded({9})}));
  expect_contiguous(given(DType::f32, {40, 50}, {cut({3, 1}, {12, 16}, {3, 3})}));
  expect_contiguous(given(DType::f32, {40, 50}, {flipped({1})}));
  expect_contiguous(given(DType::f32, {40, 50}, {flipped({0}), permuted({1, 0})}));
  expect_contiguous(given(DType::f32, {40, 50}, {padded({2, 0}, {0, 3})}));
  expect_contiguous(given(DType::f32, {4, 5}, {padded({2, 0}, {0, 3}), cut({0, 5}, {2, 3}, {1, 1})}));  // padding only
  expect_contiguous(given(DType::f32, {6, 30, 8}, {permuted({1, 0, 2}), reshaped({30, 48})}));
  expect_contiguous(
      given(DType::f32, {6, 30}, {permuted({1, 0}), reshaped({180}), padded({1}, {4}), reshaped({5, 37})}));
  expect_contiguous(given(DType::f32, {6, 30}, {permuted({1, 0}), reshaped({20, 9}), permuted({1, 0})}));
  expect_contiguous(
      given(DType::f32, {1, 30}, {expanded({400, 30}), permuted({1, 0}), reshaped({12000}), cut({7}, {5}, {2})}));
}

TEST(Contiguous, NothingAndOneElement) {
  expect_contiguous(given(DType::f32, {0, 3}));
  expect_contiguous(given(DType::f32, {3, 0}, {permuted({1, 0})}));
  expect_contiguous(given(DType::i64, {}));
}

// ---- store ----

ir::Call store_of(const Given& base, const Given& value, std::vector<ir::Move> target) {
  return call_of(ir::Op::store, ir::StoreAttrs{std::move(target)}, {base, value}, {{base.dtype(), base.shape()}});
}

void expect_stored(const Given& base, const Given& value, const std::vector<ir::Move>& target) {
  expect_as_reference(store_of(base, value, target), {base, value}, 0);
}

TEST(Store, IntoEveryKindOfTarget) {
  const Given base = given(DType::f32, {40, 50});
  expect_stored(base, given(DType::f32, {40, 50}, {}, 2), {});
  expect_stored(base, given(DType::f32, {10, 50}, {}, 2), {cut({5, 0}, {10, 50}, {1, 1})});
  expect_stored(base, given(DType::f32, {10, 7}, {}, 2), {cut({5, 3}, {10, 7}, {2, 5})});
  expect_stored(base, given(DType::f32, {50, 40}, {}, 2), {permuted({1, 0})});
  expect_stored(base, given(DType::f32, {40, 50}, {flipped({0})}, 2), {flipped({1})});
  expect_stored(base, given(DType::f32, {1, 1}, {expanded({40, 50})}, 2), {});
  expect_stored(base, given(DType::f32, {2000}, {}, 2), {permuted({1, 0}), reshaped({2000})});
  expect_stored(base, given(DType::f32, {0, 50}, {}, 2), {cut({5, 0}, {0, 50}, {1, 1})});
  expect_stored(given(DType::f32, {50, 40}, {permuted({1, 0})}), given(DType::f32, {40, 50}, {}, 2), {});
}

TEST(Store, EveryDtype) {
  for (const DType dtype : kAllDTypes)
    expect_stored(given(dtype, {9, 8}), given(dtype, {3, 8}, {}, 2), {cut({1, 0}, {3, 8}, {2, 1})});
}

TEST(Store, IntoItsOwnBaseWritesOnlyTheTarget) {
  const Given base = given(DType::f32, {8, 4}), value = given(DType::f32, {2, 4}, {}, 2);
  const ir::Call call = store_of(base, value, {cut({3, 0}, {2, 4}, {1, 1})});
  Bytes memory = base.bytes, from = value.bytes;
  std::byte* args[] = {memory.data(), from.data(), memory.data()};
  compile_call(call)->run({args});
  EXPECT_EQ(memory, run_on_reference(call, {base, value})[0]);
}

// ---- gather and scatter_add ----

Given indices(const Dims& shape, int64_t below, DType dtype = DType::i64) {
  std::vector<double> values;
  for (int64_t i = 0; i < ir::count(shape); ++i)
    values.push_back(static_cast<double>((i * i * 31 + i * 7 + 3) % below));
  return exactly(dtype, shape, values);
}

Dims gathered(const Dims& source, const Dims& index, int64_t axis) {
  Dims shape(source.begin(), source.begin() + axis);
  for (int64_t size : index) shape.push_back(size);
  for (auto i = static_cast<size_t>(axis) + 1; i < source.size(); ++i) shape.push_back(source[i]);
  return shape;
}

void expect_gathered(const Given& source, const Given& index, int64_t axis) {
  const ir::Type out{source.dtype(), gathered(source.shape(), index.shape(), axis)};
  expect_as_reference(call_of(ir::Op::gather, ir::AxisAttrs{axis}, {source, index}, {out}), {source, index}, 0);
}

TEST(Gather, AlongEveryAxis) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    for (const DType index : {DType::i32, DType::i64})
      expect_gathered(given(DType::f32, {11, 12, 13}), indices({4, 5}, 11, index), axis);
  }
}

TEST(Gather, EveryDtype) {
  for (const DType dtype : kAllDTypes) {
    expect_gathered(given(dtype, {20, 8}), indices({30}, 20), 0);
    expect_gathered(given(dtype, {8, 20}), indices({30}, 20), 1);
  }
}

TEST(Gather, FromViewsAndThroughViews) {
  expect_gathered(given(DType::f32, {12, 20}, {permuted({1, 0})}), indices({9}, 20), 0);
  expect_gathered(given(DType::f32, {6, 5, 20}, {permuted({2, 0, 1})}), indices({9}, 20), 0);
  expect_gathered(given(DType::f32, {6, 20, 5}, {permuted({2, 0, 1})}), indices({9}, 5), 0);
  expect_gathered(given(DType::f32, {1, 12}, {expanded({20, 12})}), indices({9}, 20), 0);
  expect_gathered(given(DType::f32, {18, 12}, {padded({1, 0}, {1, 0})}), indices({9}, 20), 0);
  Given index = indices({6, 4}, 20);
  index.operand.map.apply(permuted({1, 0}));
  expect_gathered(given(DType::f32, {20, 12}), index, 0);
  expect_gathered(given(DType::f32, {1000, 96}), indices({40, 50}, 1000), 0);  // enough for threads
}

TEST(Gather, Empty) {
  expect_gathered(given(DType::f32, {5, 3}), indices({0}, 1), 0);
  expect_gathered(given(DType::f32, {5, 0}), indices({4}, 5), 0);
  expect_gathered(given(DType::f32, {0, 5}), indices({4}, 5), 1);
}

void expect_scattered(const Given& base, const Given& index, const Given& value, int64_t axis, double slack = 4) {
  const ir::Call call =
      call_of(ir::Op::scatter_add, ir::AxisAttrs{axis}, {base, index, value}, {{base.dtype(), base.shape()}});
  expect_as_reference(call, {base, index, value}, slack);
}

TEST(ScatterAdd, AlongEveryAxis) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Given base = given(DType::f32, {11, 12, 13}), index = indices({4, 5}, 11, DType::i32);
    expect_scattered(base, index, given(DType::f32, gathered(base.shape(), index.shape(), axis), {}, 2), axis);
  }
}

TEST(ScatterAdd, EveryDtypeWithRepeatedIndices) {
  for (const DType dtype : kNumbers) {
    for (const int64_t width : {1, 3, 40}) {
      const Given index = indices({70}, 9);
      expect_scattered(given(dtype, {9, width}), index, given(dtype, {70, width}, {}, 2), 0, 40);
    }
  }
}

TEST(ScatterAdd, LargeEnoughForThreadsAndRadixSort) {
  expect_scattered(given(DType::f32, {700, 64}), indices({1500}, 700), given(DType::f32, {1500, 64}, {}, 2), 0);
  expect_scattered(given(DType::f32, {700}), indices({50000}, 700), given(DType::f32, {50000}, {}, 2), 0, 40);
  expect_scattered(given(DType::bf16, {70}), indices({50000}, 70), given(DType::bf16, {50000}, {}, 2), 0, 40);
}

TEST(ScatterAdd, ViewsAndNothing) {
  expect_scattered(given(DType::f32, {30, 20}, {permuted({1, 0})}), indices({7}, 20),
                   given(DType::f32, {1, 1}, {expanded({7, 30})}, 2), 0);
  expect_scattered(given(DType::f32, {5, 3}), indices({0}, 1), given(DType::f32, {0, 3}), 0);
}

TEST(Indices, OutOfRangeIsNamedBeforeAnythingIsWritten) {
  const Given source = given(DType::f32, {5, 3}), value = given(DType::f32, {3, 3});
  const auto message = [&](const ir::Call& call, const std::vector<Given>& inputs) -> std::string {
    std::vector<Bytes> memory;
    std::vector<std::byte*> args;
    for (const Given& input : inputs) memory.push_back(input.bytes);
    memory.emplace_back(5 * 3 * 4);
    for (Bytes& bytes : memory) args.push_back(bytes.data());
    try {
      compile_call(call)->run({args});
    } catch (const Error& error) {
      EXPECT_EQ(memory.back(), Bytes(5 * 3 * 4));
      return error.what();
    }
    return "no error";
  };
  const Given high = exactly(DType::i64, {3}, {1, 7, 9}), low = exactly(DType::i32, {3}, {4, 0, -1});
  EXPECT_EQ(message(call_of(ir::Op::gather, ir::AxisAttrs{0}, {source, high}, {{DType::f32, {3, 3}}}), {source, high}),
            "[gather] index 7 is out of range for axis 0 of size 5");
  EXPECT_EQ(message(call_of(ir::Op::gather, ir::AxisAttrs{1}, {source, low}, {{DType::f32, {5, 3}}}), {source, low}),
            "[gather] index 4 is out of range for axis 1 of size 3");
  EXPECT_EQ(message(call_of(ir::Op::scatter_add, ir::AxisAttrs{0}, {source, low, value}, {{DType::f32, {5, 3}}}),
                    {source, low, value}),
            "[scatter_add] index -1 is out of range for axis 0 of size 5");
}

// ---- sort and scan ----

void expect_sorted(const Given& from, int64_t axis) {
  for (const bool descending : {false, true}) {
    const ir::Call call = call_of(ir::Op::sort, ir::SortAttrs{axis, descending}, {from},
                                  {{from.dtype(), from.shape()}, {DType::i64, from.shape()}});
    expect_as_reference(call, {from}, 0);
  }
}

TEST(Sort, EveryDtypeAndAxis) {
  for (const DType dtype : kAllDTypes) {
    for (int64_t axis = 0; axis < 3; ++axis) expect_sorted(given(dtype, {5, 40, 6}), axis);
  }
}

TEST(Sort, LongLines) {
  for (const DType dtype : kAllDTypes) {
    expect_sorted(given(dtype, {2, 3000}), 1);
    expect_sorted(given(dtype, {20000}), 0);  // by wider digits
  }
}

TEST(Sort, NanAndSignedZerosAndInfinities) {
  const double nan = NAN, inf = INFINITY;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    expect_sorted(exactly(dtype, {12}, {0.0, nan, -0.0, inf, -1, nan, -inf, 0.0, -0.0, 2, -2, 1e-7}), 0);
    std::vector<double> many;
    for (int i = 0; i < 600; ++i) many.push_back(i % 7 == 0 ? nan : i % 5 == 0 ? -0.0 : (i * 37 % 100) - 50);
    expect_sorted(exactly(dtype, {600}, many), 0);
  }
}

TEST(Sort, ViewsAndNothing) {
  expect_sorted(given(DType::f32, {30, 20}, {permuted({1, 0})}), 0);
  expect_sorted(given(DType::f32, {0, 3}), 0);
  expect_sorted(given(DType::f32, {3, 0}), 1);
  expect_sorted(given(DType::f32, {1}), 0);
}

void expect_scanned(const Given& from, int64_t axis, double slack = 2) {
  for (const ir::ScanKind kind : {ir::ScanKind::sum, ir::ScanKind::prod, ir::ScanKind::max}) {
    const ir::Call call = call_of(ir::Op::scan, ir::ScanAttrs{axis, kind}, {from}, {{from.dtype(), from.shape()}});
    expect_as_reference(call, {from}, slack);
  }
}

TEST(Scan, EveryDtypeAndAxis) {
  for (const DType dtype : kNumbers) {
    for (int64_t axis = 0; axis < 3; ++axis) expect_scanned(given(dtype, {5, 40, 150}), axis);
  }
}

TEST(Scan, LongLinesViewsAndNothing) {
  expect_scanned(given(DType::f32, {3, 30000}), 1);
  expect_scanned(given(DType::f32, {30, 20}, {permuted({1, 0})}), 0);
  expect_scanned(given(DType::i32, {1, 20}, {expanded({9, 20})}), 0);
  expect_scanned(given(DType::f32, {0, 3}), 0);
  expect_scanned(given(DType::f32, {3, 0}), 1);
}

// ---- what they stand on ----

TEST(CompileCall, RefusesOtherOps) {
  const Given x = given(DType::f32, {3});
  EXPECT_THROW(compile_call(call_of(ir::Op::exp, {}, {x}, {{DType::f32, {3}}})), Error);
}

TEST(Scratch, LargeBlocksAreNotKept) {
  const size_t before = idle_scratch_bytes();
  { const Scratch large(size_t{200} << 20); }
  EXPECT_LE(idle_scratch_bytes(), before);
}

TEST(Scratch, BlocksAreAlignedAndUsedAgain) {
  std::byte* first = nullptr;
  {
    const Scratch one(50000), other(50000);
    EXPECT_NE(one.data(), other.data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(one.data()) % 64, 0u);
    first = one.data();
  }
  const Scratch one(50000), other(50000);
  EXPECT_TRUE(one.data() == first || other.data() == first);
}

TEST(Parallel, CoversEveryIndexOnce) {
  for (const int count : {1, 2, 7}) {
    const Threads threads(count);
    for (const int64_t n : {0, 1, 5, 1000}) {
      std::vector<int> hits(static_cast<size_t>(n));
      base::parallel_for(n, 10, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      base::parallel_tasks(n, [&](int64_t i) { ++hits[static_cast<size_t>(i)]; });
      EXPECT_EQ(hits, std::vector<int>(static_cast<size_t>(n), 2));
    }
  }
}

TEST(Parallel, RethrowsAndNests) {
  const Threads threads(3);
  EXPECT_THROW(base::parallel_tasks(10,
                                    [](int64_t i) {
                                      if (i == 4) base::fail("test", "stop");
                                    }),
               Error);
  std::vector<int> hits(100);
  base::parallel_tasks(10, [&](int64_t i) {
    base::parallel_for(10, 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) ++hits[static_cast<size_t>(10 * i + j)];
    });
  });
  EXPECT_EQ(hits, std::vector<int>(100, 1));
  EXPECT_THROW(base::set_num_threads(0), Error);
}

}  // namespace
}  // namespace tenon::backends::cpu
