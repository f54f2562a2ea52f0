// Which NVIDIA GPUs this machine has, and what each can do.

#pragma once

#include <string>
#include <vector>

#include "tenon/backends/cuda/api.h"
#include "tenon/ir/limits.h"

namespace tenon::backends::cuda {

struct Found {
  DeviceNumber device = 0;
  std::string name;
  int major = 0, minor = 0;  // of its compute capability
  int driver = 0;            // its version: 13000 is CUDA 13.0
  uint64_t memory = 0;       // bytes

  /// What the compiler calls it: sm_90a.
  std::string architecture() const;
  int attribute(int which) const;
};

struct Inventory {
  std::vector<Found> devices;
  std::string why_none;  // empty where there is a device
};

/// Looked up once.
const Inventory& inventory();

ir::Limits limits_of(const Found& found);
/// One line for people.
std::string describe(const Found& found);

}  // namespace tenon::backends::cuda
