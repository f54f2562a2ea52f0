// The elements of a tensor as numbers of Python. Those that are there already and lie on the host are read at once:
// no plan, no other thread.

#pragma once

#include <array>
#include <cstring>
#include <span>

#include "convert.h"

namespace tenon::python {

/// A copy of the elements in row-major order, computed first where need be; other threads run meanwhile.
class Elements {
 public:
  explicit Elements(const Tensor& x);
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  template <typename T>
  T number(size_t i) const {
    return dispatch(dtype_, [&]<typename Stored>() { return static_cast<T>(stored<Stored>(i)); });
  }
  /// A float, an int or a bool.
  PyObject* object(size_t i) const {
    return dispatch(dtype_, [&]<typename Stored>() { return object_of(stored<Stored>(i)); });
  }
  /// Nested lists of them.
  PyObject* lists() const;

 private:
  void read(const Tensor& x);
  template <typename Stored>
  Stored stored(size_t i) const {
    Stored value;
    std::memcpy(&value, bytes_.data() + i * sizeof(Stored), sizeof(Stored));
    return value;
  }
  template <typename Stored>
  static PyObject* object_of(Stored value) {
    if constexpr (std::same_as<Stored, bool>)
      return PyBool_FromLong(value);
    else if constexpr (std::integral<Stored>)
      return PyLong_FromLongLong(value);
    else
      return PyFloat_FromDouble(static_cast<double>(value));
  }
  template <typename Stored>
  PyObject* list(const Dims& shape, size_t depth, size_t& at) const;

  DType dtype_;
  Dims shape_;
  std::array<std::byte, 64> few_;
  std::vector<std::byte> many_;
  std::span<std::byte> bytes_;
};

}  // namespace tenon::python
