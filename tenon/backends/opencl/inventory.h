// Which OpenCL devices this machine has, and what each can do.

#pragma once

#include <string>
#include <vector>

#include "tenon/backends/opencl/api.h"
#include "tenon/ir/limits.h"

namespace tenon::backends::opencl {

struct Found {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  bool is_cpu = false;
  std::string name, platform_name, driver;
};

struct Inventory {
  std::vector<Found> devices;  // GPUs and accelerators before CPUs
  std::string why_none;        // empty where there is a device
};

/// Looked up once.
const Inventory& inventory();

ir::Limits limits_of(const Found& found);
/// NVIDIA's compiler takes PTX; whether the chip is of compute capability 8.0 or later.
bool takes_ptx_of_8(const Found& found);
/// The options with which programs are built there: nothing that changes what a number is.
std::string build_options(const Found& found);
/// Whether its platform keeps compiled programs between processes.
bool keeps_programs_itself(const Found& found);
/// Bytes of its memory, for messages.
uint64_t memory_of(const Found& found);
/// One line for people.
std::string describe(const Found& found);

}  // namespace tenon::backends::opencl
