// Functions of the table whose arguments Python takes in several ways, and what Python asks of a tensor itself.

#include "creation.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

double power_of(const py::object& p) {
  if (p.is_none()) return 2;
  if (!PyUnicode_Check(p.ptr())) return Convert<double>::from(p.ptr());
  const std::string name = py::cast<std::string>(p);
  if (name != "fro") throw_value_error(fmt::format("there is no norm '{}'; there are numbers and 'fro'", name));
  return 2;
}

// How PyTorch computes: distances are those of the differences here, whatever the mode.
void require_compute_mode(const py::object& mode) {
  if (mode.is_none()) return;
  const std::string name = Convert<std::string>::from(mode.ptr());
  if (name != "use_mm_for_euclid_dist_if_necessary" && name != "use_mm_for_euclid_dist" &&
      name != "donot_use_mm_for_euclid_dist")
    throw_value_error(fmt::format("there is no compute_mode '{}'", name));
}

int64_t address_of(const Tensor& x) {
  return computed(
      [&] { return dispatch(x.dtype(), [&]<typename T>() { return reinterpret_cast<int64_t>(x.data_ptr<T>()); }); });
}

// The same object of Python's with another tensor: shape and history of a tensor itself are not to be changed. A shape
// that changes under no_grad() does not cut it from its history.
template <Text kName, auto F, typename... A>
py::object with_other_tensor(const py::object& self, const A&... arguments) {
  Tensor& held = tensor_in(self.ptr());
  if (reinterpret_cast<PyTensor*>(self.ptr())->is_known || (held.is_leaf() && held.requires_grad()))
    base::fail(kName.chars,
               "a parameter, or another leaf that requires grad, cannot be changed in place; use its .data");
  const auto changed = [&] {
    const EnableGrad keeps_history;  // and lets values with gradients be written later
    return F(held, arguments...);
  };
  replace_by(kName.chars, held, changed());
  return self;
}
template <Text kName, auto F, typename R, typename... A>
constexpr auto replacing(R (*)(const Tensor&, A...)) {
  return [](const py::object& self, A... arguments) { return with_other_tensor<kName, F>(self, arguments...); };
}
/// The function in place that `F` is in another place.
template <Text kName, auto F>
constexpr auto replaced = replacing<kName, F>(+F);

Tensor transposed(const Tensor& x, int64_t dim0, int64_t dim1) { return x.transpose(dim0, dim1); }

// Distances are numbers, one for all dims or one for each; places are vectors.
std::vector<Tensor> spacings_of(const py::object& given, const Tensor& x, size_t dims) {
  if (given.is_none()) return {};
  const auto one = [&](PyObject* object) {
    if (is_tensor(object)) return tensor_in(object);
    return full({}, Convert<double>::from(object),
                Options(x.dtype() == DType::f64 ? DType::f64 : DType::f32, x.device()));
  };
  if (!PyList_Check(given.ptr()) && !PyTuple_Check(given.ptr())) return std::vector<Tensor>(dims, one(given.ptr()));
  std::vector<Tensor> spacings;
  for (const py::handle part : given) spacings.push_back(one(part.ptr()));
  return spacings;
}

/// What is one tensor of all elements, and values and indices along a dim.
template <auto F>
py::object of_all_or_along(const Tensor& x, const py::object& dim, bool keepdim) {
  return dim.is_none() ? object_of(F(x)) : object_of(F(x, integer_of(dim.ptr(), "a dim"), keepdim));
}

/// Where elements are not 0, one tensor for each dim; those of a single number are those of a vector of one.
py::object positions_of(const Tensor& x) {
  return object_of(computed([&] { return nonzero(x.dim() == 0 ? x.reshape({1}) : x).unbind(1); }));
}

Tensor squeezed(const Tensor& x, const py::object& dim) {
  return dim.is_none() ? x.squeeze() : x.squeeze(dims_of(dim.ptr(), "a dim or a list of dims"));
}

/// The letters of dims that are given by numbers, 0 .. 51, as PyTorch has them.
std::string letters_of(PyObject* sublist) {
  const py::object dims = owned(PySequence_Tuple(sublist));
  std::string letters;
  for (const py::handle dim : dims) {
    if (dim.ptr() == Py_Ellipsis) {
      letters += "...";
      continue;
    }
    const int64_t number = integer_of(dim.ptr(), "a number of a dim, or ...");
    if (number < 0 || number >= 52) throw_value_error(fmt::format("dims have numbers from 0 to 51, not {}", number));
    letters += static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26);
  }
  return letters;
}

/// An equation and tensors; or tensors, each with the numbers of its dims, and the numbers of the result's.
Tensor einsum_of(const py::object& equation, const py::object& operands) {
  if (!is_tensor(equation.ptr()))
    return einsum(Convert<std::string>::from(equation.ptr()), Convert<SeveralTensors>::from(operands.ptr()).all);
  // One argument behind the first tensor is the numbers of its dims themselves, several are a tuple of them.
  const auto is_sublist = [](const py::handle& one) { return PyList_Check(one.ptr()) || PyTuple_Check(one.ptr()); };
  py::tuple rest = PyTuple_Check(operands.ptr()) ? py::reinterpret_borrow<py::tuple>(operands) : py::tuple();
  if (rest.empty() || !is_sublist(rest[0])) rest = py::make_tuple(operands);
  std::vector<Tensor> tensors{tensor_in(equation.ptr())};
  std::string text;
  size_t at = 0;
  const auto take_sublist = [&] {
    if (at == rest.size() || !is_sublist(rest[at]))
      throw_type_error(
          "einsum() takes an equation and tensors, or tensors each with a list of the numbers of its dims");
    text += letters_of(py::object(rest[at++]).ptr());
  };
  take_sublist();
  while (at < rest.size() && is_tensor(py::object(rest[at]).ptr())) {
    tensors.push_back(tensor_in(py::object(rest[at++]).ptr()));
    text += ',';
    take_sublist();
  }
  if (at < rest.size()) {
    text += "->";
    take_sublist();
  }
  if (at < rest.size()) throw_type_error("einsum() takes nothing after the numbers of the result's dims");
  return einsum(text, tensors);
}

/// Of one limit, from 0 on; of two, None as the second stands for all that the dtype has.
Same draw_integers(Tensor x, const py::object& limits, std::optional<int64_t> low, std::optional<int64_t> high,
                   Generator* generator) {
  if (!PyTuple_Check(limits.ptr())) {
    high = integer_of(limits.ptr(), "an integer");
  } else if (const auto both = py::reinterpret_borrow<py::tuple>(limits); !both.empty()) {
    if (both.size() > 2) throw_type_error("random_() takes 'from' and 'to', and a generator");
    low = Convert<std::optional<int64_t>>::from(py::object(both[0]).ptr());
    high = Convert<std::optional<int64_t>>::from(py::object(both[1]).ptr());
  }
  x.random_(low.value_or(0), high, generator);
  return {};
}

/// A dtype, also under its older name: a text such as "torch.FloatTensor", or the function tenon.FloatTensor.
DType dtype_of_older_name(const py::object& object) {
  std::string name;
  if (PyUnicode_Check(object.ptr()))
    name = py::cast<std::string>(object);
  else if (PyFunction_Check(object.ptr()))
    name = py::cast<std::string>(object.attr("__name__"));
  name = name.substr(name.rfind('.') + 1);
  for (const DType dtype : kAllDTypes) {
    if (name == names_of(dtype).older) return dtype;
  }
  return Convert<DType>::from(object.ptr());
}

/// Arguments that do not fit are Python's ValueError.
template <typename F>
auto with_values(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw_value_error(error.what());
  }
}

/// One result for a tensor that is given alone, a tuple for several.
template <auto F>
py::object each(const py::object& tensors) {
  if (is_tensor(tensors.ptr())) return object_of(F(tensor_in(tensors.ptr())));
  std::vector<Tensor> made;
  for (const Tensor& one : Convert<std::vector<Tensor>>::from(tensors.ptr())) made.push_back(F(one));
  return object_of(made);
}

std::vector<Tensor> parts(const Tensor& x, const py::object& where, int64_t dim) {
  return with_values([&] {
    const bool is_number = is_tensor(where.ptr()) ? tensor_in(where.ptr()).dim() == 0 : is_integer(where.ptr());
    if (is_number) return tensor_split(x, integer_of(where.ptr(), "a number of parts"), dim);
    const py::object ends = is_tensor(where.ptr()) ? where.attr("tolist")() : where;
    return tensor_split(x, dims_of(ends.ptr(), "a number of parts or a list of positions"), dim);
  });
}

/// Parts along a dim that the tensor must have; so many have to be of one size.
std::vector<Tensor> even_parts(const char* name, const Tensor& x, const py::object& where, int64_t dim, int64_t least) {
  if (x.dim() < least)
    throw_value_error(
        fmt::format("{}() needs a tensor of {} dims or more, not {}", name, least, ir::to_string(x.shape())));
  if (is_integer(where.ptr())) {
    const int64_t count = integer_of(where.ptr(), "a number of parts");
    if (count < 1 || x.size(dim) % count != 0)
      throw_value_error(
          fmt::format("{}() cannot divide a dim of {} into {} parts of one size", name, x.size(dim), count));
  }
  return parts(x, where, dim);
}

Tensor triangle(Tensor (*f)(int64_t, int64_t, int64_t, const Options&), int64_t row, int64_t col, int64_t offset,
                std::optional<DType> dtype, const Device& device) {
  return with_values([&] { return computed([&] { return f(row, col, offset, options_of(dtype, device)); }); });
}

py::object smallest_and_largest(const Tensor& x, const Axes& dim, bool keepdim) {
  static const py::handle type =
      py::module_::import("collections").attr("namedtuple")("MinMax", "min max", py::arg("module") = "tenon").release();
  return type(amin(x, dim, keepdim), amax(x, dim, keepdim));
}

/// PyTorch's older calls say std(False) or std(dim, unbiased=False).
struct Spread {
  Axes dim;
  double correction;
  Spread(const py::object& given, const py::object& degrees, const py::object& unbiased)
      : correction(degrees.is_none() ? 1 : Convert<double>::from(degrees.ptr())) {
    if (PyBool_Check(given.ptr()))
      correction = given.ptr() == Py_True ? 1 : 0;
    else
      dim = Convert<Axes>::from(given.ptr());
    if (!unbiased.is_none()) correction = Convert<bool>::from(unbiased.ptr()) ? 1 : 0;
  }
};

/// What f gives of the dims and the correction.
template <auto F>
auto spread(const Tensor& x, const py::object& dim, const py::object& correction, bool keepdim,
            const py::object& unbiased) {
  const Spread given(dim, correction, unbiased);
  return F(x, given.dim, given.correction, keepdim);
}

}  // namespace

void note_by_hand() {
  define<"where", "condition, input=None, other=None",
         [](const Tensor& condition, std::optional<Operand> input, std::optional<Operand> other) -> py::object {
           if (!input && !other) return positions_of(condition);
           if (!input || !other) throw_type_error("where() takes a condition alone, or a condition and two values");
           return object_of(where(condition, *input, *other));
         }>(
      "input where the condition holds, else other; with a condition alone, the positions where it holds, one tensor "
      "for "
      "each dim.",
      kFunction);
  define<"where", "x, condition, other", [](const Tensor& x, const Tensor& condition, const Operand& other) {
    return x.where(condition, other);
  }>("This tensor where the condition holds, else the other.", kMethod);
  define<"max", "x, dim=None, keepdim=False, other=None",
         [](const Tensor& x, const py::object& dim, bool keepdim, const std::optional<Tensor>& other) {
           if (other || is_tensor(dim.ptr())) return object_of(maximum(x, other ? *other : tensor_in(dim.ptr())));
           return of_all_or_along<[](const auto&... a) { return tenon::max(a...); }>(x, dim, keepdim);
         }>("The largest element of all; with a dim, values and indices along it; with another tensor, as maximum.");
  define<"min", "x, dim=None, keepdim=False, other=None",
         [](const Tensor& x, const py::object& dim, bool keepdim, const std::optional<Tensor>& other) {
           if (other || is_tensor(dim.ptr())) return object_of(minimum(x, other ? *other : tensor_in(dim.ptr())));
           return of_all_or_along<[](const auto&... a) { return tenon::min(a...); }>(x, dim, keepdim);
         }>("The smallest element of all; with a dim, values and indices along it.");
  define<"median", "x, dim=None, keepdim=False", of_all_or_along<[](const auto&... a) { return tenon::median(a...); }>>(
      "The middle element of all; with a dim, values and indices along it.");
  define<"nanmedian", "x, dim=None, keepdim=False",
         of_all_or_along<[](const auto&... a) { return tenon::nanmedian(a...); }>>(
      "As median, of the elements that are not NaN.");
  define<"var", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         spread<[](const auto&... a) { return tenon::var(a...); }>>(
      "Variances; the sum is divided by n - correction, that is by n with unbiased=False.");
  define<"std", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         spread<[](const auto&... a) { return tenon::std(a...); }>>("Standard deviations.");
  define<"norm", "x, p='fro', dim=None, keepdim=False",
         [](const Tensor& x, const py::object& p, const Axes& dim, bool keepdim) {
           return norm(x, power_of(p), dim, keepdim);
         }>("p-norms; 'fro' is p = 2.");
  define<"round", "x, decimals=0", [](const Tensor& x, int64_t decimals) { return tenon::round(x, decimals); }>(
      "Rounds to the nearest integer, halves to even; or to so many decimals.");
  define<"round_", "x, decimals=0", [](Tensor x, int64_t decimals) { return x.round_(decimals); }>("round in place.",
                                                                                                   kMethod);
  define<"roll", "x, shifts, dims=None", [](const Tensor& x, const Dims& shifts, const py::object& dims) {
    return roll(x, shifts, dims.is_none() ? Dims() : dims_of(dims.ptr(), "a dim or a list of dims"));
  }>("Elements moved along dims, those beyond the end to the beginning; without dims, of the tensor laid flat.");
  define<"normal", "mean=0.0, std=1.0, size=None, generator=None, dtype=None, device=None, requires_grad=False",
         [](const Operand& mean, const Operand& std, const py::object& size, Generator* generator,
            std::optional<DType> dtype, const Device& device, bool requires_grad) {
           if (size.is_none()) {
             if (!mean.is_tensor() && !std.is_tensor())
               throw_type_error("normal() needs a size, or tensors as mean or std");
             return normal(mean, std, generator);
           }
           if (mean.is_tensor() || std.is_tensor())
             throw_type_error("normal() takes a size with numbers as mean and std");
           Options options{device};
           options.dtype = dtype;
           Tensor made = zeros(dims_of(size.ptr(), "sizes"), options);
           made.normal_(mean.number().as_double(), std.number().as_double(), generator);
           if (requires_grad) made.requires_grad_();
           return made;
         }>("Normally distributed numbers of given means and deviations, which are numbers or tensors.", kFunction);
  define<"narrow", "x, dim, start, length", [](const Tensor& x, int64_t dim, const py::object& start, int64_t length) {
    if (is_tensor(start.ptr())) {
      const Tensor& given = tensor_in(start.ptr());
      if (given.dim() != 0 || !is_integer(given.dtype()))
        throw_type_error("start is an integer or a tensor of one integer without dims");
    }
    return x.narrow(dim, integer_of(start.ptr(), "start"), length);
  }>("A part along a dim.");
  define<"split", "x, split_size, dim=0", [](const Tensor& x, const py::object& sizes, int64_t dim) {
    if (is_integer(sizes.ptr())) return x.split(integer_of(sizes.ptr(), "a size"), dim);
    return x.split(dims_of(sizes.ptr(), "a size or a list of sizes"), dim);
  }>("Parts of a size, or of several sizes, along a dim.");
  define<"nonzero", "x, as_tuple=False", [](const Tensor& x, bool as_tuple) -> py::object {
    return as_tuple ? positions_of(x) : object_of(computed([&] { return nonzero(x); }));
  }>("The positions of all elements that are not 0, one a row; as a tuple, one tensor for each dim.");
  define<"unique", "x, sorted=True, return_inverse=False, return_counts=False, dim=None",
         [](const Tensor& x, bool, bool with_inverse, bool with_counts, const py::object& dim) -> py::object {
           std::optional<int64_t> along;  // read before others run: Python's objects need its lock
           if (!dim.is_none()) along = integer_of(dim.ptr(), "a dim or None");
           const Unique found = computed([&] { return along ? unique(x, *along) : unique(x); });
           std::vector<Tensor> results{found.values};
           if (with_inverse) results.push_back(found.inverse);
           if (with_counts) results.push_back(found.counts);
           return owned(results.size() == 1 ? wrap_new(results[0]) : to_python(results));
         }>("The different elements, sorted; with a dim, the different slices along it.");
  define<"tensordot", "a, b, dims=2", [](const Tensor& a, const Tensor& b, const py::object& dims) {
    if (is_integer(dims.ptr())) return tensordot(a, b, integer_of(dims.ptr(), "dims"));
    const py::object pair = owned(PySequence_List(dims.ptr()));
    if (!pair || py::len(pair) != 2) throw_type_error("dims are a number or two lists");
    const py::list both(pair);
    return tensordot(a, b, dims_of(py::object(both[0]).ptr(), "dims"), dims_of(py::object(both[1]).ptr(), "dims"));
  }>("Sums products over dims of a and b.");
  define<"einsum", "equation, *operands", einsum_of>(
      "Sums of products, by letters: einsum('ij,jk->ik', a, b); or by numbers of dims: einsum(a, [0, 1], b, [1, 2], "
      "[0, 2]).",
      kFunction);
  define<"cdist", "a, b, p=2.0, compute_mode=None",
         [](const Tensor& a, const Tensor& b, double p, const py::object& mode) {
           require_compute_mode(mode);
           return cdist(a, b, p);
         }>("The p-norm distances between the rows of a and those of b.");
  define<"squeeze", "x, dim=None", squeezed>("Without dims of size 1, or without those of them that are named.");
  define<"squeeze_", "x, dim=None", replaced<"squeeze_", squeezed>>("squeeze in place.", kMethod);
  define<"unsqueeze_", "x, dim", replaced<"unsqueeze_", [](const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }>>(
      "unsqueeze in place.", kMethod);
  define<"t_", "x", replaced<"t_", [](const Tensor& x) { return x.t(); }>>("t in place.", kMethod);
  define<"transpose_", "x, dim0, dim1", replaced<"transpose_", transposed>>("transpose in place.", kMethod);
  define<"swapdims_", "x, dim0, dim1", replaced<"swapdims_", transposed>>("swapdims in place.", kMethod);
  define<"swapaxes_", "x, axis0, axis1", replaced<"swapaxes_", transposed>>("swapaxes in place.", kMethod);
  define<"gradient", "x, spacing=1, dim=None, edge_order=1",
         [](const Tensor& x, const py::object& spacing, const Axes& dim, int64_t edge_order) {
           const size_t dims = dim.empty() ? x.shape().size() : dim.size();
           return gradient(x, spacings_of(spacing, x, dims), dim, edge_order);
         }>(
      "Slopes along dims, or along all: of points a distance apart, one for all dims or a list of them, or at places, "
      "a "
      "list of vectors.",
      kFunction);
  define<"detach_", "x", [](const py::object& self) -> py::object {
    Tensor& x = tensor_in(self.ptr());
    if (!x.is_leaf()) return with_other_tensor<"detach_", [](const Tensor& held) { return held.detach(); }>(self);
    x.requires_grad_(false);
    return self;
  }>("Cuts it from its history.", kMethod);
  define<"positive", "x", [](const Tensor& x) {
    if (x.dtype() == DType::boolean) base::fail("positive", "is not defined on bool");
    return x;
  }>("The tensor itself.");
  define<"copy_", "x, source", [](Tensor x, const Operand& source) { return x.copy_(source); }>(
      "Takes over the values of another tensor, of any dtype and device.", kMethod);
  define<"fill_", "x, value", [](Tensor x, const Operand& value) {
    if (value.is_tensor() && value.tensor().dim() != 0)
      base::fail("fill_", "takes a number or a tensor of no dims, got shape {}", ir::to_string(value.tensor().shape()));
    return x.copy_(value);
  }>("Sets all elements.", kMethod);
  define<"index_put_", "x, indices, values, accumulate=False",
         [](Tensor x, const std::vector<Tensor>& indices, const Operand& values, bool accumulate) {
           const std::vector<IndexEntry> entries(indices.begin(), indices.end());
           return x.index_put_(entries, values, accumulate);
         }>("x[indices] = values, or += with accumulate.", kMethod);

  // What a tensor is and how it is converted.
  define<"size", "x, dim=None", [](const Tensor& x, std::optional<int64_t> dim) -> py::object {
    if (dim) return py::int_(x.size(*dim));
    return shape_object(x.shape());
  }>("The shape, or one of its sizes.", kMethod);
  define<"dim", "x", [](const Tensor& x) { return x.dim(); }>("The number of dims.", kMethod);
  define<"numel", "x", [](const Tensor& x) { return x.numel(); }>("The number of elements.");
  define<"nelement", "x", [](const Tensor& x) { return x.numel(); }>("The number of elements.", kMethod);
  define<"element_size", "x", [](const Tensor& x) { return static_cast<int64_t>(size_of(x.dtype())); }>(
      "The bytes of one element.", kMethod);
  define<"stride", "x, dim=None", [](const Tensor& x, std::optional<int64_t> dim) -> py::object {
    if (dim) return py::int_(x.stride(*dim));
    return tuple_of(x.strides());
  }>("How many elements of memory lie between neighbours.", kMethod);
  define<"storage_offset", "x", [](const Tensor& x) { return x.storage_offset(); }>(
      "How many elements of memory lie before the first one.", kMethod);
  define<"data_ptr", "x", [](const Tensor& x) { return address_of(x); }>(
      "Where its first element lies in memory that the host can address, computed; valid until it is written or gone.",
      kMethod);
  define<"is_contiguous", "x", [](const Tensor& x) { return x.is_contiguous(); }>(
      "Whether elements lie one after the other.", kMethod);
  define<"contiguous", "x, memory_format=None", [](const Tensor& x, const py::object&) { return x.contiguous(); }>(
      "Itself, or a copy in order. The memory format is taken and not needed.", kMethod);
  define<"clone", "x, memory_format=None", [](const Tensor& x, const py::object&) { return x.clone(); }>(
      "A copy. The memory format is taken and not needed.");
  define<"detach", "x", [](const Tensor& x) { return x.detach(); }>("The same values, cut from their history.");
  define<"to", "x, *what=(), dtype=None, device=None, non_blocking=False, copy=False, memory_format=None",
         [](const Tensor& given, const py::object& what, std::optional<DType> dtype, const py::object& device, bool,
            bool copies, const py::object&) {
           const Tensor x = copies ? given.clone() : given;
           std::optional<Device> where;
           if (!device.is_none()) where = Convert<Device>::from(device.ptr());
           const auto take = [&](PyObject* one) {
             if (is_tensor(one)) {
               dtype = tensor_in(one).dtype();
               where = tensor_in(one).device();
             } else if (PyUnicode_Check(one)) {
               where = Convert<Device>::from(one);
             } else if (const auto type = py::isinstance(one, py::type::of(dtype_object(DType::f32)))
                                              ? dtype_of_object(one)
                                              : std::nullopt) {
               dtype = type;
             } else {
               try {
                 where = Convert<Device>::from(one);
               } catch (const py::type_error&) {
                 dtype = Convert<DType>::from(one);
               }
             }
           };
           if (PyTuple_Check(what.ptr())) {
             for (const py::handle one : py::reinterpret_borrow<py::tuple>(what)) take(one.ptr());
           } else {
             take(what.ptr());
           }
           if (where && dtype) return x.to(*where, *dtype);
           return where ? x.to(*where) : dtype ? x.to(*dtype) : x;
         }>("In another dtype or on another device.", kMethod);
  define<"type", "x, dtype=None", [](const Tensor& x, const py::object& dtype) -> py::object {
    if (dtype.is_none()) return py::str(fmt::format("tenon.{}", names_of(x.dtype()).older));
    return owned(to_python(x.to(dtype_of_older_name(dtype))));
  }>("In another dtype; without one, the name of the dtype that it has, as PyTorch calls it.", kMethod);
  define<"type_as", "x, other", [](const Tensor& x, const Tensor& other) { return x.to(other.dtype()); }>(
      "In the dtype of another.", kMethod);
  define<"float", "x", [](const Tensor& x) { return x.to(DType::f32); }>("As float32.", kMethod);
  define<"double", "x", [](const Tensor& x) { return x.to(DType::f64); }>("As float64.", kMethod);
  define<"half", "x", [](const Tensor& x) { return x.to(DType::f16); }>("As float16.", kMethod);
  define<"bfloat16", "x", [](const Tensor& x) { return x.to(DType::bf16); }>("As bfloat16.", kMethod);
  define<"int", "x", [](const Tensor& x) { return x.to(DType::i32); }>("As int32.", kMethod);
  define<"long", "x", [](const Tensor& x) { return x.to(DType::i64); }>("As int64.", kMethod);
  define<"byte", "x", [](const Tensor& x) { return x.to(DType::u8); }>("As uint8.", kMethod);
  define<"bool", "x", [](const Tensor& x) { return x.to(DType::boolean); }>("As bool.", kMethod);
  define<"cpu", "x", [](const Tensor& x) { return x.to(Device("cpu")); }>("On the cpu.", kMethod);
  define<"cuda", "x, device=None, non_blocking=False", [](const Tensor& x, const py::object& device, bool) {
    return x.to(Convert<Device>::from((device.is_none() || is_integer(device.ptr()) ? py::str("cuda") : device).ptr()));
  }>("On the device \"cuda\".", kMethod);
  define<"pin_memory", "x", [](const Tensor&) { return Same(); }>("Taken and not needed.", kMethod);
  define<"share_memory_", "x", [](const Tensor&) { return Same(); }>("Taken and not needed.", kMethod);
  define<"is_pinned", "x, device=None", [](const Tensor&, const py::object&) { return false; }>("False.", kMethod);
  define<"random_", "x, *limits=(), low=None, high=None, generator=None", draw_integers>(
      "Draws new elements, integers from low to below high, which PyTorch calls from and to; of one limit from 0 on, "
      "of "
      "none all that the dtype tells apart.",
      kMethod);
  define<"promote_types", "type1, type2", [](DType a, DType b) -> py::object { return dtype_object(promote(a, b)); }>(
      "The dtype that holds the values of both.", kFunction);
  define<"is_floating_point", "x", [](const Tensor& x) { return is_float(x.dtype()); }>(
      "Whether elements are real numbers.");

  // Positions and parts, and functions of one tensor or several.
  define<"broadcast_shapes", "*shapes", [](const py::object& shapes) -> py::object {
    std::vector<Dims> all;
    if (!PyTuple_Check(shapes.ptr()) || (py::len(shapes) > 0 && is_integer(shapes[py::int_(0)].ptr())))
      all.push_back(dims_of(shapes.ptr(), "a shape"));
    else
      for (const py::handle one : shapes) all.push_back(dims_of(one.ptr(), "a shape"));
    return shape_object(broadcast_shapes(all));
  }>("The shape that tensors of these shapes have together.", kFunction);
  define<"broadcast_tensors", "*tensors", [](const SeveralTensors& tensors) { return broadcast_tensors(tensors.all); }>(
      "The tensors in the shape that they have together; nothing is copied.", kFunction);
  define<"tril_indices", "row, col, offset=0, dtype=None, device=None",
         [](int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, const Device& device) {
           return triangle(tril_indices, row, col, offset, dtype, device);
         }>("Where the elements on and below a diagonal are: their rows, and their columns.", kFunction);
  define<"triu_indices", "row, col, offset=0, dtype=None, device=None",
         [](int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, const Device& device) {
           return triangle(triu_indices, row, col, offset, dtype, device);
         }>("Where the elements on and above a diagonal are: their rows, and their columns.", kFunction);
  define<"block_diag", "*tensors", [](const SeveralTensors& tensors) {
    return with_values([&] { return block_diag(tensors.all); });
  }>("A matrix with the matrices along its diagonal; vectors and numbers are rows.", kFunction);
  define<"cartesian_prod", "*tensors", [](const SeveralTensors& tensors) { return cartesian_prod(tensors.all); }>(
      "All combinations of the elements of several vectors, a row each.", kFunction);
  define<"combinations", "x, r=2, with_replacement=False", [](const Tensor& x, int64_t r, bool with_replacement) {
    return with_values([&] { return combinations(x, r, with_replacement); });
  }>("All choices of r elements of a vector, a row each.");
  define<"rot90", "x, k=1, dims=None", [](const Tensor& x, int64_t k, const std::optional<Dims>& dims) {
    return with_values([&] { return rot90(x, k, dims.value_or(Dims{0, 1})); });
  }>("Turned by k times 90 degrees, from the first dim, which is 0 unless given, towards the second, which is 1.");
  define<"atleast_1d", "*tensors", each<&tenon::atleast_1d>>("The tensors, with a dim where they have none.",
                                                             kFunction);
  define<"atleast_2d", "*tensors", each<&tenon::atleast_2d>>(
      "The tensors, with two dims where they have fewer: a vector is a row.", kFunction);
  define<"atleast_3d", "*tensors", each<&tenon::atleast_3d>>(
      "The tensors, with three dims where they have fewer: (n,) is (1, n, 1), and (m, n) is (m, n, 1).", kFunction);
  define<"argwhere", "x", [](const Tensor& x) { return computed([&] { return nonzero(x); }); }>(
      "The positions of the elements that are not 0, a row each.");
  define<"tensor_split", "x, indices_or_sections, dim=0", parts>(
      "Parts, as views: so many of nearly one size, or those that end at given positions.");
  define<"hsplit", "x, indices_or_sections", [](const Tensor& x, const py::object& where) {
    return even_parts("hsplit", x, where, x.dim() > 1 ? 1 : 0, 1);
  }>("Parts side by side: along dim 1, or along dim 0 of a vector.");
  define<"vsplit", "x, indices_or_sections", [](const Tensor& x, const py::object& where) {
    return even_parts("vsplit", x, where, 0, 2);
  }>("Parts along dim 0.");
  define<"dsplit", "x, indices_or_sections", [](const Tensor& x, const py::object& where) {
    return even_parts("dsplit", x, where, 2, 3);
  }>("Parts along dim 2.");
  define<"unique_consecutive", "x, return_inverse=False, return_counts=False, dim=None",
         [](const Tensor& x, bool with_inverse, bool with_counts, std::optional<int64_t> dim) {
           const Unique found = computed([&] { return unique_consecutive(x, dim); });
           std::vector<Tensor> results{found.values};
           if (with_inverse) results.push_back(found.inverse);
           if (with_counts) results.push_back(found.counts);
           return results.size() == 1 ? object_of(results[0]) : object_of(results);
         }>(
      "The elements, or the slices along a dim, less those that equal the one before; where each went, and how many it "
      "stands for.");
  define<"index_put", "x, indices, values, accumulate=False",
         [](const Tensor& x, const std::vector<Tensor>& indices, const Operand& values, bool accumulate) {
           return index_put(x, indices, values, accumulate);
         }>("A copy with values at positions, one tensor of them for each dim; accumulate: added to what is there.");
  define<"fill_diagonal_", "x, fill_value, wrap=False",
         [](Tensor x, const Operand& value, bool wrap) {
           with_values([&] { return fill_diagonal_(x, value, wrap); });
           return Same();
         }>(
      "Sets the elements whose positions are the same in all dims; wrap: in a tall matrix the diagonal begins again.",
      kMethod);
  define<"var_mean", "x, dim=None, correction=1, keepdim=False, unbiased=None", spread<[](const auto&... a) {
           const auto [spread, mean] = var_mean(a...);
           return std::vector<Tensor>{spread, mean};
         }>>("Variances and means.");
  define<"std_mean", "x, dim=None, correction=1, keepdim=False, unbiased=None", spread<[](const auto&... a) {
           const auto [spread, mean] = std_mean(a...);
           return std::vector<Tensor>{spread, mean};
         }>>("Standard deviations and means.");
  define<"aminmax", "x, dim=None, keepdim=False", smallest_and_largest>(
      "The smallest and the largest elements, of all or along a dim.");
  define<"zero_", "x", [](Tensor x) {
    x.zero_();
    return Same();
  }>("Fills a tensor with 0.");
}

}  // namespace tenon::python
