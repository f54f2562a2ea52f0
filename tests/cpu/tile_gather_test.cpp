// Rows and elements of tables looked up inside kernels: the bits of a gather of its own, and its errors.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/base/parallel.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;
using Results = std::vector<Tensor>;
using View = std::function<Tensor(const Tensor&)>;

/// The cpu without a gather of its own.
Device looking() {
  static const Device device = device::add({"looking_cpu", [] {
                                              ir::Limits limits;
                                              limits.missing_calls = {ir::Op::gather};
                                              return backends::cpu::open_with(limits);
                                            }});
  return device;
}

size_t launches_of(auto&& action) {
  const size_t before = exec::stats().launches;
  action();
  return exec::stats().launches - before;
}

Tensor gathered(const Tensor& table, const Tensor& index, size_t axis) {
  return tensor_of(ir::gather(value_of(table), value_of(index), axis));
}

Tensor numbers(const Dims& shape, DType dtype) {
  if (is_float(dtype)) return randn(shape).to(dtype).eval();
  return randint(0, dtype == DType::boolean ? 2 : 100, shape).to(dtype).eval();
}

std::vector<Bytes> bytes_of(const Results& results) {
  std::vector<Bytes> all;
  for (const Tensor& result : results) all.push_back(result.to_bytes());
  return all;
}

Tensor same(const Tensor& x) { return x; }

struct Lookup {
  std::string name;
  Dims table, index;
  size_t axis;
  View table_seen = same, index_seen = same, result_seen = same;
};
void PrintTo(const Lookup& lookup, std::ostream* out) { *out << lookup.name; }  // NOLINT: GoogleTest's name

// What kernels make of picked elements: computed with, folded along rows and columns, and both at once.
Results made_of(const Tensor& picked) {
  const bool is_number = picked.dtype() != DType::boolean;
  const Tensor x = is_number ? picked : picked.to(DType::i32);
  Results results{picked, x + x * 3};
  if (x.dim() == 0 || x.numel() == 0) return results;
  results.push_back(sum(x, {-1}));
  results.push_back(sum(x * x, {0}));
  results.push_back(amax(x, {-1}, true) * x + sum(x, {-1}, true));
  return results;
}

class Lookups : public testing::TestWithParam<Lookup> {};

TEST_P(Lookups, GiveTheBitsOfAGatherOfItsOwn) {
  const Lookup& lookup = GetParam();
  manual_seed(5);
  for (const DType dtype : kAllDTypes) {
    for (const DType index_dtype : {DType::i32, DType::i64}) {
      const Tensor table = numbers(lookup.table, dtype);
      const int64_t rows = lookup.table_seen(table).size(static_cast<int64_t>(lookup.axis));
      const Tensor index = randint(0, rows, lookup.index).to(index_dtype).eval();
      const auto on = [&](const Device& device) {
        const Tensor from = lookup.table_seen(table.to(device).eval()), at = lookup.index_seen(index.to(device).eval());
        std::vector<Bytes> all;
        for (size_t i = 0; i < made_of(lookup.result_seen(gathered(from, at, lookup.axis))).size(); ++i)
          all.push_back(made_of(lookup.result_seen(gathered(from, at, lookup.axis)))[i].to_bytes());  // each alone
        return all;
      };
      EXPECT_EQ(on(looking()), on(Device("cpu_unfused"))) << name(dtype) << " by " << name(index_dtype);
    }
  }
}

TEST_P(Lookups, GiveTheSameBitsOnAnyNumberOfThreads) {
  const Lookup& lookup = GetParam();
  manual_seed(6);
  const Tensor table = numbers(lookup.table, DType::f32).to(looking()).eval(), from = lookup.table_seen(table);
  const Tensor index = randint(0, from.size(static_cast<int64_t>(lookup.axis)), lookup.index).to(looking()).eval();
  const int before = base::num_threads();
  std::vector<std::vector<Bytes>> runs;
  for (const int threads : {1, 2, 5}) {
    base::set_num_threads(threads);
    runs.push_back(bytes_of(made_of(lookup.result_seen(gathered(from, lookup.index_seen(index), lookup.axis)))));
  }
  base::set_num_threads(before);
  EXPECT_EQ(runs[1], runs[0]);
  EXPECT_EQ(runs[2], runs[0]);
}

Tensor transposed(const Tensor& x) { return x.transpose(0, 1); }
Tensor flipped(const Tensor& x) { return flip(x, {0}); }
Tensor every_second(const Tensor& x) { return x.slice(0, 0, x.size(0), 2); }
Tensor columns_flipped(const Tensor& x) { return flip(x, {1}); }
Tensor regrouped(const Tensor& x) { return x.t().reshape(x.shape()); }  // in no strides
Tensor shown_again(const Tensor& x) { return x.unsqueeze(0).expand({3, x.size(0)}); }
Tensor moved_on(const Tensor& x) { return clamp(x * 2 - 1, 0, 6); }
Tensor padded(const Tensor& x) { return pad(x, {1, 2, 2, 0}); }
Tensor rows_padded(const Tensor& x) { return pad(x, {0, 0, 1, 1}); }

INSTANTIATE_TEST_SUITE_P(Cpu, Lookups,
                         testing::Values(Lookup{"one_row", {7, 5}, {}, 0},                                        //
                                         Lookup{"short_rows", {7, 5}, {300}, 0},                                  //
                                         Lookup{"rows_of_one", {7, 1}, {300}, 0},                                 //
                                         Lookup{"from_one_row", {1, 30}, {20}, 0},                                //
                                         Lookup{"rows", {40, 128}, {9, 17}, 0},                                   //
                                         Lookup{"wide_rows", {20, 768}, {2, 3, 4}, 0},                            //
                                         Lookup{"long_rows", {9, 3000}, {11}, 0},                                 //
                                         Lookup{"very_long_rows", {5, 9001}, {6}, 0},                             //
                                         Lookup{"rows_of_matrices", {8, 3, 50}, {40}, 0},                         //
                                         Lookup{"middle_axis", {6, 9, 33}, {4, 5}, 1},                            //
                                         Lookup{"last_axis", {70, 9}, {31}, 1},                                   //
                                         Lookup{"last_axis_of_few", {3, 900}, {2000}, 1},                         //
                                         Lookup{"last_axis_by_one", {30, 9}, {}, 1},                              //
                                         Lookup{"last_of_three", {4, 5, 60}, {2, 30}, 2},                         //
                                         Lookup{"elements", {1000}, {7000}, 0},                                   //
                                         Lookup{"element", {50}, {}, 0},                                          //
                                         Lookup{"elements_of_rank_3", {100}, {5, 6, 70}, 0},                      //
                                         Lookup{"transposed_table", {33, 12}, {50}, 0, transposed},               //
                                         Lookup{"transposed_table_last", {33, 12}, {50}, 1, transposed},          //
                                         Lookup{"flipped_table", {12, 33}, {50}, 0, flipped},                     //
                                         Lookup{"flipped_elements", {40}, {3000}, 0, flipped},                    //
                                         Lookup{"flipped_columns", {12, 33}, {50}, 0, columns_flipped},           //
                                         Lookup{"every_second_row", {13, 200}, {50}, 0, every_second},            //
                                         Lookup{"regrouped_table", {12, 33}, {50}, 0, regrouped},                 //
                                         Lookup{"transposed_index", {12, 33}, {5, 7}, 0, same, transposed},       //
                                         Lookup{"flipped_index", {12, 33}, {50}, 0, same, flipped},               //
                                         Lookup{"index_shown_again", {12, 33}, {50}, 0, same, shown_again},       //
                                         Lookup{"computed_index", {7, 33}, {50}, 0, same, moved_on},              //
                                         Lookup{"computed_index_of_elements", {7}, {5000}, 0, same, moved_on},    //
                                         Lookup{"padded", {12, 33}, {50}, 0, same, same, padded},                 //
                                         Lookup{"padded_rows", {12, 33}, {50}, 0, same, same, rows_padded},       //
                                         Lookup{"padded_last", {12, 33}, {50}, 1, same, same, padded},            //
                                         Lookup{"transposed_result", {12, 33}, {50}, 0, same, same, transposed},  //
                                         Lookup{"regrouped_result", {12, 33}, {50}, 0, same, same, regrouped},    //
                                         Lookup{"few_of_the_rows", {12, 33}, {50}, 0, same, same, every_second},  //
                                         Lookup{"nothing", {12, 33}, {0}, 0},
                                         Lookup{"rows_of_nothing", {12, 0}, {5}, 0}),
                         [](const auto& lookup) { return lookup.param.name; });

// ---- fused with what comes behind ----

TEST(Lookup, AnEmbeddingIsNormalisedByTheKernelThatLooksItUp) {
  manual_seed(3);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const int64_t width : {3, 64, 100, 768, 2000}) {
      const Tensor table = numbers({50, width}, dtype), positions = numbers({32, width}, dtype);
      const Tensor weight = numbers({width}, dtype), bias = numbers({width}, dtype);
      const Tensor ids = randint(0, 50, {4, 32}).eval();
      const auto on = [&](const Device& device) {
        const auto there = [&](const Tensor& x) { return x.to(device).eval(); };
        const Tensor x = nn::embedding(there(table), there(ids)) + there(positions);
        return nn::layer_norm(x, {width}, there(weight), there(bias));
      };
      const Tensor inside = on(looking());
      EXPECT_EQ(launches_of([&] { wait({inside.eval()}); }), 1u);
      EXPECT_EQ(inside.to_bytes(), on(Device("cpu_unfused")).to_bytes()) << name(dtype) << " " << width;
    }
  }
}

TEST(Lookup, AnIndexMayBeAPositionFoundInTheSameRow) {
  manual_seed(4);
  const Tensor x = numbers({60, 37}, DType::f32), table = numbers({38, 5}, DType::f32);
  const auto on = [&](const Device& device) {
    const Tensor count = sum((x.to(device).eval() > 0.0).to(DType::i64), {-1});  // 0 to 37
    return exp(gathered(table.to(device).eval(), count, 0));
  };
  EXPECT_EQ(on(looking()).to_bytes(), on(Device("cpu_unfused")).to_bytes());
}

TEST(Lookup, ATableOfATableIsLookedUpAtOnce) {
  const Tensor next = tensor<int64_t>({2, 0, 1}).to(looking()).eval();
  const Tensor table = tensor<float>({10, 20, 30}).to(looking()).eval();
  const Tensor index = tensor<int64_t>({0, 1, 2, 2}).to(looking()).eval();
  const Tensor made = gathered(table, gathered(next, index, 0), 0) + 1;
  EXPECT_EQ(launches_of([&] { wait({made.eval()}); }), 1u);
  EXPECT_EQ(made.to_vector<float>(), (Floats{31, 11, 21, 21}));
}

// ---- errors ----

struct Bad {
  std::string name;
  Dims table, index;
  size_t axis;
  std::vector<std::pair<int64_t, int64_t>> at;  // positions in the index, and what stands there
  std::string message;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }  // NOLINT: GoogleTest's name

class BadIndices : public testing::TestWithParam<Bad> {};

TEST_P(BadIndices, AreNamedAsByAGatherOfItsOwn) {
  const Bad& bad = GetParam();
  std::vector<int64_t> numbers(static_cast<size_t>(ir::count(bad.index)), 1);
  for (const auto& [place, number] : bad.at) numbers[static_cast<size_t>(place)] = number;
  const int before = base::num_threads();
  for (const int threads : {1, 4}) {
    base::set_num_threads(threads);
    for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
      for (const DType index_dtype : {DType::i32, DType::i64}) {
        for (const Device& device : {looking(), Device("cpu"), Device("cpu_unfused"), Device("remote")}) {
          const auto picked = [&] {  // anew, because what has failed once is known
            const Tensor table = zeros(bad.table, Options(dtype, device)).clone().eval();
            return gathered(table, from_vector(numbers, bad.index).to(index_dtype).to(device).eval(), bad.axis);
          };
          EXPECT_EQ(text_of([&] { wait({(picked() + 1).eval()}); }), bad.message);
          EXPECT_EQ(text_of([&] { wait({sum(picked()).eval()}); }), bad.message);
          EXPECT_EQ(text_of([&] { wait({picked().clone().eval()}); }), bad.message);
        }
      }
    }
  }
  base::set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, BadIndices,
    testing::Values(
        Bad{"first", {5, 3}, {8}, 0, {{0, 5}}, "[gather] index 5 is out of range for axis 0 of size 5"},
        Bad{"last", {5, 3}, {8}, 0, {{7, -1}}, "[gather] index -1 is out of range for axis 0 of size 5"},
        Bad{"wide_rows", {5, 800}, {40}, 0, {{39, 7}}, "[gather] index 7 is out of range for axis 0 of size 5"},
        Bad{"long_rows", {5, 9001}, {4}, 0, {{3, 7}}, "[gather] index 7 is out of range for axis 0 of size 5"},
        Bad{"columns", {6, 4}, {9}, 1, {{8, 4}}, "[gather] index 4 is out of range for axis 1 of size 4"},
        Bad{"elements", {5}, {3000}, 0, {{2999, 9}}, "[gather] index 9 is out of range for axis 0 of size 5"},
        Bad{"element", {5}, {}, 0, {{0, 9}}, "[gather] index 9 is out of range for axis 0 of size 5"},
        Bad{"first_of_many_rows",
            {5, 64},
            {20000},
            0,
            {{9000, 6}, {9001, 7}, {19000, 8}, {19999, 9}},
            "[gather] index 6 is out of range for axis 0 of size 5"},
        Bad{"first_of_many_elements",
            {5},
            {400000},
            0,
            {{150000, 6}, {150001, 7}, {300000, 8}, {399999, 9}},
            "[gather] index 6 is out of range for axis 0 of size 5"}),
    [](const auto& bad) { return bad.param.name; });

TEST(Lookup, AnIndexThatOnlyPaddingWouldNeedIsNotLookedAt) {
  const Tensor table = tensor<float>({10, 20, 30}).to(looking()).eval();
  const Tensor index = tensor<int64_t>({2, 0}).to(looking()).eval();
  EXPECT_EQ((pad(gathered(table, index, 0), {1, 2}) * 2).to_vector<float>(), (Floats{0, 60, 20, 0, 0}));
}

TEST(Lookup, WorksAgainAfterABadIndex) {
  const Tensor table = tensor<float>({10, 20, 30}).to(looking()).eval();
  const auto at = [&](int64_t i) { return gathered(table, full({4}, i, DType::i64).to(looking()).eval(), 0) + 1; };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(at(2).to_vector<float>(), Floats(4, 31));
    EXPECT_EQ(text_of([&] { at(3).to_vector<float>(); }), "[gather] index 3 is out of range for axis 0 of size 3");
  }
}

// ---- states ----

// Little enough to be done when eval returns. Written by the kernel that looks up, by one that reads what it made, and
// by one that has nothing to do with it.
TEST(Lookup, ABadIndexLeavesAStateThatTheSamePlanUpdates) {
  for (const Device& device : {looking(), Device("cpu"), Device("remote")}) {
    const Tensor table = ones({5, 30}, Options(DType::f32, device)).clone().eval();
    Tensor sums = zeros({20, 30}, Options(DType::f32, device)).clone().eval();
    Tensor means = zeros({20}, Options(DType::f32, device)).clone().eval();
    Tensor count = zeros({}, Options(DType::f32, device)).clone().eval();
    const auto step = [&](int64_t last) {
      std::vector<int64_t> ids(20, 3);
      ids.back() = last;
      const Tensor picked = gathered(table, from_vector(ids, {20}).to(device).eval(), 0);
      sums.add_(picked);
      means.copy_(mean(picked * 2.0, {-1}));
      count.add_(1);
      eval({sums, means, count});
      wait({sums, means, count});
    };
    step(0);
    EXPECT_EQ(text_of([&] { step(5); }), "[gather] index 5 is out of range for axis 0 of size 5");
    EXPECT_EQ(sums.to_vector<float>(), Floats(20 * 30, 1));
    EXPECT_EQ(means.to_vector<float>(), Floats(20, 2));
    EXPECT_EQ(count.item<float>(), 1);
    step(4);
    EXPECT_EQ(sums.to_vector<float>(), Floats(20 * 30, 2));
    EXPECT_EQ(count.item<float>(), 2);
  }
}

TEST(Lookup, ABadIndexInAReplayLeavesTheState) {
  const Tensor table = ones({5, 30}, Options(DType::f32, looking())).clone().eval();
  Tensor sums = zeros({20, 30}, Options(DType::f32, looking())).clone().eval();
  auto step = compile([&](const Tensor& ids) {
    sums.add_(gathered(table, ids, 0) * 2.0);
    return sum(gathered(table, ids, 0), {-1});
  });
  const auto with_last = [&](int64_t last) {
    std::vector<int64_t> ids(20, 3);
    ids.back() = last;
    return from_vector(ids, {20}).to(looking()).eval();
  };
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(step(with_last(1)).to_vector<float>(), Floats(20, 30));
    EXPECT_EQ(sums.to_vector<float>(), Floats(20 * 30, static_cast<float>(2 * i)));
  }
  EXPECT_EQ(text_of([&] { step(with_last(-1)).to_vector<float>(); }),
            "[gather] index -1 is out of range for axis 0 of size 5");
  EXPECT_EQ(sums.to_vector<float>(), Floats(20 * 30, 8));
  EXPECT_EQ(step(with_last(2)).to_vector<float>(), Floats(20, 30));
  EXPECT_EQ(sums.to_vector<float>(), Floats(20 * 30, 10));
}

}  // namespace
}  // namespace tenon
