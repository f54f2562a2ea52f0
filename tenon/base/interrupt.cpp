#include "tenon/base/interrupt.h"

#include <atomic>

namespace tenon::base {
namespace {

std::atomic<void (*)()> interrupt_check{nullptr};

}  // namespace

void set_interrupt_check(void (*check)()) { interrupt_check = check; }

void check_interrupt() {
  if (void (*check)() = interrupt_check) check();
}

}  // namespace tenon::base
