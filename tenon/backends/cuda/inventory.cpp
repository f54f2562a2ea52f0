#include "tenon/backends/cuda/inventory.h"

#include <algorithm>

#include "tenon/backends/cuda/dnn_convolution.h"
#include "tenon/backends/gpu/kind.h"
#include "tenon/base/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kLeastMajor = 7;  // since when threads of a subgroup meet by name

std::string why_not_started(Result code) {
  switch (code) {
    case Results::kNoDevice: return "the driver finds no NVIDIA GPU";
    case Results::kStubLibrary: return "libcuda.so.1 is a stub of the CUDA toolkit and no driver";
    default: return fmt::format("the NVIDIA driver does not start: {}", error_name(code));
  }
}

Inventory look() {
  Inventory all;
  if (!why_no_driver().empty()) {
    all.why_none = why_no_driver();
    return all;
  }
  if (const Result code = cu().init(0); code != Results::kSuccess) {
    all.why_none = why_not_started(code);
    return all;
  }
  int count = 0, version = 0;
  cu().driver_version(&version);
  if (const Result code = cu().device_count(&count); code != Results::kSuccess || count == 0) {
    all.why_none = why_not_started(code == Results::kSuccess ? Results::kNoDevice : code);
    return all;
  }
  for (int i = 0; i < count; ++i) {
    Found found;
    if (cu().device(&found.device, i) != Results::kSuccess) continue;
    char name[256] = {};
    cu().device_name(name, sizeof name - 1, found.device);
    found.name = name;
    found.major = found.attribute(DeviceAttribute::kMajor);
    found.minor = found.attribute(DeviceAttribute::kMinor);
    found.driver = version;
    size_t memory = 0;
    cu().device_memory(&memory, found.device);
    found.memory = memory;
    if (found.major >= kLeastMajor)
      all.devices.push_back(std::move(found));
    else if (all.why_none.empty())
      all.why_none = fmt::format("{} has compute capability {}.{}, and {}.0 is the least", found.name, found.major,
                                 found.minor, kLeastMajor);
  }
  if (!all.devices.empty())
    all.why_none.clear();
  else if (all.why_none.empty())
    all.why_none = why_not_started(Results::kNoDevice);
  return all;
}

}  // namespace

int Found::attribute(int which) const {
  int value = 0;
  return cu().device_attribute(&value, which, device) == Results::kSuccess ? value : 0;
}

// Hopper's own instructions belong to the name with an a.
std::string Found::architecture() const {
  return fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "");
}

const Inventory& inventory() {
  static const Inventory& all = *new Inventory(look());
  return all;
}

ir::Limits limits_of(const Found& found) {
  const int processors = std::max(1, found.attribute(DeviceAttribute::kProcessors));
  ir::Limits limits = gpu::limits_of_gpu(static_cast<uint32_t>(processors));
  limits.max_threads = static_cast<uint32_t>(std::clamp(found.attribute(DeviceAttribute::kMaxThreads), 64, 1024));
  limits.subgroup = 32;
  limits.shared_bytes = static_cast<uint32_t>(std::max(
      {found.attribute(DeviceAttribute::kSharedBytes), found.attribute(DeviceAttribute::kSharedBytesOptIn), 16 << 10}));
  limits.has_fma = true;
  limits.column_blocks = std::clamp(std::bit_ceil(limits.processors) * 4, 32u, 1024u);
  if (found.major >= 8) {
    gpu::add_tiles(limits);
    limits.gelu_epilogue = limits.tf32 = lt() != nullptr;
  }
  return limits;
}

std::string describe(const Found& found) {
  const ir::Limits limits = limits_of(found);
  std::string text = fmt::format(
      "{}, compute capability {}.{}, driver for CUDA {}.{}: {:.1f} GB, {} processors, {} "
      "threads a block, {} KiB shared",
      found.name, found.major, found.minor, found.driver / 1000, found.driver % 1000 / 10,
      static_cast<double>(found.memory) / 1e9, limits.processors, limits.max_threads, limits.shared_bytes >> 10);
  if (!nvrtc()) text += fmt::format("; only kernels that were kept run: {}", why_no_compiler());
  if (!lt()) text += "; no cuBLASLt, products are our own kernels";
  if (!dnn()) text += "; no cuDNN, convolutions are our own kernels";
  return text;
}

}  // namespace tenon::backends::cuda
