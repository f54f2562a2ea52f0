// What every call of a bound function looks at first.
//
// pybind11 gives a function what it is given: None is a null pointer for a member function, text a `self` for a lambda
// that takes any object, and an object whose __init__ never ran is memory that nobody has filled. Each of them would
// end the process. All functions of the module are led through one that refuses them.

#include <unordered_map>

#include "functions.h"

namespace tenon::python {
namespace {

using py::detail::function_call;
using py::detail::function_record;
using Implementation = py::handle (*)(function_call&);

std::unordered_map<const function_record*, Implementation>& implementations() {
  static auto* all = new std::unordered_map<const function_record*, Implementation>;
  return *all;
}

PyTypeObject* metaclass = nullptr;  // of all classes that pybind11 makes, and of those that derive from them

bool is_bound(PyObject* object) {
  PyTypeObject* kind = Py_TYPE(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return kind == metaclass || PyType_IsSubtype(kind, metaclass);
}

bool is_made(PyObject* object) {
  auto* instance = reinterpret_cast<py::detail::instance*>(object);
  if (instance->simple_layout) return instance->simple_value_holder[0] != nullptr;
  for (const auto& part : py::detail::values_and_holders(instance)) {
    if (!part.value_ptr()) return false;
  }
  return true;
}

void check_self(const function_record& function, PyObject* self) {
  auto* type = reinterpret_cast<PyTypeObject*>(function.scope.ptr());
  if (Py_TYPE(self) == type || PyObject_TypeCheck(self, type)) return;
  throw_type_error(fmt::format("{}() is called on a {}, not on {}", function.name, type->tp_name, type_name_of(self)));
}

py::handle checked(function_call& call) {
  const function_record& function = call.func;
  // What stands in the place of a constructor's self is no object.
  if (function.is_method && !function.is_constructor && !call.args.empty()) check_self(function, call.args[0].ptr());
  for (size_t i = function.is_constructor ? 1 : 0; i < call.args.size(); ++i) {
    PyObject* argument = call.args[i].ptr();
    if (argument && is_bound(argument) && !is_made(argument))
      throw_type_error(
          fmt::format("{}() is given a {} whose __init__ was not called", function.name, Py_TYPE(argument)->tp_name));
  }
  return implementations().at(&function)(call);
}

void guard_function(PyObject* object) {
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  if (!PyCFunction_Check(object)) return;
  PyObject* data = PyCFunction_GET_SELF(object);
  if (!data || !PyCapsule_CheckExact(data)) return;
  auto* function = static_cast<function_record*>(PyCapsule_GetPointer(data, PyCapsule_GetName(data)));
  for (; function; function = function->next) {
    if (function->impl == checked || std::string_view(function->name) == "_is_made") continue;
    implementations().emplace(function, function->impl);
    function->impl = checked;
  }
}

void guard_class(py::handle type) {
  const py::dict members =
      py::reinterpret_steal<py::dict>(PyDict_Copy(reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dict));
  for (const auto& [name, member] : members) {
    if (PyObject_TypeCheck(member.ptr(), &PyProperty_Type)) {
      for (const char* side : {"fget", "fset"}) guard_function(py::object(member.attr(side)).ptr());
    } else if (Py_TYPE(member.ptr()) == &PyStaticMethod_Type) {
      guard_function(py::object(member.attr("__func__")).ptr());
    } else {
      guard_function(member.ptr());
    }
  }
}

}  // namespace

void guard_calls(py::module_& m) {
  metaclass = py::detail::get_internals().default_metaclass;
  const py::dict members = py::reinterpret_borrow<py::dict>(PyModule_GetDict(m.ptr()));
  for (const auto& [name, member] : members) {
    if (PyModule_Check(member.ptr())) {
      if (!std::string_view(PyModule_GetName(member.ptr())).starts_with(PyModule_GetName(m.ptr()))) continue;
      auto below = py::reinterpret_borrow<py::module_>(member);
      guard_calls(below);
    } else if (PyType_Check(member.ptr()) && PyObject_TypeCheck(member.ptr(), metaclass)) {
      guard_class(member);
    } else {
      guard_function(member.ptr());
    }
  }
}

}  // namespace tenon::python
