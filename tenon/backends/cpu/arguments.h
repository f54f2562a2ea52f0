// What a launch hands to a program of the CPU.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::backends::cpu {

struct Arguments {
  std::span<std::byte* const> buffers;  // inputs, outputs, then scratch memory if the program asks for it
  std::span<const uint64_t> numbers = {};

  std::byte* operator[](size_t i) const { return buffers[i]; }
};

}  // namespace tenon::backends::cpu
