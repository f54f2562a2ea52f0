// The pool is OpenMP's. Its threads stay warm between regions, so that entering one costs about 2 µs; std::thread would
// cost ten times that. Without OpenMP (WebAssembly) all work runs on the calling thread.

#include "tenon/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <unistd.h>
#endif

#include "tenon/base/error.h"
#include "tenon/base/thread.h"

namespace tenon::base {
namespace {

// More chunks than threads even out cores of unequal speed; more than this only costs locality.
constexpr int64_t kChunksPerThread = 4;
constexpr int kMostThreads = 256;

int initial_threads() {
  if (const char* text = std::getenv("TENON_THREADS"); text != nullptr && *text != '\0') {
    const std::string_view view(text);
    int threads = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), threads);
    if (error != std::errc() || end != view.data() + view.size() || threads < 1)
      fail("threads", "TENON_THREADS is '{}', which is no number of threads", view);
    return std::min(threads, kMostThreads);
  }
#ifdef _OPENMP
  return std::min(omp_get_max_threads(), kMostThreads);
#else
  return 1;
#endif
}

std::atomic<int>& threads() {
  static std::atomic<int> count = initial_threads();
  return count;
}

#ifdef _OPENMP

// OpenMP's threads belong to the thread that began a region, and do not live on in a child of the process: a region
// there would wait for them for ever.
thread_local bool lost_its_helpers = false;

bool is_watching_forks() {
  return pthread_atfork(nullptr, nullptr, [] { lost_its_helpers = true; }) == 0;
}

// A thread that was joined counts against the limits until the system has put it away, which takes it a moment more.
void wait_until_gone(pid_t thread) {
  const std::string name = fmt::format("/proc/self/task/{}", thread);
  for (int tries = 0; tries < 1000 && access(name.c_str(), F_OK) == 0; ++tries)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// Stands still until all of a number of threads have been started, or one could not.
void try_threads(int count) {
  std::mutex mutex;
  std::condition_variable all_tried;
  bool is_over = false;
  std::vector<std::thread> tried;
  std::vector<pid_t> numbers;
  const auto end = [&] {
    {
      const std::scoped_lock lock(mutex);
      is_over = true;
    }
    all_tried.notify_all();
    for (std::thread& thread : tried) thread.join();
    for (const pid_t number : numbers) wait_until_gone(number);
  };
  try {
    tried.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      tried.push_back(start_thread([&] {
        std::unique_lock lock(mutex);
        numbers.push_back(gettid());
        all_tried.wait(lock, [&] { return is_over; });
      }));
    }
  } catch (...) {
    end();
    throw;
  }
  end();
}

#endif

bool must_stay_on_this_thread() {
#ifdef _OPENMP
  static const bool watches = is_watching_forks();
  return lost_its_helpers || !watches || omp_in_parallel() != 0;
#else
  return true;
#endif
}

#ifdef _OPENMP

// Chunks dealt to a team in neighbouring runs, one for each thread: it had the same part of the rows in the launch
// before, and what is in its cache may serve again. Who has finished helps the others.
class Shares {
 public:
  Shares(int team, int64_t chunks) : team_(team) {
    for (int i = 0; i < team; ++i) std::construct_at(&share(i), chunks * i / team, chunks * (i + 1) / team);
  }

  void work(int thread, const std::function<void(int64_t)>& chunk) {
    for (int i = 0; i < team_; ++i) {
      Share& taken = share((thread + i) % team_);
      while (taken.next < taken.end) {
        const int64_t mine = taken.next++;
        if (mine < taken.end) chunk(mine);
      }
    }
  }

  // The others finish what they hold and take no more.
  void stop() {
    for (int i = 0; i < team_; ++i) share(i).next = share(i).end;
  }

 private:
  struct alignas(64) Share {
    Share(int64_t first, int64_t last) : next(first), end(last) {}
    std::atomic<int64_t> next;
    const int64_t end;
  };
  static_assert(std::is_trivially_destructible_v<Share>);
  Share& share(int i) { return reinterpret_cast<Share*>(memory_)[i]; }

  int team_;
  alignas(Share) std::byte memory_[kMostThreads * sizeof(Share)];  // only the team's are written
};

#endif

}  // namespace

int num_threads() { return threads().load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  if (count < 1) fail("threads", "{} is no number of threads", count);
  threads().store(std::min(count, kMostThreads), std::memory_order_relaxed);
}

void refuse_thread(const std::error_code& why) {
  fail("threads", "a thread could not be started: {}; lower TENON_THREADS, or raise the limits (ulimit -u, ulimit -v)",
       why.message());
}

void require_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  thread_local int known = 1;  // this one
  if (threads <= known || must_stay_on_this_thread()) return;
  // One after the other, and up to the pool itself: another thread's would take the place that was found free.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  try_threads(threads - known);
#pragma omp parallel num_threads(threads)
  {}
  known = threads;
#endif
}

namespace detail {

int64_t chunk_count(int64_t n, int64_t grain) {
  const int64_t pool = num_threads();
  if (pool == 1 || n < 2 * grain) return 1;
  const int64_t affordable = n / std::max<int64_t>(grain, 1);
  return affordable >= 2 * kChunksPerThread * pool ? kChunksPerThread * pool : std::min(affordable, pool);
}

void run_chunks(int64_t chunks, const std::function<void(int64_t)>& chunk) {
  const auto team = static_cast<int>(std::min<int64_t>(num_threads(), chunks));
  if (team <= 1 || must_stay_on_this_thread()) {
    for (int64_t i = 0; i < chunks; ++i) chunk(i);
    return;
  }
#ifdef _OPENMP
  require_threads(team);
  Shares shares(team, chunks);
  std::exception_ptr first_error;
  std::mutex error_mutex;
#pragma omp parallel num_threads(team)
  {
    try {
      shares.work(omp_get_thread_num(), chunk);
    } catch (...) {
      shares.stop();
      const std::scoped_lock lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
#endif
}

}  // namespace detail
}  // namespace tenon::base
