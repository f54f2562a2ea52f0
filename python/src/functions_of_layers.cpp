// Written by scripts/make_functions.py from tenon/nn/functions.def; do not edit.
//
// Functions of nn.functional and nn.init.

#include "functions.h"
#include "layer_arguments.h"

namespace tenon::python {

// clang-format off
void note_layers() {
  define<"linear", "input, weight, bias=None", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) { return nn::linear(input, weight, bias.value_or(Tensor())); }>(
      "x @ weight.T + bias.", kFunctional);
  define<"bilinear", "input1, input2, weight, bias=None", [](const Tensor& input1, const Tensor& input2, const Tensor& weight, const std::optional<Tensor>& bias) { return nn::bilinear(input1, input2, weight, bias.value_or(Tensor())); }>(
      "input1 @ weight[i] @ input2 for each i, plus bias.", kFunctional);
  define<"embedding", "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False", [](const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx, std::optional<double> max_norm, double, bool scale_grad_by_freq, bool) { return embedded(input, weight, padding_idx, max_norm, scale_grad_by_freq); }>(
      "Rows of a matrix; that of padding_idx gets no gradient. Gradients are dense, also with sparse=True.", kFunctional);
  define<"embedding_bag", "input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& offsets, std::optional<double> max_norm, double, bool scale_grad_by_freq, const std::string& mode, bool, const std::optional<Tensor>& per_sample_weights, bool include_last_offset, std::optional<int64_t> padding_idx) { return bags(input, weight, {offsets.value_or(Tensor()), bag_mode_of(mode), per_sample_weights.value_or(Tensor()), include_last_offset, padding_idx}, max_norm, scale_grad_by_freq); }>(
      "Sums, means or maxima of rows of a matrix: of a row of input each, or of what lies between two offsets.", kFunctional);
  define<"scaled_dot_product_attention", "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False", [](const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) { return nn::scaled_dot_product_attention(query, key, value, {attn_mask.value_or(Tensor()), is_causal, scale, enable_gqa, dropout_p, nullptr}); }>(
      "softmax(scale * query @ key.T + mask) @ value.", kFunctional);
  define<"cosine_similarity", "x1, x2, dim=1, eps=1e-8", [](const Tensor& x1, const Tensor& x2, int64_t dim, double eps) { return nn::cosine_similarity(x1, x2, dim, eps); }>(
      "The cosine of the angle between two along a dim.", kFunctional);
  define<"pairwise_distance", "x1, x2, p=2.0, eps=1e-6, keepdim=False", [](const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) { return nn::pairwise_distance(x1, x2, p, eps, keepdim); }>(
      "The p-norm of a difference along the last dim.", kFunctional);
  define<"relu", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, input.relu()); }>(
      "max(x, 0).", kFunctional);
  define<"leaky_relu", "input, negative_slope=0.01, inplace=False", [](const Tensor& input, double negative_slope, bool inplace) { return in_place_if(inplace, input, tenon::leaky_relu(input, negative_slope)); }>(
      "x, or negative_slope * x below 0.", kFunctional);
  define<"elu", "input, alpha=1.0, inplace=False", [](const Tensor& input, double alpha, bool inplace) { return in_place_if(inplace, input, tenon::elu(input, alpha)); }>(
      "x, or alpha * (exp(x) - 1) below 0.", kFunctional);
  define<"celu", "input, alpha=1.0, inplace=False", [](const Tensor& input, double alpha, bool inplace) { return in_place_if(inplace, input, tenon::celu(input, alpha)); }>(
      "x, or alpha * (exp(x / alpha) - 1) below 0.", kFunctional);
  define<"selu", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::selu(input)); }>(
      "ELU with the two numbers that keep means and variances; Klambauer et al., 2017.", kFunctional);
  define<"silu", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::silu(input)); }>(
      "x * sigmoid(x).", kFunctional);
  define<"mish", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::mish(input)); }>(
      "x * tanh(softplus(x)).", kFunctional);
  define<"hardswish", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::hardswish(input)); }>(
      "x * relu6(x + 3) / 6.", kFunctional);
  define<"hardsigmoid", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::hardsigmoid(input)); }>(
      "relu6(x + 3) / 6.", kFunctional);
  define<"hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", [](const Tensor& input, double min_val, double max_val, bool inplace) { return in_place_if(inplace, input, tenon::hardtanh(input, min_val, max_val)); }>(
      "x between min_val and max_val, which are cut to integers for a tensor of them.", kFunctional);
  define<"relu6", "input, inplace=False", [](const Tensor& input, bool inplace) { return in_place_if(inplace, input, tenon::relu6(input)); }>(
      "min(max(x, 0), 6).", kFunctional);
  define<"threshold", "input, threshold, value, inplace=False", [](const Tensor& input, double threshold, double value, bool inplace) { return in_place_if(inplace, input, tenon::threshold(input, threshold, value)); }>(
      "x above a threshold, else a value.", kFunctional);
  define<"rrelu", "input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False", [](const Tensor& input, double lower, double upper, bool training, bool inplace) { return in_place_if(inplace, input, tenon::rrelu(input, lower, upper, training)); }>(
      "x, or x times a slope below 0: one drawn for each element in training, else the mean of both limits.", kFunctional);
  define<"dropout", "input, p=0.5, training=True, inplace=False", [](const Tensor& input, double p, bool training, bool inplace) { return in_place_if(inplace && training, input, nn::dropout(input, p, training)); }>(
      "Zeroes elements with probability p and scales the rest.", kFunctional);
  define<"dropout1d", "input, p=0.5, training=True, inplace=False", [](const Tensor& input, double p, bool training, bool inplace) { return in_place_if(inplace && training, input, nn::dropout1d(input, p, training)); }>(
      "Zeroes whole channels of (batch, channels, length) or (channels, length) with probability p and scales the others.", kFunctional);
  define<"dropout2d", "input, p=0.5, training=True, inplace=False", [](const Tensor& input, double p, bool training, bool inplace) { return in_place_if(inplace && training, input, nn::dropout2d(input, p, training)); }>(
      "Zeroes whole channels with probability p and scales the others.", kFunctional);
  define<"alpha_dropout", "input, p=0.5, training=False, inplace=False", [](const Tensor& input, double p, bool training, bool inplace) { return in_place_if(inplace && training, input, nn::alpha_dropout(input, p, training)); }>(
      "Sets elements to the lowest value of SELU with probability p, and keeps mean and variance; Klambauer et al., 2017.", kFunctional);
  define<"gumbel_softmax", "logits, tau=1.0, hard=False, eps=1e-10, dim=-1", [](const Tensor& logits, double tau, bool hard, double, int64_t dim) { return nn::gumbel_softmax(logits, tau, hard, dim); }>(
      "Draws from the classes of logits so that gradients go through; hard: 0 and 1 in the forward direction.", kFunctional);
  define<"layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-5", [](const Tensor& input, const Dims& normalized_shape, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps) { return nn::layer_norm(input, normalized_shape, weight.value_or(Tensor()), bias.value_or(Tensor()), eps); }>(
      "Mean 0 and variance 1 over the trailing dims.", kFunctional);
  define<"rms_norm", "input, normalized_shape, weight=None, eps=None", [](const Tensor& input, const Dims& normalized_shape, const std::optional<Tensor>& weight, std::optional<double> eps) { return nn::rms_norm(input, normalized_shape, weight.value_or(Tensor()), eps.value_or(input.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23)); }>(
      "Mean square 1 over the trailing dims; an eps of None is that of float32, or of float64 for its tensors.", kFunctional);
  define<"group_norm", "input, num_groups, weight=None, bias=None, eps=1e-5", [](const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps) { return nn::group_norm(input, num_groups, weight.value_or(Tensor()), bias.value_or(Tensor()), eps); }>(
      "Mean 0 and variance 1 over groups of channels.", kFunctional);
  define<"batch_norm", "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5", [](const Tensor& input, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool training, double momentum, double eps) { return nn::batch_norm(input, running_mean.value_or(Tensor()), running_var.value_or(Tensor()), weight.value_or(Tensor()), bias.value_or(Tensor()), training, momentum, eps); }>(
      "Mean 0 and variance 1 over all but the channels.", kFunctional);
  define<"_batch_norm_counted", "input, running_mean, running_var, batches, weight=None, bias=None, momentum=0.1, eps=1e-5", [](const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& batches, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, std::optional<double> momentum, double eps) { return nn::batch_norm_counted(input, running_mean, running_var, batches, weight.value_or(Tensor()), bias.value_or(Tensor()), momentum, eps); }>(
      "batch_norm() in training that counts its batches.", kFunctional);
  define<"instance_norm", "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5", [](const Tensor& input, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, bool use_input_stats, double momentum, double eps) { return nn::instance_norm(input, running_mean.value_or(Tensor()), running_var.value_or(Tensor()), weight.value_or(Tensor()), bias.value_or(Tensor()), use_input_stats, momentum, eps); }>(
      "Mean 0 and variance 1 over every channel of every sample.", kFunctional);
  define<"local_response_norm", "input, size, alpha=1e-4, beta=0.75, k=1.0", [](const Tensor& input, int64_t size, double alpha, double beta, double k) { return nn::local_response_norm(input, size, alpha, beta, k); }>(
      "x / (k + alpha * mean of the squares of so many neighbouring channels) ** beta.", kFunctional);
  define<"normalize", "input, p=2.0, dim=1, eps=1e-12", [](const Tensor& input, double p, int64_t dim, double eps) { return nn::normalize(input, p, dim, eps); }>(
      "x divided by its p-norm along a dim.", kFunctional);
  define<"conv1d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Size1 stride, const nn::Padding& padding, Size1 dilation, int64_t groups) { return nn::conv1d(input, weight, bias.value_or(Tensor()), {stride, padding, dilation, groups}); }>(
      "Convolution over one axis.", kFunctional);
  define<"conv2d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const nn::Size2& stride, const nn::Padding& padding, const nn::Size2& dilation, int64_t groups) { return nn::conv2d(input, weight, bias.value_or(Tensor()), {stride, padding, dilation, groups}); }>(
      "Convolution over height and width.", kFunctional);
  define<"conv3d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const nn::Size3& stride, const nn::Padding3& padding, const nn::Size3& dilation, int64_t groups) { return nn::conv3d(input, weight, bias.value_or(Tensor()), {stride, padding, dilation, groups}); }>(
      "Convolution over depth, height and width.", kFunctional);
  define<"conv_transpose1d", "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Size1 stride, Size1 padding, Size1 output_padding, int64_t groups, Size1 dilation) { return nn::conv_transpose1d(input, weight, bias.value_or(Tensor()), {stride, padding, output_padding, groups, dilation}); }>(
      "The gradient of conv1d with respect to its input.", kFunctional);
  define<"conv_transpose2d", "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const nn::Size2& stride, const nn::Size2& padding, const nn::Size2& output_padding, int64_t groups, const nn::Size2& dilation) { return nn::conv_transpose2d(input, weight, bias.value_or(Tensor()), {stride, padding, output_padding, groups, dilation}); }>(
      "The gradient of conv2d with respect to its input.", kFunctional);
  define<"conv_transpose3d", "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", [](const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const nn::Size3& stride, const nn::Size3& padding, const nn::Size3& output_padding, int64_t groups, const nn::Size3& dilation) { return nn::conv_transpose3d(input, weight, bias.value_or(Tensor()), {stride, padding, output_padding, groups, dilation}); }>(
      "The gradient of conv3d with respect to its input.", kFunctional);
  define<"unfold", "input, kernel_size, dilation=1, padding=0, stride=1", [](const Tensor& input, const Dims& kernel_size, const Dims& dilation, const Dims& padding, const Dims& stride) { return nn::unfold(input, kernel_size, {dilation, padding, stride}); }>(
      "All windows of an image as columns: (batch, channels * height * width of a window, windows).", kFunctional);
  define<"fold", "input, output_size, kernel_size, dilation=1, padding=0, stride=1", [](const Tensor& input, const Dims& output_size, const Dims& kernel_size, const Dims& dilation, const Dims& padding, const Dims& stride) { return nn::fold(input, output_size, kernel_size, {dilation, padding, stride}); }>(
      "Sums columns of windows, as unfold() makes them, into an image.", kFunctional);
  define<"max_pool1d", "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False", [](const Tensor& input, Size1 kernel_size, std::optional<Size1> stride, Size1 padding, Size1 dilation, bool ceil_mode, bool return_indices) { return return_indices ? largest(nn::max_pool1d_with_indices(input, kernel_size, {stride, padding, dilation, ceil_mode}), true) : py::cast(nn::max_pool1d(input, kernel_size, {stride, padding, dilation, ceil_mode})); }>(
      "The largest element of every window; with return_indices, and where it lies.", kFunctional);
  define<"max_pool2d", "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False", [](const Tensor& input, const nn::Size2& kernel_size, const std::optional<nn::Size2>& stride, const nn::Size2& padding, const nn::Size2& dilation, bool ceil_mode, bool return_indices) { return return_indices ? largest(nn::max_pool2d_with_indices(input, kernel_size, {stride, padding, dilation, ceil_mode}), true) : py::cast(nn::max_pool2d(input, kernel_size, {stride, padding, dilation, ceil_mode})); }>(
      "The largest element of every window; with return_indices, and where it lies.", kFunctional);
  define<"max_pool3d", "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False", [](const Tensor& input, const nn::Size3& kernel_size, const std::optional<nn::Size3>& stride, const nn::Size3& padding, const nn::Size3& dilation, bool ceil_mode, bool return_indices) { return return_indices ? largest(nn::max_pool3d_with_indices(input, kernel_size, {stride, padding, dilation, ceil_mode}), true) : py::cast(nn::max_pool3d(input, kernel_size, {stride, padding, dilation, ceil_mode})); }>(
      "The largest element of every window; with return_indices, and where it lies.", kFunctional);
  define<"avg_pool1d", "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True", [](const Tensor& input, Size1 kernel_size, std::optional<Size1> stride, Size1 padding, bool ceil_mode, bool count_include_pad) { return nn::avg_pool1d(input, kernel_size, {stride, padding, ceil_mode, count_include_pad}); }>(
      "The mean of every window.", kFunctional);
  define<"avg_pool2d", "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True", [](const Tensor& input, const nn::Size2& kernel_size, const std::optional<nn::Size2>& stride, const nn::Size2& padding, bool ceil_mode, bool count_include_pad) { return nn::avg_pool2d(input, kernel_size, {stride, padding, ceil_mode, count_include_pad}); }>(
      "The mean of every window.", kFunctional);
  define<"avg_pool3d", "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True", [](const Tensor& input, const nn::Size3& kernel_size, const std::optional<nn::Size3>& stride, const nn::Size3& padding, bool ceil_mode, bool count_include_pad) { return nn::avg_pool3d(input, kernel_size, {stride, padding, ceil_mode, count_include_pad}); }>(
      "The mean of every window.", kFunctional);
  define<"adaptive_max_pool1d", "input, output_size, return_indices=False", [](const Tensor& input, Size1 output_size, bool return_indices) { return largest(nn::adaptive_max_pool1d_with_indices(input, output_size), return_indices); }>(
      "The largest elements of so many parts.", kFunctional);
  define<"adaptive_max_pool2d", "input, output_size, return_indices=False", [](const Tensor& input, const py::object& output_size, bool return_indices) { return largest(nn::adaptive_max_pool2d_with_indices(input, size2_kept(input, output_size)), return_indices); }>(
      "The largest elements of so many parts; None leaves an axis as it is.", kFunctional);
  define<"adaptive_avg_pool1d", "input, output_size", [](const Tensor& input, Size1 output_size) { return nn::adaptive_avg_pool1d(input, output_size); }>(
      "Means over so many parts.", kFunctional);
  define<"adaptive_avg_pool2d", "input, output_size", [](const Tensor& input, const py::object& output_size) { return nn::adaptive_avg_pool2d(input, size2_kept(input, output_size)); }>(
      "Means over so many parts; None leaves an axis as it is.", kFunctional);
  define<"interpolate", "input, size=None, scale_factor=None, mode='nearest', align_corners=None", [](const Tensor& input, const std::optional<nn::Size2>& size, const py::object& scale_factor, const std::string& mode, std::optional<bool> align_corners) { return nn::interpolate(input, with_scales(input, upsample_of(size, mode, align_corners.value_or(false)), scales_of(scale_factor))); }>(
      "An image in another size.", kFunctional);
  define<"grid_sample", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", [](const Tensor& input, const Tensor& grid, const std::string& mode, const std::string& padding_mode, std::optional<bool> align_corners) { return nn::grid_sample(input, grid, grid_options(mode, padding_mode, align_corners.value_or(false))); }>(
      "Images read at places from -1 to 1, x before y.", kFunctional);
  define<"affine_grid", "theta, size, align_corners=None", [](const Tensor& theta, const Dims& size, std::optional<bool> align_corners) { return nn::affine_grid(theta, size, align_corners.value_or(false)); }>(
      "The places, from -1 to 1, that grid_sample() reads for images moved by matrices (batch, 2, 3).", kFunctional);
  define<"pad", "input, pad, mode='constant', value=None", [](const Tensor& input, const Dims& pad, const std::string& mode, std::optional<Number> value) { return nn::pad(input, pad, mode, value.value_or(0.0)); }>(
      "More elements before and after, last dim first; negative sizes cut. mode: 'constant', 'reflect', 'replicate' or 'circular'.", kFunctional);
  define<"pixel_shuffle", "input, upscale_factor", [](const Tensor& input, int64_t upscale_factor) { return nn::pixel_shuffle(input, upscale_factor); }>(
      "Channels become pixels: (..., channels * r * r, height, width) to (..., channels, height * r, width * r).", kFunctional);
  define<"pixel_unshuffle", "input, downscale_factor", [](const Tensor& input, int64_t downscale_factor) { return nn::pixel_unshuffle(input, downscale_factor); }>(
      "Pixels become channels, the other way round.", kFunctional);
  define<"mse_loss", "input, target, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::mse_loss(input, target, reduced(size_average, reduce, reduction)); }>(
      "The mean of squared differences.", kFunctional);
  define<"l1_loss", "input, target, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::l1_loss(input, target, reduced(size_average, reduce, reduction)); }>(
      "The mean of absolute differences.", kFunctional);
  define<"smooth_l1_loss", "input, target, size_average=None, reduce=None, reduction='mean', beta=1.0", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction, double beta) { return nn::smooth_l1_loss(input, target, beta, reduced(size_average, reduce, reduction)); }>(
      "Squared near 0, absolute beyond beta.", kFunctional);
  define<"huber_loss", "input, target, reduction='mean', delta=1.0", [](const Tensor& input, const Tensor& target, nn::Reduction reduction, double delta) { return nn::huber_loss(input, target, delta, reduction); }>(
      "Squared near 0, absolute beyond delta.", kFunctional);
  define<"soft_margin_loss", "input, target, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::soft_margin_loss(input, target, reduced(size_average, reduce, reduction)); }>(
      "log(1 + exp(-target * x)).", kFunctional);
  define<"hinge_embedding_loss", "input, target, margin=1.0, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, double margin, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::hinge_embedding_loss(input, target, margin, reduced(size_average, reduce, reduction)); }>(
      "x, or max(0, margin - x).", kFunctional);
  define<"cross_entropy", "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0", [](const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, std::optional<bool> size_average, int64_t ignore_index, std::optional<bool> reduce, nn::Reduction reduction, double label_smoothing) { return nn::cross_entropy(input, target, {weight.value_or(Tensor()), ignore_index, reduced(size_average, reduce, reduction), label_smoothing}); }>(
      "-log of the softmax of logits at the target classes.", kFunctional);
  define<"nll_loss", "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, std::optional<bool> size_average, int64_t ignore_index, std::optional<bool> reduce, nn::Reduction reduction) { return nn::nll_loss(input, target, {weight.value_or(Tensor()), ignore_index, reduced(size_average, reduce, reduction), 0}); }>(
      "-x at the target classes.", kFunctional);
  define<"binary_cross_entropy", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::binary_cross_entropy(input, target, {weight.value_or(Tensor()), Tensor(), reduced(size_average, reduce, reduction)}); }>(
      "The cross-entropy of probabilities.", kFunctional);
  define<"binary_cross_entropy_with_logits", "input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None", [](const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction, const std::optional<Tensor>& pos_weight) { return nn::binary_cross_entropy_with_logits(input, target, {weight.value_or(Tensor()), pos_weight.value_or(Tensor()), reduced(size_average, reduce, reduction)}); }>(
      "The cross-entropy of sigmoids.", kFunctional);
  define<"kl_div", "input, target, size_average=None, reduce=None, reduction='mean', log_target=False", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction, bool log_target) { return nn::kl_div(input, target, reduced(size_average, reduce, reduction), log_target); }>(
      "target * (log(target) - x).", kFunctional);
  define<"poisson_nll_loss", "input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, bool log_input, bool full, std::optional<bool> size_average, double eps, std::optional<bool> reduce, nn::Reduction reduction) { return nn::poisson_nll_loss(input, target, {log_input, full, eps, reduced(size_average, reduce, reduction)}); }>(
      "How unlikely counts are; x is the logarithm of what is expected, or that itself. full: with Stirling's term.", kFunctional);
  define<"gaussian_nll_loss", "input, target, var, full=False, eps=1e-6, reduction='mean'", [](const Tensor& input, const Tensor& target, const Operand& var, bool full, double eps, nn::Reduction reduction) { return nn::gaussian_nll_loss(input, target, var, {full, eps, reduction}); }>(
      "How unlikely targets are around x with variances, which are eps at least; NaN where one is negative.", kFunctional);
  define<"cosine_embedding_loss", "input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::cosine_embedding_loss(input1, input2, target, margin, reduced(size_average, reduce, reduction)); }>(
      "1 - cos(a, b), or max(0, cos(a, b) - margin).", kFunctional);
  define<"margin_ranking_loss", "input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::margin_ranking_loss(input1, input2, target, margin, reduced(size_average, reduce, reduction)); }>(
      "max(0, margin - target * (a - b)).", kFunctional);
  define<"multi_margin_loss", "input, target, p=1.0, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, double p, double margin, const std::optional<Tensor>& weight, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::multi_margin_loss(input, target, {p, margin, weight.value_or(Tensor()), reduced(size_average, reduce, reduction)}); }>(
      "The mean over other classes of max(0, margin - x[target] + x[other])^p.", kFunctional);
  define<"multilabel_margin_loss", "input, target, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::multilabel_margin_loss(input, target, reduced(size_average, reduce, reduction)); }>(
      "How far classes that are none of a sample's come near those that are; targets are classes, and end at the first -1.", kFunctional);
  define<"multilabel_soft_margin_loss", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'", [](const Tensor& input, const Tensor& target, const std::optional<Tensor>& weight, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::multilabel_soft_margin_loss(input, target, weight.value_or(Tensor()), reduced(size_average, reduce, reduction)); }>(
      "Binary cross entropies of logits, their mean over the classes.", kFunctional);
  define<"triplet_margin_loss", "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction='mean'", [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps, bool swap, std::optional<bool> size_average, std::optional<bool> reduce, nn::Reduction reduction) { return nn::triplet_margin_loss(anchor, positive, negative, {margin, p, eps, swap, reduced(size_average, reduce, reduction)}); }>(
      "max(0, margin + |a - p| - |a - n|).", kFunctional);
  define<"triplet_margin_with_distance_loss", "anchor, positive, negative, distance_function=None, margin=1.0, swap=False, reduction='mean'", [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, const py::object& distance_function, double margin, bool swap, nn::Reduction reduction) { return nn::triplet_margin_with_distance_loss(anchor, positive, negative, {distance_of(distance_function), margin, swap, reduction}); }>(
      "How much nearer than the margin the negative lies to the anchor than the positive does, by a distance of one's own.", kFunctional);
  define<"ctc_loss", "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False", [](const Tensor& log_probs, const Tensor& targets, const py::object& input_lengths, const py::object& target_lengths, int64_t blank, nn::Reduction reduction, bool zero_infinity) { return nn::ctc_loss(log_probs, targets.to(log_probs.device()), lengths_on(log_probs.device(), input_lengths), lengths_on(log_probs.device(), target_lengths), {blank, reduction, zero_infinity}); }>(
      "Of sequences whose labels are given without their places.", kFunctional);
  define<"linear_cross_entropy", "input, weight, target, ignore_index=-100, chunk=1024", [](const Tensor& input, const Tensor& weight, const Tensor& target, int64_t ignore_index, int64_t chunk) { return nn::linear_cross_entropy(input, weight, target, {ignore_index, chunk, 0}); }>(
      "cross_entropy(linear(x, weight), targets) whose logits exist for a chunk of rows at a time.", kFunctional);
  define<"_recurrent", "cell, input, state, lengths, parameters, layers, bias, batch_first, dropout, bidirectional, proj_size", [](const std::string& cell, const Tensor& input, const py::object& state, const std::optional<Tensor>& lengths, const std::vector<Tensor>& parameters, int64_t layers, bool bias, bool batch_first, double dropout, bool bidirectional, int64_t proj_size) { return run_recurrent(cell, input, state, lengths.value_or(Tensor()), parameters, {.layers = layers, .bias = bias, .batch_first = batch_first, .dropout = dropout, .bidirectional = bidirectional, .proj_size = proj_size}); }>(
      "RNN, LSTM and GRU: the results of all steps, and the last state.", kFunctional);
  define<"_attend", "query, key, value, dropout, weight, bias, heads, batch_first, mask, padding, causal", [](const Tensor& query, const Tensor& key, const Tensor& value, double dropout, const Tensor& weight, const std::optional<Tensor>& bias, int64_t heads, bool batch_first, const std::optional<Tensor>& mask, const std::optional<Tensor>& padding, bool causal) { return nn::attend({weight, bias.value_or(Tensor()), heads, batch_first}, query, key, value, {mask.value_or(Tensor()), padding.value_or(Tensor()), causal}, dropout); }>(
      "MultiheadAttention.", kFunctional);
  define<"_attention_weights", "query, key, averaged, weight, bias, heads, batch_first, mask, padding, causal", [](const Tensor& query, const Tensor& key, bool averaged, const Tensor& weight, const std::optional<Tensor>& bias, int64_t heads, bool batch_first, const std::optional<Tensor>& mask, const std::optional<Tensor>& padding, bool causal) { return nn::attention_weights({weight, bias.value_or(Tensor()), heads, batch_first}, query, key, {mask.value_or(Tensor()), padding.value_or(Tensor()), causal}, averaged); }>(
      "The weights of MultiheadAttention.", kFunctional);
  define<"_dropout_drawn", "input, p, training, generator", [](const Tensor& input, double p, bool training, Generator* generator) { return nn::dropout(input, p, training, generator); }>(
      "dropout() by a generator of its own.", kFunctional);
  define<"uniform_", "tensor, a=0.0, b=1.0, generator=None", [](Tensor tensor, double a, double b, Generator* generator) { nn::init::uniform_(tensor, a, b, generator); return Same(); }>(
      "Even between a and b.", kInit);
  define<"normal_", "tensor, mean=0.0, std=1.0, generator=None", [](Tensor tensor, double mean, double std, Generator* generator) { nn::init::normal_(tensor, mean, std, generator); return Same(); }>(
      "Normally distributed.", kInit);
  define<"trunc_normal_", "tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None", [](Tensor tensor, double mean, double std, double a, double b, Generator* generator) { nn::init::trunc_normal_(tensor, mean, std, a, b, generator); return Same(); }>(
      "Normal, drawn again where outside of a..b.", kInit);
  define<"constant_", "tensor, val", [](Tensor tensor, double val) { nn::init::constant_(tensor, val); return Same(); }>(
      "One number everywhere.", kInit);
  define<"zeros_", "tensor", [](Tensor tensor) { nn::init::constant_(tensor, 0); return Same(); }>(
      "0 everywhere.", kInit);
  define<"ones_", "tensor", [](Tensor tensor) { nn::init::constant_(tensor, 1); return Same(); }>(
      "1 everywhere.", kInit);
  define<"eye_", "tensor", [](Tensor tensor) { nn::init::eye_(tensor); return Same(); }>(
      "1 on the diagonal of a matrix, 0 elsewhere.", kInit);
  define<"dirac_", "tensor, groups=1", [](Tensor tensor, int64_t groups) { nn::init::dirac_(tensor, groups); return Same(); }>(
      "Weights of a convolution that hands its channels on as they are.", kInit);
  define<"kaiming_uniform_", "tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None", [](Tensor tensor, double a, const std::string& mode, const std::string& nonlinearity, Generator* generator) { nn::init::kaiming_uniform_(tensor, a, fan_mode(mode), generator, nonlinearity); return Same(); }>(
      "Keeps the variance through rectifiers with a slope of a below 0; He et al., 2015.", kInit);
  define<"kaiming_normal_", "tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None", [](Tensor tensor, double a, const std::string& mode, const std::string& nonlinearity, Generator* generator) { nn::init::kaiming_normal_(tensor, a, fan_mode(mode), generator, nonlinearity); return Same(); }>(
      "The same, normally distributed; He et al., 2015.", kInit);
  define<"xavier_uniform_", "tensor, gain=1.0, generator=None", [](Tensor tensor, double gain, Generator* generator) { nn::init::xavier_uniform_(tensor, gain, generator); return Same(); }>(
      "Keeps the variance forwards and backwards; Glorot and Bengio, 2010.", kInit);
  define<"xavier_normal_", "tensor, gain=1.0, generator=None", [](Tensor tensor, double gain, Generator* generator) { nn::init::xavier_normal_(tensor, gain, generator); return Same(); }>(
      "The same, normally distributed; Glorot and Bengio, 2010.", kInit);
  define<"orthogonal_", "tensor, gain=1.0, generator=None", [](Tensor tensor, double gain, Generator* generator) { released([&] { nn::init::orthogonal_(tensor, gain, generator); }); return Same(); }>(
      "Rows, or columns where there are fewer, at right angles to each other; Saxe et al., 2013.", kInit);
  define<"calculate_gain", "nonlinearity, param=None", [](const std::string& nonlinearity, std::optional<double> param) { return nn::init::calculate_gain(nonlinearity, param); }>(
      "What a nonlinearity asks of the spread of weights before it.\n\n>>> from tenon import nn\n>>> nn.init.calculate_gain(\"tanh\")\n1.6666666666666667", kInit);
}

}  // namespace tenon::python
