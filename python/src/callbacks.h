// Functions of Python that the library calls: their arguments, and what they return.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "types.h"

namespace tenon::python {

inline py::object called(const std::shared_ptr<PyObject>& function, const py::tuple& arguments) {
  return py::reinterpret_borrow<py::object>(function.get())(*arguments);
}

inline py::tuple tuple_of_tensors(std::span<const Tensor> tensors) {
  py::tuple tuple(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), wrap(tensors[i]));
  return tuple;
}

/// What a function of Python's has returned: a tensor, or several; None stands for one that is not there.
inline std::vector<Tensor> tensors_of(const py::object& result, const char* what) {
  if (is_tensor(result.ptr())) return {tensor_in(result.ptr())};
  if (!PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr()))
    throw_type_error(
        fmt::format("{} returns a tensor or a tuple of tensors, not {}", what, type_name_of(result.ptr())));
  std::vector<Tensor> tensors;
  for (const py::handle one : result) {
    if (!one.is_none() && !is_tensor(one.ptr()))
      throw_type_error(
          fmt::format("{} returns a tensor or a tuple of tensors, not a tuple with {}", what, type_name_of(one.ptr())));
    tensors.push_back(one.is_none() ? Tensor() : tensor_in(one.ptr()));
  }
  return tensors;
}

}  // namespace tenon::python
