// Compositions, as layer_norm is; the running statistics are written like any state, so captured steps move them too.
// Mean and variance of batch_norm come of one pass over the batch, and of what autocast computes in 16 bits its result
// has 16 bits, as in PyTorch: sums are f32 all the same.
// The gradient of batch_norm has a rule of its own: a channel is too long to stay in a cache, and where the ops' rules
// pass over it three times to learn what mean and variance passed on, two sums of one pass say it all.

#include "tenon/nn/normalisation.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn {
namespace {

using base::fail;

Tensor wide(const Tensor& x) { return x.to(accumulator(x.dtype())); }

void require_channels(std::string_view op, std::string_view what, const Tensor& parameter, int64_t channels) {
  if (parameter.defined() && parameter.shape() != Dims{channels})
    fail(op, "{} {} does not fit {} channels", what, ir::to_string(parameter.shape()), channels);
}

// (channels,) as it stands beside x.
Tensor column(const Tensor& parameter, const Tensor& x) {
  Dims shape(x.shape().size(), 1);
  shape[1] = parameter.size(0);
  return wide(parameter).reshape(shape);
}

Tensor column_if(const Tensor& parameter, const Tensor& x) {
  return parameter.defined() ? column(parameter, x) : Tensor();
}

Tensor scaled(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) y = y * column(weight, y);
  return bias.defined() ? y + column(bias, y) : y;
}

// One number for each channel multiplies, whatever it is made of. Weight and bias stand beside x, or are undefined.
Tensor scale_of(const Tensor& variance, const Tensor& weight, double eps) {
  const Tensor deviation = rsqrt(variance + eps);
  return weight.defined() ? deviation * weight : deviation;
}
Tensor moved(const Tensor& x, const Tensor& centre, const Tensor& scale, const Tensor& bias) {
  const Tensor y = (x - centre) * scale;
  return bias.defined() ? y + bias : y;
}

// state = state + share * (value - state), in the state's own type.
void move_towards(Tensor state, const Tensor& value, const Operand& share) {
  const Tensor now = wide(state);
  state.copy_((now + (value.reshape(state.shape()) - now) * share).to(state.dtype()));
}

struct Moments {
  Tensor mean, variance;
};

// Both of one pass: sums of how far each value is from one of its own channel, and of the squares of that. Sums of the
// values themselves would cancel where a mean is large beside its deviation.
Moments moments_of(const Tensor& x, const Dims& axes) {
  Tensor some = x.detach();
  for (const int64_t axis : axes) some = some.slice(axis, 0, 1);
  const Tensor far = x - some, ahead = mean(far, axes, true);
  return {some + ahead, maximum(mean(square(far), axes, true) - square(ahead), 0.0)};
}

// By its own mean and variance along these axes.
Tensor normalised_by(const Tensor& x, const Tensor& centre, const Tensor& variance, const Tensor& weight,
                     const Tensor& bias, const Dims& axes, double eps) {
  const bool has_weight = weight.defined(), has_bias = bias.defined();
  const CustomFunction function{
      "batch_norm",
      [&](std::span<const Tensor>) { return std::vector{moved(x, centre, scale_of(variance, weight, eps), bias)}; },
      [axes, eps, has_weight, has_bias](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor &g = grads[0], centred = in[0] - in[1], deviation = rsqrt(in[2] + eps);
        const double share = static_cast<double>(in[1].numel()) / static_cast<double>(in[0].numel());
        const Tensor total = sum(g, axes, true), along = sum(g * centred, axes, true);
        const Tensor of_mean = total * -share, of_variance = along * square(deviation) * -share;
        const Tensor scale = scale_of(in[2], has_weight ? in[3] : Tensor(), eps);
        std::vector<Tensor> all{(g + of_mean + centred * of_variance) * scale, Tensor(), Tensor()};
        if (has_weight) all.push_back(along * deviation);
        if (has_bias) all.push_back(total);
        return all;
      }};
  std::vector<Tensor> operands{x, centre, variance};  // the statistics with their history, for second derivatives
  if (has_weight) operands.push_back(weight);
  if (has_bias) operands.push_back(bias);
  return tenon::apply(function, operands)[0];
}

Tensor normalised(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight, const Tensor& bias,
                  bool training, const Operand& momentum, double eps) {
  constexpr std::string_view kOp = "batch_norm";
  record::require_float(kOp, x);
  if (x.dim() < 2) fail(kOp, "takes (batch, channels, ...), got {}", ir::to_string(x.shape()));
  const int64_t channels = x.size(1);
  require_channels(kOp, "weight", weight, channels);
  require_channels(kOp, "bias", bias, channels);
  require_channels(kOp, "running mean", running_mean, channels);
  require_channels(kOp, "running variance", running_var, channels);
  if (!training && !(running_mean.defined() && running_var.defined()))
    fail(kOp, "there are no running statistics; they are needed outside of training");
  const int64_t values = channels == 0 ? 0 : x.numel() / channels;
  if (training && values == 1)
    fail(kOp, "training needs more than one value per channel, got {}", ir::to_string(x.shape()));
  Dims axes{0};
  for (int64_t i = 2; i < x.dim(); ++i) axes.push_back(i);
  return record::in_wide(x, [&](const Tensor& w) {
    if (values == 0) return scaled(w * 1.0, weight, bias);  // nothing to learn from
    const Tensor beside_weight = column_if(weight, w), beside_bias = column_if(bias, w);
    if (!training)
      return moved(w, column(running_mean, w), scale_of(column(running_var, w), beside_weight, eps), beside_bias);
    const auto [centre, variance] = moments_of(w, axes);
    const Tensor y = normalised_by(w, centre, variance, beside_weight, beside_bias, axes, eps);
    const NoGrad statistics;
    const auto count = static_cast<double>(values);
    if (running_mean.defined()) move_towards(running_mean, centre.detach(), momentum);
    if (running_var.defined()) move_towards(running_var, variance.detach() * (count / (count - 1)), momentum);
    return y;
  });
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  return normalised(x, running_mean, running_var, weight, bias, training, momentum, eps);
}

Tensor batch_norm_counted(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, Tensor batches,
                          const Tensor& weight, const Tensor& bias, std::optional<double> momentum, double eps) {
  {
    const NoGrad counting;
    batches.add_(1);
  }
  if (momentum) return normalised(x, running_mean, running_var, weight, bias, true, *momentum, eps);
  const Tensor share = 1.0 / batches.to(accumulator(running_mean.dtype()));
  return normalised(x, running_mean, running_var, weight, bias, true, share, eps);
}

Tensor instance_norm(const Tensor& given, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, bool use_input_stats, double momentum, double eps) {
  constexpr std::string_view kOp = "instance_norm";
  record::require_float(kOp, given);
  if (given.dim() < 2) fail(kOp, "takes (batch, channels, ...), got {}", ir::to_string(given.shape()));
  if (running_mean.defined() != running_var.defined()) fail(kOp, "takes running_mean and running_var together");
  if (!use_input_stats && !running_mean.defined())
    fail(kOp, "there are no running statistics; they are needed without those of the input");
  const int64_t channels = given.size(1), samples = given.size(0) * channels;
  require_channels(kOp, "weight", weight, channels);
  require_channels(kOp, "bias", bias, channels);
  require_channels(kOp, "running mean", running_mean, channels);
  require_channels(kOp, "running variance", running_var, channels);
  const int64_t values = samples == 0 ? 0 : given.numel() / samples;
  if (use_input_stats && values == 1)
    fail(kOp, "needs more than one value per channel and sample, got {}", ir::to_string(given.shape()));
  Dims axes;
  for (int64_t i = 2; i < given.dim(); ++i) axes.push_back(i);
  return record::in_wide(autocast_wide(given), [&](const Tensor& w) {
    if (values == 0) return scaled(w * 1.0, weight, bias);
    if (!use_input_stats)
      return scaled((w - column(running_mean, w)) * rsqrt(column(running_var, w) + eps), weight, bias);
    const Tensor centre = mean(w, axes, true), centred = w - centre, variance = mean(square(centred), axes, true);
    if (running_mean.defined()) {
      const NoGrad statistics;
      const auto count = static_cast<double>(values);
      move_towards(running_mean, mean(centre.detach(), {0}), momentum);
      move_towards(running_var, mean(variance.detach(), {0}) * (count / (count - 1)), momentum);
    }
    return scaled(centred * rsqrt(variance + eps), weight, bias);
  });
}

Tensor group_norm(const Tensor& given, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  constexpr std::string_view kOp = "group_norm";
  record::require_float(kOp, given);
  if (given.dim() < 2) fail(kOp, "takes (batch, channels, ...), got {}", ir::to_string(given.shape()));
  const Tensor x = autocast_wide(given);
  const int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0) fail(kOp, "{} channels cannot be divided into {} groups", channels, groups);
  if (given.size(0) > 0 && given.numel() == 0) fail(kOp, "the samples of {} are empty", ir::to_string(given.shape()));
  require_channels(kOp, "weight", weight, channels);
  require_channels(kOp, "bias", bias, channels);
  return record::in_wide(x, [&](const Tensor& w) {
    const int64_t rows = w.size(0) * groups;
    const Tensor flat = w.reshape({rows, rows == 0 ? 0 : w.numel() / rows});
    const Tensor centred = flat - mean(flat, {1}, true);
    const Tensor y = centred * rsqrt(mean(square(centred), {1}, true) + eps);
    return scaled(y.reshape(w.shape()), weight, bias);
  });
}

BatchNorm::BatchNorm(std::string_view op, int64_t channels, const BatchNormOptions& options)
    : channels_(channels), options_(options) {
  if (channels < 1) fail(op, "the number of channels must be positive, got {}", channels);
  if (!(options.eps >= 0)) fail(op, "eps cannot be negative, got {}", options.eps);
  if (options.affine) {
    weight = ones({channels}, options.options);
    bias = zeros({channels}, options.options);
  }
  if (options.track_running_stats) {
    running_mean = zeros({channels}, options.options);
    running_var = ones({channels}, options.options);
    num_batches_tracked = zeros({}, Options(DType::i64, options.options.device));
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
  register_buffer("running_mean", running_mean);
  register_buffer("running_var", running_var);
  register_buffer("num_batches_tracked", num_batches_tracked);
}

Tensor BatchNorm::forward(const Tensor& x) const {
  check(x);
  if (x.size(1) != channels_) fail("batch_norm", "takes {} channels, got {}", channels_, ir::to_string(x.shape()));
  const bool tracks = running_mean.defined(), training = is_training() || !tracks;
  if (!(is_training() && tracks))
    return normalised(x, is_training() ? Tensor() : running_mean, is_training() ? Tensor() : running_var, weight, bias,
                      training, 0.0, options_.eps);
  return batch_norm_counted(x, running_mean, running_var, num_batches_tracked, weight, bias, options_.momentum,
                            options_.eps);
}

void BatchNorm1d::check(const Tensor& x) const {
  if (x.dim() != 2 && x.dim() != 3)
    fail("batch_norm1d", "takes (batch, channels) or (batch, channels, length), got {}", ir::to_string(x.shape()));
}

void BatchNorm2d::check(const Tensor& x) const {
  if (x.dim() != 4) fail("batch_norm2d", "takes (batch, channels, height, width), got {}", ir::to_string(x.shape()));
}

void BatchNorm3d::check(const Tensor& x) const {
  if (x.dim() != 5)
    fail("batch_norm3d", "takes (batch, channels, depth, height, width), got {}", ir::to_string(x.shape()));
}

InstanceNorm::InstanceNorm(std::string_view op, int64_t dims, int64_t channels, const InstanceNormOptions& options)
    : op_(op), dims_(dims), channels_(channels), options_(options) {
  if (channels < 1) fail(op_, "the number of channels must be positive, got {}", channels);
  if (!(options.eps >= 0)) fail(op_, "eps cannot be negative, got {}", options.eps);
  if (options.affine) {
    weight = ones({channels}, options.options);
    bias = zeros({channels}, options.options);
  }
  if (options.track_running_stats) {
    running_mean = zeros({channels}, options.options);
    running_var = ones({channels}, options.options);
    num_batches_tracked = zeros({}, Options(DType::i64, options.options.device));
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
  register_buffer("running_mean", running_mean);
  register_buffer("running_var", running_var);
  register_buffer("num_batches_tracked", num_batches_tracked);
}

Tensor InstanceNorm::forward(const Tensor& given) const {
  const bool is_single = given.dim() == dims_ + 1;
  if (!is_single && given.dim() != dims_ + 2)
    fail(op_, "takes (batch, channels, ...) or (channels, ...) with {} dims of places, got {}", dims_,
         ir::to_string(given.shape()));
  const Tensor x = is_single ? given.unsqueeze(0) : given;
  if (x.size(1) != channels_) fail(op_, "takes {} channels, got {}", channels_, ir::to_string(given.shape()));
  const bool by_input = is_training() || !running_mean.defined();
  const Tensor y = instance_norm(x, running_mean, running_var, weight, bias, by_input, options_.momentum, options_.eps);
  return is_single ? y.squeeze(0) : y;
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps, bool affine, const Options& options)
    : groups_(groups), eps_(eps) {
  if (groups < 1 || channels < 1 || channels % groups != 0)
    fail("group_norm", "{} channels cannot be divided into {} groups", channels, groups);
  if (!(eps >= 0)) fail("group_norm", "eps cannot be negative, got {}", eps);
  if (affine) {
    weight = ones({channels}, options);
    bias = zeros({channels}, options);
  }
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor GroupNorm::forward(const Tensor& x) const { return group_norm(x, groups_, weight, bias, eps_); }

}  // namespace tenon::nn
