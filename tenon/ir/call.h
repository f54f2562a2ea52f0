// One op with the views of its operands: the form in which library calls, and on the reference device all ops, reach a
// backend.

#pragma once

#include <span>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/ir/attrs.h"
#include "tenon/ir/view.h"

namespace tenon::ir {

/// How a kernel sees one of its buffers.
struct Operand {
  DType dtype = DType::f32;
  IndexMap map;
  bool operator==(const Operand&) const = default;
};

/// What a contract does with its sums before it writes them: adds one row to all rows (of a 16-bit dtype perhaps), then
/// a whole matrix, both in the dtype of the sums, and rounds to the dtype of the output. The row and the matrix follow
/// the operands, in this order.
///
/// Instead of a matrix an activation may follow, computed on the sums before they are rounded. `gelu` (in its tanh
/// form): the first result is the activation, a second one, if there is one, what it was taken of. `gelu_slope`: the
/// sums are multiplied by the slope of gelu at the last operand. `relu`: the larger of the sums and 0, in f32 behind a
/// bias.
struct Epilogue {
  enum class Activation : uint8_t { none, gelu, gelu_slope, relu };
  bool bias = false, residual = false;
  Activation activation = Activation::none;
  bool operator==(const Epilogue&) const = default;
};

/// One of the ways in which a device can do a call; what the numbers mean is its own matter. All give the same bits,
/// but where a device has its calls timed (device::Compiler::timed_as).
using Way = base::SmallVector<uint32_t, 6>;

/// Results are always written in row-major order.
struct Call {
  Op op = Op::add;
  Attrs attrs;
  base::SmallVector<Operand, 2> inputs;
  base::SmallVector<Type, 1> outputs;
  Epilogue epilogue;
  Way way;  // none: as the device sees fit
  bool operator==(const Call&) const = default;
};

/// Numbers that come with a launch, so that launches which differ by them alone run one kernel.
using Numbers = base::SmallVector<uint64_t, 1>;

/// How many numbers a call takes: one if it draws random numbers, for where they begin.
size_t numbers_of(const Call& call);
/// Takes them out of the attributes, which are 0 there in every kernel.
Numbers take_numbers(Call& call);
/// Puts them there again.
void put_numbers(Call& call, std::span<const uint64_t> numbers);

inline uint64_t hash(const Call& call) {
  uint64_t h = base::mix(static_cast<uint64_t>(call.op), hash(call.attrs));
  for (const Operand& operand : call.inputs)
    h = base::mix(base::mix(h, static_cast<uint64_t>(operand.dtype)), operand.map.hash());
  for (const Type& type : call.outputs) h = base::mix_all(base::mix(h, static_cast<uint64_t>(type.dtype)), type.shape);
  for (const uint32_t number : call.way) h = base::mix(h, number);
  return base::mix(h, (call.epilogue.bias ? 1u : 0u) | (call.epilogue.residual ? 2u : 0u) |
                          static_cast<unsigned>(call.epilogue.activation) << 2);
}

}  // namespace tenon::ir
