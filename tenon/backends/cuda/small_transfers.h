// Few bytes on their way without the copy engine, which makes kernels before and behind it wait for microseconds. Up as
// arguments of a kernel: what changes from step to step (a learning rate, where random numbers begin) goes ahead of a
// graph as one launch, without memory of the host that is read later. Down by a kernel that writes to pinned memory.

#pragma once

#include <array>
#include <span>

#include "tenon/backends/cuda/api.h"
#include "tenon/backends/gpu/driver.h"

namespace tenon::backends::cuda {

class SmallTransfers {
 public:
  static constexpr size_t kMostDown = 256;  // bytes of a download

  SmallTransfers() = default;
  SmallTransfers(const SmallTransfers&) = delete;
  /// Before the context goes.
  void release();
  /// Compiles the kernels; they are not to be used where that fails or there is no compiler.
  bool prepare(const std::string& architecture);
  /// At most gpu::SmallUpload::kMost.
  Result up(std::span<const gpu::SmallUpload> uploads, Stream stream) const;
  /// At most kMostDown bytes, to pinned memory.
  Result down(Address from, std::byte* to, size_t bytes, Stream stream) const;

 private:
  Module module_ = nullptr;
  Function up_ = nullptr, down_ = nullptr;
  bool was_tried_ = false;
};

}  // namespace tenon::backends::cuda
