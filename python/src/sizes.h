// Sizes of windows: one number, or one for each axis.

#pragma once

#include <cmath>

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
inline std::optional<nn::Size2> optional_size2(const py::object& object) {
  return object.is_none() ? std::nullopt : std::optional(size2(object));
}
inline nn::Padding padding_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding(std::string_view(py::cast<std::string>(object)));
  return nn::Padding(size2(object));
}
inline nn::Padding3 padding3_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding3(std::string_view(py::cast<std::string>(object)));
  return nn::Padding3(size3(object));
}
inline nn::UpsampleOptions upsample_options(const py::object& size, const std::string& mode, bool align_corners) {
  if (mode != "nearest" && mode != "bilinear")
    throw_value_error(fmt::format("there is no mode '{}'; there are 'nearest' and 'bilinear'", mode));
  return {optional_size2(size), {}, mode == "nearest" ? nn::Resample::nearest : nn::Resample::bilinear, align_corners};
}
/// Scales of PyTorch's: none, a number, or one for each axis.
inline std::vector<double> scales_of(const py::object& scale) {
  if (scale.is_none()) return {};
  if (!PyTuple_Check(scale.ptr()) && !PyList_Check(scale.ptr())) return {Convert<double>::from(scale.ptr())};
  std::vector<double> scales;
  for (const py::handle one : scale) scales.push_back(Convert<double>::from(one.ptr()));
  if (scales.size() != 1 && scales.size() != 2)
    throw_value_error(fmt::format("a scale or two are needed, got {}", scales.size()));
  if (scales.size() == 2 && scales[0] == scales[1]) scales.pop_back();
  return scales;
}
/// Two scales that differ are two sizes, which have to be whole then.
inline nn::UpsampleOptions with_scales(const Tensor& x, nn::UpsampleOptions options,
                                       const std::vector<double>& scales) {
  if (scales.size() == 1) options.scale = scales[0];
  if (scales.size() < 2) return options;
  if (options.size) throw_value_error("either a size or a scale is needed, not both");
  if (x.dim() < 3) throw_value_error(fmt::format("an image with channels is needed, not {} dims", x.dim()));
  Dims sizes;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) - 2);
    const double wanted = static_cast<double>(size) * scales[i];
    if (wanted != std::floor(wanted))
      throw_value_error(fmt::format("scales that differ have to give whole sizes, and {} times {} is none: give a size",
                                    size, scales[i]));
    sizes.push_back(static_cast<int64_t>(wanted));
  }
  options.size = nn::Size2(sizes[0], sizes[1]);
  return options;
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
