// Functions that put elements somewhere else: values that a person can check, and gradients against differences.

#include "tenon/tensor/arrangements.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Wholes = std::vector<int64_t>;

Wholes whole_numbers(const Tensor& x) { return x.to_vector<int64_t>(); }

TEST(Arrangements, ShapesAreBroadcastTogether) {
  EXPECT_EQ(broadcast_shapes(std::vector<Dims>{{3, 1}, {2}, {}}), Dims({3, 2}));
  const std::vector<Tensor> made = broadcast_tensors(std::vector<Tensor>{ones({3, 1}), zeros({2})});
  EXPECT_EQ(made[1].shape(), Dims({3, 2}));
  EXPECT_EQ(text_of([] { broadcast_shapes(std::vector<Dims>{{3}, {2}}); }).substr(0, 11), "[broadcast]");
}

TEST(Arrangements, IndicesOfTriangles) {
  EXPECT_EQ(whole_numbers(tril_indices(3, 2)), Wholes({0, 1, 1, 2, 2, 0, 0, 1, 0, 1}));
  EXPECT_EQ(whole_numbers(triu_indices(2, 3, 1)), Wholes({0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(triu_indices(0, 3).shape(), Dims({2, 0}));
  EXPECT_EQ(tril_indices(2, 2, 0, DType::i32).dtype(), DType::i32);
  EXPECT_EQ(text_of([] { tril_indices(-1, 2); }), "[tril_indices] needs sizes of 0 or more, not -1 and 2");
}

TEST(Arrangements, BlocksAlongADiagonal) {
  EXPECT_EQ(whole_numbers(block_diag(std::vector<Tensor>{tensor({{1, 2}}), tensor({3})})), Wholes({1, 2, 0, 0, 0, 3}));
  EXPECT_EQ(block_diag({}).shape(), Dims({1, 0}));
}

TEST(Arrangements, CombinationsAreInOrder) {
  EXPECT_EQ(whole_numbers(cartesian_prod(std::vector<Tensor>{tensor({1, 2}), tensor({3, 4})})),
            Wholes({1, 3, 1, 4, 2, 3, 2, 4}));
  EXPECT_EQ(whole_numbers(combinations(tensor({1, 2, 3}))), Wholes({1, 2, 1, 3, 2, 3}));
  EXPECT_EQ(whole_numbers(combinations(tensor({1, 2}), 2, true)), Wholes({1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(combinations(tensor({1, 2}), 3).shape(), Dims({0, 3}));
  EXPECT_EQ(combinations(tensor({1, 2}), 0).shape(), Dims({1, 0}));
  EXPECT_EQ(text_of([] { combinations(arange(40), 20); }),
            "[combinations] there are too many choices of 20 of 40 elements");
}

TEST(Arrangements, TurnsOf90Degrees) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(whole_numbers(rot90(x)), Wholes({2, 4, 1, 3}));
  EXPECT_EQ(whole_numbers(rot90(x, 2)), Wholes({4, 3, 2, 1}));
  EXPECT_EQ(whole_numbers(rot90(x, -1)), Wholes({3, 1, 4, 2}));
  EXPECT_EQ(whole_numbers(rot90(x, 4, {1, 0})), Wholes({1, 2, 3, 4}));
}

TEST(Arrangements, DimsThatAreThereAtLeast) {
  EXPECT_EQ(atleast_1d(scalar(1)).shape(), Dims({1}));
  EXPECT_EQ(atleast_2d(ones({3})).shape(), Dims({1, 3}));
  EXPECT_EQ(atleast_3d(ones({3})).shape(), Dims({1, 3, 1}));
  EXPECT_EQ(atleast_3d(ones({2, 4})).shape(), Dims({2, 4, 1}));
}

TEST(Arrangements, PartsOfNearlyOneSizeAndAtPositions) {
  const auto sizes = [](const std::vector<Tensor>& parts) {
    Wholes found;
    for (const Tensor& one : parts) found.push_back(one.size(0));
    return found;
  };
  EXPECT_EQ(sizes(tensor_split(arange(7), 3)), Wholes({3, 2, 2}));
  EXPECT_EQ(sizes(tensor_split(arange(7), Dims{1, -2, 9})), Wholes({1, 4, 2, 0}));
  EXPECT_EQ(sizes(tensor_split(arange(2), 4)), Wholes({1, 1, 0, 0}));
  EXPECT_EQ(text_of([] { tensor_split(arange(2), 0); }),
            "[tensor_split] needs 1 part or more, and fewer than 2^31, not 0");
}

TEST(Arrangements, RunsOfEqualElements) {
  const Unique found = unique_consecutive(tensor({1, 1, 2, 1}));
  EXPECT_EQ(whole_numbers(found.values), Wholes({1, 2, 1}));
  EXPECT_EQ(whole_numbers(found.inverse), Wholes({0, 0, 1, 2}));
  EXPECT_EQ(whole_numbers(found.counts), Wholes({2, 1, 1}));
  EXPECT_EQ(whole_numbers(unique_consecutive(tensor({{1, 2}, {1, 2}, {1, 3}}), 0).values), Wholes({1, 2, 1, 3}));
  EXPECT_EQ(whole_numbers(unique_consecutive(tensor({{1, 1, 2}, {3, 3, 3}}), -1).values), Wholes({1, 2, 3, 3}));
  EXPECT_EQ(unique_consecutive(zeros({0})).values.shape(), Dims({0}));
}

TEST(Arrangements, ValuesAtPositions) {
  const Tensor x = zeros({3}, DType::i64);
  EXPECT_EQ(whole_numbers(index_put(x, std::vector<Tensor>{tensor({1, 1})}, tensor({5, 6}), true)), Wholes({0, 11, 0}));
  EXPECT_EQ(whole_numbers(x), Wholes({0, 0, 0}));
  Tensor tall = zeros({4, 2}, DType::i64), wide = zeros({2, 3}, DType::i64);
  EXPECT_EQ(whole_numbers(fill_diagonal_(wide, 4)), Wholes({4, 0, 0, 0, 4, 0}));
  EXPECT_EQ(whole_numbers(fill_diagonal_(tall, 1, true)), Wholes({1, 0, 0, 1, 0, 0, 1, 0}));
}

TEST(Arrangements, SpreadsAndMeans) {
  const Tensor x = tensor({{1.0f, 3.0f}, {5.0f, 7.0f}});
  const auto [variance, mean] = var_mean(x, 1);
  EXPECT_EQ(variance.to_vector<float>(), std::vector<float>({2, 2}));
  EXPECT_EQ(mean.to_vector<float>(), std::vector<float>({2, 6}));
  EXPECT_EQ(std_mean(tensor({1.0f, 3.0f}), {}, 0).first.item<float>(), 1);
}

TEST(Arrangements, HaveGradients) {
  const Options real(DType::f64);
  const auto drawn = [&](const Dims& shape) { return randn(shape, real).requires_grad_(); };
  const auto passes = [](const std::function<Tensor(std::span<const Tensor>)>& f, const std::vector<Tensor>& inputs) {
    return gradcheck(f, inputs);
  };
  EXPECT_TRUE(passes([](auto t) { return block_diag(t); }, {drawn({2, 1}), drawn({3})}));
  EXPECT_TRUE(passes([](auto t) { return rot90(t[0], 3); }, {drawn({2, 3})}));
  EXPECT_TRUE(passes([](auto t) { return combinations(t[0], 2); }, {drawn({4})}));
  EXPECT_TRUE(passes([](auto t) { return tensor_split(t[0], 2)[1]; }, {drawn({5})}));
  EXPECT_TRUE(passes([](auto t) { return var_mean(t[0]).first; }, {drawn({5})}));
  EXPECT_TRUE(passes(
      [](auto t) {
        return index_put(t[0], std::vector<Tensor>{tensor({1, 2})}, t[1]);
      },
      {drawn({4}), drawn({2})}));
}

}  // namespace
}  // namespace tenon
