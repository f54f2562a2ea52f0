// Calls of attention, of any layout that is asked for.

#pragma once

#include "tenon/ir/call.h"

namespace tenon {

struct AttentionCase {
  int64_t batch = 2, heads = 4, groups = 4, queries = 200, keys = 200, width = 64;
  bool causal = true, masked = false, joined = false;
  double dropout = 0, scale = 0.125;
  DType dtype = DType::bf16;
  int64_t behind = 0;     // numbers behind the heads of each token, in memory
  bool in_heads = false;  // (B, H, T, D) in memory, not parts of one matrix (B, T, H + 2 G, D)

  // Of `count` heads from `first` on: (batch, count, tokens, width).
  ir::IndexMap part(int64_t first, int64_t count, int64_t tokens) const {
    if (in_heads) return ir::IndexMap(Dims{batch, count, tokens, width});
    const int64_t all = heads + 2 * groups;
    ir::IndexMap map(Dims{batch, tokens, all * width + behind});
    map.apply(ir::Op::shrink, ir::ShrinkAttrs{{0, 0, first * width}, {batch, tokens, count * width}, {1, 1, 1}});
    map.apply(ir::Op::reshape, ir::ShapeAttrs{{batch, tokens, count, width}});
    map.apply(ir::Op::permute, ir::AxesAttrs{{0, 2, 1, 3}});
    return map;
  }
  ir::IndexMap result() const {
    ir::IndexMap map(Dims{batch, queries, heads, width});
    map.apply(ir::Op::permute, ir::AxesAttrs{{0, 2, 1, 3}});
    return map;
  }

  ir::Call call(ir::Op op) const {
    ir::Call made;
    made.op = op;
    ir::AttentionAttrs attrs;
    attrs.scale = scale;
    attrs.causal = causal;
    attrs.has_mask = masked;
    attrs.dropout = dropout;
    attrs.joined = joined;
    made.attrs = attrs;
    made.inputs.push_back({dtype, part(0, heads, queries)});
    made.inputs.push_back({dtype, part(heads, groups, keys)});
    made.inputs.push_back({dtype, part(heads + groups, groups, keys)});
    if (masked) made.inputs.push_back({dtype, ir::IndexMap(Dims{batch, heads, queries, keys})});
    if (dropout > 0) made.inputs.push_back({DType::i64, ir::IndexMap(Dims{2})});
    const Dims lse{batch, heads, queries};
    if (op == ir::Op::attention) {
      made.outputs = {{dtype, {batch, queries, heads, width}}, {DType::f32, lse}};
      return made;
    }
    made.inputs.push_back({dtype, result()});
    made.inputs.push_back({DType::f32, ir::IndexMap(lse)});
    made.inputs.push_back({dtype, result()});
    if (joined)
      made.outputs = {{dtype, {batch, queries, heads + 2 * groups, width}}};
    else
      made.outputs = {{dtype, {batch, queries, heads, width}},
                      {dtype, {batch, keys, groups, width}},
                      {dtype, {batch, keys, groups, width}}};
    return made;
  }
};

}  // namespace tenon
