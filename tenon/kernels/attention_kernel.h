// What all kernels of attention share: what a call asks for, their operands, and the stream of dropped weights.

#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/random.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

struct AttentionOperand {
  uint32_t arg = 0;  // of the launch
  DType dtype = DType::f32;
  ir::IndexMap map;
};

/// What a call asks for: q (B, H, T, D), k (B, G, S, D), v (B, G, S, E), and of the gradient what went before it.
struct AttentionProblem {
  int64_t batches = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  ir::AttentionAttrs attrs;
  DType dtype = DType::f32, sums = DType::f32;
  AttentionOperand q, k, v, mask, state, o, lse, o_grad;
  uint32_t first_result = 0;  // argument of the launch
  bool needs_64_bits = false;

  int64_t heads_per_group() const { return heads / groups; }
  int64_t score_rows() const { return batches * heads * queries; }
};
AttentionProblem attention_problem(const ir::Call& call);

/// Where gradients go: (B, T, heads, width), or the heads of a joined result from `head` on.
struct AttentionTarget {
  uint32_t arg = 0;
  int64_t tokens = 0, heads = 0, head = 0, width = 0;
};
struct AttentionTargets {
  explicit AttentionTargets(const AttentionProblem& p);
  AttentionTarget q, k, v;
};

/// With fewer queries, as in generation, keys are cut into parts instead.
inline constexpr int64_t kFewQueries = 16;

class AttentionKernel {
 public:
  AttentionKernel(std::string name, const AttentionProblem& p, uint32_t threads);

  using Id = codegen::Id;

  uint32_t add_input(const AttentionOperand& operand);
  uint32_t add_buffer(uint32_t arg, codegen::Scalar element, bool is_written, size_t offset = 0);
  codegen::Dispatch finish(std::array<uint64_t, 3> blocks, bool writes_results = true);

  Id index_of(int64_t value) { return b.whole(index, value); }
  Id as_index(Id value) { return b.convert(value, index); }
  Id real(double value);
  Id count_of(int64_t value) { return b.u32(static_cast<uint64_t>(value)); }
  /// An element of an operand, as what sums are.
  Id element(const AttentionOperand& operand, uint32_t buffer, std::initializer_list<Id> indices);
  /// The mask of a query and a key, one of which may be beyond the last.
  Id mask_of(uint32_t mask, Id batch, Id head, Id query, Id key);
  /// Whether a mask hides a key: what its row and its value hold then reaches nothing.
  Id hides(Id mask) { return b.equal(mask, real(-std::numeric_limits<double>::infinity())); }

  /// Where the line of a head and a token begins in a gradient.
  Id line_of(const AttentionTarget& to, Id batch, Id head, Id token);
  /// Number 0 of the launch and the state are where the stream of random numbers is.
  void open_random();
  /// What the weights of a query and `count` keys one after another are multiplied with.
  std::vector<Id> kept_shares(Id batch, Id head, Id query, Id key, uint32_t count);

  const AttentionProblem& p;
  codegen::Builder b;
  const codegen::Scalar index, type;  // of addresses and of sums

 private:
  codegen::RandomStream stream_{};
  std::vector<codegen::Dispatch::Binding> bindings_;
};

}  // namespace tenon::kernels
