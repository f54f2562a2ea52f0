// nn.functional and nn.init: their functions are those of nn/functions.def.

#include "bind.h"
#include "functions.h"

namespace tenon::python {

void bind_functional(Scope& m) {
  functions_below(m, "functional", kFunctional);
  Scope(functions_below(m, "init", kInit))
      .def("gpt2_(model, layers)", "GPT-2's initial values.",
           [](nn::Module& model, int64_t layers) { nn::init::gpt2_(model, layers); });
}

}  // namespace tenon::python
