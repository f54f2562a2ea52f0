#include "tenon/backends/cuda/small_uploads.h"

#include <cstring>

#include "tenon/backends/cuda/toolchain.h"

namespace tenon::backends::cuda {
namespace {

using gpu::SmallUpload;

// As the kernel sees it.
struct Uploads {
  unsigned long long to[SmallUpload::kMost];
  unsigned bytes[SmallUpload::kMost];
  unsigned char data[SmallUpload::kMost][SmallUpload::kBytes];
};
static_assert(SmallUpload::kMost == 16 && SmallUpload::kBytes == 64);

constexpr const char* kSource = R"(struct Uploads {
  unsigned long long to[16];
  unsigned bytes[16];
  unsigned char data[16][64];
};
extern "C" __global__ void small_uploads(const Uploads all) {
  const unsigned i = blockIdx.x, at = threadIdx.x;
  if (at < all.bytes[i]) ((unsigned char*)all.to[i])[at] = all.data[i][at];
}
)";

}  // namespace

void SmallUploads::release() {
  if (module_) cu().unload_module(module_);
  module_ = nullptr;
  function_ = nullptr;
}

bool SmallUploads::prepare(const std::string& architecture) {
  if (function_ || was_tried_ || !nvrtc()) return function_;
  was_tried_ = true;
  try {
    const std::vector<std::byte> cubin = compile(*nvrtc(), kSource, architecture);
    if (cu().load_module(&module_, cubin.data()) != Results::kSuccess) return false;
  } catch (const gpu::Refused&) {  // plain uploads serve as well
    return false;
  }
  cu().function_of(&function_, module_, "small_uploads");
  return function_;
}

Result SmallUploads::start(std::span<const SmallUpload> uploads, Stream stream) const {
  Uploads all{};
  for (size_t i = 0; i < uploads.size(); ++i) {
    all.to[i] = uploads[i].to.handle + uploads[i].to.offset;
    all.bytes[i] = static_cast<unsigned>(uploads[i].from.size());
    std::memcpy(all.data[i], uploads[i].from.data(), uploads[i].from.size());
  }
  void* argument = &all;
  return cu().launch(function_, static_cast<unsigned>(uploads.size()), 1, 1, SmallUpload::kBytes, 1, 1, 0, stream,
                     &argument, nullptr);
}

}  // namespace tenon::backends::cuda
