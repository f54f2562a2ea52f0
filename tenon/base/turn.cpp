#include "tenon/base/turn.h"

#include <atomic>

namespace tenon::base {
namespace {

std::atomic<const Turns*> installed{nullptr};

}  // namespace

void set_turns(const Turns* turns) { installed.store(turns, std::memory_order_release); }
const Turns* turns() { return installed.load(std::memory_order_acquire); }

}  // namespace tenon::base
