// Samplers: what they choose, that an epoch's order follows from its number alone, and what loaders make of them.

#include "tenon/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tenon/data/data_loader.h"
#include "tenon/tensor/creation.h"
#include "tests/error_text.h"

namespace tenon::data {
namespace {

using Numbers = std::vector<int64_t>;

Numbers epoch_of(const Sampler& sampler, int64_t epoch) {
  Numbers all;
  for (int64_t place = 0; place < sampler.size(); ++place) all.push_back(sampler.at(epoch, place));
  return all;
}

Numbers sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

Numbers taken(DataLoader& loader) {
  Numbers all;
  for (const Sample& batch : loader) {
    const Numbers part = batch[0].to_vector<int64_t>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(Samplers, OfAllSamplesGiveEachOnceAnEpoch) {
  EXPECT_EQ(epoch_of(SequentialSampler(4), 3), (Numbers{0, 1, 2, 3}));
  const RandomSampler random(100, 7);
  const Numbers first = epoch_of(random, 0);
  EXPECT_EQ(sorted(first), epoch_of(SequentialSampler(100), 0));
  EXPECT_NE(first, epoch_of(random, 1));
  EXPECT_EQ(first, epoch_of(RandomSampler(100, 7), 0));
  EXPECT_NE(first, epoch_of(RandomSampler(100, 8), 0));
}

TEST(Samplers, OfASubsetGiveEachOfItOnce) {
  const SubsetRandomSampler subset({5, 2, 9, 40}, 1);
  EXPECT_EQ(sorted(epoch_of(subset, 0)), (Numbers{2, 5, 9, 40}));
  std::set<Numbers> orders;
  for (int64_t epoch = 0; epoch < 20; ++epoch) orders.insert(epoch_of(subset, epoch));
  EXPECT_GT(orders.size(), 5u);
}

TEST(WeightedSamplers, DrawAsOftenAsTheWeightsSay) {
  const WeightedSampler sampler({1, 0, 3, 6}, 20000, 5);
  std::map<int64_t, int> counts;
  for (const int64_t i : epoch_of(sampler, 2)) ++counts[i];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_NEAR(counts[2], 6000, 300);
  EXPECT_NEAR(counts[3], 12000, 300);
  EXPECT_NE(epoch_of(sampler, 2), epoch_of(sampler, 3));
}

TEST(WeightedSamplers, WithoutReplacementChooseEachOnceAndTheHeavyOnesMore) {
  const WeightedSampler sampler({1, 0, 3, 6, 1}, 2, 5, Replacement::kWithout);
  std::map<int64_t, int> counts;
  constexpr int kEpochs = 3000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Numbers both = epoch_of(sampler, epoch);
    EXPECT_NE(both[0], both[1]);
    for (const int64_t i : both) ++counts[i];
  }
  EXPECT_EQ(counts[1], 0);
  // One of two draws: p(i) + the sum over others j of p(j) p(i) / (1 - p(j)).
  const std::vector<double> p = {1 / 11.0, 0, 3 / 11.0, 6 / 11.0, 1 / 11.0};
  for (size_t i = 0; i < p.size(); ++i) {
    double expected = p[i];
    for (size_t j = 0; j < p.size(); ++j) expected += i == j ? 0 : p[j] * p[i] / (1 - p[j]);
    EXPECT_NEAR(counts[static_cast<int64_t>(i)], expected * kEpochs, 120) << i;
  }
}

TEST(DistributedSamplers, ShareTheSamplesEvenly) {
  Numbers all;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const DistributedSampler part(10, rank, 3, {.seed = 4});
    EXPECT_EQ(part.size(), 4);
    for (const int64_t i : epoch_of(part, 1)) all.push_back(i);
  }
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 10u);
  EXPECT_EQ(epoch_of(DistributedSampler(10, 2, 3, {.shuffle = false}), 5), (Numbers{2, 5, 8, 1}));
}

TEST(Samplers, RefuseWhatCannotBe) {
  EXPECT_EQ(text_of([] { RandomSampler(0, 1); }), "[sampler] 0 samples; there must be at least one");
  EXPECT_EQ(text_of([] { WeightedSampler({1, -1}, 3, 0); }),
            "[sampler] weight 1 is -1; weights are finite and not below 0");
  EXPECT_EQ(text_of([] { WeightedSampler({0, 0}, 3, 0); }),
            "[sampler] the 2 weights add up to 0; at least one must be above 0");
  EXPECT_EQ(text_of([] { WeightedSampler({1, 0, 1}, 3, 0, Replacement::kWithout); }),
            "[sampler] 3 samples without replacement of 2 whose weight is above 0");
  EXPECT_EQ(text_of([] { DistributedSampler(10, 3, 3); }), "[sampler] rank 3 of 3 processes; ranks count from 0");
}

TEST(LoadersWithSamplers, GiveWhatTheSamplerSays) {
  const auto sampler = std::make_shared<WeightedSampler>(std::vector<double>{1, 1, 0, 2}, 7, 3);
  DataLoader loader(TensorDataset{arange(4)}, {.batch_size = 3, .sampler = sampler});
  EXPECT_EQ(loader.size(), 3);
  for (int64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(taken(loader), epoch_of(*sampler, epoch));
}

TEST(LoadersWithSamplers, GoOnWithAnyNumberOfWorkersAndFromAState) {
  const auto sampler = std::make_shared<WeightedSampler>(std::vector<double>{1, 1, 5, 2}, 20, 3);
  const auto with_chance = map(TensorDataset{arange(4)}, [](const Sample& sample, Random& random) {
    return Sample{tensor({sample[0].item<int64_t>(), random.below(1 << 30)})};
  });
  DataLoader alone(with_chance, {.batch_size = 4, .seed = 9, .sampler = sampler});
  const Numbers whole = taken(alone), second = taken(alone);
  EXPECT_NE(whole, second);
  DataLoader threads(with_chance, {.batch_size = 4, .seed = 9, .workers = 3, .sampler = sampler});
  EXPECT_EQ(taken(threads), whole);
  DataLoader later(with_chance, {.batch_size = 4, .seed = 9, .sampler = sampler});
  later.restore(threads.state());
  EXPECT_EQ(taken(later), second);
  // A sample that comes again is drawn anew.
  std::set<int64_t> draws;
  for (size_t i = 1; i < whole.size(); i += 2) draws.insert(whole[i]);
  EXPECT_EQ(draws.size(), 20u);
}

class Broken : public Sampler {
 public:
  int64_t size() const override { return 2; }
  int64_t at(int64_t, int64_t place) const override { return place * 10; }
};

TEST(LoadersWithSamplers, SayWhatIsWrong) {
  DataLoader loader(TensorDataset{arange(4)}, {.batch_size = 2, .sampler = std::make_shared<Broken>()});
  EXPECT_EQ(text_of([&] { loader.next(); }), "[data_loader] the sampler asks for sample 10 of 4");
  EXPECT_EQ(text_of([] {
              DataLoader(TensorDataset{arange(4)}, {.shuffle = true, .sampler = std::make_shared<Broken>()});
            }),
            "[data_loader] a sampler and shuffle: the sampler says the order; leave shuffle out");
}

}  // namespace
}  // namespace tenon::data
