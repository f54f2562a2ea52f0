// Runs a rendered kernel on the first OpenCL device of this machine, through the library's own functions and nothing of
// the opencl device: what is wrong here is wrong in the source text.

#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/codegen/kernel_ir.h"

namespace tenon::render {

/// Why there is no OpenCL device; empty if there is one.
std::string why_no_opencl();
/// Whether threads of a subgroup can read each other's values: by an extension, or on NVIDIA by PTX.
bool has_shuffles();
/// Whether it takes the PTX of matrix tiles.
bool has_matrix_tiles();

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

struct Launch {
  std::vector<Bytes> buffers;  // what each holds before and, when run, after
  std::vector<uint64_t> numbers;
  std::array<uint32_t, 3> blocks{1, 1, 1};
  std::array<int32_t, codegen::FaultWords::kCount> faults{};
  bool guards = false;
  size_t offset = 64;  // of each buffer in its memory
};

/// Renders, compiles and runs; what the compiler has to say is the error.
void run_on_opencl(const codegen::KernelIr& kernel, Launch& launch);

}  // namespace tenon::render
