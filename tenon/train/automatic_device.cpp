// A device that cannot hold the model shows that in the first step at the latest, so that a run is begun on each in
// turn.

#include "tenon/train/automatic_device.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "tenon/device/out_of_memory.h"

namespace tenon::train {

AutomaticDevice::AutomaticDevice(device::Choice choice, std::FILE* out)
    : choice_(std::move(choice)),
      out_(out),
      text_(fmt::format("device: {} (device.name is auto: {})\n", choice_.id.name, choice_.why)) {}

void AutomaticDevice::say_once() {
  if (out_) std::fputs(std::exchange(text_, {}).c_str(), out_);
}

void on_automatic_device(std::FILE* out, const std::function<void(AutomaticDevice&)>& attempt) {
  std::vector<device::PassedOver> passed_over;
  while (true) {
    AutomaticDevice automatic(device::choose(passed_over), out);
    try {
      return attempt(automatic);
    } catch (const device::OutOfMemory& error) {
      automatic.say_once();
      if (automatic.name() == "cpu" || automatic.is_kept()) throw;
      passed_over.push_back({automatic.name(), fmt::format("cannot hold the model ({})", error.what())});
      if (device::default_index() == automatic.choice().id.index)
        device::set_default_device(device::choose(passed_over).id);
    }
  }
}

}  // namespace tenon::train
