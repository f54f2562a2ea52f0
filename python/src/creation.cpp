// New tensors whose arguments come in several forms, and the gradient of existing ones.

#include "creation.h"

#include "functions.h"

namespace tenon::python {

Options options_of(std::optional<DType> dtype, const Device& device, bool requires_grad) {
  Options options{device};
  options.dtype = dtype;
  options.requires_grad = requires_grad;
  return options;
}

Options like(const Tensor& x, std::optional<DType> dtype, const py::object& device, bool requires_grad) {
  return options_of(dtype ? dtype : x.dtype(), device.is_none() ? x.device() : Convert<Device>::from(device.ptr()),
                    requires_grad);
}

double end_of(const py::object& given) {
  if (!is_tensor(given.ptr())) return Convert<double>::from(given.ptr());
  const Tensor& number = tensor_in(given.ptr());
  if (number.dim() != 0)
    throw_type_error(fmt::format("a number or a tensor without dims is needed, not {}", ir::to_string(number.shape())));
  const Released others_run;
  return number.item<double>();
}

namespace {

Tensor finished(Tensor made, bool requires_grad) {
  if (requires_grad) made.requires_grad_();
  return made;
}

std::pair<int64_t, int64_t> limits(int64_t low, const py::object& high) {
  return high.is_none() ? std::pair<int64_t, int64_t>(0, low) : std::pair(low, integer_of(high.ptr(), "an integer"));
}

}  // namespace

Tensor tensor_like(const py::object& data, const Options& options) {
  return finished(tensor_of_object(data.ptr(), options.dtype, options.device), options.requires_grad);
}

void note_creation_by_hand() {
  define<"arange", "start=None, end=None, step=1, dtype=None, device=None, requires_grad=False",
         [](const py::object& start, const py::object& end, Number step, std::optional<DType> dtype,
            const Device& device, bool requires_grad) {
           const Options options = options_of(dtype, device, requires_grad);
           if (start.is_none() && end.is_none()) throw_type_error("arange() lacks its argument 'end'");
           const auto number = [](const py::object& given) { return Convert<Number>::from(given.ptr()); };
           if (end.is_none()) return arange(Number(0), number(start), step, options);
           return arange(start.is_none() ? Number(0) : number(start), number(end), step, options);
         }>("Numbers from start, which is 0 unless given, to before end.", kFunction);
  define<"tensor", "data, dtype=None, device=None, requires_grad=False",
         [](const py::object& data, std::optional<DType> dtype, const py::object& device, bool requires_grad) {
           std::optional<Device> where;
           if (!device.is_none()) where = Convert<Device>::from(device.ptr());
           return finished(tensor_of_object(data.ptr(), dtype, where), requires_grad);
         }>(
      "A tensor of numbers, lists or an array, which are copied.\n\n>>> import tenon\n"
      ">>> tenon.tensor([[1, 2], [3, 4]])\ntensor([[1, 2],\n        [3, 4]])",
      kFunction);
  define<"randint", "low=0, high=None, size=None, dtype=None, device=None, generator=None, requires_grad=False",
         [](int64_t low, py::object high, py::object size, std::optional<DType> dtype, const Device& device,
            Generator* generator, bool) {
           if (size.is_none() && (PyTuple_Check(high.ptr()) || PyList_Check(high.ptr())))  // randint(10, (2, 3))
             size = std::exchange(high, py::none());
           if (size.is_none()) throw_type_error("randint() lacks its argument 'size'");
           const auto [first, end] = limits(low, high);
           return randint(first, end, dims_of(size.ptr(), "sizes"), options_of(dtype ? dtype : DType::i64, device),
                          generator);
         }>("Random integers from low to below high; of one number, from 0 to below it.", kFunction);
  define<"randint_like", "x, low=0, high=None, dtype=None, device=None, requires_grad=False",
         [](const Tensor& x, int64_t low, const py::object& high, std::optional<DType> dtype, const py::object& device,
            bool requires_grad) {
           const auto [first, end] = limits(low, high);
           return finished(randint(first, end, x.shape(), like(x, dtype, device, false)), requires_grad);
         }>("Random integers from low to below high, or from 0 to below low, in the shape and dtype of another tensor.",
            kFunction);
  // Gradients and evaluation.
  define<"backward", "x, gradient=None, retain_graph=False, create_graph=False",
         [](Tensor x, const std::optional<Tensor>& gradient, bool retain, bool create) -> py::object {
           computed([&] { x.backward(gradient.value_or(Tensor()), retain, create); });
           return py::none();
         }>(
      "Adds the gradient of this value to every leaf below it.\n\n>>> import tenon\n"
      ">>> w = tenon.tensor([1., 2.], requires_grad=True)\n>>> (w * w).sum().backward()\n>>> w.grad\n"
      "tensor([2., 4.])",
      kMethod);
  define<"requires_grad_", "x, requires_grad=True", [](Tensor x, bool on) {
    x.requires_grad_(on);
    return Same();
  }>("Makes it a leaf that collects gradients, or not.", kMethod);
  define<"retain_grad", "x", [](Tensor x) -> py::object {
    x.retain_grad();
    return py::none();
  }>("Keeps the gradient of a tensor that is no leaf, too.", kMethod);
  define<"eval", "x", [](const Tensor& x) { return computed([&] { return x.eval(); }); }>(
      "Starts computing now; reading waits for it.", kMethod);
  define<"wait", "x", [](const Tensor& x) {
    const Released others_run;
    compute(x);
    return x;
  }>("Computes it and returns when it is there.", kMethod);
  define<"is_evaluated", "x", [](const Tensor& x) { return x.is_evaluated(); }>("Whether it was computed already.",
                                                                                kMethod);
}

}  // namespace tenon::python
