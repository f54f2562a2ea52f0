// The parts that the module is put together of; each stands in a file of its own.

#pragma once

#include "call.h"

namespace tenon::python {

class Scope;  // a module with functions of C++; bind.h

// Notes of functions, before the type and the module are made.
void note_functions();
void note_by_hand();
void note_creation();
void note_creation_by_hand();
void note_layers();
void note_arrays();
void note_hooks();
void note_printing();
void note_linalg();
void note_members();

/// The table of all that was noted, for the type or for the module; whoever takes it keeps it.
std::vector<PyMethodDef> method_table(Kind kind);
py::list stubs(Kind kind);
/// A module inside of another, with the functions of a kind.
py::module_ functions_below(py::module_& m, const char* name, Kind kind);

/// Makes tenon.Tensor.
void prepare_tensor_type(py::module_& m);

void bind_types(Scope& m);
void bind_autograd(Scope& m);
void bind_module(Scope& nn);
void bind_functional(Scope& nn);
void bind_optim(Scope& m);
void bind_files(Scope& m);
void bind_text(Scope& m);
void bind_data(Scope& m);
void bind_models(Scope& m);
void bind_training(Scope& m);
void bind_linalg(Scope& m);
void bind_derivatives(Scope& m);
void bind_distributions(Scope& m);
void bind_fft(Scope& m);
void bind_rl(Scope& m);
void bind_profiler(Scope& m);
void bind_for_tests(Scope& m);
/// A parameter as an object of tenon.nn.Parameter; the same one while somebody holds it; nn_module.cpp.
py::object parameter_object(const Tensor& tensor);
/// Python's view of the buffer protocol for tensors; array.cpp.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace tenon::python
