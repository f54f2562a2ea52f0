// Counts calls of operator new, for those who want to see that a step makes none.

#pragma once

#include <cstddef>

namespace tenon::base {

/// From now on, in every thread. Costs nothing before.
void count_allocations();
/// So far; 0 in programs that bring an operator new of their own, and under the sanitizers, which do.
size_t allocations();

}  // namespace tenon::base
