// Fourier transforms under PyTorch's names, over complex numbers that are pairs.
//
//   Tensor spectrum = fft::rfft(signal);            // (..., n / 2 + 1, 2): real and imaginary parts
//   Tensor filtered = fft::irfft(spectrum * gain);  // (..., n)
//
// A complex tensor of shape (...) is a real one of shape (..., 2), as PyTorch's view_as_real() shows it; dims are those
// of the complex tensor: -1 is the one before the pairs. Tensors are f32 or f64; whole numbers become f32.
//
// FFTW transforms (Debian's libfftw3-single3 and libfftw3-double3, which are opened when they are first needed), on the
// host: such a function computes its operand at once, with one transfer each way for a tensor of another device, and is
// refused inside captured functions. Gradients are transforms, and have gradients in turn.
//
// n, s: sizes before the transform, or after irfft(); what is longer is cut, what is shorter padded with zeros.
// norm: "backward" divides the inverse by the number of elements, "forward" the transform, "ortho" both by its root.

#pragma once

#include <optional>
#include <string_view>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/tensor.h"

namespace tenon::fft {

/// A size before the transform, or those of several dims; those of the operand unless given.
using Size = std::optional<int64_t>;
using Sizes = std::optional<Dims>;

// ---- one dim ----

/// The Fourier transform of complex numbers, and the way back.
///   fft::fft(tensor({{1.0, 0.0}, {1.0, 0.0}}));  // [[2. 0.] [0. 0.]]
Tensor fft(const Tensor& x, Size n = {}, int64_t dim = -1, std::string_view norm = "backward");
Tensor ifft(const Tensor& x, Size n = {}, int64_t dim = -1, std::string_view norm = "backward");
/// Of real numbers: the first n / 2 + 1 elements; the others are their conjugates.
///   fft::rfft(tensor({1.0, 1.0, 1.0, 1.0})).shape();  // (3, 2)
Tensor rfft(const Tensor& x, Size n = {}, int64_t dim = -1, std::string_view norm = "backward");
/// Back to n real numbers, 2 (m - 1) of m elements unless given.
///   fft::irfft(fft::rfft(tensor({1.0, 2.0, 3.0, 4.0})));  // [1. 2. 3. 4.]
Tensor irfft(const Tensor& x, Size n = {}, int64_t dim = -1, std::string_view norm = "backward");

// ---- several dims: the last two, or those given, or all; the real ones halve the last of them ----

/// The same over several dims.
///   fft::rfft2(ones({4, 6})).shape();  // (4, 4, 2)
Tensor fft2(const Tensor& x, const Sizes& s = {}, const Dims& dim = {-2, -1}, std::string_view norm = "backward");
Tensor ifft2(const Tensor& x, const Sizes& s = {}, const Dims& dim = {-2, -1}, std::string_view norm = "backward");
Tensor rfft2(const Tensor& x, const Sizes& s = {}, const Dims& dim = {-2, -1}, std::string_view norm = "backward");
Tensor irfft2(const Tensor& x, const Sizes& s = {}, const Dims& dim = {-2, -1}, std::string_view norm = "backward");
Tensor fftn(const Tensor& x, const Sizes& s = {}, const Sizes& dim = {}, std::string_view norm = "backward");
Tensor ifftn(const Tensor& x, const Sizes& s = {}, const Sizes& dim = {}, std::string_view norm = "backward");
Tensor rfftn(const Tensor& x, const Sizes& s = {}, const Sizes& dim = {}, std::string_view norm = "backward");
Tensor irfftn(const Tensor& x, const Sizes& s = {}, const Sizes& dim = {}, std::string_view norm = "backward");

// ---- frequencies ----

/// The frequencies of the elements of fft() of n samples at distances d.
///   fft::fftfreq(4);  // [0. 0.25 -0.5 -0.25]
Tensor fftfreq(int64_t n, double d = 1, const Options& options = {});
/// The same of rfft().
///   fft::rfftfreq(4);  // [0. 0.25 0.5]
Tensor rfftfreq(int64_t n, double d = 1, const Options& options = {});

}  // namespace tenon::fft
