// A device with its queue and its compiler, and recordings that are written into a command buffer once.
//
// Uploads and downloads look at memory of the host: with them a recording is written anew each time, and so it is while
// a profile wants the time of each kernel.

#include "tenon/backends/vulkan/vulkan_device.h"

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/gpu/gpu_device.h"
#include "tenon/backends/gpu/kind.h"
#include "tenon/backends/gpu/tile_places.h"
#include "tenon/backends/vulkan/driver.h"
#include "tenon/backends/vulkan/toolchain.h"
#include "tenon/device/host_memory.h"
#include "tenon/device/timeline.h"

namespace tenon::backends::vulkan {
namespace {

using device::Command;

class VulkanDevice : public gpu::GpuDevice {
 public:
  VulkanDevice(const std::string& name, const Found& on, const ir::Limits& limits)
      : GpuDevice(name, limits),
        on_(on),
        driver_(on, limits),
        toolchain_(on, limits, driver_),
        compiler_(toolchain_, limits),
        queue_(name, driver_, compiler_, limits) {}

  std::string describe() const override { return vulkan::describe(on_); }
  // A CPU promises what the system promises.
  std::optional<size_t> available() const override { return on_.is_cpu() ? device::host_memory_left() : std::nullopt; }
  std::optional<size_t> memory_in_all() const override { return memory_of(on_); }
  std::unique_ptr<device::Recording> record(std::span<const Command> commands) override;

  bool keeps_tile_places() { return gpu::keeps_tile_places(driver_, compiler_, queue_.fault_words(), limits()); }
  Driver& driver() { return driver_; }
  gpu::Queue& queue() { return queue_; }

 private:
  Parts parts() override { return {driver_, compiler_, queue_}; }

  const Found& on_;
  Driver driver_;
  Toolchain toolchain_;
  gpu::Compiler compiler_;
  gpu::Queue queue_;
};

class VulkanRecording : public device::Recording {
 public:
  VulkanRecording(VulkanDevice& device, std::span<const Command> commands)
      : device_(device),
        commands_(commands.begin(), commands.end()),
        may_fault_(gpu::any_may_fault(commands)),
        is_captured_(!commands.empty() && gpu::can_be_captured(commands)) {}
  VulkanRecording(const VulkanRecording&) = delete;
  ~VulkanRecording() override {
    if (captured_ && !gpu::process_is_ending()) device_.driver().destroy(std::move(captured_));
  }
  device::Ticket replay(std::span<const Command> before, bool) override {
    return device_.replay(before, [this] { start(); });
  }

 private:
  void start() {
    if (!is_captured_ || device::wanted()) return device_.queue().run(commands_);
    if (!captured_) captured_ = device_.driver().capture([this] { device_.queue().run(commands_); });
    device_.driver().launch(*captured_);
    if (may_fault_) device_.queue().note_may_fault();
  }

  VulkanDevice& device_;
  std::vector<Command> commands_;
  bool may_fault_, is_captured_;
  std::unique_ptr<Captured> captured_;
};

std::unique_ptr<device::Recording> VulkanDevice::record(std::span<const Command> commands) {
  require_alive();
  return std::make_unique<VulkanRecording>(*this, commands);
}

std::unique_ptr<device::Device> open(const std::string& name, size_t index, bool fuses) {
  const Found& on = inventory().devices[index];
  ir::Limits limits = limits_of(on);
  limits.fuses = fuses;
  auto device = std::make_unique<VulkanDevice>(name, on, limits);
  if (!limits.has_tile_places || device->keeps_tile_places()) return device;
  limits.has_tile_places = false;
  device.reset();
  return std::make_unique<VulkanDevice>(name, on, limits);
}

}  // namespace

std::vector<device::Backend> backends() {
  return gpu::backends_of({"vulkan", [] { return inventory().devices.size(); }, [] { return inventory().why_none; },
                           open, [] { return inventory().devices[0].is_cpu(); }});
}

}  // namespace tenon::backends::vulkan
