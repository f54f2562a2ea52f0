// What every GPU is to the rest of Tenon: memory, a queue, a compiler, and an end when the driver says so. A backend
// brings the driver and the compiler, and may record in its own way.

#pragma once

#include <cstdlib>
#include <string>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/gpu/queue.h"
#include "tenon/device/device.h"

namespace tenon::backends::gpu {

class GpuDevice : public device::Device {
 public:
  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return parts().compiler; }
  device::Buffer allocate(size_t bytes) override;
  void release(const device::Buffer& buffer) override;
  std::shared_ptr<std::byte> landing(size_t bytes) override;
  void enqueue(std::span<const device::Command> commands) override;
  device::Ticket submit(bool caller_waits) override;
  device::Ticket send(std::span<const device::Command> commands, bool caller_waits) override;
  bool is_done(device::Ticket ticket) override { return parts().queue.is_done(ticket); }
  void wait(device::Ticket ticket) override;
  bool is_known_to_fail(device::Ticket ticket) override { return parts().queue.is_known_to_fail(ticket); }
  bool has_failed(device::Ticket ticket) override { return parts().queue.has_failed(ticket); }

  /// Submits `before`, then what `last` starts on the queue.
  device::Ticket replay(std::span<const device::Command> before, const std::function<void()>& last);

 protected:
  GpuDevice(std::string name, const ir::Limits& limits) : name_(std::move(name)), limits_(limits) {}

  /// Which a backend has behind this, because a context has to be there before and to go last.
  struct Parts {
    Driver& driver;
    Compiler& compiler;
    Queue& queue;
  };
  virtual Parts parts() = 0;
  const std::string& name() const { return name_; }

  /// Runs something that may find the device gone.
  template <typename F>
  auto guarded(F&& f) -> decltype(f()) {
    if (process_was_forked())
      set_lost(name_, "this process was forked from the one that opened it; use a GPU in one of them alone");
    require_alive();
    try {
      return f();
    } catch (const Gone& gone) {
      set_lost(name_, gone.why);
    }
    require_alive();
    std::abort();  // never: it was just lost
  }

 private:
  const std::string name_;
  const ir::Limits limits_;
};

}  // namespace tenon::backends::gpu
