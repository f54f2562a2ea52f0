// The parts that the module is put together of; each stands in a file of its own.

#pragma once

#include "call.h"

namespace tenon::python {

// Notes of functions, before the type and the module are made.
void note_functions();
void note_by_hand();
void note_creation();
void note_creation_by_hand();
void note_layers();
void note_arrays();
void note_linalg();
void note_positions();
void note_members();

/// The table of all that was noted, for the type or for the module; whoever takes it keeps it.
std::vector<PyMethodDef> method_table(Kind kind);
py::list stubs(Kind kind);
/// A module inside of another, with the functions of a kind.
py::module_ functions_below(py::module_& m, const char* name, Kind kind);

/// Makes tenon.Tensor.
void prepare_tensor_type(py::module_& m);

void bind_types(py::module_& m);
void bind_autograd(py::module_& m);
void bind_module(py::module_& nn);
void bind_functional(py::module_& nn);
void bind_optim(py::module_& m);
void bind_files(py::module_& m);
void bind_text(py::module_& m);
void bind_data(py::module_& m);
void bind_models(py::module_& m);
void bind_training(py::module_& m);
void bind_linalg(py::module_& m);
void bind_derivatives(py::module_& m);
void bind_distributions(py::module_& m);
void bind_fft(py::module_& m);
void bind_rl(py::module_& m);
void bind_for_tests(py::module_& m);
/// Once all is bound: calls with a wrong self, or with objects that were not made, are refused.
void guard_calls(py::module_& m);
/// Behind a call that failed: what pybind11 says about wrong arguments, in one line; refusal.cpp.
void say_in_one_line(const py::detail::function_record& function, PyObject* args, PyObject* keywords);

/// Throws a TypeError that says in one line what a function takes and what it was given.
[[noreturn]] void refuse_arguments(const py::detail::function_call& call);

/// Python's view of the buffer protocol for tensors; array.cpp.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace tenon::python
