// Asks every platform. One that does not answer, or a device without a compiler, is passed over.

#include "tenon/backends/opencl/inventory.h"

#include <algorithm>

#include "tenon/backends/gpu/kind.h"
#include "tenon/base/environment.h"
#include "tenon/base/error.h"

namespace tenon::backends::opencl {
namespace {

// Of cl_nv_device_attribute_query.
constexpr cl_device_info kWarpSizeOfNvidia = 0x4003;
constexpr cl_device_info kComputeCapabilityOfNvidia = 0x4000;

template <typename T>
T ask(cl_device_id device, cl_device_info what, T otherwise = {}) {
  T value{};
  return cl().get_device_info(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

std::string ask_text(cl_device_id device, cl_device_info what) {
  size_t bytes = 0;
  if (cl().get_device_info(device, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (cl().get_device_info(device, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0'));
  return text;
}

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  std::string text(512, '\0');
  if (cl().get_platform_info(platform, what, text.size() - 1, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0'));
  return text;
}

bool has_extension(cl_device_id device, const std::string& name) {
  return (" " + ask_text(device, CL_DEVICE_EXTENSIONS) + " ").find(" " + name + " ") != std::string::npos;
}

// "OpenCL 3.0 ..." and the like.
bool is_version_2(cl_device_id device) {
  const std::string text = ask_text(device, CL_DEVICE_VERSION);
  return text.size() > 7 && text[7] >= '2';
}

// A device of OpenCL 3.0 calls its language 1.2 where it lacks something of 2.0; the list of all versions tells.
bool compiles_version_3(cl_device_id device) {
  size_t bytes = 0;
  if (cl().get_device_info(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, 0, nullptr, &bytes) != CL_SUCCESS) return false;
  std::vector<cl_name_version> versions(bytes / sizeof(cl_name_version));
  if (cl().get_device_info(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, bytes, versions.data(), nullptr) != CL_SUCCESS)
    return false;
  return std::any_of(versions.begin(), versions.end(),
                     [](const cl_name_version& one) { return CL_VERSION_MAJOR(one.version) >= 3; });
}

void add_devices(cl_platform_id platform, Inventory& all) {
  cl_uint count = 0;
  if (cl().get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  std::vector<cl_device_id> devices(count);
  if (cl().get_device_ids(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) return;
  for (cl_device_id device : devices) {
    Found found{platform, device};
    found.name = ask_text(device, CL_DEVICE_NAME);
    found.platform_name = platform_text(platform, CL_PLATFORM_NAME);
    found.driver = ask_text(device, CL_DRIVER_VERSION);
    found.is_cpu = ask<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
    const auto refuse = [&](const char* why) {
      if (all.why_none.empty()) all.why_none = fmt::format("OpenCL device {} {}", found.name, why);
    };
    if (!is_version_2(device))
      refuse("is older than OpenCL 2.0");
    else if (!ask<cl_bool>(device, CL_DEVICE_AVAILABLE, CL_FALSE))
      refuse("is not available");
    else if (!ask<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE, CL_FALSE))
      refuse("has no compiler");
    else if (!ask<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE, CL_FALSE))
      refuse("is big-endian");
    else
      all.devices.push_back(std::move(found));
  }
}

Inventory look() {
  Inventory all;
  if (!why_no_library().empty()) {
    all.why_none = why_no_library();
    return all;
  }
  cl_uint count = 0;
  if (cl().get_platform_ids(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    const auto named = base::env::value(base::env::kOclIcdVendors);  // where the loader looked
    all.why_none = fmt::format("no OpenCL platform (no driver that loads is listed in {}{})",
                               named.value_or("/etc/OpenCL/vendors"), named ? ", which OCL_ICD_VENDORS names" : "");
    return all;
  }
  std::vector<cl_platform_id> platforms(count);
  require(cl().get_platform_ids(count, platforms.data(), nullptr), "platforms cannot be listed");
  for (cl_platform_id platform : platforms) add_devices(platform, all);
  std::stable_sort(all.devices.begin(), all.devices.end(),
                   [](const Found& a, const Found& b) { return a.is_cpu < b.is_cpu; });
  if (!all.devices.empty())
    all.why_none.clear();
  else if (all.why_none.empty())
    all.why_none = "no device of any OpenCL platform";
  return all;
}

cl_device_fp_config config_of(const Found& found) {
  return ask<cl_device_fp_config>(found.device, CL_DEVICE_SINGLE_FP_CONFIG);
}

}  // namespace

const Inventory& inventory() {
  static const Inventory& all = *new Inventory(look());
  return all;
}

bool takes_ptx_of_8(const Found& found) { return ask<cl_uint>(found.device, kComputeCapabilityOfNvidia, 0) >= 8; }

ir::Limits limits_of(const Found& found) {
  const auto processors = ask<cl_uint>(found.device, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  ir::Limits limits = gpu::limits_of_gpu(processors);
  if (found.is_cpu) {  // few threads at once, and none of them waits for memory
    const ir::Limits usual;
    limits.few_rows = usual.few_rows;
    limits.column_blocks = usual.column_blocks;
    limits.vector = 1;
  }
  limits.max_binding = ask<cl_ulong>(found.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, limits.max_binding);
  if (!has_extension(found.device, "cl_khr_fp64")) limits.missing_dtypes.insert(DType::f64);
  limits.max_threads = static_cast<uint32_t>(
      std::min<size_t>(found.is_cpu ? 256 : 1024, ask<size_t>(found.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 64)));
  limits.subgroup = found.is_cpu ? 1 : ask<cl_uint>(found.device, kWarpSizeOfNvidia, 1);
  limits.shared_bytes = static_cast<uint32_t>(
      std::min<cl_ulong>(1 << 20, ask<cl_ulong>(found.device, CL_DEVICE_LOCAL_MEM_SIZE, 16 << 10)));
  limits.has_fma = config_of(found) & CL_FP_FMA;
  if (takes_ptx_of_8(found) && limits.subgroup == 32) gpu::add_tiles(limits);  // which have ldmatrix and mma of bf16
  return limits;
}

std::string build_options(const Found& found) {
  std::string options = compiles_version_3(found.device) ? "-cl-std=CL3.0" : "-cl-std=CL1.2";
  if (config_of(found) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

// PoCL does, and to be asked for a binary makes it compile every kernel once more.
bool keeps_programs_itself(const Found& found) { return found.platform_name == "Portable Computing Language"; }

uint64_t memory_of(const Found& found) { return ask<cl_ulong>(found.device, CL_DEVICE_GLOBAL_MEM_SIZE); }

std::string describe(const Found& found) {
  const ir::Limits limits = limits_of(found);
  return fmt::format(
      "{}, {}, driver {}: {:.1f} GB, {} processors, {} threads a block, {} KiB shared, subgroups of {}{}",
      found.platform_name, found.name, found.driver, static_cast<double>(memory_of(found)) / 1e9, limits.processors,
      limits.max_threads, limits.shared_bytes >> 10, limits.subgroup,
      limits.missing_dtypes.contains(DType::f64) ? ", no f64" : "");
}

}  // namespace tenon::backends::opencl
