// Loaders: every order gives what it promises, and a state is all it takes to go on.

#include "tenon/data/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "tenon/data/permutation.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

Tokens numbers(int64_t count) { return Tokens(counting(count, 1 << 30)); }

std::vector<std::vector<int32_t>> inputs_of(Loader& loader, int64_t batches) {
  std::vector<std::vector<int32_t>> all;
  for (int64_t i = 0; i < batches; ++i) all.push_back(loader.next().inputs);
  return all;
}

TEST(Permutation, VisitsEveryPlaceOnce) {
  for (const uint64_t size : {1, 2, 3, 4, 5, 17, 64, 1000, 4097}) {
    const Permutation shuffled(size, 99);
    std::set<uint64_t> seen;
    for (uint64_t place = 0; place < size; ++place) seen.insert(shuffled(place));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
}

TEST(Permutation, MovesNearlyEverything) {
  const Permutation shuffled(100'000, 1), other(100'000, 2);
  int64_t fixed = 0, same = 0, rising = 0;
  for (uint64_t place = 0; place + 1 < 100'000; ++place) {
    fixed += shuffled(place) == place;
    same += shuffled(place) == other(place);
    rising += shuffled(place) < shuffled(place + 1);
  }
  EXPECT_LT(fixed, 10);
  EXPECT_LT(same, 10);
  EXPECT_NEAR(static_cast<double>(rising), 50'000, 1'000);
}

TEST(Tokens, SlicesOfSlicesAddUp) {
  const Tokens part = numbers(100).slice(10, 50).slice(5, 3);
  EXPECT_EQ(all_of(part), (std::vector<int32_t>{15, 16, 17}));
  EXPECT_EQ(text_of([&] { part.slice(1, 3); }), "[tokens] 3 tokens from 1 on, of 3");
  std::vector<int32_t> four(4);
  EXPECT_EQ(text_of([&] { part.copy(0, four); }), "[tokens] 4 tokens from 0 on, of 3");
}

TEST(Split, TheLastPartIsForValidation) {
  const auto [train, validation] = split(numbers(1000), 0.1);
  EXPECT_EQ(train.size(), 900);
  EXPECT_EQ(validation.size(), 100);
  EXPECT_EQ(all_of(train).back(), 899);
  EXPECT_EQ(all_of(validation).front(), 900);
}

TEST(Split, MayLeaveNothingForValidation) {
  EXPECT_EQ(split(numbers(10), 0).validation.size(), 0);
  EXPECT_EQ(text_of([] { split(numbers(10), 1); }),
            "[split] a validation fraction of 1: it must be at least 0 and below 1");
}

TEST(Loader, TargetsAreTheNextTokens) {
  for (const Order order : {Order::kRandom, Order::kShuffled, Order::kSequential}) {
    Loader loader(numbers(1000), {.batch = 3, .length = 8, .micro_batches = 2, .order = order});
    const Batch batch = loader.next();
    ASSERT_EQ(batch.inputs.size(), 3 * 2 * 8);
    EXPECT_EQ(batch.rows(), 6);
    for (size_t row = 0; row < 6; ++row) {
      for (size_t t = 0; t < 8; ++t) {
        EXPECT_EQ(batch.inputs[row * 8 + t], batch.inputs[row * 8] + static_cast<int32_t>(t));
        EXPECT_EQ(batch.targets[row * 8 + t], batch.inputs[row * 8 + t] + 1);
      }
    }
  }
}

TEST(Loader, SequentialWindowsComeInOrder) {
  Loader loader(numbers(13), {.batch = 2, .length = 4, .order = Order::kSequential});
  EXPECT_EQ(loader.windows_per_epoch(), 3);
  EXPECT_EQ(loader.next().inputs, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(loader.next().inputs, (std::vector<int32_t>{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(loader.state().epoch, 1);
  EXPECT_EQ(loader.state().position, 1);
}

TEST(Loader, ShuffledEpochsVisitEveryWindowOnceEach) {
  Loader loader(numbers(7 * 101 + 1), {.batch = 1, .length = 7, .order = Order::kShuffled});
  ASSERT_EQ(loader.windows_per_epoch(), 101);
  std::vector<std::vector<int32_t>> epochs(3);
  for (auto& starts : epochs) {
    for (int i = 0; i < 101; ++i) starts.push_back(loader.next().inputs[0]);
    std::vector<int32_t> sorted = starts;
    std::sort(sorted.begin(), sorted.end());
    for (int32_t window = 0; window < 101; ++window) EXPECT_EQ(sorted[static_cast<size_t>(window)], 7 * window);
    EXPECT_NE(sorted, starts);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Loader, RandomWindowsReachBothEnds) {
  Loader loader(numbers(20), {.batch = 100, .length = 16, .order = Order::kRandom});
  std::set<int32_t> starts;
  const Batch batch = loader.next();
  for (size_t row = 0; row < 100; ++row) starts.insert(batch.inputs[row * 16]);
  EXPECT_EQ(starts, (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(Loader, ASeedDecidesTheOrder) {
  for (const Order order : {Order::kRandom, Order::kShuffled}) {
    Loader one(numbers(5000), {.order = order, .seed = 1}), again(numbers(5000), {.order = order, .seed = 1}),
        two(numbers(5000), {.order = order, .seed = 2});
    const auto first = inputs_of(one, 3);
    EXPECT_EQ(inputs_of(again, 3), first);
    EXPECT_NE(inputs_of(two, 3), first);
  }
}

TEST(Loader, NoTwoSeedsShareAnEpoch) {
  std::set<std::vector<int32_t>> epochs;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Loader loader(numbers(101), {.batch = 50, .length = 2, .order = Order::kShuffled, .seed = seed});
    for (auto& epoch : inputs_of(loader, 16)) epochs.insert(std::move(epoch));
  }
  EXPECT_EQ(epochs.size(), 16 * 16);
}

TEST(Loader, PrefetchChangesNothing) {
  for (const Order order : {Order::kRandom, Order::kShuffled, Order::kSequential}) {
    Loader with(numbers(1000), {.batch = 5, .length = 16, .order = order, .prefetch = true});
    Loader without(numbers(1000), {.batch = 5, .length = 16, .order = order, .prefetch = false});
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(with.next().inputs, without.next().inputs);
      EXPECT_EQ(with.state(), without.state());
    }
  }
}

TEST(Loader, AStateIsAllItTakesToGoOn) {
  for (const bool prefetch : {true, false}) {
    for (const Order order : {Order::kRandom, Order::kShuffled, Order::kSequential}) {
      const LoaderOptions options{.batch = 4, .length = 10, .order = order, .seed = 3, .prefetch = prefetch};
      Loader straight(numbers(395), options);  // 39 windows: batches run across the ends of epochs
      for (int taken = 0; taken < 25; ++taken) {
        const LoaderState saved = loader_state_from_json(to_json(straight.state()));
        Loader resumed(numbers(395), options);
        resumed.next();
        resumed.restore(saved);
        const auto expected = straight.next();
        EXPECT_EQ(resumed.next().inputs, expected.inputs) << taken;
        EXPECT_EQ(resumed.state(), straight.state());
      }
    }
  }
}

TEST(Loader, StatesOfAnotherSeedAreRefused) {
  Loader one(numbers(1000), {.seed = 1}), two(numbers(1000), {.seed = 2});
  EXPECT_EQ(text_of([&] { two.restore(one.state()); }),
            "[loader] the saved state is of seed 1, this loader has seed 2: continue with the same options");
}

TEST(Loader, MayBeMovedWhileItReadsAhead) {
  Loader straight(numbers(1000), {}), first(numbers(1000), {});
  EXPECT_EQ(first.next().inputs, straight.next().inputs);
  Loader moved = std::move(first);
  EXPECT_EQ(moved.next().inputs, straight.next().inputs);
  Loader assigned(numbers(500), {});
  assigned.next();
  assigned = std::move(moved);
  EXPECT_EQ(assigned.next().inputs, straight.next().inputs);
}

TEST(Loader, ABatchThatCannotBeCountedIsRefused) {
  EXPECT_EQ(text_of([] { Loader(numbers(65), {.batch = int64_t{1} << 60, .length = 64}); }),
            "[loader] a tensor of shape (1, 1152921504606846976, 64) has too many elements");
}

TEST(Loader, TooLittleDataIsOneLine) {
  EXPECT_EQ(text_of([] { Loader(numbers(64), {.length = 64}); }),
            "[loader] the data has 64 tokens, a window of 64 needs 65: give more data or a shorter length");
  Loader smallest(numbers(65), {.length = 64});
  EXPECT_EQ(smallest.windows_per_epoch(), 1);
  EXPECT_EQ(smallest.next().targets.back(), 64);
  EXPECT_EQ(text_of([] { Loader(numbers(64), {.batch = 0}); }),
            "[loader] batch 0, length 64 and micro_batches 1 must be at least 1");
}

TEST(Loader, StatesOfOtherCorporaAreRefused) {
  Loader small(numbers(1000), {.length = 10, .order = Order::kShuffled}), large(numbers(2000), {.length = 10});
  EXPECT_EQ(text_of([&] { large.restore(small.state()); }),
            "[loader] the saved state is of 99 windows of 10 tokens in shuffled order, this loader has 1990 of 10 in "
            "random order: continue with the same data and options");
}

TEST(LoaderState, DamagedTextIsOneLine) {
  const std::string good = to_json({1, 2, 3, Order::kShuffled, 4, 5});
  EXPECT_EQ(loader_state_from_json(good), (LoaderState{1, 2, 3, Order::kShuffled, 4, 5}));
  const auto refusal = [](const std::string& text) { return text_of([&] { loader_state_from_json(text); }); };
  EXPECT_EQ(refusal("{"), "[loader] the saved state is damaged: is not valid JSON (at byte 2 of it)");
  EXPECT_EQ(refusal("[]"), "[loader] the saved state is damaged: it is no JSON object");
  EXPECT_EQ(refusal("{}"), "[loader] the saved state is damaged: it has no \"order\"");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(refusal(changed("\"seed\":1", "\"seed\":-1")),
            "[loader] the saved state is damaged: \"seed\" is no number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal(changed("\"position\":3", "\"position\":5")),
            "[loader] the saved state is damaged: position 5 of 5 windows of 4 tokens");
  EXPECT_EQ(refusal(changed("shuffled", "upwards")),
            "[loader] no order \"upwards\"; there are random, shuffled and sequential");
}

class LoaderOnFiles : public InFolder {};

TEST_F(LoaderOnFiles, FilesOfBothWidthsGiveWhatMemoryGives) {
  const auto tokens = counting(5000);
  write_tokens(path("narrow"), tokens, 50000);
  write_tokens(path("wide"), tokens, 100000);
  Loader memory(Tokens(tokens), {}), narrow(Tokens(TokenFile::open(path("narrow"))), {}),
      wide(Tokens(TokenFile::open(path("wide"))), {});
  const auto expected = inputs_of(memory, 20);
  EXPECT_EQ(inputs_of(narrow, 20), expected);
  EXPECT_EQ(inputs_of(wide, 20), expected);
}

// The thread that reads ahead is not in the child; what it would have read is.
TEST(Loader, GoesOnInAChildOfItsProcess) {
  Loader loader(Tokens(counting(1000)), {.batch = 2, .length = 8, .order = Order::kSequential});
  loader.next();
  Loader same(Tokens(counting(1000)), {.batch = 2, .length = 8, .order = Order::kSequential});
  same.restore(loader.state());
  const std::vector<int32_t> wanted = same.next().inputs;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(loader.next().inputs == wanted ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(loader.next().inputs, wanted);
}

}  // namespace
}  // namespace tenon::data
