// Division of sizes, upwards.

#pragma once

#include <cstdint>

namespace tenon::base {

/// For numbers from 0 on.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

}  // namespace tenon::base
