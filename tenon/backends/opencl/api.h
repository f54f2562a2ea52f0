// OpenCL's functions, looked up when a device is first asked for: a program that was built with OpenCL starts without
// it.

#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <string>

namespace tenon::backends::opencl {

/// The functions that are used, by their names without the prefix.
struct Api {
  decltype(&clGetPlatformIDs) get_platform_ids;
  decltype(&clGetPlatformInfo) get_platform_info;
  decltype(&clGetDeviceIDs) get_device_ids;
  decltype(&clGetDeviceInfo) get_device_info;
  decltype(&clCreateContext) create_context;
  decltype(&clReleaseContext) release_context;
  decltype(&clCreateCommandQueueWithProperties) create_queue;
  decltype(&clReleaseCommandQueue) release_queue;
  decltype(&clCreateBuffer) create_buffer;
  decltype(&clReleaseMemObject) release_memory;
  decltype(&clCreateProgramWithSource) program_of_source;
  decltype(&clCreateProgramWithBinary) program_of_binary;
  decltype(&clBuildProgram) build_program;
  decltype(&clGetProgramInfo) get_program_info;
  decltype(&clGetProgramBuildInfo) get_build_info;
  decltype(&clReleaseProgram) release_program;
  decltype(&clCreateKernel) create_kernel;
  decltype(&clSetKernelArg) set_argument;
  decltype(&clReleaseKernel) release_kernel;
  decltype(&clEnqueueNDRangeKernel) enqueue_kernel;
  decltype(&clEnqueueReadBuffer) enqueue_read;
  decltype(&clEnqueueWriteBuffer) enqueue_write;
  decltype(&clEnqueueCopyBuffer) enqueue_copy;
  decltype(&clEnqueueFillBuffer) enqueue_fill;
  decltype(&clEnqueueMapBuffer) enqueue_map;
  decltype(&clEnqueueMigrateMemObjects) enqueue_migrate;
  decltype(&clEnqueueMarkerWithWaitList) enqueue_marker;
  decltype(&clFlush) flush;
  decltype(&clFinish) finish;
  decltype(&clWaitForEvents) wait_for_events;
  decltype(&clRetainEvent) retain_event;
  decltype(&clReleaseEvent) release_event;
  decltype(&clGetEventProfilingInfo) get_profiling_info;
};

/// Why there is no library; empty where there is one.
const std::string& why_no_library();
/// The functions; only where there is a library.
const Api& cl();

/// The name of an error, as OpenCL has it.
std::string error_name(cl_int code);
/// Fails, with what could not be done, unless the code says success.
void require(cl_int code, const char* what);

}  // namespace tenon::backends::opencl
