// nn.functional and nn.init: their functions are those of nn/functions.def.

#include "bind.h"
#include "functions.h"
#include "nn.h"

namespace tenon::python {

void bind_functional(Scope& m) {
  functions_below(m, "functional", kFunctional);
  Scope(functions_below(m, "init", kInit))
      .def(
          "gpt2_", [](nn::Module& model, int64_t layers) { nn::init::gpt2_(model, layers); }, py::arg("model"),
          py::arg("layers"), "GPT-2's initial values.");
}

}  // namespace tenon::python
