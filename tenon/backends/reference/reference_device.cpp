// Host memory, and commands that run the moment they are enqueued.

#include "tenon/backends/reference/reference_device.h"

#include <cstring>

#include "tenon/backends/reference/ops.h"
#include "tenon/base/error.h"
#include "tenon/device/about.h"
#include "tenon/device/host_memory.h"

namespace tenon::backends::reference {
namespace {

using device::Arg;

std::byte* address(const Arg& arg) { return arg.buffer.host + arg.offset; }

struct CallProgram : device::Program {
  explicit CallProgram(ir::Call c) : call(std::move(c)) {}
  ir::Call call;
};

class CallCompiler : public device::Compiler {
 public:
  device::ProgramRef compile(const device::Kernel& kernel) override {
    auto made = std::make_shared<CallProgram>(std::get<ir::Call>(kernel));
    made->about = device::about(kernel);
    return made;
  }
};

// Bits are moved as bits: as numbers, the NaNs among them would lose their payload.
void run_bitcast(const ir::Operand& operand, const std::byte* from, std::byte* to) {
  const size_t width = size_of(operand.dtype);
  operand.map.for_each([&](int64_t position, int64_t where) {
    std::byte* element = to + static_cast<size_t>(position) * width;
    if (where == ir::IndexMap::kPadding)
      std::memset(element, 0, width);
    else
      std::memcpy(element, from + static_cast<size_t>(where) * width, width);
  });
}

void run_launch(const device::Launch& launch) {
  ir::Call call = static_cast<const CallProgram&>(*launch.program).call;
  ir::put_numbers(call, {launch.numbers.data(), launch.numbers.size()});
  if (call.op == ir::Op::bitcast) {
    return run_bitcast(call.inputs[0], address(launch.args[0]), address(launch.args[1]));
  }
  Arrays in, out;
  for (size_t i = 0; i < call.inputs.size(); ++i) in.push_back(load(call.inputs[i], address(launch.args[i])));
  for (const ir::Type& type : call.outputs) out.emplace_back(type);
  switch (ir::info(call.op).kind) {
    case ir::Kind::leaf: run_leaf(call, in, out[0]); break;
    case ir::Kind::reduce: run_reduce(call, in, out[0]); break;
    case ir::Kind::indexed: run_indexed(call, in, out[0]); break;
    case ir::Kind::call: run_call(call, in, out); break;
    case ir::Kind::effect: run_effect(call, in, out[0]); break;
    default: run_elementwise(call, in, out[0]); break;
  }
  for (size_t i = 0; i < out.size(); ++i) save(out[i], address(launch.args[in.size() + i]));
}

class ReferenceDevice : public device::Device {
 public:
  ReferenceDevice() { limits_.one_op_per_kernel = true; }

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }

  device::Buffer allocate(size_t bytes) override {
    std::byte* memory = device::take_host_memory(bytes, kAlignment);
    if (!memory) base::fail("memory", "the reference device cannot allocate {} bytes", bytes);
    return {reinterpret_cast<uintptr_t>(memory), bytes, memory};
  }
  void release(const device::Buffer& buffer) override {
    device::give_back_host_memory(buffer.host, buffer.bytes, kAlignment);
  }
  std::optional<size_t> available() const override { return device::host_memory_left(); }
  std::optional<size_t> memory_in_all() const override { return device::host_memory_in_all(); }
  std::optional<device::Buffer> adopt(std::span<std::byte> bytes, size_t alignment) override {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    if (address % alignment != 0) return std::nullopt;
    return device::Buffer{address, bytes.size(), bytes.data()};
  }

  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands)
      std::visit([&](const auto& c) { device::timed("reference", c, [&] { run(c); }); }, command);
  }
  device::Ticket submit(bool) override { return {++submitted_}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

 private:
  static constexpr size_t kAlignment = 64;

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
  CallCompiler compiler_;
  uint64_t submitted_ = 0;
};

}  // namespace

std::unique_ptr<device::Device> open() { return std::make_unique<ReferenceDevice>(); }

}  // namespace tenon::backends::reference
