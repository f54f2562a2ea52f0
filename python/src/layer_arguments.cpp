// Arguments of nn.functional and nn.init that C++ has in other forms.

#include "layer_arguments.h"

#include <cmath>

namespace tenon::python {
namespace {

Dims sizes_of(const py::object& object, size_t axes) {
  static constexpr const char* kCounts[] = {"a size", "a size or two", "a size or three"};
  Dims sizes = dims_of(object.ptr(), kCounts[axes - 1]);
  if (sizes.size() == 1) sizes.resize(axes, sizes[0]);
  if (sizes.size() == axes) return sizes;
  throw_value_error(fmt::format("{} needed, got {}",
                                axes == 1 ? "one size is" : fmt::format("{} are", kCounts[axes - 1]), sizes.size()));
}

}  // namespace

Size1 size1(const py::object& object) { return {sizes_of(object, 1)[0]}; }
nn::Size2 size2(const py::object& object) {
  const Dims sizes = sizes_of(object, 2);
  return nn::Size2(sizes[0], sizes[1]);
}
nn::Size3 size3(const py::object& object) {
  const Dims sizes = sizes_of(object, 3);
  return nn::Size3(sizes[0], sizes[1], sizes[2]);
}
nn::Padding padding_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding(std::string_view(py::cast<std::string>(object)));
  return nn::Padding(size2(object));
}
nn::Padding3 padding3_of(const py::object& object) {
  if (PyUnicode_Check(object.ptr())) return nn::Padding3(std::string_view(py::cast<std::string>(object)));
  return nn::Padding3(size3(object));
}
nn::Size2 size2_kept(const Tensor& x, const py::object& object) {
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) return size2(object);
  py::list sizes(object);
  for (size_t i = 0; i < sizes.size() && sizes.size() == 2 && x.dim() >= 2; ++i) {
    if (py::object(sizes[i]).is_none()) sizes[i] = x.size(static_cast<int64_t>(i) - 2);
  }
  return size2(sizes);
}
py::object largest(const nn::MaxPooled& found, bool with_indices) {
  if (with_indices) return py::make_tuple(found.y, found.indices);
  return py::cast(found.y);
}

Tensor in_place_if(bool in_place, const Tensor& input, Tensor result) {
  if (!in_place) return result;
  Tensor written = input;
  return written.copy_(result);
}

void within(Tensor& tensor, int64_t inputs) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  nn::init::uniform_(tensor, -bound, bound);
}

void require_plain_embedding(const char* function, const std::optional<double>& max_norm, bool scale_grad_by_freq) {
  if (max_norm || scale_grad_by_freq)
    throw_value_error(fmt::format("{}() has neither max_norm nor scale_grad_by_freq", function));
}

Tensor embedded(const Tensor& index, const Tensor& weight, std::optional<int64_t> padding_idx,
                const std::optional<double>& max_norm, bool scale_grad_by_freq) {
  require_plain_embedding("embedding", max_norm, scale_grad_by_freq);
  return nn::embedding(weight, index, padding_idx);
}

Tensor bags(const Tensor& index, const Tensor& weight, const nn::EmbeddingBagOptions& options,
            const std::optional<double>& max_norm, bool scale_grad_by_freq) {
  require_plain_embedding("embedding_bag", max_norm, scale_grad_by_freq);
  return nn::embedding_bag(weight, index, options);
}

int64_t dim_of_classes(const char* function, const Tensor& input, std::optional<int64_t> dim) {
  if (dim) return *dim;
  const std::string text = fmt::format(
      "Implicit dimension choice for {} has been deprecated. Change the call to include "
      "dim=X as an argument.",
      function);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw py::error_already_set();
  return input.dim() == 0 || input.dim() == 1 || input.dim() == 3 ? 0 : 1;
}

nn::Reduction reduction_of(const std::string& name) {
  using nn::Reduction;
  return one_named("reduction", name, "none", Reduction::none, "mean", Reduction::mean, "sum", Reduction::sum,
                   "batchmean", Reduction::batchmean);
}

nn::BagMode bag_mode_of(const std::string& mode) {
  using nn::BagMode;
  return one_named("mode", mode, "sum", BagMode::sum, "mean", BagMode::mean, "max", BagMode::max);
}

nn::init::FanMode fan_mode(const std::string& mode) {
  using nn::init::FanMode;
  return one_named("mode", mode, "fan_in", FanMode::in, "fan_out", FanMode::out);
}

namespace {

nn::Resample resample_mode(const std::string& mode) {
  using nn::Resample;
  return one_named("mode", mode, "nearest", Resample::nearest, "nearest-exact", Resample::nearest_exact, "linear",
                   Resample::linear, "bilinear", Resample::bilinear, "trilinear", Resample::trilinear, "bicubic",
                   Resample::bicubic, "area", Resample::area);
}

std::vector<double> scales_of(const py::object& scale) {
  if (!PyTuple_Check(scale.ptr()) && !PyList_Check(scale.ptr())) return {Convert<double>::from(scale.ptr())};
  std::vector<double> scales;
  for (const py::handle one : scale) scales.push_back(Convert<double>::from(one.ptr()));
  return scales;
}

}  // namespace

nn::UpsampleOptions upsample_of(const py::object& size, const py::object& scale, const std::string& mode,
                                std::optional<bool> align_corners, std::optional<bool> recompute_scale,
                                bool antialias) {
  nn::UpsampleOptions options{.mode = resample_mode(mode)};
  if (!size.is_none()) {
    const Dims sizes = dims_of(size.ptr(), "a size for each axis");
    options.size = std::vector<int64_t>(sizes.begin(), sizes.end());
  }
  if (!scale.is_none()) options.scale = scales_of(scale);
  options.align_corners = align_corners.value_or(false);
  options.recompute_scale = recompute_scale.value_or(false);
  options.antialias = antialias;
  return options;
}

nn::GridSampleOptions grid_options(const std::string& mode, const std::string& padding, bool align_corners) {
  if (mode != "bilinear" && mode != "nearest")
    throw_value_error(fmt::format("grid_sample() has no mode '{}'; there are 'bilinear' and 'nearest'", mode));
  if (padding != "zeros" && padding != "border")
    throw_value_error(fmt::format("grid_sample() has no padding_mode '{}'; there are 'zeros' and 'border'", padding));
  return {mode == "nearest" ? nn::Resample::nearest : nn::Resample::bilinear, padding == "border", align_corners};
}

Tensor lengths_on(Device device, const py::object& given) {
  if (is_tensor(given.ptr())) return tensor_in(given.ptr()).to(device);
  const Dims lengths = dims_of(given.ptr(), "a length or a list of lengths");
  const std::vector<int64_t> values(lengths.begin(), lengths.end());
  return from_vector(values, {static_cast<int64_t>(values.size())}, Options(DType::i64, device));
}

std::function<Tensor(const Tensor&, const Tensor&)> distance_of(const py::object& function) {
  if (function.is_none()) return {};
  return py::cast<std::function<Tensor(const Tensor&, const Tensor&)>>(function);
}

namespace {

nn::RecurrentState recurrent_state(const py::object& state, bool is_lstm) {
  if (state.is_none()) return {};
  if (is_tensor(state.ptr())) return {tensor_in(state.ptr()), {}};
  const std::vector<Tensor> both = Convert<std::vector<Tensor>>::from(state.ptr());
  if (!is_lstm || both.size() != 2) throw_type_error("a state is a tensor, and of LSTM a pair of tensors");
  return {both[0], both[1]};
}

nn::RecurrentCell recurrent_cell(const std::string& name) {
  using nn::RecurrentCell;
  return one_named("cell", name, "lstm", RecurrentCell::lstm, "gru", RecurrentCell::gru, "tanh", RecurrentCell::tanh,
                   "relu", RecurrentCell::relu);
}

}  // namespace

py::object run_recurrent(const std::string& cell_name, const Tensor& x, const py::object& state, const Tensor& lengths,
                         std::vector<Tensor> parameters, const nn::RecurrentOptions& options) {
  const nn::RecurrentCell cell = recurrent_cell(cell_name);
  const bool is_lstm = cell == nn::RecurrentCell::lstm;
  const size_t each = 2 + (options.bias ? 2 : 0) + (options.proj_size > 0 ? 1 : 0);
  if (parameters.size() % each != 0)
    throw_value_error(fmt::format("{} parameters are no sets of {}", parameters.size(), each));
  std::vector<nn::RecurrentWeights> weights(parameters.size() / each);
  for (size_t i = 0; i < weights.size(); ++i) {
    Tensor* next = &parameters[i * each];
    weights[i].weight_ih = std::move(*next++);
    weights[i].weight_hh = std::move(*next++);
    if (options.bias) {
      weights[i].bias_ih = std::move(*next++);
      weights[i].bias_hh = std::move(*next++);
    }
    if (options.proj_size > 0) weights[i].weight_hr = std::move(*next);
  }
  std::vector<const nn::RecurrentWeights*> sets;
  for (const nn::RecurrentWeights& one : weights) sets.push_back(&one);
  const nn::RecurrentOutput output = nn::recurrent(cell, x, sets, options, recurrent_state(state, is_lstm), lengths);
  if (is_lstm)
    return py::make_tuple(object_of(output.y), py::make_tuple(object_of(output.state.h), object_of(output.state.c)));
  return py::make_tuple(object_of(output.y), object_of(output.state.h));
}

py::object run_step(const std::string& op, const std::string& cell_name, const Tensor& x, const py::object& state,
                    const nn::RecurrentWeights& weights) {
  const nn::RecurrentCell cell = recurrent_cell(cell_name);
  const bool is_lstm = cell == nn::RecurrentCell::lstm;
  nn::RecurrentState given = recurrent_state(state, is_lstm);
  Tensor input = x;
  std::optional<Autocast> off;
  if (autocast_dtype() && (is_lstm || cell == nn::RecurrentCell::gru)) {  // whose states stay wide, as PyTorch's do
    off.emplace(DType::bf16, false);
    for (Tensor* one : {&input, &given.h, &given.c}) {
      if (one->defined()) *one = one->to(weights.weight_ih.dtype());
    }
  }
  const nn::RecurrentState next = nn::recurrent_step(op, cell, input, weights, given);
  return is_lstm ? py::make_tuple(object_of(next.h), object_of(next.c)) : object_of(next.h);
}

Tensor residual(const Tensor& x, const py::object& branch, const py::object& norm, const py::object& dropout,
                bool norm_first) {
  const auto call = [](const py::object& function, const Tensor& given) {
    const py::object made = function(owned(wrap(given)));
    return Convert<Tensor>::from(made.ptr());
  };
  if (norm_first) return x + call(dropout, call(branch, call(norm, x)));
  return call(norm, x + call(dropout, call(branch, x)));
}

}  // namespace tenon::python
