// A list of spans, made into tables and traces when somebody asks.

#include "tenon/tensor/profile.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "tenon/device/chrome_trace.h"
#include "tenon/device/pool.h"
#include "tenon/device/profile_table.h"
#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/device/timeline.h"
#include "tenon/exec/eval.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/held.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon {

struct Profile::Impl : device::Listener {
  static constexpr size_t kMostEvents = 1 << 20;

  mutable std::mutex mutex;
  std::vector<device::Span> spans;
  std::vector<device::MemorySample> samples;
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
  void on_memory(const device::MemorySample& sample) override {
    std::lock_guard lock(mutex);
    if (samples.size() < kMostEvents) samples.push_back(sample);
  }
  // Memory is given back while locks of the library are held: no sample may be taken with ours.
  void sample_all() {
    for (device::Device* one : device::opened()) {
      const device::MemorySample sample = device::sample_memory(*one);
      if (one->memory().stats().allocations > 0) on_memory(sample);
    }
  }
  std::vector<device::MemoryPoint> course() const {
    std::vector<device::MemorySample> all;
    {
      std::lock_guard lock(mutex);
      all = samples;
    }
    std::ranges::stable_sort(all, {}, &device::MemorySample::at_ns);
    return device::memory_course(all, in_order());
  }
  std::vector<device::DeviceFacts> devices() const {
    std::set<std::string_view> seen;
    {
      std::lock_guard lock(mutex);
      for (const device::Span& span : spans) seen.insert(span.device);
      for (const device::MemorySample& sample : samples) seen.insert(sample.device);
    }
    std::vector<device::DeviceFacts> facts;
    for (const device::Device* one : device::opened()) {
      if (!seen.contains(one->name())) continue;
      const size_t limit = one->pool().stats().limit;
      const ir::Limits& limits = one->limits();
      facts.push_back({std::string(one->name()), one->describe(), limit ? limit : one->memory_in_all().value_or(0),
                       limits.max_threads > 1, limits.tile_dtypes.contains(DType::bf16)});
    }
    return facts;
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
  impl_->sample_all();
}

void Profile::stop() {
  if (impl_->started_ns == 0) return;
  const auto end = [&] {
    impl_->sample_all();
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
    event.library = span.about->by;
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

std::string Profile::chrome_trace() const {
  return device::chrome_trace(impl_->in_order(), impl_->first_ns,
                              {wall_ns(), dropped(), impl_->devices(), impl_->course()});
}

std::vector<ProfileMemory> Profile::memory() const {
  std::vector<ProfileMemory> made;
  for (const device::MemoryPoint& point : impl_->course()) {
    const uint64_t at_ns = std::max(point.at_ns, impl_->first_ns) - impl_->first_ns;
    made.push_back({std::string(point.device), at_ns, point.weights, point.moments, point.gradients, point.kept,
                    point.scratch, point.values, point.reserve, point.pool, point.planned_peak});
  }
  return made;
}

std::vector<ProfileDevice> Profile::devices() const {
  std::vector<ProfileDevice> made;
  for (device::DeviceFacts& one : impl_->devices())
    made.push_back({std::move(one.name), std::move(one.description), one.memory_bytes, one.is_gpu, one.has_quick_bf16});
  return made;
}

void hold_as(const Tensor& tensor, device::Holder holder) {
  if (!tensor.defined()) return;
  if (const ir::DataRef memory = exec::memory_of(impl_of(tensor)->value)) device::storage_of(memory)->hold_as(holder);
}

struct ProfileRange::Impl {
  device::HostSpan span;
};

ProfileRange::ProfileRange(std::string name)
    : impl_(device::wanted() ? new Impl{device::HostSpan(std::move(name))} : nullptr) {}
ProfileRange::~ProfileRange() = default;

}  // namespace tenon
