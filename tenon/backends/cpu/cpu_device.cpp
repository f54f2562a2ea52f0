// Host memory; commands run in order, on a thread of the device or on the caller's, and spread over the pool from
// there.

#include "tenon/backends/cpu/cpu_device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "tenon/backends/cpu/calls/calls.h"
#include "tenon/backends/cpu/queue.h"
#include "tenon/backends/cpu/tile/program.h"
#include "tenon/base/error.h"
#include "tenon/device/about.h"
#include "tenon/device/batch.h"
#include "tenon/device/host_memory.h"

namespace tenon::backends::cpu {
namespace {

using device::Arg;

std::byte* address(const Arg& arg) { return arg.buffer.host + arg.offset; }

struct Compiled : device::Program {
  std::unique_ptr<TileProgram> tiles;
  std::unique_ptr<CallKernel> call;
  double work = 0;  // about so many element instructions

  size_t scratch_bytes() const override { return call ? call->scratch_bytes() : 0; }

  void run(const Arguments& args) const {
    if (tiles)
      tiles->run(args);
    else
      call->run(args);
  }
};

double work_of(const ir::LoopNest& nest) {
  return static_cast<double>(ir::count(nest.space)) * static_cast<double>(nest.code.size());
}
double work_of(const ir::Call& call) {
  double elements = 0;
  for (const ir::Type& type : call.outputs) elements += static_cast<double>(ir::count(type.shape));
  for (const ir::Operand& operand : call.inputs) elements += static_cast<double>(ir::count(operand.map.shape()));
  constexpr double kTogether = 8;  // multiply-adds of a product that take the time of one element instruction
  if (call.op == ir::Op::contract)
    return elements + static_cast<double>(ir::count(call.outputs[0].shape)) *
                          static_cast<double>(call.inputs[0].map.shape().back()) / kTogether;
  if (call.op == ir::Op::attention || call.op == ir::Op::attention_backward)
    return elements * static_cast<double>(call.inputs[0].map.shape()[2]) / kTogether;
  if (const auto* conv = std::get_if<ir::ConvAttrs>(&call.attrs)) {
    const Dims& weights = call.op == ir::Op::conv_weight ? call.outputs[0].shape : call.inputs[1].map.shape();
    double places = static_cast<double>(call.inputs[0].map.shape()[0]);  // images
    for (const ir::ConvAxis& axis : conv->axes) places *= static_cast<double>(axis.out);
    return elements + static_cast<double>(ir::count(weights)) * places / kTogether;
  }
  constexpr double kOfRoutine = 8;  // instructions that a composition's kernel stands for, about
  return call.op == ir::Op::composed ? elements * kOfRoutine : elements;
}

// A batch of less work than this, 45 to 100 µs, is not worth a thread hop, which takes 10 to 20.
constexpr double kSmallWork = 1 << 20;

class CpuCompiler : public device::Compiler {
 public:
  device::ProgramRef compile(const device::Kernel& kernel) override {
    auto made = std::make_shared<Compiled>();
    made->work = std::visit([](const auto& k) { return work_of(k); }, kernel);
    if (const auto* nest = std::get_if<ir::LoopNest>(&kernel))
      made->tiles = compile_tiles(*nest);
    else
      made->call = compile_call(std::get<ir::Call>(kernel));
    made->about = device::about(kernel, made->call ? made->call->library() : std::string_view());
    return made;
  }
};

void run(const device::Launch& c) {
  base::SmallVector<std::byte*, 8> args;
  for (const Arg& arg : c.args) args.push_back(address(arg));
  static_cast<const Compiled&>(*c.program).run({{args.data(), args.size()}, {c.numbers.data(), c.numbers.size()}});
}
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void run(const device::Copy& c) {
  if (c.to.bytes > 0) std::memmove(address(c.to), address(c.from), c.to.bytes);
}
void run(const device::Upload& c) { copy_bytes(address(c.to), c.from.data(), c.from.size()); }
void run(const device::Download& c) { copy_bytes(c.to.data(), address(c.from), c.to.size()); }
void run(const device::Fill& c) {
  if (c.to.bytes > 0) std::memset(address(c.to), static_cast<int>(c.value), c.to.bytes);
}

void run_all(std::span<const device::Command> commands) {
  for (const device::Command& command : commands)
    std::visit([](const auto& c) { device::timed("cpu", c, [&] { run(c); }); }, command);
}
void run_span(const void* data) { run_all(*static_cast<const std::span<const device::Command>*>(data)); }
void run_batch(const void* data) { run_all(static_cast<const device::Batch*>(data)->commands()); }

double work_of(std::span<const device::Command> commands) {
  double work = 0;
  for (const device::Command& command : commands) {
    if (const auto* launch = std::get_if<device::Launch>(&command))
      work += static_cast<const Compiled&>(*launch->program).work;
  }
  return work;
}

// What a device still runs when the process ends must not outlive what it runs on.
struct Open {
  std::mutex mutex;
  std::vector<Queue*> queues;
};
Open& open_queues() {
  static Open& all = *new Open;
  return all;
}
void finish_before_exit(Queue& queue) {
  static const int registered = std::atexit([] {
    std::lock_guard lock(open_queues().mutex);
    for (Queue* each : open_queues().queues) each->wait_until_idle();
  });
  static_cast<void>(registered);
  std::lock_guard lock(open_queues().mutex);
  open_queues().queues.push_back(&queue);
}
void forget_at_exit(Queue& queue) {
  std::lock_guard lock(open_queues().mutex);
  std::erase(open_queues().queues, &queue);
}

class CpuDevice : public device::Device {
 public:
  explicit CpuDevice(const ir::Limits& limits) : limits_(limits) {
    device::profile_to_the_end();
    finish_before_exit(queue_);
  }
  ~CpuDevice() override { forget_at_exit(queue_); }

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return compiler_; }

  device::Buffer allocate(size_t bytes) override {
    std::byte* memory = device::take_host_memory(bytes, alignment_of(bytes));
    if (!memory) base::fail("memory", "the cpu device cannot allocate {} bytes", bytes);
#ifdef __linux__
    if (bytes >= 2 * kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: may fail
#endif
    return {reinterpret_cast<uintptr_t>(memory), bytes, memory};
  }
  void release(const device::Buffer& buffer) override {
    queue_.wait_until_idle();  // the pool hands buffers on in order; only the system must not get one that is in use
    device::give_back_host_memory(buffer.host, buffer.bytes, alignment_of(buffer.bytes));
  }
  std::optional<size_t> available() const override { return device::host_memory_left(); }
  std::optional<size_t> memory_in_all() const override { return device::host_memory_in_all(); }
  // Kernels load and store by unaligned vectors and never touch a byte outside of their operands: elements that are
  // aligned are enough.
  std::optional<device::Buffer> adopt(std::span<std::byte> bytes, size_t alignment) override {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    if (address % alignment != 0) return std::nullopt;
    return device::Buffer{address, bytes.size(), bytes.data()};
  }
  void let_go(const device::Buffer&) override { queue_.wait_until_idle(); }

  void enqueue(std::span<const device::Command> commands) override {
    std::lock_guard lock(mutex_);
    work_ += work_of(commands);
    waiting_.add(commands);
  }
  device::Ticket submit(bool caller_waits) override {
    std::unique_lock lock(mutex_);
    const bool here = caller_waits || work_ < kSmallWork;
    work_ = 0;
    auto batch = std::make_shared<device::Batch>(std::exchange(waiting_, {}));
    lock.unlock();
    return queue_.submit({std::move(batch), run_batch}, here);
  }
  // What runs right here needs no copy, of uploads least of all.
  device::Ticket send(std::span<const device::Command> commands, bool caller_waits) override {
    std::unique_lock lock(mutex_);
    if (waiting_.empty() && (caller_waits || work_of(commands) < kSmallWork)) {
      lock.unlock();
      if (const auto ticket = queue_.try_here(&commands, run_span)) return *ticket;
    } else {
      lock.unlock();
    }
    enqueue(commands);
    return submit(caller_waits);
  }
  bool is_done(device::Ticket ticket) override { return queue_.is_done(ticket); }
  void wait(device::Ticket ticket) override { queue_.wait(ticket); }
  bool wait_at_most(device::Ticket ticket, std::chrono::milliseconds time) override {
    return queue_.wait_at_most(ticket, time);
  }
  bool is_known_to_fail(device::Ticket ticket) override { return queue_.is_known_to_fail(ticket); }
  bool has_failed(device::Ticket ticket) override { return queue_.has_failed(ticket); }
  std::unique_ptr<device::Recording> record(std::span<const device::Command> commands) override;

 private:
  static constexpr size_t kAlignment = 64, kHugePage = 2 << 20;

  // Large buffers lie on huge pages where the system has them: fewer faults when first touched, and strides of a page
  // or more, as in a transposition, stay within reach of the address translation.
  static size_t alignment_of(size_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlignment; }

  ir::Limits limits_;
  CpuCompiler compiler_;
  std::mutex mutex_;
  device::Batch waiting_;
  double work_ = 0;
  Queue queue_;
};

// Commands with everything looked up.
class CpuRecording : public device::Recording {
 public:
  CpuRecording(Queue& queue, std::span<const device::Command> commands) : queue_(queue), all_(std::make_shared<All>()) {
    for (const device::Command& command : commands) {
      LookedUpCommand ready;
      if (const auto* launch = std::get_if<device::Launch>(&command)) {
        ready.program = std::static_pointer_cast<const Compiled>(launch->program);
        for (const Arg& arg : launch->args) ready.args.push_back(address(arg));
        ready.numbers = launch->numbers;
        ready.span = device::span_of("cpu", *launch);
        all_->work += ready.program->work;
      } else {
        ready.other = command;
      }
      all_->commands.push_back(std::move(ready));
    }
  }

  device::Ticket replay(std::span<const device::Command> before, bool caller_waits) override {
    const bool here = caller_waits || all_->work < kSmallWork;
    if (here) {
      const Here both{before, all_.get()};
      if (const auto ticket = queue_.try_here(&both, [](const void* data) {
            const auto& now = *static_cast<const Here*>(data);
            run_all(now.before);
            run(now.all);
          }))
        return *ticket;
    }
    auto batch = std::make_shared<device::Batch>();
    batch->add(before);
    queue_.submit({std::move(batch), run_batch}, here);
    return queue_.submit({all_, run}, here);
  }

 private:
  struct LookedUpCommand {
    std::shared_ptr<const Compiled> program;
    base::SmallVector<std::byte*, 8> args;
    ir::Numbers numbers;
    device::Span span;  // without its times
    device::Command other;
  };
  struct All {
    std::vector<LookedUpCommand> commands;
    double work = 0;
  };
  struct Here {
    std::span<const device::Command> before;
    const All* all;
  };

  static void run(const void* data) {
    for (const LookedUpCommand& ready : static_cast<const All*>(data)->commands) {
      if (!ready.program)
        run_all({&ready.other, 1});
      else if (device::wanted())
        run_timed(ready);
      else
        run(ready);
    }
  }
  static void run(const LookedUpCommand& ready) {
    ready.program->run({{ready.args.data(), ready.args.size()}, {ready.numbers.data(), ready.numbers.size()}});
  }
  static void run_timed(const LookedUpCommand& ready) {
    device::Span span = ready.span;
    span.begin_ns = device::now_ns();
    run(ready);
    span.end_ns = device::now_ns();
    device::add(std::move(span));
  }

  Queue& queue_;
  std::shared_ptr<All> all_;
};

std::unique_ptr<device::Recording> CpuDevice::record(std::span<const device::Command> commands) {
  return std::make_unique<CpuRecording>(queue_, commands);
}

}  // namespace

std::unique_ptr<device::Device> open() {
  ir::Limits limits;
  limits.gathers_inside = true;
  limits.relu_epilogue = true;
  limits.conv_epilogue = true;
  return open_with(limits);
}
std::unique_ptr<device::Device> open_unfused() {
  ir::Limits limits;
  limits.fuses = false;
  return open_with(limits);
}
std::unique_ptr<device::Device> open_with(const ir::Limits& limits) { return std::make_unique<CpuDevice>(limits); }

}  // namespace tenon::backends::cpu
