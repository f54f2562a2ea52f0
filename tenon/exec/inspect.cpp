// The watcher is part of the engine, and called under its lock.

#include "tenon/exec/inspect.h"

#include <utility>

#include "tenon/exec/engine.h"

namespace tenon::exec {

WatchPlans::WatchPlans(std::function<void(const plan::Plan&)> seen) {
  std::lock_guard lock(engine().mutex);
  engine().plan_seen = std::move(seen);
}

WatchPlans::~WatchPlans() {
  std::lock_guard lock(engine().mutex);
  engine().plan_seen = nullptr;
}

}  // namespace tenon::exec
