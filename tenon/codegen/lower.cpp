// Walks from the outputs of a group down to its inputs. Movement ops become part of the map of every load below them;
// everything else becomes an instruction, once per view it is seen through. At the end axes that every map goes through
// evenly are merged, so that most nests have one row axis and one element axis.

#include "tenon/codegen/lower.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::codegen {
namespace {

using ir::IndexMap;
using ir::Instr;
using ir::Kind;
using ir::Move;
using ir::Node;
using ir::Op;
using ir::Value;

bool is_transparent(const Node& node) { return node.info().kind == Kind::movement || node.info().is(ir::kPassThrough); }

class Lowering {
 public:
  explicit Lowering(const plan::Group& group) : group_(group) {
    // Rows first, the axes of their elements last.
    Dims order;
    const Dims& elements = group.axes.empty() ? group.inner : group.axes;
    for (size_t i = 0; i < group.shape.size(); ++i) {
      if (std::find(elements.begin(), elements.end(), static_cast<int64_t>(i)) == elements.end())
        order.push_back(static_cast<int64_t>(i));
    }
    nest_.row_rank = elements.empty() ? (order.empty() ? 0 : order.size() - 1) : order.size();
    for (int64_t axis : elements) order.push_back(axis);
    for (int64_t axis : order) nest_.space.push_back(group.shape[static_cast<size_t>(axis)]);
    if (order != ir::iota_dims(order.size())) to_space_.push_back({Op::permute, ir::AxesAttrs{order}});
    row_map_ = plan::row_map(group.shape, group.axes);
    row_map_.apply(to_space_);
  }

  ir::LoopNest run() {
    nest_.inputs = static_cast<uint32_t>(group_.inputs.size());
    nest_.outputs = static_cast<uint32_t>(group_.outputs.size());
    for (uint32_t i = 0; i < nest_.inputs; ++i) buffers_.emplace(key_of(group_.inputs[i]), i);
    nest_.in_place = group_.in_place;
    for (uint32_t i = 0; i < nest_.outputs; ++i) store(group_.outputs[i], nest_.inputs + i);
    for (Instr& instr : late_stores_) nest_.code.push_back(std::move(instr));
    merge_axes();
    return std::move(nest_);
  }

 private:
  static uint64_t key_of(const Value& value) {
    return base::mix(reinterpret_cast<uintptr_t>(value.node.get()), value.index);
  }

  void store(const Value& value, uint32_t buffer) {
    if (plan::is_column_reduction(*value.node)) return store_column(value, buffer);
    const bool alike = value.shape() == group_.shape || plan::is_regrouped(group_.shape, group_.axes, value.shape());
    const bool whole = alike && !(group_.axes.size() && value.node->info().kind == Kind::reduce);
    std::vector<Move> moves = to_space_;
    if (whole && value.shape() != group_.shape)
      moves.insert(moves.begin(), Move{Op::reshape, ir::ShapeAttrs{group_.shape}});
    if (!whole) {
      moves.insert(moves.begin(), Move{Op::expand, ir::ShapeAttrs{group_.shape}});
      moves.insert(moves.begin(), Move{Op::reshape, ir::ShapeAttrs{plan::row_shape(group_.shape, group_.axes)}});
    }
    const uint32_t made = emit(value, moves);
    if (!whole && !nest_.code[made].per_row) base::fail("lower", "a per-row result depends on the elements of its row");
    Instr instr;
    instr.kind = Instr::Kind::store;
    instr.dtype = value.dtype();
    instr.args.push_back(made);
    instr.buffer = buffer;
    instr.map = IndexMap(value.shape());
    instr.map.apply(moves);
    instr.per_row = !whole;
    if (!whole) instr.map.keep_leading(nest_.row_rank);
    (nest_.in_place.empty() ? nest_.code : late_stores_).push_back(std::move(instr));
  }

  void store_column(const Value& value, uint32_t buffer) {
    Instr fold;
    fold.kind = Instr::Kind::reduce;
    fold.op = value.node->op();
    fold.dtype = value.dtype();
    fold.per_column = true;
    fold.args.push_back(emit(value.node->input(0), to_space_));
    nest_.code.push_back(std::move(fold));
    Instr instr;
    instr.kind = Instr::Kind::store;
    instr.dtype = value.dtype();
    instr.args.push_back(static_cast<uint32_t>(nest_.code.size() - 1));
    instr.buffer = buffer;
    instr.per_column = true;
    instr.map = IndexMap(value.shape());
    instr.map.apply(Move{Op::expand, ir::ShapeAttrs{group_.shape}});
    instr.map.apply(to_space_);
    instr.map.drop_leading(nest_.row_rank);
    nest_.code.push_back(std::move(instr));
  }

  // The instruction that gives `value` seen through `moves`, which lead from its shape to the space.
  uint32_t emit(const Value& value, std::vector<Move> moves) {
    const Node& node = *value.node;
    if (const auto input = buffers_.find(key_of(value)); input != buffers_.end())
      return emit_load(value, moves, input->second);
    if (!node.evaluated() && is_transparent(node)) return emit_moved(value, moves);
    IndexMap map(value.shape());
    map.apply(moves);
    const uint64_t key = base::mix(key_of(value), map.hash());
    if (const auto known = emitted_.find(key); known != emitted_.end()) return known->second;
    const uint32_t made = emit_node(value, moves, std::move(map));
    emitted_.emplace(key, made);
    return made;
  }

  // A whole chain of views in one loop: nothing bounds its length.
  uint32_t emit_moved(const Value& top, const std::vector<Move>& outer) {
    struct Pad {
      Dims inner;    // the shape below it
      size_t moves;  // how many of the chain's moves lead there
    };
    std::vector<Move> chain;  // from the reader down
    std::vector<Pad> pads;
    Value value = top;
    while (!buffers_.contains(key_of(value)) && !value.node->evaluated() && is_transparent(*value.node)) {
      const Node& view = *value.node;
      Value next = view.input(view.op() == Op::custom ? value.index : 0);
      if (view.info().kind == Kind::movement) chain.push_back(ir::move_of(view.op(), view.attrs()));
      if (view.op() == Op::pad) pads.push_back({next.shape(), chain.size()});
      value = std::move(next);
    }
    const auto moves_from = [&](size_t count) {
      std::vector<Move> moves(chain.rend() - static_cast<ptrdiff_t>(count), chain.rend());
      moves.insert(moves.end(), outer.begin(), outer.end());
      return moves;
    };
    uint32_t made = emit(value, moves_from(chain.size()));
    if (nest_.code[made].kind == Instr::Kind::load) return made;  // loads give 0 in padding
    for (size_t i = pads.size(); i-- > 0;) {  // what was computed from padding is not 0 in general: choose
      Instr valid;
      valid.kind = Instr::Kind::valid;
      valid.dtype = DType::boolean;
      valid.map = IndexMap(pads[i].inner);
      valid.map.apply(moves_from(pads[i].moves));
      const uint32_t where = push(std::move(valid));
      made = apply(Op::where, top.dtype(), {where, made, number(0, top.dtype())});
    }
    return made;
  }

  uint32_t emit_load(const Value& value, const std::vector<Move>& moves, uint32_t buffer) {
    Instr instr;
    instr.kind = Instr::Kind::load;
    instr.dtype = value.dtype();
    instr.buffer = buffer;
    instr.map = IndexMap(value.shape());
    instr.map.apply(moves);
    const uint64_t key = base::mix(key_of(value), instr.map.hash());
    if (const auto known = emitted_.find(key); known != emitted_.end()) return known->second;
    const uint32_t made = push(std::move(instr));
    emitted_.emplace(key, made);
    return made;
  }

  uint32_t emit_node(const Value& value, const std::vector<Move>& moves, IndexMap map) {
    const Node& node = *value.node;
    switch (node.info().kind) {
      case Kind::reduce: return emit_reduction(value, map);
      case Kind::leaf: return emit_leaf(value, std::move(map));
      default: break;
    }
    base::SmallVector<uint32_t, 3> args;
    for (const Value& input : node.inputs()) args.push_back(emit(input, moves));
    return apply(node.op(), value.dtype(), args);
  }

  uint32_t emit_reduction(const Value& value, const IndexMap& map) {
    if (!(map == row_map_)) base::fail("lower", "a reduction is read across the rows of its own group");
    const uint64_t key = key_of(value);
    if (const auto known = reductions_.find(key); known != reductions_.end()) return known->second;
    Instr instr;
    instr.kind = Instr::Kind::reduce;
    instr.op = value.node->op();
    instr.dtype = value.dtype();
    instr.per_row = true;
    instr.args.push_back(emit(value.node->input(0), to_space_));
    nest_.code.push_back(std::move(instr));
    const auto made = static_cast<uint32_t>(nest_.code.size() - 1);
    reductions_.emplace(key, made);
    return made;
  }

  uint32_t emit_leaf(const Value& value, IndexMap map) {
    const Node& node = *value.node;
    Instr instr;
    instr.dtype = value.dtype();
    if (node.op() == Op::constant) {
      const uint32_t made = number(node.attrs_as<ir::ConstantAttrs>().bits, value.dtype());
      if (!map.has_padding()) return made;
      instr.kind = Instr::Kind::valid;
      instr.dtype = DType::boolean;
      instr.map = std::move(map);
      const uint32_t where = push(std::move(instr));
      return apply(Op::where, value.dtype(), {where, made, number(0, value.dtype())});
    }
    instr.map = std::move(map);
    if (node.op() == Op::iota) {
      instr.kind = Instr::Kind::ramp;
    } else {
      instr.kind = Instr::Kind::random;
      instr.buffer = buffers_.at(key_of(node.input(0)));
      instr.bits = node.attrs_as<ir::RandomAttrs>().offset;
    }
    return push(std::move(instr));
  }

  uint32_t number(uint64_t bits, DType dtype) {
    Instr instr;
    instr.kind = Instr::Kind::number;
    instr.dtype = dtype;
    instr.bits = bits;
    instr.per_row = true;
    nest_.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest_.code.size() - 1);
  }

  uint32_t apply(Op op, DType dtype, base::SmallVector<uint32_t, 3> args) {
    Instr instr;
    instr.kind = Instr::Kind::apply;
    instr.op = op;
    instr.dtype = dtype;
    instr.per_row = std::all_of(args.begin(), args.end(), [&](uint32_t arg) { return nest_.code[arg].per_row; });
    instr.args = std::move(args);
    nest_.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest_.code.size() - 1);
  }

  // Adds an instruction with a map over the space; constant along the row, it is done once per row.
  uint32_t push(Instr instr) {
    bool constant = true;
    for (size_t axis = nest_.row_rank; axis < nest_.space.size(); ++axis)
      constant = constant && instr.map.is_constant_along(axis);
    instr.per_row = constant;
    if (constant) instr.map.keep_leading(nest_.row_rank);
    nest_.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest_.code.size() - 1);
  }

  static bool has_map(const Instr& instr) {
    switch (instr.kind) {
      case Instr::Kind::number:
      case Instr::Kind::apply:
      case Instr::Kind::reduce: return false;
      default: return true;
    }
  }

  bool mergeable(size_t axis, bool in_rows) const {
    return std::all_of(nest_.code.begin(), nest_.code.end(), [&](const Instr& instr) {
      if (!has_map(instr) || (instr.per_row && !in_rows) || (instr.per_column && in_rows)) return true;
      return instr.map.can_merge(instr.per_column ? axis - nest_.row_rank : axis);
    });
  }

  void merge(size_t axis, bool in_rows) {
    for (Instr& instr : nest_.code) {
      if (!has_map(instr) || (instr.per_row && !in_rows) || (instr.per_column && in_rows)) continue;
      instr.map.merge(instr.per_column ? axis - nest_.row_rank : axis);
    }
    nest_.space[axis + 1] *= nest_.space[axis];
    nest_.space.erase(nest_.space.begin() + axis);
    if (in_rows) --nest_.row_rank;
  }

  void merge_axes() {
    if (ir::count(nest_.space) == 0) return;
    for (size_t axis = nest_.space.size(); axis-- > 1;) {
      const size_t left = axis - 1;
      if (axis == nest_.row_rank) {
        // Rows and elements merge only where nothing is per row but numbers: a plain elementwise nest.
        const bool plain = group_.axes.empty() && group_.inner.empty() &&
                           std::all_of(nest_.code.begin(), nest_.code.end(),
                                       [](const Instr& instr) { return !instr.per_row || !has_map(instr); });
        if (!plain || !mergeable(left, false)) continue;
        merge(left, false);
        --nest_.row_rank;
        continue;
      }
      const bool in_rows = axis < nest_.row_rank;
      if (mergeable(left, in_rows)) merge(left, in_rows);
    }
  }

  const plan::Group& group_;
  ir::LoopNest nest_;
  std::vector<Instr> late_stores_;  // behind all loads, where an output takes over the memory of an input
  std::vector<Move> to_space_;
  IndexMap row_map_;
  std::unordered_map<uint64_t, uint32_t> buffers_, emitted_, reductions_;
};

}  // namespace

ir::LoopNest lower(const plan::Group& group) { return Lowering(group).run(); }

}  // namespace tenon::codegen
