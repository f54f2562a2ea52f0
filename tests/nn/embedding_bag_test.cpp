// Bags of rows next to PyTorch.

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

using nn::BagMode;

struct Bags {
  std::string name;
  Tensor index;
  nn::EmbeddingBagOptions options;
  Floats values, slopes;  // slopes of the sum of 1, 2, ... times the results
};

std::vector<Bags> bags() {
  // clang-format off
  return {
      {"sum_matrix", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::sum}, {0, 0.75, 1.5, 0, 0.75, 1.5}, {5, 7, 9, 4, 5, 6, 2, 4, 6, 4, 5, 6}},
      {"sum_vector", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 0, 3}), .mode = BagMode::sum}, {0, 0, 0, 0, 0.75, 1.5, 1, 1.5, 2}, {4, 5, 6, 7, 8, 9, 8, 10, 12, 7, 8, 9}},
      {"sum_last", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 2, 2, 5}), .mode = BagMode::sum, .include_last_offset = true}, {-0.5, 0, 0.5, 0, 0, 0, 1.5, 2.25, 3}, {1, 2, 3, 7, 8, 9, 8, 10, 12, 7, 8, 9}},
      {"sum_padding", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::sum, .padding_idx = 2}, {-1, -0.75, -0.5, 0, 0.75, 1.5}, {5, 7, 9, 4, 5, 6, 0, 0, 0, 4, 5, 6}},
      {"sum_padding_vector", tensor({2, 2, 0, 2}), {.offsets = tensor({0, 2}), .mode = BagMode::sum, .padding_idx = 2}, {0, 0, 0, -1, -0.75, -0.5}, {4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"mean_matrix", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::mean}, {0, 0.25, 0.5, 0, 0.25, 0.5}, {1.66666675, 2.33333349, 3, 1.33333337, 1.66666675, 2, 0.666666687, 1.33333337, 2, 1.33333337, 1.66666675, 2}},
      {"mean_vector", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 0, 3}), .mode = BagMode::mean}, {0, 0, 0, 0, 0.25, 0.5, 0.5, 0.75, 1}, {1.33333337, 1.66666675, 2, 3.5, 4, 4.5, 2.66666675, 3.33333349, 4, 3.5, 4, 4.5}},
      {"mean_last", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 2, 2, 5}), .mode = BagMode::mean, .include_last_offset = true}, {-0.25, 0, 0.25, 0, 0, 0, 0.5, 0.75, 1}, {0.5, 1, 1.5, 2.33333349, 2.66666675, 3, 2.83333349, 3.66666675, 4.5, 2.33333349, 2.66666675, 3}},
      {"mean_padding", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::mean, .padding_idx = 2}, {-1, -0.75, -0.5, 0, 0.25, 0.5}, {2.33333349, 3.66666675, 5, 1.33333337, 1.66666675, 2, 0, 0, 0, 1.33333337, 1.66666675, 2}},
      {"mean_padding_vector", tensor({2, 2, 0, 2}), {.offsets = tensor({0, 2}), .mode = BagMode::mean, .padding_idx = 2}, {0, 0, 0, -1, -0.75, -0.5}, {4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"max_matrix", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::max}, {0.5, 0.75, 1, 1.25, 1.5, 1.75}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}},
      {"max_vector", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 0, 3}), .mode = BagMode::max}, {0, 0, 0, 0.5, 0.75, 1, 1.25, 1.5, 1.75}, {0, 0, 0, 0, 0, 0, 4, 5, 6, 7, 8, 9}},
      {"max_last", tensor({0, 2, 2, 3, 1}), {.offsets = tensor({0, 2, 2, 5}), .mode = BagMode::max, .include_last_offset = true}, {0.5, 0.75, 1, 0, 0, 0, 1.25, 1.5, 1.75}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 7, 8, 9}},
      {"max_padding", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::max, .padding_idx = 2}, {-1, -0.75, -0.5, 1.25, 1.5, 1.75}, {1, 2, 3, 0, 0, 0, 0, 0, 0, 4, 5, 6}},
      {"max_padding_vector", tensor({2, 2, 0, 2}), {.offsets = tensor({0, 2}), .mode = BagMode::max, .padding_idx = 2}, {0, 0, 0, -1, -0.75, -0.5}, {4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"weights", tensor({{0, 2, 2}, {3, 1, 0}}), {.mode = BagMode::sum, .per_sample_weights = tensor({{0.5, 1., 2.}, {1., -1., 3.}})}, {1, 1.875, 2.75, -1.5, -0.75, 0}, {12.5, 16, 19.5, -4, -5, -6, 3, 6, 9, 4, 5, 6}},
  };
  // clang-format on
}

Tensor table() { return sub(mul(arange(12).to(DType::f32), 0.25), 1).reshape({4, 3}).requires_grad_(); }

TEST(EmbeddingBag, HasPyTorchsValuesAndGradients) {
  for (const Bags& row : bags()) {
    SCOPED_TRACE(row.name);
    const Tensor weight = table(), made = nn::embedding_bag(weight, row.index, row.options);
    expect_near(made, row.values);
    sum(mul(made, add(arange(made.numel()).to(DType::f32), 1).reshape(made.shape()))).backward();
    expect_near(weight.grad(), row.slopes, 1e-4f);
  }
}

TEST(EmbeddingBag, OfNothingIsZero) {
  const Tensor weight = table();
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
    const Tensor none = zeros({0}, DType::i64);
    expect_near(nn::embedding_bag(weight, none, {.offsets = tensor({0, 0}), .mode = mode}), Floats(6, 0.0f));
    expect_near(nn::embedding_bag(weight, zeros({2, 0}, DType::i64), {.mode = mode}), Floats(6, 0.0f));
  }
}

TEST(EmbeddingBag, SaysWhatDoesNotFit) {
  const Tensor weight = table(), index = tensor({0, 1});
  const auto message = [&](const Tensor& at, const nn::EmbeddingBagOptions& options) {
    return text_of([&] { nn::embedding_bag(weight, at, options); });
  };
  EXPECT_EQ(message(index, {}), "[embedding_bag] an index of one dim needs offsets");
  EXPECT_EQ(message(index.unsqueeze(0), {.offsets = tensor({0})}),
            "[embedding_bag] offsets are for an index of one dim");
  EXPECT_EQ(message(index, {.offsets = tensor({1, 2})}), "[embedding_bag] the first offset is 0, not 1");
  EXPECT_EQ(message(index, {.offsets = tensor({0}), .per_sample_weights = ones({2})}),
            "[embedding_bag] per_sample_weights are for sums");
  EXPECT_EQ(message(index, {.offsets = tensor({0}), .padding_idx = 4}),
            "[embedding_bag] padding_idx 4 is none of 4 rows");
}

TEST(EmbeddingBag, RefusesOffsetsThatAreOutOfOrder) {
  const Tensor weight = table(), index = tensor({0, 1, 2, 3});
  const auto message = [&](const Tensor& offsets, BagMode mode, bool is_read) {
    return text_of([&] {
      const Tensor made = nn::embedding_bag(weight, index, {.offsets = offsets, .mode = mode});
      if (is_read) values(made);
    });
  };
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
    EXPECT_EQ(message(tensor({-1, 2}), mode, false), "[embedding_bag] the first offset is 0, not -1");
    EXPECT_EQ(message(tensor({0, 5}), mode, false), "[embedding_bag] offset 5 lies behind an index of 4 elements");
    EXPECT_EQ(message(tensor({0, 3, 1}), mode, false), "[embedding_bag] offsets do not decrease, but 1 follows 3");
    EXPECT_EQ(message(tensor({0, 4, 4}), mode, true), "nothing was thrown");
    for (const Tensor& bad : {tensor({-1, 2}), tensor({1, 2}), tensor({0, 5}), tensor({0, 3, 1}), tensor({0, -1})})
      EXPECT_NE(message(cumsum(bad, 0) - cumsum(bad, 0) + bad, mode, true).find("out of range"), std::string::npos);
    EXPECT_EQ(message(tensor({0, 1}) * 4, mode, true), "nothing was thrown");
  }
}

TEST(EmbeddingBag, LeavesOutWhatLiesBehindTheLastOffset) {
  const Tensor weight = arange(12).to(DType::f32).reshape({4, 3}), index = tensor({0, 1, 2, 3});
  const auto bags = [&](BagMode mode) {
    return nn::embedding_bag(weight, index, {.offsets = tensor({0, 2, 3}), .mode = mode, .include_last_offset = true});
  };
  expect_near(bags(BagMode::sum), {3, 5, 7, 6, 7, 8});
  expect_near(bags(BagMode::mean), {1.5f, 2.5f, 3.5f, 6, 7, 8});
  expect_near(bags(BagMode::max), {3, 4, 5, 9, 10, 11});
}

TEST(Bilinear, MultipliesBothSides) {
  const Tensor x = tensor({{1., 2.}, {3., -1.}}), y = tensor({{1., 0., 2.}, {-1., 1., 0.5}});
  const Tensor weight = arange(12).to(DType::f32).reshape({2, 2, 3}), bias = tensor({0.5, -0.5});
  Floats wanted;  // by the definition
  const Floats a = values(x), b = values(y), w = values(weight), c = values(bias);
  for (size_t n = 0; n < 2; ++n) {
    for (size_t o = 0; o < 2; ++o) {
      float total = c[o];
      for (size_t i = 0; i < 2; ++i) {
        for (size_t j = 0; j < 3; ++j) total += a[2 * n + i] * w[6 * o + 3 * i + j] * b[3 * n + j];
      }
      wanted.push_back(total);
    }
  }
  expect_near(nn::bilinear(x, y, weight, bias), wanted);
  EXPECT_EQ(text_of([&] { nn::bilinear(y, x, weight, bias); }),
            "[bilinear] inputs (2, 3) and (2, 2) do not fit a weight of (2, 2, 3)");
}

}  // namespace
}  // namespace tenon
