// nn.functional and nn.init: layers without state, losses, initial values.

#include "nn.h"
#include "sizes.h"

namespace tenon::python {
namespace {

using namespace py::literals;

Tensor or_none(const std::optional<Tensor>& tensor) { return tensor.value_or(Tensor()); }

void bind_stateless(py::module_& f) {
  f.def(
      "linear",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) { return nn::linear(x, w, or_none(b)); },
      "input"_a, "weight"_a, "bias"_a = py::none(), "x @ weight.T + bias.");
  f.def(
      "embedding", [](const Tensor& index, const Tensor& weight) { return nn::embedding(weight, index); }, "input"_a,
      "weight"_a, "Rows of weight picked by an index.");
  f.def(
      "layer_norm",
      [](const Tensor& x, const Dims& shape, const std::optional<Tensor>& w, const std::optional<Tensor>& b,
         double eps) { return nn::layer_norm(x, shape, or_none(w), or_none(b), eps); },
      "input"_a, "normalized_shape"_a, "weight"_a = py::none(), "bias"_a = py::none(), "eps"_a = 1e-5,
      "Mean 0 and variance 1 over the trailing dims.");
  f.def(
      "rms_norm",
      [](const Tensor& x, const Dims& shape, const std::optional<Tensor>& w, double eps) {
        return nn::rms_norm(x, shape, or_none(w), eps);
      },
      "input"_a, "normalized_shape"_a, "weight"_a = py::none(), "eps"_a = 1e-6,
      "Mean square 1 over the trailing dims.");
  f.def(
      "group_norm",
      [](const Tensor& x, int64_t groups, const std::optional<Tensor>& w, const std::optional<Tensor>& b, double eps) {
        return nn::group_norm(x, groups, or_none(w), or_none(b), eps);
      },
      "input"_a, "num_groups"_a, "weight"_a = py::none(), "bias"_a = py::none(), "eps"_a = 1e-5,
      "Mean 0 and variance 1 over groups of channels.");
  f.def(
      "batch_norm",
      [](const Tensor& x, const std::optional<Tensor>& mean, const std::optional<Tensor>& var,
         const std::optional<Tensor>& w, const std::optional<Tensor>& b, bool training, double momentum, double eps) {
        return nn::batch_norm(x, or_none(mean), or_none(var), or_none(w), or_none(b), training, momentum, eps);
      },
      "input"_a, "running_mean"_a, "running_var"_a, "weight"_a = py::none(), "bias"_a = py::none(),
      "training"_a = false, "momentum"_a = 0.1, "eps"_a = 1e-5, "Mean 0 and variance 1 over all but the channels.");
  f.def("_batch_norm_counted",
        [](const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& batches,
           const std::optional<Tensor>& w, const std::optional<Tensor>& b, std::optional<double> momentum, double eps) {
          return nn::batch_norm_counted(x, mean, var, batches, or_none(w), or_none(b), momentum, eps);
        });
  f.def(
      "instance_norm",
      [](const Tensor& x, const std::optional<Tensor>& mean, const std::optional<Tensor>& var,
         const std::optional<Tensor>& w, const std::optional<Tensor>& b, bool own, double momentum, double eps) {
        return nn::instance_norm(x, or_none(mean), or_none(var), or_none(w), or_none(b), own, momentum, eps);
      },
      "input"_a, "running_mean"_a = py::none(), "running_var"_a = py::none(), "weight"_a = py::none(),
      "bias"_a = py::none(), "use_input_stats"_a = true, "momentum"_a = 0.1, "eps"_a = 1e-5,
      "Mean 0 and variance 1 over every channel of every sample.");
  f.def(
      "dropout", [](const Tensor& x, double p, bool training) { return nn::dropout(x, p, training); }, "input"_a,
      "p"_a = 0.5, "training"_a = true, "Zeroes elements with probability p and scales the rest.");
  const auto dropped = [&](const char* name, Tensor (*function)(const Tensor&, double, bool, Generator*)) {
    f.def(
        name, [function](const Tensor& x, double p, bool training) { return function(x, p, training, nullptr); },
        "input"_a, "p"_a = 0.5, "training"_a = true);
  };
  dropped("dropout1d", &nn::dropout1d);
  dropped("dropout2d", &nn::dropout2d);
  dropped("alpha_dropout", &nn::alpha_dropout);
  f.def(
      "gumbel_softmax",
      [](const Tensor& x, double tau, bool hard, int64_t dim) { return nn::gumbel_softmax(x, tau, hard, dim); },
      "logits"_a, "tau"_a = 1.0, "hard"_a = false, "dim"_a = -1);
  f.def(
      "scaled_dot_product_attention",
      [](const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double dropout,
         bool causal, std::optional<double> scale, bool gqa) {
        return nn::scaled_dot_product_attention(q, k, v, {or_none(mask), causal, scale, gqa, dropout, nullptr});
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a = py::none(), "dropout_p"_a = 0.0, "is_causal"_a = false,
      "scale"_a = py::none(), "enable_gqa"_a = false, "softmax(scale * query @ key.T + mask) @ value.");
  f.def(
      "conv1d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& dilation, int64_t groups) {
        return nn::conv1d(x, w, or_none(b), {size1(stride), padding_of(padding), size1(dilation), groups});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "Convolution over one axis.");
  f.def(
      "conv2d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& dilation, int64_t groups) {
        return nn::conv2d(x, w, or_none(b), {size2(stride), padding_of(padding), size2(dilation), groups});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "Convolution over height and width.");
  f.def(
      "conv3d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& dilation, int64_t groups) {
        return nn::conv3d(x, w, or_none(b), {size3(stride), padding3_of(padding), size3(dilation), groups});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "Convolution over depth, height and width.");
  f.def(
      "conv_transpose1d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& output_padding, int64_t groups, const py::object& dilation) {
        return nn::conv_transpose1d(x, w, or_none(b),
                                    {size1(stride), size1(padding), size1(output_padding), groups, size1(dilation)});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
      "groups"_a = 1, "dilation"_a = 1, "The gradient of conv1d with respect to its input.");
  f.def(
      "conv_transpose2d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& output_padding, int64_t groups, const py::object& dilation) {
        return nn::conv_transpose2d(x, w, or_none(b),
                                    {size2(stride), size2(padding), size2(output_padding), groups, size2(dilation)});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
      "groups"_a = 1, "dilation"_a = 1, "The gradient of conv2d with respect to its input.");
  f.def(
      "conv_transpose3d",
      [](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, const py::object& stride,
         const py::object& padding, const py::object& output_padding, int64_t groups, const py::object& dilation) {
        return nn::conv_transpose3d(x, w, or_none(b),
                                    {size3(stride), size3(padding), size3(output_padding), groups, size3(dilation)});
      },
      "input"_a, "weight"_a, "bias"_a = py::none(), "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
      "groups"_a = 1, "dilation"_a = 1, "The gradient of conv3d with respect to its input.");
  f.def(
      "max_pool1d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding,
         const py::object& dilation, bool ceil_mode, bool indices) {
        const nn::MaxPool1dOptions options{optional_size1(stride), size1(padding), size1(dilation), ceil_mode};
        return largest(nn::max_pool1d_with_indices(x, size1(kernel), options), indices);
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      "return_indices"_a = false, "The largest element of every window; with return_indices, and where it lies.");
  f.def(
      "max_pool2d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding,
         const py::object& dilation, bool ceil_mode, bool indices) {
        const nn::MaxPool2dOptions options{optional_size2(stride), size2(padding), size2(dilation), ceil_mode};
        return largest(nn::max_pool2d_with_indices(x, size2(kernel), options), indices);
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      "return_indices"_a = false, "The largest element of every window; with return_indices, and where it lies.");
  f.def(
      "max_pool3d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding,
         const py::object& dilation, bool ceil_mode, bool indices) {
        const nn::MaxPool3dOptions options{optional_size3(stride), size3(padding), size3(dilation), ceil_mode};
        return largest(nn::max_pool3d_with_indices(x, size3(kernel), options), indices);
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      "return_indices"_a = false, "The largest element of every window; with return_indices, and where it lies.");
  f.def(
      "avg_pool1d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil_mode,
         bool count) {
        return nn::avg_pool1d(x, size1(kernel), {optional_size1(stride), size1(padding), ceil_mode, count});
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true, "The mean of every window.");
  f.def(
      "avg_pool2d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil_mode,
         bool count) {
        return nn::avg_pool2d(x, size2(kernel), {optional_size2(stride), size2(padding), ceil_mode, count});
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true, "The mean of every window.");
  f.def(
      "avg_pool3d",
      [](const Tensor& x, const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil_mode,
         bool count) {
        return nn::avg_pool3d(x, size3(kernel), {optional_size3(stride), size3(padding), ceil_mode, count});
      },
      "input"_a, "kernel_size"_a, "stride"_a = py::none(), "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true, "The mean of every window.");
  f.def(
      "adaptive_max_pool1d",
      [](const Tensor& x, const py::object& size, bool indices) {
        return largest(nn::adaptive_max_pool1d_with_indices(x, size1(size)), indices);
      },
      "input"_a, "output_size"_a, "return_indices"_a = false, "The largest elements of so many parts.");
  f.def(
      "adaptive_max_pool2d",
      [](const Tensor& x, const py::object& size, bool indices) {
        return largest(nn::adaptive_max_pool2d_with_indices(x, size2_kept(x, size)), indices);
      },
      "input"_a, "output_size"_a, "return_indices"_a = false,
      "The largest elements of so many parts; None leaves an axis as it is.");
  f.def(
      "adaptive_avg_pool1d",
      [](const Tensor& x, const py::object& size) { return nn::adaptive_avg_pool1d(x, size1(size)); }, "input"_a,
      "output_size"_a, "Means over so many parts.");
  f.def(
      "adaptive_avg_pool2d",
      [](const Tensor& x, const py::object& size) { return nn::adaptive_avg_pool2d(x, size2_kept(x, size)); },
      "input"_a, "output_size"_a, "Means over so many parts; None leaves an axis as it is.");
  f.def(
      "interpolate",
      [](const Tensor& x, const py::object& size, const py::object& scale, const std::string& mode,
         const std::optional<bool>& corners) {
        return nn::interpolate(x,
                               with_scales(x, upsample_options(size, mode, corners.value_or(false)), scales_of(scale)));
      },
      "input"_a, "size"_a = py::none(), "scale_factor"_a = py::none(), "mode"_a = "nearest",
      "align_corners"_a = py::none(), "An image in another size.");
  f.def(
      "grid_sample",
      [](const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
         const std::optional<bool>& corners) {
        if (mode != "bilinear" && mode != "nearest")
          throw_value_error(fmt::format("grid_sample() has no mode '{}'; there are 'bilinear' and 'nearest'", mode));
        if (padding != "zeros" && padding != "border")
          throw_value_error(
              fmt::format("grid_sample() has no padding_mode '{}'; there are 'zeros' and 'border'", padding));
        const nn::Resample how = mode == "nearest" ? nn::Resample::nearest : nn::Resample::bilinear;
        return nn::grid_sample(x, grid, {how, padding == "border", corners.value_or(false)});
      },
      "input"_a, "grid"_a, "mode"_a = "bilinear", "padding_mode"_a = "zeros", "align_corners"_a = py::none(),
      "Images read at places from -1 to 1, x before y.");
  f.def("cosine_similarity", &nn::cosine_similarity, "x1"_a, "x2"_a, "dim"_a = 1, "eps"_a = 1e-8,
        "The cosine of the angle between two along a dim.");
  f.def("pairwise_distance", &nn::pairwise_distance, "x1"_a, "x2"_a, "p"_a = 2.0, "eps"_a = 1e-6, "keepdim"_a = false,
        "The p-norm of a difference along the last dim.");
}

// Lengths of sequences: a tensor, wherever it lies, or a list.
Tensor lengths_on(Device device, const py::object& given) {
  if (is_tensor(given.ptr())) return tensor_in(given.ptr()).to(device);
  const Dims lengths = dims_of(given.ptr(), "a length or a list of lengths");
  const std::vector<int64_t> values(lengths.begin(), lengths.end());
  return from_vector(values, {static_cast<int64_t>(values.size())}, Options(DType::i64, device));
}

nn::BagMode bag_mode_of(const std::string& mode) {
  if (mode == "sum") return nn::BagMode::sum;
  if (mode == "mean") return nn::BagMode::mean;
  if (mode == "max") return nn::BagMode::max;
  throw_value_error(fmt::format("there is no mode '{}'; there are 'sum', 'mean' and 'max'", mode));
}

void bind_bags_and_sequences(py::module_& f) {
  f.def(
      "bilinear",
      [](const Tensor& x, const Tensor& y, const Tensor& w, const std::optional<Tensor>& b) {
        return nn::bilinear(x, y, w, or_none(b));
      },
      "input1"_a, "input2"_a, "weight"_a, "bias"_a = py::none(), "input1 @ weight[i] @ input2 for each i, plus bias.");
  f.def(
      "embedding_bag",
      [](const Tensor& index, const Tensor& weight, const std::optional<Tensor>& offsets, const std::string& mode,
         const std::optional<Tensor>& each, bool include_last, std::optional<int64_t> padding) {
        return nn::embedding_bag(
            weight, index, {or_none(offsets), bag_mode_of(mode), or_none(each), include_last, padding});
      },
      "input"_a, "weight"_a, "offsets"_a = py::none(), "mode"_a = "mean", "per_sample_weights"_a = py::none(),
      "include_last_offset"_a = false, "padding_idx"_a = py::none(), "Sums, means or maxima of rows of weight.");
  f.def(
      "ctc_loss",
      [](const Tensor& log_probs, const Tensor& targets, const py::object& inputs, const py::object& lengths,
         int64_t blank, const std::string& reduction, bool zero_infinity) {
        const Device device = log_probs.device();
        return nn::ctc_loss(log_probs, targets.to(device), lengths_on(device, inputs), lengths_on(device, lengths),
                            {blank, reduction_of(reduction), zero_infinity});
      },
      "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a, "blank"_a = 0, "reduction"_a = "mean",
      "zero_infinity"_a = false, "Of sequences whose labels are given without their places.");
}

void bind_losses(py::module_& f) {
  const auto plain = [&](const char* name, Tensor (*loss)(const Tensor&, const Tensor&, nn::Reduction),
                         const char* doc) {
    f.def(
        name,
        [loss](const Tensor& x, const Tensor& target, const std::string& reduction) {
          return loss(x, target, reduction_of(reduction));
        },
        "input"_a, "target"_a, "reduction"_a = "mean", doc);
  };
  plain("mse_loss", &nn::mse_loss, "The mean of squared differences.");
  plain("l1_loss", &nn::l1_loss, "The mean of absolute differences.");
  plain("soft_margin_loss", &nn::soft_margin_loss, "log(1 + exp(-target * x)).");
  const auto with_number = [&](const char* name, const char* number,
                               Tensor (*loss)(const Tensor&, const Tensor&, double, nn::Reduction), const char* doc) {
    f.def(
        name,
        [loss](const Tensor& x, const Tensor& target, const std::string& reduction, double value) {
          return loss(x, target, value, reduction_of(reduction));
        },
        "input"_a, "target"_a, "reduction"_a = "mean", py::arg(number) = 1.0, doc);
  };
  with_number("huber_loss", "delta", &nn::huber_loss, "Squared near 0, absolute beyond delta.");
  with_number("smooth_l1_loss", "beta", &nn::smooth_l1_loss, "Squared near 0, absolute beyond beta.");
  with_number("hinge_embedding_loss", "margin", &nn::hinge_embedding_loss, "x, or max(0, margin - x).");
  f.def(
      "cross_entropy",
      [](const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore,
         const std::string& reduction, double smoothing) {
        return nn::cross_entropy(x, target, {or_none(weight), ignore, reduction_of(reduction), smoothing});
      },
      "input"_a, "target"_a, "weight"_a = py::none(), "ignore_index"_a = -100, "reduction"_a = "mean",
      "label_smoothing"_a = 0.0, "-log of the softmax of logits at the target classes.");
  f.def(
      "nll_loss",
      [](const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, int64_t ignore,
         const std::string& reduction) {
        return nn::nll_loss(x, target, {or_none(weight), ignore, reduction_of(reduction), 0});
      },
      "input"_a, "target"_a, "weight"_a = py::none(), "ignore_index"_a = -100, "reduction"_a = "mean",
      "-x at the target classes.");
  f.def(
      "binary_cross_entropy",
      [](const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, const std::string& reduction) {
        return nn::binary_cross_entropy(x, target, {or_none(weight), Tensor(), reduction_of(reduction)});
      },
      "input"_a, "target"_a, "weight"_a = py::none(), "reduction"_a = "mean", "The cross-entropy of probabilities.");
  f.def(
      "binary_cross_entropy_with_logits",
      [](const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, const std::string& reduction,
         const std::optional<Tensor>& positive) {
        return nn::binary_cross_entropy_with_logits(x, target,
                                                    {or_none(weight), or_none(positive), reduction_of(reduction)});
      },
      "input"_a, "target"_a, "weight"_a = py::none(), "reduction"_a = "mean", "pos_weight"_a = py::none(),
      "The cross-entropy of sigmoids.");
  f.def(
      "kl_div",
      [](const Tensor& x, const Tensor& target, const std::string& reduction, bool log_target) {
        return nn::kl_div(x, target, reduction_of(reduction), log_target);
      },
      "input"_a, "target"_a, "reduction"_a = "mean", "log_target"_a = false, "target * (log(target) - x).");
  f.def(
      "linear_cross_entropy",
      [](const Tensor& x, const Tensor& weight, const Tensor& targets, int64_t ignore, int64_t chunk) {
        return nn::linear_cross_entropy(x, weight, targets, {ignore, chunk, 0});
      },
      "input"_a, "weight"_a, "target"_a, "ignore_index"_a = -100, "chunk"_a = 1024,
      "cross_entropy(linear(x, weight), targets) whose logits exist for a chunk of rows at a time.");
  const auto pair = [&](const char* name,
                        Tensor (*loss)(const Tensor&, const Tensor&, const Tensor&, double, nn::Reduction),
                        const char* doc) {
    f.def(
        name,
        [loss](const Tensor& a, const Tensor& b, const Tensor& target, double margin, const std::string& reduction) {
          return loss(a, b, target, margin, reduction_of(reduction));
        },
        "input1"_a, "input2"_a, "target"_a, "margin"_a = 0.0, "reduction"_a = "mean", doc);
  };
  pair("cosine_embedding_loss", &nn::cosine_embedding_loss, "1 - cos(a, b), or max(0, cos(a, b) - margin).");
  pair("margin_ranking_loss", &nn::margin_ranking_loss, "max(0, margin - target * (a - b)).");
  f.def(
      "multi_margin_loss",
      [](const Tensor& x, const Tensor& target, double p, double margin, const std::optional<Tensor>& weight,
         const std::string& reduction) {
        return nn::multi_margin_loss(x, target, {p, margin, or_none(weight), reduction_of(reduction)});
      },
      "input"_a, "target"_a, "p"_a = 1.0, "margin"_a = 1.0, "weight"_a = py::none(), "reduction"_a = "mean",
      "The mean over other classes of max(0, margin - x[target] + x[other])^p.");
  f.def(
      "triplet_margin_loss",
      [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps,
         bool swap, const std::string& reduction) {
        return nn::triplet_margin_loss(anchor, positive, negative, {margin, p, eps, swap, reduction_of(reduction)});
      },
      "anchor"_a, "positive"_a, "negative"_a, "margin"_a = 1.0, "p"_a = 2.0, "eps"_a = 1e-6, "swap"_a = false,
      "reduction"_a = "mean", "max(0, margin + |a - p| - |a - n|).");
  f.def("triplet_margin_with_distance_loss", [](const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                std::function<Tensor(const Tensor&, const Tensor&)> distance,
                                                double margin, bool swap, const std::string& reduction) {
    return nn::triplet_margin_with_distance_loss(anchor, positive, negative,
                                                 {std::move(distance), margin, swap, reduction_of(reduction)});
  });
}

void bind_images(py::module_& f) {
  f.def(
      "pad",
      [](const Tensor& x, const Dims& sizes, const std::string& mode, const py::object& value) {
        return nn::pad(x, sizes, mode, value.is_none() ? Number(0.0) : Convert<Number>::from(value.ptr()));
      },
      "input"_a, "pad"_a, "mode"_a = "constant", "value"_a = py::none(),
      "More elements before and after, last dim first; negative sizes cut. mode: 'constant', 'reflect', 'replicate' or "
      "'circular'.");
  f.def(
      "unfold",
      [](const Tensor& x, const Dims& kernel, const Dims& dilation, const Dims& padding, const Dims& stride) {
        return nn::unfold(x, kernel, {dilation, padding, stride});
      },
      "input"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1,
      "All windows of an image as columns: (batch, channels * height * width of a window, windows).");
  f.def(
      "fold",
      [](const Tensor& x, const Dims& size, const Dims& kernel, const Dims& dilation, const Dims& padding,
         const Dims& stride) {
        return nn::fold(x, size, kernel, {dilation, padding, stride});
      },
      "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1,
      "Sums columns of windows, as unfold() makes them, into an image.");
  f.def("pixel_shuffle", &nn::pixel_shuffle, "input"_a, "upscale_factor"_a,
        "Channels become pixels: (..., channels * r * r, height, width) to (..., channels, height * r, width * r).");
  f.def("pixel_unshuffle", &nn::pixel_unshuffle, "input"_a, "downscale_factor"_a,
        "Pixels become channels, the other way round.");
  f.def(
      "affine_grid",
      [](const Tensor& theta, const Dims& size, const py::object& corners) {
        return nn::affine_grid(theta, size, !corners.is_none() && Convert<bool>::from(corners.ptr()));
      },
      "theta"_a, "size"_a, "align_corners"_a = py::none(),
      "The places, from -1 to 1, that grid_sample() reads for images moved by matrices (batch, 2, 3).");
  f.def("local_response_norm", &nn::local_response_norm, "input"_a, "size"_a, "alpha"_a = 1e-4, "beta"_a = 0.75,
        "k"_a = 1.0, "x / (k + alpha * mean of the squares of so many neighbouring channels) ** beta.");
  f.def("normalize", &nn::normalize, "input"_a, "p"_a = 2.0, "dim"_a = 1, "eps"_a = 1e-12,
        "x divided by its p-norm along a dim.");
}

void bind_likelihoods(py::module_& f) {
  f.def(
      "poisson_nll_loss",
      [](const Tensor& x, const Tensor& target, bool log_input, bool full, double eps, const std::string& reduction) {
        return nn::poisson_nll_loss(x, target, {log_input, full, eps, reduction_of(reduction)});
      },
      "input"_a, "target"_a, "log_input"_a = true, "full"_a = false, "eps"_a = 1e-8, "reduction"_a = "mean",
      "How unlikely counts are; x is the logarithm of what is expected, or that itself. full: with Stirling's term.");
  f.def(
      "gaussian_nll_loss",
      [](const Tensor& x, const Tensor& target, const py::object& variance, bool full, double eps,
         const std::string& reduction) {
        return nn::gaussian_nll_loss(x, target, Convert<Operand>::from(variance.ptr()),
                                     {full, eps, reduction_of(reduction)});
      },
      "input"_a, "target"_a, "var"_a, "full"_a = false, "eps"_a = 1e-6, "reduction"_a = "mean",
      "How unlikely targets are around x with variances, which are eps at least; NaN where one is negative.");
  f.def(
      "multilabel_margin_loss",
      [](const Tensor& x, const Tensor& target, const std::string& reduction) {
        return nn::multilabel_margin_loss(x, target, reduction_of(reduction));
      },
      "input"_a, "target"_a, "reduction"_a = "mean",
      "How far classes that are none of a sample's come near those that are; targets are classes, and end at the first "
      "-1.");
  f.def(
      "multilabel_soft_margin_loss",
      [](const Tensor& x, const Tensor& target, const std::optional<Tensor>& weight, const std::string& reduction) {
        return nn::multilabel_soft_margin_loss(x, target, or_none(weight), reduction_of(reduction));
      },
      "input"_a, "target"_a, "weight"_a = py::none(), "reduction"_a = "mean",
      "Binary cross entropies of logits, their mean over the classes.");
}

nn::init::FanMode fan_mode(const std::string& mode) {
  if (mode == "fan_in") return nn::init::FanMode::in;
  if (mode == "fan_out") return nn::init::FanMode::out;
  throw_value_error(fmt::format("there is no mode '{}'; there are 'fan_in' and 'fan_out'", mode));
}

void bind_init(py::module_& i) {
  const auto same = [](const py::object& object) -> Tensor& {
    Convert<Tensor>::from(object.ptr());
    return tensor_in(object.ptr());
  };
  i.def(
      "uniform_",
      [same](py::object x, double a, double b, Generator* g) {
        nn::init::uniform_(same(x), a, b, g);
        return x;
      },
      "tensor"_a, "a"_a = 0.0, "b"_a = 1.0, "generator"_a = py::none(), "Even between a and b.");
  i.def(
      "normal_",
      [same](py::object x, double mean, double std, Generator* g) {
        nn::init::normal_(same(x), mean, std, g);
        return x;
      },
      "tensor"_a, "mean"_a = 0.0, "std"_a = 1.0, "generator"_a = py::none(), "Normally distributed.");
  i.def(
      "trunc_normal_",
      [same](py::object x, double mean, double std, double a, double b, Generator* g) {
        nn::init::trunc_normal_(same(x), mean, std, a, b, g);
        return x;
      },
      "tensor"_a, "mean"_a = 0.0, "std"_a = 1.0, "a"_a = -2.0, "b"_a = 2.0, "generator"_a = py::none(),
      "Normal, drawn again where outside of a..b.");
  i.def(
      "constant_",
      [same](py::object x, double value) {
        nn::init::constant_(same(x), value);
        return x;
      },
      "tensor"_a, "val"_a, "One number everywhere.");
  i.def(
      "zeros_",
      [same](py::object x) {
        nn::init::constant_(same(x), 0);
        return x;
      },
      "tensor"_a, "0 everywhere.");
  i.def(
      "ones_",
      [same](py::object x) {
        nn::init::constant_(same(x), 1);
        return x;
      },
      "tensor"_a, "1 everywhere.");
  i.def(
      "kaiming_uniform_",
      [same](py::object x, double a, const std::string& mode, const std::string& nonlinearity, Generator* g) {
        nn::init::kaiming_uniform_(same(x), a, fan_mode(mode), g, nonlinearity);
        return x;
      },
      "tensor"_a, "a"_a = 0.0, "mode"_a = "fan_in", "nonlinearity"_a = "leaky_relu", "generator"_a = py::none(),
      "He et al., 2015.");
  i.def(
      "kaiming_normal_",
      [same](py::object x, double a, const std::string& mode, const std::string& nonlinearity, Generator* g) {
        nn::init::kaiming_normal_(same(x), a, fan_mode(mode), g, nonlinearity);
        return x;
      },
      "tensor"_a, "a"_a = 0.0, "mode"_a = "fan_in", "nonlinearity"_a = "leaky_relu", "generator"_a = py::none(),
      "He et al., 2015.");
  i.def(
      "eye_",
      [same](py::object x) {
        nn::init::eye_(same(x));
        return x;
      },
      "tensor"_a, "1 on the diagonal of a matrix, 0 elsewhere.");
  i.def(
      "dirac_",
      [same](py::object x, int64_t groups) {
        nn::init::dirac_(same(x), groups);
        return x;
      },
      "tensor"_a, "groups"_a = 1, "Weights of a convolution that hands its channels on as they are.");
  i.def(
      "orthogonal_",
      [same](py::object x, double gain, Generator* g) {
        Tensor& weight = same(x);
        {
          const Released others_run;
          nn::init::orthogonal_(weight, gain, g);
        }
        return x;
      },
      "tensor"_a, "gain"_a = 1.0, "generator"_a = py::none(),
      "Rows, or columns where there are fewer, at right angles to each other; Saxe et al., 2013.");
  i.def(
      "calculate_gain",
      [](const std::string& nonlinearity, std::optional<double> param) {
        return nn::init::calculate_gain(nonlinearity, param);
      },
      "nonlinearity"_a, "param"_a = py::none(),
      "What a nonlinearity asks of the spread of weights before it.\n\n>>> from tenon import nn\n"
      ">>> nn.init.calculate_gain(\"tanh\")\n1.6666666666666667");
  i.def(
      "xavier_uniform_",
      [same](py::object x, double gain, Generator* g) {
        nn::init::xavier_uniform_(same(x), gain, g);
        return x;
      },
      "tensor"_a, "gain"_a = 1.0, "generator"_a = py::none(), "Glorot and Bengio, 2010.");
  i.def(
      "xavier_normal_",
      [same](py::object x, double gain, Generator* g) {
        nn::init::xavier_normal_(same(x), gain, g);
        return x;
      },
      "tensor"_a, "gain"_a = 1.0, "generator"_a = py::none(), "Glorot and Bengio, 2010.");
  i.def(
      "gpt2_", [](nn::Module& model, int64_t layers) { nn::init::gpt2_(model, layers); }, "model"_a, "layers"_a,
      "GPT-2's initial values.");
}

}  // namespace

void bind_functional(py::module_& m) {
  py::module_ f = m.def_submodule("functional");
  bind_stateless(f);
  bind_bags_and_sequences(f);
  bind_losses(f);
  bind_likelihoods(f);
  bind_images(f);
  py::module_ i = m.def_submodule("init");
  bind_init(i);
}

}  // namespace tenon::python
