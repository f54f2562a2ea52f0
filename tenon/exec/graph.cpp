// One walk hashes the graph; a second one, on a hit, compares it with the key.

#include "tenon/exec/graph.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {
namespace {

using base::mix;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

// Operands that only a gradient rule reads play no part in a value.
std::span<const Value> operands_of(const Node& node) {
  const std::span<const Value> inputs = node.inputs();
  return node.op() == Op::custom ? inputs.first(node.results()) : inputs;
}

// Whether the attributes say what is computed: a parameter's identity does not, and a literal is compared apart.
bool attrs_matter(const Node& node) {
  return node.op() != Op::param && node.op() != Op::custom && node.op() != Op::constant;
}

uint64_t mix_type(uint64_t hash, const ir::Type& type) {
  return base::mix_all(mix(hash, static_cast<uint64_t>(type.dtype)), type.shape);
}

}  // namespace

Graph::Graph(std::vector<NodeRef> order, std::vector<Value> outputs, const base::FlatSet<const Node*>& free_states)
    : nodes_(std::move(order)), outputs_(std::move(outputs)), free_(free_states) {
  numbers_.reserve(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    numbers_.emplace(&node, i);
    if (node.evaluated()) {
      const uint32_t memory = memory_.emplace(node.data().get(), i).first;
      hash_ = mix(hash_, 1 + memory);
      for (size_t r = 0; r < node.results(); ++r) hash_ = mix_type(hash_, node.type(r));
      hash_ = mix(hash_, is_free(node));
      continue;
    }
    if (node.op() == Op::buffer)
      base::fail("vmap",
                 "a tensor of one example, from inside a function that vmap() maps, has no value to compute with");
    hash_ = mix(hash_, ~static_cast<uint64_t>(node.op()));
    if (node.op() == Op::constant) {
      literals_.push_back(i);
      hash_ = mix(hash_, static_cast<uint64_t>(node.type().dtype));
    }
    if (attrs_matter(node)) hash_ = mix(hash_, ir::hash(node.attrs()));
    for (const Value& input : operands_of(node))
      hash_ = mix(hash_, numbers_.at(input.node.get()) | static_cast<uint64_t>(input.index) << 32);
  }
  for (const Value& output : outputs_)
    hash_ = mix(hash_, numbers_.at(output.node.get()) | static_cast<uint64_t>(output.index) << 32);
  if (!nodes_.empty()) hash_ = mix(hash_, nodes_[0]->device().index);
}

const ir::ConstantAttrs& Graph::literal(size_t i) const { return nodes_[literals_[i]]->attrs_as<ir::ConstantAttrs>(); }

bool Graph::is_output(size_t literal) const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const Value& output) { return ir::base_of(output).node == nodes_[literals_[literal]]; });
}

uint32_t Graph::memory_of(const Node& leaf) const { return memory_.at(leaf.data().get()); }

GraphKey::Entry Graph::entry_of(uint32_t number) const {
  const Node& node = *nodes_[number];
  GraphKey::Entry entry;
  entry.op = node.op();
  if (node.evaluated()) {
    entry.op = Op::buffer;
    entry.is_leaf = true;
    entry.memory = memory_of(node);
    entry.is_free = is_free(node);
    for (size_t r = 0; r < node.results(); ++r) entry.types.push_back(node.type(r));
    return entry;
  }
  if (attrs_matter(node)) entry.attrs = node.attrs();
  if (node.op() == Op::constant) entry.types.push_back(node.type());
  for (const Value& input : operands_of(node)) entry.inputs.push_back(place_of(input));
  return entry;
}

GraphKey Graph::key() const {
  GraphKey key;
  key.device = nodes_[0]->device();
  for (uint32_t i = 0; i < nodes_.size(); ++i) key.nodes.push_back(entry_of(i));
  for (const Value& output : outputs_) key.outputs.push_back(place_of(output));
  return key;
}

bool Graph::matches(const GraphKey& key) const {
  if (key.nodes.size() != nodes_.size() || key.outputs.size() != outputs_.size()) return false;
  if (!(key.device == nodes_[0]->device())) return false;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    const GraphKey::Entry& entry = key.nodes[i];
    if (entry.is_leaf != node.evaluated()) return false;
    if (entry.is_leaf) {
      if (entry.types.size() != node.results() || entry.memory != memory_of(node) || entry.is_free != is_free(node))
        return false;
      for (size_t r = 0; r < node.results(); ++r) {
        if (!(entry.types[r] == node.type(r))) return false;
      }
      continue;
    }
    if (entry.op != node.op() || (attrs_matter(node) && !(entry.attrs == node.attrs()))) return false;
    if (node.op() == Op::constant && !(entry.types[0] == node.type())) return false;
    const auto inputs = operands_of(node);
    if (entry.inputs.size() != inputs.size()) return false;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!(entry.inputs[k] == place_of(inputs[k]))) return false;
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!(key.outputs[i] == place_of(outputs_[i]))) return false;
  }
  return true;
}

}  // namespace tenon::exec
