// What backends of GPUs say of their devices alike: names, and limits before a device is asked.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/device/registry.h"
#include "tenon/ir/limits.h"

namespace tenon::backends::gpu {

/// The devices of one driver.
struct Kind {
  std::string name;
  std::function<size_t()> count;
  std::function<std::string()> why_none;  // empty where there is a device
  std::function<std::unique_ptr<device::Device>(const std::string& name, size_t index, bool fuses)> open;
  std::function<bool()> is_host = nullptr;  // whether the first device is the host's own processors
};
/// `name` is the first device; it brings `name:1`, `name:2` ... where there are more. `name_unfused`, for tests, is the
/// first one again, with a kernel for each op.
std::vector<device::Backend> backends_of(const Kind& kind);

/// Of a GPU with these many processors: what fusion keeps to, and how much runs at once. Threads and memory of a block
/// are the device's to say.
ir::Limits limits_of_gpu(uint32_t processors);
/// Whether matrix tiles may be used: unless TENON_TILES=0.
bool wants_tiles();
/// Adds matrix tiles as NVIDIA's GPUs have them from compute capability 8 on, where they may be used.
void add_tiles(ir::Limits& limits);

}  // namespace tenon::backends::gpu
