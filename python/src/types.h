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

/// "float32", as PyTorch and numpy call it.
const char* python_name(DType dtype);

PyObject* error_type();
PyObject* index_error_type();
PyObject* zero_division_type();
PyObject* lost_error_type();
PyObject* memory_error_type();
PyObject* lin_alg_error_type();

/// The sizes of a tensor: a tenon.Size, which is a tuple with numel(); tensor_object.cpp.
py::object shape_object(const Dims& shape);

/// Sets the library's text as an error of Python's, in Python's words: tenon.float32 for DType::f32; convert.cpp.
void set_error(PyObject* type, const std::exception& error);

}  // namespace tenon::python
