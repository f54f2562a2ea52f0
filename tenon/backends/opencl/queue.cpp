// One lock, which is let go of while somebody waits for a ticket.

#include "tenon/backends/opencl/queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/device/profile.h"

namespace tenon::backends::opencl {
namespace {

using codegen::FaultWords;
using device::Arg;

constexpr size_t kFaultBytes = FaultWords::kCount * sizeof(uint32_t);

cl_mem memory_of(const Arg& arg) { return reinterpret_cast<cl_mem>(arg.buffer.handle); }

// A copy into state must not happen after a fault, and only a kernel can look.
constexpr const char* kCopySource = R"(
__kernel void copy_unless_fault(__global const uchar* from, ulong from_offset, __global uchar* to, ulong to_offset,
                                ulong bytes, uint width, __global const int* fault) {
  if (fault[0]) return;
  const ulong at = get_global_id(0) * (ulong)width;
  if (at >= bytes) return;
  if (width == 4)
    *(__global uint*)(to + to_offset + at) = *(__global const uint*)(from + from_offset + at);
  else
    to[to_offset + at] = from[from_offset + at];
}
)";

std::exception_ptr error_of(const std::byte* words) {
  std::array<uint32_t, FaultWords::kCount> read;
  std::memcpy(read.data(), words, kFaultBytes);
  const auto whole = [&](uint32_t low) {
    return static_cast<int64_t>(uint64_t{read[low]} | uint64_t{read[low + 1]} << 32);
  };
  if (read[FaultWords::kSet] == 0) return nullptr;
  // Without the path of a module: whoever waits stands elsewhere by now.
  return std::make_exception_ptr(Error(fmt::format(
      "[{}] index {} is out of range for axis {} of size {}", ir::name(static_cast<ir::Op>(read[FaultWords::kOp])),
      whole(FaultWords::kIndex), read[FaultWords::kAxis], whole(FaultWords::kSize))));
}

struct OpenQueues {
  std::mutex mutex;
  std::vector<Queue*> list;
};
OpenQueues& open_queues() {
  static OpenQueues& all = *new OpenQueues;
  return all;
}

bool is_out_of_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
}

}  // namespace

Queue::Queue(const Found& on, cl_context context) : on_(on), context_(context) {
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                            device::profiles() ? cl_queue_properties{CL_QUEUE_PROFILING_ENABLE} : 0, 0};
  cl_int code = CL_SUCCESS;
  queue_ = cl().create_queue(context, on.device, properties, &code);
  require(code, "a queue cannot be made");
  fault_ = cl().create_buffer(context, CL_MEM_READ_WRITE, kFaultBytes, nullptr, &code);
  require(code, "no memory for the fault words");
  const cl_int nothing = 0;
  require(cl().enqueue_fill(queue_, fault_, &nothing, sizeof nothing, 0, kFaultBytes, 0, nullptr, nullptr),
          "the fault words cannot be cleared");
  staging_ = std::make_unique<Staging>(context, queue_);
  fault_slots_ = std::make_unique<Pinned>(context, queue_, kMostInFlight * kFaultBytes);
}

void Queue::finish_before_exit() {
  {
    std::lock_guard lock(open_queues().mutex);
    auto& list = open_queues().list;
    if (std::ranges::find(list, this) == list.end()) list.push_back(this);
  }
  std::atexit([] {
    if (process_is_ending()) return;
    std::lock_guard lock(open_queues().mutex);
    for (Queue* each : open_queues().list) each->wait_until_idle();
    set_process_ending();
  });
}

Queue::~Queue() {
  {
    std::lock_guard lock(open_queues().mutex);
    std::erase(open_queues().list, this);
  }
  if (process_is_ending()) return;
  cl().finish(queue_);
  for (const InFlight& one : in_flight_) cl().release_event(one.done);
  for (const Timed& one : timed_) cl().release_event(one.event);
  staging_.reset();
  fault_slots_.reset();
  cl().release_memory(fault_);
  if (copy_kernel_) cl().release_kernel(copy_kernel_);
  if (copy_program_) cl().release_program(copy_program_);
  cl().release_queue(queue_);
}

// A device that is gone answers every call with an error. One that wants resources alone may have them the next time,
// but not if it goes on like this.
void Queue::check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  const std::string text = fmt::format("{} ({})", error_name(code), what);
  if (code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_COMMAND_QUEUE ||
      code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || (is_out_of_memory(code) && has_refused_) ||
      cl().finish(queue_) != CL_SUCCESS)
    throw Gone{text};
  has_refused_ = has_refused_ || is_out_of_memory(code);
  base::fail("opencl", "{} refused a command: {}", on_.name, text);
}

// A driver whose device is the host compiles a kernel when it first runs. What its compiler leaves for the end of the
// process must be there before our own wait is registered, which then comes first.
void Queue::settle_first_run(std::atomic<bool>& has_run) {
  if (!on_.is_cpu || has_run.exchange(true)) return;
  check(cl().finish(queue_), "a kernel's first run");
  finish_before_exit();
}

// ---- commands, with the lock held ----

void Queue::start(const Step& step, cl_kernel kernel, const std::string& what) {
  cl_event event = nullptr;
  check(cl().enqueue_kernel(queue_, kernel, 3, nullptr, step.global.data(), step.local.data(), 0, nullptr,
                            what.empty() ? nullptr : &event),
        step.name.c_str());
  may_fault_ = may_fault_ || step.may_fault;
  settle_first_run(step.built->has_run);
  if (event) timed_.push_back({submitted_ + 1, event, what});
}

void Queue::run(const device::Launch& c) {
  const auto& program = static_cast<const Compiled&>(*c.program);
  for (const Step& step : program.steps) {
    if (step.is_idle(c)) continue;
    step.set_arguments(step.kernel, c, fault_);
    start(step, step.kernel, program.what);
  }
}

void Queue::run(const device::Copy& c) {
  if (c.to.bytes == 0) return;
  const bool overlaps = c.from.buffer.handle == c.to.buffer.handle && c.from.offset < c.to.offset + c.to.bytes &&
                        c.to.offset < c.from.offset + c.to.bytes;
  if (!overlaps)
    return copy(memory_of(c.from), c.from.offset, memory_of(c.to), c.to.offset, c.to.bytes, c.writes_state);
  cl_int code = CL_SUCCESS;
  cl_mem between = cl().create_buffer(context_, CL_MEM_READ_WRITE, c.to.bytes, nullptr, &code);
  check(code, "memory for a copy");
  copy(memory_of(c.from), c.from.offset, between, 0, c.to.bytes, false);
  copy(between, 0, memory_of(c.to), c.to.offset, c.to.bytes, c.writes_state);
  cl().release_memory(between);  // when the copies are done
}

void Queue::copy(cl_mem from, size_t from_offset, cl_mem to, size_t to_offset, size_t bytes, bool writes_state) {
  if (writes_state) return copy_unless_fault(from, from_offset, to, to_offset, bytes);
  check(cl().enqueue_copy(queue_, from, to, from_offset, to_offset, bytes, 0, nullptr, nullptr), "a copy");
}

void Queue::copy_unless_fault(cl_mem from, size_t from_offset, cl_mem to, size_t to_offset, size_t bytes) {
  if (!copy_kernel_) {
    cl_int code = CL_SUCCESS;
    copy_program_ = build(context_, on_, kCopySource, "copy_unless_fault");
    copy_kernel_ = cl().create_kernel(copy_program_, "copy_unless_fault", &code);
    check(code, "copy_unless_fault");
  }
  const cl_uint width = (from_offset | to_offset | bytes) % 4 == 0 ? 4 : 1;
  cl_uint index = 0;
  const auto set = [&](const auto& value) {
    check(cl().set_argument(copy_kernel_, index++, sizeof value, &value), "copy_unless_fault");
  };
  set(from);
  set(cl_ulong{from_offset});
  set(to);
  set(cl_ulong{to_offset});
  set(cl_ulong{bytes});
  set(width);
  set(fault_);
  const size_t local = 64, global = (bytes / width + local - 1) / local * local;
  check(cl().enqueue_kernel(queue_, copy_kernel_, 1, nullptr, &global, &local, 0, nullptr, nullptr), "a copy");
  settle_first_run(copy_has_run_);
}

void Queue::run(const device::Upload& c) {
  for (size_t at = 0; at < c.from.size();) {
    const size_t bytes = std::min(c.from.size() - at, Staging::kSlot);
    cl_int code = CL_SUCCESS;
    std::byte* staged = staging_->take(bytes, code);
    check(code, "an upload");
    std::memcpy(staged, c.from.data() + at, bytes);
    check(cl().enqueue_write(queue_, memory_of(c.to), CL_FALSE, c.to.offset + at, bytes, staged, 0, nullptr, nullptr),
          "an upload");
    at += bytes;
  }
}

void Queue::run(const device::Download& c) {
  if (c.to.empty()) return;
  check(cl().enqueue_read(queue_, memory_of(c.from), CL_FALSE, c.from.offset, c.to.size(), c.to.data(), 0, nullptr,
                          nullptr),
        "a download");
}

void Queue::run(const device::Fill& c) {
  if (c.to.bytes == 0) return;
  check(cl().enqueue_fill(queue_, memory_of(c.to), &c.value, 1, c.to.offset, c.to.bytes, 0, nullptr, nullptr),
        "a fill");
}

void Queue::run_all(std::span<const device::Command> commands) {
  for (const device::Command& command : commands) std::visit([&](const auto& c) { run(c); }, command);
}

// ---- tickets ----

void Queue::enqueue(std::span<const device::Command> commands) {
  std::lock_guard lock(mutex_);
  waiting_.add(commands);
}

device::Ticket Queue::submit(std::span<const device::Command> commands, std::span<const Prepared> prepared) {
  std::lock_guard lock(mutex_);
  const device::Batch before = std::exchange(waiting_, {});
  run_all(before.commands());
  run_all(commands);
  for (const Prepared& one : prepared) {
    if (one.step)
      start(*one.step, one.kernel, one.program->what);
    else
      run_all({&one.other, 1});
  }
  return give_ticket();
}

// With the lock held.
device::Ticket Queue::give_ticket() {
  if (in_flight_.size() == kMostInFlight) retire_oldest();
  InFlight made{submitted_ + 1};
  made.reads_fault = std::exchange(may_fault_, false);
  if (made.reads_fault)
    check(cl().enqueue_read(queue_, fault_, CL_FALSE, 0, kFaultBytes, fault_slot(made.serial), 0, nullptr, &made.done),
          "the fault words");
  else
    check(cl().enqueue_marker(queue_, 0, nullptr, &made.done), "a marker");
  check(cl().flush(queue_), "a flush");
  in_flight_.push_back(made);
  return {++submitted_};
}

std::byte* Queue::fault_slot(uint64_t serial) const {
  return fault_slots_->data() + serial % kMostInFlight * kFaultBytes;
}

// With the lock held: many of the oldest at once, so that the device does not run dry.
void Queue::retire_oldest() {
  const InFlight& last = in_flight_[kMostInFlight / 2];
  check(cl().wait_for_events(1, &last.done), "a wait");
  retire(last.serial);
}

// With the lock held, when everything up to a ticket has run.
void Queue::retire(uint64_t serial) {
  while (!in_flight_.empty() && in_flight_.front().serial <= serial) {
    const InFlight& one = in_flight_.front();
    if (one.reads_fault) {
      if (std::exception_ptr error = error_of(fault_slot(one.serial))) faults_.set(one.serial, std::move(error));
    }
    cl().release_event(one.done);
    in_flight_.pop_front();
  }
  if (known_.load(std::memory_order_relaxed) < serial) known_.store(serial, std::memory_order_release);
  std::erase_if(timed_, [&](const Timed& one) {
    if (one.serial > serial) return false;
    cl_ulong begin = 0, end = 0;
    cl().get_profiling_info(one.event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr);
    cl().get_profiling_info(one.event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
    device::count_run("opencl", one.what, end - begin);
    cl().release_event(one.event);
    return true;
  });
}

void Queue::wait(device::Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const InFlight& one) { return one.serial == ticket.serial; });
  if (found != in_flight_.end()) {
    cl_event done = found->done;
    cl().retain_event(done);  // another thread may retire it meanwhile
    lock.unlock();
    const cl_int code = cl().wait_for_events(1, &done);
    lock.lock();
    cl().release_event(done);
    check(code, "a wait");
    retire(ticket.serial);
  }
  // Whoever is told may go on: what is submitted from now on finds no fault.
  if (faults_.has_failed(ticket.serial) && !faults_.is_known_to_fail(ticket.serial)) {
    const cl_int nothing = 0;
    check(cl().enqueue_fill(queue_, fault_, &nothing, sizeof nothing, 0, kFaultBytes, 0, nullptr, nullptr),
          "the fault words");
  }
  faults_.raise(ticket.serial, submitted_);
}

bool Queue::is_known_to_fail(device::Ticket ticket) {
  std::lock_guard lock(mutex_);
  return faults_.is_known_to_fail(ticket.serial);
}
bool Queue::has_failed(device::Ticket ticket) {
  std::lock_guard lock(mutex_);
  return faults_.has_failed(ticket.serial);
}

void Queue::wait_until_idle() {
  std::lock_guard lock(mutex_);
  if (cl().finish(queue_) == CL_SUCCESS) retire(submitted_);
}

// ---- memory ----

bool Queue::settle(cl_mem memory) {
  std::lock_guard lock(mutex_);
  const cl_int code =
      cl().enqueue_migrate(queue_, 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, nullptr);
  if (is_out_of_memory(code)) return false;
  check(code, "new memory");
  return true;
}

void Queue::release(cl_mem memory) {
  bool needs_it;
  {
    std::lock_guard lock(mutex_);
    needs_it = !waiting_.empty();
  }
  try {
    if (needs_it) submit();
  } catch (...) {
    cl().release_memory(memory);
    throw;
  }
  cl().release_memory(memory);
}

}  // namespace tenon::backends::opencl
