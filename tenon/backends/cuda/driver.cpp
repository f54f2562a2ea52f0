// Graphs are captured on a stream of their own: whatever other threads wait for meanwhile is on the main one, and no
// call of theirs can spoil a capture in relaxed mode.

#include "tenon/backends/cuda/driver.h"

#include <algorithm>
#include <array>
#include <map>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/base/error.h"

namespace tenon::backends::cuda {
namespace {

using gpu::Place;

Address address_of(const Place& place) { return place.handle + place.offset; }

// After these nothing of the context works any more.
bool is_end_of_context(Result code) {
  constexpr std::array kEnds = {
      Results::kDeinitialized,       Results::kDeviceUnavailable,  Results::kUncorrectable,
      Results::kNvlinkUncorrectable, Results::kContained,          Results::kIllegalAddress,
      Results::kLaunchTimeout,       Results::kContextIsDestroyed, Results::kAssert,
      Results::kHardwareStackError,  Results::kIllegalInstruction, Results::kMisalignedAddress,
      Results::kInvalidAddressSpace, Results::kInvalidPc,          Results::kLaunchFailed,
      Results::kTensorMemoryLeak,    Results::kExternalDevice,     Results::kUnknown,
  };
  return std::find(kEnds.begin(), kEnds.end(), code) != kEnds.end();
}

}  // namespace

// Handles of events, which take longer to make than to record. Those with and without time are kept apart.
class Driver::Events {
 public:
  explicit Events(Context context) : context_(context) {}
  ~Events() {
    if (gpu::process_is_ending()) return;
    cu().set_current(context_);
    for (const auto& kept : free_) {
      for (EventHandle event : kept) cu().destroy_event(event);
    }
  }
  // Null where the driver gives none.
  EventHandle take(bool has_time) {
    {
      std::lock_guard lock(mutex_);
      if (auto& kept = free_[has_time]; !kept.empty()) {
        EventHandle event = kept.back();
        kept.pop_back();
        return event;
      }
    }
    EventHandle made = nullptr;
    cu().make_event(&made, has_time ? 0 : Flags::kEventWithoutTime);
    return made;
  }
  void give_back(EventHandle event, bool has_time) {
    std::lock_guard lock(mutex_);
    free_[has_time].push_back(event);
  }

 private:
  Context context_;
  std::mutex mutex_;
  std::array<std::vector<EventHandle>, 2> free_;
};

// One event, or two around a run whose time is wanted.
struct Driver::Moment : gpu::Event {
  std::shared_ptr<Events> events;
  EventHandle begin = nullptr, end = nullptr;
  bool has_time;
  Moment(std::shared_ptr<Events> from, bool is_run) : events(std::move(from)), has_time(is_run) {
    if (is_run) begin = events->take(true);
    end = events->take(is_run);
  }
  Moment(const Moment&) = delete;
  ~Moment() override {
    if (begin) events->give_back(begin, true);
    if (end) events->give_back(end, has_time);
  }
};

// Which memory of the host the device writes by itself.
struct Driver::Pinned {
  std::mutex mutex;
  std::map<const std::byte*, size_t> blocks;

  bool holds(const std::byte* first, size_t bytes) {
    std::lock_guard lock(mutex);
    const auto behind = blocks.upper_bound(first);
    if (behind == blocks.begin()) return false;
    const auto& [begin, size] = *std::prev(behind);
    return first + bytes <= begin + size;
  }
};

Driver::Driver(const Found& on) : on_(on) {
  require(cu().retain_primary_context(&context_, on.device), "a context cannot be made");
  make_current();
  Result code = cu().make_stream(&main_, Flags::kNonBlockingStream);
  if (code == Results::kSuccess) code = cu().make_stream(&capturing_, Flags::kNonBlockingStream);
  if (code != Results::kSuccess) {
    if (main_) cu().destroy_stream(main_);
    cu().release_primary_context(on.device);
  }
  require(code, "a stream cannot be made");
  stream_ = main_;
  has_pools_ = on.attribute(DeviceAttribute::kHasMemoryPools) != 0;
  events_ = std::make_shared<Events>(context_);
  pinned_ = std::make_shared<Pinned>();
}

Driver::~Driver() {
  if (gpu::process_is_ending()) return;
  make_current();
  cu().finish_stream(main_);
  upload_ring_.release();
  small_transfers_.release();
  anchor_.reset();
  events_.reset();
  cu().destroy_stream(capturing_);
  cu().destroy_stream(main_);
  cu().release_primary_context(on_.device);
}

void Driver::check(Result code, const char* what) {
  if (code == Results::kSuccess) return;
  const std::string text = fmt::format("{} ({})", error_name(code), what);
  if (is_end_of_context(code)) throw gpu::Gone{text};
  // One that was refused for itself leaves the stream as it was.
  if (const Result now = cu().finish_stream(main_); now != Results::kSuccess)
    throw gpu::Gone{fmt::format("{} ({})", error_name(now), what)};
  base::fail("cuda", "{} refused a command: {}", on_.name, text);
}

// ---- memory ----

uint64_t Driver::allocate(size_t bytes) {
  make_current();
  Address made = 0;
  const Result code = cu().allocate(&made, bytes);
  if (code == Results::kOutOfMemory || code == Results::kInvalidValue) return 0;
  check(code, "new memory");
  return made;
}

// The pool above keeps what is used again, so that waiting here costs little; what the device still reads is never
// taken away.
void Driver::release(uint64_t handle) {
  make_current();
  cu().finish_stream(main_);
  cu().free(handle);
}

std::string Driver::memory_in_words() const {
  make_current();
  size_t left = 0, total = 0;
  if (cu().memory_left(&left, &total) != Results::kSuccess) return fmt::format("it has {}", on_.memory);
  return fmt::format("it has {}, of which {} are free", total, left);
}

std::optional<size_t> Driver::memory_left() const {
  make_current();
  size_t left = 0, total = 0;
  if (cu().memory_left(&left, &total) != Results::kSuccess) return std::nullopt;
  return left;
}

std::shared_ptr<std::byte> Driver::pin(size_t bytes) {
  make_current();
  void* memory = nullptr;
  require(cu().allocate_host(&memory, bytes, Flags::kPortableHostMemory), "no memory for transfers");
  std::lock_guard lock(pinned_->mutex);
  pinned_->blocks.emplace(static_cast<std::byte*>(memory), bytes);
  return {static_cast<std::byte*>(memory), [context = context_, pinned = pinned_](std::byte* data) {
            {
              std::lock_guard gone(pinned->mutex);
              pinned->blocks.erase(data);
            }
            if (gpu::process_is_ending()) return;
            cu().set_current(context);
            cu().free_host(data);
          }};
}

// Memory of the stream: it is there, and gone, in the order of commands, in a graph too.
uint64_t Driver::take_temporary(size_t bytes) {
  if (!has_pools_) return allocate(bytes);
  make_current();
  Address made = 0;
  const Result code = cu().allocate_on_stream(&made, bytes, stream_);
  if (code == Results::kOutOfMemory) return 0;
  check(code, "memory for a copy");
  return made;
}

void Driver::release_temporary(uint64_t handle) {
  if (!has_pools_) return release(handle);
  make_current();
  check(cu().free_on_stream(handle, stream_), "memory of a copy");
}

// ---- commands ----

void Driver::launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) {
  make_current();
  const auto& what = static_cast<const Runnable&>(*step.built);
  check(what.run(step, launch, fault_words, stream_), step.name.c_str());
}

void Driver::copy(const Place& from, const Place& to, size_t bytes) {
  make_current();
  check(cu().copy(address_of(to), address_of(from), bytes, stream_), "a copy");
}

void Driver::upload(const std::byte* from, const Place& to, size_t bytes) {
  make_current();
  const bool goes_ahead = stream_ == main_ && upload_ring_.takes(bytes);
  check(goes_ahead ? upload_ring_.start(from, address_of(to), bytes, main_)
                   : cu().upload(address_of(to), from, bytes, stream_),
        "an upload");
}

bool Driver::upload_small(std::span<const gpu::SmallUpload> uploads) {
  make_current();
  if (!small_transfers_.prepare(on_.architecture())) return false;
  check(small_transfers_.up(uploads, stream_), "an upload");
  return true;
}

void Driver::download(const Place& from, std::byte* to, size_t bytes) {
  make_current();
  if (bytes <= SmallTransfers::kMostDown && pinned_->holds(to, bytes) && small_transfers_.prepare(on_.architecture()))
    return check(small_transfers_.down(address_of(from), to, bytes, stream_), "a download");
  check(cu().download(to, address_of(from), bytes, stream_), "a download");
}

void Driver::fill(const Place& to, std::byte value, size_t bytes) {
  make_current();
  check(cu().fill(address_of(to), static_cast<unsigned char>(value), bytes, stream_), "a fill");
}

// ---- time ----

gpu::EventRef Driver::mark() {
  make_current();
  auto made = std::make_shared<Moment>(events_, false);
  check(cu().record_event(made->end, stream_), "an event");
  return made;
}

void Driver::wait(const gpu::Event& event) {
  make_current();
  check(cu().wait_for_event(static_cast<const Moment&>(event).end), "a wait");
}

// Events know the time between two of them alone. One that was waited for is the anchor of the others; a second later
// the two clocks may have drifted apart.
void Driver::align_clocks() {
  constexpr uint64_t kLongAgo = 1'000'000'000;
  const uint64_t now = device::now_ns();
  const bool is_fresh = anchor_ && now - last_timed_ns_ < kLongAgo;
  last_timed_ns_ = now;
  if (is_fresh) return;
  check(cu().finish_stream(main_), "a wait");
  auto anchor = std::make_shared<Moment>(events_, true);
  const uint64_t before = device::now_ns();
  check(cu().record_event(anchor->end, main_), "an event");
  check(cu().wait_for_event(anchor->end), "a wait");
  anchor_ns_ = before + (device::now_ns() - before) / 2;
  anchor_ = std::move(anchor);
}

// A graph keeps no times.
gpu::EventRef Driver::begin_run() {
  if (stream_ != main_) return nullptr;
  make_current();
  align_clocks();
  auto run = std::make_shared<Moment>(events_, true);
  check(cu().record_event(run->begin, stream_), "an event");
  return run;
}

void Driver::end_run(const gpu::Event& run) {
  make_current();
  check(cu().record_event(static_cast<const Moment&>(run).end, stream_), "an event");
}

uint64_t Driver::nanoseconds_between(EventHandle begin, EventHandle end) const {
  float milliseconds = 0;
  if (cu().time_between(&milliseconds, begin, end) != Results::kSuccess) return 0;
  return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

// Times come as floats of milliseconds, which are coarse when they are long: the anchor follows.
gpu::Times Driver::times_of(const gpu::Event& event) {
  constexpr uint64_t kFar = 100'000'000;
  make_current();
  const auto& run = static_cast<const Moment&>(event);
  const uint64_t since = nanoseconds_between(anchor_->end, run.begin), took = nanoseconds_between(run.begin, run.end);
  const gpu::Times times{anchor_ns_ + since, anchor_ns_ + since + took};
  if (since > kFar) {
    anchor_ = std::static_pointer_cast<const Moment>(event.shared_from_this());
    anchor_ns_ = times.end_ns;
  }
  return times;
}

bool Driver::finish() {
  make_current();
  return cu().finish_stream(main_) == Results::kSuccess;
}

// ---- graphs ----

std::vector<RunnableGraph> Driver::capture(const std::function<void()>& start, size_t copies) {
  make_current();
  Graph graph = nullptr;
  check(cu().begin_capture(capturing_, Flags::kRelaxedCapture), "the begin of a capture");
  stream_ = capturing_;
  try {
    start();
  } catch (...) {
    stream_ = main_;
    cu().end_capture(capturing_, &graph);
    if (graph) cu().destroy_graph(graph);
    throw;
  }
  stream_ = main_;
  check(cu().end_capture(capturing_, &graph), "the end of a capture");
  std::vector<RunnableGraph> made;
  Result code = Results::kSuccess;
  while (made.size() < copies && code == Results::kSuccess) {
    RunnableGraph one = nullptr;
    code = cu().instantiate(&one, graph, 0);
    if (code == Results::kSuccess) made.push_back(one);
  }
  cu().destroy_graph(graph);
  if (made.empty()) check(code, "a graph");  // one that takes memory for itself there is but once
  return made;
}

void Driver::launch(RunnableGraph graph) {
  make_current();
  check(cu().launch_graph(graph, stream_), "a graph");
}

// One that still runs is freed behind its end.
void Driver::destroy(RunnableGraph graph) {
  make_current();
  cu().destroy_runnable_graph(graph);
}

}  // namespace tenon::backends::cuda
