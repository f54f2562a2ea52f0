// Initial values, with PyTorch's names and formulas. All write in place, under NoGrad, and return the tensor.
//
//   nn::Linear fc(768, 3072);
//   nn::init::normal_(fc.weight, 0, 0.02);
//   nn::init::constant_(fc.bias, 0);

#pragma once

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
/// Keeps the variance through rectifiers with slope `a` below 0 (He et al., 2015).
Tensor& kaiming_uniform_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr);
Tensor& kaiming_normal_(Tensor& weight, double a = 0, FanMode mode = FanMode::in, Generator* generator = nullptr);
/// Keeps the variance forwards and backwards (Glorot and Bengio, 2010).
Tensor& xavier_uniform_(Tensor& weight, double gain = 1, Generator* generator = nullptr);
Tensor& xavier_normal_(Tensor& weight, double gain = 1, Generator* generator = nullptr);

/// GPT-2's: matrices normal with deviation 0.02, those that end a residual branch (their path ends in one of
/// `residual`, as "attn.c_proj" does) divided by sqrt(2 * layers), biases 0, norms 1.
void gpt2_(Module& model, int64_t layers, const std::vector<std::string>& residual = {"c_proj", "out_proj"},
           Generator* generator = nullptr);

}  // namespace init
}  // namespace tenon::nn
