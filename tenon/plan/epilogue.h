// What a matrix product can do to its sums before it writes them: contract + bias + residual, cast or relu. A
// convolution can add a bias, and take relu of that.

#pragma once

#include <functional>
#include <optional>

#include "tenon/ir/walk.h"
#include "tenon/plan/unit.h"

namespace tenon::plan {

/// Looks at the nodes of one plan while they are cut into units; the sets may grow meanwhile.
class EpilogueMatcher {
 public:
  /// `stored` nodes are written to memory, `uses` counts readers, `unit_of` numbers units in the order of their making.
  EpilogueMatcher(const ir::Limits& limits, const Nodes& kept, const Nodes& stored, const ByNode<size_t>& uses,
                  std::function<uint32_t(const ir::Value&)> unit_of)
      : limits_(limits), kept_(kept), stored_(stored), uses_(uses), unit_of_(std::move(unit_of)) {}

  struct Matched {
    Addends addends;
    ir::NodeRef contract;  // or convolution
  };
  /// The product that can give this node as its result.
  std::optional<Matched> match(const ir::NodeRef& node) const;

  /// Whether a product can add another matrix itself here: gradients of micro-batches.
  bool adds_to_product(const ir::Node& node) const;
  /// Whether a product can give its sums, with all that is added to them, in this 16-bit form: then they are written so
  /// and in no other.
  bool rounds_sums(const ir::NodeRef& node) const;

 private:
  bool match_sums(const ir::Value& sum, const Dims& shape, Matched& matched) const;
  bool is_larger_of_sums(const ir::Node& node) const;
  ir::Seen look_at_addend(const ir::Value& value) const;
  bool match_addend(const ir::Value& value, Matched& matched) const;
  size_t later_side(const ir::Node& node, const Dims& shape) const;
  bool match_channels(const ir::Value& addend, ir::IndexMap& map, Matched& matched) const;
  bool is_free_convolution(const ir::Node& node) const;
  bool is_free_contract(const ir::Node& node, DType sums) const;
  size_t uses_of(const ir::Node& node) const;

  const ir::Limits& limits_;
  const Nodes &kept_, &stored_;
  const ByNode<size_t>& uses_;
  std::function<uint32_t(const ir::Value&)> unit_of_;
};

}  // namespace tenon::plan
