// Memory for bytes on their way to the device: slots that are filled one after another, and again when the device has
// read them.

#pragma once

#include <array>
#include <memory>

#include "tenon/backends/gpu/driver.h"

namespace tenon::backends::gpu {

class Staging {
 public:
  static constexpr size_t kSlot = size_t{1} << 20, kSlots = 4;

  explicit Staging(Driver& driver) : driver_(driver), memory_(driver.pin(kSlot * kSlots)) {}
  /// At most kSlot bytes, to be read by the command that is started next. Waits where the device is far behind.
  std::byte* take(size_t bytes);

 private:
  Driver& driver_;
  std::shared_ptr<std::byte> memory_;
  std::array<EventRef, kSlots> read_{};  // by slot: everything that reads it is done
  size_t slot_ = 0, used_ = 0;
};

}  // namespace tenon::backends::gpu
