// Mapped once and for good: the buffer object is never used by a kernel, so nobody else looks at its memory.

#include "tenon/backends/opencl/pinned.h"

namespace tenon::backends::opencl {

Pinned::Pinned(cl_context context, cl_command_queue queue, size_t bytes) {
  cl_int code = CL_SUCCESS;
  memory_ = cl().create_buffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code);
  require(code, "no memory for transfers");
  data_ = static_cast<std::byte*>(
      cl().enqueue_map(queue, memory_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &code));
  if (code != CL_SUCCESS) cl().release_memory(memory_);
  require(code, "memory for transfers cannot be mapped");
}

Pinned::~Pinned() {
  if (!process_is_ending()) cl().release_memory(memory_);
}

Staging::~Staging() {
  if (process_is_ending()) return;
  for (cl_event event : read_) {
    if (event) cl().release_event(event);
  }
}

std::byte* Staging::take(size_t bytes, cl_int& code) {
  constexpr size_t kAlignment = 128;
  code = CL_SUCCESS;
  if (used_ + bytes > kSlot) {
    code = cl().enqueue_marker(queue_, 0, nullptr, &read_[slot_]);
    if (code != CL_SUCCESS) return nullptr;
    slot_ = (slot_ + 1) % kSlots;
    used_ = 0;
    if (cl_event& last = read_[slot_]) {
      cl().flush(queue_);
      code = cl().wait_for_events(1, &last);
      cl().release_event(last);
      last = nullptr;
      if (code != CL_SUCCESS) return nullptr;
    }
  }
  std::byte* taken = memory_.data() + slot_ * kSlot + used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return taken;
}

}  // namespace tenon::backends::opencl
