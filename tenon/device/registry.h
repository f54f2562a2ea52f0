// The devices of this process, by name. Backends come from one explicit list, so that no linker can drop one.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/device/device.h"
#include "tenon/ir/device_id.h"

namespace tenon::device {

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Device>()> open;
  bool is_for_tests = false;
  /// Why it is not there on this machine: no driver, no device. Empty: it is. Asked once, when somebody wants to know.
  std::function<std::string()> why_absent = nullptr;
  /// Further devices of its kind on this machine. Asked once, when all names are wanted or an unknown one is: a driver
  /// takes its time to look.
  std::function<std::vector<Backend>()> others = nullptr;
  /// Whether a driver for GPUs runs it on the host's own processors; asked where it is there.
  std::function<bool()> is_host = nullptr;
  /// For `auto`, which takes the highest that is a GPU; 0: never.
  int preference = 0;
};

/// The explicit list; defined in backends/list.cpp. The first entry is the default device.
std::vector<Backend> backend_list();

/// Adds a device under a new name; used by tests that need another instance.
ir::DeviceId add(Backend backend);
/// The device that `auto` stands for, and why: the first of cuda, vulkan and opencl that is a GPU and none of those
/// passed over, else the cpu.
struct Choice {
  ir::DeviceId id;
  std::string why;
};
struct PassedOver {
  std::string name, why;
};
Choice choose(std::span<const PassedOver> passed_over = {});
/// The device of that name, the first of a kind with or without ":0", or the one that `auto` stands for; fails on an
/// unknown one, naming the nearest, and on one that is not there, saying why.
ir::DeviceId find(std::string_view name);
/// The device itself, opened on first use.
Device& open(ir::DeviceId id);
/// The devices that are there.
std::vector<std::string> names();
/// Those that are not, and why.
struct Absent {
  std::string name, why;
};
std::vector<Absent> absent();
bool is_for_tests(ir::DeviceId id);
/// The devices that are open.
std::vector<Device*> opened();

/// What runs compute on when nothing else is said: TENON_DEVICE, or `auto`.
std::string wanted_name();

/// Where tensors are made when nothing else is said: TENON_DEVICE, or the first backend. Fails where TENON_DEVICE names
/// no device that is there; everything else works without one.
ir::DeviceId default_device();
void set_default_device(ir::DeviceId id);
/// Its index alone, without a lock.
uint32_t default_index();

}  // namespace tenon::device
