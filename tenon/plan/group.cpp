// Greedy fusion in topological order.
//
// Elementwise nodes have no kernel of their own: they are recomputed by whatever reads them, until a reduction, a call
// or a result that must be kept needs them. A reduction joins the group whose reductions it reads over the same rows,
// so that softmax and layer_norm are one group; a kept elementwise value joins the group that computes what it reads.
// Joining is allowed only when everything else the newcomer reads is made by units of a lower level than the group:
// levels grow along every dependency, so the graph of units stays acyclic by construction.

#include "tenon/plan/group.h"

#include <algorithm>

#include "tenon/base/hash.h"
#include "tenon/ir/build.h"
#include "tenon/plan/epilogue.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

using ir::Kind;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

constexpr size_t kMaxInlined = 48;  // nodes recomputed inside one kernel behind one value: bounds kernels and planning
constexpr size_t kMaxWork = 160;    // instructions of one kernel
constexpr size_t kMaxBuffers = 32;  // inputs and outputs of one kernel
constexpr int64_t kManyRows = 16;   // fewer rows than this leave threads idle once a kernel works row by row
constexpr uint32_t kNoUnit = ~0u;

bool is_transparent(const Node& node) { return node.info().kind == Kind::movement || node.info().is(ir::kPassThrough); }

// A value that a kernel reads and how it sees it, or a reduction that it may compute itself.
struct Access {
  Value value;
  ir::IndexMap map;
  bool as_a_whole = false;  // every element needs all of it: the state of random numbers
};

// What the inlined expression behind a value reads, and how many ops it is.
struct Reads : std::vector<Access> {
  size_t work = 1;
};

bool same_but_units(const Dims& a, const Dims& b);

class Fuser {
 public:
  Fuser(const std::vector<NodeRef>& order, const std::unordered_set<const Node*>& kept, const Assemblies& assemblies,
        const std::vector<Value>& results, bool alone)
      : order_(order), kept_(kept), assemblies_(assemblies), results_(results), alone_(alone) {}

  std::vector<Unit> run() {
    find_stored();
    for (const NodeRef& node : order_) {
      if (node->evaluated() || is_transparent(*node) || node->op() == Op::buffer) continue;
      if (assemblies_.contains(node.get()))
        place_assembly(node);
      else if (node->info().kind == Kind::reduce && is_column_reduction(*node))
        place_column(node);
      else if (node->info().kind == Kind::reduce)
        place_reduction(node);
      else if (!is_inline(*node))
        place_call(node);
      else if (stored_.contains(node.get()) && !place_in_epilogue(node))
        place_elementwise(node);
    }
    find_shared();
    return finish();
  }

 private:
  struct Draft {
    NodeRef call;
    Epilogue epilogue;
    Dims shape, axes, inner;
    std::vector<NodeRef> reductions;
    std::vector<NodeRef> columns;  // column reductions: complete only when the group is
    std::vector<NodeRef> results;  // elementwise nodes that must be written
    std::unordered_set<const Node*> reads, large_reads;
    uint32_t level = 0;
    size_t work = 0;
    bool is_total = false;  // of micro-batches
  };

  // ---- what must be stored ----

  // The inlined ops behind a node, and the full-sized values that they read.
  struct Behind {
    std::vector<const Node*> inlined, big_reads;
  };

  void find_stored() {
    std::unordered_map<const Node*, Behind> behind;
    uses_ = count_uses();
    for (const NodeRef& node : order_) {
      if (node->evaluated() || node->op() == Op::buffer || is_transparent(*node)) continue;
      if (alone_ || kept_.contains(node.get()) || assemblies_.totals.contains(node.get())) stored_.insert(node.get());
      if (const auto assembly = assemblies_.find(node.get()); assembly != assemblies_.end()) {
        stored_.insert(node.get());
        for (const Piece& piece : assembly->second) stored_.insert(base_of(piece.value).node.get());
      } else if (is_inline(*node)) {
        Behind all = behind_operands(*node, behind);
        all.inlined.push_back(node.get());
        if (all.inlined.size() > kMaxInlined || cheaper_stored(all.big_reads.size(), uses_of(*node)) ||
            (!alone_ && epilogues_.adds_to_product(*node))) {
          stored_.insert(node.get());
        }
        if (!stored_.contains(node.get())) behind[node.get()] = std::move(all);
      } else if (node->info().kind != Kind::reduce) {
        for (const Value& input : node->inputs()) {  // calls read memory
          const Value base = base_of(input);
          if (is_inline(*base.node) || base.node->info().kind == Kind::reduce) stored_.insert(base.node.get());
        }
      }
    }
  }

  // Writing a value once and reading it back beats reading all that it is made of for every user: a residual stream.
  static bool cheaper_stored(size_t big_reads, size_t uses) {
    return (big_reads >= 2 && uses >= 3) || (big_reads >= 3 && uses >= 2);
  }

  size_t uses_of(const Node& node) const {
    const auto found = uses_.find(&node);
    return found == uses_.end() ? 0 : found->second;
  }

  std::unordered_map<const Node*, size_t> count_uses() const {
    std::unordered_map<const Node*, size_t> uses;
    for (const NodeRef& node : order_) {
      if (node->evaluated() || is_transparent(*node)) continue;
      if (const auto assembly = assemblies_.find(node.get()); assembly != assemblies_.end()) {
        for (const Piece& piece : assembly->second) ++uses[base_of(piece.value).node.get()];
        continue;
      }
      for (const Value& input : node->inputs()) ++uses[base_of(input).node.get()];
    }
    return uses;
  }

  Behind behind_operands(const Node& node, const std::unordered_map<const Node*, Behind>& behind) const {
    Behind all;
    const auto add = [](std::vector<const Node*>& list, const Node* item) {
      if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
    };
    for (const Value& input : node.inputs()) {
      const Value base = base_of(input);
      const auto found = behind.find(base.node.get());
      if (found == behind.end()) {
        if (2 * elements_behind(input) > ir::count(node.type().shape)) add(all.big_reads, base.node.get());
        continue;
      }
      for (const Node* inner : found->second.inlined) add(all.inlined, inner);
      for (const Node* read : found->second.big_reads) add(all.big_reads, read);
    }
    return all;
  }

  // How many different elements are seen through the views around a value, at most.
  static int64_t elements_behind(const Value& value) {
    int64_t fewest = ir::count(value.shape());
    for (Value v = value; !v.node->evaluated() && is_transparent(*v.node);) {
      Value next = v.node->input(v.node->op() == Op::custom ? v.index : 0);
      v = std::move(next);
      fewest = std::min(fewest, ir::count(v.shape()));
    }
    return fewest;
  }

  // ---- what a value reads ----

  // Everything that the inlined expression behind `value` reads, seen from the shape of `value`.
  Reads accesses(const Value& value) const {
    Reads found;
    std::unordered_set<uint64_t> seen;
    std::vector<ir::Move> moves;
    collect(value, moves, found, seen, true);
    return found;
  }

  // `moves` lead from the reader's shape down to the value's: the last is applied first. Depth is bounded by
  // kMaxInlined; chains of views, which nothing bounds, are walked in a loop.
  void collect(const Value& top, std::vector<ir::Move>& moves, Reads& found, std::unordered_set<uint64_t>& seen,
               bool is_root = false) const {
    const size_t outer_moves = moves.size();
    Value value = top;
    while (!value.node->evaluated() && is_transparent(*value.node)) {
      const Node& view = *value.node;
      if (view.info().kind == Kind::movement) moves.push_back(ir::move_of(view.op(), view.attrs()));
      Value next = view.input(view.op() == Op::custom ? value.index : 0);  // before `value` lets its node go
      value = std::move(next);
      is_root = false;
    }
    collect_base(value, moves, found, seen, is_root);
    moves.resize(outer_moves);
  }

  void collect_base(const Value& value, std::vector<ir::Move>& moves, Reads& found, std::unordered_set<uint64_t>& seen,
                    bool is_root) const {
    const Node& node = *value.node;
    ir::IndexMap map(value.shape());
    for (size_t i = moves.size(); i-- > 0;) map.apply(moves[i]);
    const uint64_t key = base::mix(base::mix(reinterpret_cast<uintptr_t>(&node), value.index), map.hash());
    if (!seen.insert(key).second) return;
    const bool inlined = !node.evaluated() && is_inline(node) && (is_root || !stored_.contains(&node));
    if (!inlined && !(is_root && node.info().kind == Kind::reduce)) {
      found.push_back({value, std::move(map)});
      return;
    }
    ++found.work;
    if (node.op() == Op::random_bits) {  // its state is read as a whole, not through the view of its words
      found.push_back({node.input(0), ir::IndexMap(node.input(0).shape()), true});
      return;
    }
    for (const Value& input : node.inputs()) collect(input, moves, found, seen);
  }

  uint32_t unit_of(const Value& value) const {
    const auto found = unit_.find(value.node.get());
    return found == unit_.end() ? kNoUnit : found->second;
  }

  uint32_t level_above(const Reads& reads) const {
    uint32_t level = 0;
    for (const Access& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit != kNoUnit) level = std::max(level, drafts_[unit].level + 1);
    }
    return level;
  }

  // Whether a value that reads this may be computed inside the group: what it reads of the group itself must be the
  // group's own rows, everything else must be made earlier.
  bool fits(const Draft& draft, uint32_t index, const Reads& reads, const ir::IndexMap& whole,
            const ir::IndexMap& row) const {
    for (const Access& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit == index) {
        if (!(access.map == whole) && !(access.map == row)) return false;
        const auto& columns = draft.columns;
        if (std::find(columns.begin(), columns.end(), access.value.node) != columns.end()) return false;
      } else if (unit != kNoUnit && drafts_[unit].level >= draft.level) {
        return false;
      }
    }
    size_t buffers = draft.reads.size() + draft.reductions.size() + draft.columns.size() + draft.results.size() + 1;
    for (const Access& access : reads) buffers += draft.reads.contains(access.value.node.get()) ? 0 : 1;
    return buffers <= kMaxBuffers && draft.work + reads.work <= kMaxWork;
  }

  // Something large that both read, or something that the one makes and the other reads. Common weights are no reason:
  // they would tie micro-batches together.
  bool shares_a_read(const Draft& draft, uint32_t index, const Reads& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](const Access& access) {
      if (unit_of(access.value) == index) return true;
      return is_large(access, draft.shape) && draft.large_reads.contains(access.value.node.get());
    });
  }

  // Whether more than half as many elements are read as the space has; a slice of an arena is as large as the slice.
  static bool is_large(const Access& access, const Dims& space) {
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
    if (alone_) return {};
    std::vector<uint32_t> makers, others;
    for (const Access& access : reads) {
      const uint32_t unit = unit_of(access.value);
      if (unit != kNoUnit) makers.push_back(unit);
      const auto readers = readers_.find(access.value.node.get());
      if (readers == readers_.end()) continue;
      const size_t first = readers->second.size() > 16 ? readers->second.size() - 16 : 0;  // keeps planning linear
      others.insert(others.end(), readers->second.begin() + static_cast<ptrdiff_t>(first), readers->second.end());
    }
    for (std::vector<uint32_t>* list : {&makers, &others}) {
      std::sort(list->begin(), list->end(), std::greater<>());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    makers.insert(makers.end(), others.begin(), others.end());
    return makers;
  }

  void join(uint32_t index, const NodeRef& node, const Reads& reads) {
    Draft& draft = drafts_[index];
    draft.work += reads.work;
    unit_[node.get()] = index;
    for (const Access& access : reads) {
      if (unit_of(access.value) == index) continue;
      if (is_large(access, draft.shape)) draft.large_reads.insert(access.value.node.get());
      if (draft.reads.insert(access.value.node.get()).second) readers_[access.value.node.get()].push_back(index);
    }
  }

  uint32_t open(Draft draft) {
    drafts_.push_back(std::move(draft));
    return static_cast<uint32_t>(drafts_.size() - 1);
  }

  // ---- placing nodes ----

  void place_reduction(const NodeRef& node) {
    const Value operand = node->input(0);
    const Dims& axes = node->attrs_as<ir::AxesAttrs>().axes;
    const Reads reads = accesses_of_operand(operand);
    const ir::IndexMap whole(operand.shape()), row = row_map(operand.shape(), axes);
    uint32_t target = kNoUnit;
    for (uint32_t index : neighbours(reads)) {
      const Draft& draft = drafts_[index];
      if (draft.call || !(draft.shape == operand.shape())) continue;
      // An elementwise group takes the reduction's rows, unless that would leave it too few to share out.
      if (draft.axes.empty() ? !worth_rows(operand.shape(), axes) : !(draft.axes == axes)) continue;
      if (!draft.inner.empty() && !(draft.inner == without_units(axes, operand.shape()))) continue;
      if (!shares_a_read(draft, index, reads) || !fits(draft, index, reads, whole, row)) continue;
      target = index;
      break;
    }
    if (target == kNoUnit) target = open_group(operand.shape(), level_above(reads));
    drafts_[target].axes = axes;
    drafts_[target].reductions.push_back(node);
    join(target, node, reads);
  }

  void place_column(const NodeRef& node) {
    const Value operand = node->input(0);
    const Dims kept = column_axes(*node);
    const Reads reads = accesses_of_operand(operand);
    const ir::IndexMap whole(operand.shape());
    uint32_t target = kNoUnit;
    for (uint32_t index : neighbours(reads)) {
      const Draft& draft = drafts_[index];
      if (draft.call || !(draft.shape == operand.shape() || takes_rows_of(draft, operand.shape(), kept))) continue;
      if (!draft.axes.empty() && !(without_units(draft.axes, draft.shape) == kept)) continue;
      if (!draft.inner.empty() && !(draft.inner == kept)) continue;
      const ir::IndexMap row = draft.axes.empty() ? whole : row_map(draft.shape, draft.axes);
      if (!shares_a_read(draft, index, reads) || !fits(draft, index, reads, whole, row)) continue;
      target = index;
      break;
    }
    if (target == kNoUnit) target = open_group(operand.shape(), level_above(reads));
    drafts_[target].shape = operand.shape();
    drafts_[target].inner = kept;
    drafts_[target].columns.push_back(node);
    join(target, node, reads);
  }

  // Whether a group that writes a single value, its rows flattened for a matrix product, can as well work in this
  // shape, whose columns are the same: the gradient of an activation and that of the bias before it.
  bool takes_rows_of(const Draft& draft, const Dims& shape, const Dims& columns) const {
    if (draft.results.size() != 1 || !draft.axes.empty() || !draft.inner.empty() || draft.is_total) return false;
    const size_t first = static_cast<size_t>(columns.front()), width = shape.size() - first;
    const bool has_columns = ir::count(draft.shape) == ir::count(shape) && draft.shape.size() > width &&
                             std::equal(shape.begin() + static_cast<ptrdiff_t>(first), shape.end(),
                                        draft.shape.end() - static_cast<ptrdiff_t>(width));
    if (!has_columns) return false;
    const Reads reads = accesses_in({draft.results[0], 0}, shape);  // what strides do not describe would be slow
    return std::all_of(reads.begin(), reads.end(), [](const Access& read) { return read.map.is_strided(); });
  }

  uint32_t open_group(const Dims& shape, uint32_t level) {
    Draft draft;
    draft.shape = shape;
    draft.level = level;
    return open(std::move(draft));
  }

  static Dims without_units(const Dims& axes, const Dims& shape) {
    Dims kept;
    for (int64_t axis : axes) {
      if (shape[static_cast<size_t>(axis)] != 1) kept.push_back(axis);
    }
    return kept;
  }

  static bool worth_rows(const Dims& shape, const Dims& axes) {
    return ir::count(row_shape(shape, axes)) >= kManyRows || ir::count(shape) <= 4096;
  }

  Reads accesses_of_operand(const Value& operand) const {
    Reads found;
    std::unordered_set<uint64_t> seen;
    std::vector<ir::Move> moves;
    collect(operand, moves, found, seen);
    return found;
  }

  // What a value reads when it is looked at in another shape.
  Reads accesses_in(const Value& value, const Dims& shape) const {
    Reads found;
    std::unordered_set<uint64_t> seen;
    std::vector<ir::Move> moves{{Op::reshape, ir::ShapeAttrs{shape}}};
    collect(value, moves, found, seen, true);
    return found;
  }

  void place_elementwise(const NodeRef& node) {
    const Reads reads = accesses({node, 0});
    const bool is_total = assemblies_.totals.contains(node.get());  // joined with others, it would wait for theirs
    for (uint32_t index : is_total ? std::vector<uint32_t>() : neighbours(reads)) {
      const Draft& draft = drafts_[index];
      if (draft.call || draft.is_total || !shares_a_read(draft, index, reads)) continue;
      const bool alike = draft.shape == node->type().shape;
      if (alike || is_regrouped(draft.shape, draft.axes, node->type().shape)) {
        // Rows that a matrix product wants flattened are still the same rows.
        const ir::IndexMap whole(draft.shape), row = draft.axes.empty() ? whole : row_map(draft.shape, draft.axes);
        if (!fits(draft, index, alike ? reads : accesses_in({node, 0}, draft.shape), whole, row)) continue;
      } else if (!draft.axes.empty() && same_but_units(row_shape(draft.shape, draft.axes), node->type().shape)) {
        // One value per row: reductions are read as they are, anything else must not come from inside.
        ir::IndexMap row(row_shape(draft.shape, draft.axes));
        row.apply(ir::Move{Op::reshape, ir::ShapeAttrs{node->type().shape}});
        if (!fits(draft, index, reads, row, row) || reads_results(draft, reads)) continue;
      } else {
        continue;
      }
      drafts_[index].results.push_back(node);
      return join(index, node, reads);
    }
    const uint32_t target = open_group(node->type().shape, level_above(reads));
    drafts_[target].results.push_back(node);
    drafts_[target].is_total = is_total;
    join(target, node, reads);
  }

  static bool reads_results(const Draft& draft, const Reads& reads) {
    return std::any_of(reads.begin(), reads.end(), [&](const Access& access) {
      return std::find(draft.results.begin(), draft.results.end(), access.value.node) != draft.results.end();
    });
  }

  void place_call(const NodeRef& node) {
    Reads reads;
    for (const Value& input : node->inputs()) {
      const Value base = base_of(input);
      reads.push_back({base, ir::IndexMap(base.shape())});
    }
    const uint32_t target = open_group({}, level_above(reads));
    drafts_[target].call = node;
    join(target, node, reads);
  }

  void place_assembly(const NodeRef& node) {
    Reads reads;
    for (const Piece& piece : assemblies_.at(node.get()))
      reads.push_back({base_of(piece.value), ir::IndexMap(base_of(piece.value).shape())});
    const uint32_t target = open_group({}, level_above(reads));
    drafts_[target].call = node;
    join(target, node, reads);
  }

  // ---- epilogues ----

  // The product must have no other reader; then no unit depends on it yet, and it may wait for the bias and the
  // residual.
  bool place_in_epilogue(const NodeRef& node) {
    if (alone_) return false;
    auto matched = epilogues_.match(node);
    if (!matched) return false;
    const auto unit = unit_.find(matched->contract.get());
    if (unit == unit_.end() || drafts_[unit->second].epilogue.result) return false;
    Draft& draft = drafts_[unit->second];
    Reads reads;
    for (const Value& value : {matched->epilogue.bias, matched->epilogue.residual}) {
      if (value) reads.push_back({value, ir::IndexMap(value.shape())});
    }
    draft.level = std::max(draft.level, level_above(reads));
    draft.epilogue = std::move(matched->epilogue);
    join(unit->second, node, reads);
    return true;
  }

  // What another unit reads, or is kept, is written; everything else lives and dies inside its group.
  void find_shared() {
    for (const Draft& draft : drafts_) shared_.insert(draft.reads.begin(), draft.reads.end());
  }
  bool is_written(const Node* node) const { return alone_ || shared_.contains(node) || kept_.contains(node); }

  // Depth first: a unit right behind the units it reads, so that values are short-lived.
  std::vector<Unit> finish() const {
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
        const auto found = unit_.find(read);
        if (found != unit_.end() && found->second != index) before.push_back(found->second);
      }
      std::sort(before.begin(), before.end(), std::greater<>());  // popped from the back: oldest first
      // What is added up goes first: the earlier micro-batches.
      const uint32_t sum = drafts_[index].epilogue.residual ? unit_of(drafts_[index].epilogue.residual) : kNoUnit;
      std::stable_partition(before.begin(), before.end(),
                            [&](uint32_t unit) { return unit != sum && !drafts_[unit].is_total; });
      stack.push_back({index, std::move(before)});
    };
    std::vector<uint32_t> roots;
    for (const Value& result : results_) {
      const uint32_t unit = unit_of(base_of(result));
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
        unit.call = drafts_[index].call;
        unit.epilogue = drafts_[index].epilogue;
        if (const auto assembly = assemblies_.find(unit.call.get()); assembly != assemblies_.end()) {
          for (const Piece& piece : assembly->second) unit.pieces.push_back(piece.value);
        }
        if (!unit.call) unit.group = described(drafts_[index], index);
        units.push_back(std::move(unit));
      }
    }
    return units;
  }

  Group described(const Draft& draft, uint32_t index) const {
    Group group{draft.shape, draft.axes, draft.inner, {}, {}, {}, {}};
    const int64_t elements = ir::count(draft.shape);
    std::unordered_map<uint64_t, size_t> seen;
    const auto read = [&](const Reads& reads) {
      for (const Access& access : reads) {
        if (unit_of(access.value) == index) continue;
        const uint64_t key = base::mix(reinterpret_cast<uintptr_t>(access.value.node.get()), access.value.index);
        const auto [known, fresh] = seen.emplace(key, group.inputs.size());
        if (fresh) {
          group.inputs.push_back(access.value);
          group.aligned.push_back(true);
        }
        const bool same_element = !access.as_a_whole && access.map.is_contiguous() &&
                                  ir::count(access.map.shape()) == elements &&
                                  ir::count(access.value.shape()) == elements;
        if (!same_element) group.aligned[known->second] = false;
      }
    };
    for (const NodeRef& node : draft.reductions) {
      read(accesses_of_operand(node->input(0)));
      if (is_written(node.get())) group.outputs.push_back({node, 0});
    }
    for (const NodeRef& node : draft.columns) {
      read(accesses_of_operand(node->input(0)));
      group.outputs.push_back({node, 0});
    }
    for (const NodeRef& node : draft.results) {
      read(accesses({node, 0}));
      if (is_written(node.get())) group.outputs.push_back({node, 0});
    }
    return group;
  }

  const std::vector<NodeRef>& order_;
  const std::unordered_set<const Node*>& kept_;
  const Assemblies& assemblies_;
  const std::vector<Value>& results_;
  const bool alone_;
  std::unordered_set<const Node*> stored_;
  std::unordered_map<const Node*, uint32_t> unit_;  // the unit that computes a stored node or a reduction
  std::unordered_map<const Node*, std::vector<uint32_t>> readers_;
  std::unordered_map<const Node*, size_t> uses_;
  std::unordered_set<const Node*> shared_;  // read by another unit than the one that makes it
  std::vector<Draft> drafts_;
  EpilogueMatcher epilogues_{kept_, stored_, uses_, [this](const Value& value) { return unit_of(value); }};
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

bool is_inline(const Node& node) {
  const Kind kind = node.info().kind;
  // 16-bit floats are computed with as f32, and a NaN need not survive the way there and back.
  if (node.op() == Op::bitcast && size_of(node.type().dtype) == 2) return false;
  return kind == Kind::unary || kind == Kind::binary || kind == Kind::ternary || node.op() == Op::constant ||
         node.op() == Op::iota || node.op() == Op::random_bits;
}

std::vector<Unit> fuse(const std::vector<NodeRef>& order, const std::unordered_set<const Node*>& kept,
                       const Assemblies& assemblies, const std::vector<Value>& results, bool alone) {
  return Fuser(order, kept, assemblies, results, alone).run();
}

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

bool is_regrouped(const Dims& shape, const Dims& axes, const Dims& other) {
  return ir::count(shape) == ir::count(other) && (axes.empty() || ir::count(shape) > ir::count(row_shape(shape, axes)));
}

Dims row_shape(const Dims& shape, const Dims& axes) {
  Dims rows = shape;
  for (int64_t axis : axes) rows[static_cast<size_t>(axis)] = 1;
  return rows;
}

ir::IndexMap row_map(const Dims& shape, const Dims& axes) {
  ir::IndexMap map(row_shape(shape, axes));
  map.apply(ir::Move{Op::expand, ir::ShapeAttrs{shape}});
  return map;
}

}  // namespace tenon::plan
