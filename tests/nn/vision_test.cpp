// Convolutions, pooling, resampling and normalisation: values that PyTorch gives, and what is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/codegen/stages.h"
#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/nn/values.h"

namespace tenon {
namespace {

Tensor counting(const Dims& shape) { return arange(ir::count(shape), DType::f32).reshape(shape); }
Tensor weights(const Floats& values, const Dims& shape) { return from_vector(values, shape); }

// ---- convolution ----

TEST(Interpolate, GivesWhatCanBeWritten) {
  const Tensor x = full({1, 1, 1}, 2.0);
  Tensor y = nn::interpolate(x, {.scale = 2.0});
  y.add_(tensor<float>({1, -1}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 1}));
  EXPECT_EQ(x.item<float>(), 2);
}

TEST(Conv2d, PadsForTheSameSizeWithTheOddZeroBehind) {
  const Tensor y = nn::conv2d(counting({1, 1, 3, 3}), weights({1, 2, 3, 4}, {1, 1, 2, 2}), {}, {.padding = "same"});
  EXPECT_EQ(values(y), (Floats{27, 37, 17, 57, 67, 29, 20, 23, 8}));
}

TEST(Conv2d, TakesASingleImage) {
  const Tensor x = counting({2, 3, 4}), w = counting({1, 2, 2, 2});
  EXPECT_EQ(nn::conv2d(x, w).shape(), (Dims{1, 2, 3}));
  EXPECT_EQ(values(nn::conv2d(x, w)), values(nn::conv2d(x.unsqueeze(0), w)));
}

TEST(Conv2d, OfNoImagesGivesNone) {
  nn::Conv2d conv(3, 4, 3, {.padding = 1});
  const Tensor x = zeros({0, 3, 5, 5}).requires_grad_(), y = conv(x);
  EXPECT_EQ(y.shape(), (Dims{0, 4, 5, 5}));
  y.sum().backward();
  EXPECT_EQ(values(conv.bias.grad()), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(values(conv.weight.grad().abs().sum()), (Floats{0}));
}

TEST(Conv2d, SaysWhatDoesNotFit) {
  const auto says = [](const Dims& x, const Dims& w, const nn::Conv2dOptions& options = {}) {
    return text_of([&] { nn::conv2d(zeros(x), zeros(w), {}, options); });
  };
  EXPECT_EQ(says({1, 1, 3, 4}, {1, 1, 5, 5}),
            "[conv2d] a kernel of 5 x 5 is larger than the input of 3 x 4 with padding 0 x 0");
  EXPECT_EQ(says({1, 1, 4, 4}, {1, 1, 3, 3}, {.dilation = 2}),
            "[conv2d] a kernel of 3 x 3 dilated by 2 x 2 is larger than the input of 4 x 4 with padding 0 x 0");
  EXPECT_EQ(says({1, 3, 4, 4}, {4, 1, 3, 3}, {.groups = 2}), "[conv2d] 3 channels cannot be divided into 2 groups");
  EXPECT_EQ(says({1, 4, 4, 4}, {3, 2, 3, 3}, {.groups = 2}), "[conv2d] 3 channels cannot be divided into 2 groups");
  EXPECT_EQ(says({1, 3, 4, 4}, {4, 2, 3, 3}),
            "[conv2d] input (1, 3, 4, 4) and weight (4, 2, 3, 3) do not fit: 3 channels in 1 groups instead of 2");
  EXPECT_EQ(says({4, 4}, {4, 2, 3, 3}),
            "[conv2d] takes (batch, channels, height, width) or (channels, height, width), got (4, 4)");
  EXPECT_EQ(says({1, 1, 4, 4}, {1, 1, 3, 3}, {.stride = 0}), "[conv2d] stride must be at least 1, got 0 x 0");
  EXPECT_EQ(says({1, 1, 4, 4}, {1, 1, 3, 3}, {.stride = 2, .padding = "same"}),
            "[conv2d] padding 'same' takes stride 1, got 2 x 2");
  EXPECT_EQ(says({1, 1, 9, 7}, {1, 1, 3, 3}, {.padding = int64_t{1} << 62}),
            "[conv2d] padding must be at most 2147483647, got 4611686018427387904 x 4611686018427387904");
  EXPECT_EQ(says({1, 1, 9, 7}, {1, 1, 3, 3}, {.dilation = int64_t{1} << 62}),
            "[conv2d] dilation must be at most 2147483647, got 4611686018427387904 x 4611686018427387904");
  EXPECT_EQ(says({1, 1, 9, 7}, {1, 1, 3, 3}, {.dilation = int64_t{1} << 30}),
            "[conv2d] a kernel of 3 x 3 dilated by 1073741824 x 1073741824 is larger than the input of 9 x 7 with "
            "padding 0 x 0");
  EXPECT_EQ(text_of([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }), "[conv2d] 3 channels cannot be divided into 2 groups");
  EXPECT_EQ(text_of([] { nn::Padding("full"); }), "[padding] 'full' is no padding; it can be same, valid or a number");
}

TEST(Conv2d, IsRefusedWhenItIsMade) {
  EXPECT_EQ(text_of([] { nn::Conv2d(1, 1, 3, {.stride = 0}); }), "[conv2d] stride must be at least 1, got 0 x 0");
  EXPECT_EQ(text_of([] { nn::Conv2d(1, 1, 3, {.padding = -1}); }), "[conv2d] padding must be at least 0, got -1 x -1");
  EXPECT_EQ(text_of([] { nn::Conv2d(1, 1, 3, {.dilation = 0}); }), "[conv2d] dilation must be at least 1, got 0 x 0");
  EXPECT_EQ(text_of([] { nn::Conv2d(1, 1, 3, {.groups = 0}); }),
            "[conv2d] the number of groups must be at least 1, got 0");
  EXPECT_EQ(text_of([] { nn::Conv2d(1, 1, 3, {.stride = 2, .padding = "same"}); }),
            "[conv2d] padding 'same' takes stride 1, got 2 x 2");
  EXPECT_EQ(text_of([] { nn::Conv1d(1, 1, 3, {.stride = -1}); }), "[conv1d] stride must be at least 1, got -1");
  EXPECT_EQ(text_of([] { nn::ConvTranspose1d(1, 1, 3, {.padding = -2}); }),
            "[conv_transpose1d] padding must be at least 0, got -2");
  EXPECT_EQ(text_of([] { nn::ConvTranspose2d(1, 1, 3, {.output_padding = 1}); }),
            "[conv_transpose2d] output padding 1 must be smaller than the stride 1 or the dilation 1");
}

TEST(Conv2d, BeginsAsPyTorchs) {
  nn::Conv2d conv(8, 6, {3, 5}, {.groups = 2});
  EXPECT_EQ(conv.weight.shape(), (Dims{6, 4, 3, 5}));
  const float bound = 1 / std::sqrt(4.0f * 15);
  for (const Tensor& p : {conv.weight, conv.bias}) {
    EXPECT_LE(values(p.abs().max())[0], bound);
    EXPECT_GT(values(p.abs().max())[0], 0.5f * bound);
  }
  EXPECT_FALSE(nn::Conv2d(1, 1, 3, {.bias = false}).bias.defined());
}

TEST(Conv2d, UnderAutocastSumsTheWeightsGradientInF32) {
  Tensor w = ones({1, 1, 1, 1}).requires_grad_();
  const Tensor x = full({1, 1, 1, 257}, 1.0);
  const Autocast lower(DType::bf16);
  const Tensor y = nn::conv2d(x, w);
  EXPECT_EQ(y.dtype(), DType::bf16);
  y.sum().backward();
  EXPECT_EQ(values(w.grad()), (Floats{257}));  // no bf16 number
}

TEST(Conv1d, StepsAlongTheSequence) {
  const Tensor y = nn::conv1d(counting({1, 1, 5}), weights({1, 0, -1}, {1, 1, 3}), {}, {.stride = 2, .padding = 1});
  EXPECT_EQ(values(y), (Floats{-1, -2, 3}));
}

TEST(ConvTranspose2d, SpreadsOutByTheStride) {
  const Tensor y = nn::conv_transpose2d(counting({1, 1, 2, 2}), weights({1, 2, 3, 4}, {1, 1, 2, 2}), {},
                                        {.stride = 2, .output_padding = 1});
  EXPECT_EQ(y.shape(), (Dims{1, 1, 5, 5}));
  EXPECT_EQ(values(y), (Floats{0, 0, 1, 2, 0, 0, 0, 3, 4, 0, 2, 4, 3, 6, 0, 6, 8, 9, 12, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(text_of([] {
              nn::conv_transpose2d(zeros({1, 1, 2, 2}), zeros({1, 1, 2, 2}), {}, {.output_padding = 1});
            }),
            "[conv_transpose2d] output padding 1 must be smaller than the stride 1 or the dilation 1");
  EXPECT_EQ(text_of([] {
              nn::conv_transpose1d(zeros({1, 2, 0}), zeros({2, 3, 4}));
            }),
            "[conv_transpose1d] an input of 0 has no elements");
}

TEST(ConvTranspose1d, RefusesPaddingThatLeavesNothing) {
  for (const int64_t padding : {1, 2}) {
    EXPECT_EQ(text_of([&] {
                nn::conv_transpose1d(ones({1, 1, 2}), ones({1, 2, 1}), {}, {.padding = padding});
              }),
              fmt::format("[conv_transpose1d] padding {} leaves nothing of the result of an input of 2", padding));
  }
}

TEST(Conv3d, IsWhatItsDefinitionSays) {
  const Tensor x = counting({1, 2, 3, 4, 3}), w = counting({1, 2, 2, 2, 2});
  const Tensor y = nn::conv3d(x, w, {}, {.stride = {1, 2, 1}});
  ASSERT_EQ(y.shape(), (Dims{1, 1, 2, 2, 2}));
  EXPECT_TRUE(y.is_contiguous());
  const auto at = [&](int64_t d, int64_t h, int64_t column) {
    double sum = 0;
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t i = 0; i < 8; ++i) {
        const int64_t dd = d + i / 4, hh = 2 * h + i / 2 % 2, ww = column + i % 2;
        sum += static_cast<double>(c * 36 + dd * 12 + hh * 3 + ww) * static_cast<double>(c * 8 + i);
      }
    return static_cast<float>(sum);
  };
  EXPECT_EQ(values(y), (Floats{at(0, 0, 0), at(0, 0, 1), at(0, 1, 0), at(0, 1, 1), at(1, 0, 0), at(1, 0, 1),
                               at(1, 1, 0), at(1, 1, 1)}));
  EXPECT_EQ(values(nn::conv3d(x.squeeze(0), w, {}, {.stride = {1, 2, 1}})), values(y));
}

TEST(Conv3d, OfADepthOfOneIsConv2d) {
  const Tensor x = randn({2, 4, 5, 6}), w = randn({6, 2, 3, 3}), bias = randn({6});
  const Tensor flat = nn::conv2d(x, w, bias, {.padding = "same", .groups = 2});
  const Tensor deep = nn::conv3d(x.unsqueeze(2), w.unsqueeze(2), bias, {.padding = "same", .groups = 2});
  EXPECT_EQ(values(deep), values(flat));
}

TEST(Conv3d, UnderAutocastRoundsOnce) {
  Tensor w = ones({1, 1, 3, 1, 1}).requires_grad_();
  const Tensor x = full({1, 1, 3, 1, 257}, 1.0);
  const Autocast lower(DType::bf16);
  const Tensor y = nn::conv3d(x, w);
  EXPECT_EQ(y.dtype(), DType::bf16);
  y.sum().backward();
  EXPECT_EQ(values(w.grad()), (Floats{257, 257, 257}));  // no bf16 number
  // The second place is 257 from one element of the kernel and 1 from the other: 256 if these were rounded.
  const Tensor up = nn::conv_transpose3d(full({1, 2, 2, 1, 1}, 1.0), weights({256, 1, 1, 0}, {2, 1, 2, 1, 1}));
  EXPECT_EQ(values(up.to(DType::f32)), (Floats{256, 258, 1}));
}

TEST(Conv3d, SaysWhatDoesNotFit) {
  EXPECT_EQ(text_of([] {
              nn::conv3d(zeros({1, 3, 4, 4}), zeros({4, 3, 3, 3}));
            }),
            "[conv3d] weight must have 5 dims, got (4, 3, 3, 3)");
  EXPECT_EQ(
      text_of([] {
        nn::conv3d(zeros({3, 4, 4}), zeros({4, 3, 3, 3, 3}));
      }),
      "[conv3d] takes (batch, channels, depth, height, width) or (channels, depth, height, width), got (3, 4, 4)");
  EXPECT_EQ(text_of([] {
              nn::conv3d(zeros({1, 3, 2, 4, 4}), zeros({4, 3, 3, 3, 3}));
            }),
            "[conv3d] a kernel of 3 x 3 x 3 is larger than the input of 2 x 4 x 4 with padding 0 x 0 x 0");
  EXPECT_EQ(text_of([] { nn::ConvTranspose3d(1, 1, 3, {.output_padding = 1}); }),
            "[conv_transpose3d] output padding 1 must be smaller than the stride 1 or the dilation 1");
  EXPECT_EQ(text_of([] { nn::Conv3d(1, 1, 3, {.stride = 2, .padding = "same"}); }),
            "[conv3d] padding 'same' takes stride 1, got 2 x 2 x 2");
  EXPECT_EQ(text_of([] {
              nn::BatchNorm3d(2)(zeros({1, 2, 3, 4}));
            }),
            "[batch_norm3d] takes (batch, channels, depth, height, width), got (1, 2, 3, 4)");
}

TEST(ConvTranspose3d, UndoesTheShapeOfConv3d) {
  nn::Conv3d down(2, 3, {2, 3, 3}, {.stride = 2, .padding = {0, 1, 1}});
  nn::ConvTranspose3d up(3, 2, {2, 3, 3}, {.stride = 2, .padding = {0, 1, 1}, .output_padding = {0, 0, 1}});
  const Tensor x = randn({2, 2, 6, 7, 8});
  EXPECT_EQ(up(down(x)).shape(), x.shape());
  EXPECT_EQ(down(zeros({0, 2, 6, 7, 8})).shape(), (Dims{0, 3, 3, 4, 4}));
}

// ---- pooling ----

TEST(MaxPool3d, TakesTheFirstOfEqualElementsAndTheLastNaN) {
  Tensor x = ones({1, 1, 3, 3, 3}).requires_grad_();
  const auto [y, places] = nn::max_pool3d_with_indices(x, 2, {.stride = 1});
  EXPECT_EQ(places.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 3, 4, 9, 10, 12, 13}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad().sum({2, 3, 4})), (Floats{8}));
  Tensor z = zeros({1, 1, 2, 2, 2});
  z[0][0][0][1][1] = NAN;
  z[0][0][1][0][1] = NAN;
  EXPECT_EQ(nn::max_pool3d_with_indices(z, 2).indices.item<int64_t>(), 5);
  EXPECT_TRUE(std::isnan(nn::max_pool3d(z, 2).item<float>()));
}

TEST(MaxPool3d, OfWindowsAroundAThinVolumeIsTheLeast) {
  const auto [y, places] = nn::max_pool3d_with_indices(ones({1, 1, 1, 2, 2}), {2, 1, 1},
                                                       {.stride = 1, .padding = {1, 0, 0}, .dilation = {2, 1, 1}});
  EXPECT_EQ(values(y), (Floats{-INFINITY, -INFINITY, -INFINITY, -INFINITY}));
  EXPECT_EQ(places.to_vector<int64_t>().size(), 4u);  // which no look-up refuses
  EXPECT_EQ(text_of([] {
              nn::max_pool3d(ones({1, 1, 4, 4, 4}), 2, {.padding = {0, 1, 2}, .dilation = 3});
            }),
            "[max_pool3d] padding 0 x 1 x 2 must be at most half of the kernel 2 x 2 x 2");
}

TEST(Pooling3d, TakesVolumesWithoutABatchAndSaysWhatDoesNotFit) {
  const Tensor x = counting({2, 2, 4, 4});
  EXPECT_EQ(values(nn::max_pool3d(x, {2, 4, 4})), (Floats{31, 63}));
  EXPECT_EQ(values(nn::avg_pool3d(x, {2, 4, 4})), (Floats{15.5, 47.5}));
  EXPECT_EQ(text_of([&] { nn::max_pool3d(x, 3); }),
            "[max_pool3d] a kernel of 3 x 3 x 3 is larger than the input of 2 x 4 x 4 with padding 0 x 0 x 0");
  EXPECT_EQ(
      text_of([&] { nn::avg_pool3d(x[0], 2); }),
      "[avg_pool3d] takes (batch, channels, depth, height, width) or (channels, depth, height, width), got (2, 4, "
      "4)");
}

TEST(MaxPool2d, GivesTheGradientToTheFirstOfEqualElements) {
  Tensor x = weights({1, 1, 0, 1, 1, 2, 0, 2, 2}, {1, 1, 3, 3}).requires_grad_();
  const Tensor y = nn::max_pool2d(x, 2, {.stride = 1});
  EXPECT_EQ(values(y), (Floats{1, 2, 2, 2}));
  (y * weights({1, 10, 100, 1000}, {1, 1, 2, 2})).sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{1, 0, 0, 0, 0, 1010, 0, 100, 0}));
}

TEST(MaxPool2d, OfWindowsSideBySideGivesTheGradientBack) {
  Tensor x = counting({1, 1, 5, 4}).requires_grad_();
  nn::max_pool2d(x, 2).sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}));
  Tensor z = counting({1, 1, 3, 3}).requires_grad_();
  nn::max_pool2d(z, 2, {.padding = 1}).sum().backward();
  EXPECT_EQ(values(z.grad()), (Floats{1, 0, 1, 0, 0, 0, 1, 0, 1}));
}

TEST(MaxPool2d, OfSingleElementsIsMemoryOfItsOwn) {
  Tensor x = full({1, 1, 2, 2}, 3.0);
  const Tensor y = nn::max_pool2d(x, 1);
  x.square_();
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4, 3));
}

TEST(MaxPool2d, NeverGivesTheGradientToThePadding) {
  Tensor x = full({1, 1, 2, 2}, -INFINITY).requires_grad_();
  nn::max_pool2d(x, 2, {.padding = 1}).sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{1, 1, 1, 1}));
  Tensor y = weights({-INFINITY, -INFINITY, -INFINITY, -INFINITY, 3}, {1, 1, 5}).requires_grad_();
  nn::max_pool1d(y, 3, {.stride = 1, .padding = 1, .dilation = 2}).sum().backward();
  EXPECT_EQ(values(y.grad()), (Floats{0, 2, 0, 0, 1}));
}

TEST(MaxPool2d, TakesWindowsThatHangOverAndDilatedOnes) {
  const Tensor x = counting({1, 1, 5, 5});
  EXPECT_EQ(values(nn::max_pool2d(x, 2, {.ceil_mode = true})), (Floats{6, 8, 9, 16, 18, 19, 21, 23, 24}));
  EXPECT_EQ(values(nn::max_pool2d(x, 2, {.stride = 1, .dilation = 2})), (Floats{12, 13, 14, 17, 18, 19, 22, 23, 24}));
  EXPECT_EQ(values(nn::max_pool1d(counting({1, 4}), 2)), (Floats{1, 3}));
  EXPECT_TRUE(std::isnan(values(nn::max_pool1d(weights({1, NAN, 2}, {1, 3}), 3))[0]));
  EXPECT_EQ(text_of([&] { nn::max_pool2d(x, 6); }),
            "[max_pool2d] a kernel of 6 x 6 is larger than the input of 5 x 5 with padding 0 x 0");
  EXPECT_EQ(text_of([&] { nn::max_pool2d(x, 2, {.padding = 2}); }),
            "[max_pool2d] padding 2 x 2 must be at most half of the kernel 2 x 2");
}

// With ceil_mode a window may be larger than the input: by less than a stride, as in PyTorch.
TEST(Pooling, TakesWindowsLargerThanTheInput) {
  Tensor x = weights({1, 3, 2}, {1, 1, 3}).requires_grad_();
  EXPECT_EQ(values(nn::max_pool1d(x, 4, {.ceil_mode = true})), (Floats{3}));
  nn::max_pool1d(x, 4, {.ceil_mode = true}).sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{0, 1, 0}));
  expect_near(nn::avg_pool1d(x, 5, {.ceil_mode = true}), {2});
  expect_near(nn::avg_pool1d(x, 6, {.padding = 1, .ceil_mode = true}), {1.2});
  expect_near(nn::avg_pool1d(x, 6, {.padding = 1, .ceil_mode = true, .count_include_pad = false}), {2});
  EXPECT_EQ(values(nn::max_pool2d(counting({1, 1, 2, 5}), {3, 2}, {.ceil_mode = true})), (Floats{6, 8, 9}));
  const auto says = [&](int64_t kernel, int64_t stride) {
    return text_of([&] { nn::max_pool1d(x, kernel, {.stride = stride, .ceil_mode = true}); });
  };
  EXPECT_EQ(says(5, 3), "nothing was thrown");
  EXPECT_EQ(says(5, 2), "[max_pool1d] a kernel of 5 is larger than the input of 3 with padding 0");
  EXPECT_EQ(text_of([] {
              nn::max_pool1d(zeros({1, 1, 0}), 2, {.padding = 1});
            }),
            "[max_pool1d] the input (1, 1, 0) is empty");
}

TEST(Pooling, RefusesWindowsBeyondAnyTensorAndEmptyChannels) {
  const Tensor x = counting({1, 2, 3});
  const auto says = [](const Tensor& given, int64_t kernel, int64_t padding, int64_t dilation) {
    return text_of(
        [&] { nn::max_pool1d(given, kernel, {.padding = padding, .dilation = dilation, .ceil_mode = true}); });
  };
  EXPECT_EQ(
      says(x, INT64_MAX, 0, 1),
      "[max_pool1d] a kernel of 9223372036854775807 with stride 9223372036854775807 and dilation 1 is larger than "
      "any tensor");
  EXPECT_NE(says(x, 8608480567731124087, 1250999896764, 1250999896764).find("larger than any tensor"),
            std::string::npos);
  EXPECT_EQ(says(zeros({0, 10}), 1, 0, 1), "[max_pool1d] the input (1, 0, 10) is empty");
  EXPECT_EQ(values(nn::max_pool1d(counting({1, 1, 6}), 2, {.stride = 3, .padding = 2, .dilation = 3})),
            (Floats{1, 4, 4}));
}

TEST(MaxPool2d, SaysWhereTheLargestElementsLie) {
  const Tensor x = (counting({1, 1, 5, 6}) * 7) % 11;
  const auto [y, indices] = nn::max_pool2d_with_indices(x, 3, {.stride = 2, .padding = 1});
  EXPECT_EQ(values(y), (Floats{9, 10, 10, 9, 10, 9, 10, 10, 9}));
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{6, 3, 3, 6, 14, 17, 25, 25, 28}));
  const auto single = nn::MaxPool1d(2, {.dilation = 2}).forward_with_indices(weights({3, 1, 2, 5}, {1, 4}));
  EXPECT_EQ(single.indices.shape(), (Dims{1, 1}));
  EXPECT_EQ(single.indices.to_vector<int64_t>(), (std::vector<int64_t>{0}));
}

TEST(MaxPool2d, HasASecondDerivative) {
  Tensor x = weights({1, 4, 3, 2}, {1, 4}).requires_grad_();
  const Tensor slope = grad((nn::max_pool1d(x, 2) * nn::max_pool1d(x, 2)).sum(), x, true);
  EXPECT_EQ(values(slope), (Floats{0, 8, 6, 0}));
  EXPECT_EQ(values(grad(slope.sum(), x)), (Floats{0, 2, 2, 0}));
}

TEST(MaxPool1d, SaysWhereTheLargestLie) {
  const Tensor x = weights({1, 5, 2, 5, 3}, {1, 1, 5});
  const auto windows = nn::max_pool1d_with_indices(x, 2);
  EXPECT_EQ(values(windows.y), (Floats{5, 5}));
  EXPECT_EQ(windows.indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 3}));
  const auto parts = nn::adaptive_max_pool1d_with_indices(x, 2);
  EXPECT_EQ(values(parts.y), (Floats{5, 5}));
  EXPECT_EQ(parts.indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 3}));
}

TEST(AdaptiveMaxPool, CutsIntoNearlyEvenPartsAndSaysWhere) {
  const Tensor x = (counting({1, 1, 5, 6}) * 7) % 11;
  const auto [y, indices] = nn::adaptive_max_pool2d_with_indices(x, {3, 4});
  EXPECT_EQ(values(y), (Floats{9, 7, 10, 6, 9, 10, 8, 9, 10, 10, 9, 9}));
  EXPECT_EQ(indices.to_vector<int64_t>(), (std::vector<int64_t>{6, 1, 3, 4, 6, 14, 9, 17, 25, 25, 28, 28}));
  Tensor z = weights({1, 5, 2, 5, 3}, {1, 1, 5}).requires_grad_();
  const auto parts = nn::AdaptiveMaxPool1d(3).forward_with_indices(z);
  EXPECT_EQ(parts.indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 3}));
  parts.y.sum().backward();
  EXPECT_EQ(values(z.grad()), (Floats{0, 2, 0, 1, 0}));
  EXPECT_EQ(values(nn::adaptive_max_pool2d(counting({1, 4, 4}), {2, 1})), (Floats{7, 15}));
  EXPECT_EQ(text_of([&] {
              nn::adaptive_max_pool2d(x, {0, 1});
            }),
            "[adaptive_max_pool2d] the output must be at least 1, got 0 x 1");
}

TEST(AvgPool2d, CountsThePaddingOrNot) {
  const Tensor x = counting({1, 1, 5, 5});
  expect_near(nn::avg_pool2d(x, 3, {.stride = 2, .padding = 1, .count_include_pad = false}),
              {3, 4.5, 6, 10.5, 12, 13.5, 18, 19.5, 21});
  expect_near(nn::avg_pool2d(x, 3, {.stride = 2, .padding = 1}), {4.0f / 3, 3, 8.0f / 3, 7, 12, 9, 8, 13, 28.0f / 3});
  expect_near(nn::avg_pool2d(x, 2, {.ceil_mode = true}), {3, 5, 6.5, 13, 15, 16.5, 20.5, 22.5, 24});
  expect_near(nn::avg_pool1d(counting({1, 4}), 2), {0.5, 2.5});
}

TEST(AdaptiveAvgPool, CutsIntoNearlyEvenParts) {
  expect_near(nn::adaptive_avg_pool1d(counting({1, 1, 5}), 3), {0.5, 2, 3.5});
  expect_near(nn::adaptive_avg_pool2d(counting({1, 1, 4, 4}), {2, 1}), {3.5, 11.5});
}

TEST(GridSample, ReadsBetweenPixels) {
  const Tensor x = counting({1, 1, 2, 2}), grid = weights({0, 0, 1, 1, 2, 0}, {1, 1, 3, 2});
  expect_near(nn::grid_sample(x, grid, {.align_corners = true}), {1.5, 3, 1});
  expect_near(nn::grid_sample(x, grid), {1.5, 0.75, 0});
  expect_near(nn::grid_sample(x, grid, {.border = true}), {1.5, 3, 2});
  expect_near(nn::grid_sample(x, grid, {nn::Resample::nearest, true}), {0, 3, 1});
  EXPECT_EQ(values(nn::grid_sample(full({1, 1, 1, 1}, INFINITY), grid)), (Floats{INFINITY, INFINITY, 0}))
      << "what lies outside is 0, whatever the border is";
  const Tensor nowhere = weights({NAN, 0, 1e30f, 0, 0, -1e30f}, {1, 1, 3, 2});
  EXPECT_EQ(values(nn::grid_sample(x, nowhere, {nn::Resample::nearest})), (Floats{0, 0, 0}));
  EXPECT_THROW(nn::grid_sample(x, grid[0]), Error);
}

TEST(GridSample, GivesGradientsToImagesAndPlaces) {
  Tensor x = counting({1, 1, 2, 2}).requires_grad_(), grid = zeros({1, 1, 1, 2}).requires_grad_();
  nn::grid_sample(x, grid, {.align_corners = true}).sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(values(grid.grad()), (Floats{0.5, 1}));
}

TEST(Interpolate, IsPyTorchs) {
  const Tensor x = counting({1, 1, 2, 2});
  expect_near(nn::interpolate(x, {.scale = 2.0, .mode = nn::Resample::bilinear}),
              {0, 0.25, 0.75, 1, 0.5, 0.75, 1.25, 1.5, 1.5, 1.75, 2.25, 2.5, 2, 2.25, 2.75, 3});
  expect_near(nn::interpolate(x, {.size = 3, .mode = nn::Resample::bilinear, .align_corners = true}),
              {0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3});
  EXPECT_EQ(values(nn::interpolate(counting({1, 1, 2, 3}), {.size = nn::Size2(3, 5)})),
            (Floats{0, 0, 1, 1, 2, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5}));
  EXPECT_EQ(values(nn::Upsample({.scale = 2.0})(counting({1, 1, 3}))), (Floats{0, 0, 1, 1, 2, 2}));
}

// PyTorch's values where the scale is not the quotient of the sizes, and the gradients of sum(y * (1, 2, 3, ...)). They
// are those of the values here: on the CPU, PyTorch's of sequences at 1.1 and 2.1 are those of scales 1 and 2.
TEST(Interpolate, TakesElementsFromWhereTheScaleSays) {
  struct Case {
    double scale;
    Floats y, slopes;
  };
  const std::vector<Case> nearest{
      {0.7, {0, 1, 2}, {1, 2, 3, 0, 0}},
      {0.99, {0, 1, 2, 3}, {1, 2, 3, 4, 0}},
      {1.1, {0, 0, 1, 2, 3}, {3, 3, 4, 5, 0}},
      {1.3, {0, 0, 1, 2, 3, 3}, {3, 3, 4, 11, 0}},
      {1.5, {0, 0, 1, 2, 2, 3, 4}, {3, 3, 9, 6, 7}},
      {1.7, {0, 0, 1, 1, 2, 2, 3, 4}, {3, 7, 11, 7, 8}},
      {2.1, {0, 0, 0, 1, 1, 2, 2, 3, 3, 4}, {6, 9, 13, 17, 10}},
      {2.5, {0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4}, {6, 9, 21, 19, 23}},
      {3, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}, {6, 15, 24, 33, 42}},
      {3.1, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4}, {10, 18, 27, 36, 29}},
  };
  const std::vector<Case> bilinear{
      {0.7,
       {0.857143, 2.285714, 5.142858, 6.571429},
       {0.617347, 0.729592, 1.010204, 1.010204, 0.938775, 1.193877, 1.515306, 1.331633, 1.653062}},
      {1.1, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {1.3, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {1.7,
       {0,        0.382353, 0.970588, 1.558824, 2,        1.147059, 1.529412, 2.117647, 2.705883,
        3.147059, 2.911765, 3.294118, 3.882353, 4.470589, 4.911765, 4.676471, 5.058824, 5.647059,
        6.235294, 6.676471, 6,        6.382353, 6.970588, 7.558824, 8},
       {9.397922, 15.030275, 17.189444, 34.203285, 42.478378, 41.406582, 50.369373, 59.403118, 55.521626}},
  };
  const auto expect = [](const Case& one, const Dims& shape, nn::Resample mode) {
    Tensor x = counting(shape).requires_grad_();
    const Tensor y = nn::interpolate(x, {.scale = one.scale, .mode = mode});
    SCOPED_TRACE(one.scale);
    expect_near(y, one.y, 1e-5f);
    (y * (counting(y.shape()) + 1.0)).sum().backward();
    expect_near(x.grad(), one.slopes, 2e-4f);
  };
  for (const Case& one : nearest) expect(one, {1, 1, 5}, nn::Resample::nearest);
  // Images keep an axis whose size stays, and double one that doubles.
  expect(
      {1.15, {0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13}, {3, 3, 4, 5, 6, 7, 8, 19, 11, 12, 13, 14, 15, 16}},
      {1, 1, 2, 7}, nn::Resample::nearest);
  expect({2.1, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}, {18, 26, 34}}, {1, 1, 1, 3}, nn::Resample::nearest);
  for (const Case& one : bilinear) expect(one, {1, 1, 3, 3}, nn::Resample::bilinear);
  // One axis keeps its size, the other does not.
  expect({1.3,
          {0, 0.653846, 1.423077, 2.192308, 2.961539, 3.730769, 5, 5.653846, 6.423077, 7.192307, 7.961538, 8.730769},
          {1.692308, 3.038461, 4.692307, 7.192307, 4.384616, 9.769231, 10.423077, 12.307692, 15.730768, 8.769233}},
         {1, 1, 2, 5}, nn::Resample::bilinear);
}

// PyTorch's values, and its gradients of sum(y * (1, 2, 3, ...)).
struct Resampled {
  nn::UpsampleOptions options;
  Floats y, slopes;
};

void expect_resampled(const Tensor& from, const std::vector<Resampled>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    Tensor x = from.clone().requires_grad_();
    const Tensor y = nn::interpolate(x, cases[i].options);
    expect_near(y, cases[i].y, 1e-5f);
    (y * (counting(y.shape()) + 1.0)).sum().backward();
    expect_near(x.grad(), cases[i].slopes, 2e-4f);
  }
}

TEST(Interpolate, OfSequencesIsPyTorchs) {
  using enum nn::Resample;
  expect_resampled(
      weights({1, 3, -2, 5, 0.5f}, {1, 1, 5}),
      {{{.size = 8, .mode = linear}, {1, 1.875f, 2.6875f, -0.4375f, 0.1875f, 4.5625f, 2.46875f, 0.5f}, {2.125f, 4.9375f, 6.75f, 10.25f, 11.9375f}},
       {{.size = 8, .mode = linear, .align_corners = true},
        {1, 2.142857f, 2.285714f, -0.571429f, 1e-6f, 4, 3.071427f, 0.5f},
        {1.85714f, 4.85714f, 7.71429f, 10.57143f, 11}},
       {{.scale = 1.5, .mode = linear}, {1, 2, 2.166666f, -1.166667f, 1.5f, 4.25f, 1.249999f}, {2, 4.16667f, 6.33333f, 8.66667f, 6.83333f}},
       {{.scale = 1.5, .mode = linear, .recompute_scale = true},
        {1, 2.142857f, 1.571428f, -2, 3.000001f, 3.071428f, 0.5f},
        {1.85714f, 3.28571f, 6.28571f, 7, 9.57143f}},
       {{.size = 8, .mode = nearest_exact}, {1, 1, 3, -2, -2, 5, 0.5f, 0.5f}, {3, 3, 9, 6, 15}},
       {{.size = 3, .mode = nearest_exact}, {1, -2, 0.5f}, {1, 0, 2, 0, 3}},
       {{.scale = 1.3, .mode = nearest_exact}, {1, 3, 3, -2, 5, 0.5f}, {1, 5, 4, 5, 6}},
       {{.size = 3, .mode = area}, {2, 2, 2.75f}, {0.5f, 1.16667f, 0.66667f, 2.16667f, 1.5f}}});
}

TEST(Interpolate, OfImagesIsPyTorchs) {
  using enum nn::Resample;
  const std::vector<double> by_axis{1.5, 2}, one_stays{1.3, 2};
  expect_resampled(
      weights({1, 3, -2, 5, 0.5f, 4, 2, -1, 6}, {1, 1, 3, 3}),
      {{{.size = nn::Size2(5, 2), .mode = bicubic},
        {1.414969f, -1.166062f, 2.693961f, 0.604556f, 3.857422f, 3.048828f, 2.314554f, 4.096695f, 0.807032f, 4.429532f},
        {1.73503f, 1.69908f, 3.05789f, 6.318f, 4.97475f, 7.71525f, 10.22822f, 7.72071f, 11.55108f}},
       {{.size = 4, .mode = bicubic, .align_corners = true},
        {1, 2.925926f, 1.648148f, -2, 4.074074f, 2.230283f, 1.299554f, 1.888888f, 4.499999f, 0.629116f, 0.968277f, 5.296295f, 2, -0.833333f,
         0.870369f, 6},
        {2.00618f, 5.38238f, 6.12998f, 13.56653f, 21.55898f, 19.02263f, 18.50138f, 27.20679f, 22.62516f}},
       {{.scale = 1.5, .mode = bicubic},
        {0.430188f, 2.47282f, 2.616117f, -1.652828f, 3.401965f, 2.687012f, 1.615181f, 0.943089f, 5.337584f, 2.047798f, 0.327094f, 4.043386f,
         2.7889f, 0.212945f, -0.163307f, 4.805633f},
        {4.23171f, 8.54946f, 6.43414f, 20.40266f, 26.46399f, 16.65187f, 17.97678f, 21.94952f, 13.33992f}},
       {{.size = 2, .mode = bicubic, .antialias = true},
        {2.489879f, 0.763804f, 1.640136f, 3.248777f},
        {0.29861f, 0.65112f, 0.71961f, 0.92034f, 1.52138f, 1.45877f, 1.1406f, 1.72798f, 1.56159f}},
       {{.size = 2, .mode = bilinear, .antialias = true},
        {2.335938f, 0.929688f, 1.789063f, 3.117188f},
        {0.39062f, 0.70313f, 0.78125f, 0.9375f, 1.40625f, 1.40625f, 1.17188f, 1.64063f, 1.5625f}},
       {{.size = 2, .mode = bilinear, .align_corners = true, .antialias = true},
        {2.05102f, 1.625f, 1.696429f, 3.96875f},
        {0.18367f, 0.39796f, 0.70408f, 0.5051f, 0.96939f, 1.56122f, 1.02551f, 1.84694f, 2.80612f}},
       {{.size = 4, .mode = bilinear, .antialias = true},
        {1, 2.25f, 1.125f, -2, 3.5f, 2.210938f, 1.554688f, 1.75f, 3.875f, 1.414062f, 1.742188f, 4.75f, 2, 0.125f, 1.625f, 6},
        {4.46875f, 6.17188f, 9.10938f, 12.5f, 13.28125f, 16.71875f, 23.03125f, 23.04688f, 27.67188f}},
       {{.scale = by_axis, .mode = bilinear},
        {1, 1.5f, 2.5f, 1.75f, -0.75f, -2, 3, 2.6875f, 2.0625f, 1.5625f, 1.1875f, 1, 4.5f, 3.4375f, 1.3125f, 1.270833f, 3.3125f, 4.333333f, 2.5f,
         1.6875f, 0.0625f, 0.854167f, 4.0625f, 5.666667f},
        {10.875f, 16.5f, 22.125f, 36.875f, 42.5f, 48.125f, 37.25f, 41, 44.75f}},
       {{.scale = one_stays, .mode = bilinear},
        {1, 1.5f, 2.5f, 1.75f, -0.75f, -2, 5, 3.875f, 1.625f, 1.375f, 3.125f, 4, 2, 1.25f, -0.25f, 0.75f, 4.25f, 6},
        {3.25f, 7, 10.75f, 15.25f, 19, 22.75f, 27.25f, 31, 34.75f}},
       {{.scale = one_stays},
        {1, 1, 3, 3, -2, -2, 5, 5, 0.5f, 0.5f, 4, 4, 2, 2, -1, -1, 6, 6},
        {3, 7, 11, 15, 19, 23, 27, 31, 35}},
       {{.size = 2, .mode = area}, {2.375f, 1.375f, 1.625f, 2.375f}, {0.25f, 0.75f, 0.5f, 1, 2.5f, 1.5f, 0.75f, 1.75f, 1}}});
}

// As PyTorch's, whose gradient is another where the size stays, but not its scale: that of no cubic at all.
TEST(Interpolate, ByCubicsTakesPlacesFromTheScaleAlsoWhereTheSizeStays) {
  const Tensor x = weights({1, 3, -2, 5, 0.5f, 4, 2, -1, 6}, {1, 1, 3, 3});
  expect_near(nn::interpolate(x, {.scale = 1.2, .mode = nn::Resample::bicubic}),
              {0.666968f, 3.175253f, 0.076908f, 4.577453f, 1.819237f, 1.697818f, 3.738944f, -0.306679f, 2.801186f});
}

TEST(Interpolate, OfVolumesIsPyTorchs) {
  using enum nn::Resample;
  expect_resampled(
      weights({1, 3, -2, 5, 0.5f, 4, 2, -1}, {1, 1, 2, 2, 2}),
      {{{.size = nn::Size3(3, 2, 1), .mode = trilinear}, {2, 1.5f, 2.125f, 1, 2.25f, 0.5f}, {1.25f, 1.25f, 2, 2, 3.25f, 3.25f, 4, 4}},
       {{.scale = 1.5, .mode = trilinear},
        {1, 2, 3, -0.5f, 1.75f, 4, -2, 1.5f, 5, 0.75f, 2.125f, 3.5f, 0.375f, 1.5625f, 2.75f, 0, 1, 2, 0.5f, 2.25f, 4, 1.25f, 1.375f, 1.5f, 2, 0.5f, -1},
        {18, 22.5f, 31.5f, 36, 58.5f, 63, 72, 76.5f}},
       {{.size = 3}, {1, 1, 3, 1, 1, 3, -2, -2, 5, 1, 1, 3, 1, 1, 3, -2, -2, 5, 0.5f, 0.5f, 4, 0.5f, 0.5f, 4, 2, 2, -1}, {60, 36, 48, 27, 84, 45, 51, 27}},
       {{.size = nn::Size3(3, 1, 3), .mode = nearest_exact}, {-2, 5, 5, 2, -1, -1, 2, -1, -1}, {0, 0, 1, 5, 0, 0, 11, 28}},
       {{.size = nn::Size3(1, 2, 2), .mode = area}, {0.75f, 3.5f, 0, 2}, {0.5f, 1, 1.5f, 2, 0.5f, 1, 1.5f, 2}}});
}

TEST(Interpolate, SaysWhichModeTakesWhat) {
  using enum nn::Resample;
  const Tensor image = counting({1, 1, 2, 2});
  const auto refusal = [&](const nn::UpsampleOptions& options) { return text_of([&] { nn::interpolate(image, options); }); };
  EXPECT_EQ(refusal({.size = 2, .mode = linear}), "[interpolate] linear takes (batch, channels, length), got (1, 1, 2, 2)");
  EXPECT_EQ(refusal({.size = 2, .mode = trilinear}),
            "[interpolate] trilinear takes (batch, channels, depth, height, width), got (1, 1, 2, 2)");
  EXPECT_EQ(refusal({.size = 2, .align_corners = true}),
            "[interpolate] align_corners is of linear, bilinear, bicubic and trilinear alone, not of nearest");
  EXPECT_EQ(refusal({.size = 2, .mode = area, .antialias = true}),
            "[interpolate] antialias is of bilinear and bicubic alone, not of area");
  EXPECT_EQ(refusal({.size = nn::Size3(2, 2, 2)}), "[interpolate] takes one size or one for each of 2 axes, got 3");
  EXPECT_EQ(refusal({.size = 2, .scale = 2.0}), "[interpolate] takes either a size or a scale");
  EXPECT_EQ(refusal({.size = 2, .recompute_scale = true}), "[interpolate] recomputes a scale, not a size");
  EXPECT_EQ(refusal({.scale = -1.0}), "[interpolate] the scale must be positive, got -1");
  EXPECT_EQ(text_of([&] { nn::grid_sample(image, zeros({1, 1, 1, 2}), {.mode = bicubic}); }),
            "[grid_sample] reads bilinear or nearest, not bicubic");
}

// Gradients of windows that overlap are sums of windows over what comes back; here they are the transposed matrix of
// the pool, whose columns are the pools of single elements.
TEST(AvgPool, GivesEveryElementItsShareOfAllWindowsAroundIt) {
  const nn::AvgPool2dOptions all[] = {{.stride = 1, .padding = 1},
                                      {.stride = 2, .padding = 1, .count_include_pad = false},
                                      {.stride = nn::Size2(2, 1), .padding = nn::Size2(0, 1), .ceil_mode = true},
                                      {.stride = 2, .ceil_mode = true, .divisor_override = 5}};
  for (const nn::AvgPool2dOptions& options : all) {
    constexpr int64_t kHeight = 5, kWidth = 6;
    Tensor x = counting({1, 2, kHeight, kWidth}).requires_grad_();
    const Tensor y = nn::avg_pool2d(x, {3, 3}, options);
    const Tensor given = counting(y.shape()) + 1.0;
    (y * given).sum().backward();
    const Tensor singles = eye(kHeight * kWidth).reshape({kHeight * kWidth, 1, kHeight, kWidth});
    const Tensor matrix = nn::avg_pool2d(singles, {3, 3}, options).reshape({kHeight * kWidth, -1});
    const Tensor wanted = matmul(given.reshape({2, -1}), matrix.t());
    expect_near(x.grad(), wanted.reshape({-1}).to_vector<float>(), 1e-4f);
  }
}

TEST(AvgPool, DividesByWhatItIsTold) {
  Tensor x = counting({1, 1, 2, 3}).requires_grad_();
  const Tensor y = nn::avg_pool2d(x, 2, {.stride = 1, .divisor_override = 2});
  EXPECT_EQ(values(y), (Floats{4, 6}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Floats{0.5, 1, 0.5, 0.5, 1, 0.5}));
  EXPECT_EQ(values(nn::avg_pool3d(counting({1, 1, 2, 2, 2}), 2, {.divisor_override = -1})), (Floats{-28}));
  EXPECT_EQ(text_of([&] { nn::avg_pool2d(x, 2, {.divisor_override = 0}); }), "[avg_pool2d] the divisor must not be 0");
}

// In f32, 41 * (1 / 41) is less than 1: PyTorch takes element 0 there, and so does this.
TEST(Interpolate, OfManyTimesTheSizeIsPyTorchs) {
  const Floats y = values(nn::interpolate(counting({1, 1, 2}), {.scale = 41.0}));
  EXPECT_EQ(std::ranges::count(y, 0.0f), 42);
}

TEST(Interpolate, GivesATensorOfItsOwn) {
  for (const nn::Resample mode : {nn::Resample::nearest, nn::Resample::bilinear}) {
    const Tensor x = counting({1, 1, 2, 2});
    Tensor y = nn::interpolate(x, {.size = 2, .mode = mode});
    y.add_(1);
    EXPECT_EQ(values(x), (Floats{0, 1, 2, 3}));
    EXPECT_EQ(values(y), (Floats{1, 2, 3, 4}));
  }
}

TEST(Interpolate, SaysWhatNoTensorHolds) {
  const Tensor x = counting({1, 1, 2, 2});
  EXPECT_EQ(text_of([&] { nn::interpolate(x, {.scale = 1e30}); }),
            "[interpolate] a scale of 1e+30 makes too many elements of 2");
  EXPECT_EQ(text_of([&] { nn::interpolate(x, {.scale = INFINITY}); }),
            "[interpolate] a scale of inf makes too many elements of 2");
  EXPECT_EQ(text_of([&] { nn::interpolate(x, {.size = int64_t{1} << 40, .mode = nn::Resample::bilinear}); }),
            "[interpolate] a tensor of shape (1, 1, 1099511627776, 1099511627776) has too many elements");
  EXPECT_EQ(text_of([&] { nn::adaptive_avg_pool2d(x, int64_t{1} << 40); }),
            "[adaptive_avg_pool2d] a tensor of shape (1, 1, 1099511627776, 1099511627776) has too many elements");
  EXPECT_EQ(text_of([&] { nn::adaptive_avg_pool1d(x[0], INT64_MAX); }),
            "[adaptive_avg_pool1d] a tensor of shape (1, 2, 9223372036854775807) has too many elements");
}

TEST(Flatten, KeepsTheBatch) { EXPECT_EQ(nn::Flatten()(zeros({2, 3, 4, 5})).shape(), (Dims{2, 60})); }

// ---- normalisation ----

TEST(BatchNorm, MovesTheRunningStatisticsInTraining) {
  nn::BatchNorm1d norm(2);
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 6.0}});
  expect_near(norm(x), {-1, -1, 1, 1}, 1e-4f);
  expect_near(norm.running_mean, {0.2, 0.4});
  expect_near(norm.running_var, {1.1, 1.7});
  norm(x + 1.0);
  expect_near(norm.running_mean, {0.48, 0.86});
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 2);
  norm.eval();
  const Floats before = values(norm.running_mean);
  expect_near(norm(zeros({1, 2})), {-0.48f / std::sqrt(values(norm.running_var)[0] + 1e-5f),
                                    -0.86f / std::sqrt(values(norm.running_var)[1] + 1e-5f)});
  EXPECT_EQ(values(norm.running_mean), before);
}

// The composition that batch_norm is in training, with the gradient of its ops.
Tensor composed_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Dims axes{0, 2, 3}, beside{1, x.size(1), 1, 1};
  const Tensor centred = x - mean(x, axes, true);
  return centred * rsqrt(mean(square(centred), axes, true) + 1e-5) * weight.reshape(beside) + bias.reshape(beside);
}

TEST(BatchNorm, HasTheDerivativesOfItsOps) {
  manual_seed(3);
  const Options f64(DType::f64);
  const Tensor x = (randn({3, 2, 2, 2}, f64) * 2.0 + 1.0).detach().requires_grad_();
  const Tensor weight = randn({2}, f64).requires_grad_(), bias = randn({2}, f64).requires_grad_();
  const Tensor direction = randn({3, 2, 2, 2}, f64);
  const std::vector<Tensor> leaves{x, weight, bias};
  const auto derivatives = [&](const Tensor& y) {
    std::vector<Tensor> first = grad(std::vector{sum(y * direction)}, leaves, {.create_graph = true});
    const Tensor mixed = sum(square(first[0])) + sum(first[1] * weight) + sum(first[2] * bias);
    for (const Tensor& second : grad(std::vector{mixed}, leaves)) first.push_back(second);
    return first;
  };
  const auto ours = derivatives(nn::batch_norm(x, {}, {}, weight, bias, true, 0.1, 1e-5));
  const auto theirs = derivatives(composed_norm(x, weight, bias));
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_LT(max(abs(ours[i] - theirs[i])).item<double>(), 1e-10) << "derivative " << i;
}

// A channel does not stay in a cache: what its gradient needs to know is summed in one pass, and used in the next.
TEST(BatchNorm, ItsGradientPassesOverAChannelTwice) {
  const Tensor x = randn({4, 3, 32, 32}).eval().requires_grad_(), next = randn({3072, 5}).eval();
  const Tensor weight = ones({3}).eval().requires_grad_(), bias = zeros({3}).eval().requires_grad_();
  const auto passes_of = [&](const Tensor& y) {
    size_t passes = 0;
    const exec::WatchPlans watch([&](const plan::Plan& plan) {
      for (const plan::Kernel& kernel : plan.kernels) {
        const auto* nest = std::get_if<ir::LoopNest>(&kernel);
        if (nest && nest->rows() == 3) passes += codegen::stages(*nest).stages.size();
      }
    });
    const Tensor loss = sum(square(matmul(y.reshape({4, 3072}), next)));
    eval(grad(std::vector{loss}, std::vector{x, weight, bias}));
    return passes;
  };
  const size_t forward = 2;  // sums for mean and variance, result
  EXPECT_EQ(passes_of(nn::batch_norm(x, {}, {}, weight, bias, true, 0.1, 1e-5)), forward + 2);
  EXPECT_EQ(passes_of(composed_norm(x, weight, bias)), 3 + 3u);
}

// Sums of the values and of their squares would have cancelled: 1e8 beside a variance of 1.
TEST(BatchNorm, OfValuesFarFromZeroHasTheirVariance) {
  manual_seed(5);
  const Dims axes{0, 2, 3};
  const Tensor x = randn({64, 3, 8, 8}) + 1e4, exact = x.to(DType::f64), centred = exact - mean(exact, axes, true);
  Tensor centre = zeros({3}), variance = zeros({3});
  nn::batch_norm(x, centre, variance, {}, {}, true, 1.0, 1e-5);
  const Tensor wanted = sum(square(centred), axes) / (64.0 * 64.0 - 1);
  EXPECT_LT(max(abs(variance.to(DType::f64) / wanted - 1.0)).item<double>(), 1e-4);
  EXPECT_LT(max(abs(centre.to(DType::f64) - mean(exact, axes))).item<double>(), 1e-2);
}

TEST(BatchNorm, OfOneValueThroughoutIsItsBias) {
  const Tensor bias = tensor({0.5, -2.0});
  EXPECT_EQ(values(nn::batch_norm(full({8, 2, 3, 3}, 1e4), {}, {}, {}, bias, true, 0.1, 1e-5)),
            values(bias.reshape({1, 2, 1, 1}).expand({8, 2, 3, 3}).contiguous()));
}

// As in PyTorch, whose norms of 16 bits sum in f32 as well.
TEST(BatchNorm, UnderAutocastKeepsTheTypeOfItsInput) {
  manual_seed(6);
  const Tensor wide = randn({4, 2, 5, 5}), low = wide.to(DType::bf16), weight = tensor({1.5, 0.5});
  Tensor mean_of_low = zeros({2}), variance_of_low = ones({2}), mean_of_wide = zeros({2}), variance_of_wide = ones({2});
  const Autocast in_bf16(DType::bf16);
  EXPECT_EQ(nn::batch_norm(wide, {}, {}, weight, {}, true, 0.1, 1e-5).dtype(), DType::f32);
  const Tensor y = nn::batch_norm(low, mean_of_low, variance_of_low, weight, {}, true, 0.1, 1e-5);
  const Tensor same = nn::batch_norm(low.to(DType::f32), mean_of_wide, variance_of_wide, weight, {}, true, 0.1, 1e-5);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(values(y.to(DType::f32)), values(same.to(DType::bf16).to(DType::f32)));
  EXPECT_EQ(values(mean_of_low), values(mean_of_wide));
  EXPECT_EQ(values(variance_of_low), values(variance_of_wide));
}

TEST(BatchNorm, WithoutMomentumCountsAllBatchesTheSame) {
  nn::BatchNorm1d norm(2, {.momentum = {}});
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 6.0}});
  norm(x);
  norm(x + 2.0);
  expect_near(norm.running_mean, {3, 5});
  expect_near(norm.running_var, {2, 8});
}

TEST(BatchNorm, HasItsStatisticsInTheStateDict) {
  nn::BatchNorm2d norm(3);
  norm(randn({2, 3, 4, 4}));
  nn::BatchNorm2d other(3);
  other.load_state_dict(norm.state_dict());
  EXPECT_EQ(values(other.running_var), values(norm.running_var));
  EXPECT_EQ(other.num_batches_tracked.item<int64_t>(), 1);
}

TEST(BatchNorm, RefusesOneValuePerChannelInTraining) {
  nn::BatchNorm2d norm(3);
  EXPECT_EQ(text_of([&] {
              norm(zeros({1, 3, 1, 1}));
            }),
            "[batch_norm] training needs more than one value per channel, got (1, 3, 1, 1)");
  EXPECT_EQ(norm(zeros({0, 3, 2, 2})).shape(), (Dims{0, 3, 2, 2}));
  EXPECT_EQ(values(norm.running_var), (Floats{1, 1, 1}));
  norm.eval();
  EXPECT_EQ(norm(zeros({1, 3, 1, 1})).shape(), (Dims{1, 3, 1, 1}));
  EXPECT_EQ(text_of([&] { norm(zeros({2, 4, 1, 1})); }), "[batch_norm] takes 3 channels, got (2, 4, 1, 1)");
}

TEST(BatchNorm, IsMovedByCapturedStepsAsByOthers) {
  nn::BatchNorm2d captured(2), plain(2);
  auto step = compile([&](const Tensor& x) { return captured(x); });
  for (int i = 0; i < 6; ++i) {
    const Tensor x = randn({4, 2, 3, 3}) + static_cast<double>(i);
    EXPECT_EQ(values(step(x)), values(plain(x)));
  }
  EXPECT_EQ(values(captured.running_mean), values(plain.running_mean));
  EXPECT_EQ(values(captured.running_var), values(plain.running_var));
  EXPECT_EQ(captured.num_batches_tracked.item<int64_t>(), 6);
}

TEST(BatchNorm, CountsItsBatchesAsAFunction) {
  const Tensor mean = zeros({1}), variance = ones({1});
  const Tensor batches = zeros({}, DType::i64);
  nn::batch_norm_counted(tensor({{2.0}, {4.0}}), mean, variance, batches, {}, {}, std::nullopt);
  expect_near(mean, {3});
  expect_near(variance, {2});
  nn::batch_norm_counted(tensor({{6.0}, {8.0}}), mean, variance, batches, {}, {}, std::nullopt);
  expect_near(mean, {5});
  EXPECT_EQ(batches.item<int64_t>(), 2);
}

TEST(GroupNorm, NormalisesRunsOfChannels) {
  const Tensor x = tensor({{1.0, 3.0, 10.0, 30.0}});
  expect_near(nn::group_norm(x, 2), {-1, 1, -1, 1}, 1e-4f);
  expect_near(nn::group_norm(x, 2, tensor({1.0, 2.0, 3.0, 4.0}), tensor({0.0, 1.0, 0.0, 1.0})), {-1, 3, -3, 5}, 1e-4f);
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivide) {
  EXPECT_EQ(text_of([] { nn::GroupNorm(2, 3); }), "[group_norm] 3 channels cannot be divided into 2 groups");
  expect_near(nn::GroupNorm(1, 2)(tensor({{1.0, 3.0}})), {-1, 1}, 1e-4f);
}

// A small net of all of it learns to tell horizontal from vertical bars, captured as not.
TEST(Vision, ANetLearnsBars) {
  manual_seed(1);
  nn::Sequential net;
  net.emplace<nn::Conv2d>(1, 4, 3, nn::Conv2dOptions{.padding = 1, .bias = false});
  net.emplace<nn::BatchNorm2d>(4);
  net.emplace<nn::ReLU>();
  net.emplace<nn::MaxPool2d>(2);
  net.emplace<nn::Conv2d>(4, 8, 3);
  net.emplace<nn::ReLU>();
  net.emplace<nn::AdaptiveAvgPool2d>(1);
  net.emplace<nn::Flatten>();
  net.emplace<nn::Linear>(8, 2);
  optim::Adam adam(net.parameters(), {.lr = 0.02});
  const Tensor at = arange(8).unsqueeze(1), line = (arange(8) == at).to(DType::f32);  // bar i of 8
  const Tensor rows = line.reshape({8, 1, 8, 1}).expand({8, 1, 8, 8}), columns = rows.transpose(2, 3);
  const Tensor x = cat({rows, columns}), y = cat({zeros({8}, DType::i64), ones({8}, DType::i64)});
  auto step = compile([&](const Tensor& images, const Tensor& labels) {
    Tensor loss = nn::cross_entropy(net(images), labels);
    loss.backward();
    adam.step();
    adam.zero_grad();
    return loss.detach();
  });
  float loss = 0;
  for (int i = 0; i < 60; ++i) loss = step(x, y).item<float>();
  EXPECT_LT(loss, 0.05f);
}

}  // namespace
}  // namespace tenon
