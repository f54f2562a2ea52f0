// Rows that share a tile: the bits of one op at a time, whatever the length of rows, their number and their dtype.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/parallel.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Bytes = std::vector<std::byte>;
using Results = std::vector<Tensor>;

// Alone in its tile, fewer and more than a tile has, odd lengths, a length that chains take, several row axes, and rows
// that are too long to share.
const std::vector<Dims> kShapes = {{1, 128}, {2, 128},  {16, 128}, {17, 128},   {300, 128}, {33, 100},    {257, 16},
                                   {700, 3}, {90, 257}, {5, 1024}, {3, 2500},   {7, 5, 64}, {40, 3, 128}, {9, 0},
                                   {300, 1}, {6, 1000}, {1, 1, 7}, {2, 130, 9}, {64, 200}};

struct Rows {
  std::string name;
  std::function<Results(const Tensor&)> f;
  std::vector<DType> dtypes = {DType::f32, DType::f16, DType::bf16, DType::f64};
};
void PrintTo(const Rows& rows, std::ostream* out) { *out << rows.name; }  // NOLINT: GoogleTest's name

// One NaN is as good as another: on x86 its sign depends on which operand an instruction names first.
std::vector<Bytes> bytes_of(const Results& results) {
  std::vector<Bytes> all;
  for (const Tensor& result : results) {
    const Tensor values = result.detach();
    const bool may_be_nan = is_float(values.dtype());
    all.push_back((may_be_nan ? values.masked_fill(isnan(values), std::nan("")) : values).to_bytes());
  }
  return all;
}

Tensor numbers(const Dims& shape, DType dtype) {
  const bool whole = dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8;
  return (whole ? randint(0, 100, shape) : randn(shape)).to(dtype).eval();
}

class SharedTiles : public testing::TestWithParam<Rows> {};

TEST_P(SharedTiles, GiveTheBitsOfOneOpAtATime) {
  const auto& [name, f, dtypes] = GetParam();
  manual_seed(11);
  for (const DType dtype : dtypes) {
    for (const Dims& shape : kShapes) {
      const Tensor x = numbers(shape, dtype);
      EXPECT_EQ(bytes_of(f(x)), bytes_of(f(x.to(Device("cpu_unfused"))))) << tenon::name(dtype) << ir::to_string(shape);
    }
  }
}

TEST_P(SharedTiles, GiveTheSameBitsOnAnyNumberOfThreads) {
  const auto& [name, f, dtypes] = GetParam();
  const int before = base::num_threads();
  const Tensor x = numbers({3001, 40}, dtypes[0]);
  std::vector<std::vector<Bytes>> runs;
  for (const int threads : {1, 2, 5}) {
    base::set_num_threads(threads);
    runs.push_back(bytes_of(f(x)));
  }
  base::set_num_threads(before);
  EXPECT_EQ(runs[1], runs[0]);
  EXPECT_EQ(runs[2], runs[0]);
}

Results with_gradient(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor leaf = x.detach().requires_grad_();
  const Tensor y = f(leaf);
  return {y, grad(sum(y * y), leaf)};
}

Tensor bias_of(const Tensor& x, double first) {
  return (arange(x.shape().back(), Options(DType::f32, x.device())) * 0.25 + first).to(x.dtype());
}

Tensor centred(const Tensor& x) {
  const Tensor away = x - mean(x, {-1}, true);
  return away / sqrt(mean(away * away, {-1}, true) + 0.5) * bias_of(x, 1) + bias_of(x, -2);
}

Tensor joined(const Tensor& x) { return cat({x.unsqueeze(-2), (x * 2).unsqueeze(-2), (x + 1).unsqueeze(-2)}, -2) * 3; }

// Positions beyond a limit are left out, as classes beyond the vocabulary are.
Tensor masked_sums(const Tensor& x) {
  const Tensor position = arange(x.shape().back(), x.device());
  return sum(where(position < 5, x, 2.0), {-1}) + sum(where(position.to(DType::i32) < 3, exp(x), 0.0), {-1});
}

Tensor chosen_rows(const Tensor& x) {
  const Tensor first = x.slice(-1, 0, 1);
  return where(first > 0.0, x * first, x + bias_of(x, 0)) / (x * x + 1.0);
}

// One condition for all elements, in the midst of what a chain computes.
Tensor updated(const Tensor& x) {
  const Tensor goes_on = sum(x) < 1e30, old = x * 0.5;
  const Tensor made = where(goes_on, x * 0.9 + x * x * 0.1, old), squares = where(goes_on, x * x * 0.3, old);
  return where(goes_on, made / (sqrt(squares) * 1.1 + 0.01) * 0.7 + exp(-squares), x);
}

Results whole_numbers(const Tensor& x) {
  if (x.shape().back() == 0) return {sum(x, {-1})};
  const Tensor most = amax(x, {-1}, true);
  return {most, sum(where(x == most, x, 1), {-1}), x * most + sum(x, {-1}, true), prod(x + 1, {-1})};
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, SharedTiles,
    testing::Values(
        Rows{"layer_norm", [](const Tensor& x) { return with_gradient(x, centred); }},
        Rows{"softmax",
             [](const Tensor& x) {
               if (x.shape().back() == 0) return Results{sum(x)};
               return with_gradient(x, [](const Tensor& y) { return softmax(y, -1); });
             }},
        Rows{"joined", [](const Tensor& x) { return with_gradient(x, joined); }},
        Rows{"masked_sums", [](const Tensor& x) { return with_gradient(x, masked_sums); }},
        Rows{"chosen_rows",
             [](const Tensor& x) { return x.shape().back() == 0 ? Results{sum(x)} : with_gradient(x, chosen_rows); }},
        Rows{"updated", [](const Tensor& x) { return Results{updated(x)}; }},
        Rows{"column_sums",
             [](const Tensor& x) {
               const Tensor y = x * sum(x, {-1}, true);
               return Results{y, sum(y, {0})};
             }},
        Rows{"columns", [](const Tensor& x) { return Results{sum(x * x.slice(-1, 0, 1), {0})}; }, {DType::f32}},
        Rows{"whole_numbers", whole_numbers, {DType::i32, DType::i64, DType::u8}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tenon
