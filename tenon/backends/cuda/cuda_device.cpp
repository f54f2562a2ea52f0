// A context with its stream and its compiler, and recordings that replay as a graph.
//
// The first replay of a recording starts its commands one by one: whatever a driver or a library leaves to the first
// run of a kernel happens there. The second one is captured, and from then on a step is one command behind those that
// bring what changes. While a profile wants the time of each kernel, a replay is single
// commands; the graph stays for later ones.

#include "tenon/backends/cuda/cuda_device.h"

#include <cstdio>

#include "tenon/backends/cuda/lt_product.h"
#include "tenon/backends/cuda/toolchain.h"
#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/gpu/gpu_device.h"
#include "tenon/backends/gpu/kind.h"
#include "tenon/base/error.h"
#include "tenon/device/timeline.h"

namespace tenon::backends::cuda {
namespace {

using device::Command;

class CudaDevice : public gpu::GpuDevice {
 public:
  CudaDevice(const std::string& name, const Found& on, const ir::Limits& limits)
      : GpuDevice(name, limits),
        on_(on),
        driver_(on),
        toolchain_(on, driver_),
        compiler_(toolchain_, limits, driver_, on),
        queue_(name, driver_, compiler_, limits) {}

  std::string describe() const override { return cuda::describe(on_); }
  std::optional<size_t> available() const override { return driver_.memory_left(); }
  std::optional<size_t> memory_in_all() const override { return on_.memory; }
  std::unique_ptr<device::Recording> record(std::span<const Command> commands) override;

  Driver& driver() { return driver_; }
  gpu::Queue& queue() { return queue_; }

 private:
  Parts parts() override { return {driver_, compiler_, queue_}; }

  const Found& on_;
  Driver driver_;
  Toolchain toolchain_;
  Compiler compiler_;
  gpu::Queue queue_;
};

class CudaRecording : public device::Recording {
 public:
  CudaRecording(CudaDevice& device, std::span<const Command> commands)
      : device_(device),
        commands_(commands.begin(), commands.end()),
        may_fault_(gpu::any_may_fault(commands)),
        tries_graph_(!commands.empty() && gpu::can_be_captured(commands) && device.driver().can_capture()) {}
  CudaRecording(const CudaRecording&) = delete;
  ~CudaRecording() override {
    if (gpu::process_is_ending()) return;
    for (const RunnableGraph graph : graphs_) device_.driver().destroy(graph);
  }
  device::Ticket replay(std::span<const Command> before, bool) override {
    return device_.replay(before, [this] { start(); });
  }

 private:
  void start() {
    if (device::wanted()) return device_.queue().run(commands_);
    ++replays_;
    if (tries_graph_ && graphs_.empty() && replays_ == 2) capture();
    if (graphs_.empty()) return device_.queue().run(commands_);
    device_.driver().launch(graphs_[replays_ % graphs_.size()]);
    if (may_fault_) device_.queue().note_may_fault();
  }
  void capture() {
    try {
      graphs_ = device_.driver().capture([this] { device_.queue().run(commands_); }, kGraphs);
    } catch (const Error& error) {
      static std::atomic<bool> was_told{false};
      if (!was_told.exchange(true))
        std::fprintf(stderr, "[tenon] a captured step is started kernel by kernel, not as a CUDA graph: %s\n",
                     error.what());
    }
  }

  // In turn: the driver starts one that still runs later than another (tokens a second: 1,740 with one, 1,940 with
  // two).
  static constexpr size_t kGraphs = 2;

  CudaDevice& device_;
  std::vector<Command> commands_;
  bool may_fault_, tries_graph_;
  uint64_t replays_ = 0;
  std::vector<RunnableGraph> graphs_;
};

std::unique_ptr<device::Recording> CudaDevice::record(std::span<const Command> commands) {
  require_alive();
  return std::make_unique<CudaRecording>(*this, commands);
}

std::unique_ptr<device::Device> open(const std::string& name, size_t index, bool fuses) {
  const Found& on = inventory().devices[index];
  ir::Limits limits = limits_of(on);
  limits.fuses = fuses;
  return std::make_unique<CudaDevice>(name, on, limits);
}

}  // namespace

std::vector<device::Backend> backends() {
  return gpu::backends_of(
      {"cuda", [] { return inventory().devices.size(); }, [] { return inventory().why_none; }, open});
}

}  // namespace tenon::backends::cuda
