// Linear algebra, behind the functions of tenon/linalg.py, which have PyTorch's arguments and results with names.

#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

PyObject* lin_alg_error = nullptr;

/// LAPACK computes at once: other threads of Python run meanwhile.
template <typename F>
auto meanwhile(F&& f) {
  const Released others_run;
  return f();
}

linalg::Order order_of(const std::variant<double, std::string>& given) {
  if (const auto* number = std::get_if<double>(&given)) return *number;
  return std::string_view(std::get<std::string>(given));
}
using GivenOrder = std::variant<double, std::string>;
using Several = std::vector<Tensor>;
using Tolerance = std::optional<double>;

void bind_errors(py::module_& m) {
  lin_alg_error = PyErr_NewExceptionWithDoc(
      "tenon.linalg.LinAlgError",
      "A matrix that an algorithm cannot do with: singular for inv(), or not positive-definite for cholesky().",
      error_type(), nullptr);
  m.add_object("LinAlgError", py::reinterpret_borrow<py::object>(lin_alg_error));
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const linalg::LinAlgError& found) {
      set_error(lin_alg_error, found);
    }
  });
}

void bind_solving(py::module_& m) {
  m.def("inv", [](const Tensor& A) { return meanwhile([&] { return linalg::inv(A); }); });
  m.def("solve", [](const Tensor& A, const Tensor& B, bool left) {
    return meanwhile([&] { return linalg::solve(A, B, left); });
  });
  m.def("solve_triangular", [](const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
    return meanwhile([&] { return linalg::solve_triangular(A, B, upper, left, unitriangular); });
  });
  m.def("lstsq", [](const Tensor& A, const Tensor& B, Tolerance rcond) {
    const auto found = meanwhile([&] { return linalg::lstsq(A, B, rcond); });
    return Several{found.solution, found.residuals, found.rank, found.singular_values};
  });
  m.def("pinv", [](const Tensor& A, Tolerance atol, Tolerance rtol, bool hermitian) {
    return meanwhile([&] { return linalg::pinv(A, atol, rtol, hermitian); });
  });
}

void bind_factorisations(py::module_& m) {
  m.def("cholesky", [](const Tensor& A, bool upper) { return meanwhile([&] { return linalg::cholesky(A, upper); }); });
  m.def("qr", [](const Tensor& A, const std::string& mode) {
    const auto found = meanwhile([&] { return linalg::qr(A, mode); });
    return Several{found.Q, found.R};
  });
  m.def("svd", [](const Tensor& A, bool full_matrices) {
    const auto found = meanwhile([&] { return linalg::svd(A, full_matrices); });
    return Several{found.U, found.S, found.Vh};
  });
  m.def("svdvals", [](const Tensor& A) { return meanwhile([&] { return linalg::svdvals(A); }); });
  m.def("eigh", [](const Tensor& A, const std::string& UPLO) {
    const auto found = meanwhile([&] { return linalg::eigh(A, UPLO); });
    return Several{found.eigenvalues, found.eigenvectors};
  });
  m.def("eigvalsh",
        [](const Tensor& A, const std::string& UPLO) { return meanwhile([&] { return linalg::eigvalsh(A, UPLO); }); });
}

void bind_numbers(py::module_& m) {
  m.def("det", [](const Tensor& A) { return meanwhile([&] { return linalg::det(A); }); });
  m.def("slogdet", [](const Tensor& A) {
    const auto found = meanwhile([&] { return linalg::slogdet(A); });
    return Several{found.sign, found.logabsdet};
  });
  m.def("matrix_norm", [](const Tensor& A, const GivenOrder& ord, const Dims& dim, bool keepdim) {
    return meanwhile([&] { return linalg::matrix_norm(A, order_of(ord), dim, keepdim); });
  });
  m.def("norm",
        [](const Tensor& A, const std::optional<GivenOrder>& ord, const std::optional<Dims>& dim, bool keepdim) {
          return meanwhile([&] {
            return linalg::norm(A, ord ? std::optional(order_of(*ord)) : std::nullopt,
                                dim ? std::optional(Axes(*dim)) : std::nullopt, keepdim);
          });
        });
  m.def("matrix_rank", [](const Tensor& A, Tolerance atol, Tolerance rtol, bool hermitian) {
    return meanwhile([&] { return linalg::matrix_rank(A, atol, rtol, hermitian); });
  });
  m.def("cond",
        [](const Tensor& A, const GivenOrder& p) { return meanwhile([&] { return linalg::cond(A, order_of(p)); }); });
  m.def("matrix_power",
        [](const Tensor& A, int64_t n) { return meanwhile([&] { return linalg::matrix_power(A, n); }); });
  m.def("matrix_exp", [](const Tensor& A) { return meanwhile([&] { return linalg::matrix_exp(A); }); });
  m.def("multi_dot", [](const Several& tensors) { return meanwhile([&] { return linalg::multi_dot(tensors); }); });
}

}  // namespace

void bind_linalg(py::module_& m) {
  py::module_ made = m.def_submodule("_linalg");
  bind_errors(made);
  bind_solving(made);
  bind_factorisations(made);
  bind_numbers(made);
}

}  // namespace tenon::python
