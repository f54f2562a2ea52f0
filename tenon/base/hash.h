// 64-bit structural hashing: mixes words with two multiplies, good enough that equality confirms rather than decides.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tenon::base {

inline uint64_t mix(uint64_t hash, uint64_t word) {
  uint64_t h = (hash ^ (word + 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
  h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93ull;
  return h ^ (h >> 29);
}

template <typename Range>
uint64_t mix_all(uint64_t hash, const Range& words) {
  hash = mix(hash, words.size());
  for (const auto& word : words) hash = mix(hash, static_cast<uint64_t>(word));
  return hash;
}

/// Of bytes, the same in every process and on every machine.
inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
  uint64_t hash = mix(seed, bytes.size());
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = mix(hash, word);
    bytes.remove_prefix(8);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return mix(hash, rest);
}

}  // namespace tenon::base
