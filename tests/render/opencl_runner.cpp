// The few functions and numbers of CL/cl.h that a run takes are declared here, so that the tests build without it.

#include "opencl_runner.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "tenon/base/error.h"
#include "tenon/render/render.h"

namespace tenon::render {
namespace {

using Handle = void*;

struct Library {
  int (*clGetPlatformIDs)(uint32_t, Handle*, uint32_t*);
  int (*clGetDeviceIDs)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  int (*clGetDeviceInfo)(Handle, uint32_t, size_t, void*, size_t*);
  Handle (*clCreateContext)(const void*, uint32_t, const Handle*, void*, void*, int*);
  Handle (*clCreateCommandQueue)(Handle, Handle, uint64_t, int*);
  Handle (*clCreateProgramWithSource)(Handle, uint32_t, const char**, const size_t*, int*);
  int (*clBuildProgram)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int (*clGetProgramBuildInfo)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  Handle (*clCreateKernel)(Handle, const char*, int*);
  int (*clSetKernelArg)(Handle, uint32_t, size_t, const void*);
  Handle (*clCreateBuffer)(Handle, uint64_t, size_t, void*, int*);
  int (*clEnqueueNDRangeKernel)(Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,
                                const void*, void*);
  int (*clEnqueueReadBuffer)(Handle, Handle, uint32_t, size_t, size_t, void*, uint32_t, const void*, void*);
  int (*clReleaseMemObject)(Handle);
  int (*clReleaseKernel)(Handle);
  int (*clReleaseProgram)(Handle);
};

struct Machine {
  Library cl{};
  Handle device = nullptr, context = nullptr, queue = nullptr;
  std::string missing;
};

template <typename F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function) base::fail("opencl", "no {}", name);
}

Machine open_machine() {
  Machine machine;
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (!library) {
    machine.missing = "no libOpenCL.so.1";
    return machine;
  }
  // PoCL keeps what it compiles; it does so beside the test and not in the home folder.
  const auto cache = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "pocl_cache";
  std::filesystem::create_directories(cache);
  setenv("POCL_CACHE_DIR", cache.c_str(), 0);
  Library& cl = machine.cl;
#define TENON_FIND(name) find(library, #name, cl.name)
  TENON_FIND(clGetPlatformIDs);
  TENON_FIND(clGetDeviceIDs);
  TENON_FIND(clGetDeviceInfo);
  TENON_FIND(clCreateContext);
  TENON_FIND(clCreateCommandQueue);
  TENON_FIND(clCreateProgramWithSource);
  TENON_FIND(clBuildProgram);
  TENON_FIND(clGetProgramBuildInfo);
  TENON_FIND(clCreateKernel);
  TENON_FIND(clSetKernelArg);
  TENON_FIND(clCreateBuffer);
  TENON_FIND(clEnqueueNDRangeKernel);
  TENON_FIND(clEnqueueReadBuffer);
  TENON_FIND(clReleaseMemObject);
  TENON_FIND(clReleaseKernel);
  TENON_FIND(clReleaseProgram);
#undef TENON_FIND
  Handle platform = nullptr;
  int status = 0;
  constexpr uint64_t kAnyDevice = 0xFFFFFFFF;
  if (cl.clGetPlatformIDs(1, &platform, nullptr) != 0 || !platform) {
    machine.missing = "no OpenCL platform";
  } else if (cl.clGetDeviceIDs(platform, kAnyDevice, 1, &machine.device, nullptr) != 0) {
    machine.missing = "no OpenCL device";
  } else {
    machine.context = cl.clCreateContext(nullptr, 1, &machine.device, nullptr, nullptr, &status);
    machine.queue = cl.clCreateCommandQueue(machine.context, machine.device, 0, &status);
    if (status != 0) machine.missing = "the OpenCL device does not open";
  }
  return machine;
}

Machine& machine() {
  static Machine opened = open_machine();
  return opened;
}

void expect(int status, const char* what) {
  if (status != 0) base::fail("opencl", "{} gives {}", what, status);
}

using Owned = std::unique_ptr<void, int (*)(Handle)>;

Owned build(const std::string& source) {
  const Library& cl = machine().cl;
  const char* text = source.c_str();
  int status = 0;
  Owned program(cl.clCreateProgramWithSource(machine().context, 1, &text, nullptr, &status), cl.clReleaseProgram);
  expect(status, "clCreateProgramWithSource");
  constexpr uint32_t kBuildLog = 0x1183;
  constexpr const char* kOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
  if (cl.clBuildProgram(program.get(), 1, &machine().device, kOptions, nullptr, nullptr) != 0) {
    std::string log(65536, '\0');
    cl.clGetProgramBuildInfo(program.get(), machine().device, kBuildLog, log.size(), log.data(), nullptr);
    base::fail("opencl", "{}\n{}", log.c_str(), source);
  }
  return program;
}

}  // namespace

std::string why_no_opencl() { return machine().missing; }

bool has_shuffles() {
  constexpr uint32_t kVendor = 0x102C, kExtensions = 0x1030;
  const auto says = [](uint32_t what, std::string_view word) {
    std::string text(65536, '\0');
    machine().cl.clGetDeviceInfo(machine().device, what, text.size(), text.data(), nullptr);
    return text.find(word) != std::string::npos;
  };
  return says(kExtensions, "cl_khr_subgroup_shuffle") || says(kExtensions, "cl_intel_subgroups") ||
         says(kVendor, "NVIDIA");
}

bool has_matrix_tiles() {
  constexpr uint32_t kComputeCapabilityOfNvidia = 0x4000;
  uint32_t major = 0;
  return machine().cl.clGetDeviceInfo(machine().device, kComputeCapabilityOfNvidia, sizeof major, &major, nullptr) ==
             0 &&
         major >= 8;
}

void run_on_opencl(const codegen::KernelIr& ir, Launch& launch) {
  const Library& cl = machine().cl;
  const Owned program = build(render(ir, Language::opencl));
  int status = 0;
  const Owned kernel(cl.clCreateKernel(program.get(), ir.name.c_str(), &status), cl.clReleaseKernel);
  expect(status, "clCreateKernel");

  constexpr uint64_t kReadWrite = 1, kCopy = 1 << 5;
  std::vector<Owned> memory;
  uint32_t arg = 0;
  const auto pass = [&](const auto& value) {
    expect(cl.clSetKernelArg(kernel.get(), arg++, sizeof(value), &value), "clSetKernelArg");
  };
  const auto pass_memory = [&](void* bytes, size_t size) {
    memory.emplace_back(cl.clCreateBuffer(machine().context, kReadWrite | kCopy, size, bytes, &status),
                        cl.clReleaseMemObject);
    expect(status, "clCreateBuffer");
    const Handle handle = memory.back().get();
    pass(handle);
  };
  for (const Bytes& buffer : launch.buffers) {
    Bytes whole(launch.offset);
    whole.insert(whole.end(), buffer.begin(), buffer.end());
    pass_memory(whole.data(), whole.size());
    pass(static_cast<uint64_t>(launch.offset));
  }
  for (const uint64_t number : launch.numbers) pass(number);
  pass_memory(launch.faults.data(), sizeof(launch.faults));
  pass(static_cast<uint32_t>(launch.guards));

  const size_t threads[3] = {size_t{ir.threads} * launch.blocks[0], launch.blocks[1], launch.blocks[2]};
  const size_t block[3] = {ir.threads, 1, 1};
  expect(cl.clEnqueueNDRangeKernel(machine().queue, kernel.get(), 3, nullptr, threads, block, 0, nullptr, nullptr),
         "clEnqueueNDRangeKernel");
  const auto read = [&](size_t i, size_t offset, void* to, size_t bytes) {
    expect(cl.clEnqueueReadBuffer(machine().queue, memory[i].get(), 1, offset, bytes, to, 0, nullptr, nullptr),
           "clEnqueueReadBuffer");
  };
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    read(i, launch.offset, launch.buffers[i].data(), launch.buffers[i].size());
  read(launch.buffers.size(), 0, launch.faults.data(), sizeof(launch.faults));
}

}  // namespace tenon::render
