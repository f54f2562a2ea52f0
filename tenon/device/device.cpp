// The default recording, the pool that every device has, and what a device that is gone says.

#include "tenon/device/device.h"

#include "tenon/base/interrupt.h"
#include "tenon/device/pool.h"

namespace tenon::device {
namespace {

class CommandList : public Recording {
 public:
  CommandList(Device& device, std::span<const Command> commands)
      : device_(device), commands_(commands.begin(), commands.end()) {}
  Ticket replay(std::span<const Command> before, bool caller_waits) override {
    device_.enqueue(before);
    return device_.send(commands_, caller_waits);
  }

 private:
  Device& device_;
  std::vector<Command> commands_;
};

}  // namespace

Lost::Lost(std::string_view device, std::string_view why)
    : Error(fmt::format("[device] '{}' is lost: {}; tensors on it are gone, others are not", device, why)) {}

Device::Device() : pool_(std::make_unique<Pool>(*this)) {}
Device::~Device() = default;

std::string Device::describe() const { return {}; }
bool Device::wait_at_most(Ticket, std::chrono::milliseconds) { return true; }
void Device::wait_interruptibly(Ticket ticket) {
  while (!wait_at_most(ticket, base::kInterruptEvery)) base::check_interrupt();
  wait(ticket);
}
bool Device::is_known_to_fail(Ticket) { return false; }
bool Device::has_failed(Ticket) { return false; }
void Device::discard(const Buffer&) {}
std::optional<Buffer> Device::adopt(std::span<std::byte>, size_t) { return std::nullopt; }
std::optional<size_t> Device::available() const { return std::nullopt; }
std::optional<size_t> Device::memory_in_all() const { return std::nullopt; }
std::shared_ptr<std::byte> Device::landing(size_t) { return nullptr; }
void Device::let_go(const Buffer&) {}

Ticket Device::send(std::span<const Command> commands, bool caller_waits) {
  enqueue(commands);
  return submit(caller_waits);
}

std::unique_ptr<Recording> Device::record(std::span<const Command> commands) {
  return std::make_unique<CommandList>(*this, commands);
}

void Device::set_lost(std::string_view name, std::string_view why) {
  std::lock_guard lock(lost_mutex_);
  if (lost_) return;
  lost_ = std::make_unique<Lost>(name, why);
  is_lost_.store(true, std::memory_order_release);
}

void Device::throw_lost() const {
  std::lock_guard lock(lost_mutex_);
  throw Lost(*lost_);
}

}  // namespace tenon::device
