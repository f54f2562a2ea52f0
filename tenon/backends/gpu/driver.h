// What a queue asks of a driver, as few and as plain commands as GPUs have in common.
//
// Commands are started in order on one stream of the device. The queue holds its lock for all of them; what may be
// called without it says so. A command that fails throws: `Gone` where the device is lost, an Error otherwise.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tenon/backends/gpu/program.h"

namespace tenon::backends::gpu {

/// Thrown when the device was found to be gone.
struct Gone {
  std::string why;
};

/// A moment of the stream, or a run of commands that is timed.
class Event : public std::enable_shared_from_this<Event> {
 public:
  virtual ~Event() = default;
};
using EventRef = std::shared_ptr<const Event>;

/// Bytes of a buffer, from its handle.
struct Place {
  uint64_t handle = 0;
  size_t offset = 0;
};

/// An upload of few bytes.
struct SmallUpload {
  static constexpr size_t kBytes = 64, kMost = 16;  // of one, and at once
  std::span<const std::byte> from;
  Place to;
};

/// When something ran, on the host's steady clock.
struct Times {
  uint64_t begin_ns = 0, end_ns = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;

  // Memory; without the lock.
  /// 0 where there is none left.
  virtual uint64_t allocate(size_t bytes) = 0;
  /// When nothing that was started needs it any more.
  virtual void release(uint64_t handle) = 0;
  /// What memory the device has, for messages: "it has ...".
  virtual std::string memory_in_words() const = 0;
  /// Memory of the host that the device reads and writes by itself.
  virtual std::shared_ptr<std::byte> pin(size_t bytes) = 0;

  // Memory between two commands. As above, by default.
  virtual uint64_t take_temporary(size_t bytes) { return allocate(bytes); }
  virtual void release_temporary(uint64_t handle) { release(handle); }

  /// Starts one step of a program.
  virtual void launch(const Step& step, const device::Launch& launch, uint64_t fault_words) = 0;
  virtual void copy(const Place& from, const Place& to, size_t bytes) = 0;
  /// Of pinned memory, and into any.
  virtual void upload(const std::byte* from, const Place& to, size_t bytes) = 0;
  /// Several that do not meet, from memory that is free again at once. Whether it was done: false, by default.
  virtual bool upload_small(std::span<const SmallUpload>) { return false; }
  virtual void download(const Place& from, std::byte* to, size_t bytes) = 0;
  virtual void fill(const Place& to, std::byte value, size_t bytes) = 0;

  /// The moment when everything that was started until now is done. The device has begun with it, or will by `begin`.
  virtual EventRef mark() = 0;
  /// Whether commands may wait here before the device gets them: memory that they need is free only after that.
  virtual bool holds_back() const { return false; }
  /// The device gets what it does until this moment, where the driver held it back to give it more at once.
  virtual void begin(const Event&) {}
  /// Without the lock; after `begin`.
  virtual void wait(const Event& event) = 0;
  /// What is started between the two is timed. Null where the driver cannot.
  virtual EventRef begin_run() { return nullptr; }
  virtual void end_run(const Event&) {}
  /// When a run ran that has ended; 0 where the driver does not say.
  virtual Times times_of(const Event&) { return {}; }
  /// Waits for everything; whether all went well.
  virtual bool finish() = 0;
};

}  // namespace tenon::backends::gpu
