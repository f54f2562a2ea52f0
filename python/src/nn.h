// What the bindings of modules share.

#pragma once

#include "functions.h"

namespace tenon::python {

/// A parameter as an object of tenon.nn.Parameter; the same one while somebody holds it.
py::object parameter_object(const Tensor& tensor);

/// Dtype and device of a layer's parameters.
inline Options layer_options(std::optional<DType> dtype, const py::object& device) {
  Options options(Convert<Device>::from(device.ptr()));
  options.dtype = dtype;
  return options;
}

}  // namespace tenon::python
