// Streams: batches in their order, whoever stacks them; passes one after another; a place to go on from.

#include "tenon/data/iterable.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

// The numbers from 100 * epoch on; `fails_at` throws once.
class NumberStream : public IterableDataset {
 public:
  explicit NumberStream(int64_t count, std::optional<int64_t> fails_at = {}) : count_(count), fails_at_(fails_at) {}
  Pass pass(int64_t epoch) const override {
    return [this, i = int64_t{0}, epoch]() mutable -> std::optional<Sample> {
      if (fails_at_ && i == *fails_at_) {
        fails_at_.reset();
        throw Error("the line is cut");
      }
      if (i == count_) return std::nullopt;
      return Sample{scalar(100 * epoch + i++)};
    };
  }

 private:
  int64_t count_;
  mutable std::optional<int64_t> fails_at_;
};

using Batches = std::vector<std::vector<int64_t>>;

Batches pass_of(IterableLoader& loader) {
  Batches all;
  for (const Sample& batch : loader) all.push_back(batch[0].to_vector<int64_t>());
  return all;
}

TEST(IterableLoader, APassGivesEverySampleOnceInOrderWithAnyNumberOfWorkers) {
  for (const int workers : {0, 1, 3}) {
    IterableLoader loader(std::make_shared<NumberStream>(7), {.batch_size = 3, .workers = workers});
    EXPECT_EQ(pass_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}, {6}})) << workers;
    EXPECT_EQ(loader.epoch(), 1);
    EXPECT_EQ(pass_of(loader), (Batches{{100, 101, 102}, {103, 104, 105}, {106}})) << workers;
  }
}

TEST(IterableLoader, MayDropTheLastBatchOfAStream) {
  IterableLoader loader(std::make_shared<NumberStream>(7), {.batch_size = 3, .last = LastBatch::kDrop});
  EXPECT_EQ(pass_of(loader), (Batches{{0, 1, 2}, {3, 4, 5}}));
}

TEST(IterableLoader, AnEmptyStreamHasNoBatches) {
  IterableLoader loader(std::make_shared<NumberStream>(0), {.workers = 1});
  EXPECT_TRUE(pass_of(loader).empty());
  EXPECT_EQ(loader.epoch(), 1);
}

TEST(IterableLoader, GoesOnFromAPlaceWithTheSameBatches) {
  for (const int workers : {0, 2}) {
    const IterableLoaderOptions options{.batch_size = 2, .shuffled = 4, .seed = 5, .workers = workers};
    IterableLoader whole(std::make_shared<NumberStream>(9), options), later(std::make_shared<NumberStream>(9), options);
    const Batches all = pass_of(whole);
    later.go_to(0, 2);
    EXPECT_EQ(pass_of(later), Batches(all.begin() + 2, all.end()));
    EXPECT_EQ(pass_of(later), pass_of(whole));
  }
}

TEST(IterableLoader, ShufflesWithinWhatIsHeld) {
  IterableLoader loader(std::make_shared<NumberStream>(100), {.batch_size = 100, .shuffled = 10, .seed = 1});
  std::vector<int64_t> once = pass_of(loader).at(0);
  EXPECT_FALSE(std::is_sorted(once.begin(), once.end()));
  for (size_t i = 0; i < once.size(); ++i) EXPECT_LT(once[i], static_cast<int64_t>(i) + 10);
  std::sort(once.begin(), once.end());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i], static_cast<int64_t>(i));
}

TEST(IterableLoader, AFailureArrivesAtItsBatchAndTheBatchIsReadAgain) {
  for (const int workers : {0, 2}) {
    IterableLoader loader(std::make_shared<NumberStream>(6, 3), {.batch_size = 2, .workers = workers});
    EXPECT_EQ((*loader.next())[0].to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
    EXPECT_THROW(loader.next(), Error);
    EXPECT_EQ(pass_of(loader), (Batches{{2, 3}, {4, 5}})) << workers;
  }
}

TEST(IterableLoader, LeavingALoopKeepsThePlaceInTheStream) {
  IterableLoader loader(std::make_shared<NumberStream>(6), {.batch_size = 2, .workers = 1});
  for (const Sample& batch : loader) {
    if (batch[0].to_vector<int64_t>()[0] == 0) break;
  }
  EXPECT_EQ(loader.batch(), 1);
  EXPECT_EQ(pass_of(loader), (Batches{{2, 3}, {4, 5}}));
}

TEST(IterableLoader, RefusesWhatMakesNoSense) {
  EXPECT_THROW(IterableLoader(nullptr), Error);
  EXPECT_THROW(IterableLoader(std::make_shared<NumberStream>(1), {.batch_size = 0}), Error);
  EXPECT_THROW(IterableLoader(std::make_shared<NumberStream>(1), {.last = LastBatch::kPad}), Error);
  IterableLoader loader(std::make_shared<NumberStream>(4), {.batch_size = 2});
  loader.go_to(0, 5);
  EXPECT_THROW(loader.next(), Error);
}

}  // namespace
}  // namespace tenon::data
