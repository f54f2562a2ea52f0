// The pool. Under AddressSanitizer nothing is kept, so that a use after release is seen.

#include "tenon/device/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tenon/base/error.h"
#include "tenon/device/out_of_memory.h"

namespace tenon::device {
namespace {

constexpr const char* kWhoLimits = "set_memory_limit or device.memory_limit";

}  // namespace

size_t size_class(size_t bytes) {
  constexpr size_t kSmallest = 64, kLarge = 1 << 20, kMost = size_t{1} << 62;
  if (bytes > kMost) fail_out_of_memory("{} bytes are more than any device has", bytes);
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::max<size_t>(std::bit_floor(bytes - 1) / (bytes > kLarge ? 64 : 8), kSmallest);
  return (bytes + step - 1) / step * step;
}

void require_one_buffer(size_t bytes, const ir::Limits& limits) {
  if (bytes > limits.max_binding)
    fail_out_of_memory(
        "{} bytes asked for at once, but the device takes no single buffer above {}: split the tensor along an axis, "
        "or "
        "use a smaller batch or another device",
        bytes, limits.max_binding);
}

// With the lock held.
void Pool::count_use(size_t bytes) {
  stats_.in_use += bytes;
  stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.in_use);
  ++used_[bytes];
}

size_t Pool::bytes_taken(size_t bytes) const {
  return std::min<uint64_t>(size_class(bytes), std::max<uint64_t>(bytes, device_.limits().max_binding));
}

Buffer Pool::take(size_t bytes) {
  require_one_buffer(bytes, device_.limits());
  const size_t wanted = bytes_taken(bytes);
  HostSpan span(HostWork::reuse, wanted);
  device_.require_alive();
  std::lock_guard lock(mutex_);
  const auto found = free_.find(wanted);
  if (found != free_.end() && !found->second.empty()) {
    const Buffer buffer = found->second.back().buffer;
    found->second.pop_back();
    stats_.cached -= wanted;
    ++stats_.hits;
    count_use(wanted);
    return buffer;
  }
  if (stats_.limit && stats_.in_use + stats_.cached + wanted > stats_.limit) {
    release_all();
    if (stats_.in_use + wanted > stats_.limit) fail(wanted, "the memory limit is reached");
  }
  span.becomes(HostWork::allocate);
  require_memory(wanted);
  Buffer buffer;
  try {
    buffer = device_.allocate(wanted);
  } catch (const Lost&) {
    throw;
  } catch (const Error&) {
    release_all();  // what the pool holds may be all that is missing
    try {
      buffer = device_.allocate(wanted);
    } catch (const Error&) {
      fail(wanted, "the device has no more");
    }
  }
  ++stats_.misses;
  count_use(wanted);
  return buffer;
}

void Pool::give_back(const Buffer& buffer) {
  std::unique_lock lock(mutex_);
  stats_.in_use -= buffer.bytes;
  const auto used = used_.find(buffer.bytes);
  if (used != used_.end() && --used->second == 0) used_.erase(used);
  std::vector<Buffer> leaving;
#if !defined(__SANITIZE_ADDRESS__)
  const size_t most = std::max(kAlwaysKept, stats_.peak_in_use);
  while (stats_.cached > 0 && stats_.cached + buffer.bytes > most) leaving.push_back(take_oldest());
  if (buffer.bytes <= most && !device_.is_lost()) {
    device_.discard(buffer);
    free_[buffer.bytes].push_back({buffer, ++given_back_});
    stats_.cached += buffer.bytes;
  } else {
    leaving.push_back(buffer);
  }
#else
  leaving.push_back(buffer);
#endif
  lock.unlock();
  for (const Buffer& one : leaving) {
    const HostSpan span(HostWork::release, one.bytes);
    device_.release(one);
  }
}

// With the lock held; something is kept.
Buffer Pool::take_oldest() {
  std::vector<Kept>* oldest = nullptr;
  for (auto& [bytes, kept] : free_) {
    if (!kept.empty() && (!oldest || kept.front().since < oldest->front().since)) oldest = &kept;
  }
  const Buffer buffer = oldest->front().buffer;
  oldest->erase(oldest->begin());
  stats_.cached -= buffer.bytes;
  return buffer;
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  release_all();
  stats_.peak_in_use = stats_.in_use;
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
  for (auto& [bytes, kept] : free_) {
    for (const Kept& one : kept) {
      const HostSpan span(HostWork::release, one.buffer.bytes);
      device_.release(one.buffer);
    }
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
  fail_out_of_memory("{} bytes asked for, but {}: {} in use{}, {} kept for reuse{}; largest: {}", wanted, reason,
                     stats_.in_use, stats_.limit ? fmt::format(" of at most {} ({})", stats_.limit, kWhoLimits) : "",
                     stats_.cached, available ? fmt::format(", {} available", *available) : "",
                     holders.empty() ? "none" : holders);
}

void Pool::set_limit(size_t bytes) {
  if (const std::optional<size_t> all = device_.memory_in_all(); all && bytes > *all)
    base::fail("memory", "a limit of {} bytes is more than the device has, {}; take less, or 0 for none ({})", bytes,
               *all, kWhoLimits);
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
