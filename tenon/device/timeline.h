// What ran when: spans of devices and of the host on the host's steady clock, collected while somebody listens.
//
// A span carries the label of what it ran for (base::Label) and a description of the kernel, so that it can outlive the
// program and the device. While nobody listens, a command costs one look at a counter.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon::device {

/// What a span ran.
struct About {
  std::string kind;  // of kernel: "contract", "fused mul add"; of transfer: "upload"; the function of the host: "plan"
  std::string what;  // a kernel with its shapes; the kind otherwise
  std::string by;    // the library that computes it: "cuBLASLt", "oneDNN"; empty: a kernel of our own
  double flops = 0;  // of one run: multiplications and additions of products; 0 where there are none
  bool picks =
      false;  // reads a part of its operands that depends on their values: their bytes say nothing of its speed
};
using AboutRef = std::shared_ptr<const About>;

/// What memory of a device holds. The arenas of plans are told apart while a launch runs: see Live.
enum class Holder : uint8_t { weights, moments, gradients, values, arena };
inline constexpr size_t kHolders = 5;
std::string_view holder_name(Holder holder);

/// Bytes in the arena of a plan that are in use while one of its launches runs.
struct Live {
  uint64_t kept = 0;       // made in the forward pass and read again after it
  uint64_t gradients = 0;  // of weights: made in the backward pass and read by the optimizer
  uint64_t scratch = 0;    // everything else
  uint64_t peak = 0;       // the most of the whole plan, by its layout
};

struct Span {
  enum class Kind : uint8_t { launch, copy, upload, download, fill, host, note };
  Kind kind = Kind::host;
  uint32_t thread = 0;      // of the host: 0 is the first that had a span
  std::string_view device;  // its name, which lives for good; empty: the host
  base::Label label = 0;
  AboutRef about;
  uint64_t begin_ns = 0, end_ns = 0;  // of the host's steady clock
  uint64_t bytes = 0;                 // of the operands of a kernel, moved, or allocated
  Live live;                          // of a launch

  uint64_t ns() const { return end_ns - begin_ns; }
};

namespace detail {
extern std::atomic<uint32_t> listeners;
}
/// Whether anybody listens; asked for every command.
inline bool wanted() { return detail::listeners.load(std::memory_order_relaxed) != 0; }
/// The memory of a device when some of it was taken or given back.
struct MemorySample {
  std::string_view device;
  uint64_t at_ns = 0;
  std::array<uint64_t, kHolders> held{};  // bytes, by Holder
  uint64_t pooled = 0;                    // kept for reuse
};

/// Is given every span and sample, whichever thread it ends on, one at a time.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() { unlisten(); }
  void listen();
  void unlisten();
  virtual void on_span(const Span& span) = 0;
  virtual void on_memory(const MemorySample&) {}

 private:
  bool listens_ = false;
};
void add(Span span);
void add(const MemorySample& sample);
/// Something that an observer should know, at this moment: "not captured" and why. Nothing where nobody listens.
void add_note(std::string_view kind, const std::string& text);

uint64_t now_ns();
/// The same text for good.
std::string_view kept_name(std::string_view name);
/// What transfers of a kind run.
const AboutRef& about(Span::Kind transfer);

/// Where the host spends its time.
enum class HostWork : uint8_t { record, plan, compile, run, replay, wait, allocate, reuse, release };

/// While alive, the host does this.
class HostSpan {
 public:
  explicit HostSpan(HostWork work, uint64_t bytes = 0) : begin_(wanted() ? now_ns() : 0), bytes_(bytes), work_(work) {}
  /// A part of a program under a name of its own.
  explicit HostSpan(std::string name);
  ~HostSpan() {
    if (begin_ != 0) finish();
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;
  /// It turned out to be something else.
  void becomes(HostWork work) { work_ = work; }

 private:
  void finish();

  uint64_t begin_, bytes_ = 0;
  HostWork work_ = HostWork::run;
  std::string name_;  // empty: `work_`
};

/// TENON_PROFILE=1: at the end of the process, where its time went, on standard error. A device calls it before it
/// arranges to finish at the end of the process: the tables are printed after that.
void profile_to_the_end();

}  // namespace tenon::device
