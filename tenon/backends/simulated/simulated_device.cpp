// Host memory, and commands that run the moment they are enqueued, as on the reference device.

#include "tenon/backends/simulated/simulated_device.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "tenon/backends/simulated/interpreter.h"
#include "tenon/base/error.h"
#include "tenon/device/about.h"
#include "tenon/device/host_memory.h"
#include "tenon/kernels/kernels.h"

namespace tenon::backends::simulated {
namespace {

using device::Arg;

std::byte* address(const Arg& arg) { return arg.buffer.host + arg.offset; }

struct Simulated : device::Program {
  codegen::Module module;
  size_t scratch_bytes() const override { return module.scratch_bytes; }
};

// Of a middling GPU, but with so few processors that both sides of every choice occur in tests.
ir::Limits limits_of_gpu(bool fuses, bool has_tiles = true) {
  ir::Limits limits;
  limits.fuses = fuses;
  limits.max_buffers = 12;
  limits.alignment = 128;
  limits.max_binding = uint64_t{4} << 30;
  limits.gathers_inside = true;
  limits.few_rows = 16;
  limits.column_blocks = 16;
  limits.max_threads = 512;
  limits.subgroup = 32;
  limits.processors = 8;
  limits.shared_bytes = 48 << 10;
  limits.vector = 4;
  limits.has_fma = true;
  if (has_tiles) limits.tile_dtypes = {DType::f16, DType::bf16};
  if (has_tiles) limits.product_granule = 64;
  limits.has_tile_places = has_tiles;
  limits.missing_calls = kernels::missing_calls();
  limits.channels_last = true;
  return limits;
}

class GpuCompiler : public device::Compiler {
 public:
  explicit GpuCompiler(const ir::Limits& limits) : limits_(limits) {}

  device::ProgramRef compile(const device::Kernel& kernel) override {
    auto made = std::make_shared<Simulated>();
    made->about = device::about(kernel);
    made->module = kernels::lower(kernel, limits_);
    for (const codegen::Dispatch& dispatch : made->module.dispatches) require_limits(dispatch.kernel);
    return made;
  }

  bool takes(const ir::Call& call) const override { return kernels::takes(call); }
  std::vector<ir::Way> ways(const ir::Call& call) const override { return kernels::ways(call, limits_); }

 private:
  void require_limits(const codegen::KernelIr& kernel) const {
    size_t shared = 0;
    for (const codegen::KernelArray& array : kernel.shared) shared += array.count * codegen::size_of(array.element);
    if (kernel.threads > limits_.max_threads || shared > limits_.shared_bytes)
      base::fail("simulated", "kernel {} takes {} threads and {} bytes of shared memory", kernel.name, kernel.threads,
                 shared);
    if (kernel.buffers.size() > limits_.max_buffers + ir::kScratchBuffers)
      base::fail("simulated", "kernel {} binds {} buffers", kernel.name, kernel.buffers.size());
  }

  const ir::Limits& limits_;
};

// An argument whose vectors cannot begin where it does is used in a copy, as on GPUs.
class Beside {
 public:
  Beside(const codegen::Module& module, const device::Launch& launch) {
    for (const codegen::Dispatch& dispatch : module.dispatches) {
      for (uint32_t i = 0; i < dispatch.buffers.size(); ++i) {
        const Arg& arg = launch.args[dispatch.buffers[i].arg];
        if (arg.offset % codegen::alignment_of(dispatch.kernel, i) == 0 || copies_.contains(dispatch.buffers[i].arg))
          continue;
        std::vector<std::max_align_t>& copy = copies_[dispatch.buffers[i].arg];
        copy.resize(arg.bytes / sizeof(std::max_align_t) + 4);
        std::memcpy(place(copy), address(arg), arg.bytes);
      }
    }
  }
  std::byte* of(uint32_t arg, std::byte* own) {
    const auto found = copies_.find(arg);
    return found == copies_.end() ? own : place(found->second);
  }
  void write_back(const device::Launch& launch) {
    for (auto& [arg, copy] : copies_) {
      if (arg >= launch.inputs) std::memcpy(address(launch.args[arg]), place(copy), launch.args[arg].bytes);
    }
  }

 private:
  static std::byte* place(std::vector<std::max_align_t>& copy) {
    constexpr uintptr_t kAligned = 32;
    return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(copy.data()) + kAligned - 1) / kAligned *
                                        kAligned);
  }
  std::map<uint32_t, std::vector<std::max_align_t>> copies_;
};

void run_launch(const device::Launch& launch) {
  const codegen::Module& module = static_cast<const Simulated&>(*launch.program).module;
  Beside beside(module, launch);
  for (const codegen::Dispatch& dispatch : module.dispatches) {
    if (const auto& same = dispatch.unless_same) {
      if (address(launch.args[(*same)[0]]) == address(launch.args[(*same)[1]])) continue;
    }
    std::vector<std::span<std::byte>> buffers;
    for (const codegen::Dispatch::Binding& binding : dispatch.buffers) {
      const Arg& arg = launch.args[binding.arg];
      buffers.emplace_back(beside.of(binding.arg, address(arg)) + binding.offset, arg.bytes - binding.offset);
    }
    run(dispatch, buffers, {launch.numbers.data(), launch.numbers.size()});
  }
  beside.write_back(launch);
}

class SimulatedDevice : public device::Device {
 public:
  explicit SimulatedDevice(const ir::Limits& limits) : limits_(limits), compiler_(limits_) {}

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }

  device::Buffer allocate(size_t bytes) override {
    std::byte* memory = device::take_host_memory(bytes, limits_.alignment);
    if (!memory) base::fail("memory", "the simulated device cannot allocate {} bytes", bytes);
    return {reinterpret_cast<uintptr_t>(memory), bytes, memory};
  }
  void release(const device::Buffer& buffer) override {
    device::give_back_host_memory(buffer.host, buffer.bytes, limits_.alignment);
  }
  std::optional<size_t> available() const override { return device::host_memory_left(); }
  std::optional<size_t> memory_in_all() const override { return device::host_memory_in_all(); }

  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands)
      std::visit([&](const auto& c) { device::timed("simulated", c, [&] { run(c); }); }, command);
  }
  device::Ticket submit(bool) override { return {++submitted_}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

 private:
  void run(const device::Launch& c) { run_launch(c); }
  void run(const device::Copy& c) {
    if (c.to.bytes > 0) std::memmove(address(c.to), address(c.from), c.to.bytes);
  }
  void run(const device::Upload& c) { copy(address(c.to), c.from.data(), c.from.size()); }
  void run(const device::Download& c) { copy(c.to.data(), address(c.from), c.to.size()); }
  void run(const device::Fill& c) {
    if (c.to.bytes > 0) std::memset(address(c.to), static_cast<int>(c.value), c.to.bytes);
  }
  static void copy(std::byte* to, const std::byte* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // an empty span may hold a null pointer
  }

  ir::Limits limits_;
  GpuCompiler compiler_;
  uint64_t submitted_ = 0;
};

}  // namespace

std::unique_ptr<device::Device> open() { return std::make_unique<SimulatedDevice>(limits_of_gpu(true)); }
std::unique_ptr<device::Device> open_without_tiles() {
  return std::make_unique<SimulatedDevice>(limits_of_gpu(true, false));
}
std::unique_ptr<device::Device> open_with_gelu() {
  ir::Limits limits = limits_of_gpu(true);
  limits.gelu_epilogue = limits.slope_epilogue = true;
  return std::make_unique<SimulatedDevice>(limits);
}
std::unique_ptr<device::Device> open_unfused() { return std::make_unique<SimulatedDevice>(limits_of_gpu(false)); }

}  // namespace tenon::backends::simulated
