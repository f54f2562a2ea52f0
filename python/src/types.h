// Dtypes, devices and exceptions as objects of Python.

#pragma once

#include "convert.h"

namespace tenon::python {

/// tenon.float32 and the others; there is one object for each.
struct DTypeObject {
  DType dtype;
};
struct DeviceObject {
  Device device;
};

/// What Python, the buffer protocol and PyTorch before it had dtypes call a dtype: "float32", "f", "FloatTensor".
struct DTypeNames {
  DType dtype;
  const char *name, *older, *letter;
};
const DTypeNames& names_of(DType dtype);
inline const char* python_name(DType dtype) { return names_of(dtype).name; }

/// tenon.Error, and the class of what the library has thrown, which may be one below it.
PyObject* error_type();
PyObject* error_type_of(const std::exception& thrown);

/// The sizes of a tensor: a tenon.Size, which is a tuple with numel(); tensor_object.cpp.
py::object shape_object(const Dims& shape);

/// Sets the library's text as an error of Python's, in Python's words: tenon.float32 for DType::f32; convert.cpp.
void set_error(PyObject* type, const std::exception& error);

}  // namespace tenon::python
