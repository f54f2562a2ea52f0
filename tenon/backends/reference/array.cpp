// Loading and saving.

#include "tenon/backends/reference/array.h"

#include <algorithm>

namespace tenon::backends::reference {

Array::Array(const ir::Type& t) : type(t) {
  const auto n = static_cast<size_t>(ir::count(t.shape));
  if (is_float(t.dtype))
    real.resize(n);
  else
    whole.resize(n);
}

Array load(const ir::Operand& operand, const std::byte* from) {
  Array array({operand.dtype, operand.map.shape()});
  dispatch(operand.dtype, [&]<typename T>() {
    const T* elements = reinterpret_cast<const T*>(from);
    if (operand.map.is_contiguous()) {  // by far the most common, and the walk below is slow
      if constexpr (std::is_integral_v<T>)
        std::copy_n(elements, array.whole.size(), array.whole.begin());
      else
        std::copy_n(elements, array.real.size(), array.real.begin());
      return;
    }
    operand.map.for_each([&](int64_t position, int64_t where) {
      if (where == ir::IndexMap::kPadding) return;  // stays zero
      const auto i = static_cast<size_t>(position);
      if constexpr (std::is_integral_v<T>)
        array.whole[i] = elements[where];
      else
        array.real[i] = elements[where];
    });
  });
  return array;
}

void save(const Array& array, std::byte* to) {
  dispatch(array.type.dtype, [&]<typename T>() {
    T* elements = reinterpret_cast<T*>(to);
    if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < array.whole.size(); ++i) elements[i] = static_cast<T>(array.whole[i]);
    } else {
      for (size_t i = 0; i < array.real.size(); ++i) elements[i] = static_cast<T>(array.real[i]);
    }
  });
}

Lines::Lines(const Dims& shape, size_t axis) : length(shape[axis]) {
  for (size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
}

}  // namespace tenon::backends::reference
