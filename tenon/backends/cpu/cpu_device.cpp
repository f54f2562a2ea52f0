// Host memory; commands run on the calling thread and spread over the pool from there.

#include "tenon/backends/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "tenon/backends/cpu/calls.h"
#include "tenon/backends/cpu/tile_program.h"
#include "tenon/base/error.h"

namespace tenon::backends::cpu {
namespace {

using device::Arg;

std::byte* address(const Arg& arg) { return arg.buffer.host + arg.offset; }

struct Compiled : device::Program {
  std::unique_ptr<TileProgram> tiles;
  std::unique_ptr<CallKernel> call;
};

class CpuCompiler : public device::Compiler {
 public:
  device::ProgramRef compile(const device::Kernel& kernel) override {
    auto made = std::make_shared<Compiled>();
    if (const auto* nest = std::get_if<ir::LoopNest>(&kernel))
      made->tiles = compile_tiles(*nest);
    else
      made->call = compile_call(std::get<ir::Call>(kernel));
    return made;
  }
};

class CpuDevice : public device::Device {
 public:
  explicit CpuDevice(bool fuses) { limits_.fuses = fuses; }

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }

  device::Buffer allocate(size_t bytes) override {
    auto* memory = static_cast<std::byte*>(
        ::operator new(std::max<size_t>(bytes, 1), std::align_val_t(alignment_of(bytes)), std::nothrow));
    if (!memory) base::fail("memory", "the cpu device cannot allocate {} bytes", bytes);
#ifdef __linux__
    if (bytes >= 2 * kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: may fail
#endif
    return {reinterpret_cast<uintptr_t>(memory), bytes, memory};
  }
  void release(const device::Buffer& buffer) override {
    ::operator delete(buffer.host, std::align_val_t(alignment_of(buffer.bytes)));
  }

  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands) std::visit([&](const auto& c) { run(c); }, command);
  }
  device::Ticket submit() override { return {++submitted_}; }
  void wait(device::Ticket) override {}

 private:
  static constexpr size_t kAlignment = 64, kHugePage = 2 << 20;

  // Large buffers lie on huge pages where the system has them: fewer faults when first touched, and strides of a page
  // or more, as in a transposition, stay within reach of the address translation.
  static size_t alignment_of(size_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlignment; }

  void run(const device::Launch& c) {
    const auto& program = static_cast<const Compiled&>(*c.program);
    base::SmallVector<std::byte*, 8> args;
    for (const Arg& arg : c.args) args.push_back(address(arg));
    const std::span<std::byte* const> pointers(args.data(), args.size());
    if (program.tiles)
      program.tiles->run(pointers);
    else
      program.call->run(pointers);
  }
  void run(const device::Copy& c) { std::memmove(address(c.to), address(c.from), c.bytes); }
  void run(const device::Upload& c) { copy(address(c.to), c.from.data(), c.from.size()); }
  void run(const device::Download& c) { copy(c.to.data(), address(c.from), c.to.size()); }
  void run(const device::Fill& c) { std::memset(address(c.to), static_cast<int>(c.value), c.bytes); }

  static void copy(std::byte* to, const std::byte* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  ir::Limits limits_;
  CpuCompiler compiler_;
  uint64_t submitted_ = 0;
};

}  // namespace

std::unique_ptr<device::Device> open() { return std::make_unique<CpuDevice>(true); }
std::unique_ptr<device::Device> open_unfused() { return std::make_unique<CpuDevice>(false); }

}  // namespace tenon::backends::cpu
