// A list of spans, made into tables and traces when somebody asks.

#include "tenon/tensor/profile.h"

#include <algorithm>
#include <mutex>

#include "tenon/device/profile_table.h"
#include "tenon/device/timeline.h"
#include "tenon/exec/eval.h"

namespace tenon {

struct Profile::Impl : device::Listener {
  static constexpr size_t kMostEvents = 1 << 20;

  mutable std::mutex mutex;
  std::vector<device::Span> spans;
  uint64_t dropped = 0;
  uint64_t first_ns = 0;    // of the first start
  uint64_t started_ns = 0;  // of the last; 0: it is stopped
  uint64_t wall_ns = 0;     // until the last stop

  ~Impl() override { unlisten(); }
  void on_span(const device::Span& span) override {
    std::lock_guard lock(mutex);
    const bool is_host = span.kind == device::Span::Kind::host;
    if (is_host && span.begin_ns < started_ns) return;  // the host was in it before
    if (spans.size() == kMostEvents) {
      ++dropped;
      return;
    }
    spans.push_back(span);
    // The clocks of a device and of the host differ by some microseconds.
    spans.back().begin_ns = std::max(span.begin_ns, started_ns);
    spans.back().end_ns = std::max(span.end_ns, spans.back().begin_ns);
  }
  std::vector<device::Span> in_order() const {
    std::lock_guard lock(mutex);
    std::vector<device::Span> all = spans;
    // What begins together: the outer one first.
    std::ranges::stable_sort(all, [](const device::Span& a, const device::Span& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    return all;
  }
};

Profile::Profile() : impl_(std::make_unique<Impl>()) { start(); }
Profile::~Profile() = default;

void Profile::start() {
  if (impl_->started_ns != 0) return;
  exec::synchronize();  // what was started before belongs to nobody
  {
    std::lock_guard lock(impl_->mutex);
    impl_->started_ns = device::now_ns();
    if (impl_->first_ns == 0) impl_->first_ns = impl_->started_ns;
  }
  impl_->listen();
}

void Profile::stop() {
  if (impl_->started_ns == 0) return;
  const auto end = [&] {
    impl_->unlisten();
    std::lock_guard lock(impl_->mutex);
    impl_->wall_ns += device::now_ns() - impl_->started_ns;
    impl_->started_ns = 0;
  };
  try {
    exec::synchronize();
  } catch (...) {
    end();
    throw;
  }
  end();
}

std::vector<ProfileEvent> Profile::events() const {
  std::vector<ProfileEvent> made;
  for (const device::Span& span : impl_->in_order()) {
    ProfileEvent event;
    event.kind = static_cast<ProfileEvent::Kind>(span.kind);
    event.name = span.about->kind;
    event.detail = span.about->what;
    event.device = span.device;
    event.module = base::path_of(span.label);
    if (span.kind == device::Span::Kind::launch) event.pass = base::pass_name(base::pass_of(span.label));
    event.thread = span.thread;
    event.begin_ns = span.begin_ns - impl_->first_ns;
    event.end_ns = span.end_ns - impl_->first_ns;
    event.bytes = span.bytes;
    event.flops = span.about->flops;
    made.push_back(std::move(event));
  }
  return made;
}

uint64_t Profile::wall_ns() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->wall_ns + (impl_->started_ns == 0 ? 0 : device::now_ns() - impl_->started_ns);
}

uint64_t Profile::dropped() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->dropped;
}

std::string Profile::table(Sort sort, size_t rows) const {
  device::ProfileTable table;
  {
    std::lock_guard lock(impl_->mutex);
    for (const device::Span& span : impl_->spans) table.add(span);
  }
  return table.text(static_cast<device::ProfileSort>(sort), rows, wall_ns());
}

std::string Profile::chrome_trace() const { return device::chrome_trace(impl_->in_order(), impl_->first_ns); }

struct ProfileRange::Impl {
  device::HostSpan span;
};

ProfileRange::ProfileRange(std::string name)
    : impl_(device::wanted() ? new Impl{device::HostSpan(std::move(name))} : nullptr) {}
ProfileRange::~ProfileRange() = default;

}  // namespace tenon
