#include "tenon/backends/opencl/driver.h"

#include <algorithm>
#include <utility>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/opencl/toolchain.h"
#include "tenon/base/error.h"

namespace tenon::backends::opencl {
namespace {

using gpu::Place;

cl_mem memory_of(const Place& place) { return reinterpret_cast<cl_mem>(place.handle); }

bool is_out_of_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
}

struct ClEvent : gpu::Event {
  cl_event event;
  explicit ClEvent(cl_event made) : event(made) {}
  ClEvent(const ClEvent&) = delete;
  ~ClEvent() override {
    if (!gpu::process_is_ending()) cl().release_event(event);
  }
};

cl_event event_of(const gpu::Event& event) { return static_cast<const ClEvent&>(event).event; }

}  // namespace

Driver::Driver(const Found& on) : on_(on) {
  const cl_context_properties platform[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(on.platform),
                                            0};
  cl_int code = CL_SUCCESS;
  context_ = cl().create_context(platform, 1, &on.device, nullptr, nullptr, &code);
  require(code, "a context cannot be made");
  queue_ = cl().create_queue(context_, on.device, nullptr, &code);
  if (code != CL_SUCCESS) cl().release_context(context_);
  require(code, "a queue cannot be made");
}

// The context goes last.
Driver::~Driver() {
  if (gpu::process_is_ending()) return;
  cl().release_queue(queue_);
  cl().release_context(context_);
}

// A device that is gone answers every call with an error. One that wants resources alone may have them the next time,
// but not if it goes on like this.
void Driver::check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  const std::string text = fmt::format("{} ({})", error_name(code), what);
  if (code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_COMMAND_QUEUE ||
      code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || (is_out_of_memory(code) && has_refused_) ||
      cl().finish(queue_) != CL_SUCCESS)
    throw gpu::Gone{text};
  has_refused_ = has_refused_ || is_out_of_memory(code);
  base::fail("opencl", "{} refused a command: {}", on_.name, text);
}

// ---- memory ----

// Some drivers leave it to the first use of memory whether it is there; moving nothing is one.
uint64_t Driver::allocate(size_t bytes) {
  const std::lock_guard lock(calls_);
  cl_int code = CL_SUCCESS;
  cl_mem memory = cl().create_buffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  if (!memory || code != CL_SUCCESS) return 0;
  code = cl().enqueue_migrate(queue_, 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) return reinterpret_cast<uint64_t>(memory);
  cl().release_memory(memory);
  if (!is_out_of_memory(code)) check(code, "new memory");
  return 0;
}

void Driver::release(uint64_t handle) {
  const std::lock_guard lock(calls_);
  cl().release_memory(reinterpret_cast<cl_mem>(handle));
}

std::string Driver::memory_in_words() const {
  return fmt::format("it has {}, and gives at most {} at once", memory_of(on_), limits_of(on_).max_binding);
}

// Mapped once and for good: the buffer object is never used by a kernel, so nobody else looks at its memory.
std::shared_ptr<std::byte> Driver::pin(size_t bytes) {
  const std::lock_guard lock(calls_);
  cl_int code = CL_SUCCESS;
  cl_mem memory = cl().create_buffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code);
  require(code, "no memory for transfers");
  void* data =
      cl().enqueue_map(queue_, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) cl().release_memory(memory);
  require(code, "memory for transfers cannot be mapped");
  return {static_cast<std::byte*>(data), [memory](std::byte*) {
            if (!gpu::process_is_ending()) cl().release_memory(memory);
          }};
}

// ---- commands ----

void Driver::launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) {
  cl_kernel kernel = static_cast<const Built&>(*step.built).kernel;
  set_arguments(kernel, step, launch, fault_words);
  start(step, kernel);
}

void Driver::start(const gpu::Step& step, cl_kernel kernel) {
  const std::lock_guard lock(calls_);
  const size_t global[] = {step.blocks[0] * step.threads, step.blocks[1], step.blocks[2]},
               local[] = {step.threads, 1, 1};
  check(cl().enqueue_kernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, event_of_run()), step.name.c_str());
  // A driver whose device is the host compiles a kernel when it first runs. What its compiler leaves for the end of the
  // process must be there before our own wait is registered, which then comes first.
  if (on_.is_cpu && !static_cast<const Built&>(*step.built).has_run.exchange(true)) {
    check(cl().finish(queue_), "a kernel's first run");
    gpu::wait_first_at_exit();
  }
}

void Driver::copy(const Place& from, const Place& to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_copy(queue_, memory_of(from), memory_of(to), from.offset, to.offset, bytes, 0, nullptr,
                          event_of_run()),
        "a copy");
}

void Driver::upload(const std::byte* from, const Place& to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_write(queue_, memory_of(to), CL_FALSE, to.offset, bytes, from, 0, nullptr, event_of_run()),
        "an upload");
}

void Driver::download(const Place& from, std::byte* to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_read(queue_, memory_of(from), CL_FALSE, from.offset, bytes, to, 0, nullptr, event_of_run()),
        "a download");
}

void Driver::fill(const Place& to, std::byte value, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_fill(queue_, memory_of(to), &value, 1, to.offset, bytes, 0, nullptr, event_of_run()), "a fill");
}

// ---- time ----

gpu::EventRef Driver::mark() {
  const std::lock_guard lock(calls_);
  cl_event event = nullptr;
  check(cl().enqueue_marker(queue_, 0, nullptr, &event), "a marker");
  auto made = std::make_shared<ClEvent>(event);
  check(cl().flush(queue_), "a flush");
  return made;
}

void Driver::wait(const gpu::Event& event) {
  cl_event waited = event_of(event);
  check(cl().wait_for_events(1, &waited), "a wait");
}

// The events of the commands that are timed together.
struct Driver::Run : gpu::Event {
  std::vector<cl_event> events;  // null where a command was refused
  Run() = default;
  Run(const Run&) = delete;
  ~Run() override {
    if (gpu::process_is_ending()) return;
    for (cl_event event : events) {
      if (event) cl().release_event(event);
    }
  }
};

cl_event* Driver::event_of_run() { return run_ ? &run_->events.emplace_back(nullptr) : nullptr; }

// A queue that keeps times may be slower: it is made when somebody first asks for one.
bool Driver::keep_times() {
  if (keeps_times_) return true;
  const std::lock_guard lock(calls_);
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_int code = CL_SUCCESS;
  cl_command_queue made = cl().create_queue(context_, on_.device, properties, &code);
  if (code != CL_SUCCESS) return false;
  check(cl().finish(queue_), "a wait");
  cl().release_queue(std::exchange(queue_, made));
  keeps_times_ = true;
  return true;
}

uint64_t Driver::device_now() {
  const std::lock_guard lock(calls_);
  cl_event event = nullptr;
  check(cl().enqueue_marker(queue_, 0, nullptr, &event), "a marker");
  const ClEvent marker(event);
  check(cl().finish(queue_), "a wait");
  cl_ulong end = 0;
  cl().get_profiling_info(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
  return end;
}

gpu::EventRef Driver::begin_run() {
  if (!keep_times()) return nullptr;
  clock_.align([this] { return device_now(); });
  run_ = std::make_shared<Run>();
  return run_;
}

void Driver::end_run(const gpu::Event&) { run_ = nullptr; }

gpu::Times Driver::times_of(const gpu::Event& run) {
  cl_ulong first = ~cl_ulong{0}, last = 0;
  for (cl_event event : static_cast<const Run&>(run).events) {
    cl_ulong begin = 0, end = 0;
    if (!event ||
        cl().get_profiling_info(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr) != CL_SUCCESS ||
        cl().get_profiling_info(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) != CL_SUCCESS)
      continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  if (last == 0) return {};
  return {clock_.on_host(first), clock_.on_host(last)};
}

bool Driver::finish() { return cl().finish(queue_) == CL_SUCCESS; }

}  // namespace tenon::backends::opencl
