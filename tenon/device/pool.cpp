// The pool. Under AddressSanitizer nothing is kept, so that a use after release is seen.

#include "tenon/device/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tenon/base/error.h"

namespace tenon::device {

size_t size_class(size_t bytes) {
  constexpr size_t kSmallest = 64, kMost = size_t{1} << 62;
  if (bytes > kMost) base::fail("memory", "{} bytes are more than any device has", bytes);
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::max<size_t>(std::bit_floor(bytes - 1) / 8, kSmallest);
  return (bytes + step - 1) / step * step;
}

Buffer Pool::take(size_t bytes) {
  const size_t wanted = size_class(bytes);
  std::lock_guard lock(mutex_);
  const auto found = free_.find(wanted);
  if (found != free_.end() && !found->second.empty()) {
    const Buffer buffer = found->second.back();
    found->second.pop_back();
    stats_.cached -= wanted;
    ++stats_.hits;
    stats_.in_use += wanted;
    ++used_[wanted];
    return buffer;
  }
  if (stats_.limit && stats_.in_use + stats_.cached + wanted > stats_.limit) {
    release_all();
    if (stats_.in_use + wanted > stats_.limit) fail(wanted, "the memory limit is reached");
  }
  require_memory(wanted);
  Buffer buffer;
  try {
    buffer = device_.allocate(wanted);
  } catch (const Error&) {
    release_all();  // what the pool holds may be all that is missing
    try {
      buffer = device_.allocate(wanted);
    } catch (const Error&) {
      fail(wanted, "the device has no more");
    }
  }
  ++stats_.misses;
  stats_.in_use += wanted;
  ++used_[wanted];
  return buffer;
}

void Pool::give_back(const Buffer& buffer) {
  std::unique_lock lock(mutex_);
  stats_.in_use -= buffer.bytes;
  const auto used = used_.find(buffer.bytes);
  if (used != used_.end() && --used->second == 0) used_.erase(used);
#if !defined(__SANITIZE_ADDRESS__)
  if (stats_.cached + buffer.bytes <= kMaxCached) {
    free_[buffer.bytes].push_back(buffer);
    stats_.cached += buffer.bytes;
    return;
  }
#endif
  lock.unlock();
  device_.release(buffer);
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  release_all();
}

// With the lock held. Many small requests are asked about together.
void Pool::require_memory(size_t wanted) {
  if (wanted <= granted_) {
    granted_ -= wanted;
    return;
  }
  std::optional<size_t> available = device_.available();
  if (!available) return;
  if (wanted > *available) {
    release_all();  // what the pool holds may be all that is missing
    available = device_.available();
    if (wanted > *available) fail(wanted, "the device has no more", available);
  }
  granted_ = std::min(kAskEvery, *available - wanted);
}

// With the lock held.
void Pool::release_all() {
  for (auto& [bytes, buffers] : free_) {
    for (const Buffer& buffer : buffers) device_.release(buffer);
  }
  free_.clear();
  stats_.cached = 0;
}

void Pool::fail(size_t wanted, const char* reason, std::optional<size_t> available) const {
  constexpr size_t kNamed = 3;
  std::string holders;
  size_t named = 0;
  for (auto at = used_.rbegin(); at != used_.rend() && named < kNamed; ++at, ++named)
    holders += fmt::format("{}{} x {} bytes", named ? ", " : "", at->second, at->first);
  if (!available) available = device_.available();
  base::fail("memory", "{} bytes asked for, but {}: {} in use{}, {} kept for reuse{}{}; largest: {}", wanted, reason,
             stats_.in_use, stats_.limit ? fmt::format(" of at most {}", stats_.limit) : "", stats_.cached,
             stats_.limit ? " (set_memory_limit)" : "", available ? fmt::format(", {} available", *available) : "",
             holders.empty() ? "none" : holders);
}

void Pool::set_limit(size_t bytes) {
  std::lock_guard lock(mutex_);
  stats_.limit = bytes;
  if (bytes && stats_.in_use + stats_.cached > bytes) release_all();
}

Pool::Stats Pool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

size_t Pool::cached_bytes() const { return stats().cached; }

}  // namespace tenon::device
