#include "tenon/exec/event.h"

#include "tenon/base/turn.h"
#include "tenon/device/registry.h"
#include "tenon/exec/engine.h"

namespace tenon::exec {

Mark mark(ir::DeviceId device) {
  device::Device& target = device::open(device);
  std::lock_guard lock(engine().mutex);
  return {device, target.submit(false)};
}

bool has_run(const Mark& mark) { return device::open(mark.device).is_done(mark.ticket); }

void wait_for(const Mark& mark) {
  const base::TurnPaused others_run(base::Turns::Wait::device);
  device::open(mark.device).wait_interruptibly(mark.ticket);
}

}  // namespace tenon::exec
