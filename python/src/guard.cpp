// What every call of a bound function looks at first.
//
// pybind11 gives a function what it is given: None is a null pointer for a member function, text a `self` for a lambda
// that takes any object, and an object whose __init__ never ran is memory that nobody has filled. Each of them would
// end the process. All functions of the module are led through one that refuses them, and that waits until no other
// thread computes: see turn.h.

#include <algorithm>
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

std::string name_of(const function_record& function) {
  return function.name && *function.name ? fmt::format("{}()", function.name) : "an attribute";
}

void check_self(const function_record& function, PyObject* self) {
  auto* type = reinterpret_cast<PyTypeObject*>(function.scope.ptr());
  if (Py_TYPE(self) == type || PyObject_TypeCheck(self, type)) return;
  throw_type_error(fmt::format("{} is one of a {}, not of {}", name_of(function), type->tp_name, type_name_of(self)));
}

py::handle checked(function_call& call) {
  const function_record& function = call.func;
  // What stands in the place of a constructor's self is no object.
  if (function.is_method && !function.is_constructor && !call.args.empty()) check_self(function, call.args[0].ptr());
  for (size_t i = function.is_constructor ? 1 : 0; i < call.args.size(); ++i) {
    PyObject* argument = call.args[i].ptr();
    if (argument && is_bound(argument) && !is_made(argument))
      throw_type_error(
          fmt::format("{} is given a {} whose __init__ was not called", name_of(function), Py_TYPE(argument)->tp_name));
  }
  turn::await();
  try {
    return implementations().at(&function)(call);
  } catch (const py::reference_cast_error&) {  // pybind11 tries the next form
    throw;
  } catch (const py::cast_error&) {  // inside of an argument that could be anything
    refuse_arguments(call);
  }
}

function_record* record_in(PyObject* capsule) {
  return static_cast<function_record*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

PyCFunctionWithKeywords dispatcher = nullptr;  // pybind11's, of all functions

PyObject* dispatch(PyObject* capsule, PyObject* args, PyObject* keywords) {
  PyObject* result = dispatcher(capsule, args, keywords);
  if (!result) say_in_one_line(*record_in(capsule), args, keywords);
  return result;
}

// The constructor of a base makes none of an object of a class that was bound by itself: pybind11 throws where nobody
// catches.
PyObject* construct(PyObject* capsule, PyObject* args, PyObject* keywords) {
  PyObject* scope = record_in(capsule)->scope.ptr();
  PyObject* self = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  if (self && PyObject_TypeCheck(self, reinterpret_cast<PyTypeObject*>(scope))) {
    const auto* made = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(scope));
    const auto& bases = py::detail::all_type_info(Py_TYPE(self));
    if (std::find(bases.begin(), bases.end(), made) == bases.end()) {
      PyErr_Format(PyExc_TypeError, "__init__() of %s does not make a %s",
                   reinterpret_cast<PyTypeObject*>(scope)->tp_name, Py_TYPE(self)->tp_name);
      return nullptr;
    }
  }
  return dispatch(capsule, args, keywords);
}

void guard_function(PyObject* object) {
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  if (!PyCFunction_Check(object)) return;
  PyObject* data = PyCFunction_GET_SELF(object);
  if (!data || !PyCapsule_CheckExact(data)) return;
  function_record* function = record_in(data);
  if (PyMethodDef* table = function->def) {
    const PyCFunctionWithKeywords ours = function->is_constructor ? construct : dispatch;
    const auto method = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(ours));
    if (table->ml_meth != method)
      dispatcher = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(table->ml_meth));
    table->ml_meth = method;
  }
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
