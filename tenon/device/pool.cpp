// The pool. Under AddressSanitizer nothing is kept, so that a use after release is seen.

#include "tenon/device/pool.h"

#include <algorithm>
#include <bit>

namespace tenon::device {

size_t size_class(size_t bytes) {
  constexpr size_t kSmallest = 64;
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::max<size_t>(std::bit_floor(bytes - 1) / 8, kSmallest);
  return (bytes + step - 1) / step * step;
}

Buffer Pool::take(size_t bytes) {
  const size_t wanted = size_class(bytes);
  {
    std::lock_guard lock(mutex_);
    const auto found = free_.find(wanted);
    if (found != free_.end() && !found->second.empty()) {
      const Buffer buffer = found->second.back();
      found->second.pop_back();
      cached_ -= wanted;
      return buffer;
    }
  }
  try {
    return device_.allocate(wanted);
  } catch (...) {
    trim();  // what the pool holds may be all that is missing
    return device_.allocate(wanted);
  }
}

void Pool::give_back(const Buffer& buffer) {
#if !defined(__SANITIZE_ADDRESS__)
  std::lock_guard lock(mutex_);
  if (cached_ + buffer.bytes <= kMaxCached) {
    free_[buffer.bytes].push_back(buffer);
    cached_ += buffer.bytes;
    return;
  }
#endif
  device_.release(buffer);
}

void Pool::trim() {
  std::lock_guard lock(mutex_);
  for (auto& [bytes, buffers] : free_) {
    for (const Buffer& buffer : buffers) device_.release(buffer);
  }
  free_.clear();
  cached_ = 0;
}

size_t Pool::cached_bytes() const {
  std::lock_guard lock(mutex_);
  return cached_;
}

}  // namespace tenon::device
