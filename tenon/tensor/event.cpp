#include "tenon/tensor/event.h"

#include "tenon/exec/event.h"

namespace tenon {

Tensor prefetch(const Tensor& x, Device device) {
  Tensor there = x.to(device);
  eval({there});
  return there;
}

struct Event::Mark : exec::Mark {};

Event::Event(Device device) : mark_(std::make_shared<const Mark>(Mark{exec::mark(device.id)})) {}
bool Event::is_done() const { return exec::has_run(*mark_); }
void Event::synchronize() const { exec::wait_for(*mark_); }
Device Event::device() const { return Device(mark_->device); }

void synchronize(const Event& event) { event.synchronize(); }

}  // namespace tenon
