// Functions whose shapes depend on values compute at once: other threads of Python run meanwhile.

#pragma once

#include "convert.h"

namespace tenon::python {

template <typename F>
auto computed(F&& f) {
  const Released others_run;
  return f();
}

}  // namespace tenon::python
