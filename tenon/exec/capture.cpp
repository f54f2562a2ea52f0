// A capture is an executable bound once: the plan cache's plan, private memory, and the device's recording of both.

#include "tenon/exec/capture.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/log.h"
#include "tenon/ir/build.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {
namespace {

using device::StorageRef;
using ir::Node;
using ir::Op;
using ir::Value;

// Stores of everything may be written right where the state lies.
base::FlatSet<const Node*> states_written_whole(const std::vector<Capture::State>& states) {
  base::FlatSet<const Node*> homes;
  for (const Capture::State& state : states) {
    const Node& next = *state.next.node;
    if (next.op() == Op::store && next.input(0) == state.home) homes.insert(state.home.node.get());
  }
  return homes;
}

// All that fits into `to`.
device::Copy copy_of(const device::Storage& from, const device::Storage& to, bool writes_state) {
  return {{from.buffer(), 0, to.bytes()}, {to.buffer(), 0, to.bytes(), to.version()}, writes_state};
}

}  // namespace

Capture::Capture(const std::vector<Value>& outputs, const std::vector<State>& states)
    : device_id_((outputs.empty() ? states.at(0).next : outputs[0]).device()), device_(device::open(device_id_)) {
  Engine& all = engine();
  std::lock_guard lock(all.mutex);
  std::vector<Value> wanted;
  const auto want = [&](const Value& value) {
    if (!ir::base_of(value).node->evaluated() && std::find(wanted.begin(), wanted.end(), value) == wanted.end())
      wanted.push_back(value);
  };
  for (const Value& output : outputs) want(output);
  for (const State& state : states) want(state.next);

  std::vector<device::Command> commands;
  std::unordered_map<const Node*, std::vector<StorageRef>> made;  // by the node of a result
  if (!wanted.empty()) {
    const auto homes = states_written_whole(states);
    std::vector<ir::NodeRef> order = ir::order_of_evaluation(wanted);
    const Graph graph(std::move(order), std::move(wanted), homes);
    const auto executable = all.plans.get(graph, device_, all.programs);
    const Binding binding = bind(*executable, graph, device_);
    if (binding.literals) start_upload(literal_block(*executable, graph), *binding.literals);
    taken_apart_ = executable->taken_apart;
    const uint64_t run = ++all.runs;
    commands = commands_of(*executable, graph, binding, run, 0, executable->launches.size(), true);
    for (size_t i = 0; i < executable->results.size(); ++i) {
      binding.results[i]->set_version(version_of_result(*executable, i, run));
      const Place place = executable->results[i].place;
      auto& results = made[graph.node_at(place).get()];
      results.resize(std::max<size_t>(results.size(), place.result + 1));
      results[place.result] = binding.results[i];
    }
    memory_.insert(memory_.end(), binding.leaves.begin(), binding.leaves.end());
    memory_.insert(memory_.end(), binding.results.begin(), binding.results.end());
    memory_.insert(memory_.end(), binding.slabs.begin(), binding.slabs.end());
    if (binding.literals) memory_.push_back(binding.literals);
  }
  const auto memory_of = [&](const Value& base) {
    const auto found = made.find(base.node.get());
    return found != made.end() ? found->second[base.index] : device::storage_of(base.node->data(base.index));
  };
  for (const State& state : states) {
    const ir::Seen seen = ir::look_through(state.next);
    const StorageRef from = memory_of(seen.base), to = device::storage_of(state.home.node->data(state.home.index));
    if (from == to) continue;
    if (!seen.map.is_contiguous()) base::fail("compile", "a state is replaced by a view of another tensor; clone() it");
    commands.push_back(copy_of(*from, *to, true));
    memory_.push_back(from);
    memory_.push_back(to);
  }
  for (const Value& output : outputs) {
    const Value base = ir::base_of(output);
    Output made_output{memory_of(base), base.type(), ir::moves_from(base, output)};
    memory_.push_back(made_output.memory);
    outputs_.push_back(std::move(made_output));
  }
  launches_ = commands.size();
  recording_ = device_.record(commands);
}

Capture::~Capture() = default;

device::Ticket Capture::replay(std::span<const device::Command> before, bool caller_waits) {
  Engine& all = engine();
  std::lock_guard lock(all.mutex);
  const device::HostSpan span(device::HostWork::replay);
  if (!taken_apart_.empty()) device::add_note("taken apart", taken_apart_);
  const uint64_t start = device::now_ns();
  for (const device::Command& command : before) {
    if (const auto* upload = std::get_if<device::Upload>(&command)) all.stats.bytes_uploaded += upload->from.size();
  }
  const device::Ticket ticket = recording_->replay(before, caller_waits);
  // A device that runs it right here, in its own time, costs the host next to nothing.
  if (!device_.is_done(ticket)) all.stats.host_ns += device::now_ns() - start;
  ++all.stats.evaluations;
  ++all.evaluations;
  ++all.stats.replays;
  ++all.stats.submits;
  all.stats.launches += launches_;
  if (logs_steps()) log_step(stats());
  return ticket;
}

void refill(const Value& leaf, std::span<const std::byte> bytes) {
  std::lock_guard lock(engine().mutex);
  const StorageRef memory = device::storage_of(leaf.node->data(leaf.index));
  memory->set_ready(start_upload(bytes, *memory), false);
}

void copy_into(const StorageRef& to, const StorageRef& from) {
  std::lock_guard lock(engine().mutex);
  const device::Command copy = copy_of(*from, *to, true);
  to->set_ready(to->device().send({&copy, 1}, false), false);
}

StorageRef move_to_own_memory(const Value& leaf) {
  std::lock_guard lock(engine().mutex);
  const StorageRef from = device::storage_of(leaf.node->data(leaf.index));
  const auto own = std::make_shared<device::Storage>(from->device(), from->bytes());
  copy_into(own, from);
  leaf.node->set_data(leaf.index, own);
  return own;
}

Value leaf_of(const StorageRef& memory, const ir::Type& type, ir::DeviceId device) {
  Value leaf = ir::buffer({memory->id(), device::next_version(), device, type});
  leaf.node->set_data(0, memory);
  return leaf;
}

StorageRef move_holders_to_own_memory(const StorageRef& memory) {
  std::lock_guard lock(engine().mutex);
  const StorageRef others = memory;  // the argument may follow the address
  StorageRef taken = others->give_address_away();
  const device::Command copy = copy_of(*taken, *others, false);
  others->set_ready(others->device().send({&copy, 1}, false), false);
  return taken;
}

}  // namespace tenon::exec
