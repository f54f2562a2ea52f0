#include "tenon/device/gpu_files.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tenon::device {
namespace {

namespace fs = std::filesystem;

bool any_begins_with(const fs::path& folder, std::initializer_list<std::string_view> beginnings) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::any_of(beginnings, [&](std::string_view one) { return name.starts_with(one); })) return true;
  }
  return false;
}

}  // namespace

bool may_have_gpu(const fs::path& folder) {
#ifdef __linux__
  // NVIDIA, AMD's compute driver, Windows' GPU under WSL, Mali, Adreno, PowerVR, Vivante.
  return any_begins_with(folder, {"nvidia", "kfd", "dxg", "mali", "kgsl", "pvr", "galcore"}) ||
         any_begins_with(folder / "dri", {"renderD"});
#else
  static_cast<void>(folder);
  return true;
#endif
}

}  // namespace tenon::device
