// Uploads that run while the stream still computes.
//
// Bytes for the next step go to the device on a stream of their own, into a ring of slots there; the main stream copies
// them to where they belong when it comes to them. So neither waits for the other but for that copy, which is some
// forty times as quick as the way from the host, and what the main stream still reads is written in its order.

#pragma once

#include <array>

#include "tenon/backends/cuda/api.h"

namespace tenon::backends::cuda {

class UploadRing {
 public:
  static constexpr size_t kSlot = size_t{1} << 20, kSlots = 4;
  static constexpr size_t kLeast = size_t{16} << 10;  // fewer bytes are on their way no longer than a copy takes

  /// Whether it takes an upload of so many bytes; makes the ring when first asked for one.
  bool takes(size_t bytes);
  /// Pinned bytes, to be at an address of the device when the main stream has come so far.
  Result start(const void* from, Address to, size_t bytes, Stream main);
  /// When nothing runs any more.
  void release();

 private:
  struct Slot {
    EventHandle is_filled = nullptr, is_read = nullptr;
    bool was_used = false;
  };

  Stream stream_ = nullptr;
  Address memory_ = 0;
  std::array<Slot, kSlots> slots_;
  size_t next_ = 0;
  bool was_tried_ = false;
};

}  // namespace tenon::backends::cuda
