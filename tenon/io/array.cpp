// Making tensors of arrays.

#include "tenon/io/array.h"

#include "tenon/io/own_memory.h"
#include "tenon/tensor/creation.h"

namespace tenon::io {
namespace {

thread_local int own_memories = 0;

void check_elements(const Input& input, const Array& array) {
  const std::string_view fault = fault_in(array.element, array.bytes);
  if (!fault.empty()) fail(input, "{} is {} and holds {}", array.what, array.dtype, fault);
}

Tensor converted(const Array& array, Device device) {
  const Options options(held_as(array.element), device);
  if (is_held_as_stored(array.element)) return from_bytes(array.bytes, array.shape, options);
  return from_bytes(widened(array.element, array.bytes), array.shape, options);
}

}  // namespace

OwnMemory::OwnMemory() { ++own_memories; }
OwnMemory::~OwnMemory() { --own_memories; }

Dims dims_of(std::span<const uint64_t> shape) {
  Dims dims;
  for (const uint64_t size : shape) dims.push_back(static_cast<int64_t>(size));
  return dims;
}

Tensor tensor_over(const Input& input, const Array& array, std::shared_ptr<const void> owner, Device device) {
  check_elements(input, array);
  if (own_memories > 0 || !is_held_as_stored(array.element)) return converted(array, device);
  return from_host_memory(array.bytes, std::move(owner), array.shape, Options(held_as(array.element), device));
}

Tensor tensor_of(const Input& input, const Array& array, Device device) {
  check_elements(input, array);
  return converted(array, device);
}

}  // namespace tenon::io
