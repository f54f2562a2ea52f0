// Samples, and datasets made of tensors and of other datasets.

#include "tenon/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tenon/io/npy.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"
#include "tests/io/support.h"

namespace tenon::data {
namespace {

TensorDataset numbers(int64_t count, int64_t first = 0) { return {arange(first, first + count)}; }

int64_t number_at(const Dataset& dataset, int64_t i) { return dataset.get(i)[0].item<int64_t>(); }

TEST(Sample, HasItsTensorsByPlaceAndByName) {
  const Sample sample = {{"image", ones({2, 2})}, {"label", scalar(7)}};
  EXPECT_EQ(sample[1].item<int64_t>(), 7);
  EXPECT_EQ(sample["label"].item<int64_t>(), 7);
  EXPECT_TRUE(sample.contains("image"));
  EXPECT_FALSE(sample.contains("mask"));
  const auto [image, label] = sample.unpack<2>();
  EXPECT_EQ(image.shape(), Dims({2, 2}));
  EXPECT_EQ(label.item<int64_t>(), 7);
}

TEST(Sample, SaysWhatThereIsInstead) {
  const Sample named = {{"image", ones({1})}, {"label", ones({1})}}, plain = {ones({1})};
  EXPECT_EQ(text_of([&] { named["mask"]; }), R"([sample] there is no "mask"; it has 2 tensors: "image", "label")");
  EXPECT_EQ(text_of([&] { plain[1]; }), "[sample] there is no tensor 1; it has 1 tensor");
  EXPECT_EQ(text_of([&] { plain.unpack<2>(); }), "[sample] 2 tensors are asked for; it has 1 tensor");
  EXPECT_EQ(text_of([&] { Sample{{"x", ones({1})}, {"x", ones({1})}}; }), R"([sample] two tensors are called "x")");
}

TEST(TensorDataset, GivesRows) {
  const TensorDataset dataset = {{"x", arange(6, float32).reshape({3, 2})}, {"y", tensor({10, 20, 30})}};
  EXPECT_EQ(dataset.size(), 3);
  const Sample row = dataset.get(1);
  EXPECT_EQ(row["x"].to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(row["y"].shape(), Dims{});
  EXPECT_EQ(row["y"].item<int64_t>(), 20);
}

TEST(TensorDataset, RowsOfEveryDTypeComeBack) {
  for (const DType dtype : {float64, float32, float16, bfloat16, int64, int32, uint8, boolean}) {
    const TensorDataset dataset = {tensor({{1, 0}, {0, 1}}).to(dtype)};
    EXPECT_EQ(dataset.get(1)[0].dtype(), dtype);
    EXPECT_EQ(dataset.get(1)[0].to_vector<double>(), (std::vector<double>{0, 1}));
  }
}

TEST(TensorDataset, TakesViewsThatAreNotInRowMajorOrder) {
  const TensorDataset dataset = {arange(6).reshape({2, 3}).t()};
  EXPECT_EQ(dataset.get(2)[0].to_vector<int64_t>(), (std::vector<int64_t>{2, 5}));
}

TEST(TensorDataset, ShowsWhatIsWrittenIntoItsTensors) {
  Tensor x = zeros({3}, Device("cpu")).clone();  // of another device, the dataset has a copy
  const TensorDataset dataset = {x};
  x[1] = 5;
  EXPECT_EQ(dataset.get(1)[0].item<float>(), 5);
}

TEST(TensorDataset, TakesTheArraysOfAnArchive) {
  const std::map<std::string, Tensor> arrays = {{"x", ones({2, 3})}, {"y", zeros({2})}};
  EXPECT_EQ(TensorDataset(arrays).get(0)["x"].shape(), Dims({3}));
}

TEST(TensorDataset, RefusesWhatHasNoRowsInCommon) {
  EXPECT_EQ(text_of([] {
              TensorDataset{{"x", ones({3, 2})}, {"y", ones({2})}};
            }),
            R"([tensor_dataset] tensor "x" has 3 rows, tensor "y" has 2)");
  EXPECT_EQ(text_of([] { TensorDataset{scalar(1)}; }), "[tensor_dataset] tensor 0 is a single number; it needs rows");
  EXPECT_EQ(text_of([] { numbers(3).get(3); }), "[tensor_dataset] there is no sample 3; there are 3");
  EXPECT_EQ(text_of([] { numbers(3).get(-1); }), "[tensor_dataset] there is no sample -1; there are 3");
}

/// Of rows that lie in a mapped file, which is then cut.
class CutFile : public io::InFolder {};

TEST_F(CutFile, IsNoRowsOfZeros) {
  constexpr int64_t kRows = 10'000;
  io::save_npy(path(), ones({kRows, 16}));
  const TensorDataset dataset = {io::load_npy(path(), "cpu")};
  EXPECT_EQ(dataset.get(kRows - 1)[0].to_vector<float>(), std::vector<float>(16, 1));
  std::filesystem::resize_file(path(), 4096);
  const std::vector<int64_t> last = {kRows - 1};
  for (const std::string& text :
       {text_of([&] { dataset.get(kRows - 1); }), text_of([&] { dataset.stacked(last, "cpu"); })}) {
    EXPECT_NE(text.find(path().string()), std::string::npos) << text;
  }
}

TEST(ConcatDataset, PutsDatasetsOneBehindTheOther) {
  const ConcatDataset all({numbers(2), numbers(0), numbers(3, 100)});
  EXPECT_EQ(all.size(), 5);
  EXPECT_EQ(number_at(all, 1), 1);
  EXPECT_EQ(number_at(all, 2), 100);
  EXPECT_EQ(number_at(all, 4), 102);
  EXPECT_EQ(text_of([&] { all.get(5); }), "[concat_dataset] there is no sample 5; there are 5");
}

TEST(Subset, TakesSomeSamplesInItsOwnOrder) {
  const Subset some(numbers(10), {7, 2, 7});
  EXPECT_EQ(some.size(), 3);
  EXPECT_EQ(number_at(some, 0), 7);
  EXPECT_EQ(number_at(some, 1), 2);
  EXPECT_EQ(text_of([] { Subset(numbers(10), {10}); }), "[subset] there is no sample 10; there are 10");
}

TEST(RandomSplit, DealsOutEverySampleOnce) {
  const std::vector<Subset> parts = random_split(numbers(100), {70, 20, 10}, 3);
  ASSERT_EQ(parts.size(), 3);
  std::set<int64_t> seen;
  for (const Subset& part : parts) seen.insert(part.indices().begin(), part.indices().end());
  EXPECT_EQ(parts[0].size(), 70);
  EXPECT_EQ(parts[2].size(), 10);
  EXPECT_EQ(seen.size(), 100);
}

TEST(RandomSplit, IsTheSameForTheSameSeed) {
  const auto first = [](uint64_t seed) { return random_split(numbers(100), {0.5, 0.5}, seed)[0].indices(); };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
  EXPECT_FALSE(std::is_sorted(first(1).begin(), first(1).end()));
}

// torch.utils.data.random_split(range(n), fractions) gives the same lengths.
TEST(RandomSplit, RoundsFractionsAsPyTorch) {
  const auto sizes = [](int64_t samples, const std::vector<double>& fractions) {
    std::vector<int64_t> all;
    for (const Subset& part : random_split(numbers(samples), fractions, 1)) all.push_back(part.size());
    return all;
  };
  EXPECT_EQ(sizes(10, {0.33, 0.33, 0.34}), (std::vector<int64_t>{4, 3, 3}));
  EXPECT_EQ(sizes(7, {0.5, 0.5}), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(sizes(100, {0.71, 0.29}), (std::vector<int64_t>{72, 28}));
  EXPECT_EQ(sizes(5, {1.0, 0.0}), (std::vector<int64_t>{5, 0}));
}

TEST(RandomSplit, RefusesPartsThatDoNotAddUp) {
  EXPECT_EQ(text_of([] {
              random_split(numbers(10), {5, 4}, 1);
            }),
            "[random_split] parts of 5 + 4 samples do not make up a dataset of 10");
  EXPECT_EQ(text_of([] {
              random_split(numbers(10), {0.5, 0.4}, 1);
            }),
            "[random_split] the fractions 0.5 + 0.4 add up to 0.9, not to 1");
  EXPECT_EQ(text_of([] {
              random_split(numbers(10), {-1, 11}, 1);
            }),
            "[random_split] a part of -1 samples, of a dataset of 10");
}

TEST(Map, PutsEverySampleThroughAFunction) {
  const MappedDataset doubled = map(numbers(5), [](const Sample& sample) { return Sample{sample[0] * 2}; });
  EXPECT_EQ(doubled.size(), 5);
  EXPECT_EQ(number_at(doubled, 4), 8);
}

TEST(Map, FunctionsMayDraw) {
  const MappedDataset random =
      map(numbers(50), [](const Sample&, Random& chance) { return Sample{scalar(chance.below(1000))}; });
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(number_at(random, i), number_at(random, i));
    seen.insert(number_at(random, i));
  }
  EXPECT_GT(seen.size(), 40);
}

TEST(Map, ChanceReachesThroughEveryDataset) {
  const auto drawn = [](const Dataset& dataset, int64_t i) {
    Random chance(5, 6, 7);
    return dataset.draw(i, chance)[0].item<int64_t>();
  };
  const MappedDataset random =
      map(numbers(9), [](const Sample&, Random& chance) { return Sample{scalar(chance.below(1 << 30))}; });
  EXPECT_EQ(drawn(ConcatDataset({numbers(1), random}), 4), drawn(random, 3));
  EXPECT_EQ(drawn(Subset(random, {8, 3}), 1), drawn(random, 3));
}

TEST(Transformed, ChangesOneTensor) {
  const TensorDataset pairs = {{"x", arange(3)}, {"y", arange(3)}};
  const Transform negated = [](const Tensor& value, Random&) { return -value; };
  EXPECT_EQ(transformed(pairs, negated).get(2)["x"].item<int64_t>(), -2);
  EXPECT_EQ(transformed(pairs, negated).get(2)["y"].item<int64_t>(), 2);
  EXPECT_EQ(transformed(pairs, negated, "y").get(2)["y"].item<int64_t>(), -2);
  EXPECT_EQ(text_of([&] { transformed(pairs, negated, "z").get(0); }),
            R"([sample] there is no "z"; it has 2 tensors: "x", "y")");
}

TEST(SharedDataset, HoldsWhatItIsGiven) {
  const auto held = std::make_shared<TensorDataset>(numbers(4));
  EXPECT_EQ(Subset(held, {3}).size(), 1);
  EXPECT_EQ(text_of([] { SharedDataset(std::shared_ptr<TensorDataset>()); }),
            "[dataset] the pointer to the dataset is null");
}

TEST(Random, DiffersBySeedEpochAndSample) {
  std::set<uint64_t> seen;
  for (const auto& [seed, epoch, sample] : std::vector<std::array<int64_t, 3>>{
           {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {2, 0, 0}, {0, 2, 0}}) {
    seen.insert(Random(static_cast<uint64_t>(seed), epoch, sample).next());
  }
  EXPECT_EQ(seen.size(), 9);
}

TEST(Random, IsSpreadEvenly) {
  Random random(1, 2, 3);
  double sum = 0;
  int64_t heads = 0;
  std::vector<int64_t> counts(10);
  for (int i = 0; i < 10'000; ++i) {
    sum += random.uniform(-1, 1);
    heads += random.chance(0.25);
    ++counts[static_cast<size_t>(random.below(10))];
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.02);
  EXPECT_NEAR(static_cast<double>(heads), 2'500, 150);
  for (const int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 1'000, 120);
}

}  // namespace
}  // namespace tenon::data
