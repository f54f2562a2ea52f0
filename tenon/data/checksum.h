// XXH64, fed in pieces: the checksum of token files.
//
// A published function, so that other programs can check our files (`xxhsum -H1` agrees); 64 bits, so that a flipped
// bit anywhere shows; and several GB/s on one core, so that a file can be checked whenever it is opened.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::data {

class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  /// Of everything added so far; more may be added afterwards.
  uint64_t value() const;

 private:
  static constexpr size_t kStripe = 32;
  void add_stripe(const std::byte* stripe);

  static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F;
  std::array<uint64_t, 4> lanes_ = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  std::array<std::byte, kStripe> rest_{};  // what does not fill a stripe yet
  size_t rest_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace tenon::data
