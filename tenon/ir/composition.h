// A function of many ops as one node.
//
// A composition is recorded once, on inputs that have no values, and every call of it on operands of these types is one
// node: recording, looking up the plan and differentiating cost the same whatever it is made of. Planning writes it
// out, so that every value has the bits that its ops recorded one by one would give; the few that a device has a kernel
// for stay one call there, whose bits are the same.

#pragma once

#include <string>
#include <vector>

#include "tenon/ir/node.h"

namespace tenon::ir {

/// The compositions that a device may have a kernel for; of one that lists Op::composed among its missing calls, and
/// where nothing is fused, they are written out as all others.
enum class Routine : uint8_t { none, arg_extreme, running_extremes, random_order, grid_sample, grid_sample_backward };

struct Composition {
  std::string name;
  Routine routine = Routine::none;
  std::vector<int64_t> settings;  // of a routine: what it depends on beside its operands
  std::vector<Value> inputs, outputs;
  std::vector<NodeRef> between;  // what the outputs are made of, operands first, without the inputs
  bool may_fault = false;        // as of a node

  Composition(std::string called, std::vector<Value> from, std::vector<Value> to);
  virtual ~Composition() = default;

  /// A composition of the operands, and of the gradients behind them that have arrived at results. It gives what, moved
  /// so, are the gradients of these operands; null where none depends on any.
  struct Gradient {
    std::shared_ptr<const Composition> what;
    std::vector<size_t> operands;
    std::vector<std::vector<Move>> moves;
  };
  virtual Gradient gradient(const std::vector<bool>& arrived, const std::vector<bool>& wanted) const = 0;
};

/// What an input that is a parameter has been made of: what is cut from the gradient reads this. Null for any other.
const Value* data_of(const Value& input);

/// Takes the views off a value, which nobody has to compute: gives the moves that lead back to it.
std::vector<Move> peeled(Value& value);
Value moved(Value value, std::span<const Move> moves);

/// What the composition computes of these operands, as plain nodes.
std::vector<Value> written_out(const Composition& what, std::span<const Value> operands);

}  // namespace tenon::ir
