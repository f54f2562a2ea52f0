// The elements of a tensor as bytes on the host, where they lie if they can be reached there, else as a copy.
//
// Samples are small and many: reading a row in place takes a microsecond, a plan of its own would take twenty.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon::data {

class HostBytes {
 public:
  explicit HostBytes(const Tensor& tensor);
  /// In row-major order, while this lives and nobody writes the tensor.
  std::span<const std::byte> bytes() const { return bytes_; }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }

 private:
  Tensor kept_;
  std::vector<std::byte> own_;
  std::span<const std::byte> bytes_;
};

/// "f32(3, 32, 32)", for messages.
std::string shown_type(const Tensor& tensor);

/// The host's device, where samples are prepared whatever device they are for.
Device host();

}  // namespace tenon::data
