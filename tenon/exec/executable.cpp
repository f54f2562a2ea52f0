// From a graph to launches over slots, and from slots to buffers.

#include "tenon/exec/executable.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "tenon/base/half.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/tuning.h"
#include "tenon/ir/build.h"

namespace tenon::exec {
namespace {

using device::Arg;
using device::Storage;
using ir::Node;
using ir::Value;
using plan::Slot;

constexpr size_t kLiteralBytes = 8;

void write_number(const ir::ConstantAttrs& number, std::byte* to) {
  dispatch(number.dtype, [&]<typename T>() {
    T value;
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(number.as_int());
    else
      value = T(number.as_double());
    std::memcpy(to, &value, sizeof(T));
  });
}

// Finds the node of a graph that has a launch's label, by its op where there is one. One plan serves every graph of its
// shape, two layers of a model or two models: through such a node each gives the launch its own label. Of several nodes
// with the same op and label, the launches take one after another.
class NodesByLabel {
 public:
  explicit NodesByLabel(const Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = *graph.nodes()[i];
      if (node.evaluated() || node.op() == ir::Op::constant) continue;
      by_op_[key_of(node.label(), node.op())].nodes.push_back(i);
      by_label_.emplace(node.label(), i);
    }
  }
  uint32_t find(const plan::Launch& launch) {
    if (const auto same = by_op_.find(key_of(launch.label, launch.op)); same != by_op_.end()) {
      Same& found = same->second;
      return found.nodes[std::min(found.taken++, found.nodes.size() - 1)];
    }
    const auto any = by_label_.find(launch.label);
    return any == by_label_.end() ? plan::Plan::kNone : any->second;
  }

 private:
  struct Same {
    std::vector<uint32_t> nodes;
    size_t taken = 0;
  };
  static uint64_t key_of(base::Label label, ir::Op op) {
    return static_cast<uint64_t>(label) << 32 | static_cast<uint64_t>(op);
  }
  std::unordered_map<uint64_t, Same> by_op_;
  std::unordered_map<base::Label, uint32_t> by_label_;
};

// Bytes of the arena in use while each launch runs, by what they are for. What the forward pass makes and a later pass
// reads is kept; what the backward pass makes and the optimizer reads is a gradient.
std::vector<device::Live> live_of(const plan::Plan& plan, std::span<const size_t> scratch) {
  struct Change {
    int64_t kept = 0, gradients = 0, scratch = 0;
  };
  const size_t count = plan.launches.size();
  std::vector<Change> changes(count + 1);
  const auto pass_at = [&](uint32_t launch) { return base::pass_of(plan.launches[launch].label); };
  for (const plan::Temporary& one : plan.temporaries) {
    const plan::Interval& life = one.life;
    if (life.first >= count || life.last >= count) continue;
    const base::Pass made = pass_at(life.first), read = pass_at(life.last);
    int64_t Change::*const kind = made == base::Pass::forward && read != made                     ? &Change::kept
                                  : made == base::Pass::backward && read == base::Pass::optimizer ? &Change::gradients
                                                                                                  : &Change::scratch;
    size_t at_first = life.bytes;
    for (const plan::Stretch& piece : life.later) {
      at_first -= std::min(at_first, piece.bytes);
      if (piece.first < count) changes[piece.first].*kind += static_cast<int64_t>(piece.bytes);
    }
    changes[life.first].*kind += static_cast<int64_t>(at_first);
    changes[life.last + 1].*kind -= static_cast<int64_t>(life.bytes);
  }
  std::vector<device::Live> live(count);
  Change now;
  for (size_t i = 0; i < count; ++i) {
    now.kept += changes[i].kept;
    now.gradients += changes[i].gradients;
    now.scratch += changes[i].scratch;
    live[i] = {static_cast<uint64_t>(now.kept), static_cast<uint64_t>(now.gradients),
               static_cast<uint64_t>(now.scratch) + scratch[i], plan.peak_live_bytes};
  }
  return live;
}

}  // namespace

std::shared_ptr<const Executable> build(const Graph& graph, const std::vector<bool>& as_argument,
                                        const ir::Limits& limits, device::Device& target, ProgramCache& programs) {
  plan::Request request;
  request.outputs = graph.outputs();
  for (uint32_t i = 0; i < as_argument.size(); ++i) {
    if (as_argument[i]) request.literals.emplace(graph.nodes()[graph.literals()[i]].get(), i);
  }
  request.limits = limits;
  request.may_overwrite = [&](const Node& leaf) { return graph.is_free(leaf); };
  request.takes = [&](const ir::Call& call) { return target.compiler().takes(call); };
  plan::Plan plan = plan::make_plan(request);
  if (engine().plan_seen) engine().plan_seen(plan);

  auto made = std::make_shared<Executable>();
  choose_ways(target, plan.kernels, programs);
  const std::vector<device::ProgramRef> compiled = programs.get_all(target, std::move(plan.kernels));
  std::vector<size_t> scratch;
  for (const plan::Launch& launch : plan.launches) scratch.push_back(compiled[launch.kernel]->scratch_bytes());
  if (std::any_of(scratch.begin(), scratch.end(), [](size_t bytes) { return bytes > 0; }))
    plan::lay_out_with_scratch(plan, limits, scratch);
  NodesByLabel by_label(graph);
  const std::vector<device::Live> live = live_of(plan, scratch);
  for (plan::Launch& launch : plan.launches) {
    device::ProgramRef program = compiled[launch.kernel];
    const uint32_t node = by_label.find(launch);
    made->launches.push_back({std::move(program), std::move(launch), node, live[made->launches.size()]});
  }
  for (const ir::Op op : plan.taken_apart)
    made->taken_apart += fmt::format("{}{}", made->taken_apart.empty() ? "" : ", ", ir::name(op));
  made->slots = plan.slots;
  made->overwritten = plan.overwritten;
  made->arena_bytes = plan.arena_bytes;
  made->slab_bytes = plan.slab_bytes;
  for (size_t i = 0; i < plan.leaves.size(); ++i) {
    const Value& leaf = plan.leaves[i];
    if (plan.literals[i] == plan::Plan::kNone) {
      made->leaves.push_back({graph.place_of(leaf), plan::Plan::kNone});
    } else {
      made->leaves.push_back({{}, static_cast<uint32_t>(made->literals.size())});
      made->literals.push_back({plan.literals[i], leaf.dtype()});
    }
  }
  for (const Value& result : plan.results)
    made->results.push_back({graph.place_of(result), 0, ir::bytes_of(result.type())});
  for (uint32_t id = 0; id < plan.slots.size(); ++id) {
    const Slot& slot = plan.slots[id];
    if (slot.place == Slot::Place::result && slot.within == plan::Plan::kNone) made->results[slot.index].slot = id;
  }
  return made;
}

Binding bind(const Executable& executable, const Graph& graph, device::Device& target) {
  Binding binding;
  if (!executable.literals.empty())
    binding.literals = std::make_shared<Storage>(target, executable.literals.size() * kLiteralBytes);
  for (const Executable::Leaf& leaf : executable.leaves) {
    const bool is_literal = leaf.literal != plan::Plan::kNone;
    binding.leaves.push_back(is_literal ? binding.literals
                                        : device::storage_of(graph.node_at(leaf.place)->data(leaf.place.result)));
  }
  for (size_t i = 0; i < executable.results.size(); ++i) {
    const uint32_t taken = executable.overwritten[i];
    binding.results.push_back(taken != plan::Plan::kNone
                                  ? binding.leaves[taken]
                                  : std::make_shared<Storage>(target, executable.results[i].bytes));
  }
  const size_t slab = executable.slab_bytes;
  for (size_t left = executable.arena_bytes; left > 0; left -= std::min(left, slab))
    binding.slabs.push_back(std::make_shared<Storage>(target, std::min(left, slab), device::Holder::arena));
  return binding;
}

std::vector<std::byte> literal_block(const Executable& executable, const Graph& graph) {
  std::vector<std::byte> block(executable.literals.size() * kLiteralBytes);
  for (size_t i = 0; i < executable.literals.size(); ++i)
    write_number(graph.literal(executable.literals[i].literal), block.data() + i * kLiteralBytes);
  return block;
}

namespace {

// A part has the version of its whole; what takes memory over has one of its own.
uint64_t version_of_slot(const Executable& executable, uint32_t id, uint64_t run) {
  const Slot* slot = &executable.slots[id];
  while (slot->within != plan::Plan::kNone && !slot->replaces) {
    id = slot->within;
    slot = &executable.slots[id];
  }
  return run << 24 | (id + 1);
}

}  // namespace

uint64_t version_of_result(const Executable& executable, size_t result, uint64_t run) {
  return version_of_slot(executable, executable.results[result].slot, run);
}

std::vector<device::Command> commands_of(const Executable& executable, const Graph& graph, const Binding& binding,
                                         uint64_t run, size_t begin, size_t end, bool runs_again) {
  const auto in_arena = [&](size_t offset, size_t bytes, uint64_t version) -> Arg {
    const size_t slab = offset / executable.slab_bytes;
    return {binding.slabs[slab]->buffer(), offset - slab * executable.slab_bytes, bytes, version};
  };
  const auto arg_of = [&](const plan::Argument& argument) -> Arg {
    const uint32_t id = argument.slot;
    const Slot& slot = executable.slots[id];
    switch (slot.place) {
      case Slot::Place::leaf: {
        const uint32_t literal = executable.leaves[slot.index].literal;
        const Storage& storage = *binding.leaves[slot.index];
        const size_t in_block = literal == plan::Plan::kNone ? 0 : literal * kLiteralBytes;
        return {storage.buffer(), in_block + argument.offset, argument.bytes, runs_again ? 0 : storage.version()};
      }
      case Slot::Place::result:
        return {binding.results[slot.index]->buffer(), slot.offset + argument.offset, argument.bytes,
                version_of_slot(executable, id, run)};
      default: return in_arena(slot.offset + argument.offset, argument.bytes, version_of_slot(executable, id, run));
    }
  };
  std::vector<device::Command> commands;
  commands.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const Executable::Launch& launch = executable.launches[i];
    device::Launch command{launch.program, {}, launch.what.inputs};
    for (const plan::Argument& argument : launch.what.args) command.args.push_back(arg_of(argument));
    command.writes_state = launch.what.writes_state;
    command.numbers = launch.what.numbers;
    command.live = launch.live;
    if (launch.node != plan::Plan::kNone) command.label = graph.nodes()[launch.node]->label();
    if (const size_t scratch = launch.program->scratch_bytes())
      command.args.push_back(in_arena(launch.what.scratch_offset, scratch, 0));
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace tenon::exec
