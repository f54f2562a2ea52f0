// Initial values, with PyTorch's names and formulas. All write in place, under NoGrad, and return the tensor.
//
//   nn::Linear fc(768, 3072);
//   nn::init::normal_(fc.weight, 0, 0.02);
//   nn::init::constant_(fc.bias, 0);

#pragma once

#include <string_view>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/tensor.h"

namespace tenon::nn {

class Module;

namespace init {

/// Sizes that initialisations depend on: inputs and outputs of one element of the result.
struct Fans {
  int64_t in, out;
};
/// Of a weight (out, in, ...); further dims are a receptive field.
Fans fans_of(const Tensor& weight);

enum class FanMode : uint8_t { in, out };

/// Even between low and high.
Tensor& uniform_(Tensor& x, double low = 0, double high = 1, Generator* generator = nullptr);
Tensor& normal_(Tensor& x, double mean = 0, double deviation = 1, Generator* generator = nullptr);
/// Normal, drawn again where outside of low..high.
Tensor& trunc_normal_(Tensor& x, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                      Generator* generator = nullptr);
Tensor& constant_(Tensor& x, double value);
/// What a nonlinearity asks of the spread of the weights before it: "linear", "sigmoid", "tanh", "relu", "selu",
/// "leaky_relu" of a slope, 0.01 unless given, or a convolution ("conv2d", ...), which is linear.
double calculate_gain(std::string_view nonlinearity, std::optional<double> slope = {});
/// Keeps the variance through rectifiers with slope `a` below 0, or through another nonlinearity (He et al., 2015).
Tensor& kaiming_uniform_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr,
                         std::string_view nonlinearity = "leaky_relu");
Tensor& kaiming_normal_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr,
                        std::string_view nonlinearity = "leaky_relu");
/// Keeps the variance forwards and backwards (Glorot and Bengio, 2010).
Tensor& xavier_uniform_(Tensor& weight, double gain = 1, Generator* generator = nullptr);
Tensor& xavier_normal_(Tensor& weight, double gain = 1, Generator* generator = nullptr);
/// 1 on the diagonal of a matrix, 0 elsewhere.
Tensor& eye_(Tensor& matrix);
/// Weights of a convolution (out, in, ...) that hands its channels on as they are, in each of its groups.
Tensor& dirac_(Tensor& weight, int64_t groups = 1);
/// Rows, or columns where there are fewer, at right angles to each other (Saxe et al., 2013). Computes at once.
Tensor& orthogonal_(Tensor& weight, double gain = 1, Generator* generator = nullptr);

/// GPT-2's: matrices normal with deviation 0.02, those that end a residual branch (their path ends in one of
/// `residual`, as "attn.c_proj" does) divided by sqrt(2 * layers), biases 0, norms 1.
void gpt2_(Module& model, int64_t layers, const std::vector<std::string>& residual = {"c_proj", "out_proj"},
           Generator* generator = nullptr);

}  // namespace init
}  // namespace tenon::nn
