// One plan per call and device, started at once. One lock around everything: recording is free of it, and so is the
// running of what is evaluated.

#include "tenon/exec/eval.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/base/nan_check.h"
#include "tenon/base/turn.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/exec/beside.h"
#include "tenon/exec/capture.h"
#include "tenon/exec/check_nan.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/log.h"
#include "tenon/exec/overwrite.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {

Engine& engine() {
  static auto* all = new Engine;  // never destroyed: tensors may outlive static destructors
  return *all;
}

device::Ticket start_upload(std::span<const std::byte> bytes, device::Storage& storage) {
  const device::Command upload = device::Upload{bytes, {storage.buffer(), 0, bytes.size(), storage.version()}};
  engine().stats.bytes_uploaded += bytes.size();
  return storage.device().send({&upload, 1}, false);
}

namespace {

using device::Device;
using device::Storage;
using device::StorageRef;
using device::Ticket;
using ir::bytes_of;
using ir::Node;
using ir::Op;
using ir::Value;

StorageRef upload_bytes(std::span<const std::byte> bytes, Device& target) {
  auto storage = std::make_shared<Storage>(target, bytes.size());
  storage->set_ready(start_upload(bytes, *storage), false);
  return storage;
}

using Clock = std::chrono::steady_clock;

// By result: the old value of a state that is not written in its place, because somebody still reads it there.
std::vector<StorageRef> old_values(const Executable& executable, const Graph& graph, const Binding& memory) {
  std::vector<StorageRef> old(executable.results.size());
  const auto is_taken = [&](const StorageRef& storage) {
    return std::ranges::find(memory.results, storage) != memory.results.end();
  };
  for (size_t i = 0; i < old.size(); ++i) {
    if (executable.overwritten[i] != plan::Plan::kNone) continue;
    const ir::NodeRef& node = graph.node_at(executable.results[i].place);
    if (node->op() != Op::store) continue;
    Value before = node->input(0);
    while (before.node->op() == Op::store && !before.node->evaluated()) before = Value(before.node->input(0));
    if (!before.node->evaluated()) continue;
    StorageRef storage = device::storage_of(before.node->data(before.index));
    if (!is_taken(storage)) old[i] = std::move(storage);
  }
  return old;
}

void run(const Executable& executable, const Graph& graph, Device& target, bool caller_waits, Clock::time_point start) {
  Engine& all = engine();
  if (!executable.taken_apart.empty()) device::add_note("taken apart", executable.taken_apart);
  const Binding memory = bind(executable, graph, target);
  for (const StorageRef& leaf : memory.leaves) leaf->require_computed();
  const uint64_t run = ++all.runs;
  if (memory.literals) start_upload(literal_block(executable, graph), *memory.literals);
  constexpr size_t kChunk = 4096;  // a plan of a million launches needs no million commands at once
  Ticket ticket;
  for (size_t begin = 0; begin == 0 || begin < executable.launches.size(); begin += kChunk) {
    const size_t end = std::min(begin + kChunk, executable.launches.size());
    const std::vector<device::Command> commands = commands_of(executable, graph, memory, run, begin, end, false);
    if (begin == 0) all.stats.host_ns += static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count());
    ticket = target.send(commands, caller_waits);
  }
  const bool is_done = target.is_done(ticket);
  if (is_done) target.wait(ticket);  // a fault is raised here, before anything counts as evaluated
  const std::vector<StorageRef> old = is_done ? std::vector<StorageRef>{} : old_values(executable, graph, memory);
  for (size_t i = 0; i < executable.results.size(); ++i) {
    const uint32_t taken = executable.overwritten[i];
    if (taken != plan::Plan::kNone) graph.node_at(executable.leaves[taken].place)->set_data(0, nullptr);
  }
  for (size_t i = 0; i < executable.results.size(); ++i) {
    const Place place = executable.results[i].place;
    memory.results[i]->set_version(version_of_result(executable, i, run));
    memory.results[i]->set_ready(ticket, executable.overwritten[i] != plan::Plan::kNone);
    if (!is_done && old[i]) {
      memory.results[i]->hold_as(old[i]->holder());
      memory.results[i]->keep_before(old[i]);
    }
    graph.node_at(place)->set_data(place.result, memory.results[i]);
  }
  ++all.stats.evaluations;
  ++all.evaluations;
  ++all.stats.submits;
  all.stats.launches += executable.launches.size();
}

// Writes that cannot fail are carried out before what may: a bad index that somebody reads by takes nothing back that
// was written before. What is asked for together fails together.
std::vector<Value> sound_writes(const std::vector<Value>& asked, const std::vector<ir::NodeRef>& order,
                                std::span<const Value> pending) {
  std::vector<Value> sound;
  if (pending.empty() || std::none_of(order.begin(), order.end(),
                                      [](const ir::NodeRef& node) { return !node->evaluated() && node->may_fault(); }))
    return sound;
  base::FlatSet<const Node*> needed;
  for (const ir::NodeRef& node : order) needed.insert(node.get());
  const auto is_waiting_store = [](const Value& value) {
    return value.node->op() == Op::store && !value.node->evaluated();
  };
  // What reads a tensor that was written as a whole reads what was written.
  const auto is_read = [&](const Node& store) {
    return needed.contains(&store) || needed.contains(ir::base_node(store.input(1)));
  };
  for (const Value& written : pending) {
    if (written.node->waits_alone() || written.device() != order.back()->device()) continue;
    Value last;
    bool is_any_read = false;
    for (Value at = written; is_waiting_store(at); at = Value(at.node->input(0))) {
      is_any_read = is_any_read || is_read(*at.node);
      if (!last && !at.node->may_fault()) last = at;
    }
    if (!last || !is_any_read || std::ranges::find(asked, last) != asked.end()) continue;
    const std::vector<ir::NodeRef> work = ir::order_of_evaluation({&last, 1});
    if (std::none_of(work.begin(), work.end(), [](const ir::NodeRef& node) { return is_waiting_copy(*node); }))
      sound.push_back(last);
  }
  return sound;
}

// `order` is that of the values' evaluation, or empty: then it is found here.
void eval_together(std::vector<Value> values, ir::EvaluationOrder order, bool caller_waits,
                   std::span<const Value> pending, const Unread& unread, std::vector<Value>& joined) {
  const bool is_given = !order.nodes().empty();
  if (!is_given) std::erase_if(values, [](const Value& value) { return is_evaluated(value); });
  if (values.empty()) return;
  const device::HostSpan span(device::HostWork::run);
  const Clock::time_point start = Clock::now();
  Device& target = device::open(values[0].device());
  if (!is_given) order.add(values);
  if (const std::vector<Value> sound = sound_writes(values, order.nodes(), pending); !sound.empty()) {
    eval_together(sound, {}, false, {}, {}, joined);
    order = ir::EvaluationOrder(values);
  }
  const size_t asked = values.size();
  const auto added_since = [&](size_t count) { return std::span<const Value>(values).subspan(count); };
  if (add_pending(values, order.nodes(), pending)) order.add(added_since(asked));
  const size_t before = values.size();
  const size_t carried = add_unread(values, order.nodes(), unread), carried_end = values.size();
  if (carried_end > before) order.add(added_since(before));
  joined.assign(values.begin() + static_cast<std::ptrdiff_t>(asked), values.end());
  keep_recomputed(values, order.nodes());
  const auto free_states = overwritable(values, order.nodes());
  const Graph graph(order.take(), std::move(values), free_states);
  if (base::checks_nan()) check_for_nan(graph, target, engine().programs);
  const auto executable = engine().plans.get(graph, target, engine().programs);
  run(*executable, graph, target, caller_waits, start);
  for (size_t i = carried_end - carried; i < carried_end; ++i) {
    const Node& node = *graph.outputs()[i].node;
    for (size_t result = 0; result < node.results(); ++result) device::storage_of(node.data(result))->note_carried();
  }
  for (const ir::NodeRef& node : graph.nodes()) {
    if (!node->evaluated()) node->note_computed();
  }
  if (logs_steps()) log_step(stats());
}

// Where that fails for the sake of those that joined, the others are computed without them; what went wrong is told
// when somebody asks for one of them.
void eval_on_one_device(const std::vector<Value>& values, ir::EvaluationOrder order, bool caller_waits,
                        std::span<const Value> pending, const Unread& unread, std::vector<Value>* joined) {
  std::vector<Value> others;
  try {
    eval_together(values, std::move(order), caller_waits, pending, unread, others);
  } catch (const Error&) {
    if (others.empty()) throw;
    const size_t before = joined ? joined->size() : 0;
    for (const Value& other : others) {
      if (joined && other.node->op() == Op::store) joined->push_back(other);
      other.node->set_waits_alone();
    }
    eval_together(values, {}, caller_waits, {}, {}, others);
    if (joined) joined->resize(before);
  }
}

// Values that cross devices, in order: each is computed where it comes from and moved before anything that reads it.
// The lock is free while one waits for another device.
void bring_over(const std::vector<ir::NodeRef>& order) {
  for (const ir::NodeRef& node : order) {
    if (node->op() != Op::copy || node->evaluated()) continue;
    const std::vector<std::byte> bytes = read(node->input(0));
    std::lock_guard lock(engine().mutex);
    if (!node->evaluated()) node->set_data(0, upload_bytes(bytes, device::open(node->device())));
  }
}

}  // namespace

bool is_evaluated(const Value& value) { return ir::base_of(value).node->evaluated(); }

ir::DataRef memory_of(const Value& value) {
  std::lock_guard lock(engine().mutex);
  const Value& base = ir::base_of(value);
  return base.node->evaluated() ? base.node->data(base.index) : nullptr;
}

void eval(std::span<const Value> values, bool caller_waits, std::span<const Value> pending, std::vector<Value>* joined,
          const Unread& unread) {
  std::unique_lock lock(engine().mutex);
  std::vector<Value> waiting;
  for (const Value& value : values) {
    if (!is_evaluated(value)) waiting.push_back(value);
  }
  if (waiting.empty()) return;
  ir::EvaluationOrder order(waiting);
  if (std::ranges::any_of(order.nodes(), [](const ir::NodeRef& node) { return is_waiting_copy(*node); })) {
    lock.unlock();
    bring_over(order.nodes());
    lock.lock();
    order = {};
  }
  while (!waiting.empty()) {
    const ir::DeviceId here = waiting[0].device();
    const auto elsewhere =
        std::stable_partition(waiting.begin(), waiting.end(), [&](const Value& v) { return v.device() == here; });
    std::vector<Value> batch(waiting.begin(), elsewhere);
    waiting.erase(waiting.begin(), elsewhere);
    if (!waiting.empty()) order = {};  // of values on other devices, too
    eval_on_one_device(batch, std::exchange(order, {}), caller_waits, pending, unread, joined);
  }
}

void wait_for(const Value& value) {
  const device::HostSpan span(device::HostWork::wait);
  StorageRef storage;
  {
    std::lock_guard lock(engine().mutex);
    const Value base = ir::base_of(value);
    storage = device::storage_of(base.node->data(base.index));
  }
  if (storage->is_there()) return storage->wait();  // which throws what went wrong
  const base::TurnPaused others_run(base::Turns::Wait::device);
  storage->wait();
}

void wait(std::span<const Value> values) {
  eval(values, true);
  for (const Value& value : values) wait_for(value);
}

void synchronize(ir::DeviceId device) {
  const device::HostSpan span(device::HostWork::wait);
  Device& target = device::open(device);
  Ticket ticket;
  {
    std::lock_guard lock(engine().mutex);
    ticket = target.submit(true);
  }
  const base::TurnPaused others_run(base::Turns::Wait::device);
  target.wait_interruptibly(ticket);
}

void synchronize() {
  const device::HostSpan span(device::HostWork::wait);
  std::exception_ptr first;
  for (Device* target : device::opened()) {
    if (target->is_lost()) continue;  // nothing of it is under way
    try {
      std::unique_lock lock(engine().mutex);
      const Ticket ticket = target->submit(true);
      lock.unlock();
      const base::TurnPaused others_run(base::Turns::Wait::device);
      target->wait_interruptibly(ticket);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

Value upload(std::span<const std::byte> bytes, const ir::Type& type, ir::DeviceId device) {
  std::lock_guard lock(engine().mutex);
  const StorageRef storage = upload_bytes(bytes, device::open(device));
  Value leaf = ir::buffer({storage->id(), 0, device, type});
  leaf.node->set_data(0, storage);
  return leaf;
}

Value upload_or_adopt(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ir::Type& type,
                      ir::DeviceId device) {
  Device& target = device::open(device);
  // The caller has promised that the memory may be written; that it comes as const keeps readers of files honest.
  const std::span<std::byte> writable(const_cast<std::byte*>(bytes.data()), bytes.size());
  const auto adopted = bytes.empty() ? std::nullopt : target.adopt(writable, size_of(type.dtype));
  if (!adopted) return upload(bytes, type, device);
  const auto storage = std::make_shared<Storage>(target, *adopted, std::move(owner));
  Value leaf = ir::buffer({storage->id(), 0, device, type});
  leaf.node->set_data(0, storage);
  return leaf;
}

Value settle(const Value& value) {
  std::lock_guard lock(engine().mutex);
  if (value.needs_grad() || value.node->op() == Op::buffer) return value;
  const ir::Seen seen = ir::look_through(value);
  const Value& base = seen.base;
  if (!base.node->evaluated()) return value;
  // The storage may have held earlier versions, overwritten in place: a fresh version keeps the leaf distinct.
  const StorageRef memory = device::storage_of(base.node->data(base.index));
  // All of it in another shape is a leaf of that shape: it can be written in place.
  if (seen.map.is_contiguous() && ir::count(base.shape()) == ir::count(value.shape()))
    return leaf_of(memory, value.type(), value.device());
  Value leaf = base.node->op() == Op::buffer ? base : leaf_of(memory, base.type(), base.device());
  for (const ir::Move& move : ir::moves_from(base, value)) leaf = ir::move(leaf, move);
  return leaf;
}

void write_number(double value, DType dtype, std::byte* to) {
  dispatch(dtype, [&]<typename T>() {
    const T number = static_cast<T>(value);
    std::memcpy(to, &number, sizeof(T));
  });
}

uint64_t evaluations() { return engine().evaluations.load(std::memory_order_relaxed); }

Stats stats() {
  Engine& all = engine();
  std::lock_guard lock(all.mutex);
  Stats stats = all.stats;
  stats.programs_compiled = all.programs.compiled();
  stats.programs_loaded = all.programs.loaded();
  stats.compile_ns = all.programs.compile_ns();
  stats.plan_hits = all.plans.hits();
  stats.plan_misses = all.plans.misses();
  stats.plan_ns = all.plans.build_ns() - stats.compile_ns;
  for (const Device* one : device::opened()) {
    const device::Pool::Stats pool = one->pool().stats();
    stats.pool_hits += pool.hits;
    stats.device_allocations += pool.hits + pool.misses;
  }
  return stats;
}

}  // namespace tenon::exec
