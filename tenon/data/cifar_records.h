// The binary batches of CIFAR-10 and CIFAR-100: records of one or two labels and 3 x 32 x 32 bytes. No tensor is made
// here.

#pragma once

#include <cstdint>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::data {

/// What a record has in front of its pixels, and which of it is the label.
struct CifarFormat {
  std::vector<int> classes;  // of each label byte: {10}, or {20, 100}
  size_t label = 0;
};
inline constexpr size_t kCifarPixels = 3 * 32 * 32;

/// Puts the records of a file behind those that are there. Fails with one line on a file that is cut, or no such file.
void append_cifar(const io::Input& input, const CifarFormat& format, std::vector<std::byte>& pixels,
                  std::vector<int64_t>& labels);

}  // namespace tenon::data
