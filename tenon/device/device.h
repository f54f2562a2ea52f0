// What a backend is: buffers, a queue of commands, and a compiler. It knows no ops.
//
// The contract holds for memory that the host cannot see, and for work that runs long after it was submitted:
//
// Order. Commands run as if one after another, in the order in which they were enqueued. A buffer that is let go of may
// be handed on at once: whatever is enqueued later runs later. A launch says what it reads and what it writes, and
// where these bytes lie, so that a device may run at once what does not meet.
//
// Uploads. When `enqueue` returns, the source may be freed or changed; what is downloaded is there when its ticket is
// done.
//
// Faults. A device has one fault. A kernel that finds a bad index records it, and stops or goes on with a clamped one.
// While a fault is set, commands that write state (`writes_state`) do nothing; all others may run, on whatever there
// is, and their results count as never computed. The fault becomes known with the next `wait` for a ticket submitted at
// or after it and is thrown there, in the words of the cpu device; what is submitted from then on runs as usual.
// Tickets between the fault and its becoming known keep failing: results raise it again, states have their old value
// and raise it only if nobody knows. See faults.h for the bookkeeping.
//
// Loss. Any call may find that the device is gone (a driver was reset) and throw `Lost`. From then on everything but
// letting go of memory throws it; other devices go on.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/small_vector.h"
#include "tenon/device/lost.h"
#include "tenon/device/memory_counter.h"
#include "tenon/device/timeline.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"
#include "tenon/ir/loop_nest.h"

namespace tenon::device {

/// Raw device memory. `host` is set where the host can address it.
struct Buffer {
  uint64_t handle = 0;
  size_t bytes = 0;
  std::byte* host = nullptr;
};

/// Bytes of a buffer. `version` names the value that is read there or written; only devices that check commands look at
/// it, and 0 asks for no check.
struct Arg {
  Buffer buffer;
  size_t offset = 0;
  size_t bytes = 0;
  uint64_t version = 0;
};

/// What a compiler takes: one op with its operands' views, or a fused loop nest.
using Kernel = std::variant<ir::Call, ir::LoopNest>;

/// How many arguments a kernel reads; the others it writes.
inline uint32_t inputs_of(const Kernel& kernel) {
  if (const auto* nest = std::get_if<ir::LoopNest>(&kernel)) return nest->inputs;
  return static_cast<uint32_t>(std::get<ir::Call>(kernel).inputs.size());
}

/// A compiled kernel of one device.
class Program {
 public:
  virtual ~Program() = default;
  /// Memory that a run needs beside its arguments. It comes as one more argument, aligned as all are, behind the
  /// outputs; nothing in it lasts from one launch to the next.
  virtual size_t scratch_bytes() const { return 0; }
  /// For people; null where its compiler has not said.
  AboutRef about;
};
using ProgramRef = std::shared_ptr<const Program>;

/// Runs a program; arguments are the kernel's inputs, its outputs, then scratch memory if the program asks for it.
struct Launch {
  ProgramRef program;
  base::SmallVector<Arg, 3> args;
  uint32_t inputs = 0;  // so many arguments are read, the rest is written; an output may be the memory of an input
  bool writes_state = false;  // some output is memory that has held a value before, which a fault leaves there
  ir::Numbers numbers = {};   // of which instructions take one by its index, and a call its only one
  base::Label label = 0;      // the module and the pass that it runs for
  Live live = {};             // of the arena of its plan
};
/// Moves `to.bytes` bytes inside the device.
struct Copy {
  Arg from, to;
  bool writes_state = false;
};
/// Moves bytes in. The source is free again when `enqueue` returns.
struct Upload {
  std::span<const std::byte> from;
  Arg to;
};
/// Moves bytes out; the target lives until a wait for the ticket has returned or thrown.
struct Download {
  Arg from;
  std::span<std::byte> to;
};
struct Fill {
  Arg to;
  std::byte value{0};
};
using Command = std::variant<Launch, Copy, Upload, Download, Fill>;

/// Stands for everything submitted up to a moment.
struct Ticket {
  uint64_t serial = 0;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Fails, naming the kernel, when the device cannot run it.
  virtual ProgramRef compile(const Kernel& kernel) = 0;
  /// Whether the kernels of a plan are worth several threads; then all functions here may be called by several at once.
  virtual bool compiles_in_parallel() const { return false; }

  /// Whether there is a program for this convolution, whose channels come last; one that is not there is planned as
  /// products.
  virtual bool takes(const ir::Call&) const { return true; }
  /// The ways to do a call that are worth trying, the usual one first; none where there is but one.
  virtual std::vector<ir::Way> ways(const ir::Call&) const { return {}; }
  /// Whether a call can be done in this way.
  virtual bool has_way(const ir::Call& call, const ir::Way& way) const {
    const std::vector<ir::Way> all = ways(call);
    return std::find(all.begin(), all.end(), way) != all.end();
  }
  /// The call under whose name the choice among the ways of this one is kept, where it is to be timed before it first
  /// runs. Its ways may differ in their last bits, and calls that are to have the same bits share one choice. None: it
  /// is timed when somebody asks for it, and all of its ways have the same bits.
  virtual std::optional<ir::Call> timed_as(const ir::Call&) const { return std::nullopt; }
  /// What such choices hold for, chip and library, in one line; empty where nothing is timed unasked.
  virtual std::string timed_on() const { return {}; }

  /// Everything that a program of this kernel depends on, as text: source, compiler, driver, chip. Programs under such
  /// a name are kept on disk between processes. Empty: compiling is as quick as reading a file.
  virtual std::string saved_as(const Kernel&) const { return {}; }
  /// A program as bytes, for `load` in another process.
  virtual std::vector<std::byte> save(const Program&) const { return {}; }
  /// The program of these bytes; none when they do not serve after all.
  virtual ProgramRef load(const Kernel&, std::span<const std::byte>) { return nullptr; }
};

/// A list of commands that can be run again and again.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Submits `before`, then the list.
  virtual Ticket replay(std::span<const Command> before, bool caller_waits) = 0;
};

class Pool;

class Device {
 public:
  Device();
  virtual ~Device();
  virtual const ir::Limits& limits() const = 0;
  virtual Compiler& compiler() = 0;
  /// As the registry has it; it lives for good.
  std::string_view name() const { return name_; }
  void set_name(std::string_view name) { name_ = kept_name(name); }
  /// Chip, driver and size in one line for people; empty by default.
  virtual std::string describe() const;
  virtual Buffer allocate(size_t bytes) = 0;
  /// May come while commands that use the buffer are under way. Never throws when the device is lost.
  virtual void release(const Buffer& buffer) = 0;
  /// The pool keeps this buffer for whoever asks next: what lies in it is not needed any more.
  virtual void discard(const Buffer& buffer);
  /// Bytes that can still be allocated, where asking is the only way to know: a system that promises more memory than
  /// there is grants everything and ends the process when it is touched. Nothing, by default: `allocate` itself
  /// refuses.
  virtual std::optional<size_t> available() const;
  /// Bytes of its memory, used or not; nothing where nobody knows, and by default.
  virtual std::optional<size_t> memory_in_all() const;
  /// Memory of somebody else's as a buffer of this device, where the device works on host memory and these bytes are
  /// aligned to `alignment`; nothing otherwise, and by default.
  virtual std::optional<Buffer> adopt(std::span<std::byte> bytes, size_t alignment);
  /// Returns when nothing that was submitted looks at an adopted buffer any more, so that its owner may free it.
  virtual void let_go(const Buffer& buffer);
  /// Memory of the host into which downloads run by themselves while the host goes on; none where a download is one
  /// that the host waits for, and by default.
  virtual std::shared_ptr<std::byte> landing(size_t bytes);
  virtual void enqueue(std::span<const Command> commands) = 0;
  /// Starts what was enqueued and returns at once. When the caller will wait for it anyway, it may run right here.
  virtual Ticket submit(bool caller_waits) = 0;
  /// Both in one, which spares a device that runs it right here a copy of commands and uploads.
  virtual Ticket send(std::span<const Command> commands, bool caller_waits);
  /// Whether the host knows already that everything up to the ticket has run. It is asked in every replay, so it
  /// compares numbers and asks no driver; false is never wrong.
  virtual bool is_done(Ticket ticket) = 0;
  /// Returns when everything up to the ticket has run, or throws its fault.
  virtual void wait(Ticket ticket) = 0;
  /// Whether everything up to the ticket has run within this time. A device that cannot tell returns true at once: then
  /// only wait() knows.
  virtual bool wait_at_most(Ticket ticket, std::chrono::milliseconds time);
  /// Waits like wait(), but asks base::check_interrupt() now and then; what that throws says nothing of the ticket.
  void wait_interruptibly(Ticket ticket);
  /// Whether the ticket has failed and somebody knows.
  virtual bool is_known_to_fail(Ticket ticket);
  /// Whether a ticket that is done has failed, whoever knows.
  virtual bool has_failed(Ticket ticket);
  /// The default recording keeps the list and enqueues it on every replay.
  virtual std::unique_ptr<Recording> record(std::span<const Command> commands);

  /// Whether it was found to be gone.
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  /// Throws if it was.
  void require_alive() const {
    if (is_lost()) throw_lost();
  }

  /// Buffers kept for reuse; everything above allocates through it.
  Pool& pool() const { return *pool_; }
  /// What storages hold of its memory.
  MemoryCounter& memory() { return memory_; }

 protected:
  /// A backend found that it is gone; the first reason stays.
  void set_lost(std::string_view name, std::string_view why);

 private:
  [[noreturn]] void throw_lost() const;

  std::string_view name_;
  std::unique_ptr<Pool> pool_;
  MemoryCounter memory_;
  std::atomic<bool> is_lost_{false};
  mutable std::mutex lost_mutex_;
  std::unique_ptr<Lost> lost_;
};

}  // namespace tenon::device
