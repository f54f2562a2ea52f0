// Functions of tensor/arrangements.h, and those that take one tensor or several.

#include "computed.h"
#include "creation.h"
#include "functions.h"
#include "spread.h"
#include "types.h"

namespace tenon::python {
namespace {

template <typename T>
py::object object_of(T result) {
  return py::reinterpret_steal<py::object>(to_python(std::move(result)));
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

}  // namespace

void note_positions() {
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
  define<"var_mean", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         [](const Tensor& x, const py::object& dim, const py::object& correction, bool keepdim,
            const py::object& unbiased) {
           const Spread spread(dim, correction, unbiased);
           const auto [variance, mean] = var_mean(x, spread.dim, spread.correction, keepdim);
           return std::vector<Tensor>{variance, mean};
         }>("Variances and means.");
  define<"std_mean", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         [](const Tensor& x, const py::object& dim, const py::object& correction, bool keepdim,
            const py::object& unbiased) {
           const Spread spread(dim, correction, unbiased);
           const auto [deviation, mean] = std_mean(x, spread.dim, spread.correction, keepdim);
           return std::vector<Tensor>{deviation, mean};
         }>("Standard deviations and means.");
  define<"aminmax", "x, dim=None, keepdim=False", smallest_and_largest>(
      "The smallest and the largest elements, of all or along a dim.");
  define<"zero_", "x", [](Tensor x) {
    x.zero_();
    return Same();
  }>("Fills a tensor with 0.");
}

}  // namespace tenon::python
