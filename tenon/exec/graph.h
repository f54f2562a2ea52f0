// A graph about to be evaluated, its nodes numbered: what plans are looked up by.
//
// Two graphs are alike when the same program made them from other buffers: the same ops on the same operands by number,
// leaves of the same types that share memory in the same way, the same outputs, the same states free to be overwritten.
// Numbers written in the program (literals) are compared apart: they may become arguments of the plan.

#pragma once

#include <optional>
#include <vector>

#include "tenon/base/flat_map.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

/// One result of a node, by the node's number.
struct Place {
  uint32_t node = 0, result = 0;
  bool operator==(const Place&) const = default;
};

/// All that a plan depends on but literals, without the nodes themselves.
struct GraphKey {
  struct Entry {
    ir::Op op = ir::Op::buffer;
    bool is_leaf = false;
    ir::Attrs attrs;                   // of an op
    std::vector<ir::Type> types;       // of a leaf
    uint32_t memory = 0;               // of a leaf: the first leaf in the same memory
    bool is_free = false;              // of a leaf: may be overwritten
    base::SmallVector<Place, 3> inputs;
    bool operator==(const Entry&) const = default;
  };
  ir::DeviceId device;
  std::vector<Entry> nodes;
  std::vector<Place> outputs;
};

class Graph {
 public:
  /// `order` is the order of evaluation of `outputs`; all are on one device.
  Graph(std::vector<ir::NodeRef> order, std::vector<ir::Value> outputs,
        const base::FlatSet<const ir::Node*>& free_states);

  const std::vector<ir::NodeRef>& nodes() const { return nodes_; }
  const std::vector<ir::Value>& outputs() const { return outputs_; }
  Place place_of(const ir::Value& value) const { return place_of(value.node.get(), value.index); }
  Place place_of(const ir::Node* node, uint32_t result) const { return {numbers_.at(node), result}; }
  const ir::NodeRef& node_at(Place place) const { return nodes_[place.node]; }
  bool is_free(const ir::Node& leaf) const { return free_.contains(&leaf); }

  /// Constants in the order of their nodes, and what they are.
  const std::vector<uint32_t>& literals() const { return literals_; }
  const ir::ConstantAttrs& literal(size_t i) const;
  /// Whether a literal is itself asked for: then it is no operand that could be an argument.
  bool is_output(size_t literal) const;

  uint64_t hash() const { return hash_; }  // without literals
  bool matches(const GraphKey& key) const;
  GraphKey key() const;

 private:
  GraphKey::Entry entry_of(uint32_t number) const;
  uint32_t memory_of(const ir::Node& leaf) const;

  std::vector<ir::NodeRef> nodes_;
  std::vector<ir::Value> outputs_;
  const base::FlatSet<const ir::Node*>& free_;
  base::FlatMap<const ir::Node*, uint32_t> numbers_;
  base::FlatMap<const ir::Data*, uint32_t> memory_;
  std::vector<uint32_t> literals_;
  uint64_t hash_ = 0;
};

}  // namespace tenon::exec
