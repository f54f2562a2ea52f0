// One lock, which is let go of while somebody waits for a ticket.

#include "tenon/backends/gpu/queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/gpu/copy_kernel.h"
#include "tenon/backends/gpu/fault_words.h"
#include "tenon/base/error.h"
#include "tenon/device/out_of_memory.h"

namespace tenon::backends::gpu {
namespace {

Place place_of(const device::Arg& arg) { return {arg.buffer.handle, arg.offset}; }

}  // namespace

Queue::Queue(std::string_view device, Driver& driver, Compiler& compiler, const ir::Limits& limits)
    : device_(device::kept_name(device)),
      driver_(driver),
      compiler_(compiler),
      limits_(limits),
      staging_(driver),
      fault_slots_(driver.pin(kMostInFlight * kFaultBytes)) {
  fault_ = driver_.allocate(kFaultBytes);
  if (!fault_) device::fail_out_of_memory("there is no memory for the fault words: {}", driver_.memory_in_words());
  driver_.fill({fault_, 0}, std::byte{0}, kFaultBytes);
  device::profile_to_the_end();
  wait_at_exit(this, [this] { wait_until_idle(); });
}

Queue::~Queue() {
  do_not_wait_at_exit(this);
  if (process_is_ending()) return;
  driver_.finish();
  driver_.release(fault_);
}

// ---- commands, with the lock held ----

void Queue::run_one(const device::Launch& c) {
  const auto& program = static_cast<const Program&>(*c.program);
  const auto any_step = [&](const auto& is_it) {
    return std::any_of(program.steps.begin(), program.steps.end(), is_it);
  };
  const bool looks_at_no_fault = any_step([](const Step& step) { return step.is_library && step.writes_results; });
  bool is_any_odd = false;
  for (size_t i = 0; i < c.args.size(); ++i) is_any_odd |= is_odd(c, program, i);
  if ((c.writes_state && looks_at_no_fault) || is_any_odd) return run_beside(c, program);
  run_steps(c, program);
}

void Queue::run_steps(const device::Launch& c, const Program& program) {
  for (const Step& step : program.steps) {
    if (step.is_idle(c)) continue;
    driver_.launch(step, c, fault_);
    may_fault_ = may_fault_ || step.may_fault;
  }
}

template <typename What>
void Queue::run_timed(const What& c) {
  timed([&] { run_one(c); }, [&] { return device::span_of(device_, c); });
}

namespace {
bool takes_aligned_alone(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return step.is_library || step.is_text; });
}
}  // namespace

// Whether an argument begins where its vectors cannot.
bool Queue::is_odd(const device::Launch& c, const Program& program, size_t i) const {
  if (c.args[i].offset % limits_.alignment == 0) return false;
  return takes_aligned_alone(program) ||
         (i < program.alignments.size() && c.args[i].offset % program.alignments[i] != 0);
}

// A library looks at no fault and takes aligned memory alone, and so do vectors, but rows of something larger may begin
// anywhere: such a launch reads and writes elsewhere, and what it wrote is copied, into state if there is no fault.
void Queue::run_beside(const device::Launch& c, const Program& program) {
  device::Launch beside = c;
  beside.writes_state = false;
  const size_t results_end = c.args.size() - (program.scratch > 0 ? 1 : 0);
  const auto moves = [&](size_t i) { return is_odd(c, program, i) || (c.writes_state && i >= c.inputs); };
  for (size_t i = 0; i < results_end; ++i) {
    if (!moves(i)) continue;
    beside.args[i] = {{take_temporary(c.args[i].bytes), c.args[i].bytes}, 0, c.args[i].bytes};
    // A library writes them all; a kernel may write some of the bytes alone, and the others come back as they were.
    if (i < c.inputs || (is_odd(c, program, i) && !takes_aligned_alone(program)))
      copy(place_of(c.args[i]), place_of(beside.args[i]), c.args[i].bytes, false);
  }
  run_one(beside);
  for (size_t i = 0; i < results_end; ++i) {
    if (!moves(i)) continue;
    if (i >= c.inputs) copy(place_of(beside.args[i]), place_of(c.args[i]), c.args[i].bytes, c.writes_state);
    driver_.release_temporary(beside.args[i].buffer.handle);
  }
}

// What was let go of may be needed by commands that the device has not got.
uint64_t Queue::take_temporary(size_t bytes) {
  uint64_t taken = driver_.take_temporary(bytes);
  if (!taken && driver_.holds_back()) {
    finish();
    taken = driver_.take_temporary(bytes);
  }
  if (!taken) device::fail_out_of_memory("there are no {} bytes for a moment; {}", bytes, driver_.memory_in_words());
  return taken;
}

void Queue::run_one(const device::Copy& c) {
  if (c.to.bytes == 0) return;
  const bool overlaps = c.from.buffer.handle == c.to.buffer.handle && c.from.offset < c.to.offset + c.to.bytes &&
                        c.to.offset < c.from.offset + c.to.bytes;
  if (!overlaps) return copy(place_of(c.from), place_of(c.to), c.to.bytes, c.writes_state);
  const uint64_t between = take_temporary(c.to.bytes);
  copy(place_of(c.from), {between, 0}, c.to.bytes, false);
  copy({between, 0}, place_of(c.to), c.to.bytes, c.writes_state);
  driver_.release_temporary(between);  // when the copies are done
}

void Queue::copy(const Place& from, const Place& to, size_t bytes, bool writes_state) {
  if (writes_state) return copy_unless_fault(from, to, bytes);
  driver_.copy(from, to, bytes);
}

void Queue::copy_unless_fault(const Place& from, const Place& to, size_t bytes) {
  const size_t all = from.offset | to.offset | bytes;
  const uint32_t unit = limits_.vector >= 4 && all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
  const auto threads = std::min<uint32_t>(limits_.max_threads, 64);
  auto found = copies_.find(unit);
  if (found == copies_.end()) found = copies_.emplace(unit, compiler_.step(copy_kernel(unit, threads))).first;
  Step& step = found->second;
  step.blocks = {(bytes / unit + threads - 1) / threads, 1, 1};
  // Single bytes are counted from a word on, which is where every device can begin.
  const size_t from_skipped = unit == 1 ? from.offset % 4 : 0, to_skipped = unit == 1 ? to.offset % 4 : 0;
  device::Launch launch;
  launch.args.push_back({{from.handle}, from.offset - from_skipped, bytes + from_skipped});
  launch.args.push_back({{to.handle}, to.offset - to_skipped, bytes + to_skipped});
  launch.numbers = {bytes / unit, from_skipped, to_skipped};
  launch.writes_state = true;
  driver_.launch(step, launch, fault_);
}

void Queue::run_one(const device::Upload& c) {
  for (size_t at = 0; at < c.from.size();) {
    const size_t bytes = std::min(c.from.size() - at, Staging::kSlot);
    std::byte* staged = staging_.take(bytes);
    std::memcpy(staged, c.from.data() + at, bytes);
    driver_.upload(staged, {c.to.buffer.handle, c.to.offset + at}, bytes);
    at += bytes;
  }
}

void Queue::run_one(const device::Download& c) {
  if (!c.to.empty()) driver_.download(place_of(c.from), c.to.data(), c.to.size());
}

void Queue::run_one(const device::Fill& c) {
  if (c.to.bytes > 0) driver_.fill(place_of(c.to), c.value, c.to.bytes);
}

// How many commands it was, from the first one on: uploads of few bytes each, all of them at once.
size_t Queue::run_small_uploads(std::span<const device::Command> commands) {
  base::SmallVector<SmallUpload, SmallUpload::kMost> uploads;
  for (const device::Command& command : commands) {
    const auto* upload = std::get_if<device::Upload>(&command);
    if (!upload || upload->from.empty() || upload->from.size() > SmallUpload::kBytes ||
        uploads.size() == SmallUpload::kMost)
      break;
    const Place to = place_of(upload->to);
    const bool meets_another = std::any_of(uploads.begin(), uploads.end(), [&](const SmallUpload& one) {
      return one.to.handle == to.handle && one.to.offset < to.offset + upload->from.size() &&
             to.offset < one.to.offset + one.from.size();
    });
    if (meets_another) break;
    uploads.push_back({upload->from, to});
  }
  if (uploads.empty()) return 0;
  const auto timed_before = static_cast<std::ptrdiff_t>(timed_.size());
  bool is_done = false;
  timed(
      [&] {
        is_done = driver_.upload_small({uploads.data(), uploads.size()});
      },
      [&] {
        device::Span span = device::span_of(device_, std::get<device::Upload>(commands[0]));
        for (size_t i = 1; i < uploads.size(); ++i) span.bytes += uploads[i].from.size();
        return span;
      });
  if (is_done) return uploads.size();
  timed_.erase(timed_.begin() + timed_before, timed_.end());
  return 0;
}

void Queue::run(std::span<const device::Command> commands) {
  while (!commands.empty()) {
    if (const size_t done = run_small_uploads(commands)) {
      commands = commands.subspan(done);
      continue;
    }
    std::visit([&](const auto& c) { run_timed(c); }, commands[0]);
    commands = commands.subspan(1);
  }
}

// ---- tickets ----

void Queue::enqueue(std::span<const device::Command> commands) {
  std::lock_guard lock(mutex_);
  waiting_.add(commands);
}

device::Ticket Queue::submit(std::span<const device::Command> commands, const std::function<void()>& last) {
  std::lock_guard lock(mutex_);
  const device::Batch before = std::exchange(waiting_, {});
  run(before.commands());
  run(commands);
  if (last) last();
  return give_ticket();
}

// With the lock held.
device::Ticket Queue::give_ticket() {
  if (in_flight_.size() == kMostInFlight) retire_oldest();
  InFlight made{submitted_ + 1};
  made.reads_fault = std::exchange(may_fault_, false);
  if (made.reads_fault) driver_.download({fault_, 0}, fault_slot(made.serial), kFaultBytes);
  made.done = driver_.mark();
  in_flight_.push_back(std::move(made));
  return {++submitted_};
}

std::byte* Queue::fault_slot(uint64_t serial) const {
  return fault_slots_.get() + serial % kMostInFlight * kFaultBytes;
}

// With the lock held: many of the oldest at once, so that the device does not run dry.
void Queue::retire_oldest() {
  const InFlight& last = in_flight_[kMostInFlight / 2];
  driver_.begin(*last.done);
  driver_.wait(*last.done);
  retire(last.serial);
}

// With the lock held, when everything up to a ticket has run.
void Queue::retire(uint64_t serial) {
  while (!in_flight_.empty() && in_flight_.front().serial <= serial) {
    const InFlight& one = in_flight_.front();
    if (one.reads_fault) {
      if (std::exception_ptr error = error_of_fault(fault_slot(one.serial))) faults_.set(one.serial, std::move(error));
    }
    in_flight_.pop_front();
  }
  if (known_.load(std::memory_order_relaxed) < serial) known_.store(serial, std::memory_order_release);
  std::erase_if(timed_, [&](Timed& one) {
    if (one.serial > serial) return false;
    const Times times = driver_.times_of(*one.run);
    one.span.begin_ns = times.begin_ns;
    one.span.end_ns = times.end_ns;
    if (times.end_ns != 0) device::add(std::move(one.span));
    return true;
  });
}

void Queue::wait(device::Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const InFlight& one) { return one.serial == ticket.serial; });
  if (found != in_flight_.end()) {
    const EventRef done = found->done;  // another thread may retire it meanwhile
    driver_.begin(*done);
    lock.unlock();
    driver_.wait(*done);
    lock.lock();
    retire(ticket.serial);
  }
  // Whoever is told may go on: what is submitted from now on finds no fault.
  if (faults_.has_failed(ticket.serial) && !faults_.is_known_to_fail(ticket.serial))
    driver_.fill({fault_, 0}, std::byte{0}, kFaultBytes);
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
  finish();
}

// With the lock held; what was started since the last ticket belongs to the next one.
void Queue::finish() {
  if (driver_.finish()) retire(submitted_);
}

// ---- memory ----

void Queue::release(uint64_t handle) {
  bool needs_it;
  {
    std::lock_guard lock(mutex_);
    needs_it = !waiting_.empty();
  }
  try {
    if (needs_it) submit();
  } catch (...) {
    driver_.release(handle);
    throw;
  }
  driver_.release(handle);
}

}  // namespace tenon::backends::gpu
