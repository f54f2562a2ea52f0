// Transforms of images. Sizes and values of resize() are those of PyTorch 2 (torch.nn.functional.interpolate).

#include "tenon/data/transforms.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tenon/data/data_loader.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon::data {
namespace {

Tensor applied(const Transform& transform, const Tensor& image, int64_t sample = 0) {
  Random random(1, 0, sample);
  return transform(image, random);
}

Tensor counting_image(int64_t channels, int64_t height, int64_t width) {
  return arange(channels * height * width).to(uint8).reshape({channels, height, width});
}

void expect_near(const Tensor& found, const Dims& shape, const std::vector<float>& expected) {
  EXPECT_EQ(found.shape(), shape);
  const std::vector<float> values = found.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
}

TEST(ToFloat, IsFromZeroToOne) {
  const Tensor image = applied(to_float(), tensor({{{uint8_t{0}, uint8_t{51}, uint8_t{255}}}}));
  EXPECT_EQ(image.dtype(), float32);
  EXPECT_EQ(image.to_vector<float>(), (std::vector<float>{0, 0.2F, 1}));
  EXPECT_EQ(applied(to_float(), full({1, 1, 1}, 7.0F)).item<float>(), 7);
  EXPECT_EQ(text_of([] {
              applied(to_float(), ones({1, 1, 1}, int64));
            }),
            "[to_float] an image of u8 or f32 is needed, this is i64(1, 1, 1)");
}

TEST(Normalize, TakesMeanAndDeviationOfEachChannel) {
  const Tensor image = tensor({{{1., 2.}}, {{3., 5.}}});
  expect_near(applied(normalize({1, 4}, {0.5, 2}), image), {2, 1, 2}, {0, 2, -0.5, 0.5});
  expect_near(applied(normalize({1}, {2}), image), {2, 1, 2}, {0, 0.5, 1, 2});
}

TEST(Normalize, RefusesWhatDoesNotFit) {
  EXPECT_EQ(text_of([] { applied(normalize({1}, {1}), counting_image(1, 2, 2)); }),
            "[normalize] an image of f32 is needed, this is u8(1, 2, 2): put to_float() in front");
  EXPECT_EQ(text_of([] {
              applied(normalize({1, 2}, {1, 2}), ones({3, 2, 2}));
            }),
            "[normalize] there are 2 means, the image has 3 channels");
  EXPECT_EQ(text_of([] {
              applied(normalize({1}, {1}), ones({4, 4}));
            }),
            "[normalize] an image is (channels, height, width), this is f32(4, 4)");
  EXPECT_EQ(text_of([] { normalize({1}, {0}); }), "[normalize] a deviation of 0; it must be above 0");
  EXPECT_EQ(text_of([] {
              normalize({1, 2}, {1});
            }),
            "[normalize] 2 means and 1 deviations are given; there must be as many");
}

TEST(RandomCrop, IsAPartOfTheImage) {
  const Tensor image = counting_image(2, 4, 5);
  std::set<std::pair<int, int>> places;
  for (int64_t sample = 0; sample < 100; ++sample) {
    const std::vector<uint8_t> part = applied(random_crop(3, 3), image, sample).to_vector<uint8_t>();
    ASSERT_EQ(part.size(), 18);
    const int top = part[0] / 5, left = part[0] % 5;
    places.insert({top, left});
    for (int i = 0; i < 18; ++i)
      EXPECT_EQ(part[static_cast<size_t>(i)], i / 9 * 20 + (top + i % 9 / 3) * 5 + left + i % 3);
  }
  EXPECT_EQ(places.size(), 2 * 3);
}

TEST(RandomCrop, PadsOnEverySideFirst) {
  const Tensor image = full({1, 2, 2}, 9).to(uint8);
  std::map<std::vector<uint8_t>, int> seen;
  for (int64_t sample = 0; sample < 200; ++sample) {
    ++seen[applied(random_crop(2, 2, {.padding = 1, .fill = 3}), image, sample).to_vector<uint8_t>()];
  }
  EXPECT_EQ(seen.size(), 9);
  EXPECT_TRUE(seen.contains({9, 9, 9, 9}));
  EXPECT_TRUE(seen.contains({3, 3, 3, 9})) << "the corner";
  EXPECT_TRUE(seen.contains({9, 3, 9, 3}));
}

TEST(RandomCrop, MayLieInThePaddingAlone) {
  const Tensor image = ones({1, 1, 1});
  std::set<float> sums;
  for (int64_t sample = 0; sample < 60; ++sample)
    sums.insert(applied(random_crop(1, 1, {.padding = 2}), image, sample).item<float>());
  EXPECT_EQ(sums, (std::set<float>{0, 1}));
}

TEST(RandomCrop, RefusesWhatDoesNotFit) {
  EXPECT_EQ(text_of([] { applied(random_crop(5, 5, {.padding = 1}), counting_image(1, 2, 8)); }),
            "[random_crop] a crop of 5 x 5 does not fit into 2 x 8 with 1 pixels of padding: resize() first");
  EXPECT_EQ(text_of([] { random_crop(0, 5); }), "[random_crop] a size of 0 x 5; both must be at least 1");
  EXPECT_EQ(text_of([] { applied(random_crop(1, 1, {.fill = 300}), counting_image(1, 2, 2)); }),
            "[random_crop] a fill of 300 is not in u8");
}

// torchvision: round((8 - 3) / 2) = 2 of rows, round((7 - 4) / 2) = 2 of columns.
TEST(CenterCrop, IsTheMiddle) {
  const Tensor part = applied(center_crop(3, 4), counting_image(1, 8, 7));
  EXPECT_EQ(part.shape(), Dims({1, 3, 4}));
  EXPECT_EQ(part.to_vector<uint8_t>()[0], 2 * 7 + 2);
  EXPECT_EQ(text_of([] { applied(center_crop(9, 1), counting_image(1, 8, 7)); }),
            "[center_crop] a crop of 9 x 1 does not fit into 8 x 7: resize() first");
}

TEST(RandomHorizontalFlip, ChangesLeftAndRight) {
  const Tensor image = counting_image(1, 2, 3);
  EXPECT_EQ(applied(random_horizontal_flip(1), image).to_vector<uint8_t>(), (std::vector<uint8_t>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(applied(random_horizontal_flip(0), image).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
  int flipped = 0;
  for (int64_t sample = 0; sample < 1000; ++sample)
    flipped += applied(random_horizontal_flip(), image, sample).to_vector<uint8_t>()[0] == 2;
  EXPECT_NEAR(flipped, 500, 60);
  EXPECT_EQ(text_of([] { random_horizontal_flip(1.5); }),
            "[random_horizontal_flip] a probability of 1.5; it must be from 0 to 1");
}

TEST(Resize, BilinearIsPyTorchs) {
  const Tensor x = square(arange(12, float32)).reshape({1, 3, 4});
  expect_near(applied(resize(2, 3), x), {1, 2, 3}, {4.5, 9.5, 17.8333F, 54.5, 75.5, 99.8333F});
  expect_near(applied(resize(1, 1), x), {1, 1, 1}, {30.5});
  expect_near(applied(resize(3, 4), x), {1, 3, 4}, x.to_vector<float>());
  expect_near(applied(resize(5, 6), x), {1, 5, 6},
              {0,        0.5,      1.5,  3.5,  6.5,      9,        6.4,      8.5,      11.6333F, 15.7667F,
               20.9,     25,       16,   20.5, 26.8333F, 34.1667F, 42.5,     49,       44.8,     51.7,
               61.2333F, 71.7667F, 83.3, 92.2, 64,       72.5,     84.1667F, 96.8333F, 110.5,    121});
}

TEST(Resize, NearestIsPyTorchs) {
  const Tensor x = square(arange(12, float32)).reshape({1, 3, 4});
  expect_near(applied(resize(2, 3, Interpolation::kNearest), x), {1, 2, 3}, {0, 1, 4, 16, 25, 36});
  expect_near(
      applied(resize(5, 6, Interpolation::kNearest), x), {1, 5, 6},
      {0, 0, 1, 4, 4, 9, 0, 0, 1, 4, 4, 9, 16, 16, 25, 36, 36, 49, 16, 16, 25, 36, 36, 49, 64, 64, 81, 100, 100, 121});
}

TEST(Resize, BytesAreRounded) {
  const Tensor x = (arange(12) * 20).to(uint8).reshape({1, 3, 4});
  EXPECT_EQ(applied(resize(2, 3), x).to_vector<uint8_t>(), (std::vector<uint8_t>{23, 50, 77, 143, 170, 197}));
  EXPECT_EQ(applied(resize(5, 2), x).to_vector<uint8_t>(),
            (std::vector<uint8_t>{10, 50, 42, 82, 90, 130, 138, 178, 170, 210}));
}

TEST(Resize, TakesEveryChannel) {
  const Tensor x = stack({zeros({2, 2}), ones({2, 2})});
  expect_near(applied(resize(1, 3), x), {2, 1, 3}, {0, 0, 0, 1, 1, 1});
}

TEST(Resize, SaysWhereASizeIsBeyondAllMemory) {
  Random random(0, 0, 0);
  const Tensor image = zeros({3, 2, 2}).to(uint8);
  EXPECT_EQ(text_of([&] { resize(int64_t{1} << 40, int64_t{1} << 40)(image, random); }),
            "[resize] a tensor of shape (3, 1099511627776, 1099511627776) has too many elements");
  const std::string text = text_of([&] { resize(int64_t{1} << 25, int64_t{1} << 25)(image, random); });
  EXPECT_TRUE(text.starts_with("[resize] an image of 3 x 33554432 x 33554432 takes 3377699720527872 bytes, and "))
      << text;
}

TEST(ResizeShorter, AveragesAsPyTorchWithAntialias) {
  const Tensor x = ((arange(42) * 5) % 83).to(float32).reshape({1, 6, 7});
  expect_near(applied(resize_shorter(3), x), {1, 3, 3},
              {29.28572F, 31.63025F, 38.85714F, 50.28571F, 39.02942F, 36.88393F, 35.71429F, 46.42857F, 44.43878F});
  expect_near(applied(resize_shorter(4), x), {1, 4, 4},
              {15.74405F, 23.525F, 32.725F, 40.50595F, 55.61905F, 50.4889F, 26.48889F, 34.26984F, 41.61905F, 46.81778F,
               49.37777F, 42.66666F, 29.61905F, 37.40001F, 46.6F, 38.07738F});
  EXPECT_EQ(applied(resize_shorter(12), x).shape(), (Dims{1, 12, 14}));
  EXPECT_EQ(applied(resize_shorter(6), x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(applied(resize_shorter(2), x.to(uint8)).dtype(), uint8);
}

TEST(RandomResizedCrop, OfAllOfAPictureIsTheWholeOne) {
  const Tensor x = (arange(64) * 3).to(uint8).reshape({1, 8, 8});
  const Transform whole = random_resized_crop(4, 4, {.least_area = 1, .least_ratio = 1, .most_ratio = 1});
  EXPECT_EQ(applied(whole, x).to_vector<uint8_t>(), applied(resize_shorter(4), x).to_vector<uint8_t>());
}

TEST(RandomResizedCrop, ShowsPartsOfEverySizeEverywhere) {
  const Tensor x = arange(40).to(float32).reshape({1, 1, 40}).expand({1, 40, 40}).contiguous();
  const Transform crop = random_resized_crop(4, 4);
  float least = 40, most = 0, narrowest = 40, widest = 0;
  for (int64_t sample = 0; sample < 200; ++sample) {
    const std::vector<float> row = applied(crop, x, sample).select(1, 0).to_vector<float>();
    least = std::min(least, row.front());
    most = std::max(most, row.back());
    narrowest = std::min(narrowest, row.back() - row.front());
    widest = std::max(widest, row.back() - row.front());
  }
  EXPECT_LT(least, 6);
  EXPECT_GT(most, 33);
  EXPECT_LT(narrowest, 12);  // three quarters of a part 0.28 * 40 wide
  EXPECT_GT(widest, 24);
  EXPECT_EQ(applied(crop, x, 3).to_vector<float>(), applied(crop, x, 3).to_vector<float>());
}

TEST(RandomResizedCrop, TakesTheMiddleWhereNoPartHasSuchARatio) {
  const Tensor x = arange(100).to(float32).reshape({1, 1, 100}).expand({1, 2, 100}).contiguous();
  const std::vector<float> row = applied(random_resized_crop(1, 2, {.least_area = 0.9}), x).to_vector<float>();
  EXPECT_NEAR(row[0] + row[1], 2 * 49.5, 2);
  EXPECT_EQ(text_of([] { random_resized_crop(4, 4, {.least_area = 0}); }),
            "[random_resized_crop] areas from 0 to 1; they must be above 0 and at most 1");
  EXPECT_EQ(text_of([] { random_resized_crop(4, 4, {.least_ratio = 2}); }),
            "[random_resized_crop] ratios from 2 to 1.3333333333333333; they must be above 0");
}

TEST(Compose, GoesInOrder) {
  const Transform both = compose({to_float(), normalize({0.5}, {0.5})});
  EXPECT_EQ(applied(both, full({1, 1, 1}, 255).to(uint8)).item<float>(), 1);
  EXPECT_EQ(text_of([] { compose({to_float(), Transform()}); }), "[compose] transform 1 is empty");
}

TEST(Transforms, TakeImagesThatLieOtherwiseInMemory) {
  const Tensor image = counting_image(1, 2, 3);
  expect_near(applied(to_float(), image.transpose(1, 2)) * 255, {1, 3, 2}, {0, 3, 1, 4, 2, 5});
}

TEST(Transforms, AreTheSameInAResumedRunWithOtherWorkers) {
  const TensorDataset images = {(arange(20 * 3 * 8 * 8) % 251).to(uint8).reshape({20, 3, 8, 8})};
  const auto augmented = transformed(images, compose({random_crop(8, 8, {.padding = 2}), random_horizontal_flip(),
                                                      to_float(), normalize({0.5}, {0.25})}));
  const auto batches = [](DataLoader& loader, int64_t count) {
    std::vector<std::vector<float>> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(loader.next()[0].to_vector<float>());
    return all;
  };
  DataLoader whole(augmented, {.batch_size = 6, .shuffle = true, .seed = 2});
  const auto expected = batches(whole, 12);
  DataLoader begun(augmented, {.batch_size = 6, .shuffle = true, .seed = 2, .workers = 1});
  batches(begun, 5);
  DataLoader resumed(augmented, {.batch_size = 6, .shuffle = true, .seed = 2, .workers = 3});
  resumed.restore(begun.state());
  const auto rest = batches(resumed, 7);
  for (size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i], expected[i + 5]) << i;
  EXPECT_NE(expected[0], expected[4]) << "another epoch";
}

}  // namespace
}  // namespace tenon::data
