// A look at the plans that evaluations make, for tests and for people who count kernels and bytes.

#pragma once

#include <functional>

#include "tenon/plan/plan.h"

namespace tenon::exec {

/// While it lives, `seen` is called with every new plan, on the thread that makes it. Plans found again in the cache
/// are not new. One at a time.
class WatchPlans {
 public:
  explicit WatchPlans(std::function<void(const plan::Plan&)> seen);
  ~WatchPlans();
  WatchPlans(const WatchPlans&) = delete;
};

}  // namespace tenon::exec
