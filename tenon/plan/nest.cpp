// Instructions of all members over one space, equal ones once. At the end axes that every map goes through evenly are
// merged, so that most nests have one row axis and one element axis.

#include "tenon/plan/nest.h"

#include <algorithm>
#include <cstdlib>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::plan {
namespace {

using ir::IndexMap;
using ir::Instr;
using ir::Move;
using ir::Node;
using ir::Op;
using ir::Value;

uint64_t key_of(const Value& value) { return base::mix(reinterpret_cast<uintptr_t>(value.node.get()), value.index); }

class Builder {
 public:
  Builder(const GroupSpace& space, std::vector<Member> members, const ir::Limits& limits)
      : space_(space), members_(std::move(members)), alignment_(limits.alignment), made_(members_.size(), kNone) {
    nest_.column_blocks = limits.column_blocks;
    // Rows first, the axes of their elements last.
    Dims order;
    const Dims& elements = space.axes.empty() ? space.inner : space.axes;
    for (size_t i = 0; i < space.shape.size(); ++i) {
      if (std::find(elements.begin(), elements.end(), static_cast<int64_t>(i)) == elements.end())
        order.push_back(static_cast<int64_t>(i));
    }
    nest_.row_rank = elements.empty() ? (order.empty() ? 0 : order.size() - 1) : order.size();
    for (int64_t axis : elements) order.push_back(axis);
    for (int64_t axis : order) nest_.space.push_back(space.shape[static_cast<size_t>(axis)]);
    if (order != ir::iota_dims(order.size())) to_space_.push_back({Op::permute, ir::AxesAttrs{order}});
    size_t instructions = 0;
    for (uint32_t i = 0; i < members_.size(); ++i) {
      member_of_.emplace(members_[i].node.get(), i);
      instructions += members_[i].expression.code.size() + 2;  // and a fold and a store
    }
    nest_.code.reserve(instructions);
  }

  FusedKernel run(const std::vector<bool>& is_written) {
    for (const Member& member : members_) find_inputs(member);
    nest_.inputs = static_cast<uint32_t>(kernel_.inputs.size());
    for (uint32_t i = 0; i < members_.size(); ++i) {
      if (is_written[i]) write(i);
    }
    nest_.outputs = static_cast<uint32_t>(kernel_.outputs.size());
    nest_.numbers = static_cast<uint32_t>(kernel_.numbers.size());
    find_touched();
    merge_axes();
    kernel_.nest = std::move(nest_);
    return std::move(kernel_);
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  bool is_inside(const Value& value) const { return member_of_.contains(value.node.get()); }

  void find_inputs(const Member& member) {
    const int64_t elements = ir::count(space_.shape);
    for (const Read& read : member.expression.reads) {
      if (is_inside(read.value)) continue;
      const auto [known, fresh] = buffers_.emplace(key_of(read.value), static_cast<uint32_t>(kernel_.inputs.size()));
      if (fresh) {
        kernel_.inputs.push_back(read.value);
        kernel_.aligned.push_back(true);
      }
      const bool same_element = !read.as_a_whole && read.map.is_contiguous() &&
                                ir::count(read.map.shape()) == elements && ir::count(read.value.shape()) == elements;
      if (!same_element) kernel_.aligned[known] = false;
    }
  }

  // From the shape of a member's expression to the space.
  std::vector<Move> moves_of(const Member& member) const {
    std::vector<Move> moves;
    if (member.kind == Member::Kind::result) {
      const Dims& shape = member.node->type().shape;
      if (!is_whole(member)) {
        moves.push_back({Op::reshape, ir::ShapeAttrs{row_shape(space_.shape, space_.axes)}});
        moves.push_back({Op::expand, ir::ShapeAttrs{space_.shape}});
      } else if (shape != space_.shape) {
        moves.push_back({Op::reshape, ir::ShapeAttrs{space_.shape}});
      }
    }
    moves.insert(moves.end(), to_space_.begin(), to_space_.end());
    return moves;
  }

  bool is_whole(const Member& member) const {
    if (member.kind != Member::Kind::result) return false;
    const Dims& shape = member.node->type().shape;
    return shape == space_.shape || is_regrouped(space_.shape, space_.axes, shape);
  }

  void write(uint32_t index) {
    const Member& member = members_[index];
    const Value value{member.node, 0};
    const bool whole = is_whole(member);
    Instr store;
    store.kind = Instr::Kind::store;
    store.dtype = value.dtype();
    store.buffer = nest_.inputs + static_cast<uint32_t>(kernel_.outputs.size());
    store.args.push_back(value_of(index));
    store.map = IndexMap(value.shape());
    if (member.kind == Member::Kind::column) {
      store.per_column = true;
      store.map.apply(Move{Op::expand, ir::ShapeAttrs{space_.shape}});
      store.map.apply(to_space_);
      store.map.drop_leading(nest_.row_rank);
    } else {
      if (!whole && !nest_.code[store.args[0]].per_row)
        base::fail("plan", "a per-row result depends on the elements of its row");
      if (member.kind == Member::Kind::reduction) {
        store.map.apply(Move{Op::expand, ir::ShapeAttrs{space_.shape}});
        store.map.apply(to_space_);
      } else {
        store.map.apply(moves_of(member));
      }
      store.per_row = !whole;
      if (!whole) store.map.keep_leading(nest_.row_rank);
    }
    nest_.code.push_back(std::move(store));
    kernel_.outputs.push_back(value);
    kernel_.whole.push_back(whole);
  }

  // The instruction that gives a member's value. Members read each other: whatever is needed first comes first.
  uint32_t value_of(uint32_t index) {
    if (made_[index] != kNone) return made_[index];
    Member& member = members_[index];
    const uint32_t last = emit(member);
    if (member.kind == Member::Kind::result) return made_[index] = last;
    Instr fold;
    fold.kind = Instr::Kind::reduce;
    fold.op = member.node->op();
    fold.dtype = member.node->type().dtype;
    fold.per_row = member.kind == Member::Kind::reduction;
    fold.per_column = !fold.per_row;
    fold.args.push_back(last);
    if (fold.per_row) return made_[index] = add(std::move(fold));
    nest_.code.push_back(std::move(fold));  // one fold a store
    return made_[index] = static_cast<uint32_t>(nest_.code.size() - 1);
  }

  // Takes the member's instructions: they become those of the nest.
  uint32_t emit(Member& member) {
    const std::vector<Move> moves = moves_of(member);
    std::vector<Instr>& code = member.expression.code;
    std::vector<uint32_t> at(code.size());
    for (size_t i = 0; i < code.size(); ++i) {
      Instr instr = std::move(code[i]);
      for (uint32_t& arg : instr.args) arg = at[arg];
      switch (instr.kind) {
        case Instr::Kind::load: {
          Read& read = member.expression.reads[instr.buffer];
          if (const uint32_t* inside = member_of_.find(read.value.node.get())) {
            at[i] = value_of(*inside);
            continue;
          }
          instr.map = std::move(read.map);  // each has a read of its own
          instr.buffer = buffers_.at(key_of(read.value));
          at[i] = add_mapped(std::move(instr), moves);
          break;
        }
        case Instr::Kind::gather: {
          Read& read = member.expression.reads[instr.buffer];
          instr.map = std::move(read.map);
          instr.buffer = buffers_.at(key_of(read.value));
          at[i] = add_mapped(std::move(instr), moves);
          break;
        }
        case Instr::Kind::random:
          instr.buffer = buffers_.at(key_of(member.expression.reads[instr.buffer].value));
          instr.bits = index_of_number(instr.bits);
          at[i] = add_mapped(std::move(instr), moves);
          break;
        case Instr::Kind::ramp:
        case Instr::Kind::valid: at[i] = add_mapped(std::move(instr), moves); break;
        case Instr::Kind::number:
          instr.per_row = true;
          at[i] = add(std::move(instr));
          break;
        default:
          instr.per_row =
              std::all_of(instr.args.begin(), instr.args.end(), [&](uint32_t arg) { return nest_.code[arg].per_row; });
          at[i] = add(std::move(instr));
          break;
      }
    }
    return at.back();
  }

  // What layers draw differs by where it begins and nothing else: that comes with the launch.
  uint64_t index_of_number(uint64_t number) {
    const auto known = std::find(kernel_.numbers.begin(), kernel_.numbers.end(), number);
    const auto index = static_cast<uint64_t>(known - kernel_.numbers.begin());
    if (known == kernel_.numbers.end()) kernel_.numbers.push_back(number);
    return index;
  }

  // Constant along the row, it is done once per row.
  uint32_t add_mapped(Instr&& instr, const std::vector<Move>& moves) {
    instr.map.apply(moves);
    bool constant = instr.args.empty() || nest_.code[instr.args[0]].per_row;
    for (size_t axis = nest_.row_rank; axis < nest_.space.size(); ++axis)
      constant = constant && instr.map.is_constant_along(axis);
    instr.per_row = constant;
    if (constant) instr.map.keep_leading(nest_.row_rank);
    return add(std::move(instr));
  }

  uint32_t add(Instr&& instr) {
    const uint64_t key = hash(instr);
    const auto [known, fresh] = known_.emplace(key, static_cast<uint32_t>(nest_.code.size()));
    if (!fresh && nest_.code[known] == instr) return known;
    nest_.code.push_back(std::move(instr));
    return static_cast<uint32_t>(nest_.code.size() - 1);
  }

  // Loads of one buffer move together: the nearest byte that any of them reaches becomes its first.
  void find_touched() {
    const size_t buffers = nest_.inputs + nest_.outputs;
    kernel_.touched.assign(buffers, {});
    std::vector<bool> seen(buffers, false);
    const auto touch = [&](uint32_t buffer, ir::ByteRange range) {
      ir::ByteRange& all = kernel_.touched[buffer];
      all = seen[buffer] ? ir::ByteRange{std::min(all.begin, range.begin), std::max(all.end, range.end)} : range;
      seen[buffer] = true;
    };
    for (const Instr& instr : nest_.code) {
      if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store)
        touch(instr.buffer, ir::bytes_reached(instr.map, instr.dtype));
      else if (instr.kind == Instr::Kind::gather)
        touch(instr.buffer, bytes_of_table(instr));
      else if (instr.kind == Instr::Kind::random)
        touch(instr.buffer, {0, ir::bytes_of(kernel_.inputs[instr.buffer].type())});
    }
    for (ir::ByteRange& range : kernel_.touched) range.begin = range.begin / alignment_ * alignment_;
    for (Instr& instr : nest_.code) {
      if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::gather)
        instr.map.shift(-static_cast<int64_t>(kernel_.touched[instr.buffer].begin / size_of(instr.dtype)));
    }
  }

  static ir::ByteRange bytes_of_table(const Instr& gather) {
    ir::ByteRange range = ir::bytes_reached(gather.map, gather.dtype);
    const int64_t way = (static_cast<int64_t>(gather.bits) - 1) * gather.stride;
    const size_t bytes = static_cast<size_t>(std::abs(way)) * size_of(gather.dtype);
    if (range.size() == 0) return range;
    return way < 0 ? ir::ByteRange{range.begin - bytes, range.end} : ir::ByteRange{range.begin, range.end + bytes};
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
        // Rows and elements merge in a plain elementwise nest, where what is per row is the same along the last axis of
        // rows: a number, or one for every channel.
        const bool plain = space_.axes.empty() && space_.inner.empty() &&
                           std::all_of(nest_.code.begin(), nest_.code.end(), [&](const Instr& instr) {
                             return !instr.per_row || !has_map(instr) ||
                                    (instr.kind == Instr::Kind::load && instr.map.is_constant_along(left));
                           });
        if (!plain || !mergeable(left, false)) continue;
        merge(left, false);
        --nest_.row_rank;
        for (Instr& instr : nest_.code) {
          if (instr.per_row && has_map(instr)) instr.map.keep_leading(nest_.row_rank);
        }
        continue;
      }
      const bool in_rows = axis < nest_.row_rank;
      if (mergeable(left, in_rows)) merge(left, in_rows);
    }
  }

  const GroupSpace& space_;
  std::vector<Member> members_;
  const size_t alignment_;
  ir::LoopNest nest_;
  FusedKernel kernel_;
  std::vector<Move> to_space_;
  std::vector<uint32_t> made_;  // per member: the instruction that gives its value
  ByNode<uint32_t> member_of_;
  base::FlatMap<uint64_t, uint32_t> buffers_;
  base::FlatMap<uint64_t, uint32_t> known_;  // instructions by content
};

}  // namespace

FusedKernel build_nest(const GroupSpace& space, std::vector<Member> members, const std::vector<bool>& is_written,
                       const ir::Limits& limits) {
  return Builder(space, std::move(members), limits).run(is_written);
}

void move_stores_back(ir::LoopNest& nest) {
  std::vector<Instr> code, stores;
  code.reserve(nest.code.size());
  std::vector<uint32_t> at(nest.code.size(), 0);
  for (size_t i = 0; i < nest.code.size(); ++i) {
    Instr& instr = nest.code[i];
    for (uint32_t& arg : instr.args) arg = at[arg];
    at[i] = static_cast<uint32_t>(code.size());
    (instr.kind == Instr::Kind::store ? stores : code).push_back(std::move(instr));
  }
  std::move(stores.begin(), stores.end(), std::back_inserter(code));
  nest.code = std::move(code);
}

ir::ByteRange start_at_first_byte(IndexMap& map, DType dtype, size_t alignment) {
  ir::ByteRange range = ir::bytes_reached(map, dtype);
  range.begin = range.begin / alignment * alignment;
  map.shift(-static_cast<int64_t>(range.begin / size_of(dtype)));
  return range;
}

bool is_regrouped(const Dims& shape, const Dims& axes, const Dims& other) {
  const int64_t elements = ir::count(shape);  // of none, nobody could tell rows from their elements
  return elements > 0 && elements == ir::count(other) && (axes.empty() || elements > ir::count(row_shape(shape, axes)));
}

Dims row_shape(const Dims& shape, const Dims& axes) {
  Dims rows = shape;
  for (int64_t axis : axes) rows[static_cast<size_t>(axis)] = 1;
  return rows;
}

IndexMap row_map(const Dims& shape, const Dims& axes) {
  IndexMap map(row_shape(shape, axes));
  map.apply(Move{Op::expand, ir::ShapeAttrs{shape}});
  return map;
}

}  // namespace tenon::plan
