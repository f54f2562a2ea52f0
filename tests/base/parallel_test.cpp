// Parallel work where threads cannot be started, for the moment or at all: it is done by those that there are.

#include "tenon/base/parallel.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "tenon/data/loader.h"
#include "tenon/tenon.h"

namespace {
std::atomic<int> threads_left = 1 << 30;  // that the system grants
std::atomic<int> threads_refused = 0;
}  // namespace

// In the place of the system's: std::thread calls this one.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
                              void* argument) noexcept {
  if (threads_left.fetch_sub(1) <= 0) {
    ++threads_refused;
    return EAGAIN;
  }
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, begin, argument);
}

namespace tenon::base {
namespace {

// Grants so many threads for a while, and four to parallel work.
class ThreadsGranted {
 public:
  explicit ThreadsGranted(int count) : before_(num_threads()) {
    set_num_threads(4);
    threads_refused = 0;
    threads_left = count;
  }
  ~ThreadsGranted() {
    threads_left = 1 << 30;
    set_num_threads(before_);
  }
  ThreadsGranted(const ThreadsGranted&) = delete;
  ThreadsGranted& operator=(const ThreadsGranted&) = delete;

 private:
  int before_;
};

// Runs on a thread that has no helpers yet.
void on_a_fresh_thread(int granted, const std::function<void()>& work) {
  std::atomic<bool> may_begin = false;
  std::thread thread([&] {
    may_begin.wait(false);
    work();
  });
  {
    const ThreadsGranted limit(granted);
    may_begin = true;
    may_begin.notify_one();
    thread.join();
  }
}

TEST(Parallel, WorkIsDoneByTheThreadsThatCouldBeStarted) {
  for (const int granted : {0, 1, 2, 3}) {
    on_a_fresh_thread(granted, [&] {
      std::mutex mutex;
      std::set<std::thread::id> workers;
      for (int round = 0; round < 50; ++round) {
        std::vector<int> done(10000);
        parallel_for(10000, 100, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
          const std::lock_guard lock(mutex);
          workers.insert(std::this_thread::get_id());
        });
        ASSERT_EQ(done, std::vector<int>(10000, 1));
      }
      EXPECT_LE(workers.size(), static_cast<size_t>(granted) + 1);
      EXPECT_EQ(threads_refused > 0, granted < 3);
    });
  }
}

// The refusal is not asked for again with every piece of work.
TEST(Parallel, AMissingThreadIsAskedForNowAndThen) {
  on_a_fresh_thread(0, [] {
    for (int i = 0; i < 200; ++i) parallel_tasks(8, [](int64_t) {});
    EXPECT_LT(threads_refused, 20);
  });
}

TEST(Parallel, FewTasksKeepTheHelpersForMany) {
  on_a_fresh_thread(3, [] {
    for (int i = 0; i < 100; ++i) {
      parallel_tasks(4, [](int64_t) {});
      parallel_tasks(2, [](int64_t) {});
    }
    EXPECT_EQ(threads_refused, 0);
  });
}

TEST(Parallel, AFailureOnAnyThreadArrivesWhereTheWorkWasAskedFor) {
  set_num_threads(4);
  for (int64_t bad = 0; bad < 40; ++bad) {
    const auto work = [&](int64_t i) {
      if (i == bad) fail("test", "task {}", i);
    };
    EXPECT_THROW(parallel_tasks(40, work), Error);
  }
  std::atomic<int> done = 0;
  parallel_tasks(40, [&](int64_t) { ++done; });
  EXPECT_EQ(done, 40);
}

TEST(Parallel, WorkInsideOfWorkStaysOnItsThread) {
  set_num_threads(4);
  parallel_tasks(8, [](int64_t) {
    const auto here = std::this_thread::get_id();
    parallel_tasks(8, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
  });
}

std::vector<float> losses_of_a_training() {
  manual_seed(1);
  nn::Linear first(256, 512), second(512, 256);
  std::vector<Tensor> parameters = first.parameters();
  for (const Tensor& p : second.parameters()) parameters.push_back(p);
  optim::SGD optimizer(parameters, {.lr = 0.05});
  const Tensor x = rand({64, 256}), y = rand({64, 256});
  std::vector<float> losses;
  for (int i = 0; i < 10; ++i) {
    Tensor loss = square(second(relu(first(x))) - y).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

TEST(Parallel, ATrainingGoesOnWithoutThreads) {
  const std::vector<float> wanted = losses_of_a_training();
  for (const int granted : {0, 1, 2}) on_a_fresh_thread(granted, [&] { EXPECT_EQ(losses_of_a_training(), wanted); });
}

TEST(Parallel, BatchesThatCannotBeReadAheadAreReadWhenTheyAreTaken) {
  std::vector<int32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const data::Tokens tokens(numbers);
  const auto batches = [&] {
    data::Loader loader(tokens, {.batch = 4, .length = 16});
    std::vector<std::vector<int32_t>> inputs;
    for (int i = 0; i < 30; ++i) {
      const data::Batch batch = loader.next();
      inputs.emplace_back(batch.inputs.begin(), batch.inputs.end());
    }
    return inputs;
  };
  const auto wanted = batches();
  on_a_fresh_thread(0, [&] { EXPECT_EQ(batches(), wanted); });
}

}  // namespace
}  // namespace tenon::base
