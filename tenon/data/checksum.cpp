// XXH64 with seed 0 as its specification writes it down; names of steps follow that text.

#include "tenon/data/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::data {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                   kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

template <typename T>
T little_endian(const std::byte* at) {
  T number;
  std::memcpy(&number, at, sizeof(T));
  return number;
}

uint64_t round(uint64_t lane, uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace

void Checksum::add_stripe(const std::byte* stripe) {
  for (size_t lane = 0; lane < 4; ++lane)
    lanes_[lane] = round(lanes_[lane], little_endian<uint64_t>(stripe + 8 * lane));
}

void Checksum::add(std::span<const std::byte> bytes) {
  total_bytes_ += bytes.size();
  if (rest_bytes_ > 0) {
    const size_t taken = std::min(kStripe - rest_bytes_, bytes.size());
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
    rest_bytes_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_bytes_ < kStripe) return;
    add_stripe(rest_.data());
    rest_bytes_ = 0;
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) add_stripe(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  rest_bytes_ = bytes.size();
}

uint64_t Checksum::value() const {
  uint64_t hash = kPrime5;
  if (total_bytes_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = merge(hash, lane);
  }
  hash += total_bytes_;
  const std::byte* at = rest_.data();
  const std::byte* end = at + rest_bytes_;
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, little_endian<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; end - at >= 4; at += 4) hash = std::rotl(hash ^ little_endian<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; at != end; ++at) hash = std::rotl(hash ^ static_cast<uint64_t>(*at) * kPrime5, 11) * kPrime1;
  return avalanche(hash);
}

uint64_t checksum_of(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

}  // namespace tenon::data
