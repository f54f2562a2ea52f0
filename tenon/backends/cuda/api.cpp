// Libraries stay loaded until the process ends. The compiler, cuBLASLt and cuDNN are looked for where programs find
// libraries, then where CUDA is usually installed. TENON_CUDA_LIBRARIES names other folders, separated by colons, which
// come first.

#include "tenon/backends/cuda/api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tenon/base/environment.h"
#include "tenon/base/error.h"

namespace tenon::backends::cuda {
namespace {

// Takes functions out of a library; the first that is missing is remembered.
struct Symbols {
  void* library;
  std::string missing = {};

  template <typename F>
  void take(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (!function && missing.empty()) missing = name;
  }
};

struct DriverLibrary {
  DriverApi api{};
  std::string why_none;

  DriverLibrary() {
    // Tests bring a driver of their own.
    const std::string name = base::env::value(base::env::kCudaDriver).value_or("libcuda.so.1");
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      why_none = fmt::format("no NVIDIA driver ({} was not found)", name);
      return;
    }
    Symbols from{handle};
    from.take(api.init, "cuInit");
    from.take(api.driver_version, "cuDriverGetVersion");
    from.take(api.device_count, "cuDeviceGetCount");
    from.take(api.device, "cuDeviceGet");
    from.take(api.device_name, "cuDeviceGetName");
    from.take(api.device_attribute, "cuDeviceGetAttribute");
    from.take(api.device_memory, "cuDeviceTotalMem_v2");
    from.take(api.retain_primary_context, "cuDevicePrimaryCtxRetain");
    from.take(api.release_primary_context, "cuDevicePrimaryCtxRelease_v2");
    from.take(api.set_current, "cuCtxSetCurrent");
    from.take(api.allocate, "cuMemAlloc_v2");
    from.take(api.free, "cuMemFree_v2");
    from.take(api.memory_left, "cuMemGetInfo_v2");
    from.take(api.allocate_on_stream, "cuMemAllocAsync");
    from.take(api.free_on_stream, "cuMemFreeAsync");
    from.take(api.allocate_host, "cuMemHostAlloc");
    from.take(api.free_host, "cuMemFreeHost");
    from.take(api.upload, "cuMemcpyHtoDAsync_v2");
    from.take(api.download, "cuMemcpyDtoHAsync_v2");
    from.take(api.copy, "cuMemcpyDtoDAsync_v2");
    from.take(api.fill, "cuMemsetD8Async");
    from.take(api.make_stream, "cuStreamCreate");
    from.take(api.destroy_stream, "cuStreamDestroy_v2");
    from.take(api.finish_stream, "cuStreamSynchronize");
    from.take(api.make_event, "cuEventCreate");
    from.take(api.record_event, "cuEventRecord");
    from.take(api.wait_for_event, "cuEventSynchronize");
    from.take(api.let_wait, "cuStreamWaitEvent");
    from.take(api.time_between, "cuEventElapsedTime");
    from.take(api.destroy_event, "cuEventDestroy_v2");
    from.take(api.load_module, "cuModuleLoadData");
    from.take(api.unload_module, "cuModuleUnload");
    from.take(api.function_of, "cuModuleGetFunction");
    from.take(api.set_function_attribute, "cuFuncSetAttribute");
    from.take(api.launch, "cuLaunchKernel");
    from.take(api.begin_capture, "cuStreamBeginCapture_v2");
    from.take(api.end_capture, "cuStreamEndCapture");
    from.take(api.instantiate, "cuGraphInstantiateWithFlags");
    from.take(api.launch_graph, "cuGraphLaunch");
    from.take(api.destroy_runnable_graph, "cuGraphExecDestroy");
    from.take(api.destroy_graph, "cuGraphDestroy");
    from.take(api.error_name, "cuGetErrorName");
    from.take(api.error_text, "cuGetErrorString");
    if (!from.missing.empty())
      why_none = fmt::format("the NVIDIA driver is older than CUDA 11.4: it has no {}", from.missing);
  }
};

const DriverLibrary& driver() {
  static const DriverLibrary& loaded = *new DriverLibrary;
  return loaded;
}

std::vector<std::string> folders_of_libraries() {
  std::vector<std::string> folders;
  if (const auto own = base::env::value(base::env::kCudaLibraries)) {
    std::istringstream list(*own);
    for (std::string folder; std::getline(list, folder, ':');) {
      if (!folder.empty()) folders.push_back(folder);
    }
  }
  folders.emplace_back();  // where programs find libraries
  for (const base::env::Variable* variable : {&base::env::kCudaHome, &base::env::kCudaPath}) {
    if (const auto root = base::env::value(*variable)) {
      folders.push_back(*root + "/lib64");
      folders.push_back(*root + "/lib");
    }
  }
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/lib/cuda/lib64"})
    folders.emplace_back(folder);
  return folders;
}

void* open_in(const std::string& folder, const std::string& file) {
  if (!folder.empty() && !std::filesystem::exists(folder + "/" + file)) return nullptr;
  return dlopen((folder.empty() ? file : folder + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
}

// The first of these libraries that is there, in any folder. A library made for a newer driver is passed over: what it
// compiles would not load.
void* open_any(const std::string& name, std::string& tried) {
  int version = 0;
  if (why_no_driver().empty()) cu().driver_version(&version);
  const int newest = version > 0 ? version / 1000 : 13;
  for (const std::string& folder : folders_of_libraries()) {
    for (int major = newest; major >= 12; --major) {
      if (void* handle = open_in(folder, fmt::format("{}.so.{}", name, major))) return handle;
    }
  }
  tried = fmt::format("{}.so.{}", name, newest);
  return nullptr;
}

struct CompilerLibrary {
  CompilerApi api{};
  std::string why_none;

  CompilerLibrary() {
    std::string tried;
    void* handle = open_any("libnvrtc", tried);
    if (!handle) {
      why_none =
          fmt::format("{} was not found (install CUDA's NVRTC, or name its folder in TENON_CUDA_LIBRARIES)", tried);
      return;
    }
    Symbols from{handle};
    from.take(api.version, "nvrtcVersion");
    from.take(api.architecture_count, "nvrtcGetNumSupportedArchs");
    from.take(api.architectures, "nvrtcGetSupportedArchs");
    from.take(api.create, "nvrtcCreateProgram");
    from.take(api.destroy, "nvrtcDestroyProgram");
    from.take(api.compile, "nvrtcCompileProgram");
    from.take(api.binary_size, "nvrtcGetCUBINSize");
    from.take(api.binary, "nvrtcGetCUBIN");
    from.take(api.log_size, "nvrtcGetProgramLogSize");
    from.take(api.log, "nvrtcGetProgramLog");
    from.take(api.error_text, "nvrtcGetErrorString");
    if (!from.missing.empty()) why_none = fmt::format("NVRTC is too old: it has no {}", from.missing);
  }
};

const CompilerLibrary& compiler() {
  static const CompilerLibrary& loaded = *new CompilerLibrary;
  return loaded;
}

struct ProductLibrary {
  ProductApi api{};
  bool is_there = false;

  ProductLibrary() {
    std::string tried;
    void* handle = open_any("libcublasLt", tried);
    if (!handle) return;
    Symbols from{handle};
    from.take(api.create, "cublasLtCreate");
    from.take(api.version, "cublasLtGetVersion");
    from.take(api.create_product, "cublasLtMatmulDescCreate");
    from.take(api.destroy_product, "cublasLtMatmulDescDestroy");
    from.take(api.set_product, "cublasLtMatmulDescSetAttribute");
    from.take(api.create_layout, "cublasLtMatrixLayoutCreate");
    from.take(api.destroy_layout, "cublasLtMatrixLayoutDestroy");
    from.take(api.set_layout, "cublasLtMatrixLayoutSetAttribute");
    from.take(api.create_preference, "cublasLtMatmulPreferenceCreate");
    from.take(api.destroy_preference, "cublasLtMatmulPreferenceDestroy");
    from.take(api.set_preference, "cublasLtMatmulPreferenceSetAttribute");
    from.take(api.propose, "cublasLtMatmulAlgoGetHeuristic");
    from.take(api.init_algorithm, "cublasLtMatmulAlgoInit");
    from.take(api.set_algorithm, "cublasLtMatmulAlgoConfigSetAttribute");
    from.take(api.get_algorithm, "cublasLtMatmulAlgoConfigGetAttribute");
    from.take(api.check_algorithm, "cublasLtMatmulAlgoCheck");
    from.take(api.multiply, "cublasLtMatmul");
    is_there = from.missing.empty();
  }
};

struct ConvolutionLibrary {
  ConvolutionApi api{};
  bool is_there = false;

  ConvolutionLibrary() {
    void* handle = nullptr;
    for (const std::string& folder : folders_of_libraries()) {
      if ((handle = open_in(folder, "libcudnn.so.9"))) break;
    }
    if (!handle) return;
    Symbols from{handle};
    from.take(api.version, "cudnnGetVersion");
    from.take(api.create, "cudnnCreate");
    from.take(api.set_stream, "cudnnSetStream");
    from.take(api.make, "cudnnBackendCreateDescriptor");
    from.take(api.destroy, "cudnnBackendDestroyDescriptor");
    from.take(api.finish, "cudnnBackendFinalize");
    from.take(api.set, "cudnnBackendSetAttribute");
    from.take(api.get, "cudnnBackendGetAttribute");
    from.take(api.run, "cudnnBackendExecute");
    from.take(api.last_error, "cudnnGetLastErrorString");
    is_there = from.missing.empty();
  }
};

}  // namespace

const std::string& why_no_driver() { return driver().why_none; }
const DriverApi& cu() { return driver().api; }

std::string error_name(Result code) {
  const char* name = nullptr;
  if (cu().error_name(code, &name) == Results::kSuccess && name) return name;
  return fmt::format("error {}", code);
}

void require(Result code, const char* what) {
  if (code != Results::kSuccess) base::fail("cuda", "{}: {}", what, error_name(code));
}

const CompilerApi* nvrtc() { return compiler().why_none.empty() ? &compiler().api : nullptr; }
const std::string& why_no_compiler() { return compiler().why_none; }

const ProductApi* lt() {
  static const ProductLibrary& loaded = *new ProductLibrary;
  return loaded.is_there ? &loaded.api : nullptr;
}

const ConvolutionApi* dnn() {
  static const ConvolutionLibrary& loaded = *new ConvolutionLibrary;
  return loaded.is_there ? &loaded.api : nullptr;
}

}  // namespace tenon::backends::cuda
