// What evaluation shares in a process: its lock, its caches, its counters.

#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "tenon/exec/eval.h"
#include "tenon/exec/plan_cache.h"

namespace tenon::exec {

struct Engine {
  std::recursive_mutex mutex;  // reading a strided value evaluates a copy of it
  Stats stats;
  ProgramCache programs;
  PlanCache plans;
  std::atomic<uint64_t> evaluations{0};
  std::function<void(const plan::Plan&)> plan_seen;  // see WatchPlans
  uint64_t runs = 0;                                 // names of runs: see commands_of
};

Engine& engine();

/// Puts bytes into memory that nobody reads yet.
device::Ticket start_upload(std::span<const std::byte> bytes, device::Storage& storage);

}  // namespace tenon::exec
