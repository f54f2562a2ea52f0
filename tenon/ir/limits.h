// What a device can do, as plain data: part of every plan and of every cache key.

#pragma once

#include <cstdint>

namespace tenon::ir {

struct Limits {
  bool one_op_per_kernel = false;  // the reference device: every op is a call of its own
  bool fuses = true;               // false: every op is a kernel of its own, to compare bits against
  uint32_t max_buffers = 8;        // buffers bound to one kernel
  uint32_t alignment = 64;         // bytes; offsets of buffers inside an arena
  bool operator==(const Limits&) const = default;
};

}  // namespace tenon::ir
