// Chains: every link gives the bits of the instruction that it stands for, on every instruction set.

#include <cstring>
#include <random>

#include "tenon/backends/cpu/tile/chain.h"
#include "tests/cpu/tile_support.h"

namespace tenon::backends::cpu {
namespace {

using ir::Op;

class TileChains : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, TileChains, testing::ValuesIn(target_names()), target_of);

struct alignas(64) Row {
  float at[512];
};
constexpr size_t kCount = 512;

Row random_row(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 4);
  Row row;
  for (float& x : row.at) x = normal(random);
  return row;
}

void expect_same_bits(const Row& a, const Row& b) { EXPECT_EQ(std::memcmp(a.at, b.at, sizeof a.at), 0); }

TEST_P(TileChains, OpsComputeWhatTheInstructionsDo) {
  const Row x = random_row(1), y = random_row(2);
  Row number;
  for (float& element : number.at) element = 0.7f;
  struct Case {
    LinkForm form;
    const Row *a, *b, *in;
  };
  const Case unary[] = {{LinkForm::v, &x, nullptr, nullptr}};
  const Case binary[] = {{LinkForm::v_v, &x, &x, nullptr},
                         {LinkForm::v_elements, &x, &y, &y},
                         {LinkForm::elements_v, &y, &x, &y},
                         {LinkForm::v_number, &x, &number, &number},
                         {LinkForm::number_v, &number, &x, &number}};
  for (const Op op : {Op::neg, Op::sqrt, Op::exp, Op::tanh, Op::erf, Op::add, Op::mul, Op::div}) {
    const bool is_unary = op != Op::add && op != Op::mul && op != Op::div;
    for (const Case& c : is_unary ? std::span<const Case>(unary) : std::span<const Case>(binary)) {
      const Link links[] = {{link_load(), x.at}, {link_of(op, c.form), c.in ? c.in->at : nullptr}, {link_end()}};
      ASSERT_NE(links[1].run, nullptr);
      Row made, expected;
      const Link stored[] = {links[0], links[1], {link_store(), nullptr, made.at}, links[2]};
      run_chain(stored, 1, kCount);
      const void* args[2] = {c.a->at, c.b ? c.b->at : nullptr};
      tile_function(op, DType::f32)(expected.at, args, kCount);
      expect_same_bits(made, expected);
    }
  }
}

TEST_P(TileChains, SumsHaveTheOrderOfReductions) {
  const Row x = random_row(3);
  ReduceState state, expected;
  reduce_start(state, Op::sum, DType::f32);
  reduce_start(expected, Op::sum, DType::f32);
  const Link links[] = {{link_load(), x.at}, {link_sum(), nullptr, state.lanes}, {link_end()}};
  run_chain(links, 1, kCount);
  reduce_tile(expected, Op::sum, DType::f32, x.at, kCount);
  EXPECT_EQ(std::memcmp(state.lanes, expected.lanes, kLanes * sizeof(float)), 0);
}

TEST_P(TileChains, RowsHaveNumbersAndSumsOfTheirOwnAndShareColumns) {
  constexpr size_t kRows = 4, kRow = kCount / kRows;
  const Row x = random_row(6);
  const float factors[kRows] = {2, -3, 0.5f, 7};
  ReduceState states[kRows] = {};
  Row columns = {}, made, expected, expected_columns = {};
  const Link links[] = {
      {link_load(), x.at},           {link_of(Op::mul, LinkForm::v_number), factors}, {link_store(), nullptr, made.at},
      {link_sum(), nullptr, states}, {link_column_sum(), nullptr, columns.at},        {link_end()}};
  run_chain(links, kRows, kRow);
  const void* args[2] = {x.at, factors};
  tile_function_with_numbers(Op::mul, DType::f32, 1)(expected.at, args, kRows, kRow);
  float sums[kRows], expected_sums[kRows];
  reduce_finish(states, Op::sum, DType::f32, sums, kRows);
  tile_fold(Op::sum, DType::f32)(expected_sums, expected.at, kRows, kRow);
  for (size_t row = 0; row < kRows; ++row) {
    const void* folded[2] = {expected_columns.at, expected.at + row * kRow};
    tile_function(Op::add, DType::f32)(expected_columns.at, folded, kRow);
  }
  expect_same_bits(made, expected);
  expect_same_bits(columns, expected_columns);
  EXPECT_EQ(std::memcmp(sums, expected_sums, sizeof sums), 0);
}

TEST_P(TileChains, ElementsGoOnBehindStoresAndSums) {
  const Row x = random_row(4), sums = random_row(5);
  Row made = sums, expected, streamed, stored;
  const Link links[] = {{link_load(), x.at},
                        {link_stream(), nullptr, streamed.at},
                        {link_column_sum(), nullptr, made.at},
                        {link_store(), nullptr, stored.at},
                        {link_end()}};
  run_chain(links, 1, kCount);
  tile_fence();
  const void* args[2] = {sums.at, x.at};
  tile_function(Op::add, DType::f32)(expected.at, args, kCount);
  expect_same_bits(made, expected);
  expect_same_bits(streamed, x);
  expect_same_bits(stored, x);
}

}  // namespace
}  // namespace tenon::backends::cpu
