// tenon.fft.

#include "bind.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

using namespace py::literals;

using OfOne = Tensor (*)(const Tensor&, fft::Size, int64_t, std::string_view);
using OfTwo = Tensor (*)(const Tensor&, const fft::Sizes&, const Dims&, std::string_view);
using OfAll = Tensor (*)(const Tensor&, const fft::Sizes&, const fft::Sizes&, std::string_view);

fft::Sizes sizes_in(const py::object& object) {
  if (object.is_none()) return {};
  if (PyLong_Check(object.ptr())) return Dims{py::cast<int64_t>(object)};
  return Convert<Dims>::from(object.ptr());
}

void def(Scope& m, const std::string& name, OfOne one, OfTwo two, OfAll all, const std::string& help) {
  m.def(
      name.c_str(),
      [one](const Tensor& x, std::optional<int64_t> n, int64_t dim, const std::optional<std::string>& norm) {
        const Released others_run;
        return one(x, n, dim, norm.value_or("backward"));
      },
      "input"_a, "n"_a = py::none(), "dim"_a = -1, "norm"_a = py::none(), help.c_str());
  m.def((name + "2").c_str(),
        [two](const Tensor& x, const py::object& s, const Dims& dim, const std::optional<std::string>& norm) {
          const fft::Sizes sizes = sizes_in(s);
          const Released others_run;
          return two(x, sizes, dim, norm.value_or("backward"));
        },
        "input"_a, "s"_a = py::none(), "dim"_a = py::make_tuple(-2, -1), "norm"_a = py::none(),
        (help + " Of two dims.").c_str());
  m.def((name + "n").c_str(),
        [all](const Tensor& x, const py::object& s, const py::object& dim, const std::optional<std::string>& norm) {
          const fft::Sizes sizes = sizes_in(s), dims = sizes_in(dim);
          const Released others_run;
          return all(x, sizes, dims, norm.value_or("backward"));
        },
        "input"_a, "s"_a = py::none(), "dim"_a = py::none(), "norm"_a = py::none(),
        (help + " Of several dims, or all.").c_str());
}

Options options_of(const py::object& dtype, const py::object& device) {
  Options options;
  if (!dtype.is_none()) options.dtype = Convert<DType>::from(dtype.ptr());
  if (!device.is_none()) options.device = Convert<Device>::from(device.ptr());
  return options;
}

}  // namespace

void bind_fft(Scope& m) {
  Scope made = m.def_submodule("_fft");
  def(made, "fft", fft::fft, fft::fft2, fft::fftn,
      "The Fourier transform of complex numbers, which are pairs: (..., 2).");
  def(made, "ifft", fft::ifft, fft::ifft2, fft::ifftn, "The inverse of fft().");
  def(made, "rfft", fft::rfft, fft::rfft2, fft::rfftn,
      "The transform of real numbers: its first n // 2 + 1 elements along the last dim, as pairs.");
  def(made, "irfft", fft::irfft, fft::irfft2, fft::irfftn, "The inverse of rfft(): real numbers.");
  const auto frequencies = [&](const char* name, Tensor (*f)(int64_t, double, const Options&), const char* help) {
    made.def(
        name,
        [f](int64_t n, double d, const py::object& dtype, const py::object& device) {
          return f(n, d, options_of(dtype, device));
        },
        "n"_a, "d"_a = 1.0, py::kw_only(), "dtype"_a = py::none(), "device"_a = py::none(), help);
  };
  frequencies("fftfreq", fft::fftfreq, "The frequencies of fft()'s elements for n samples at distances d.");
  frequencies("rfftfreq", fft::rfftfreq, "The frequencies of rfft()'s elements for n samples at distances d.");
}

}  // namespace tenon::python
