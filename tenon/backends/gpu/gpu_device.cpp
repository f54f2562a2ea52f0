#include "tenon/backends/gpu/gpu_device.h"

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/base/error.h"
#include "tenon/device/pool.h"

namespace tenon::backends::gpu {

device::Buffer GpuDevice::allocate(size_t bytes) {
  return guarded([&]() -> device::Buffer {
    Driver& driver = parts().driver;
    device::require_one_buffer(bytes, limits_);
    uint64_t handle = driver.allocate(bytes);
    if (!handle && driver.holds_back()) {  // what was let go of may be needed by commands that the device has not got
      parts().queue.wait_until_idle();
      handle = driver.allocate(bytes);
    }
    if (handle) return {handle, bytes};
    base::fail("memory", "the {} device cannot allocate {} bytes; {}", name_, bytes, driver.memory_in_words());
  });
}

void GpuDevice::release(const device::Buffer& buffer) {
  if (process_is_ending()) return;
  if (is_lost()) return parts().driver.release(buffer.handle);
  try {
    guarded([&] { parts().queue.release(buffer.handle); });
  } catch (const device::Lost&) {
  }
}

std::shared_ptr<std::byte> GpuDevice::landing(size_t bytes) {
  return guarded([&] { return parts().driver.pin(bytes); });
}

void GpuDevice::enqueue(std::span<const device::Command> commands) {
  require_alive();
  parts().queue.enqueue(commands);
}

device::Ticket GpuDevice::submit(bool) { return replay({}, nullptr); }
device::Ticket GpuDevice::send(std::span<const device::Command> commands, bool) { return replay(commands, nullptr); }

device::Ticket GpuDevice::replay(std::span<const device::Command> before, const std::function<void()>& last) {
  return guarded([&] { return parts().queue.submit(before, last); });
}

void GpuDevice::wait(device::Ticket ticket) {
  guarded([&] { parts().queue.wait(ticket); });
}

}  // namespace tenon::backends::gpu
