// DataLoaders: every sample once an epoch, the same batches with any number of workers, and a state is all it takes to
// go on.

#include "tenon/data/data_loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tenon/data/transforms.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon::data {
namespace {

using Numbers = std::vector<int64_t>;

TensorDataset numbers(int64_t count) { return {arange(count)}; }

Numbers values(const Sample& batch) { return batch[0].to_vector<int64_t>(); }

std::vector<Numbers> take(DataLoader& loader, int64_t batches) {
  std::vector<Numbers> all;
  for (int64_t i = 0; i < batches; ++i) all.push_back(values(loader.next()));
  return all;
}

/// A dataset of functions, for what TensorDataset would do by copying.
class Calls : public Dataset {
 public:
  Calls(int64_t size, std::function<Sample(int64_t)> f) : size_(size), f_(std::move(f)) {}
  int64_t size() const override { return size_; }
  Sample get(int64_t i) const override { return f_(i); }

 private:
  int64_t size_;
  std::function<Sample(int64_t)> f_;
};

Calls one_by_one(int64_t count) {
  return {count, [](int64_t i) { return Sample{scalar(i)}; }};
}

/// What random transforms make of a sample: its number and what was drawn.
MappedDataset with_chance(int64_t count) {
  return map(numbers(count), [](const Sample& sample, Random& random) {
    return Sample{tensor({sample[0].item<int64_t>(), random.below(1 << 30), random.below(1 << 30)})};
  });
}

TEST(DataLoader, GoesThroughTheSamplesInOrder) {
  for (const SharedDataset& dataset : {SharedDataset(numbers(5)), SharedDataset(one_by_one(5))}) {
    DataLoader loader(dataset, {.batch_size = 2});
    EXPECT_EQ(loader.size(), 3);
    EXPECT_EQ(take(loader, 4), (std::vector<Numbers>{{0, 1}, {2, 3}, {4}, {0, 1}}));
  }
}

TEST(DataLoader, ShufflesEveryEpochAnew) {
  DataLoader loader(numbers(100), {.batch_size = 100, .shuffle = true, .seed = 1});
  Numbers first = take(loader, 1)[0], second = take(loader, 1)[0];
  EXPECT_NE(first, second);
  for (Numbers* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    EXPECT_EQ(*epoch, arange(100).to_vector<int64_t>());
  }
}

TEST(DataLoader, SeedsGiveOrders) {
  const auto order = [](uint64_t seed) {
    DataLoader loader(numbers(50), {.batch_size = 50, .shuffle = true, .seed = seed});
    return values(loader.next());
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(DataLoader, StacksTensorsUnderTheirNames) {
  DataLoader loader(TensorDataset{{"x", arange(12, float32).reshape({4, 3})}, {"y", tensor({0, 1, 2, 3})}},
                    {.batch_size = 2});
  const Sample batch = loader.next();
  EXPECT_EQ(batch["x"].shape(), Dims({2, 3}));
  EXPECT_EQ(batch["x"].to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(batch["y"].to_vector<int64_t>(), (Numbers{0, 1}));
}

TEST(DataLoader, GivesTheSameBatchesWithAnyNumberOfWorkers) {
  const auto batches = [](int workers, int prefetch) {
    DataLoader loader(with_chance(37),
                      {.batch_size = 5, .shuffle = true, .seed = 9, .workers = workers, .prefetch = prefetch});
    return take(loader, 20);
  };
  const std::vector<Numbers> expected = batches(0, 1);
  EXPECT_EQ(batches(1, 1), expected);
  EXPECT_EQ(batches(2, 3), expected);
  EXPECT_EQ(batches(5, 2), expected);
}

TEST(DataLoader, BatchesAreFunctionsOfTheirStates) {
  DataLoader loader(with_chance(7), {.batch_size = 3, .shuffle = true, .seed = 9, .last = LastBatch::kPad});
  DataLoaderState at = loader.state();
  for (int i = 0; i < 5; ++i) {
    const Sample made = loader.batch(at), next = loader.next();
    EXPECT_EQ(values(made), values(next));
    EXPECT_EQ(loader.indices(at).size(), 3u);
    at = loader.after(at);
    EXPECT_EQ(at, loader.state());
  }
}

TEST(DataLoader, KeepsTheOrderWhereSomeSamplesTakeLonger) {
  DataLoader loader(Calls(8,
                          [](int64_t i) {
                            std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 == 0 ? 5 : 0));
                            return Sample{scalar(i)};
                          }),
                    {.workers = 4});
  EXPECT_EQ(take(loader, 8), (std::vector<Numbers>{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

TEST(DataLoader, DrawsAnewInEveryEpoch) {
  DataLoader loader(with_chance(1), {.seed = 3});
  const std::vector<Numbers> epochs = take(loader, 2);
  EXPECT_EQ(epochs[0][0], epochs[1][0]);
  EXPECT_NE(epochs[0][1], epochs[1][1]);
}

TEST(DataLoader, MayDropTheLastBatch) {
  DataLoader loader(numbers(5), {.batch_size = 2, .last = LastBatch::kDrop});
  EXPECT_EQ(loader.size(), 2);
  EXPECT_EQ(take(loader, 3), (std::vector<Numbers>{{0, 1}, {2, 3}, {0, 1}}));
}

TEST(DataLoader, MayFillUpTheLastBatchAndSayWhere) {
  for (const SharedDataset& dataset : {SharedDataset(numbers(4)), SharedDataset(one_by_one(4))}) {
    DataLoader loader(dataset, {.batch_size = 3, .last = LastBatch::kPad});
    const Sample first = loader.next(), last = loader.next();
    EXPECT_EQ(values(first), (Numbers{0, 1, 2}));
    EXPECT_EQ(first["mask"].to_vector<bool>(), (std::vector<bool>{true, true, true}));
    EXPECT_EQ(values(last), (Numbers{3, 3, 3}));
    EXPECT_EQ(last["mask"].to_vector<bool>(), (std::vector<bool>{true, false, false}));
    EXPECT_EQ(last["mask"].dtype(), boolean);
  }
}

TEST(DataLoader, RangeForIsAnEpoch) {
  for (const int workers : {0, 2}) {
    DataLoader loader(numbers(5), {.batch_size = 2, .workers = workers});
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(loader.epoch(), epoch);
      Numbers seen;
      for (const Sample& batch : loader) {
        for (const int64_t value : values(batch)) seen.push_back(value);
      }
      EXPECT_EQ(seen, (Numbers{0, 1, 2, 3, 4}));
    }
  }
}

TEST(DataLoader, KeepsItsPlaceWhereALoopIsLeft) {
  DataLoader loader(numbers(5), {.batch_size = 2});
  for (const Sample& batch : loader) {
    static_cast<void>(batch);
    break;
  }
  EXPECT_EQ(values(*loader.begin()), (Numbers{2, 3}));
  loader.set_epoch(0);
  EXPECT_EQ(values(loader.next()), (Numbers{0, 1}));
  EXPECT_EQ(text_of([&] { loader.set_epoch(-1); }), "[data_loader] there is no epoch -1");
}

TEST(DataLoader, GoesOnFromEveryState) {
  const DataLoaderOptions options = {.batch_size = 4, .shuffle = true, .seed = 5};
  DataLoader whole(with_chance(10), options);
  for (int64_t taken = 0; taken < 8; ++taken) {
    DataLoader first(with_chance(10), options);
    take(first, taken);
    for (const int workers : {0, 3}) {
      DataLoaderOptions other = options;
      other.workers = workers;
      DataLoader second(with_chance(10), other);
      second.restore(data_loader_state_from_json(to_json(first.state())));
      DataLoader expected(with_chance(10), options);
      take(expected, taken);
      EXPECT_EQ(take(second, 7), take(expected, 7));
    }
  }
}

TEST(DataLoader, StateIsWhatWasTakenNotWhatWasPrepared) {
  DataLoader loader(one_by_one(100), {.batch_size = 10, .workers = 3});
  take(loader, 2);
  EXPECT_EQ(loader.state(), (DataLoaderState{0, 0, 2, 10, 100, 10, false}));
  for (const Sample& batch : loader) {
    EXPECT_EQ(loader.state().batch, values(batch)[0] / 10 + 1);
    if (loader.state().batch == 5) break;
  }
  const DataLoaderState saved = loader.state();
  take(loader, 3);
  loader.restore(saved);
  EXPECT_EQ(take(loader, 1)[0][0], 50);
}

TEST(DataLoader, RefusesTheStateOfOtherData) {
  const DataLoaderState saved = DataLoader(numbers(100), {.batch_size = 10, .shuffle = true}).state();
  DataLoader other(numbers(100), {.batch_size = 20});
  EXPECT_EQ(
      text_of([&] { other.restore(saved); }),
      "[data_loader] the saved state is of 100 samples in 10 batches of 10, shuffled, of seed 0; this loader has 100 "
      "samples in 5 batches of 20, not shuffled, of seed 0: continue with the same data and options");
  const DataLoaderState of_seed = DataLoader(numbers(100), {.batch_size = 20, .seed = 7}).state();
  EXPECT_EQ(text_of([&] { other.restore(of_seed); }),
            "[data_loader] the saved state is of 100 samples in 5 batches of 20, not shuffled, of seed 7; this loader "
            "has 100 samples in 5 batches of 20, not shuffled, of seed 0: continue with the same data and options");
  DataLoaderState damaged = other.state();
  damaged.batch = 5;
  EXPECT_EQ(text_of([&] { other.restore(damaged); }),
            "[data_loader] the saved state is damaged: batch 5 of 5 in epoch 0");
}

TEST(DataLoaderState, RefusesTextThatIsNone) {
  const auto refused = [](const std::string& text) { return text_of([&] { data_loader_state_from_json(text); }); };
  const std::string good = to_json(DataLoaderState{1, 2, 3, 10, 100, 10, true});
  EXPECT_EQ(good,
            R"({"batch":3,"batch_size":10,"batches_per_epoch":10,"epoch":2,"samples":100,"seed":1,"shuffle":true})");
  EXPECT_EQ(refused("{}"), "[data_loader] the saved state: has no seed");
  EXPECT_EQ(refused(R"({"seed":-1})"),
            "[data_loader] the saved state: seed is -1; it must be a whole number, not negative");
  EXPECT_EQ(
      refused(R"({"seed":1,"epoch":0,"batch":7,"batches_per_epoch":7,"samples":70,"batch_size":10,"shuffle":true})"),
      "[data_loader] the saved state: is damaged: batch 7 of 7 in epoch 0, 70 samples in batches of 10");
  EXPECT_NE(refused(good.substr(0, 40)).find("is not valid JSON"), std::string::npos);
}

TEST(DataLoader, NamesTheSampleThatFails) {
  for (const int workers : {0, 1, 3}) {
    DataLoader loader(Calls(10,
                            [](int64_t i) {
                              if (i == 7) base::fail("image", "7.png: is cut");
                              return Sample{scalar(i)};
                            }),
                      {.batch_size = 2, .workers = workers});
    take(loader, 3);
    const std::string expected = "[data_loader] sample 7 in epoch 0: [image] 7.png: is cut";
    EXPECT_EQ(text_of([&] { loader.next(); }), expected);
    EXPECT_EQ(text_of([&] { loader.next(); }), expected) << "asked again";
    EXPECT_EQ(loader.state().batch, 3);
  }
}

TEST(DataLoader, FailuresOfEveryKindArrive) {
  DataLoader loader(Calls(1, [](int64_t) -> Sample { throw std::out_of_range("vector"); }), {.workers = 1});
  EXPECT_EQ(text_of([&] { loader.next(); }), "[data_loader] sample 0 in epoch 0: vector");
}

TEST(DataLoader, FailuresOfSeveralLinesArriveAsOne) {
  DataLoader loader(Calls(1, [](int64_t) -> Sample { throw std::runtime_error("first\nsecond"); }), {});
  EXPECT_EQ(text_of([&] { loader.next(); }), "[data_loader] sample 0 in epoch 0: first second");
}

TEST(DataLoader, WhatIsNoExceptionArrivesAsOne) {
  constexpr const char* kThrown = "threw something that is no std::exception; throw one that says what is wrong";
  for (const int workers : {0, 2}) {
    DataLoader loader(Calls(2, [](int64_t) -> Sample { throw 1; }), {.workers = workers});
    EXPECT_EQ(text_of([&] { loader.next(); }), fmt::format("[data_loader] sample 0 in epoch 0: {}", kThrown));
    DataLoader joining(
        one_by_one(2),
        {.batch_size = 2, .workers = workers, .collate = [](std::vector<Sample>) -> Sample { throw "text"; }});
    EXPECT_EQ(text_of([&] { joining.next(); }), fmt::format("[data_loader] the batch of samples 0, 1: {}", kThrown));
  }
}

TEST(DataLoader, GoesOnWhereAFailureHasGone) {
  auto fails = std::make_shared<std::atomic<bool>>(true);
  DataLoader loader(Calls(4,
                          [fails](int64_t i) {
                            if (i == 2 && *fails) throw std::runtime_error("no network");
                            return Sample{scalar(i)};
                          }),
                    {.batch_size = 2, .workers = 2});
  take(loader, 1);
  EXPECT_EQ(text_of([&] { loader.next(); }), "[data_loader] sample 2 in epoch 0: no network");
  *fails = false;
  EXPECT_EQ(values(loader.next()), (Numbers{2, 3}));
}

TEST(DataLoader, SaysWhichSamplesDoNotFitTogether) {
  const auto refused = [](std::function<Sample(int64_t)> f) {
    DataLoader loader(Calls(6, std::move(f)), {.batch_size = 6});
    return text_of([&] { loader.next(); });
  };
  EXPECT_EQ(
      refused([](int64_t i) {
        return Sample{{"image", ones({3, i == 4 ? 5 : 8})}};
      }),
      "[data_loader] the batch of samples 0, 1, 2, 3 and 2 more: [collate] tensor \"image\" of sample 4 is f32(3, 5), "
      "that of sample 0 f32(3, 8): make them alike, or give the loader a collate of your own");
  EXPECT_EQ(
      refused([](int64_t i) {
        return Sample{{i == 1 ? "a" : "b", ones({1})}};
      }),
      "[data_loader] the batch of samples 0, 1, 2, 3 and 2 more: [collate] sample 1 has the tensors (a), sample 0 (b)");
  EXPECT_EQ(refused([](int64_t i) { return Sample{i == 5 ? Tensor() : ones({1})}; }),
            "[data_loader] the batch of samples 0, 1, 2, 3 and 2 more: [collate] tensor 0 of sample 5 is undefined");
}

TEST(DataLoader, TakesACollateOfYourOwn) {
  const Collate joined = [](std::vector<Sample> samples) {
    std::vector<Tensor> parts;
    for (const Sample& sample : samples) parts.push_back(sample[0]);
    return Sample{cat(parts, 0)};
  };
  const Calls of_all_lengths(3, [](int64_t i) { return Sample{full({i + 1}, i)}; });
  for (const int workers : {0, 2}) {
    DataLoader loader(of_all_lengths, {.batch_size = 3, .workers = workers, .collate = joined});
    EXPECT_EQ(values(loader.next()), (Numbers{0, 1, 1, 2, 2, 2}));
  }
  DataLoader failing(of_all_lengths, {.batch_size = 3, .collate = [](std::vector<Sample>) -> Sample {
                                        base::fail("mine", "too long");
                                      }});
  EXPECT_EQ(text_of([&] { failing.next(); }), "[data_loader] the batch of samples 0, 1, 2: [mine] too long");
}

TEST(DataLoader, PutsBatchesOnADevice) {
  for (const SharedDataset& dataset : {SharedDataset(numbers(2)), SharedDataset(one_by_one(2))}) {
    DataLoader loader(dataset, {.batch_size = 2, .last = LastBatch::kPad, .device = "reference"});
    const Sample batch = loader.next();
    EXPECT_EQ(batch[0].device().name(), "reference");
    EXPECT_EQ(batch["mask"].device().name(), "reference");
    EXPECT_EQ(values(batch), (Numbers{0, 1}));
  }
}

TEST(DataLoader, SamplesDoNotDependOnTheCallersAutocast) {
  const Calls products(1, [](int64_t) { return Sample{matmul(full({1, 1}, 1.001F), full({1, 1}, 1.001F))}; });
  DataLoader outside(products), inside(products);
  const std::vector<float> expected = outside.next()[0].to_vector<float>();
  const Autocast lower(bfloat16);
  const Sample batch = inside.next();
  EXPECT_EQ(batch[0].dtype(), float32);
  EXPECT_EQ(batch[0].to_vector<float>(), expected);
}

TEST(DataLoader, RefusesOptionsThatMakeNoBatches) {
  EXPECT_EQ(text_of([] { DataLoader(numbers(0)); }), "[data_loader] the dataset has no samples");
  EXPECT_EQ(text_of([] { DataLoader(numbers(3), {.batch_size = 4, .last = LastBatch::kDrop}); }),
            "[data_loader] 3 samples do not fill a batch of 4, and the last batch is dropped: make batches smaller");
  EXPECT_EQ(text_of([] { DataLoader(numbers(3), {.batch_size = 0}); }),
            "[data_loader] a batch size of 0; it must be at least 1");
  EXPECT_EQ(text_of([] { DataLoader(numbers(3), {.workers = -1}); }),
            "[data_loader] -1 workers; there may be 0 to 256");
  EXPECT_EQ(text_of([] { DataLoader(numbers(3), {.prefetch = 0}); }),
            "[data_loader] a prefetch of 0 batches; it must be from 1 to 1024");
}

TEST(DataLoader, RefusesToFillUpMoreThanMemoryHolds) {
  const std::string text =
      text_of([] { DataLoader(numbers(3), {.batch_size = 1'000'000'000'000, .last = LastBatch::kPad}); });
  EXPECT_TRUE(
      text.starts_with("[data_loader] a batch of 1000000000000, filled up from 3 samples, does not fit into the "))
      << text;
  EXPECT_TRUE(text.ends_with(" bytes that are free: make batches smaller")) << text;
  DataLoader kept(numbers(3), {.batch_size = 1'000'000'000'000});  // three samples are a batch of three
  EXPECT_EQ(values(kept.next()), (Numbers{0, 1, 2}));
}

TEST(DataLoader, MayBeMoved) {
  DataLoader loader(one_by_one(6), {.batch_size = 2, .workers = 2});
  take(loader, 1);
  DataLoader moved = std::move(loader);
  EXPECT_EQ(values(moved.next()), (Numbers{2, 3}));
  moved = DataLoader(one_by_one(3), {.workers = 1});
  EXPECT_EQ(values(moved.next()), (Numbers{0}));
}

// Many times, because workers are in the middle of a sample in some of them.
TEST(DataLoader, GoesOnInAChildOfTheProcess) {
  for (const SharedDataset& dataset : {SharedDataset(one_by_one(20)), SharedDataset(numbers(20))}) {
    for (int round = 0; round < 20; ++round) {
      DataLoader loader(dataset, {.batch_size = 5, .workers = 2, .device = "cpu"});  // a GPU stays with the parent
      take(loader, 1);
      const pid_t child = fork();
      if (child == 0) _exit(values(loader.next()) == Numbers{5, 6, 7, 8, 9} ? 0 : 1);
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_EQ(status, 0);
      EXPECT_EQ(values(loader.next()), (Numbers{5, 6, 7, 8, 9}));
    }
  }
}

TEST(StackSamples, ComputesWhatIsNotComputedYet) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 3; ++i) samples.push_back(Sample{(arange(4) + i).reshape({2, 2}).t()});
  const Sample batch = stack_samples(samples);
  EXPECT_EQ(batch[0].shape(), Dims({3, 2, 2}));
  EXPECT_EQ(batch[0][2].to_vector<int64_t>(), (Numbers{2, 4, 3, 5}));
  EXPECT_EQ(text_of([] { stack_samples({}); }), "[collate] there are no samples");
}

}  // namespace
}  // namespace tenon::data
