#include "tenon/backends/opencl/driver.h"

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/opencl/toolchain.h"
#include "tenon/base/error.h"
#include "tenon/device/profile.h"

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
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                            device::profiles() ? cl_queue_properties{CL_QUEUE_PROFILING_ENABLE} : 0, 0};
  queue_ = cl().create_queue(context_, on.device, properties, &code);
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

gpu::EventRef Driver::launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words, bool is_timed) {
  cl_kernel kernel = static_cast<const Built&>(*step.built).kernel;
  set_arguments(kernel, step, launch, fault_words);
  return start(step, kernel, is_timed);
}

gpu::EventRef Driver::start(const gpu::Step& step, cl_kernel kernel, bool is_timed) {
  const std::lock_guard lock(calls_);
  const size_t global[] = {step.blocks[0] * step.threads, step.blocks[1], step.blocks[2]},
               local[] = {step.threads, 1, 1};
  cl_event event = nullptr;
  check(cl().enqueue_kernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, is_timed ? &event : nullptr),
        step.name.c_str());
  gpu::EventRef run = event ? std::make_shared<ClEvent>(event) : nullptr;
  // A driver whose device is the host compiles a kernel when it first runs. What its compiler leaves for the end of the
  // process must be there before our own wait is registered, which then comes first.
  if (on_.is_cpu && !static_cast<const Built&>(*step.built).has_run.exchange(true)) {
    check(cl().finish(queue_), "a kernel's first run");
    gpu::wait_first_at_exit();
  }
  return run;
}

void Driver::copy(const Place& from, const Place& to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_copy(queue_, memory_of(from), memory_of(to), from.offset, to.offset, bytes, 0, nullptr, nullptr),
        "a copy");
}

void Driver::upload(const std::byte* from, const Place& to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_write(queue_, memory_of(to), CL_FALSE, to.offset, bytes, from, 0, nullptr, nullptr), "an upload");
}

void Driver::download(const Place& from, std::byte* to, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_read(queue_, memory_of(from), CL_FALSE, from.offset, bytes, to, 0, nullptr, nullptr),
        "a download");
}

void Driver::fill(const Place& to, std::byte value, size_t bytes) {
  const std::lock_guard lock(calls_);
  check(cl().enqueue_fill(queue_, memory_of(to), &value, 1, to.offset, bytes, 0, nullptr, nullptr), "a fill");
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

uint64_t Driver::nanoseconds_of(const gpu::Event& run) {
  cl_ulong begin = 0, end = 0;
  cl().get_profiling_info(event_of(run), CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr);
  cl().get_profiling_info(event_of(run), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
  return end - begin;
}

bool Driver::finish() { return cl().finish(queue_) == CL_SUCCESS; }

}  // namespace tenon::backends::opencl
