// The device that `auto` stands for in a run: the first that can hold the model.

#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "tenon/device/registry.h"

namespace tenon::train {

/// A device that was chosen for a run, which says so before anything else.
class AutomaticDevice {
 public:
  AutomaticDevice(device::Choice choice, std::FILE* out);

  std::string name() const { return std::string(choice_.id.name); }
  const device::Choice& choice() const { return choice_; }
  /// Says which device it is and why, the first time. Where the run is refused before, the reason is the only line.
  void say_once();
  /// The run has computed with the model: what is missing from now on is not for another device to have.
  void keep() { is_kept_ = true; }
  bool is_kept() const { return is_kept_; }

 private:
  device::Choice choice_;
  std::FILE* out_;
  std::string text_;
  bool is_kept_ = false;
};

/// Runs `attempt` on the device that `auto` stands for, and on the next one where that cannot hold the model.
void on_automatic_device(std::FILE* out, const std::function<void(AutomaticDevice&)>& attempt);

}  // namespace tenon::train
