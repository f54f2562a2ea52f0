// What the rows of tensor/creation.def need beside C++'s functions.

#pragma once

#include "call.h"

namespace tenon::python {

Options options_of(std::optional<DType> dtype, const Device& device, bool requires_grad = false);
/// The dtype and the device of x, unless others are given.
Options like(const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad);
/// A number, or that of a tensor without dims, which is computed.
double end_of(const py::object& given);
/// A tensor of numbers, lists or an array.
Tensor tensor_like(const py::object& data, const Options& options);

}  // namespace tenon::python
