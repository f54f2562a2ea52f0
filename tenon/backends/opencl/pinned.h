// Host memory that the device reads and writes by itself, and a ring of it for uploads.

#pragma once

#include <array>
#include <cstddef>

#include "tenon/backends/opencl/api.h"

namespace tenon::backends::opencl {

/// A block of host memory that a driver need not copy before it moves it.
class Pinned {
 public:
  Pinned(cl_context context, cl_command_queue queue, size_t bytes);
  Pinned(const Pinned&) = delete;
  ~Pinned();
  std::byte* data() const { return data_; }

 private:
  cl_mem memory_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Memory for bytes on their way to the device: slots that are filled one after another, and again when the device has
/// read them.
class Staging {
 public:
  static constexpr size_t kSlot = size_t{1} << 20, kSlots = 4;

  Staging(cl_context context, cl_command_queue queue) : queue_(queue), memory_(context, queue, kSlot * kSlots) {}
  ~Staging();
  /// At most kSlot bytes, to be read by the command that is enqueued next. Waits where the device is far behind.
  /// The code is that of the wait.
  std::byte* take(size_t bytes, cl_int& code);

 private:
  cl_command_queue queue_;
  Pinned memory_;
  std::array<cl_event, kSlots> read_{};  // by slot: everything that reads it is done
  size_t slot_ = 0, used_ = 0;
};

}  // namespace tenon::backends::opencl
