// Arguments of nn.functional and nn.init that C++ has in other forms.

#include "layer_arguments.h"

#include <cmath>

#include "nn.h"

namespace tenon::python {

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
  const std::string text = fmt::format("Implicit dimension choice for {} has been deprecated. Change the call to include "
                                       "dim=X as an argument.", function);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw py::error_already_set();
  return input.dim() == 0 || input.dim() == 1 || input.dim() == 3 ? 0 : 1;
}

nn::BagMode bag_mode_of(const std::string& mode) {
  if (mode == "sum") return nn::BagMode::sum;
  if (mode == "mean") return nn::BagMode::mean;
  if (mode == "max") return nn::BagMode::max;
  throw_value_error(fmt::format("there is no mode '{}'; there are 'sum', 'mean' and 'max'", mode));
}

nn::init::FanMode fan_mode(const std::string& mode) {
  if (mode == "fan_in") return nn::init::FanMode::in;
  if (mode == "fan_out") return nn::init::FanMode::out;
  throw_value_error(fmt::format("there is no mode '{}'; there are 'fan_in' and 'fan_out'", mode));
}

namespace {

nn::Resample resample_mode(const std::string& mode) {
  constexpr std::pair<const char*, nn::Resample> kModes[] = {
      {"nearest", nn::Resample::nearest},     {"nearest-exact", nn::Resample::nearest_exact},
      {"linear", nn::Resample::linear},       {"bilinear", nn::Resample::bilinear},
      {"trilinear", nn::Resample::trilinear}, {"bicubic", nn::Resample::bicubic},
      {"area", nn::Resample::area}};
  for (const auto& [word, value] : kModes) {
    if (mode == word) return value;
  }
  throw_value_error(fmt::format("there is no mode '{}'; there are 'nearest', 'nearest-exact', 'linear', 'bilinear', "
                                "'trilinear', 'bicubic' and 'area'", mode));
}

std::vector<double> scales_of(const py::object& scale) {
  if (!PyTuple_Check(scale.ptr()) && !PyList_Check(scale.ptr())) return {Convert<double>::from(scale.ptr())};
  std::vector<double> scales;
  for (const py::handle one : scale) scales.push_back(Convert<double>::from(one.ptr()));
  return scales;
}

}  // namespace

nn::UpsampleOptions upsample_of(const py::object& size, const py::object& scale, const std::string& mode,
                                std::optional<bool> align_corners, std::optional<bool> recompute_scale, bool antialias) {
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
  if (name == "lstm") return nn::RecurrentCell::lstm;
  if (name == "gru") return nn::RecurrentCell::gru;
  if (name == "relu") return nn::RecurrentCell::relu;
  if (name == "tanh") return nn::RecurrentCell::tanh;
  throw_value_error(fmt::format("there is no cell '{}'; there are 'lstm', 'gru', 'tanh' and 'relu'", name));
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
  const auto object = [](const Tensor& made) { return py::reinterpret_steal<py::object>(wrap_new(made)); };
  if (is_lstm) return py::make_tuple(object(output.y), py::make_tuple(object(output.state.h), object(output.state.c)));
  return py::make_tuple(object(output.y), object(output.state.h));
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
  const auto object = [](const Tensor& made) { return py::reinterpret_steal<py::object>(wrap_new(made)); };
  return is_lstm ? py::make_tuple(object(next.h), object(next.c)) : object(next.h);
}

Tensor residual(const Tensor& x, const py::object& branch, const py::object& norm, const py::object& dropout,
                bool norm_first) {
  const auto call = [](const py::object& function, const Tensor& given) {
    const py::object made = function(py::reinterpret_steal<py::object>(wrap(given)));
    return Convert<Tensor>::from(made.ptr());
  };
  if (norm_first) return x + call(dropout, call(branch, call(norm, x)));
  return call(norm, x + call(dropout, call(branch, x)));
}

}  // namespace tenon::python
