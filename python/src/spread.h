// What variances are asked for by.

#pragma once

#include "convert.h"

namespace tenon::python {

/// PyTorch's older calls say std(False) or std(dim, unbiased=False).
struct Spread {
  Axes dim;
  double correction;
  Spread(const py::object& given, const py::object& degrees, const py::object& unbiased)
      : correction(degrees.is_none() ? 1 : Convert<double>::from(degrees.ptr())) {
    if (PyBool_Check(given.ptr()))
      correction = given.ptr() == Py_True ? 1 : 0;
    else
      dim = Convert<Axes>::from(given.ptr());
    if (!unbiased.is_none()) correction = Convert<bool>::from(unbiased.ptr()) ? 1 : 0;
  }
};

}  // namespace tenon::python
