// A context, its queue and its compiler. What the process still runs when it ends is waited for; nothing is taken apart
// behind that.

#include "tenon/backends/opencl/opencl_device.h"

#include <cstdlib>

#include "tenon/backends/opencl/queue.h"
#include "tenon/base/error.h"
#include "tenon/device/host_memory.h"
#include "tenon/device/profile.h"

namespace tenon::backends::opencl {
namespace {

using device::Buffer;
using device::Command;
using device::Ticket;

cl_context make_context(const Found& on) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(on.platform),
                                              0};
  cl_int code = CL_SUCCESS;
  cl_context made = cl().create_context(properties, 1, &on.device, nullptr, nullptr, &code);
  require(code, "a context cannot be made");
  return made;
}

// The context goes last.
struct Context {
  cl_context context;
  explicit Context(const Found& on) : context(make_context(on)) {}
  Context(const Context&) = delete;
  ~Context() {
    if (!process_is_ending()) cl().release_context(context);
  }
};

class OpenClDevice : public device::Device {
 public:
  OpenClDevice(std::string name, const Found& on, const ir::Limits& limits)
      : name_(std::move(name)),
        on_(on),
        limits_(limits),
        context_(on),
        compiler_(on, context_.context, limits),
        queue_(on, context_.context) {
    device::profiles();  // which prints behind the last kernel
    queue_.finish_before_exit();
  }

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }
  std::string describe() const override { return opencl::describe(on_); }

  // A CPU promises what the system promises.
  std::optional<size_t> available() const override { return on_.is_cpu ? device::host_memory_left() : std::nullopt; }
  Buffer allocate(size_t bytes) override {
    require_alive();
    return guarded([&]() -> Buffer {
      cl_int code = CL_SUCCESS;
      cl_mem memory = bytes > limits_.max_binding
                          ? nullptr
                          : cl().create_buffer(context_.context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
      if (memory && code == CL_SUCCESS && queue_.settle(memory)) return {reinterpret_cast<uint64_t>(memory), bytes};
      if (memory) cl().release_memory(memory);
      base::fail("memory", "the {} device cannot allocate {} bytes; it has {}, and gives at most {} at once", name_,
                 bytes, opencl::memory_of(on_), limits_.max_binding);
    });
  }
  void release(const Buffer& buffer) override {
    if (process_is_ending()) return;
    try {
      guarded([&] { queue_.release(reinterpret_cast<cl_mem>(buffer.handle)); });
    } catch (const device::Lost&) {
    }
  }

  void enqueue(std::span<const Command> commands) override {
    require_alive();
    queue_.enqueue(commands);
  }
  Ticket submit(bool) override { return send({}, false); }
  Ticket send(std::span<const Command> commands, bool) override {
    require_alive();
    return guarded([&] { return queue_.submit(commands); });
  }
  bool is_done(Ticket ticket) override { return queue_.is_done(ticket); }
  void wait(Ticket ticket) override {
    require_alive();
    guarded([&] { queue_.wait(ticket); });
  }
  bool is_known_to_fail(Ticket ticket) override { return queue_.is_known_to_fail(ticket); }
  bool has_failed(Ticket ticket) override { return queue_.has_failed(ticket); }
  std::unique_ptr<device::Recording> record(std::span<const Command> commands) override;

  Ticket replay(std::span<const Command> before, std::span<const Prepared> prepared) {
    require_alive();
    return guarded([&] { return queue_.submit(before, prepared); });
  }

 private:
  template <typename F>
  auto guarded(F&& f) -> decltype(f()) {
    try {
      return f();
    } catch (const Gone& gone) {
      set_lost(name_, gone.why);
    }
    require_alive();
    std::abort();  // never: it was just lost
  }

  std::string name_;
  const Found& on_;
  ir::Limits limits_;
  Context context_;
  Compiler compiler_;
  Queue queue_;
};

// Launches have kernels of their own, whose arguments are set once.
class OpenClRecording : public device::Recording {
 public:
  OpenClRecording(OpenClDevice& device, cl_mem fault, std::span<const Command> commands) : device_(device) {
    for (const Command& command : commands) {
      const auto* launch = std::get_if<device::Launch>(&command);
      if (launch)
        prepare(*launch, fault);
      else
        prepared_.push_back({nullptr, nullptr, nullptr, command});
    }
  }
  OpenClRecording(const OpenClRecording&) = delete;
  ~OpenClRecording() override {
    if (process_is_ending()) return;
    for (const Prepared& one : prepared_) {
      if (one.kernel) cl().release_kernel(one.kernel);
    }
  }
  Ticket replay(std::span<const Command> before, bool) override { return device_.replay(before, prepared_); }

 private:
  void prepare(const device::Launch& launch, cl_mem fault) {
    const auto& program = static_cast<const Compiled&>(*launch.program);
    programs_.push_back(launch.program);
    for (const Step& step : program.steps) {
      if (step.is_idle(launch)) continue;
      cl_int code = CL_SUCCESS;
      cl_kernel kernel = cl().create_kernel(step.built->program, step.name.c_str(), &code);
      require(code, "a kernel cannot be made again");
      prepared_.push_back({&step, kernel, &program, {}});
      step.set_arguments(kernel, launch, fault);
    }
  }

  OpenClDevice& device_;
  std::vector<device::ProgramRef> programs_;
  std::vector<Prepared> prepared_;
};

std::unique_ptr<device::Recording> OpenClDevice::record(std::span<const Command> commands) {
  require_alive();
  return std::make_unique<OpenClRecording>(*this, queue_.fault_words(), commands);
}

std::unique_ptr<device::Device> open(const std::string& name, size_t index, bool fuses) {
  const Found& on = inventory().devices[index];
  ir::Limits limits = limits_of(on);
  limits.fuses = fuses;
  return std::make_unique<OpenClDevice>(name, on, limits);
}

}  // namespace

std::vector<device::Backend> backends() {
  const auto why_absent = [] { return inventory().why_none; };
  const auto others = [] {
    std::vector<device::Backend> list;
    for (size_t i = 1; i < inventory().devices.size(); ++i) {
      const std::string name = fmt::format("opencl:{}", i);
      list.push_back({name, [name, i] { return open(name, i, true); }});
    }
    return list;
  };
  return {{"opencl", [] { return open("opencl", 0, true); }, false, why_absent, others},
          {"opencl_unfused", [] { return open("opencl_unfused", 0, false); }, true, why_absent}};
}

}  // namespace tenon::backends::opencl
