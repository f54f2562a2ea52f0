// The registry: a list that only grows, behind one lock.

#include "tenon/device/registry.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/nearest.h"
#include "tenon/device/gpu_files.h"

namespace tenon::device {
namespace {

struct Entry {
  Backend backend;
  std::unique_ptr<Device> device;
  std::optional<std::string> why_absent;

  const std::string& absence() {
    if (!why_absent) why_absent = backend.why_absent ? backend.why_absent() : std::string();
    return *why_absent;
  }
  void require_presence() {
    if (!absence().empty()) base::fail("device", "'{}' is not there: {}", backend.name, absence());
  }
};

struct Registry {
  std::recursive_mutex mutex;
  std::deque<Entry> entries;  // a deque: names and devices keep their addresses
  std::atomic<uint32_t> default_index{0};
  std::exception_ptr no_default;  // why TENON_DEVICE names none; who names a device has no need of it
};

constexpr uint32_t kNoDefault = ~uint32_t{0};

ir::DeviceId id_of(const Registry& registry, size_t index) {
  return {static_cast<uint32_t>(index), registry.entries[index].backend.name.c_str()};
}

// Adds the further devices of all backends.
void look_for_others(Registry& registry) {
  for (size_t i = 0; i < registry.entries.size(); ++i) {
    const auto others = std::exchange(registry.entries[i].backend.others, nullptr);
    if (!others) continue;
    for (Backend& backend : others()) registry.entries.push_back({std::move(backend), nullptr, {}});
  }
}

std::vector<std::string> names_in(Registry& registry) {
  look_for_others(registry);
  std::vector<std::string> present;
  for (Entry& entry : registry.entries) {
    if (entry.absence().empty()) present.push_back(entry.backend.name);
  }
  return present;
}

Choice choose_in(Registry& registry, std::span<const PassedOver> passed_over) {
  std::vector<size_t> order;
  for (size_t i = 0; i < registry.entries.size(); ++i) {
    if (registry.entries[i].backend.preference > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return registry.entries[i].backend.preference; });
  std::string why_not;
  for (const size_t i : order) {
    Entry& entry = registry.entries[i];
    const std::string& name = entry.backend.name;
    const std::string_view separator = why_not.empty() ? "" : "; ";
    const auto passed = std::ranges::find(passed_over, name, &PassedOver::name);
    if (passed != passed_over.end())
      why_not += fmt::format("{}{} {}", separator, name, passed->why);
    else if (entry.backend.is_host && !may_have_gpu())
      why_not += fmt::format("{}{} finds no GPU", separator, name);
    else if (!entry.absence().empty())
      why_not += fmt::format("{}{} is not there ({})", separator, name, entry.absence());
    else if (entry.backend.is_host && entry.backend.is_host())
      why_not += fmt::format("{}{} would run on the cpu itself", separator, name);
    else
      return {id_of(registry, i), why_not.empty() ? "it is the first choice" : why_not};
  }
  const auto is_cpu = [](const Entry& entry) { return entry.backend.name == "cpu"; };
  const auto cpu = std::ranges::find_if(registry.entries, is_cpu);
  return {id_of(registry, static_cast<size_t>(cpu - registry.entries.begin())), why_not};
}

// The nearest of all names, and those that somebody may want here.
[[noreturn]] void refuse_unknown(Registry& registry, std::string_view wanted) {
  std::vector<std::string> all, useful{"auto"};
  for (Entry& entry : registry.entries) {
    all.push_back(entry.backend.name);
    if (!entry.backend.is_for_tests && entry.absence().empty()) useful.push_back(entry.backend.name);
  }
  const bool is_any_gpu = wanted == "gpu" || wanted == "GPU";  // one letter from cpu
  const std::string hint = is_any_gpu ? "auto" : base::nearest(wanted, all);
  std::string shown(wanted);  // in one line, whatever it is
  std::ranges::replace_if(
      shown, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  base::fail("device", "unknown device '{}'{}; known: {}", shown,
             hint.empty() ? "" : fmt::format(", did you mean '{}'?", hint), fmt::join(useful, " "));
}

ir::DeviceId find_in(Registry& registry, std::string_view wanted) {
  if (wanted == "auto") return choose_in(registry, {}).id;
  const std::string_view name = wanted.ends_with(":0") ? wanted.substr(0, wanted.size() - 2) : wanted;  // the first
  for (size_t i = 0; i < registry.entries.size(); ++i) {
    if (registry.entries[i].backend.name == name) {
      registry.entries[i].require_presence();
      return id_of(registry, i);
    }
    if (i + 1 == registry.entries.size()) look_for_others(registry);
  }
  refuse_unknown(registry, wanted);
}

Registry& registry() {
  static auto* all = [] {  // never destroyed: storages may outlive static destructors
    auto* made = new Registry;
    for (Backend& backend : backend_list()) made->entries.push_back({std::move(backend), nullptr, {}});
    if (const auto wanted = base::env::value(base::env::kDevice)) {
      try {
        made->default_index = find_in(*made, *wanted).index;
      } catch (const Error&) {
        made->no_default = std::current_exception();
        made->default_index = kNoDefault;
      }
    }
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
  all.entries.push_back({std::move(backend), nullptr, {}});
  return id_of(all, all.entries.size() - 1);
}

ir::DeviceId find(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return find_in(all, name);
}

std::string wanted_name() { return base::env::value(base::env::kDevice).value_or("auto"); }

Choice choose(std::span<const PassedOver> passed_over) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return choose_in(all, passed_over);
}

Device& open(ir::DeviceId id) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  Entry& entry = all.entries[id.index];
  if (!entry.device) {
    entry.require_presence();
    entry.device = entry.backend.open();
    entry.device->set_name(entry.backend.name);
  }
  return *entry.device;
}

std::vector<std::string> names() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return names_in(all);
}

std::vector<Absent> absent() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<Absent> list;
  for (Entry& entry : all.entries) {
    if (!entry.absence().empty()) list.push_back({entry.backend.name, entry.absence()});
  }
  return list;
}

bool is_for_tests(ir::DeviceId id) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return all.entries[id.index].backend.is_for_tests;
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
  if (all.default_index == kNoDefault) std::rethrow_exception(all.no_default);
  return id_of(all, all.default_index);
}

uint32_t default_index() {
  const uint32_t index = registry().default_index.load(std::memory_order_relaxed);
  return index == kNoDefault ? default_device().index : index;
}

void set_default_device(ir::DeviceId id) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.default_index = id.index;
}

}  // namespace tenon::device
