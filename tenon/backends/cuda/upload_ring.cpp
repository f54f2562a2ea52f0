#include "tenon/backends/cuda/upload_ring.h"

namespace tenon::backends::cuda {

bool UploadRing::takes(size_t bytes) {
  if (bytes < kLeast || bytes > kSlot) return false;
  if (was_tried_) return memory_ != 0;
  was_tried_ = true;
  bool is_there = cu().make_stream(&stream_, Flags::kNonBlockingStream) == Results::kSuccess;
  for (Slot& slot : slots_) {
    for (EventHandle* event : {&slot.is_filled, &slot.is_read})
      is_there = is_there && cu().make_event(event, Flags::kEventWithoutTime) == Results::kSuccess;
  }
  is_there = is_there && cu().allocate(&memory_, kSlot * kSlots) == Results::kSuccess;
  if (!is_there) release();  // the main stream serves as well
  return is_there;
}

Result UploadRing::start(const void* from, Address to, size_t bytes, Stream main) {
  Slot& slot = slots_[next_];
  const Address staged = memory_ + next_ * kSlot;
  next_ = (next_ + 1) % kSlots;
  Result code = Results::kSuccess;
  const auto then = [&](auto&& command) {
    if (code == Results::kSuccess) code = command();
  };
  if (slot.was_used) then([&] { return cu().let_wait(stream_, slot.is_read, 0); });
  then([&] { return cu().upload(staged, from, bytes, stream_); });
  then([&] { return cu().record_event(slot.is_filled, stream_); });
  then([&] { return cu().let_wait(main, slot.is_filled, 0); });
  then([&] { return cu().copy(to, staged, bytes, main); });
  then([&] { return cu().record_event(slot.is_read, main); });
  slot.was_used = true;
  return code;
}

void UploadRing::release() {
  for (Slot& slot : slots_) {
    for (EventHandle event : {slot.is_filled, slot.is_read}) {
      if (event) cu().destroy_event(event);
    }
    slot = {};
  }
  if (memory_) cu().free(memory_);
  if (stream_) cu().destroy_stream(stream_);
  memory_ = 0;
  stream_ = nullptr;
}

}  // namespace tenon::backends::cuda
