// The default recording, and the pool that every device has.

#include "tenon/device/device.h"

#include "tenon/device/pool.h"

namespace tenon::device {
namespace {

class CommandList : public Recording {
 public:
  CommandList(Device& device, std::span<const Command> commands)
      : device_(device), commands_(commands.begin(), commands.end()) {}
  Ticket replay(std::span<const Command> before, bool caller_waits) override {
    device_.enqueue(before);
    device_.enqueue(commands_);
    return device_.submit(caller_waits);
  }

 private:
  Device& device_;
  std::vector<Command> commands_;
};

}  // namespace

Device::Device() : pool_(std::make_unique<Pool>(*this)) {}
Device::~Device() = default;

std::optional<Buffer> Device::adopt(std::span<std::byte>, size_t) { return std::nullopt; }
std::optional<size_t> Device::available() const { return std::nullopt; }
void Device::let_go(const Buffer&) {}

std::unique_ptr<Recording> Device::record(std::span<const Command> commands) {
  return std::make_unique<CommandList>(*this, commands);
}

}  // namespace tenon::device
