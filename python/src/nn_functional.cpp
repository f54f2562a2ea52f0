// nn.functional and nn.init: their functions are those of nn/functions.def.

#include "functions.h"
#include "nn.h"

namespace tenon::python {
namespace {

py::module_ submodule(py::module_& m, const char* name, Kind kind) {
  py::module_ made = m.def_submodule(name);
  static std::deque<std::vector<PyMethodDef>> tables;  // Python looks at them as long as it runs
  tables.push_back(method_table(kind));
  if (PyModule_AddFunctions(made.ptr(), tables.back().data()) != 0) throw py::error_already_set();
  return made;
}

}  // namespace

void bind_functional(py::module_& m) {
  submodule(m, "functional", kFunctional);
  submodule(m, "init", kInit)
      .def(
          "gpt2_", [](nn::Module& model, int64_t layers) { nn::init::gpt2_(model, layers); }, py::arg("model"),
          py::arg("layers"), "GPT-2's initial values.");
}

}  // namespace tenon::python
