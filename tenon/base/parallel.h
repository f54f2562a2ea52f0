// Threads for everything that runs on the host's cores: fewer where the system grants no more.
//
// Work is cut into chunks, and every thread gets a run of neighbouring ones; who has finished helps the others, so a
// core that is busy elsewhere only delays its own chunk. Which thread computes what is left open: results must not
// depend on it, and with one owner per output element they do not. Inside a parallel region everything runs on the
// calling thread.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "tenon/base/threads.h"

namespace tenon::base {

namespace detail {

/// How many chunks n items are worth: none smaller than the grain, a few for every thread when there is plenty.
int64_t chunk_count(int64_t n, int64_t grain);
/// Calls chunk(0), ... chunk(chunks - 1), each once, and returns when all are done. The first exception is rethrown.
void run_chunks(int64_t chunks, const std::function<void(int64_t)>& chunk);

}  // namespace detail

/// Calls f(begin, end) on disjoint ranges that cover 0 ... n - 1. Less than two grains run on the calling thread.
template <typename F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  const int64_t chunks = detail::chunk_count(n, grain);
  if (chunks <= 1) {
    f(int64_t{0}, n);
    return;
  }
  const int64_t length = n / chunks, longer = n % chunks;
  const auto begin = [&](int64_t i) { return i * length + std::min(i, longer); };
  const auto chunk = [&](int64_t i) { f(begin(i), begin(i + 1)); };
  detail::run_chunks(chunks, std::ref(chunk));  // a reference, so that nothing is allocated
}

/// Calls f(i) for every i below n, one at a time per thread: for few, large, unequal pieces of work.
template <typename F>
void parallel_tasks(int64_t n, F&& f) {
  if (n <= 1 || num_threads() == 1) {
    for (int64_t i = 0; i < n; ++i) f(i);
    return;
  }
  detail::run_chunks(n, std::ref(f));
}

}  // namespace tenon::base
