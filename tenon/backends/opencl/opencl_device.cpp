// A context with its queue and its compiler, and recordings whose kernels have their arguments set once.

#include "tenon/backends/opencl/opencl_device.h"

#include <algorithm>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/gpu/gpu_device.h"
#include "tenon/backends/gpu/kind.h"
#include "tenon/backends/opencl/driver.h"
#include "tenon/backends/opencl/toolchain.h"
#include "tenon/base/error.h"
#include "tenon/device/host_memory.h"

namespace tenon::backends::opencl {
namespace {

using device::Command;

class OpenClDevice : public gpu::GpuDevice {
 public:
  OpenClDevice(const std::string& name, const Found& on, const ir::Limits& limits)
      : GpuDevice(name, limits),
        on_(on),
        driver_(on),
        toolchain_(on, driver_.context()),
        compiler_(toolchain_, limits),
        queue_(name, driver_, compiler_, limits) {}

  std::string describe() const override { return opencl::describe(on_); }
  // A CPU promises what the system promises.
  std::optional<size_t> available() const override { return on_.is_cpu ? device::host_memory_left() : std::nullopt; }
  std::optional<size_t> memory_in_all() const override { return memory_of(on_); }
  std::unique_ptr<device::Recording> record(std::span<const Command> commands) override;

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

// A command whose kernel, if it is a launch, has its arguments already.
struct Prepared {
  const gpu::Step* step = nullptr;
  cl_kernel kernel = nullptr;
  size_t steps = 0;   // of a launch, at its first one: so many belong together
  device::Span span;  // of the launch, without its times
  Command other;      // without a step
};

class OpenClRecording : public device::Recording {
 public:
  OpenClRecording(OpenClDevice& device, std::span<const Command> commands) : device_(device) {
    for (const Command& command : commands) {
      if (const auto* launch = std::get_if<device::Launch>(&command))
        prepare(*launch);
      else
        prepared_.push_back({nullptr, nullptr, 0, {}, command});
    }
  }
  OpenClRecording(const OpenClRecording&) = delete;
  ~OpenClRecording() override {
    if (gpu::process_is_ending()) return;
    for (const Prepared& one : prepared_) {
      if (one.kernel) cl().release_kernel(one.kernel);
    }
  }
  device::Ticket replay(std::span<const Command> before, bool) override {
    return device_.replay(before, [this] { start(); });
  }

 private:
  void prepare(const device::Launch& launch) {
    const auto& program = static_cast<const gpu::Program&>(*launch.program);
    programs_.push_back(launch.program);
    const size_t first = prepared_.size();
    for (const gpu::Step& step : program.steps) {
      if (step.is_idle(launch)) continue;
      cl_int code = CL_SUCCESS;
      cl_kernel kernel = cl().create_kernel(static_cast<const Built&>(*step.built).program, step.name.c_str(), &code);
      require(code, "a kernel cannot be made again");
      prepared_.push_back({&step, kernel, 0, {}, {}});
      set_arguments(kernel, step, launch, device_.queue().fault_words());
    }
    if (prepared_.size() == first) return;
    prepared_[first].steps = prepared_.size() - first;
    prepared_[first].span = device::span_of(device_.queue().device(), launch);
  }
  void start() {
    for (size_t i = 0; i < prepared_.size(); i += std::max<size_t>(prepared_[i].steps, 1)) {
      if (!prepared_[i].step)
        device_.queue().run({&prepared_[i].other, 1});
      else
        device_.queue().timed([&] { start_launch(i); }, [&] { return prepared_[i].span; });
    }
  }
  void start_launch(size_t first) {
    for (size_t i = first; i < first + prepared_[first].steps; ++i) {
      const Prepared& one = prepared_[i];
      device_.driver().start(*one.step, one.kernel);
      if (one.step->may_fault) device_.queue().note_may_fault();
    }
  }

  OpenClDevice& device_;
  std::vector<device::ProgramRef> programs_;
  std::vector<Prepared> prepared_;
};

std::unique_ptr<device::Recording> OpenClDevice::record(std::span<const Command> commands) {
  require_alive();
  return std::make_unique<OpenClRecording>(*this, commands);
}

std::unique_ptr<device::Device> open(const std::string& name, size_t index, bool fuses) {
  const Found& on = inventory().devices[index];
  ir::Limits limits = limits_of(on);
  limits.fuses = fuses;
  return std::make_unique<OpenClDevice>(name, on, limits);
}

}  // namespace

std::vector<device::Backend> backends() {
  return gpu::backends_of({"opencl", [] { return inventory().devices.size(); }, [] { return inventory().why_none; },
                           open, [] { return inventory().devices[0].is_cpu; }});
}

}  // namespace tenon::backends::opencl
