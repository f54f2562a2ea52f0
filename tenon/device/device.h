// What a backend is: buffers, a queue of commands, and a compiler. It knows no ops.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tenon/base/small_vector.h"
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

/// A kernel argument: a buffer and where in it to start. `version` names the value that is read there or written; only
/// devices that check commands look at it, and 0 asks for no check.
struct Arg {
  Buffer buffer;
  size_t offset = 0;
  uint64_t version = 0;
};

/// What a compiler takes: one op with its operands' views, or a fused loop nest.
using Kernel = std::variant<ir::Call, ir::LoopNest>;

/// A compiled kernel of one device.
class Program {
 public:
  virtual ~Program() = default;
};
using ProgramRef = std::shared_ptr<const Program>;

/// Runs a program; arguments are the kernel's inputs, then its outputs.
struct Launch {
  ProgramRef program;
  base::SmallVector<Arg, 3> args;
};
/// Moves bytes inside the device.
struct Copy {
  Arg from, to;
  size_t bytes = 0;
};
/// Moves bytes in; the source lives until the ticket is done, or in `owner`. A few bytes travel inside.
struct Upload {
  static constexpr size_t kInside = 64;

  std::span<const std::byte> from;
  Arg to;
  std::shared_ptr<const void> owner;
  std::array<std::byte, kInside> inside;
  uint8_t inside_bytes = 0;

  std::span<const std::byte> bytes() const {
    return inside_bytes ? std::span<const std::byte>(inside.data(), inside_bytes) : from;
  }
};
/// Moves bytes out; the target lives until the ticket is done.
struct Download {
  Arg from;
  std::span<std::byte> to;
};
struct Fill {
  Arg to;
  size_t bytes = 0;
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

  /// Everything that a program of this kernel depends on, as text: source, compiler, driver, chip. Programs under such a
  /// name are kept on disk between processes. Empty: compiling is as quick as reading a file.
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
  virtual Buffer allocate(size_t bytes) = 0;
  virtual void release(const Buffer& buffer) = 0;
  /// Bytes that can still be allocated, where asking is the only way to know: a system that promises more memory than
  /// there is grants everything and ends the process when it is touched. Nothing, by default: `allocate` itself
  /// refuses.
  virtual std::optional<size_t> available() const;
  /// Memory of somebody else's as a buffer of this device, where the device works on host memory and these bytes are
  /// aligned to `alignment`; nothing otherwise, and by default.
  virtual std::optional<Buffer> adopt(std::span<std::byte> bytes, size_t alignment);
  /// Returns when nothing that was submitted looks at an adopted buffer any more, so that its owner may free it.
  virtual void let_go(const Buffer& buffer);
  virtual void enqueue(std::span<const Command> commands) = 0;
  /// Starts what was enqueued and returns at once. When the caller will wait for it anyway, it may run right here.
  virtual Ticket submit(bool caller_waits) = 0;
  virtual bool is_done(Ticket ticket) = 0;
  /// Returns when everything up to the ticket has run. Throws what went wrong with it: then none of its commands behind
  /// the fault have run, and nothing that was submitted before the fault became known.
  virtual void wait(Ticket ticket) = 0;
  /// The default recording keeps the list and enqueues it on every replay.
  virtual std::unique_ptr<Recording> record(std::span<const Command> commands);

  /// Buffers kept for reuse; everything above allocates through it.
  Pool& pool() const { return *pool_; }

 private:
  std::unique_ptr<Pool> pool_;
};

}  // namespace tenon::device
