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
inline std::optional<int64_t> optional_size1(const py::object& object) {
  return object.is_none() ? std::nullopt : std::optional(size1(object));
}
inline std::optional<nn::Size2> optional_size2(const py::object& object) {
  return object.is_none() ? std::nullopt : std::optional(size2(object));
}
inline nn::Padding padding_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding(std::string_view(py::cast<std::string>(object)));
  return nn::Padding(size2(object));
}
inline nn::UpsampleOptions upsample_options(const py::object& size, std::optional<double> scale,
                                            const std::string& mode, bool align_corners) {
  if (mode != "nearest" && mode != "bilinear")
    throw_value_error(fmt::format("there is no mode '{}'; there are 'nearest' and 'bilinear'", mode));
  return {optional_size2(size), scale, mode == "nearest" ? nn::Resample::nearest : nn::Resample::bilinear,
          align_corners};
}
inline nn::Reduction reduction_of(const std::string& name) {
  if (name == "none") return nn::Reduction::none;
  if (name == "mean") return nn::Reduction::mean;
  if (name == "sum") return nn::Reduction::sum;
  if (name == "batchmean") return nn::Reduction::batchmean;
  throw_value_error(fmt::format("there is no reduction '{}'; there are 'none', 'mean', 'sum' and 'batchmean'", name));
}

}  // namespace tenon::python
