// Draws are written with copy_, so that a weight is computed once, with the first value that depends on it, and one
// that is initialised twice is never computed the first way.

#include "tenon/nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/nn/module.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"

namespace tenon::nn::init {
namespace {

Options like(const Tensor& x) { return Options(x.dtype(), x.device()); }

Tensor& set(Tensor& x, const Tensor& values) {
  const NoGrad writing;
  return x.copy_(values);
}

void require_float(std::string_view op, const Tensor& x) {
  if (!is_float(x.dtype())) base::fail(op, "takes floating-point tensors, got {}", name(x.dtype()));
}

// The gain over the square root of the fan.
double kaiming_deviation(const Tensor& weight, double a, FanMode mode, std::string_view nonlinearity) {
  const Fans fans = fans_of(weight);
  const auto fan = static_cast<double>(std::max<int64_t>(1, mode == FanMode::in ? fans.in : fans.out));
  return calculate_gain(nonlinearity, a) / std::sqrt(fan);
}

// Gram and Schmidt's method, twice for each block of columns, which f64 needs; blocks keep the number of steps small.
Tensor at_right_angles(const Tensor& columns) {
  constexpr int64_t kBlock = 32;
  std::vector<Tensor> done;
  for (Tensor block : columns.split(kBlock, 1)) {
    for (int pass = 0; pass < 2; ++pass) {
      for (const Tensor& before : done) block = block - matmul(before, matmul(before.t(), block));
    }
    std::vector<Tensor> within;
    for (Tensor column : block.eval().unbind(1)) {
      for (int pass = 0; pass < 2; ++pass) {
        for (const Tensor& other : within) column = column - other * sum(other * column);
      }
      within.push_back((column / sqrt(sum(square(column)))).eval());
    }
    done.push_back(stack(within, 1).eval());
  }
  return cat(done, 1);
}

double xavier_deviation(const Tensor& weight, double gain) {
  const Fans fans = fans_of(weight);
  return gain * std::sqrt(2.0 / static_cast<double>(std::max<int64_t>(1, fans.in + fans.out)));
}

Tensor& uniform_of_deviation(Tensor& x, double deviation, Generator* generator) {
  const double bound = std::sqrt(3.0) * deviation;  // the variance of -b..b is b * b / 3
  return uniform_(x, -bound, bound, generator);
}

double normal_share_below(double z) { return 0.5 * (1 + std::erf(z / std::numbers::sqrt2)); }

}  // namespace

Fans fans_of(const Tensor& weight) {
  if (weight.dim() < 2)
    base::fail("init", "fans need a weight of at least two dims, got shape {}", ir::to_string(weight.shape()));
  int64_t field = 1;
  for (int64_t i = 2; i < weight.dim(); ++i) field *= weight.size(i);
  return {weight.size(1) * field, weight.size(0) * field};
}

Tensor& uniform_(Tensor& x, double low, double high, Generator* generator) {
  require_float("uniform_", x);
  if (!(low <= high)) base::fail("uniform_", "no numbers between {} and {}", low, high);
  const NoGrad drawing;
  return set(x, rand(x.shape(), like(x), generator) * (high - low) + low);
}

Tensor& normal_(Tensor& x, double mean, double deviation, Generator* generator) {
  require_float("normal_", x);
  if (!(deviation >= 0)) base::fail("normal_", "a deviation cannot be negative, got {}", deviation);
  const NoGrad drawing;
  return set(x, randn(x.shape(), like(x), generator) * deviation + mean);
}

// By the inverse of the distribution function: uniform between the shares of low and high, through erf's inverse, for
// which a few steps of Newton on erf do; the slope is never 0 inside of +-5 deviations.
Tensor& trunc_normal_(Tensor& x, double mean, double deviation, double low, double high, Generator* generator) {
  require_float("trunc_normal_", x);
  if (!(low < high && deviation > 0))
    base::fail("trunc_normal_", "takes low < high and a positive deviation, got {} to {} and {}", low, high, deviation);
  const NoGrad drawing;
  const double first = normal_share_below(std::max((low - mean) / deviation, -5.0));
  const double last = normal_share_below(std::min((high - mean) / deviation, 5.0));
  const Tensor share =
      rand(x.shape(), Options(DType::f64, record::with_f64(x.device())), generator) * (last - first) + first;
  const Tensor target = share * 2 - 1;
  // Winitzki's approximation to two digits, then Newton.
  constexpr double kA = 0.147;
  const Tensor logarithm = log(clamp(1.0 - square(target), 1e-12, {}));
  const Tensor middle = logarithm * 0.5 + 2 / (std::numbers::pi * kA);
  Tensor z = sign(target) * sqrt(sqrt(square(middle) - logarithm / kA) - middle);
  for (int i = 0; i < 3; ++i) z = z - (erf(z) - target) * exp(square(z)) * (std::sqrt(std::numbers::pi) / 2);
  return set(x, clamp(z * (std::numbers::sqrt2 * deviation) + mean, low, high));
}

Tensor& constant_(Tensor& x, double value) {
  const NoGrad writing;
  return x.fill_(value);
}

double calculate_gain(std::string_view nonlinearity, std::optional<double> slope) {
  if (nonlinearity == "leaky_relu") {
    const double a = slope.value_or(0.01);
    return std::sqrt(2 / (1 + a * a));
  }
  if (nonlinearity == "relu") return std::numbers::sqrt2;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "selu") return 0.75;
  const bool is_linear = nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity.starts_with("conv");
  if (is_linear) return 1;
  base::fail(
      "calculate_gain",
      "there is no gain of '{}'; there are 'linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu' and those of "
      "convolutions",
      nonlinearity);
}

Tensor& kaiming_uniform_(Tensor& weight, double a, FanMode mode, Generator* generator, std::string_view nonlinearity) {
  return uniform_of_deviation(weight, kaiming_deviation(weight, a, mode, nonlinearity), generator);
}
Tensor& kaiming_normal_(Tensor& weight, double a, FanMode mode, Generator* generator, std::string_view nonlinearity) {
  return normal_(weight, 0, kaiming_deviation(weight, a, mode, nonlinearity), generator);
}
Tensor& xavier_uniform_(Tensor& weight, double gain, Generator* generator) {
  return uniform_of_deviation(weight, xavier_deviation(weight, gain), generator);
}
Tensor& xavier_normal_(Tensor& weight, double gain, Generator* generator) {
  return normal_(weight, 0, xavier_deviation(weight, gain), generator);
}

Tensor& eye_(Tensor& matrix) {
  if (matrix.dim() != 2) base::fail("eye_", "takes a matrix, got {}", ir::to_string(matrix.shape()));
  return set(matrix, eye(matrix.size(0), matrix.size(1), like(matrix)));
}

Tensor& dirac_(Tensor& weight, int64_t groups) {
  if (weight.dim() < 3 || weight.dim() > 5 || groups < 1 || weight.size(0) % groups != 0)
    base::fail("dirac_", "takes weights of a convolution whose first size is a multiple of {} groups, got {}", groups,
               ir::to_string(weight.shape()));
  // A matrix of ones where an output meets its input, at the middle of every further dim.
  const int64_t out = weight.size(0) / groups;
  Tensor made = eye(out, weight.size(1), like(weight)).repeat({groups, 1});
  Dims middle{weight.size(0), weight.size(1)}, sides;
  for (int64_t i = 2; i < weight.dim(); ++i) middle.push_back(1);
  for (int64_t i = weight.dim() - 1; i >= 2; --i) {
    sides.push_back(weight.size(i) / 2);
    sides.push_back(weight.size(i) - weight.size(i) / 2 - 1);
  }
  return set(weight, tenon::pad(made.reshape(middle), sides));
}

Tensor& orthogonal_(Tensor& weight, double gain, Generator* generator) {
  require_float("orthogonal_", weight);
  if (weight.dim() < 2)
    base::fail("orthogonal_", "takes a tensor of two dims or more, got {}", ir::to_string(weight.shape()));
  if (weight.numel() == 0) return weight;
  const int64_t rows = weight.size(0), columns = weight.numel() / rows;
  const Dims tall{std::max(rows, columns), std::min(rows, columns)};
  const Tensor drawn = randn(tall, Options(DType::f32, Device("cpu")), generator);
  const NoGrad drawing;
  const Tensor made = at_right_angles(drawn.to(DType::f64));
  const Tensor shaped = (rows >= columns ? made : made.t()) * gain;
  return set(weight, shaped.reshape(weight.shape()).to(weight.dtype()).to(weight.device()));
}

void gpt2_(Module& model, int64_t layers, const std::vector<std::string>& residual, Generator* generator) {
  constexpr double kDeviation = 0.02;
  if (layers < 1) base::fail("gpt2_", "the number of layers must be positive, got {}", layers);
  for (NamedTensor& one : model.named_parameters()) {
    const size_t dot = one.name.rfind('.');
    const std::string path = dot == std::string::npos ? "" : one.name.substr(0, dot);
    const std::string last = one.name.substr(dot == std::string::npos ? 0 : dot + 1);
    const bool ends_branch =
        std::any_of(residual.begin(), residual.end(), [&](const std::string& end) { return path.ends_with(end); });
    if (one.tensor.dim() >= 2)
      normal_(one.tensor, 0, ends_branch ? kDeviation / std::sqrt(2.0 * static_cast<double>(layers)) : kDeviation,
              generator);
    else
      constant_(one.tensor, last == "bias" ? 0 : 1);
  }
}

}  // namespace tenon::nn::init
