// What the rows of nn/functions.def need beside C++'s functions: sizes along axes, modes by their words, what may be
// written in place.

#pragma once

#include "call.h"

namespace tenon::python {

/// A size along one axis, which may be a list of one.
struct Size1 {
  int64_t size;
  operator int64_t() const { return size; }  // NOLINT: it is a number
};

// Sizes along axes: one number, or one for each.
Size1 size1(const py::object& object);
nn::Size2 size2(const py::object& object);
nn::Size3 size3(const py::object& object);
nn::Padding padding_of(const py::object& object);
nn::Padding3 padding3_of(const py::object& object);
/// Two sizes, of which None is that of the input.
nn::Size2 size2_kept(const Tensor& x, const py::object& object);
/// The largest elements, or a pair of them and where they lie.
py::object largest(const nn::MaxPooled& found, bool with_indices);
nn::Reduction reduction_of(const std::string& name);

template <typename T, T (*read)(const py::object&)>
struct ConvertSizes {
  static constexpr const char* type = "int | Sequence[int]";
  static T from(PyObject* object) { return read(py::reinterpret_borrow<py::object>(object)); }
};
template <>
struct Convert<Size1> : ConvertSizes<Size1, size1> {};
template <>
struct Convert<nn::Size2> : ConvertSizes<nn::Size2, size2> {};
template <>
struct Convert<nn::Size3> : ConvertSizes<nn::Size3, size3> {};
template <>
struct Convert<nn::Padding> : ConvertSizes<nn::Padding, padding_of> {
  static constexpr const char* type = "int | Sequence[int] | str";
};
template <>
struct Convert<nn::Padding3> : ConvertSizes<nn::Padding3, padding3_of> {
  static constexpr const char* type = "int | Sequence[int] | str";
};
template <>
struct Convert<nn::Reduction> {
  static constexpr const char* type = "str";
  static nn::Reduction from(PyObject* object) { return reduction_of(Convert<std::string>::from(object)); }
};

/// The reduction, also in the words of PyTorch 0.4.
inline nn::Reduction reduced(std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) {
  if (!size_average && !reduce) return reduction;
  if (reduce == false) return nn::Reduction::none;
  return size_average == false ? nn::Reduction::sum : nn::Reduction::mean;
}

/// The result, or the input that holds it from now on.
Tensor in_place_if(bool in_place, const Tensor& input, Tensor result);

/// Initial values of a layer of so many inputs: even within 1 / sqrt(inputs) of 0.
void within(Tensor& tensor, int64_t inputs);

/// Refuses what PyTorch's embeddings have and these do not.
void require_plain_embedding(const char* function, const std::optional<double>& max_norm, bool scale_grad_by_freq);
Tensor embedded(const Tensor& index, const Tensor& weight, std::optional<int64_t> padding_idx,
                const std::optional<double>& max_norm, bool scale_grad_by_freq);
Tensor bags(const Tensor& index, const Tensor& weight, const nn::EmbeddingBagOptions& options,
            const std::optional<double>& max_norm, bool scale_grad_by_freq);
/// The dim; where none is given that which PyTorch takes, with its warning.
int64_t dim_of_classes(const char* function, const Tensor& input, std::optional<int64_t> dim);
nn::BagMode bag_mode_of(const std::string& mode);
nn::init::FanMode fan_mode(const std::string& mode);
/// A size or a scale for all axes or one for each, and what else PyTorch's interpolate() takes.
nn::UpsampleOptions upsample_of(const py::object& size, const py::object& scale, const std::string& mode,
                                std::optional<bool> align_corners, std::optional<bool> recompute_scale, bool antialias);
nn::GridSampleOptions grid_options(const std::string& mode, const std::string& padding, bool align_corners);
/// Lengths of sequences: a tensor, wherever it lies, or a list.
Tensor lengths_on(Device device, const py::object& given);
/// A distance of the user's, or that of triplet_margin_loss for None.
std::function<Tensor(const Tensor&, const Tensor&)> distance_of(const py::object& function);

/// RNN, LSTM or GRU with these parameters, layer by layer: (results, state), where an LSTM's state is a pair.
py::object run_recurrent(const std::string& cell, const Tensor& x, const py::object& state, const Tensor& lengths,
                         std::vector<Tensor> parameters, const nn::RecurrentOptions& options);

/// One step of a cell: the state, which of an LSTM is a pair.
py::object run_step(const std::string& op, const std::string& cell, const Tensor& x, const py::object& state,
                    const nn::RecurrentWeights& weights);
/// x + dropout(branch(norm(x))), or norm(x + dropout(branch(x))), of modules and functions of Python.
Tensor residual(const Tensor& x, const py::object& branch, const py::object& norm, const py::object& dropout,
                bool norm_first);

}  // namespace tenon::python
