// A team of our own, as OpenMP ends the process where a thread cannot be started; the number of threads is still
// OpenMP's to say. Without OpenMP (WebAssembly) all work runs on the calling thread.

#include "tenon/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/team.h"
#include "tenon/base/thread.h"

namespace tenon::base {
namespace {

// More chunks than threads even out cores of unequal speed; more than this only costs locality.
constexpr int64_t kChunksPerThread = 4;
constexpr int kMostThreads = Team::kMost;

int initial_threads() {
  if (const auto text = env::value(env::kThreads)) {
    const std::string_view view(*text);
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

// Threads do not live on in a child of the process: work there would wait for them for ever.
thread_local bool lost_its_helpers = false;

bool is_watching_forks() {
  return pthread_atfork(nullptr, nullptr, [] { lost_its_helpers = true; }) == 0;
}

// The helpers of this thread end with it. What still runs after that, and in a child of the process, goes without.
thread_local bool has_ended = false;
Team& team_of_this_thread() {
  struct Own {
    std::unique_ptr<Team> team = std::make_unique<Team>();
    ~Own() {
      has_ended = true;
      if (lost_its_helpers) static_cast<void>(team.release());
    }
  };
  thread_local Own own;
  return *own.team;
}

#endif

bool must_stay_on_this_thread() {
#ifdef _OPENMP
  static const bool watches = is_watching_forks();
  return lost_its_helpers || has_ended || !watches || Team::is_at_work() || omp_in_parallel() != 0;
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

void warn_of_missing_thread(const std::error_code& why) {
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::string line = fmt::format(
        "[tenon] a thread could not be started: {}; going on with fewer (lower TENON_THREADS, or raise the limits: "
        "ulimit -u, ulimit -v)\n",
        why.message());
    std::fputs(line.c_str(), stderr);
  });
}

namespace detail {

int64_t chunk_count(int64_t n, int64_t grain) {
  const int64_t pool = num_threads();
  if (pool == 1 || n < 2 * grain) return 1;
  const int64_t affordable = n / std::max<int64_t>(grain, 1);
  return affordable >= 2 * kChunksPerThread * pool ? kChunksPerThread * pool : std::min(affordable, pool);
}

void run_chunks(int64_t chunks, const std::function<void(int64_t)>& chunk) {
  const auto run_here = [&] {
    for (int64_t i = 0; i < chunks; ++i) chunk(i);
  };
  const auto asked = static_cast<int>(std::min<int64_t>(num_threads(), chunks));
  if (asked <= 1 || must_stay_on_this_thread()) return run_here();
#ifdef _OPENMP
  Team& team = team_of_this_thread();
  const int workers = team.gather(asked);
  if (workers == 1) return run_here();
  Shares shares(workers, chunks);
  std::exception_ptr first_error;
  std::mutex error_mutex;
  const auto work = [&](int worker) {
    try {
      shares.work(worker, chunk);
    } catch (...) {
      shares.stop();
      const std::scoped_lock lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  team.run(workers, std::ref(work));
  if (first_error) std::rethrow_exception(first_error);
#endif
}

}  // namespace detail
}  // namespace tenon::base
