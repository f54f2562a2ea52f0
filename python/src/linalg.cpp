// tenon.linalg: its functions are those of linalg/functions.def, its results have names.

#include "linalg.h"

#include "bind.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {

linalg::Order GivenOrder::order() const {
  if (const auto* number = std::get_if<double>(&given)) return *number;
  return std::string_view(std::get<std::string>(given));
}

std::optional<double> with_driver(const std::optional<std::string>& driver, std::optional<double> rcond) {
  static constexpr std::string_view kDrivers[] = {"gels", "gelsy", "gelsd", "gelss"};
  if (driver && std::ranges::find(kDrivers, *driver) == std::end(kDrivers))
    base::fail("lstsq", "there is no driver '{}'; there are 'gels', 'gelsy', 'gelsd' and 'gelss'", *driver);
  return rcond;
}

namespace {

/// A tuple of tensors with names, as PyTorch's functions return it.
PyObject* named(py::handle type, std::initializer_list<Tensor> tensors) {
  const py::object all = owned(to_python(std::vector<Tensor>(tensors)));
  return type(*all).release().ptr();
}

/// The type of such tuples, made when it is needed first and kept.
py::handle tuples_of(const char* function, const char* fields) {
  return py::module_::import("collections")
      .attr("namedtuple")(fmt::format("linalg_{}", function), fields, py::arg("module") = "tenon.linalg")
      .release();
}

}  // namespace

PyObject* to_python(linalg::SignAndLog found) {
  static const py::handle type = tuples_of("slogdet", "sign logabsdet");
  return named(type, {found.sign, found.logabsdet});
}
PyObject* to_python(linalg::Qr found) {
  static const py::handle type = tuples_of("qr", "Q R");
  return named(type, {found.Q, found.R});
}
PyObject* to_python(linalg::Svd found) {
  static const py::handle type = tuples_of("svd", "U S Vh");
  return named(type, {found.U, found.S, found.Vh});
}
PyObject* to_python(linalg::Eigen found) {
  static const py::handle type = tuples_of("eigh", "eigenvalues eigenvectors");
  return named(type, {found.eigenvalues, found.eigenvectors});
}
PyObject* to_python(linalg::LeastSquares found) {
  static const py::handle type = tuples_of("lstsq", "solution residuals rank singular_values");
  return named(type, {found.solution, found.residuals, found.rank, found.singular_values});
}

void bind_linalg(Scope& m) {
  functions_below(m, "_linalg", kLinalg).add_object("LinAlgError", py::handle(error_type_of(linalg::LinAlgError(""))));
}

}  // namespace tenon::python
