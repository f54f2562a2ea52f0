// What the tests of the module need, and no program.

#include "functions.h"
#include "tenon/backends/remote/remote_device.h"
#include "tenon/device/registry.h"

namespace tenon::python {

void bind_for_tests(py::module_& m) {
  m.def("_lose_remote", [] { backends::remote::lose(device::open(device::find("remote")), "the driver was reset"); });
}

}  // namespace tenon::python
