// One plan per call and device, started at once. One lock around everything: recording is free of it, and so is the
// running of what is evaluated.

#include "tenon/exec/eval.h"

#include <algorithm>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/exec/overwrite.h"
#include "tenon/exec/plan_cache.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"

namespace tenon::exec {
namespace {

using device::Device;
using device::Storage;
using device::StorageRef;
using device::Ticket;
using ir::Node;
using ir::Op;
using ir::Value;

struct State {
  std::recursive_mutex mutex;  // reading a strided value evaluates a copy of it
  Stats stats;
  ProgramCache programs;
  PlanCache plans;
  uint64_t runs = 0;
};

State& state() {
  static auto* all = new State;  // never destroyed: tensors may outlive static destructors
  return *all;
}

size_t bytes_of(const ir::Type& type) { return static_cast<size_t>(ir::count(type.shape)) * size_of(type.dtype); }

// Bytes that fit are sent along, so that nobody waits; more are waited for.
Ticket start_upload(std::span<const std::byte> bytes, Storage& storage) {
  constexpr size_t kSentAlong = 1 << 20;
  Device& target = storage.device();
  device::Upload upload{bytes, {storage.buffer(), 0, storage.version()}, {}};
  const bool waits = bytes.size() > kSentAlong;
  if (!waits) {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    upload.from = *copy;
    upload.owner = std::move(copy);
  }
  const device::Command command = std::move(upload);
  target.enqueue({&command, 1});
  const Ticket ticket = target.submit(waits);
  if (waits) target.wait(ticket);
  state().stats.bytes_uploaded += bytes.size();
  return ticket;
}

StorageRef upload_bytes(std::span<const std::byte> bytes, Device& target) {
  auto storage = std::make_shared<Storage>(target, bytes.size());
  storage->set_ready(start_upload(bytes, *storage), false);
  return storage;
}

void run(const Executable& executable, const Graph& graph, Device& target, bool caller_waits) {
  State& all = state();
  const Binding memory = bind(executable, graph, target);
  const uint64_t run = ++all.runs;
  if (memory.literals) start_upload(literal_block(executable, graph), *memory.literals);
  constexpr size_t kChunk = 4096;  // a plan of a million launches needs no million commands at once
  Ticket ticket;
  for (size_t begin = 0; begin == 0 || begin < executable.launches.size(); begin += kChunk) {
    const size_t end = std::min(begin + kChunk, executable.launches.size());
    target.enqueue(commands_of(executable, memory, run, begin, end));
    ticket = target.submit(caller_waits);
  }
  if (target.is_done(ticket)) target.wait(ticket);  // a fault is raised here, before anything counts as evaluated
  for (size_t i = 0; i < executable.results.size(); ++i) {
    const uint32_t taken = executable.overwritten[i];
    if (taken != plan::Plan::kNone) graph.node_at(executable.leaves[taken].place)->set_data(0, nullptr);
  }
  for (size_t i = 0; i < executable.results.size(); ++i) {
    const Place place = executable.results[i].place;
    memory.results[i]->set_version(version_of_result(executable, i, run));
    memory.results[i]->set_ready(ticket, executable.overwritten[i] != plan::Plan::kNone);
    graph.node_at(place)->set_data(place.result, memory.results[i]);
  }
  ++all.stats.evaluations;
  ++all.stats.submits;
  all.stats.launches += executable.launches.size();
}

void eval_on_one_device(std::vector<Value> values, bool caller_waits) {
  std::erase_if(values, [](const Value& value) { return is_evaluated(value); });
  if (values.empty()) return;
  Device& target = device::open(values[0].device());
  std::vector<ir::NodeRef> order = ir::order_of_evaluation(values);
  const auto free_states = overwritable(values, order);
  const Graph graph(std::move(order), std::move(values), free_states);
  run(*state().plans.get(graph, target, state().programs), graph, target, caller_waits);
}

// Values that cross devices, in order: each is computed where it comes from and moved before anything that reads it.
void bring_over(std::span<const Value> values) {
  const auto order = ir::order_of_evaluation(values);
  for (const ir::NodeRef& node : order) {
    if (node->op() != Op::copy || node->evaluated()) continue;
    const std::vector<std::byte> bytes = read(node->input(0));
    node->set_data(0, upload_bytes(bytes, device::open(node->device())));
  }
}

}  // namespace

bool is_evaluated(const Value& value) { return plan::base_of(value).node->evaluated(); }

void eval(std::span<const Value> values, bool caller_waits) {
  std::lock_guard lock(state().mutex);
  bring_over(values);
  std::vector<Value> waiting(values.begin(), values.end());
  while (!waiting.empty()) {
    const ir::DeviceId here = waiting[0].device();
    const auto elsewhere =
        std::stable_partition(waiting.begin(), waiting.end(), [&](const Value& v) { return v.device() == here; });
    std::vector<Value> batch(waiting.begin(), elsewhere);
    waiting.erase(waiting.begin(), elsewhere);
    eval_on_one_device(std::move(batch), caller_waits);
  }
}

std::vector<std::byte> read(const Value& value) {
  std::vector<std::byte> bytes(bytes_of(value.type()));
  StorageRef storage;
  uint64_t version = 0;
  {
    std::lock_guard lock(state().mutex);
    eval({&value, 1}, true);
    plan::Seen seen = plan::look_through(value);
    if (!seen.map.is_contiguous()) {
      const Value packed = ir::contiguous(value);
      eval({&packed, 1}, true);
      seen = plan::look_through(packed);
    }
    storage = device::storage_of(seen.base.node->data(seen.base.index));
    version = storage->version();
    state().stats.bytes_downloaded += bytes.size();
  }
  storage->wait();  // outside of the lock: others may go on
  const device::Command command = device::Download{{storage->buffer(), 0, version}, bytes};
  Device& source = storage->device();
  std::unique_lock lock(state().mutex);
  source.enqueue({&command, 1});
  const Ticket ticket = source.submit(true);
  lock.unlock();
  source.wait(ticket);
  return bytes;
}

void wait(std::span<const Value> values) {
  eval(values, true);
  for (const Value& value : values) {
    StorageRef storage;
    {
      std::lock_guard lock(state().mutex);
      const Value base = plan::base_of(value);
      storage = device::storage_of(base.node->data(base.index));
    }
    storage->wait();
  }
}

Value upload(std::span<const std::byte> bytes, const ir::Type& type, ir::DeviceId device) {
  std::lock_guard lock(state().mutex);
  const StorageRef storage = upload_bytes(bytes, device::open(device));
  Value leaf = ir::buffer({storage->id(), 0, device, type});
  leaf.node->set_data(0, storage);
  return leaf;
}

Value settle(const Value& value) {
  std::lock_guard lock(state().mutex);
  if (value.needs_grad() || value.node->op() == Op::buffer) return value;
  const Value base = plan::base_of(value);
  if (!base.node->evaluated()) return value;
  Value leaf = base;
  if (base.node->op() != Op::buffer) {
    const ir::DataRef& data = base.node->data(base.index);
    // The storage may have held earlier versions, overwritten in place: a fresh version keeps the leaf distinct.
    static uint64_t next_version = 1;
    leaf = ir::buffer({device::storage_of(data)->id(), next_version++, base.device(), base.type()});
    leaf.node->set_data(0, data);
  }
  std::vector<ir::Move> moves;
  for (Value v = value; !(v == base);) {
    if (ir::is_movement(v.node->op())) moves.push_back(ir::move_of(v.node->op(), v.node->attrs()));
    Value next = v.node->input(v.node->op() == Op::custom ? v.index : 0);
    v = std::move(next);
  }
  for (size_t i = moves.size(); i-- > 0;) leaf = ir::move(leaf, moves[i]);
  return leaf;
}

Stats stats() {
  std::lock_guard lock(state().mutex);
  Stats stats = state().stats;
  stats.programs_compiled = state().programs.compiled();
  stats.plan_hits = state().plans.hits();
  stats.plan_misses = state().plans.misses();
  return stats;
}

}  // namespace tenon::exec
