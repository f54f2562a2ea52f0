// The memory of this process as the system counts it: what a person compares with the memory of the machine.

#pragma once

#include <cstdint>

namespace tenon::base {

/// Bytes of this process that are in memory now; 0 where the system does not say.
int64_t resident_bytes();

}  // namespace tenon::base
