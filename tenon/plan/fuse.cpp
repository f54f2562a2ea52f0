// Greedy fusion in topological order.
//
// Elementwise nodes have no kernel of their own: they are recomputed by whatever reads them, until a reduction, a call
// or a result that must be kept needs them. A reduction joins the group whose reductions it reads over the same rows,
// so that softmax and layer_norm are one group; a kept elementwise value joins the group that computes what it reads.
// Joining is allowed only when everything else the newcomer reads is made by units of a lower level than the group:
// levels grow along every dependency, so the graph of units stays acyclic by construction.

#include "tenon/plan/fuse.h"

#include <algorithm>

#include "tenon/ir/walk.h"
#include "tenon/plan/activation.h"
#include "tenon/plan/epilogue.h"
#include "tenon/plan/lookups.h"
#include "tenon/plan/stored.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr uint32_t kNoUnit = ~0u;

using Reads = std::vector<Read>;

bool same_but_units(const Dims& a, const Dims& b);

// The axes that a column reduction keeps, without those of size 1.
Dims column_axes(const Node& node) {
  const Dims& shape = node.input(0).shape();
  const Dims& folded = node.attrs_as<ir::AxesAttrs>().axes;
  Dims kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    const bool is_folded = std::find(folded.begin(), folded.end(), axis) != folded.end();
    if (!is_folded && shape[static_cast<size_t>(axis)] != 1) kept.push_back(axis);
  }
  return kept;
}

class Fuser {
 public:
  Fuser(const std::vector<NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
        const std::vector<Value>& results, const ByNode<NodeRef>& behind, const ir::Limits& limits)
      : order_(order), kept_(kept), assemblies_(assemblies), results_(results), behind_(behind), limits_(limits) {}

  Nodes stored() {
    uses_ = count_uses(order_, assemblies_);
    find_stored();
    return std::move(stored_);
  }

  std::vector<Unit> run() {
    uses_ = count_uses(order_, assemblies_);
    stored_ = lookups_.stored;
    find_stored();
    for (const NodeRef& node : order_) {
      if (!is_work(*node)) continue;
      if (assemblies_.contains(node.get()))
        place_assembly(node);
      else if (node->info().kind == Kind::reduce && is_column_reduction(*node))
        place_column(node);
      else if (node->info().kind == Kind::reduce)
        place_reduction(node);
      else if (!is_inline(*node, limits_))
        place_call(node);
      else if (stored_.contains(node.get()) && !place_in_epilogue(node))
        place_computed(node);
    }
    find_shared();
    return finish();
  }

 private:
  struct Draft {
    NodeRef call;
    Addends addends;
    GroupSpace space;
    std::vector<Member> members;
    Nodes reads, large_reads;
    uint32_t level = 0;
    size_t work = 0;
    bool is_total = false;  // of micro-batches
    bool looks_up = false, is_behind_states = false;

    bool has(Member::Kind kind, const Node* node) const {
      return std::any_of(members.begin(), members.end(),
                         [&](const Member& member) { return member.kind == kind && member.node.get() == node; });
    }
  };

  static bool is_work(const Node& node) {
    return !node.evaluated() && !ir::is_transparent(node) && node.op() != Op::buffer;
  }

  void find_stored() {
    StoredValues values(kept_, assemblies_, limits_, uses_, stored_);
    for (const NodeRef& node : order_) {
      if (is_work(*node)) values.store_operands(*node);
    }
    for (const NodeRef& node : order_) {
      if (!is_work(*node)) continue;
      const bool may_end_product = limits_.fuses && is_inline(*node, limits_);
      values.decide(node, may_end_product && (epilogues_.adds_to_product(*node) || epilogues_.rounds_sums(node)));
    }
  }

  uint32_t unit_of(const Value& value) const {
    const uint32_t* found = unit_.find(value.node.get());
    return found ? *found : kNoUnit;
  }

  uint32_t level_above(const Reads& reads) const {
    uint32_t level = 0;
    for (const Read& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit != kNoUnit) level = std::max(level, drafts_[unit].level + 1);
    }
    return level;
  }

  // Whether an access sees a value as this map does all elements of what it was made for. The first elements of all
  // rows, spread over them, look like one value per row: they are part of something larger.
  static bool is_seen_by(const ir::IndexMap& map, const Read& access) {
    if (!(access.map == map)) return false;
    const ir::View& view = map.views().back();
    int64_t elements = 1;
    for (size_t axis = 0; axis < view.shape.size(); ++axis) {
      if (view.strides[axis] != 0 || view.shape[axis] == 0) elements *= view.shape[axis];
    }
    return ir::count(access.value.shape()) == elements;
  }

  // Whether a value that reads this may be computed inside the group: what it reads of the group itself must be the
  // group's own rows, everything else must be made earlier.
  bool fits(const Draft& draft, uint32_t index, const Reads& reads, size_t work, const ir::IndexMap& whole,
            const ir::IndexMap& row) const {
    for (const Read& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit == index) {
        if (access.as_a_whole || !(is_seen_by(whole, access) || is_seen_by(row, access))) return false;
        if (draft.has(Member::Kind::column, access.value.node.get())) return false;
      } else if (unit != kNoUnit && drafts_[unit].level >= draft.level) {
        return false;
      }
    }
    size_t buffers = draft.reads.size() + draft.members.size() + 1;
    base::SmallVector<const Node*, 8> fresh;
    for (const Read& access : reads) {
      const Node* node = access.value.node.get();
      if (unit_of(access.value) != index && !draft.reads.contains(node) &&
          std::find(fresh.begin(), fresh.end(), node) == fresh.end())
        fresh.push_back(node);
    }
    return buffers + fresh.size() <= limits_.max_buffers && draft.work + work <= limits_.max_instructions;
  }

  static bool looks_up(const Expression& expression) {
    return std::any_of(expression.code.begin(), expression.code.end(),
                       [](const ir::Instr& instr) { return instr.kind == ir::Instr::Kind::gather; });
  }

  // See plan/lookups.h.
  bool is_safe_with(const Draft& draft, const Node* node, const Expression& expression) const {
    if (!draft.looks_up && !looks_up(expression)) return true;
    return !draft.is_behind_states && !lookups_.behind_states.contains(node);
  }

  // Something large that both read, or something that the one makes and the other reads. Common weights are no reason:
  // they would tie micro-batches together.
  bool shares_a_read(const Draft& draft, uint32_t index, const Reads& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](const Read& access) {
      if (unit_of(access.value) == index) return true;
      return is_large(access, draft.space.shape) && draft.large_reads.contains(access.value.node.get());
    });
  }

  // Whether more than half as many elements are read as the space has; a slice of an arena is as large as the slice.
  static bool is_large(const Read& access, const Dims& space) {
    const ir::View& view = access.map.views().back();
    int64_t elements = 1;
    for (size_t axis = 0; axis < view.shape.size(); ++axis) {
      if (view.strides[axis] != 0) elements *= view.shape[axis];
    }
    return 2 * std::min(elements, ir::count(access.value.shape())) > ir::count(space);
  }

  // The only units worth joining: those that make something of `reads`, then those that read something of it too,
  // newest first.
  std::vector<uint32_t> neighbours(const Reads& reads) const {
    if (!limits_.fuses) return {};
    std::vector<uint32_t> makers, others;
    for (const Read& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit != kNoUnit) makers.push_back(unit);
      const std::vector<uint32_t>* readers = readers_.find(access.value.node.get());
      if (!readers) continue;
      const size_t first = readers->size() > 16 ? readers->size() - 16 : 0;  // keeps planning linear
      others.insert(others.end(), readers->begin() + static_cast<ptrdiff_t>(first), readers->end());
    }
    for (std::vector<uint32_t>* list : {&makers, &others}) {
      std::sort(list->begin(), list->end(), std::greater<>());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    makers.insert(makers.end(), others.begin(), others.end());
    return makers;
  }

  void note_reads(uint32_t index, const NodeRef& node, const Reads& reads) {
    Draft& draft = drafts_[index];
    unit_[node.get()] = index;
    for (const Read& access : reads) {
      if (unit_of(access.value) == index) continue;
      if (is_large(access, draft.space.shape)) draft.large_reads.insert(access.value.node.get());
      if (draft.reads.insert(access.value.node.get())) readers_[access.value.node.get()].push_back(index);
    }
  }

  void join(uint32_t index, Member::Kind kind, const NodeRef& node, Expression expression) {
    drafts_[index].work += expression.work;
    drafts_[index].looks_up |= looks_up(expression);
    drafts_[index].is_behind_states |= lookups_.behind_states.contains(node.get());
    note_reads(index, node, expression.reads);
    drafts_[index].members.push_back({kind, node, std::move(expression)});
  }

  // ---- placing nodes ----

  void place_reduction(const NodeRef& node) {
    const Dims& shape = node->input(0).shape();
    const Dims& axes = node->attrs_as<ir::AxesAttrs>().axes;
    Expression operand = expression_behind(node->input(0), stored_, limits_);
    const ir::IndexMap whole(shape), row = row_map(shape, axes);
    uint32_t target = kNoUnit;
    for (uint32_t index : neighbours(operand.reads)) {
      const Draft& draft = drafts_[index];
      const GroupSpace& space = draft.space;
      if (draft.call || !(space.shape == shape) || !is_safe_with(draft, node.get(), operand)) continue;
      // An elementwise group takes the reduction's rows, unless that would leave it too few to share out.
      if (space.axes.empty() ? !worth_rows(shape, axes) : !(space.axes == axes)) continue;
      if (!space.inner.empty() && !(space.inner == without_units(axes, shape))) continue;
      if (!shares_a_read(draft, index, operand.reads) || !fits(draft, index, operand.reads, operand.work, whole, row))
        continue;
      target = index;
      break;
    }
    if (target == kNoUnit) target = open_group(shape, level_above(operand.reads));
    drafts_[target].space.axes = axes;
    join(target, Member::Kind::reduction, node, std::move(operand));
  }

  void place_column(const NodeRef& node) {
    const Dims& shape = node->input(0).shape();
    const Dims kept = column_axes(*node);
    Expression operand = expression_behind(node->input(0), stored_, limits_);
    const ir::IndexMap whole(shape);
    uint32_t target = kNoUnit;
    for (uint32_t index : neighbours(operand.reads)) {
      const Draft& draft = drafts_[index];
      const GroupSpace& space = draft.space;
      if (draft.call || !(space.shape == shape || takes_rows_of(draft, shape, kept))) continue;
      if (!is_safe_with(draft, node.get(), operand)) continue;
      if (!space.axes.empty() && !(without_units(space.axes, space.shape) == kept)) continue;
      if (!space.inner.empty() && !(space.inner == kept)) continue;
      const ir::IndexMap row = space.axes.empty() ? whole : row_map(space.shape, space.axes);
      if (!shares_a_read(draft, index, operand.reads) || !fits(draft, index, operand.reads, operand.work, whole, row))
        continue;
      target = index;
      break;
    }
    if (target == kNoUnit) target = open_group(shape, level_above(operand.reads));
    drafts_[target].space.shape = shape;
    drafts_[target].space.inner = kept;
    join(target, Member::Kind::column, node, std::move(operand));
  }

  // Whether a group that writes a single value, its rows flattened for a matrix product, can as well work in this
  // shape, whose columns are the same: the gradient of an activation and that of the bias before it.
  static bool takes_rows_of(const Draft& draft, const Dims& shape, const Dims& columns) {
    const GroupSpace& space = draft.space;
    const bool is_single = draft.members.size() == 1 && draft.members[0].kind == Member::Kind::result;
    if (!is_single || !space.axes.empty() || !space.inner.empty() || draft.is_total) return false;
    const size_t first = static_cast<size_t>(columns.front()), width = shape.size() - first;
    const bool has_columns = ir::count(space.shape) == ir::count(shape) && space.shape.size() > width &&
                             std::equal(shape.begin() + static_cast<ptrdiff_t>(first), shape.end(),
                                        space.shape.end() - static_cast<ptrdiff_t>(width));
    if (!has_columns) return false;
    const Reads reads = seen_from(draft.members[0].expression.reads, shape);
    // What strides do not describe would be slow.
    return std::all_of(reads.begin(), reads.end(), [](const Read& read) { return read.map.is_strided(); });
  }

  uint32_t open_group(const Dims& shape, uint32_t level) {
    Draft draft;
    draft.space.shape = shape;
    draft.level = level;
    drafts_.push_back(std::move(draft));
    return static_cast<uint32_t>(drafts_.size() - 1);
  }

  static Dims without_units(const Dims& axes, const Dims& shape) {
    Dims kept;
    for (int64_t axis : axes) {
      if (shape[static_cast<size_t>(axis)] != 1) kept.push_back(axis);
    }
    return kept;
  }

  bool worth_rows(const Dims& shape, const Dims& axes) const {
    return ir::count(row_shape(shape, axes)) >= limits_.few_rows || ir::count(shape) <= 4096;
  }

  // The same reads when the value behind them is looked at in another shape.
  static Reads seen_from(Reads reads, const Dims& shape) {
    for (Read& read : reads) {
      if (!read.as_a_whole) read.map.apply(ir::Move{Op::reshape, ir::ShapeAttrs{shape}});
    }
    return reads;
  }

  void place_computed(const NodeRef& node) {
    Expression made = expression_of(node, stored_, limits_);
    if (!place_as_activation(node, made)) place_elementwise(node, std::move(made));
  }

  void place_elementwise(const NodeRef& node, Expression made) {
    const Dims& shape = node->type().shape;
    const bool is_total = assemblies_.totals.contains(node.get());  // joined with others, it would wait for theirs
    const uint32_t earliest = earliest_level(node);
    for (uint32_t index : is_total ? std::vector<uint32_t>() : neighbours(made.reads)) {
      const Draft& draft = drafts_[index];
      const GroupSpace& space = draft.space;
      if (draft.call || draft.is_total || draft.level < earliest || !shares_a_read(draft, index, made.reads)) continue;
      if (!is_safe_with(draft, node.get(), made)) continue;
      const bool alike = space.shape == shape;
      if (alike || is_regrouped(space.shape, space.axes, shape)) {
        // Rows that a matrix product wants flattened are still the same rows.
        const ir::IndexMap whole(space.shape), row = space.axes.empty() ? whole : row_map(space.shape, space.axes);
        if (!fits(draft, index, alike ? made.reads : seen_from(made.reads, space.shape), made.work, whole, row))
          continue;
      } else if (!space.axes.empty() && same_but_units(row_shape(space.shape, space.axes), shape)) {
        // One value per row: reductions are read as they are, anything else must not come from inside.
        ir::IndexMap row(row_shape(space.shape, space.axes));
        row.apply(ir::Move{Op::reshape, ir::ShapeAttrs{shape}});
        if (!fits(draft, index, made.reads, made.work, row, row) || reads_results(draft, made.reads)) continue;
      } else {
        continue;
      }
      return join(index, Member::Kind::result, node, std::move(made));
    }
    const uint32_t target = open_group(shape, std::max(earliest, level_above(made.reads)));
    drafts_[target].is_total = is_total;
    join(target, Member::Kind::result, node, std::move(made));
  }

  uint32_t earliest_level(const NodeRef& node) const {
    const NodeRef* first = behind_.find(node.get());
    const uint32_t* unit = first ? unit_.find(first->get()) : nullptr;
    return unit ? drafts_[*unit].level + 1 : 0;
  }

  static bool reads_results(const Draft& draft, const Reads& reads) {
    return std::any_of(reads.begin(), reads.end(),
                       [&](const Read& read) { return draft.has(Member::Kind::result, read.value.node.get()); });
  }

  void place_call(const NodeRef& node) {
    Reads reads;
    for (const Value& input : node->inputs()) {
      const Value& base = ir::base_of(input);
      reads.push_back({base, ir::IndexMap(base.shape())});
    }
    place_alone(node, reads);
  }

  void place_assembly(const NodeRef& node) {
    Reads reads;
    for (const Piece& piece : assemblies_.at(node.get())) {
      const Value& base = ir::base_of(piece.value);
      reads.push_back({base, ir::IndexMap(base.shape())});
    }
    place_alone(node, reads);
  }

  void place_alone(const NodeRef& node, const Reads& reads) {
    const uint32_t target = open_group({}, level_above(reads));
    drafts_[target].call = node;
    note_reads(target, node, reads);
  }

  // ---- epilogues ----

  // The product must have no other reader; then no unit depends on it yet, and it may wait for the bias and the
  // residual.
  bool place_in_epilogue(const NodeRef& node) {
    if (!limits_.fuses) return false;
    auto matched = epilogues_.match(node);
    if (!matched) return false;
    const uint32_t unit = unit_of({matched->contract, 0});
    if (unit == kNoUnit || drafts_[unit].addends.result) return false;
    Draft& draft = drafts_[unit];
    Reads reads;
    for (const Value& value : {matched->addends.bias, matched->addends.residual}) {
      if (value) reads.push_back({value, ir::IndexMap(value.shape())});
    }
    draft.level = std::max(draft.level, level_above(reads));
    draft.addends = std::move(matched->addends);
    note_reads(unit, node, reads);
    return true;
  }

  // An activation of a product's result, or of its gradient, that the product can compute itself. Values that are
  // computed again are there because the product is long past.
  bool place_as_activation(const NodeRef& node, const Expression& made) {
    if (!limits_.fuses || !limits_.gelu_epilogue || size_of(node->type().dtype) != 2 || behind_.contains(node.get()))
      return false;
    const bool is_plain = std::all_of(made.reads.begin(), made.reads.end(), [&](const Read& read) {
      return !read.as_a_whole && read.map.is_contiguous() && read.value.dtype() == node->type().dtype &&
             ir::count(read.value.shape()) == ir::count(node->type().shape);
    });
    if (!is_plain) return false;
    if (made.reads.size() == 1) return computes_gelu(made) && place_gelu(node, made.reads[0]);
    for (size_t factor = 0; made.reads.size() == 2 && factor < 2; ++factor) {
      if (computes_gelu_slope(made, factor)) return place_slope(node, made.reads[factor], made.reads[1 - factor]);
    }
    return false;
  }

  bool place_gelu(const NodeRef& node, const Read& read) {
    const uint32_t unit = unit_of(read.value);
    if (unit == kNoUnit) return false;
    Addends& addends = drafts_[unit].addends;
    if (addends.result != read.value.node || addends.residual || addends.activated || addends.slope_at) return false;
    addends.activated = node;
    unit_[node.get()] = unit;
    return true;
  }

  bool place_slope(const NodeRef& node, const Read& product, const Read& at) {
    if (!limits_.slope_epilogue) return false;
    const uint32_t unit = unit_of(product.value);
    if (unit == kNoUnit || kept_.contains(product.value.node.get()) || uses_.at(product.value.node.get()) != 1)
      return false;
    Draft& draft = drafts_[unit];
    if (!draft.call || draft.call->op() != Op::contract || draft.addends.result) return false;
    draft.addends.result = node;
    draft.addends.slope_at = at.value;
    draft.level = std::max(draft.level, level_above({at}));
    note_reads(unit, node, {at});
    return true;
  }

  // What another unit reads, or is kept, is written; everything else lives and dies inside its group.
  void find_shared() {
    for (const Draft& draft : drafts_) {
      for (const Node* read : draft.reads) shared_.insert(read);
    }
  }
  bool is_written(const Node* node) const { return !limits_.fuses || shared_.contains(node) || kept_.contains(node); }

  // Depth first: a unit right behind the units it reads, so that values are short-lived.
  std::vector<Unit> finish() {
    std::vector<Unit> units;
    std::vector<bool> entered(drafts_.size());
    struct Visit {
      uint32_t index;
      std::vector<uint32_t> waits_for;
    };
    std::vector<Visit> stack;
    const auto enter = [&](uint32_t index) {
      if (entered[index]) return;
      entered[index] = true;
      std::vector<uint32_t> before;
      for (const Node* read : drafts_[index].reads) {
        const uint32_t* found = unit_.find(read);
        if (found && *found != index) before.push_back(*found);
      }
      std::sort(before.begin(), before.end(), std::greater<>());  // popped from the back: oldest first
      // What is added up goes first: the earlier micro-batches.
      const uint32_t sum = drafts_[index].addends.residual ? unit_of(drafts_[index].addends.residual) : kNoUnit;
      std::stable_partition(before.begin(), before.end(),
                            [&](uint32_t unit) { return unit != sum && !drafts_[unit].is_total; });
      stack.push_back({index, std::move(before)});
    };
    std::vector<uint32_t> roots;
    for (const Value& result : results_) {
      const uint32_t unit = unit_of(ir::base_of(result));
      if (unit != kNoUnit) roots.push_back(unit);
    }
    for (uint32_t index = 0; index < drafts_.size(); ++index) roots.push_back(index);
    for (const uint32_t root : roots) {
      enter(root);
      while (!stack.empty()) {
        if (!stack.back().waits_for.empty()) {
          const uint32_t next = stack.back().waits_for.back();
          stack.back().waits_for.pop_back();
          enter(next);
          continue;
        }
        const uint32_t index = stack.back().index;
        stack.pop_back();
        Unit unit;
        unit.call = drafts_[index].call ? drafts_[index].call : lone_lookup(drafts_[index]);
        unit.addends = std::move(drafts_[index].addends);
        if (const auto* pieces = assemblies_.find(unit.call.get())) {
          for (const Piece& piece : *pieces) unit.pieces.push_back(piece.value);
        }
        if (!unit.call) unit.fused = built(drafts_[index]);
        units.push_back(std::move(unit));
      }
    }
    return units;
  }

  // A gather with nothing else in its kernel is better called, where there is the call: it copies rows as they lie. On
  // the cpu 8192 rows of 768 bf16 out of 50257 took 3.8 times as long inside a kernel, which makes f32 of them and
  // back, 2048 columns out of 2048 three times as long, and rows of 4 f32 1.4 times. Null if there is more to do.
  NodeRef lone_lookup(const Draft& draft) const {
    if (limits_.missing_calls.contains(Op::gather) || draft.members.size() != 1) return {};
    const Member& only = draft.members[0];
    const bool is_lookup = only.kind == Member::Kind::result && only.node->op() == Op::gather;
    const std::vector<ir::Instr>& code = only.expression.code;  // the indices, then the gather itself
    return is_lookup && code.size() == 2 && code[0].kind == ir::Instr::Kind::load ? only.node : NodeRef();
  }

  FusedKernel built(Draft& draft) const {
    std::stable_sort(draft.members.begin(), draft.members.end(),
                     [](const Member& a, const Member& b) { return a.kind < b.kind; });
    std::vector<bool> written;
    for (const Member& member : draft.members)
      written.push_back(member.kind == Member::Kind::column || is_written(member.node.get()));
    return build_nest(draft.space, std::move(draft.members), written, limits_);
  }

  const std::vector<NodeRef>& order_;
  const Nodes& kept_;
  const Assemblies& assemblies_;
  const std::vector<Value>& results_;
  const ByNode<NodeRef>& behind_;
  const ir::Limits& limits_;
  const StatesAndLookups lookups_ = find_lookups(order_, kept_, assemblies_, limits_);
  Nodes stored_;
  ByNode<uint32_t> unit_;  // the unit that computes a stored node or a reduction
  ByNode<std::vector<uint32_t>> readers_;
  Uses uses_;
  Nodes shared_;  // read by another unit than the one that makes it
  std::vector<Draft> drafts_;
  EpilogueMatcher epilogues_{limits_, kept_, stored_, uses_, [this](const Value& value) { return unit_of(value); }};
};

// Equal but for axes of size 1.
bool same_but_units(const Dims& a, const Dims& b) {
  const auto squeezed = [](const Dims& shape) {
    Dims kept;
    for (int64_t size : shape) {
      if (size != 1) kept.push_back(size);
    }
    return kept;
  };
  return squeezed(a) == squeezed(b);
}

}  // namespace

std::vector<Unit> fuse(const std::vector<NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                       const std::vector<Value>& results, const ByNode<NodeRef>& behind, const ir::Limits& limits) {
  return Fuser(order, kept, assemblies, results, behind, limits).run();
}

Nodes find_stored(const std::vector<NodeRef>& order, const Nodes& kept, const Assemblies& assemblies,
                  const ir::Limits& limits) {
  return Fuser(order, kept, assemblies, {}, {}, limits).stored();
}

bool is_column_reduction(const Node& node) {
  constexpr int64_t kLeastColumns = 16;  // fewer are better folded along their stride
  if (node.info().kind != Kind::reduce) return false;
  const Dims& shape = node.input(0).shape();
  const Dims kept = column_axes(node);
  int64_t columns = 1, last_folded = -1;
  for (int64_t axis : kept) columns *= shape[static_cast<size_t>(axis)];
  for (int64_t axis : node.attrs_as<ir::AxesAttrs>().axes) {
    if (shape[static_cast<size_t>(axis)] != 1) last_folded = std::max(last_folded, axis);
  }
  return columns >= kLeastColumns && last_folded >= 0 && last_folded < kept.front() && ir::count(shape) > 0;
}

}  // namespace tenon::plan
