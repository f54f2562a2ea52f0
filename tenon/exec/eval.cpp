// One plan per call and device, run at once. One lock around everything: recording is free of it, evaluating is not.

#include "tenon/exec/eval.h"

#include <algorithm>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/codegen/lower.h"
#include "tenon/device/registry.h"
#include "tenon/exec/overwrite.h"
#include "tenon/exec/program_cache.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tenon/plan/plan.h"

namespace tenon::exec {
namespace {

using device::Arg;
using device::Device;
using device::Storage;
using device::StorageRef;
using ir::Node;
using ir::Op;
using ir::Value;

struct State {
  std::recursive_mutex mutex;  // reading a strided value evaluates a copy of it
  Stats stats;
  ProgramCache programs;
};

State& state() {
  static auto* all = new State;  // never destroyed: tensors may outlive static destructors
  return *all;
}

size_t bytes_of(const ir::Type& type) { return static_cast<size_t>(ir::count(type.shape)) * size_of(type.dtype); }

device::Kernel lowered(const plan::Kernel& kernel) {
  if (const auto* group = std::get_if<plan::Group>(&kernel)) return codegen::lower(*group);
  return std::get<ir::Call>(kernel);
}

void run(const plan::Plan& plan, Device& target) {
  std::vector<StorageRef> leaves, results;
  for (const Value& leaf : plan.leaves) leaves.push_back(device::storage_of(leaf.node->data(leaf.index)));
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const uint32_t taken = plan.overwritten[i];
    results.push_back(taken != plan::Plan::kNone ? leaves[taken]
                                                 : std::make_shared<Storage>(target, bytes_of(plan.results[i].type())));
  }
  const auto arena = plan.arena_bytes ? std::make_shared<Storage>(target, plan.arena_bytes) : nullptr;
  std::vector<device::ProgramRef> programs;
  for (const plan::Kernel& kernel : plan.kernels) programs.push_back(state().programs.get(target, lowered(kernel)));

  const auto arg_of = [&](uint32_t id) -> Arg {
    const plan::Slot& slot = plan.slots[id];
    switch (slot.place) {
      case plan::Slot::Place::leaf: return {leaves[slot.index]->buffer(), 0};
      case plan::Slot::Place::result: return {results[slot.index]->buffer(), slot.offset};
      default: return {arena->buffer(), slot.offset};
    }
  };
  constexpr size_t kChunk = 4096;  // a plan of a million launches needs no million commands at once
  std::vector<device::Command> commands;
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    device::Launch launch{programs[plan.launches[i].kernel], {}};
    for (uint32_t slot : plan.launches[i].args) launch.args.push_back(arg_of(slot));
    commands.push_back(std::move(launch));
    if (commands.size() < kChunk && i + 1 < plan.launches.size()) continue;
    target.enqueue(commands);
    commands.clear();
  }
  target.wait(target.submit());

  for (size_t i = 0; i < plan.results.size(); ++i) {
    if (plan.overwritten[i] != plan::Plan::kNone) plan.leaves[plan.overwritten[i]].node->set_data(0, nullptr);
  }
  for (size_t i = 0; i < plan.results.size(); ++i) plan.results[i].node->set_data(plan.results[i].index, results[i]);
  State& all = state();
  ++all.stats.evaluations;
  ++all.stats.submits;
  all.stats.launches += plan.launches.size();
}

StorageRef upload_bytes(std::span<const std::byte> bytes, Device& target) {
  auto storage = std::make_shared<Storage>(target, bytes.size());
  const device::Command command = device::Upload{bytes, {storage->buffer(), 0}};
  target.enqueue({&command, 1});
  target.wait(target.submit());
  state().stats.bytes_uploaded += bytes.size();
  return storage;
}

void eval_on_one_device(std::vector<Value> values) {
  std::erase_if(values, [](const Value& value) { return is_evaluated(value); });
  if (values.empty()) return;
  Device& target = device::open(values[0].device());
  const auto free_states = overwritable(values);
  plan::Request request{std::move(values), target.limits(),
                        [&](const Node& leaf) { return free_states.contains(&leaf); }};
  run(plan::make_plan(request), target);
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

void eval(std::span<const Value> values) {
  std::lock_guard lock(state().mutex);
  bring_over(values);
  std::vector<Value> waiting(values.begin(), values.end());
  while (!waiting.empty()) {
    const ir::DeviceId here = waiting[0].device();
    const auto elsewhere =
        std::stable_partition(waiting.begin(), waiting.end(), [&](const Value& v) { return v.device() == here; });
    std::vector<Value> batch(waiting.begin(), elsewhere);
    waiting.erase(waiting.begin(), elsewhere);
    eval_on_one_device(std::move(batch));
  }
}

std::vector<std::byte> read(const Value& value) {
  std::lock_guard lock(state().mutex);
  eval({&value, 1});
  plan::Seen seen = plan::look_through(value);
  if (!seen.map.is_contiguous()) {
    const Value packed = ir::contiguous(value);
    eval({&packed, 1});
    seen = plan::look_through(packed);
  }
  std::vector<std::byte> bytes(bytes_of(value.type()));
  const StorageRef storage = device::storage_of(seen.base.node->data(seen.base.index));
  const device::Command command = device::Download{{storage->buffer(), 0}, bytes};
  Device& source = storage->device();
  source.enqueue({&command, 1});
  source.wait(source.submit());
  state().stats.bytes_downloaded += bytes.size();
  return bytes;
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
  return stats;
}

}  // namespace tenon::exec
