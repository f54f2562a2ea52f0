// Where the time of a part of a program goes: kernels by kind, shape, module and pass, transfers, and the host.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon {

/// One thing that ran, on a device or on the host.
struct ProfileEvent {
  enum class Kind : uint8_t { launch, copy, upload, download, fill, host, note };
  Kind kind = Kind::host;             // a kernel, a transfer, work of the host, or a note: "not captured" and why
  std::string name;                   // of kernel: "contract", "fused mul add"; the function of the host: "plan"
  std::string detail;                 // a kernel with its shapes
  std::string device;                 // empty: the host
  std::string module;                 // in which it was recorded: "h.3.attn"; empty outside of any
  std::string pass;                   // "forward", "backward" or "optimizer"; of kernels
  std::string library;                // that computes it: "cuBLASLt", "oneDNN"; empty: a kernel of Tenon's
  uint32_t thread = 0;                // of the host
  uint64_t begin_ns = 0, end_ns = 0;  // since the profile was started
  uint64_t bytes = 0;                 // of the operands of a kernel, moved, or allocated
  double flops = 0;                   // of a product; 0 where not known
};

/// The memory of a device from a moment on, bytes by what holds them.
///   Profile profile;
///   for (const ProfileMemory& at : profile.memory()) std::cout << at.in_all() << "\n";
struct ProfileMemory {
  std::string device;
  uint64_t at_ns = 0;         // since the profile was started
  uint64_t weights = 0;       // that an optimizer updates
  uint64_t moments = 0;       // and what it keeps beside them
  uint64_t gradients = 0;     // of weights
  uint64_t kept = 0;          // activations: what the forward pass makes and a later pass reads
  uint64_t scratch = 0;       // everything else that a plan makes for itself
  uint64_t values = 0;        // all other tensors
  uint64_t reserve = 0;       // of the memory of plans, what nothing lies in
  uint64_t pool = 0;          // kept for reuse
  uint64_t planned_peak = 0;  // the most that the plan which runs takes, with all that is held beside it

  /// All but the planned peak, which is no memory of its own.
  uint64_t in_all() const { return weights + moments + gradients + kept + scratch + values + reserve + pool; }
};

/// A device that was profiled.
struct ProfileDevice {
  std::string name;
  std::string description;      // chip and driver
  uint64_t memory_bytes = 0;    // that programs may take; 0 where nobody knows
  bool is_gpu = false;          // it needs thousands of threads to be busy
  bool has_quick_bf16 = false;  // products of bf16 take less time than those of f32
};

/// Watches all devices and the host from its construction until stop(). While none is alive nothing is measured; while
/// one is, captured functions are replayed kernel by kernel.
///   Profile profile;
///   wait({matmul(ones({64, 64}), ones({64, 64}))});
///   profile.stop();
///   std::cout << profile.table();
class Profile {
 public:
  enum class Sort : uint8_t { total, average, count };

  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Goes on after stop(): what is measured is added to what there is.
  void start();
  /// Waits for all devices, and raises what went wrong there.
  void stop();

  /// What ran, in the order in which it began.
  std::vector<ProfileEvent> events() const;
  /// Nanoseconds between start() and stop(), all of them together.
  uint64_t wall_ns() const;
  /// What devices hold, from every change on, in order.
  std::vector<ProfileMemory> memory() const;
  /// The devices that ran something, or hold memory.
  std::vector<ProfileDevice> devices() const;
  /// Events that there was no room for: a profile keeps the first million.
  uint64_t dropped() const;
  /// Kernels by kind, by shape, by module and by pass, and functions of the host, at most so many rows of each (0:
  /// all).
  std::string table(Sort sort = Sort::total, size_t rows = 20) const;
  /// All events as JSON for chrome://tracing and https://ui.perfetto.dev: host and devices on one clock.
  std::string chrome_trace() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// While alive, the host is in this part of the program, as profiles show it.
///   const ProfileRange range("load the batch");
class ProfileRange {
 public:
  explicit ProfileRange(std::string name);
  ~ProfileRange();
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // null where nobody looks
};

}  // namespace tenon
