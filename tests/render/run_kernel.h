// Runs a kernel on the interpreter of the simulated device.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "opencl_runner.h"
#include "tenon/backends/simulated/interpreter.h"

namespace tenon::render {

/// Buffers end at a word, as devices without bytes have them.
inline void run_kernel(const codegen::KernelIr& kernel, Launch& run) {
  codegen::Dispatch dispatch;
  dispatch.kernel = kernel;
  dispatch.blocks = {run.blocks[0], run.blocks[1], run.blocks[2]};
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<std::byte>> spans;
  for (const Bytes& bytes : run.buffers) {
    // Vectors of 8 are aligned to 64 bytes.
    auto& own = memory.emplace_back(bytes.size() + 64 + 4);
    std::byte* begin = own.data() + (64 - reinterpret_cast<uintptr_t>(own.data()) % 64);
    std::memcpy(begin, bytes.data(), bytes.size());
    spans.emplace_back(begin, (bytes.size() + 3) / 4 * 4);
  }
  backends::simulated::run(dispatch, spans, run.numbers);
  for (size_t i = 0; i < run.buffers.size(); ++i)
    std::memcpy(run.buffers[i].data(), spans[i].data(), run.buffers[i].size());
}

/// Whether both kernels leave the same bytes in all buffers.
inline testing::AssertionResult does_the_same(const codegen::KernelIr& kernel, const codegen::KernelIr& other,
                                              Launch run) {
  Launch second = run;
  run_kernel(kernel, run);
  run_kernel(other, second);
  for (size_t i = 0; i < run.buffers.size(); ++i) {
    for (size_t at = 0; at < run.buffers[i].size(); ++at) {
      if (run.buffers[i][at] != second.buffers[i][at])
        return testing::AssertionFailure() << "byte " << at << " of buffer " << i << " is "
                                           << int{second.buffers[i][at]} << ", not " << int{run.buffers[i][at]} << "\n"
                                           << to_string(other);
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon::render
