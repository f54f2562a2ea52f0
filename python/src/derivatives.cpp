// tenon.autograd.functional and what vmap() calls: functions of functions of Python.

#include "bind.h"
#include "callbacks.h"
#include "functions.h"

namespace tenon::python {
namespace {

using autograd::DerivativeOptions;

/// A tensor, or several: what is given back has the same form.
struct Given {
  std::vector<Tensor> tensors;
  bool is_one = true;

  explicit Given(const py::object& object, const char* what)
      : tensors(object.is_none() ? std::vector<Tensor>() : tensors_of(object, what)), is_one(is_tensor(object.ptr())) {}
};

/// A function of Python's, and whether it returned one tensor or several when it was called last.
class Called {
 public:
  explicit Called(const py::object& function) : function_(keep(function)) {}
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const {
    const Locked locked;
    const py::object result = called(function_, tuple_of_tensors(inputs));
    *returns_one_ = is_tensor(result.ptr());
    return tensors_of(result, "the function");
  }
  bool returns_one() const { return *returns_one_; }

 private:
  std::shared_ptr<PyObject> function_;
  std::shared_ptr<bool> returns_one_ = std::make_shared<bool>(true);
};

py::object formed(std::span<const Tensor> tensors, bool is_one) {
  const py::tuple all = tuple_of_tensors(tensors);
  return is_one ? py::object(all[0]) : py::object(all);
}

py::object formed(const std::vector<std::vector<Tensor>>& rows, bool is_one, bool row_is_one) {
  if (is_one) return formed(rows[0], row_is_one);
  py::tuple all(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) all[i] = formed(rows[i], row_is_one);
  return all;
}

constexpr const char* kInputs = "inputs: a function of tensors";

/// A function of func, inputs, create_graph and strict. What PyTorch's take beside these is taken and not needed.
using Rows = std::vector<std::vector<Tensor>> (*)(const TensorFunction&, std::span<const Tensor>,
                                                  const DerivativeOptions&);
void def_rows(Scope& m, const char* head, const char* help, Rows rows, bool of_number) {
  m.def(head, help,
        [rows, of_number](const py::object& func, const py::object& given, bool create_graph, bool strict, bool,
                          const std::string&) {
          const Called function(func);
          const Given inputs(given, kInputs);
          const auto found = computed([&] { return rows(function, inputs.tensors, {create_graph, strict}); });
          return formed(found, of_number ? inputs.is_one : function.returns_one(), inputs.is_one);
        });
}

using WithVector = autograd::Product (*)(const TensorFunction&, std::span<const Tensor>, std::span<const Tensor>,
                                         const DerivativeOptions&);
void def_product(Scope& m, const std::string& name, const char* help, WithVector product, bool is_like_outputs) {
  m.def(name + "(func, inputs, v=None, create_graph=False, strict=False)", help,
        [product, is_like_outputs](const py::object& func, const py::object& given, const py::object& v,
                                   bool create_graph, bool strict) {
          const Called function(func);
          const Given inputs(given, kInputs), vector(v, "v: a function of tensors");
          const auto found = computed([&] {
            return product(function, inputs.tensors, vector.tensors, {create_graph, strict});
          });
          return py::make_tuple(formed(found.outputs, function.returns_one()),
                                formed(found.products, is_like_outputs ? function.returns_one() : inputs.is_one));
        });
}

}  // namespace

void bind_derivatives(Scope& m) {
  Scope made =
      m.def_submodule("_functional", R"(Derivatives of functions: Jacobians, Hessians and their products with vectors.

>>> import tenon
>>> tenon.autograd.functional.jacobian(lambda x: x * x, tenon.tensor([1., 2.]))
tensor([[2., 0.],
        [0., 4.]])
)");
  def_rows(made, "jacobian(func, inputs, create_graph=False, strict=False, vectorize=True, strategy='reverse-mode')",
           "Every element of what func gives by every element of the inputs. Rows are computed together where all ops "
           "have a rule.",
           autograd::jacobian, false);
  def_rows(made,
           "hessian(func, inputs, create_graph=False, strict=False, vectorize=True, "
           "outer_jacobian_strategy='reverse-mode')",
           "The second derivatives of a function that gives a single number.", autograd::hessian, true);
  def_product(made, "jvp", "What func gives, and its Jacobian times v: how it changes along v.", autograd::jvp, true);
  def_product(made, "vjp", "What func gives, and v times its Jacobian: the gradients of the inputs.", autograd::vjp,
              false);
  def_product(made, "hvp", "The number that func gives, and its Hessian times v.", autograd::hvp, false);
  def_product(made, "vhp", "The same as hvp(): a Hessian is symmetric.", autograd::hvp, false);
  m.def("_vmap", [](const py::object& func, const std::vector<Tensor>& inputs,
                    const std::vector<std::optional<int64_t>>& in_dims, bool same_randomness,
                    std::optional<int64_t> chunk_size) {
    const Called function(func);
    const Released others_run;
    return vmap(function, inputs, {in_dims, {}, same_randomness, chunk_size});
  });
}

}  // namespace tenon::python
