// What the captured functions of learners share.

#pragma once

#include <span>
#include <vector>

#include "tenon/tensor/compile.h"
#include "tenon/tensor/creation.h"

namespace tenon::rl {

/// Of functions that read nothing which changes but what they are given; looking for it took a fifth of 100 episodes.
/// TENON_VERIFY_CAPTURE looks all the same.
inline constexpr CompileOptions kReadsArgumentsAlone{.verify_every = 0};

/// Added to what a move is worth that is not legal.
inline constexpr float kBarred = -1e30F;

/// Numbers of the host on a device.
template <typename T>
Tensor sent(const std::vector<T>& numbers, const Dims& shape, const Device& to) {
  return from_bytes(std::as_bytes(std::span(numbers)), shape, Options(kDTypeOf<T>, to));
}

}  // namespace tenon::rl
