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
  int64_t in, out;  // numbers that go into an element of the result, and that an element of the input goes to
};
/// Of a weight (out, in, ...); further dims are a receptive field.
///   nn::init::fans_of(zeros({4, 3})).in;  // 3
Fans fans_of(const Tensor& weight);

/// Whose variance is kept: that of what goes in, or of the gradients that come back.
enum class FanMode : uint8_t { in, out };

/// Even between low and high.
///   nn::init::uniform_(net.weight, -0.1, 0.1);
Tensor& uniform_(Tensor& x, double low = 0, double high = 1, Generator* generator = nullptr);
/// Normal around a mean.
///   nn::init::normal_(net.weight, 0, 0.02);
Tensor& normal_(Tensor& x, double mean = 0, double deviation = 1, Generator* generator = nullptr);
/// Normal, drawn again where outside of low..high.
///   nn::init::trunc_normal_(net.weight, 0, 0.02, -0.04, 0.04);
Tensor& trunc_normal_(Tensor& x, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                      Generator* generator = nullptr);
/// One number everywhere.
///   nn::init::constant_(net.bias, 0);
Tensor& constant_(Tensor& x, double value);
/// What a nonlinearity asks of the spread of the weights before it: "linear", "sigmoid", "tanh", "relu", "selu",
/// "leaky_relu" of a slope, 0.01 unless given, or a convolution ("conv2d", ...), which is linear.
///   nn::init::calculate_gain("tanh");  // 1.667
double calculate_gain(std::string_view nonlinearity, std::optional<double> slope = {});
/// Keeps the variance through rectifiers with slope `a` below 0, or through another nonlinearity (He et al., 2015).
///   nn::init::kaiming_uniform_(net.weight);
Tensor& kaiming_uniform_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr,
                         std::string_view nonlinearity = "leaky_relu");
Tensor& kaiming_normal_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr,
                        std::string_view nonlinearity = "leaky_relu");
/// Keeps the variance forwards and backwards (Glorot and Bengio, 2010).
///   nn::init::xavier_uniform_(net.weight);
Tensor& xavier_uniform_(Tensor& weight, double gain = 1, Generator* generator = nullptr);
Tensor& xavier_normal_(Tensor& weight, double gain = 1, Generator* generator = nullptr);
/// 1 on the diagonal of a matrix, 0 elsewhere.
///   Tensor y = empty({2, 2});
///   nn::init::eye_(y);  // [[1. 0.] [0. 1.]]
Tensor& eye_(Tensor& matrix);
/// Weights of a convolution (out, in, ...) that hands its channels on as they are, in each of its groups.
///   Tensor weight = empty({2, 2, 3});
///   nn::init::dirac_(weight);
Tensor& dirac_(Tensor& weight, int64_t groups = 1);
/// Rows, or columns where there are fewer, at right angles to each other (Saxe et al., 2013). Computes at once.
///   nn::init::orthogonal_(net.weight);
Tensor& orthogonal_(Tensor& weight, double gain = 1, Generator* generator = nullptr);

/// GPT-2's: matrices normal with deviation 0.02, those that end a residual branch (their path ends in one of
/// `residual`, as "attn.c_proj" does) divided by sqrt(2 * layers), biases 0, norms 1.
///   nn::init::gpt2_(net, 12);
void gpt2_(Module& model, int64_t layers, const std::vector<std::string>& residual = {"c_proj", "out_proj"},
           Generator* generator = nullptr);

}  // namespace init
}  // namespace tenon::nn
