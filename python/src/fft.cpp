// tenon.fft.

#include "bind.h"
#include "creation.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

using OfOne = Tensor (*)(const Tensor&, fft::Size, int64_t, std::string_view);
using OfTwo = Tensor (*)(const Tensor&, const fft::Sizes&, const Dims&, std::string_view);
using OfAll = Tensor (*)(const Tensor&, const fft::Sizes&, const fft::Sizes&, std::string_view);

void def(Scope& m, const std::string& name, const std::string& help, OfOne one, OfTwo two, OfAll all) {
  m.def(name + "(input, n=None, dim=-1, norm=None)", help.c_str(),
        [one](const Tensor& x, std::optional<int64_t> n, int64_t dim, const std::optional<std::string>& norm) {
          return computed([&] { return one(x, n, dim, norm.value_or("backward")); });
        });
  m.def(name + "2(input, s=None, dim=(-2,-1), norm=None)", (help + " Of two dims.").c_str(),
        [two](const Tensor& x, const fft::Sizes& s, const Dims& dim, const std::optional<std::string>& norm) {
          return computed([&] { return two(x, s, dim, norm.value_or("backward")); });
        });
  m.def(name + "n(input, s=None, dim=None, norm=None)", (help + " Of several dims, or all.").c_str(),
        [all](const Tensor& x, const fft::Sizes& s, const fft::Sizes& dim, const std::optional<std::string>& norm) {
          return computed([&] { return all(x, s, dim, norm.value_or("backward")); });
        });
}

}  // namespace

void bind_fft(Scope& m) {
  Scope made = m.def_submodule("_fft");
  def(made, "fft", "The Fourier transform of complex numbers, which are pairs: (..., 2).", fft::fft, fft::fft2,
      fft::fftn);
  def(made, "ifft", "The inverse of fft().", fft::ifft, fft::ifft2, fft::ifftn);
  def(made, "rfft", "The transform of real numbers: its first n // 2 + 1 elements along the last dim, as pairs.",
      fft::rfft, fft::rfft2, fft::rfftn);
  def(made, "irfft", "The inverse of rfft(): real numbers.", fft::irfft, fft::irfft2, fft::irfftn);
  const auto frequencies = [&](const std::string& name, const char* help,
                               Tensor (*f)(int64_t, double, const Options&)) {
    made.def(name + "(n, d=1.0, *, dtype=None, device=None)", help,
             [f](int64_t n, double d, std::optional<DType> dtype, const Device& device) {
               return f(n, d, options_of(dtype, device));
             });
  };
  frequencies("fftfreq", "The frequencies of fft()'s elements for n samples at distances d.", fft::fftfreq);
  frequencies("rfftfreq", "The frequencies of rfft()'s elements for n samples at distances d.", fft::rfftfreq);
}

}  // namespace tenon::python
