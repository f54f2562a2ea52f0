#include "tenon/backends/gpu/staging.h"

#include <utility>

namespace tenon::backends::gpu {

std::byte* Staging::take(size_t bytes) {
  constexpr size_t kAlignment = 128;
  if (used_ + bytes > kSlot) {
    read_[slot_] = driver_.mark();
    slot_ = (slot_ + 1) % kSlots;
    used_ = 0;
    if (const EventRef last = std::exchange(read_[slot_], nullptr)) {
      driver_.begin(*last);
      driver_.wait(*last);
    }
  }
  std::byte* taken = memory_.get() + slot_ * kSlot + used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return taken;
}

}  // namespace tenon::backends::gpu
