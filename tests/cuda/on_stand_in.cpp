#include "on_stand_in.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "tenon/backends/cuda/cuda_device.h"

namespace tenon {
namespace {

// Before main, and so before any device is looked for.
const bool kIsSet = [] {
  // With the stand-in's driver, the stand-in's libraries, whatever the machine has; scripts/check_gpu.sh names a real one.
  const bool is_stand_in = !getenv("TENON_CUDA_DRIVER");
  setenv("TENON_CUDA_DRIVER", STAND_IN_CUDA_DRIVER, 0);
  setenv("TENON_CUDA_LIBRARIES", STAND_IN_CUDA_LIBRARIES, is_stand_in);
  setenv("TENON_CACHE_DIR", "", 0);  // what one run compiles says nothing about the next
  return true;
}();

}  // namespace

const StandInControls& stand_in() {
  static const StandInControls& controls = []() -> const StandInControls& {
    void* library = dlopen(STAND_IN_CUDA_DRIVER, RTLD_NOW | RTLD_LOCAL);
    auto* get = reinterpret_cast<const StandInControls* (*)()>(dlsym(library, "stand_in_controls"));
    return *get();
  }();
  return controls;
}

std::unique_ptr<device::Device> open_cuda() { return backends::cuda::backends()[0].open(); }

void OnStandIn::SetUp() {
  stand_in().reset();
  device_ = open_cuda();
}

void OnStandIn::TearDown() {
  device_.reset();
  EXPECT_STREQ(stand_in().complaints(), "");
  stand_in().reset();
}

std::vector<uint8_t> OnStandIn::read(const device::Buffer& buffer, size_t offset, size_t bytes) {
  std::vector<uint8_t> out(bytes);
  run({device::Download{{buffer, offset, bytes}, std::as_writable_bytes(std::span(out))}});
  return out;
}

}  // namespace tenon
