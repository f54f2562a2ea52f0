// What one call of a captured function has recorded, without its nodes: two calls with the same signature can stand for
// each other.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/exec/graph.h"
#include "tenon/tensor/trace.h"

namespace tenon {

/// Where something that a function hands out comes from.
struct Place {
  enum class From : uint8_t { nothing, argument, outside, made };
  From from = From::nothing;
  size_t index = 0;  // the argument, the tensor made inside, the tensor from outside (views behind others)
  const TensorImpl* tensor = nullptr;  // from outside
  bool is_view = false;                // of that one, through these moves
  bool is_detached = false;
  std::vector<ir::Move> moves;

  bool operator==(const Place&) const = default;
};

/// A gradient that the function leaves behind.
struct GradientLeft {
  std::shared_ptr<Leaf> leaf;
  Place place;
};

struct Signature {
  /// Where a leaf of the graph comes from.
  struct Origin {
    enum class Kind : uint8_t { unknown, argument, outside, scalars, random, uploaded };
    Kind kind = Kind::unknown;
    const void* what = nullptr;
    uint64_t index = 0;
    bool operator==(const Origin&) const = default;
  };
  struct Number {
    ir::ConstantAttrs number;
    ir::Op reader;
  };

  exec::GraphKey graph;
  std::vector<Origin> origins;  // of the graph's leaves, in order
  std::vector<Number> numbers;
  std::vector<Place> results;
  std::vector<std::pair<const Leaf*, Place>> gradients;
  std::vector<const TensorImpl*> written;
  std::vector<const Scalar::State*> scalars;
  std::vector<std::pair<const Generator::State*, uint64_t>> drawn;
  bool is_of_one_device = true;
};

/// `values` are what the function computes: tensors it makes, then states.
Signature signature_of(Trace& trace, const std::vector<ir::Value>& values, const std::vector<Place>& results,
                       const std::vector<GradientLeft>& gradients);

/// In what two calls differ; none when they are the same.
struct Difference {
  enum class Kind : uint8_t { numbers, host_values, operations };
  Kind kind;
  std::string text;  // what, and what it was
  std::string cure;
};
std::optional<Difference> difference(const Signature& before, const Signature& now);

}  // namespace tenon
