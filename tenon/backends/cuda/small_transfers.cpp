#include "tenon/backends/cuda/small_transfers.h"

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
extern "C" __global__ void small_download(const unsigned char* from, volatile unsigned char* to, unsigned bytes) {
  if (threadIdx.x < bytes) to[threadIdx.x] = from[threadIdx.x];
}
)";

}  // namespace

void SmallTransfers::release() {
  if (module_) cu().unload_module(module_);
  module_ = nullptr;
  up_ = down_ = nullptr;
}

bool SmallTransfers::prepare(const std::string& architecture) {
  if (up_ || was_tried_ || !nvrtc()) return up_;
  was_tried_ = true;
  try {
    const std::vector<std::byte> cubin = compile(*nvrtc(), kSource, architecture);
    if (cu().load_module(&module_, cubin.data()) != Results::kSuccess) return false;
  } catch (const gpu::Refused&) {  // plain uploads serve as well
    return false;
  }
  const bool is_whole = cu().function_of(&down_, module_, "small_download") == Results::kSuccess &&
                        cu().function_of(&up_, module_, "small_uploads") == Results::kSuccess;
  if (!is_whole) up_ = nullptr;
  return up_;
}

Result SmallTransfers::up(std::span<const SmallUpload> uploads, Stream stream) const {
  Uploads all{};
  for (size_t i = 0; i < uploads.size(); ++i) {
    all.to[i] = uploads[i].to.handle + uploads[i].to.offset;
    all.bytes[i] = static_cast<unsigned>(uploads[i].from.size());
    std::memcpy(all.data[i], uploads[i].from.data(), uploads[i].from.size());
  }
  void* argument = &all;
  return cu().launch(up_, static_cast<unsigned>(uploads.size()), 1, 1, SmallUpload::kBytes, 1, 1, 0, stream, &argument,
                     nullptr);
}

Result SmallTransfers::down(Address from, std::byte* to, size_t bytes, Stream stream) const {
  auto count = static_cast<unsigned>(bytes);
  void* arguments[] = {&from, &to, &count};
  return cu().launch(down_, 1, 1, 1, static_cast<unsigned>(kMostDown), 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace tenon::backends::cuda
