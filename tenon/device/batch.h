// Commands that are to run later, with the bytes of their uploads: whoever enqueued them has gone on.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/device/device.h"

namespace tenon::device {

class Batch {
 public:
  void add(std::span<const Command> commands);
  std::span<const Command> commands() const { return commands_; }
  bool empty() const { return commands_.empty(); }

 private:
  std::vector<Command> commands_;
  std::vector<std::unique_ptr<std::byte[]>> uploaded_;
};

}  // namespace tenon::device
