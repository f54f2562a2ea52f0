// Every backend of this build, in order of preference.

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/backends/cuda/cuda_device.h"
#include "tenon/backends/null/null_device.h"
#include "tenon/backends/opencl/opencl_device.h"
#include "tenon/backends/reference/reference_device.h"
#include "tenon/backends/remote/remote_device.h"
#include "tenon/backends/simulated/simulated_device.h"
#include "tenon/backends/vulkan/vulkan_device.h"
#include "tenon/device/registry.h"

namespace tenon::device {

std::vector<Backend> backend_list() {
  std::vector<Backend> list{
      {"cpu", backends::cpu::open},
      {"reference", backends::reference::open, true},
      {"cpu_unfused", backends::cpu::open_unfused, true},
      {"null", backends::null::open, true},
      {"remote", [] { return backends::remote::open(backends::cpu::open()); }, true},
      {"simulated", backends::simulated::open, true},
      {"simulated_unfused", backends::simulated::open_unfused, true},
  };
  const auto add = [&](std::vector<Backend> kind, int preference) {
    for (Backend& backend : kind) {
      if (!backend.is_for_tests) backend.preference = preference;
      list.push_back(std::move(backend));
    }
  };
  add(backends::cuda::backends(), 3);
  add(backends::vulkan::backends(), 2);
  add(backends::opencl::backends(), 1);
  return list;
}

}  // namespace tenon::device
