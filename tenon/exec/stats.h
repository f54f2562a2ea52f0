// What evaluation has cost so far, as plain numbers.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::exec {

/// Totals since the process began.
struct Stats {
  size_t evaluations = 0;         // plans run, replays included
  size_t replays = 0;             // of captured functions
  size_t launches = 0;            // kernels started
  size_t submits = 0;             // batches of kernels handed to a device
  size_t bytes_uploaded = 0;      // copied to devices
  size_t bytes_downloaded = 0;    // and from them
  size_t programs_compiled = 0;   // made, and of these the ones that came from a file
  size_t programs_loaded = 0;     // from a file
  size_t plan_hits = 0;           // plans found in the cache, and made
  size_t plan_misses = 0;         // plans made
  size_t device_allocations = 0;  // buffers asked for, and of these served by the pool
  size_t pool_hits = 0;           // buffers served by the pool
  uint64_t plan_ns = 0;           // planning
  uint64_t compile_ns = 0;        // compiling kernels
  uint64_t host_ns =
      0;  // all that evaluating costs the host before anything runs: planning, compiling, starting replays
};
/// What evaluation has cost up to now.
///   const size_t before = stats().launches;
Stats stats();

}  // namespace tenon::exec
