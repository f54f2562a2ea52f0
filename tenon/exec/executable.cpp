// From a graph to launches over slots, and from slots to buffers.

#include "tenon/exec/executable.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tenon/base/half.h"
#include "tenon/codegen/lower.h"
#include "tenon/ir/build.h"

namespace tenon::exec {
namespace {

using device::Arg;
using device::Storage;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;
using plan::Slot;

constexpr size_t kLiteralBytes = 8;

device::Kernel lowered(const plan::Kernel& kernel) {
  if (const auto* group = std::get_if<plan::Group>(&kernel)) return codegen::lower(*group);
  return std::get<ir::Call>(kernel);
}

// A literal as a leaf in memory: planning needs to know only that it exists.
struct NoData : ir::Data {};

Value literal_leaf(uint32_t number, const Node& constant) {
  constexpr uint64_t kLiteral = uint64_t{1} << 63;
  const Value leaf = ir::buffer({kLiteral | number, 0, constant.device(), constant.type()});
  leaf.node->set_data(0, std::make_shared<NoData>());
  return leaf;
}

// The graph with some constants replaced by leaves; what does not depend on them stays.
class Rewriter {
 public:
  Rewriter(const Graph& graph, const std::vector<bool>& as_argument) {
    for (uint32_t i = 0; i < graph.literals().size(); ++i) {
      if (!as_argument[i]) continue;
      const NodeRef& constant = graph.nodes()[graph.literals()[i]];
      const Value leaf = literal_leaf(i, *constant);
      literal_of_.emplace(leaf.node.get(), i);
      replaced_.emplace(constant.get(), leaf.node);
    }
    if (replaced_.empty()) return;
    for (const NodeRef& node : graph.nodes()) {
      if (node->evaluated() || replaced_.contains(node.get())) continue;
      bool changed = false;
      ir::Operands inputs;
      for (const Value& input : node->inputs()) {
        const auto found = replaced_.find(input.node.get());
        changed = changed || found != replaced_.end();
        inputs.push_back(found == replaced_.end() ? input : Value{found->second, input.index});
      }
      if (changed) replaced_.emplace(node.get(), Node::make(node->op(), std::move(inputs), node->attrs()));
    }
    for (const auto& [old, made] : replaced_) original_.emplace(made.get(), old);
  }

  Value operator()(const Value& value) const {
    const auto found = replaced_.find(value.node.get());
    return found == replaced_.end() ? value : Value{found->second, value.index};
  }
  const Node* original(const Node* node) const {
    const auto found = original_.find(node);
    return found == original_.end() ? node : found->second;
  }
  uint32_t literal_of(const Node* node) const {
    const auto found = literal_of_.find(node);
    return found == literal_of_.end() ? plan::Plan::kNone : found->second;
  }

 private:
  std::unordered_map<const Node*, NodeRef> replaced_;
  std::unordered_map<const Node*, const Node*> original_;
  std::unordered_map<const Node*, uint32_t> literal_of_;
};

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

}  // namespace

std::shared_ptr<const Executable> build(const Graph& graph, const std::vector<bool>& as_argument,
                                        device::Device& target, ProgramCache& programs) {
  const Rewriter rewritten(graph, as_argument);
  plan::Request request;
  for (const Value& output : graph.outputs()) request.outputs.push_back(rewritten(output));
  request.limits = target.limits();
  request.may_overwrite = [&](const Node& leaf) { return graph.is_free(leaf); };
  const plan::Plan plan = plan::make_plan(request);

  auto made = std::make_shared<Executable>();
  std::vector<device::Kernel> kernels;
  for (const plan::Kernel& kernel : plan.kernels) kernels.push_back(lowered(kernel));
  const std::vector<device::ProgramRef> compiled = programs.get_all(target, kernels);
  for (const plan::Launch& launch : plan.launches)
    made->launches.push_back({compiled[launch.kernel], launch.args, device::inputs_of(kernels[launch.kernel])});
  for (const device::ProgramRef& program : compiled)
    made->scratch_bytes = std::max(made->scratch_bytes, program->scratch_bytes());
  made->slots = plan.slots;
  made->overwritten = plan.overwritten;
  made->arena_bytes = plan.arena_bytes;
  for (const Value& leaf : plan.leaves) {
    const uint32_t literal = rewritten.literal_of(leaf.node.get());
    if (literal == plan::Plan::kNone) {
      made->leaves.push_back({graph.place_of(leaf), plan::Plan::kNone});
    } else {
      made->leaves.push_back({{}, static_cast<uint32_t>(made->literals.size())});
      made->literals.push_back({literal, leaf.dtype()});
    }
  }
  for (const Value& result : plan.results) {
    const Place place = graph.place_of(rewritten.original(result.node.get()), result.index);
    made->results.push_back({place, 0, ir::bytes_of(result.type())});
  }
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
  const size_t alignment = target.limits().alignment;
  binding.scratch_offset = (executable.arena_bytes + alignment - 1) / alignment * alignment;
  const size_t bytes = executable.scratch_bytes ? binding.scratch_offset + executable.scratch_bytes  //
                                                : executable.arena_bytes;
  if (bytes) binding.arena = std::make_shared<Storage>(target, bytes);
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

std::vector<device::Command> commands_of(const Executable& executable, const Binding& binding, uint64_t run,
                                         size_t begin, size_t end, bool runs_again) {
  const auto arg_of = [&](uint32_t id) -> Arg {
    const Slot& slot = executable.slots[id];
    switch (slot.place) {
      case Slot::Place::leaf: {
        const uint32_t literal = executable.leaves[slot.index].literal;
        const Storage& storage = *binding.leaves[slot.index];
        return {storage.buffer(), literal == plan::Plan::kNone ? 0 : literal * kLiteralBytes, slot.bytes,
                runs_again ? 0 : storage.version()};
      }
      case Slot::Place::result:
        return {binding.results[slot.index]->buffer(), slot.offset, slot.bytes, version_of_slot(executable, id, run)};
      default: return {binding.arena->buffer(), slot.offset, slot.bytes, version_of_slot(executable, id, run)};
    }
  };
  const auto is_state = [&](uint32_t id) {
    const Slot& slot = executable.slots[id];
    return slot.place == Slot::Place::result && executable.overwritten[slot.index] != plan::Plan::kNone;
  };
  std::vector<device::Command> commands;
  commands.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const Executable::Launch& launch = executable.launches[i];
    device::Launch command{launch.program, {}, launch.inputs};
    for (const uint32_t slot : launch.args) command.args.push_back(arg_of(slot));
    command.writes_state = std::any_of(launch.args.begin() + launch.inputs, launch.args.end(), is_state);
    if (const size_t scratch = launch.program->scratch_bytes())
      command.args.push_back({binding.arena->buffer(), binding.scratch_offset, scratch});
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace tenon::exec
