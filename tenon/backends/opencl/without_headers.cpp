// Stands for the whole backend where <CL/cl.h> was not there when this was built.

#include "tenon/backends/opencl/opencl_device.h"

namespace tenon::backends::opencl {

std::vector<device::Backend> backends() {
  const auto why = [] { return std::string("built without OpenCL's headers"); };
  return {{"opencl", nullptr, false, why}, {"opencl_unfused", nullptr, true, why}};
}

}  // namespace tenon::backends::opencl
