// Which elementwise values are written to memory; all others are computed again by whatever reads them.

#pragma once

#include "tenon/ir/limits.h"
#include "tenon/plan/assemble.h"
#include "tenon/plan/expression.h"

namespace tenon::plan {

/// How many readers a node has, seen through views. What is put together from pieces reads the pieces.
using Uses = ByNode<size_t>;
Uses count_uses(const std::vector<ir::NodeRef>& order, const Assemblies& assemblies);

/// Decides for the nodes of one plan, operands first.
class StoredValues {
 public:
  /// `stored` grows with every node; `uses` is looked at only.
  StoredValues(const Nodes& kept, const Assemblies& assemblies, const ir::Limits& limits, const Uses& uses,
               Nodes& stored)
      : kept_(kept), assemblies_(assemblies), limits_(limits), uses_(uses), stored_(stored) {}

  /// Calls read memory, and so do kernels that pick rows of a table or draw random numbers. To be told of all nodes
  /// before anything is decided: what lies in memory for a call lies there for others as well.
  void store_operands(const ir::Node& node);

  /// `for_product`: a product gives this value, or adds it to its sums, and needs it in memory.
  void decide(const ir::NodeRef& node, bool for_product);

 private:
  // The ops between a value and the memory behind it, and what they read there.
  struct Behind {
    struct Source {
      const ir::Node* node;
      DType dtype;
      int64_t elements;  // how many of its elements are read, at most
    };
    base::SmallVector<const ir::Node*, 8> inlined;
    base::SmallVector<Source, 4> sources;
  };

  void store_operand(const ir::Value& operand);
  Behind behind_operands(const ir::Node& node) const;
  void store_until_few_sources(const ir::Node& node, Behind& all);
  const ir::Node* narrow_operand(const ir::Node& node) const;
  bool is_cheaper_stored(const ir::Node& node, const Behind& all) const;

  const Nodes& kept_;
  const Assemblies& assemblies_;
  const ir::Limits& limits_;
  const Uses& uses_;
  Nodes& stored_;
  ByNode<Behind> behind_;  // of values that are not stored
};

}  // namespace tenon::plan
