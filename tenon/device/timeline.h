// What ran when: spans of devices and of the host on the host's steady clock, collected while somebody listens.
//
// A span carries the label of what it ran for (base::Label) and a description of the kernel, so that it can outlive the
// program and the device. While nobody listens, a command costs one look at a counter.

#pragma once

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
  double flops = 0;  // of one run: multiplications and additions of products; 0 where there are none
  bool picks =
      false;  // reads a part of its operands that depends on their values: their bytes say nothing of its speed
};
using AboutRef = std::shared_ptr<const About>;

struct Span {
  enum class Kind : uint8_t { launch, copy, upload, download, fill, host };
  Kind kind = Kind::host;
  uint32_t thread = 0;      // of the host: 0 is the first that had a span
  std::string_view device;  // its name, which lives for good; empty: the host
  base::Label label = 0;
  AboutRef about;
  uint64_t begin_ns = 0, end_ns = 0;  // of the host's steady clock
  uint64_t bytes = 0;                 // of the operands of a kernel, or moved

  uint64_t ns() const { return end_ns - begin_ns; }
};

namespace detail {
extern std::atomic<uint32_t> listeners;
}
/// Whether anybody listens; asked for every command.
inline bool wanted() { return detail::listeners.load(std::memory_order_relaxed) != 0; }
/// Is given every span, whichever thread it ends on, one at a time.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() { unlisten(); }
  void listen();
  void unlisten();
  virtual void on_span(const Span& span) = 0;

 private:
  bool listens_ = false;
};
void add(Span span);

uint64_t now_ns();
/// The same text for good.
std::string_view kept_name(std::string_view name);
/// What transfers of a kind run.
const AboutRef& about(Span::Kind transfer);

/// Where the host spends its time.
enum class HostWork : uint8_t { record, plan, compile, run, replay, wait };

/// While alive, the host does this.
class HostSpan {
 public:
  explicit HostSpan(HostWork work) : begin_(wanted() ? now_ns() : 0), work_(work) {}
  /// A part of a program under a name of its own.
  explicit HostSpan(std::string name);
  ~HostSpan() {
    if (begin_ != 0) finish();
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  void finish();

  uint64_t begin_;
  HostWork work_ = HostWork::run;
  std::string name_;  // empty: `work_`
};

/// TENON_PROFILE=1: at the end of the process, where its time went, on standard error. A device calls it before it
/// arranges to finish at the end of the process: the tables are printed after that.
void profile_to_the_end();

}  // namespace tenon::device
