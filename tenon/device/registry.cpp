// The registry: a list that only grows, behind one lock.

#include "tenon/device/registry.h"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"

namespace tenon::device {
namespace {

struct Entry {
  Backend backend;
  std::unique_ptr<Device> device;
};

struct Registry {
  std::recursive_mutex mutex;
  std::deque<Entry> entries;  // a deque: names and devices keep their addresses
  std::atomic<uint32_t> default_index{0};
};

ir::DeviceId id_of(const Registry& registry, size_t index) {
  return {static_cast<uint32_t>(index), registry.entries[index].backend.name.c_str()};
}

ir::DeviceId find_in(const Registry& registry, std::string_view wanted) {
  std::vector<std::string> known;
  for (size_t i = 0; i < registry.entries.size(); ++i) {
    if (registry.entries[i].backend.name == wanted) return id_of(registry, i);
    known.push_back(registry.entries[i].backend.name);
  }
  const std::string hint = base::nearest(wanted, known);
  base::fail("device", "unknown device '{}'{}; known: {}", wanted,
             hint.empty() ? "" : fmt::format(", did you mean '{}'?", hint), fmt::join(known, " "));
}

Registry& registry() {
  static auto* all = [] {  // never destroyed: storages may outlive static destructors
    auto* made = new Registry;
    for (Backend& backend : backend_list()) made->entries.push_back({std::move(backend), nullptr});
    if (const char* wanted = std::getenv("TENON_DEVICE"); wanted && *wanted)
      made->default_index = find_in(*made, wanted).index;
    return made;
  }();
  return *all;
}

}  // namespace

ir::DeviceId add(Backend backend) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (const Entry& entry : all.entries) {
    if (entry.backend.name == backend.name) base::fail("device", "'{}' is already registered", backend.name);
  }
  all.entries.push_back({std::move(backend), nullptr});
  return id_of(all, all.entries.size() - 1);
}

ir::DeviceId find(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return find_in(all, name);
}

Device& open(ir::DeviceId id) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  Entry& entry = all.entries[id.index];
  if (!entry.device) entry.device = entry.backend.open();
  return *entry.device;
}

std::vector<std::string> names() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<std::string> known;
  for (const Entry& entry : all.entries) known.push_back(entry.backend.name);
  return known;
}

std::vector<Device*> opened() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<Device*> devices;
  for (const Entry& entry : all.entries) {
    if (entry.device) devices.push_back(entry.device.get());
  }
  return devices;
}

ir::DeviceId default_device() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return id_of(all, all.default_index);
}

uint32_t default_index() { return registry().default_index.load(std::memory_order_relaxed); }

void set_default_device(ir::DeviceId id) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.default_index = id.index;
}

}  // namespace tenon::device
