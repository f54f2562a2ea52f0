// Written by scripts/make_functions.py from tenon/tensor/creation.def; do not edit.
//
// Functions and methods that make tensors.

#include "computed.h"
#include "functions.h"
#include "creation.h"

namespace tenon::python {

// clang-format off
void note_creation() {
  define<"zeros", "*size, dtype=None, device=None, requires_grad=False", [](const Dims& size, std::optional<DType> dtype, const Device& device, bool requires_grad) { return zeros(size, options_of(dtype, device, requires_grad)); }>("Zeros of a shape.\n\n>>> import tenon\n>>> tenon.zeros(2, 2)\ntensor([[0., 0.],\n        [0., 0.]])", kFunction);
  define<"ones", "*size, dtype=None, device=None, requires_grad=False", [](const Dims& size, std::optional<DType> dtype, const Device& device, bool requires_grad) { return ones(size, options_of(dtype, device, requires_grad)); }>("Ones of a shape.", kFunction);
  define<"empty", "*size, dtype=None, device=None, requires_grad=False", [](const Dims& size, std::optional<DType> dtype, const Device& device, bool requires_grad) { return empty(size, options_of(dtype, device, requires_grad)); }>("For code that fills it anyway; holds zeros.", kFunction);
  define<"full", "size, fill_value, dtype=None, device=None, requires_grad=False", [](const Dims& size, Number fill_value, std::optional<DType> dtype, const Device& device, bool requires_grad) { return full(size, fill_value, options_of(dtype, device, requires_grad)); }>("One number everywhere.", kFunction);
  define<"eye", "n, m=None, dtype=None, device=None, requires_grad=False", [](int64_t n, std::optional<int64_t> m, std::optional<DType> dtype, const Device& device, bool requires_grad) { return eye(n, m, options_of(dtype, device, requires_grad)); }>("1 on the diagonal, else 0.", kFunction);
  define<"linspace", "start, end, steps, dtype=None, device=None, requires_grad=False", [](const py::object& start, const py::object& end, int64_t steps, std::optional<DType> dtype, const Device& device, bool requires_grad) { return linspace(end_of(start), end_of(end), steps, options_of(dtype, device, requires_grad)); }>("So many numbers at even distances, both ends among them.", kFunction);
  define<"logspace", "start, end, steps, base=10.0, dtype=None, device=None, requires_grad=False", [](const py::object& start, const py::object& end, int64_t steps, double base, std::optional<DType> dtype, const Device& device, bool requires_grad) { return logspace(end_of(start), end_of(end), steps, base, options_of(dtype, device, requires_grad)); }>("Powers of a base whose exponents are at even distances.", kFunction);
  define<"rand", "*size, dtype=None, device=None, requires_grad=False, generator=None", [](const Dims& size, std::optional<DType> dtype, const Device& device, bool requires_grad, Generator* generator) { return rand(size, options_of(dtype, device, requires_grad), generator); }>("Random numbers, even in [0, 1).", kFunction);
  define<"randn", "*size, dtype=None, device=None, requires_grad=False, generator=None", [](const Dims& size, std::optional<DType> dtype, const Device& device, bool requires_grad, Generator* generator) { return randn(size, options_of(dtype, device, requires_grad), generator); }>("Random numbers of mean 0 and variance 1.", kFunction);
  define<"randperm", "n, dtype=None, device=None, generator=None", [](int64_t n, std::optional<DType> dtype, const Device& device, Generator* generator) { return randperm(n, options_of(dtype.value_or(DType::i64), device), generator); }>("0 to n - 1 in random order.", kFunction);
  define<"zeros_like", "x, dtype=None, device=None, requires_grad=False", [](const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return zeros(x.shape(), like(x, dtype, device, requires_grad)); }>("Zeros in the shape of another tensor.", kFunction);
  define<"ones_like", "x, dtype=None, device=None, requires_grad=False", [](const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return ones(x.shape(), like(x, dtype, device, requires_grad)); }>("Ones in the shape of another tensor.", kFunction);
  define<"empty_like", "x, dtype=None, device=None, requires_grad=False", [](const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return empty(x.shape(), like(x, dtype, device, requires_grad)); }>("As empty, in the shape of another tensor.", kFunction);
  define<"full_like", "x, fill_value, dtype=None, device=None, requires_grad=False", [](const Tensor& x, Number fill_value, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return full(x.shape(), fill_value, like(x, dtype, device, requires_grad)); }>("One number everywhere, in the shape of another tensor.", kFunction);
  define<"rand_like", "x, dtype=None, device=None, requires_grad=False, generator=None", [](const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad, Generator* generator) { return rand(x.shape(), like(x, dtype, device, requires_grad), generator); }>("rand in the shape of x.", kFunction);
  define<"randn_like", "x, dtype=None, device=None, requires_grad=False, generator=None", [](const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad, Generator* generator) { return randn(x.shape(), like(x, dtype, device, requires_grad), generator); }>("randn in the shape of x.", kFunction);
  define<"new_zeros", "x, *size, dtype=None, device=None, requires_grad=False", [](const Tensor& x, const Dims& size, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return zeros(size, like(x, dtype, device, requires_grad)); }>("Zeros in the dtype and on the device of this tensor.", kMethod);
  define<"new_ones", "x, *size, dtype=None, device=None, requires_grad=False", [](const Tensor& x, const Dims& size, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return ones(size, like(x, dtype, device, requires_grad)); }>("Ones in the dtype and on the device of this tensor.", kMethod);
  define<"new_empty", "x, *size, dtype=None, device=None, requires_grad=False", [](const Tensor& x, const Dims& size, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return empty(size, like(x, dtype, device, requires_grad)); }>("As empty, in the dtype and on the device of this tensor.", kMethod);
  define<"new_full", "x, size, fill_value, dtype=None, device=None, requires_grad=False", [](const Tensor& x, const Dims& size, Number fill_value, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return full(size, fill_value, like(x, dtype, device, requires_grad)); }>("One number everywhere, in the dtype and on the device of this tensor.", kMethod);
  define<"new_tensor", "x, data, dtype=None, device=None, requires_grad=False", [](const Tensor& x, const py::object& data, std::optional<DType> dtype, const py::object& device, bool requires_grad) { return tensor_like(data, like(x, dtype, device, requires_grad)); }>("As tensor(), in the dtype and on the device of this tensor.", kMethod);
}

}  // namespace tenon::python
