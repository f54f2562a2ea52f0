// tenon._tenon: the extension module, put together.

#include <csignal>

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

// Asked by threads that wait for a device: Ctrl-C is an exception of Python's main thread.
void check_signals() {
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Python's own handler only notes Ctrl-C. While the process ends nobody asks for it any more, but work that is under
// way is waited for: from then on the signal ends the process, unless the program has a handler of its own.
void let_interrupts_end_the_process() {
  const py::module_ signals = py::module_::import("signal");
  if (!signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"))) return;
  for (const char* name : {"stdout", "stderr"}) {  // nothing that was printed is lost with the process
    if (const py::object stream = py::module_::import("sys").attr(name); !stream.is_none()) stream.attr("flush")();
  }
  PyOS_setsig(SIGINT, SIG_DFL);
}

}  // namespace

PYBIND11_MODULE(_tenon, module) {
  Scope m(module);
  m.doc() = "Tenon's C++ library.";
  bind_types(m);
  note_functions();
  note_by_hand();
  note_creation();
  note_creation_by_hand();
  note_layers();
  note_arrays();
  note_hooks();
  note_printing();
  note_linalg();
  note_members();
  prepare_tensor_type(m);
  static std::vector<PyMethodDef> functions = method_table(kFunction);
  if (PyModule_AddFunctions(m.ptr(), functions.data()) != 0) throw py::error_already_set();
  m.def("_stubs", [](const std::string& kind) {
    static const std::map<std::string, Kind> kinds{
        {"method", kMethod}, {"functional", kFunctional}, {"init", kInit}, {"linalg", kLinalg}};
    const auto found = kinds.find(kind);
    return stubs(found == kinds.end() ? kFunction : found->second);
  });

  bind_autograd(m);
  Scope nn = m.def_submodule("_nn");
  bind_module(nn);
  bind_functional(nn);
  bind_optim(m);
  bind_files(m);
  bind_text(m);
  bind_data(m);
  bind_models(m);
  bind_training(m);
  bind_linalg(m);
  bind_derivatives(m);
  bind_distributions(m);
  bind_fft(m);
  bind_rl(m);
  bind_profiler(m);
  bind_for_tests(m);
  m.def("_let_interrupts_end_the_process", &let_interrupts_end_the_process);
  base::set_interrupt_check(check_signals);
  turn::install();
}

}  // namespace tenon::python
