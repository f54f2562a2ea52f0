// Depth is bounded by the number of ops that are computed inside one kernel (plan/stored.h); chains of views, which
// nothing bounds, are walked in a loop.

#include "tenon/plan/expression.h"

#include <algorithm>

#include "tenon/base/hash.h"
#include "tenon/ir/walk.h"

namespace tenon::plan {
namespace {

using ir::IndexMap;
using ir::Instr;
using ir::Kind;
using ir::Move;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

class Walk {
 public:
  Walk(const Nodes& stored, const ir::Limits& limits) : stored_(stored), limits_(limits) {
    made_.code.reserve(16);  // most have fewer, and moving them costs more than room
  }

  Expression of_node(const NodeRef& node) {
    computed(Value{node, 0}, Way(IndexMap(node->type().shape)));
    return std::move(made_);
  }
  Expression of_operand(const Value& operand) {
    seen(operand, Way(IndexMap(operand.shape())));
    return std::move(made_);
  }

 private:
  // From a value to the shape of the whole expression. The operands of an elementwise op are seen the same way, so few
  // ways are looked for and hashed.
  struct Way {
    explicit Way(IndexMap from) : map(std::move(from)), hash(map.hash()) {}
    IndexMap map;
    uint64_t hash;
  };

  static uint64_t key_of(const Value& value, const Way& way) {
    return base::mix(base::mix(reinterpret_cast<uintptr_t>(value.node.get()), value.index), way.hash);
  }

  // The way from a value of this shape to the shape of the whole expression: the moves of all views passed, innermost
  // first.
  IndexMap map_from(const Dims& shape) const {
    IndexMap map(shape);
    for (size_t i = moves_.size(); i-- > 0;) map.apply(moves_[i]);
    return map;
  }

  // The instruction that gives `top` seen through the views passed so far, and through those around it. `outer` leads
  // through the views passed so far.
  uint32_t seen(const Value& top, const Way& outer) {
    struct Pad {
      Dims inner;    // the shape below it
      size_t moves;  // how many moves lead from there
    };
    base::SmallVector<Pad, 1> pads;
    const size_t passed = moves_.size();
    const Value* at = &top;
    for (; !at->node->evaluated() && ir::is_transparent(*at->node); at = &ir::shown_by(*at->node, at->index)) {
      const Node& view = *at->node;
      if (view.info().kind == Kind::movement) moves_.push_back(ir::move_of(view.op(), view.attrs()));
      if (view.op() == Op::pad) pads.push_back({view.input(0).shape(), moves_.size()});
    }
    const bool has_views = moves_.size() > passed;
    const auto [made, is_read] = has_views ? base_seen(*at, Way(map_from(at->shape()))) : base_seen(*at, outer);
    uint32_t chosen = made;
    if (!is_read) {  // reads give 0 in padding; what was computed from padding is not 0 in general: choose
      for (size_t i = pads.size(); i-- > 0;) {
        moves_.resize(pads[i].moves);
        const uint32_t where = valid(map_from(pads[i].inner));
        chosen = apply(Op::where, top.dtype(), {where, chosen, number(0, top.dtype())});
      }
    }
    moves_.resize(passed);
    return chosen;
  }

  struct Made {
    uint32_t instr;
    bool is_read;
  };

  // The same of a value without views around it.
  Made base_seen(const Value& value, const Way& way) {
    const Node& node = *value.node;
    const uint64_t key = key_of(value, way);
    if (const uint32_t* known = known_.find(key)) {
      const Instr::Kind kind = made_.code[*known].kind;
      return {*known, kind == Instr::Kind::load || kind == Instr::Kind::gather};
    }
    // Positions and numbers are known wherever they are needed, even if a call has them in memory.
    const bool is_known = node.op() == Op::iota || node.op() == Op::constant;
    const bool is_needed_in_memory = stored_.contains(&node) && !is_known;
    const bool is_stored = node.evaluated() || !is_inline(node, limits_) || is_needed_in_memory;
    const uint32_t made = is_stored ? read(value, way.map) : computed(value, way);
    known_.emplace(key, made);
    return {made, is_stored || node.op() == Op::gather};
  }

  uint32_t read(const Value& value, const IndexMap& map) {
    add(Instr::Kind::load, value.dtype()).buffer = static_cast<uint32_t>(made_.reads.size());
    made_.reads.push_back({value, map});
    return last();
  }

  uint32_t computed(const Value& value, const Way& way) {
    const Node& node = *value.node;
    ++made_.work;
    switch (node.op()) {
      case Op::constant: {
        const uint64_t bits = node.attrs_as<ir::ConstantAttrs>().bits;
        const uint32_t made = number(bits, value.dtype());
        if (bits == 0 || !way.map.has_padding()) return made;  // padding is 0 as well
        const uint32_t where = valid(way.map);
        return apply(Op::where, value.dtype(), {where, made, number(0, value.dtype())});
      }
      case Op::iota: {
        add(Instr::Kind::ramp, value.dtype()).map = way.map;
        return last();
      }
      case Op::random_bits: {  // its state is read as a whole, not through the view of its words
        const Value& state = node.input(0);
        Instr& random = add(Instr::Kind::random, value.dtype());
        random.map = way.map;
        random.bits = node.attrs_as<ir::RandomAttrs>().offset;
        const auto same = std::find_if(made_.reads.begin(), made_.reads.end(),
                                       [&](const Read& read) { return read.as_a_whole && read.value == state; });
        random.buffer = static_cast<uint32_t>(same - made_.reads.begin());
        if (same == made_.reads.end()) made_.reads.push_back({state, IndexMap(state.shape()), true});
        return last();
      }
      case Op::gather: return looked_up(value);
      default: break;
    }
    base::SmallVector<uint32_t, 3> args;
    for (const Value& input : node.inputs()) args.push_back(seen(input, way));
    return apply(node.op(), value.dtype(), std::move(args));
  }

  // Element (a.., i.., b..) of a gather is element (a.., index[i..], b..) of its source: seen at index 0, and moved
  // along from there.
  uint32_t looked_up(const Value& value) {
    const Node& node = *value.node;
    const auto axis = static_cast<size_t>(node.attrs_as<ir::AxisAttrs>().axis);
    const Dims &shape = value.shape(), &index_shape = node.input(1).shape();
    const Dims& source_shape = node.input(0).shape();
    const size_t index_rank = index_shape.size();
    Dims at_first = source_shape, source_dims = shape, index_dims(shape.size(), 1);
    at_first[axis] = 1;
    for (size_t i = 0; i < index_rank; ++i) {
      source_dims[axis + i] = 1;
      index_dims[axis + i] = index_shape[i];
    }
    const size_t outer = moves_.size();
    moves_.push_back({Op::expand, ir::ShapeAttrs{shape}});
    moves_.push_back({Op::reshape, ir::ShapeAttrs{index_dims}});
    const uint32_t index = seen(node.input(1), Way(map_from(index_shape)));
    moves_.resize(outer);
    ir::Seen source = ir::look_through(node.input(0));
    Instr& gather = add(Instr::Kind::gather, value.dtype());
    gather.args.push_back(index);
    gather.stride = source.map.views()[0].strides[axis];
    gather.bits = static_cast<uint64_t>(source_shape[axis]);
    gather.axis = static_cast<uint32_t>(axis);
    gather.use = node.attrs_as<ir::AxisAttrs>().use;
    gather.buffer = static_cast<uint32_t>(made_.reads.size());
    source.map.apply(
        Move{Op::shrink, ir::ShrinkAttrs{Dims(source_shape.size(), 0), at_first, Dims(source_shape.size(), 1)}});
    source.map.apply(Move{Op::reshape, ir::ShapeAttrs{source_dims}});
    source.map.apply(Move{Op::expand, ir::ShapeAttrs{shape}});
    for (size_t i = moves_.size(); i-- > 0;) source.map.apply(moves_[i]);
    made_.reads.push_back({source.base, std::move(source.map), true});
    return last();
  }

  uint32_t number(uint64_t bits, DType dtype) {
    add(Instr::Kind::number, dtype).bits = bits;
    return last();
  }

  uint32_t apply(Op op, DType dtype, base::SmallVector<uint32_t, 3> args) {
    Instr& instr = add(Instr::Kind::apply, dtype);
    instr.op = op;
    instr.args = std::move(args);
    return last();
  }

  uint32_t valid(IndexMap map) {
    add(Instr::Kind::valid, DType::boolean).map = std::move(map);
    return last();
  }

  // Made where it stays: an instruction is large. The reference is good until the next one comes.
  Instr& add(Instr::Kind kind, DType dtype) {
    Instr& instr = made_.code.emplace_back();
    instr.kind = kind;
    instr.dtype = dtype;
    return instr;
  }
  uint32_t last() const { return static_cast<uint32_t>(made_.code.size() - 1); }

  const Nodes& stored_;
  const ir::Limits& limits_;
  std::vector<Move> moves_;                  // from the reader down: the last is applied first
  base::FlatMap<uint64_t, uint32_t> known_;  // instructions by node and map
  Expression made_;
};

}  // namespace

Expression expression_of(const NodeRef& node, const Nodes& stored, const ir::Limits& limits) {
  return Walk(stored, limits).of_node(node);
}
Expression expression_behind(const Value& operand, const Nodes& stored, const ir::Limits& limits) {
  return Walk(stored, limits).of_operand(operand);
}

namespace {

// A table of which rows are picked must lie in memory with even strides, and have rows.
bool can_look_up(const Node& node) {
  const Value& source = node.input(0);
  return ir::look_through(source).map.is_strided() && ir::count(source.shape()) > 0;
}

}  // namespace

bool is_inline(const Node& node, const ir::Limits& limits) {
  if (node.op() == Op::gather) return limits.looks_up_inside() && can_look_up(node);
  const Kind kind = node.info().kind;
  // 16-bit floats are computed with as f32, and a NaN need not survive the way there and back.
  if (node.op() == Op::bitcast && size_of(node.type().dtype) == 2) return false;
  return kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary || node.op() == Op::constant ||
         node.op() == Op::iota || node.op() == Op::random_bits;
}

}  // namespace tenon::plan
