// Points in the work of a device, to wait for without waiting for what is started after them.

#pragma once

#include "tenon/device/device.h"
#include "tenon/ir/device_id.h"

namespace tenon::exec {

/// Everything that was started on a device up to a moment.
struct Mark {
  ir::DeviceId device;
  device::Ticket ticket;
};
Mark mark(ir::DeviceId device);
/// Whether it is known to have run; asks no driver.
bool has_run(const Mark& mark);
/// Returns when it has run; throws the device's fault.
void wait_for(const Mark& mark);

}  // namespace tenon::exec
