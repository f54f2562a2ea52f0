// Philox 4x32-10 (Salmon et al. 2011): counter-based random bits in integer arithmetic, the same on every device.

#pragma once

#include <array>
#include <cstdint>

namespace tenon::ir {

/// The four words of block `counter` of the stream `seed`.
constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter) {
  std::array<uint32_t, 4> x{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

/// Word `position` of the stream.
constexpr uint32_t philox_word(uint64_t seed, uint64_t position) { return philox(seed, position / 4)[position % 4]; }

}  // namespace tenon::ir
