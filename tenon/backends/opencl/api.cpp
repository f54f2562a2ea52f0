// The library stays loaded until the process ends.

#include "tenon/backends/opencl/api.h"

#include <dlfcn.h>

#include <utility>

#include "tenon/base/error.h"

namespace tenon::backends::opencl {
namespace {

struct Library {
  Api api{};
  std::string why_none;

  Library() {
    void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      why_none = "no OpenCL library (libOpenCL.so.1 was not found)";
      return;
    }
    const auto take = [&]<typename F>(F& function, const char* name) {
      function = reinterpret_cast<F>(dlsym(handle, name));
      if (!function && why_none.empty())
        why_none = fmt::format("libOpenCL.so.1 is older than OpenCL 2.0: it has no {}", name);
    };
    take(api.get_platform_ids, "clGetPlatformIDs");
    take(api.get_platform_info, "clGetPlatformInfo");
    take(api.get_device_ids, "clGetDeviceIDs");
    take(api.get_device_info, "clGetDeviceInfo");
    take(api.create_context, "clCreateContext");
    take(api.release_context, "clReleaseContext");
    take(api.create_queue, "clCreateCommandQueueWithProperties");
    take(api.release_queue, "clReleaseCommandQueue");
    take(api.create_buffer, "clCreateBuffer");
    take(api.release_memory, "clReleaseMemObject");
    take(api.program_of_source, "clCreateProgramWithSource");
    take(api.program_of_binary, "clCreateProgramWithBinary");
    take(api.build_program, "clBuildProgram");
    take(api.get_program_info, "clGetProgramInfo");
    take(api.get_build_info, "clGetProgramBuildInfo");
    take(api.release_program, "clReleaseProgram");
    take(api.create_kernel, "clCreateKernel");
    take(api.set_argument, "clSetKernelArg");
    take(api.release_kernel, "clReleaseKernel");
    take(api.enqueue_kernel, "clEnqueueNDRangeKernel");
    take(api.enqueue_read, "clEnqueueReadBuffer");
    take(api.enqueue_write, "clEnqueueWriteBuffer");
    take(api.enqueue_copy, "clEnqueueCopyBuffer");
    take(api.enqueue_fill, "clEnqueueFillBuffer");
    take(api.enqueue_map, "clEnqueueMapBuffer");
    take(api.enqueue_migrate, "clEnqueueMigrateMemObjects");
    take(api.enqueue_marker, "clEnqueueMarkerWithWaitList");
    take(api.flush, "clFlush");
    take(api.finish, "clFinish");
    take(api.wait_for_events, "clWaitForEvents");
    take(api.retain_event, "clRetainEvent");
    take(api.release_event, "clReleaseEvent");
    take(api.get_profiling_info, "clGetEventProfilingInfo");
  }
};

const Library& library() {
  static const Library& loaded = *new Library;
  return loaded;
}

}  // namespace

const std::string& why_no_library() { return library().why_none; }
const Api& cl() { return library().api; }

std::string error_name(cl_int code) {
  constexpr std::pair<cl_int, const char*> kNames[] = {
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == code) return name;
  }
  return fmt::format("error {}", code);
}

void require(cl_int code, const char* what) {
  if (code != CL_SUCCESS) base::fail("opencl", "{}: {}", what, error_name(code));
}

}  // namespace tenon::backends::opencl
