// Layers from one tensor to one, under PyTorch's names and with its arguments.

#include "nn.h"
#include "sizes.h"

namespace tenon::python {
namespace {

using namespace py::literals;

template <typename L, typename Base = nn::Layer>
using LayerClass = py::class_<L, Base, std::shared_ptr<L>>;

template <typename L, typename Base = nn::Layer>
LayerClass<L, Base> layer(py::module_& m, const char* name, const char* doc) {
  return LayerClass<L, Base>(m, name, doc);
}

void bind_weighted(py::module_& m) {
  auto linear = layer<nn::Linear>(m, "Linear",
                                  "x @ weight.T + bias.\n\n>>> from tenon import nn, ones\n"
                                  ">>> nn.Linear(3, 2)(ones(4, 3)).shape\n(4, 2)");
  linear.def(py::init([](int64_t in, int64_t out, bool bias, const py::object& device, std::optional<DType> dtype) {
               return std::make_shared<nn::Linear>(in, out, bias, layer_options(dtype, device));
             }),
             "in_features"_a, "out_features"_a, "bias"_a = true, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(linear, "weight", &nn::Linear::weight);
  define_member(linear, "bias", &nn::Linear::bias);

  auto embedding = layer<nn::Embedding>(m, "Embedding", "Rows of a table picked by indices.");
  embedding.def(py::init([](int64_t count, int64_t width, std::optional<int64_t> padding, const py::object& device,
                            std::optional<DType> dtype) {
                  return std::make_shared<nn::Embedding>(count, width, padding, layer_options(dtype, device));
                }),
                "num_embeddings"_a, "embedding_dim"_a, "padding_idx"_a = py::none(), "device"_a = py::none(),
                "dtype"_a = py::none());
  define_member(embedding, "weight", &nn::Embedding::weight);

  auto norm = layer<nn::LayerNorm>(m, "LayerNorm", "Mean 0 and variance 1 over the trailing dims, scaled and shifted.");
  norm.def(py::init([](const Dims& shape, double eps, bool affine, bool bias, const py::object& device,
                       std::optional<DType> dtype) {
             return std::make_shared<nn::LayerNorm>(shape, eps, affine, bias, layer_options(dtype, device));
           }),
           "normalized_shape"_a, "eps"_a = 1e-5, "elementwise_affine"_a = true, "bias"_a = true,
           "device"_a = py::none(), "dtype"_a = py::none());
  define_member(norm, "weight", &nn::LayerNorm::weight);
  define_member(norm, "bias", &nn::LayerNorm::bias);

  auto rms = layer<nn::RMSNorm>(m, "RMSNorm", "Mean square 1 over the trailing dims, scaled.");
  rms.def(
      py::init([](const Dims& shape, double eps, bool affine, const py::object& device, std::optional<DType> dtype) {
        return std::make_shared<nn::RMSNorm>(shape, eps, affine, layer_options(dtype, device));
      }),
      "normalized_shape"_a, "eps"_a = 1e-6, "elementwise_affine"_a = true, "device"_a = py::none(),
      "dtype"_a = py::none());
  define_member(rms, "weight", &nn::RMSNorm::weight);

  auto group = layer<nn::GroupNorm>(m, "GroupNorm", "Mean 0 and variance 1 over groups of channels.");
  group.def(py::init([](int64_t groups, int64_t channels, double eps, bool affine, const py::object& device,
                        std::optional<DType> dtype) {
              return std::make_shared<nn::GroupNorm>(groups, channels, eps, affine, layer_options(dtype, device));
            }),
            "num_groups"_a, "num_channels"_a, "eps"_a = 1e-5, "affine"_a = true, "device"_a = py::none(),
            "dtype"_a = py::none());
  define_member(group, "weight", &nn::GroupNorm::weight);
  define_member(group, "bias", &nn::GroupNorm::bias);
}

template <typename L>
void bind_batch_norm(py::module_& m, const char* name) {
  layer<L, nn::BatchNorm>(m, name, "Mean 0 and variance 1 over all but the channels.")
      .def(py::init([](int64_t channels, double eps, std::optional<double> momentum, bool affine, bool track,
                       const py::object& device, std::optional<DType> dtype) {
             return std::make_shared<L>(
                 channels, nn::BatchNormOptions{eps, momentum, affine, track, layer_options(dtype, device)});
           }),
           "num_features"_a, "eps"_a = 1e-5, "momentum"_a = 0.1, "affine"_a = true, "track_running_stats"_a = true,
           "device"_a = py::none(), "dtype"_a = py::none());
}

void bind_batch_norms(py::module_& m) {
  auto base = layer<nn::BatchNorm>(m, "BatchNorm", "What BatchNorm1d, BatchNorm2d and BatchNorm3d share.");
  define_member(base, "weight", &nn::BatchNorm::weight);
  define_member(base, "bias", &nn::BatchNorm::bias);
  define_member(base, "running_mean", &nn::BatchNorm::running_mean);
  define_member(base, "running_var", &nn::BatchNorm::running_var);
  define_member(base, "num_batches_tracked", &nn::BatchNorm::num_batches_tracked);
  bind_batch_norm<nn::BatchNorm1d>(m, "BatchNorm1d");
  bind_batch_norm<nn::BatchNorm2d>(m, "BatchNorm2d");
  bind_batch_norm<nn::BatchNorm3d>(m, "BatchNorm3d");
}

void bind_convolutions(py::module_& m) {
  auto conv1 = layer<nn::Conv1d>(m, "Conv1d", "Convolution over one axis.");
  conv1.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& dilation, int64_t groups, bool bias,
                        const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::Conv1d>(in, out, size1(kernel),
                                                  nn::Conv1dOptions{size1(stride), padding_of(padding), size1(dilation),
                                                                    groups, bias, layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
            "groups"_a = 1, "bias"_a = true, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(conv1, "weight", &nn::Conv1d::weight);
  define_member(conv1, "bias", &nn::Conv1d::bias);

  auto conv2 = layer<nn::Conv2d>(m, "Conv2d", "Convolution over height and width.");
  conv2.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& dilation, int64_t groups, bool bias,
                        const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::Conv2d>(in, out, size2(kernel),
                                                  nn::Conv2dOptions{size2(stride), padding_of(padding), size2(dilation),
                                                                    groups, bias, layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
            "groups"_a = 1, "bias"_a = true, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(conv2, "weight", &nn::Conv2d::weight);
  define_member(conv2, "bias", &nn::Conv2d::bias);

  auto conv3 = layer<nn::Conv3d>(m, "Conv3d", "Convolution over depth, height and width.");
  conv3.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& dilation, int64_t groups, bool bias,
                        const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::Conv3d>(
                  in, out, size3(kernel),
                  nn::Conv3dOptions{size3(stride), padding3_of(padding), size3(dilation), groups, bias,
                                    layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
            "groups"_a = 1, "bias"_a = true, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(conv3, "weight", &nn::Conv3d::weight);
  define_member(conv3, "bias", &nn::Conv3d::bias);

  auto back1 = layer<nn::ConvTranspose1d>(m, "ConvTranspose1d", "The gradient of Conv1d, as a layer of its own.");
  back1.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& output_padding, int64_t groups, bool bias,
                        const py::object& dilation, const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::ConvTranspose1d>(
                  in, out, size1(kernel),
                  nn::ConvTranspose1dOptions{size1(stride), size1(padding), size1(output_padding), groups,
                                             size1(dilation), bias, layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
            "groups"_a = 1, "bias"_a = true, "dilation"_a = 1, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(back1, "weight", &nn::ConvTranspose1d::weight);
  define_member(back1, "bias", &nn::ConvTranspose1d::bias);

  auto back2 = layer<nn::ConvTranspose2d>(m, "ConvTranspose2d", "The gradient of Conv2d, as a layer of its own.");
  back2.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& output_padding, int64_t groups, bool bias,
                        const py::object& dilation, const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::ConvTranspose2d>(
                  in, out, size2(kernel),
                  nn::ConvTranspose2dOptions{size2(stride), size2(padding), size2(output_padding), groups,
                                             size2(dilation), bias, layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
            "groups"_a = 1, "bias"_a = true, "dilation"_a = 1, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(back2, "weight", &nn::ConvTranspose2d::weight);
  define_member(back2, "bias", &nn::ConvTranspose2d::bias);

  auto back3 = layer<nn::ConvTranspose3d>(m, "ConvTranspose3d", "The gradient of Conv3d, as a layer of its own.");
  back3.def(py::init([](int64_t in, int64_t out, const py::object& kernel, const py::object& stride,
                        const py::object& padding, const py::object& output_padding, int64_t groups, bool bias,
                        const py::object& dilation, const py::object& device, std::optional<DType> dtype) {
              return std::make_shared<nn::ConvTranspose3d>(
                  in, out, size3(kernel),
                  nn::ConvTranspose3dOptions{size3(stride), size3(padding), size3(output_padding), groups,
                                             size3(dilation), bias, layer_options(dtype, device)});
            }),
            "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
            "groups"_a = 1, "bias"_a = true, "dilation"_a = 1, "device"_a = py::none(), "dtype"_a = py::none());
  define_member(back3, "weight", &nn::ConvTranspose3d::weight);
  define_member(back3, "bias", &nn::ConvTranspose3d::bias);
}

void bind_plain(py::module_& m) {
  layer<nn::ReLU>(m, "ReLU", "max(x, 0).")
      .def(py::init([](bool) { return std::make_shared<nn::ReLU>(); }), "inplace"_a = false);
  layer<nn::LeakyReLU>(m, "LeakyReLU", "x, or negative_slope * x below 0.")
      .def(py::init<double>(), "negative_slope"_a = 0.01);
  layer<nn::ELU>(m, "ELU", "x, or alpha * (exp(x) - 1) below 0.").def(py::init<double>(), "alpha"_a = 1.0);
  layer<nn::Softplus>(m, "Softplus", "log(1 + exp(beta * x)) / beta.")
      .def(py::init<double, double>(), "beta"_a = 1.0, "threshold"_a = 20.0);
  layer<nn::GELU>(m, "GELU", "x times the probability that a normal number is below x.")
      .def(py::init<std::string>(), "approximate"_a = "none");
  layer<nn::SiLU>(m, "SiLU", "x * sigmoid(x).").def(py::init<>());
  layer<nn::Mish>(m, "Mish", "x * tanh(softplus(x)).").def(py::init<>());
  layer<nn::Hardswish>(m, "Hardswish", "x * relu6(x + 3) / 6.").def(py::init<>());
  layer<nn::Tanh>(m, "Tanh", "Hyperbolic tangents.").def(py::init<>());
  layer<nn::Sigmoid>(m, "Sigmoid", "1 / (1 + exp(-x)).").def(py::init<>());
  layer<nn::Softmax>(m, "Softmax", "exp(x) / sum(exp(x)) along a dim.").def(py::init<int64_t>(), "dim"_a);
  layer<nn::Identity>(m, "Identity", "x.").def(py::init<>());
  layer<nn::Flatten>(m, "Flatten", "Joins dims; by default all but that of the batch.")
      .def(py::init<int64_t, int64_t>(), "start_dim"_a = 1, "end_dim"_a = -1);
  layer<nn::Dropout>(m, "Dropout", "In training, zeroes elements with probability p and scales the others.")
      .def(py::init([](double p, Generator* generator) {
             return std::make_shared<nn::Dropout>(p, generator ? std::optional(*generator) : std::nullopt);
           }),
           "p"_a = 0.5, "generator"_a = py::none());
}

/// Whose output has the size of its input along an axis of size None.
class PartlyAdaptiveAvgPool2d : public nn::AdaptiveAvgPool2d {
 public:
  explicit PartlyAdaptiveAvgPool2d(const py::object& output) : nn::AdaptiveAvgPool2d(nn::Size2(1)) {
    const bool is_one = !PyTuple_Check(output.ptr()) && !PyList_Check(output.ptr());
    const py::list sizes = is_one ? py::list(py::make_tuple(output, output)) : py::list(output);
    if (sizes.size() != 2) throw_value_error(fmt::format("a size or two are needed, got {}", sizes.size()));
    for (const py::handle size : sizes)
      sizes_.push_back(size.is_none() ? std::nullopt : std::optional(integer_of(size.ptr(), "a size or None")));
  }
  Tensor forward(const Tensor& x) const override {
    if (x.dim() < 2) return nn::adaptive_avg_pool2d(x, nn::Size2(1));  // refuses it
    return nn::adaptive_avg_pool2d(x, nn::Size2(sizes_[0].value_or(x.size(-2)), sizes_[1].value_or(x.size(-1))));
  }
  std::string type_name() const override { return "AdaptiveAvgPool2d"; }

 private:
  std::vector<std::optional<int64_t>> sizes_;
};

/// Made with return_indices: its call gives a pair.
template <typename Pool>
class IndexedPool : public Pool {
 public:
  using Pool::Pool;
  std::string type_name() const override {
    if constexpr (std::is_same_v<Pool, nn::MaxPool1d>) return "MaxPool1d";
    return std::is_same_v<Pool, nn::MaxPool2d> ? "MaxPool2d" : "MaxPool3d";
  }
};

template <typename Pool, typename... Arguments>
std::shared_ptr<Pool> made_pool(bool with_indices, const Arguments&... arguments) {
  if (with_indices) return std::make_shared<IndexedPool<Pool>>(arguments...);
  return std::make_shared<Pool>(arguments...);
}

template <typename Pool>
LayerClass<Pool> bind_indices(LayerClass<Pool> layer) {
  layer.def(
      "forward",
      [](const Pool& self, const Tensor& x) -> py::object {
        if (dynamic_cast<const IndexedPool<Pool>*>(&self)) return largest(self.forward_with_indices(x), true);
        return py::cast(self.forward(x));
      },
      "x"_a);
  return layer;
}

/// With a scale for each axis.
class ScaledUpsample : public nn::Upsample {
 public:
  ScaledUpsample(const nn::UpsampleOptions& options, std::vector<double> scales)
      : nn::Upsample(options), options_(options), scales_(std::move(scales)) {}
  Tensor forward(const Tensor& x) const override { return nn::interpolate(x, with_scales(x, options_, scales_)); }
  std::string type_name() const override { return "Upsample"; }

 private:
  nn::UpsampleOptions options_;
  std::vector<double> scales_;
};

void bind_pooling(py::module_& m) {
  bind_indices(layer<nn::MaxPool1d>(m, "MaxPool1d", "The largest element of every window."))
      .def(py::init([](const py::object& kernel, const py::object& stride, int64_t padding, int64_t dilation,
                       bool indices, bool ceil_mode) {
             return made_pool<nn::MaxPool1d>(
                 indices, size1(kernel), nn::MaxPool1dOptions{optional_size1(stride), padding, dilation, ceil_mode});
           }),
           "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "return_indices"_a = false,
           "ceil_mode"_a = false);
  bind_indices(layer<nn::MaxPool2d>(m, "MaxPool2d", "The largest element of every window."))
      .def(py::init([](const py::object& kernel, const py::object& stride, const py::object& padding,
                       const py::object& dilation, bool indices, bool ceil_mode) {
             return made_pool<nn::MaxPool2d>(
                 indices, size2(kernel),
                 nn::MaxPool2dOptions{optional_size2(stride), size2(padding), size2(dilation), ceil_mode});
           }),
           "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "return_indices"_a = false,
           "ceil_mode"_a = false);
  bind_indices(layer<nn::MaxPool3d>(m, "MaxPool3d", "The largest element of every window."))
      .def(py::init([](const py::object& kernel, const py::object& stride, const py::object& padding,
                       const py::object& dilation, bool indices, bool ceil_mode) {
             return made_pool<nn::MaxPool3d>(
                 indices, size3(kernel),
                 nn::MaxPool3dOptions{optional_size3(stride), size3(padding), size3(dilation), ceil_mode});
           }),
           "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "return_indices"_a = false,
           "ceil_mode"_a = false);
  layer<nn::AvgPool1d>(m, "AvgPool1d", "The mean of every window.")
      .def(
          py::init([](const py::object& kernel, const py::object& stride, int64_t padding, bool ceil_mode, bool count) {
            return std::make_shared<nn::AvgPool1d>(
                size1(kernel), nn::AvgPool1dOptions{optional_size1(stride), padding, ceil_mode, count});
          }),
          "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
          "count_include_pad"_a = true);
  layer<nn::AvgPool2d>(m, "AvgPool2d", "The mean of every window.")
      .def(py::init([](const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil_mode,
                       bool count) {
             return std::make_shared<nn::AvgPool2d>(
                 size2(kernel), nn::AvgPool2dOptions{optional_size2(stride), size2(padding), ceil_mode, count});
           }),
           "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
           "count_include_pad"_a = true);
  layer<nn::AvgPool3d>(m, "AvgPool3d", "The mean of every window.")
      .def(py::init([](const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil_mode,
                       bool count) {
             return std::make_shared<nn::AvgPool3d>(
                 size3(kernel), nn::AvgPool3dOptions{optional_size3(stride), size3(padding), ceil_mode, count});
           }),
           "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
           "count_include_pad"_a = true);
  layer<nn::AdaptiveAvgPool1d>(m, "AdaptiveAvgPool1d", "Means over so many parts.")
      .def(py::init([](const py::object& output) { return std::make_shared<nn::AdaptiveAvgPool1d>(size1(output)); }),
           "output_size"_a);
  py::class_<nn::AdaptiveAvgPool2d, nn::Layer, PartlyAdaptiveAvgPool2d, std::shared_ptr<nn::AdaptiveAvgPool2d>>(
      m, "AdaptiveAvgPool2d", "Means over so many parts; None leaves an axis as it is.")
      .def(py::init([](const py::object& output) -> std::shared_ptr<nn::AdaptiveAvgPool2d> {
             return std::make_shared<PartlyAdaptiveAvgPool2d>(output);
           }),
           "output_size"_a);
  py::class_<nn::Upsample, nn::Layer, ScaledUpsample, std::shared_ptr<nn::Upsample>>(m, "Upsample",
                                                                                     "An image in another size.")
      .def(py::init([](const py::object& size, const py::object& scale, const std::string& mode,
                       const std::optional<bool>& corners) -> std::shared_ptr<nn::Upsample> {
             const nn::UpsampleOptions options = upsample_options(size, mode, corners.value_or(false));
             return std::make_shared<ScaledUpsample>(options, scales_of(scale));
           }),
           "size"_a = py::none(), "scale_factor"_a = py::none(), "mode"_a = "nearest", "align_corners"_a = py::none());
}

}  // namespace

void bind_layers(py::module_& m) {
  py::class_<nn::Layer, nn::Module, std::shared_ptr<nn::Layer>>(m, "Layer", "A module from one tensor to one.")
      .def(
          "forward", [](const nn::Layer& self, const Tensor& x) { return self.forward(x); }, "input"_a)
      .def(
          "__call__",
          [](const py::object& self, const Tensor& x) -> py::object {
            // A class of Python's may have a forward() of its own.
            const auto& layer = py::cast<const nn::Layer&>(self);
            if (py::type::handle_of(self).attr("__dict__").contains("forward")) {
              const nn::CallScope scope(layer);
              return self.attr("forward")(x);
            }
            return py::reinterpret_steal<py::object>(wrap_new(layer(x)));
          },
          "input"_a);
  bind_weighted(m);
  bind_batch_norms(m);
  bind_convolutions(m);
  bind_plain(m);
  bind_pooling(m);
}

}  // namespace tenon::python
