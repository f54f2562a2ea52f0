// Arguments of linalg/functions.def that C++ has in other forms.

#pragma once

#include "convert.h"

namespace tenon::python {

/// The order of a norm; a text is kept as long as it is needed.
struct GivenOrder {
  std::variant<double, std::string> given;
  linalg::Order order() const;
};
inline std::optional<linalg::Order> order_of(const std::optional<GivenOrder>& given) {
  return given ? std::optional(given->order()) : std::nullopt;
}
inline std::optional<Axes> axes_of(const std::optional<Dims>& dims) {
  return dims ? std::optional(Axes(*dims)) : std::nullopt;
}
/// rcond, where there is such a driver.
std::optional<double> with_driver(const std::optional<std::string>& driver, std::optional<double> rcond);

template <>
struct Convert<GivenOrder> {
  static constexpr const char* type = "float | str";
  static GivenOrder from(PyObject* object) {
    if (PyUnicode_Check(object)) return {Convert<std::string>::from(object)};
    return {Convert<double>::from(object)};
  }
};

}  // namespace tenon::python
