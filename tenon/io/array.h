// From an array in a file to a tensor: over the map of the file where its bytes are a tensor's, else over a copy.

#pragma once

#include <memory>
#include <string>

#include "tenon/io/element.h"
#include "tenon/io/input.h"
#include "tenon/tensor/tensor.h"

namespace tenon::io {

struct Array {
  std::string what;        // `tensor "x"`, for messages
  std::string_view dtype;  // as the file spells it
  Element element;
  Dims shape;
  std::span<const std::byte> bytes;  // row-major
};

Dims dims_of(std::span<const uint64_t> shape);

/// `owner` keeps the bytes, which no other tensor may lie over. Fails on elements that no tensor can hold.
Tensor tensor_over(const Input& input, const Array& array, std::shared_ptr<const void> owner, Device device);
/// The same, of bytes that are not kept.
Tensor tensor_of(const Input& input, const Array& array, Device device);

}  // namespace tenon::io
