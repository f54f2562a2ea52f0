// Reductions, scans, sorting and products.

#include "functions.h"

namespace tenon::python {
namespace {

// Ops whose shapes depend on values compute at once: other threads run meanwhile.
template <typename F>
auto computed(F&& f) {
  const Released others_run;
  return f();
}

Tensor in(const Tensor& x, std::optional<DType> dtype) { return dtype ? x.to(*dtype) : x; }

/// What variances are asked for by: PyTorch's older calls say std(False) or std(dim, unbiased=False).
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

}  // namespace

void note_reductions() {
  define<"sum", "x, dim=None, keepdim=False, dtype=None",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
           return in(tenon::sum(in(x, dtype), dim, keepdim), dtype);
         }>("Sums over dims, or over all.\n\n>>> import tenon\n>>> tenon.ones(2, 3).sum(1)\ntensor([3., 3.])");
  define<"mean", "x, dim=None, keepdim=False, dtype=None",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
           return tenon::mean(in(x, dtype), dim, keepdim);
         }>("Means over dims, or over all.");
  define<"prod", "x, dim=None, keepdim=False, dtype=None",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
           return in(tenon::prod(in(x, dtype), dim, keepdim), dtype);
         }>("Products over dims, or over all.");
  define<"amax", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::amax(x, dim, keepdim);
  }>("The largest over dims, or over all.");
  define<"amin", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::amin(x, dim, keepdim);
  }>("The smallest over dims, or over all.");
  define<"nansum", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::nansum(x, dim, keepdim);
  }>("Sums in which NaN counts as 0.");
  define<"nanmean", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::nanmean(x, dim, keepdim);
  }>("Means in which NaN does not count.");
  define<"any", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::any(x, dim, keepdim);
  }>("Whether any element is not 0.");
  define<"all", "x, dim=None, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return tenon::all(x, dim, keepdim);
  }>("Whether all elements are not 0.");
  define<"max", "x, dim=None, keepdim=False, other=None",
         [](const Tensor& x, const py::object& dim, bool keepdim, const std::optional<Tensor>& other) -> py::object {
           if (other) return py::reinterpret_steal<py::object>(wrap_new(maximum(x, *other)));
           if (dim.is_none()) return py::reinterpret_steal<py::object>(wrap_new(tenon::max(x)));
           if (is_tensor(dim.ptr()))
             return py::reinterpret_steal<py::object>(wrap_new(maximum(x, tensor_in(dim.ptr()))));
           const int64_t along = integer_of(dim.ptr(), "a dim");
           return py::reinterpret_steal<py::object>(to_python(tenon::max(x, along, keepdim)));
         }>("The largest element of all; with a dim, values and indices along it; with another tensor, as maximum.");
  define<"min", "x, dim=None, keepdim=False, other=None",
         [](const Tensor& x, const py::object& dim, bool keepdim, const std::optional<Tensor>& other) -> py::object {
           if (other) return py::reinterpret_steal<py::object>(wrap_new(minimum(x, *other)));
           if (dim.is_none()) return py::reinterpret_steal<py::object>(wrap_new(tenon::min(x)));
           if (is_tensor(dim.ptr()))
             return py::reinterpret_steal<py::object>(wrap_new(minimum(x, tensor_in(dim.ptr()))));
           const int64_t along = integer_of(dim.ptr(), "a dim");
           return py::reinterpret_steal<py::object>(to_python(tenon::min(x, along, keepdim)));
         }>("The smallest element of all; with a dim, values and indices along it.");
  define<"median", "x, dim=None, keepdim=False",
         [](const Tensor& x, const py::object& dim, bool keepdim) -> py::object {
           if (dim.is_none()) return py::reinterpret_steal<py::object>(wrap_new(tenon::median(x)));
           if (is_tensor(dim.ptr())) throw_type_error("a dim is an integer");
           const int64_t along = integer_of(dim.ptr(), "a dim");
           return py::reinterpret_steal<py::object>(to_python(tenon::median(x, along, keepdim)));
         }>("The middle element of all; with a dim, values and indices along it.");
  define<"nanmedian", "x, dim=None, keepdim=False",
         [](const Tensor& x, const py::object& dim, bool keepdim) -> py::object {
           if (dim.is_none()) return py::reinterpret_steal<py::object>(wrap_new(tenon::nanmedian(x)));
           const int64_t along = integer_of(dim.ptr(), "a dim");
           return py::reinterpret_steal<py::object>(to_python(tenon::nanmedian(x, along, keepdim)));
         }>("As median, of the elements that are not NaN.");
  define<"argmax", "x, dim=None, keepdim=False", [](const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
    return argmax(x, dim, keepdim);
  }>("Where the largest element stands: of all, laid flat, or along a dim.");
  define<"argmin", "x, dim=None, keepdim=False", [](const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
    return argmin(x, dim, keepdim);
  }>("Where the smallest element stands.");
  define<"var", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         [](const Tensor& x, const py::object& dim, const py::object& correction, bool keepdim,
            const py::object& unbiased) {
           const Spread spread(dim, correction, unbiased);
           return var(x, spread.dim, spread.correction, keepdim);
         }>("Variances; the sum is divided by n - correction, that is by n with unbiased=False.");
  define<"std", "x, dim=None, correction=1, keepdim=False, unbiased=None",
         [](const Tensor& x, const py::object& dim, const py::object& correction, bool keepdim,
            const py::object& unbiased) {
           const Spread spread(dim, correction, unbiased);
           return tenon::std(x, spread.dim, spread.correction, keepdim);
         }>("Standard deviations.");
  define<"count_nonzero", "x, dim=None", [](const Tensor& x, const Axes& dim) { return count_nonzero(x, dim); }>(
      "How many elements are not 0.");
  define<"norm", "x, p='fro', dim=None, keepdim=False",
         [](const Tensor& x, const py::object& p, const Axes& dim, bool keepdim) {
           return norm(x, power_of(p), dim, keepdim);
         }>("p-norms; 'fro' is p = 2.");
  define<"logsumexp", "x, dim, keepdim=False", [](const Tensor& x, const Axes& dim, bool keepdim) {
    return logsumexp(x, dim, keepdim);
  }>("log(sum(exp(x))) along dims.");
  define<"softmax", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) {
    return softmax(in(x, dtype), dim);
  }>("exp(x) / sum(exp(x)) along a dim.");
  define<"log_softmax", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) {
    return log_softmax(in(x, dtype), dim);
  }>("log(softmax(x)) along a dim.");
  define<"cumsum", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) {
    return in(cumsum(in(x, dtype), dim), dtype);
  }>("Running sums along a dim.");
  define<"cumprod", "x, dim, dtype=None", [](const Tensor& x, int64_t dim, std::optional<DType> dtype) {
    return in(cumprod(in(x, dtype), dim), dtype);
  }>("Running products along a dim.");
  define<"logcumsumexp", "x, dim", [](const Tensor& x, int64_t dim) { return logcumsumexp(x, dim); }>(
      "The logarithms of the sums of exp(x) up to every place along a dim.");
  define<"dist", "x, other, p=2.0", [](const Tensor& x, const Tensor& other, double p) { return dist(x, other, p); }>(
      "The p-norm of a difference.");
  define<"histc", "x, bins=100, min=0, max=0", [](const Tensor& x, int64_t bins, double min, double max) {
    return histc(x, bins, min, max);
  }>("How many elements lie in each of so many bins between min and max, or those of the elements.");
  define<"diff", "x, n=1, dim=-1, prepend=None, append=None",
         [](const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& before,
            const std::optional<Tensor>& behind) {
           std::vector<Tensor> parts{x};
           if (n == 0) return diff(x, n, dim);  // as in PyTorch, which puts nothing before and behind then
           if (before) parts.insert(parts.begin(), *before);
           if (behind) parts.push_back(*behind);
           return diff(parts.size() == 1 ? x : cat(parts, dim), n, dim);
         }>("Differences of neighbours, n times over, with elements put before and behind them first.");
  define<"kthvalue", "x, k, dim=-1, keepdim=False", [](const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
    return kthvalue(x, k, dim, keepdim);
  }>("The k-th smallest element along a dim, and where it stands.");
  define<"quantile", "x, q, dim=None, keepdim=False, interpolation='linear'",
         [](const Tensor& x, const Operand& q, std::optional<int64_t> dim, bool keepdim, const std::string& how) {
           return quantile(x, q, dim, keepdim, how);
         }>("Below which a share q of the elements lies.");
  define<"sort", "x, dim=-1, descending=False, stable=True", [](const Tensor& x, int64_t dim, bool descending, bool) {
    return sort(x, dim, descending);
  }>("Values and indices in order; always stable.");
  define<"argsort", "x, dim=-1, descending=False, stable=True",
         [](const Tensor& x, int64_t dim, bool descending, bool) { return argsort(x, dim, descending); }>(
      "The indices that sort; always stable.");
  define<"topk", "x, k, dim=-1, largest=True, sorted=True",
         [](const Tensor& x, int64_t k, int64_t dim, bool largest, bool) { return topk(x, k, dim, largest); }>(
      "The k largest elements along a dim, and where they stand; always sorted.");

  define<"matmul", "a, b", [](const Tensor& a, const Tensor& b) { return matmul(a, b); }>("a @ b.");
  define<"mm", "a, b", [](const Tensor& a, const Tensor& b) { return mm(a, b); }>("The product of two matrices.");
  define<"bmm", "a, b", [](const Tensor& a, const Tensor& b) { return bmm(a, b); }>(
      "The products of two batches of matrices.");
  define<"mv", "a, b", [](const Tensor& a, const Tensor& b) { return mv(a, b); }>("A matrix times a vector.");
  define<"dot", "a, b", [](const Tensor& a, const Tensor& b) { return dot(a, b); }>("The product of two vectors.");
  define<"outer", "a, b", [](const Tensor& a, const Tensor& b) { return outer(a, b); }>(
      "All products of elements of two vectors.");
  define<"addmm", "x, a, b, beta=1, alpha=1",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
           return addmm(x, a, b, beta, alpha);
         }>("beta * x + alpha * (a @ b).");
  define<"addmv", "x, a, b, beta=1, alpha=1",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
           return addmv(x, a, b, beta, alpha);
         }>("beta * x + alpha * (a @ b), of a matrix and a vector.");
  define<"baddbmm", "x, a, b, beta=1, alpha=1",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
           return baddbmm(x, a, b, beta, alpha);
         }>("beta * x + alpha * (a @ b), of batches of matrices; a beta of 0 leaves x out.");
  define<"addr", "x, a, b, beta=1, alpha=1",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Number beta, Number alpha) {
           return addr(x, a, b, beta, alpha);
         }>("beta * x + alpha * outer(a, b).");
  define<"vdot", "a, b", [](const Tensor& a, const Tensor& b) { return dot(a, b); }>("As dot.");
  define<"tensordot", "a, b, dims=2", [](const Tensor& a, const Tensor& b, const py::object& dims) {
    if (is_integer(dims.ptr())) return tensordot(a, b, integer_of(dims.ptr(), "dims"));
    const py::object pair = py::reinterpret_steal<py::object>(PySequence_List(dims.ptr()));
    if (!pair || py::len(pair) != 2) throw_type_error("dims are a number or two lists");
    const py::list both(pair);
    return tensordot(a, b, dims_of(py::object(both[0]).ptr(), "dims"), dims_of(py::object(both[1]).ptr(), "dims"));
  }>("Sums products over dims of a and b.");
  define<"cdist", "a, b, p=2.0, compute_mode=None",
         [](const Tensor& a, const Tensor& b, double p, const py::object& mode) {
           require_compute_mode(mode);
           return cdist(a, b, p);
         }>("The p-norm distances between the rows of a and those of b.");
  define<"einsum", "equation, *operands", [](const std::string& equation, const py::object& operands) {
    if (is_tensor(operands.ptr())) return einsum(equation, {tensor_in(operands.ptr())});
    return einsum(equation, Convert<std::vector<Tensor>>::from(operands.ptr()));
  }>("Sums of products, by letters: einsum('ij,jk->ik', a, b).", kFunction);
  define<"allclose", "a, b, rtol=1e-5, atol=1e-8, equal_nan=False",
         [](const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
           return computed([&] { return allclose(a, b, rtol, atol, equal_nan); });
         }>("Whether all elements are close.");
  define<"equal", "a, b", [](const Tensor& a, const Tensor& b) { return computed([&] { return equal(a, b); }); }>(
      "Whether shapes and all elements are equal.");
}

}  // namespace tenon::python
