// What the tests of the tile instructions share: a register with guarded bytes, distances, and a run per instruction
// set.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/backends/cpu/tile/targets.h"
#include "tenon/backends/cpu/tile/tile.h"

namespace tenon::backends::cpu {

/// One register; the bytes behind an instruction's elements must stay as they were.
struct alignas(64) Tile {
  std::byte bytes[kTileBytes];
  Tile() { std::memset(bytes, 0xAB, sizeof bytes); }
};

template <typename T>
T element(const Tile& tile, size_t i) {
  T value;
  std::memcpy(&value, tile.bytes + i * sizeof(T), sizeof(T));
  return value;
}

/// Distance in units in the last place of the dtype; two NaNs are the same, infinity follows the largest number.
inline double ulps(DType dtype, double got, double want) {
  const int digits = dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  const int most = dtype == DType::f64 ? 1023 : dtype == DType::f16 ? 15 : 127;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  if (got == want) return std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  if (dtype == DType::f64 && (std::isinf(got) || std::isinf(want))) return INFINITY;
  const double limit = std::ldexp(1.0, most + 1);
  const double from = std::clamp(got, -limit, limit), to = std::clamp(want, -limit, limit);
  const int exponent = to == 0 ? 1 - most : std::clamp(std::ilogb(to), 1 - most, most);
  return std::fabs(from - to) / std::ldexp(1.0, exponent - digits + 1);
}

/// A test that runs once per instruction set.
class OnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_tile_target(GetParam()); }
  void TearDown() override { use_tile_target(""); }
};

inline std::vector<std::string> target_names() {
  const auto names = tile_targets();
  return {names.begin(), names.end()};
}

inline std::string target_of(const testing::TestParamInfo<std::string>& run) { return run.param; }

/// "sum f32", for messages.
inline std::string text(ir::Op op, DType dtype) { return std::string(ir::name(op)) + " " + std::string(name(dtype)); }

}  // namespace tenon::backends::cpu
