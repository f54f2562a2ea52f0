// Sizes of windows: one number, or one for each axis.

#pragma once

#include "convert.h"

namespace tenon::python {

inline int64_t size1(const py::object& object) {
  const Dims sizes = dims_of(object.ptr(), "a size");
  if (sizes.size() != 1) throw_value_error(fmt::format("one size is needed, got {}", sizes.size()));
  return sizes[0];
}
inline nn::Size2 size2(const py::object& object) {
  const Dims sizes = dims_of(object.ptr(), "a size or two");
  if (sizes.size() == 1) return nn::Size2(sizes[0]);
  if (sizes.size() != 2) throw_value_error(fmt::format("a size or two are needed, got {}", sizes.size()));
  return nn::Size2(sizes[0], sizes[1]);
}
inline nn::Size3 size3(const py::object& object) {
  const Dims sizes = dims_of(object.ptr(), "a size or three");
  if (sizes.size() == 1) return nn::Size3(sizes[0]);
  if (sizes.size() != 3) throw_value_error(fmt::format("a size or three are needed, got {}", sizes.size()));
  return nn::Size3(sizes[0], sizes[1], sizes[2]);
}
inline nn::Padding padding_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding(std::string_view(py::cast<std::string>(object)));
  return nn::Padding(size2(object));
}
inline nn::Padding3 padding3_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding3(std::string_view(py::cast<std::string>(object)));
  return nn::Padding3(size3(object));
}
/// Two sizes, of which None is that of the input.
inline nn::Size2 size2_kept(const Tensor& x, const py::object& object) {
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) return size2(object);
  py::list sizes(object);
  for (size_t i = 0; i < sizes.size() && sizes.size() == 2 && x.dim() >= 2; ++i) {
    if (py::object(sizes[i]).is_none()) sizes[i] = x.size(static_cast<int64_t>(i) - 2);
  }
  return size2(sizes);
}
/// The largest elements, or a pair of them and where they lie.
inline py::object largest(const nn::MaxPooled& found, bool with_indices) {
  if (with_indices) return py::make_tuple(found.y, found.indices);
  return py::cast(found.y);
}
inline nn::Reduction reduction_of(const std::string& name) {
  if (name == "none") return nn::Reduction::none;
  if (name == "mean") return nn::Reduction::mean;
  if (name == "sum") return nn::Reduction::sum;
  if (name == "batchmean") return nn::Reduction::batchmean;
  throw_value_error(fmt::format("there is no reduction '{}'; there are 'none', 'mean', 'sum' and 'batchmean'", name));
}

}  // namespace tenon::python
