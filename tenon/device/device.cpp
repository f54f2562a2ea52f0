// The default recording.

#include "tenon/device/device.h"

namespace tenon::device {
namespace {

class CommandList : public Recording {
 public:
  CommandList(Device& device, std::span<const Command> commands)
      : device_(device), commands_(commands.begin(), commands.end()) {}
  void replay() override {
    device_.enqueue(commands_);
    device_.submit();
  }

 private:
  Device& device_;
  std::vector<Command> commands_;
};

}  // namespace

std::unique_ptr<Recording> Device::record(std::span<const Command> commands) {
  return std::make_unique<CommandList>(*this, commands);
}

}  // namespace tenon::device
