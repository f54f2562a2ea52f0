// Few bytes on their way to the device as arguments of a kernel: what changes from step to step (a learning rate, where
// random numbers begin) goes ahead of a graph as one launch, without memory of the host that is read later and without
// the copy engine.

#pragma once

#include <array>
#include <span>

#include "tenon/backends/cuda/api.h"
#include "tenon/backends/gpu/driver.h"

namespace tenon::backends::cuda {

class SmallUploads {
 public:
  SmallUploads() = default;
  SmallUploads(const SmallUploads&) = delete;
  /// Before the context goes.
  void release();
  /// Compiles the kernel; it is not to be used where that fails or there is no compiler.
  bool prepare(const std::string& architecture);
  /// At most gpu::SmallUpload::kMost.
  Result start(std::span<const gpu::SmallUpload> uploads, Stream stream) const;

 private:
  Module module_ = nullptr;
  Function function_ = nullptr;
  bool was_tried_ = false;
};

}  // namespace tenon::backends::cuda
