// Units become launches over slots of memory, with operands seen through their views. Temporaries live in one arena from
// their launch to their last reader. Memory is taken over where that changes nothing: by a store from the state that it
// replaces, by an elementwise result from an operand that dies with it, by a product from the matrix that it is added to.

#include "tenon/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tenon/ir/build.h"
#include "tenon/ir/print.h"
#include "tenon/ir/topology.h"
#include "tenon/plan/order.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

struct ValueHash {
  size_t operator()(const std::pair<const Node*, uint32_t>& key) const {
    return base::mix(reinterpret_cast<uintptr_t>(key.first), key.second);
  }
};

bool launches(const Node& node) {
  const ir::OpInfo& info = node.info();
  return info.kind != ir::Kind::movement && !info.is(ir::kPassThrough) && node.op() != Op::buffer;
}

class Planner {
 public:
  explicit Planner(const Request& request) : request_(request) {}

  Plan run() {
    std::vector<ir::NodeRef> order = ir::order_of_evaluation(request_.outputs);
    for (const Value& output : request_.outputs) {
      const Value base = base_of(output);
      if (!base.node->evaluated()) keep_.insert(base.node.get());
    }
    if (request_.limits.one_op_per_kernel) {
      faults_left_ = stores_behind_faults(order);
      find_last_readers(order);
      for (const ir::NodeRef& node : order) {
        if (!node->evaluated() && launches(*node)) add_call(node);
        ++at_;
      }
    } else {
      const std::vector<Value> results = deepest_first(order);
      if (request_.limits.fuses) order = with_assemblies(std::move(order));
      std::vector<Unit> units = fuse(order, keep_, assemblies_, results, !request_.limits.fuses);
      if (request_.limits.fuses) {
        pass_targets_up(units);
        std::unordered_set<const Node*> pieces;
        for (const auto& [node, part] : parts_) pieces.insert(node);
        units = shorten_lives(std::move(units), keep_, pieces);
      }
      faults_left_ = stores_behind_faults(units);
      find_last_readers(units);
      for (Unit& unit : units) {
        if (unit.call && unit.pieces.empty())  // pieces have been written where they belong
          add_call(unit.call, unit.epilogue);
        else if (!unit.call)
          add_group(std::move(unit.group));
        ++at_;
      }
    }
    lay_out_temporaries();
    return std::move(plan_);
  }

 private:
  using Key = std::pair<const Node*, uint32_t>;
  struct Part {
    ir::NodeRef whole;
    size_t begin;  // bytes
  };

  // Finds what is put together from pieces, and orders the nodes so that the pieces come first.
  std::vector<ir::NodeRef> with_assemblies(std::vector<ir::NodeRef> order) {
    assemblies_ = find_assemblies(order, keep_);
    if (assemblies_.empty()) return order;
    std::unordered_map<const Node*, std::vector<Value>> instead;
    for (bool found_more = true; found_more;) {  // pieces may be put together in turn
      found_more = false;
      for (const ir::NodeRef& whole : order) {
        const auto found = assemblies_.find(whole.get());
        if (found == assemblies_.end() || instead.contains(whole.get())) continue;
        found_more = true;
        for (const Piece& piece : found->second) {
          instead[whole.get()].push_back(piece.value);
          const size_t begin = static_cast<size_t>(piece.begin) * size_of(piece.value.dtype());
          parts_.emplace(base_of(piece.value).node.get(), Part{whole, begin});
        }
      }
      if (!found_more) break;
      order = ir::order_of_evaluation(request_.outputs, [&](const Node& node) -> const std::vector<Value>* {
        const auto found = instead.find(&node);
        return found == instead.end() ? nullptr : &found->second;
      });
    }
    return order;
  }

  // The results in the order in which they are best computed: what lies behind everything else leads the way, so the
  // gradients of a first micro-batch come before the loss of the second. Starting from the losses would run all forward
  // passes first and keep what each needs for its backward pass.
  std::vector<Value> deepest_first(const std::vector<ir::NodeRef>& order) const {
    std::vector<Value> outputs = request_.outputs;
    if (outputs.size() < 2) return outputs;
    std::unordered_map<const Node*, uint32_t> depth;
    for (const ir::NodeRef& node : order) {
      uint32_t deepest = 0;
      if (!node->evaluated()) {
        for (const Value& input : node->inputs()) {
          const auto found = depth.find(input.node.get());
          if (found != depth.end()) deepest = std::max(deepest, found->second + 1);
        }
      }
      depth[node.get()] = deepest;
    }
    std::stable_sort(outputs.begin(), outputs.end(),
                     [&](const Value& a, const Value& b) { return depth[a.node.get()] > depth[b.node.get()]; });
    return outputs;
  }

  static const Node* call_of(const ir::NodeRef& node) { return node.get(); }
  static const Node* call_of(const Unit& unit) { return unit.call.get(); }
  static std::vector<Value> operands_of(const Node& node) { return {node.inputs().begin(), node.inputs().end()}; }
  static std::vector<Value> operands_of(const ir::NodeRef& node) { return operands_of(*node); }
  static std::vector<Value> operands_of(const Unit& unit) {
    if (!unit.pieces.empty()) return unit.pieces;
    std::vector<Value> operands = unit.call ? operands_of(*unit.call) : unit.group.inputs;
    for (const Value& value : {unit.epilogue.bias, unit.epilogue.residual}) {
      if (value) operands.push_back(value);
    }
    return operands;
  }
  static std::vector<Value> results_of(const ir::NodeRef& node) { return {{node, 0}}; }
  static std::vector<Value> results_of(const Unit& unit) {
    if (unit.epilogue.result) return results_of(unit.epilogue.result);
    return unit.call ? results_of(unit.call) : unit.group.outputs;
  }

  // A launch that may find a bad index must run before the first store in place: a failed step changes nothing. Moves
  // such stores, and what reads them, behind the last launch that may fail, where that is possible; where it is not,
  // the store takes fresh memory. Returns how many launches may fail.
  template <typename Item>
  size_t stores_behind_faults(std::vector<Item>& items) const {
    const auto faults = [](const Item& item) {
      const Node* call = call_of(item);
      return call && !call->evaluated() && call->info().kind == ir::Kind::indexed;
    };
    size_t count = 0, end = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!faults(items[i])) continue;
      ++count;
      end = i + 1;
    }
    std::unordered_set<const Node*> late;
    std::vector<Item> early, behind;
    for (size_t i = 0; i < end; ++i) {
      const std::vector<Value> reads = operands_of(items[i]);
      const bool waits = !late.empty() && std::any_of(reads.begin(), reads.end(), [&](const Value& value) {
        return late.contains(base_of(value).node.get());
      });
      if (waits && faults(items[i])) return count;
      if (!waits && !writes_state(items[i])) continue;
      for (const Value& result : results_of(items[i])) late.insert(result.node.get());
    }
    if (late.empty()) return count;
    for (size_t i = 0; i < end; ++i) {
      const std::vector<Value> results = results_of(items[i]);
      const bool is_late = !results.empty() && late.contains(results[0].node.get());
      (is_late ? behind : early).push_back(std::move(items[i]));
    }
    std::move(behind.begin(), behind.end(), std::move(early.begin(), early.end(), items.begin()));
    return count;
  }

  // ---- memory that is taken over ----

  template <typename Item>
  void find_last_readers(const std::vector<Item>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!runs(items[i])) continue;
      for (const Value& operand : operands_of(items[i])) last_item_[base_of(operand).node.get()] = i;
    }
  }
  static bool runs(const ir::NodeRef& node) { return !node->evaluated() && launches(*node); }
  static bool runs(const Unit&) { return true; }

  bool is_read_later(const Node* node) const {
    const auto found = last_item_.find(node);
    return found != last_item_.end() && found->second > at_;
  }
  bool is_read_now(const Node* node) const {
    const auto found = last_item_.find(node);
    return found != last_item_.end() && found->second == at_;
  }

  // Gradients of micro-batches are added up where the last one belongs: what a piece of an assembly is added to, or made
  // of element by element, is written into the same place when nothing else reads it.
  void pass_targets_up(const std::vector<Unit>& units) {
    if (parts_.empty()) return;
    std::unordered_map<const Node*, size_t> readers;
    for (const Unit& unit : units) {
      for (const Node* node : read_by(unit)) ++readers[node];
    }
    const auto pass = [&](const Value& from, const Value& to) {
      const auto part = parts_.find(to.node.get());
      const Node* node = from.node.get();
      if (part == parts_.end() || part->second.whole->op() == Op::store || node->evaluated() ||
          node->op() == Op::buffer || node->results() != 1 || keep_.contains(node) || parts_.contains(node) ||
          assemblies_.contains(node) || readers[node] != 1 || bytes_of(from.type()) != bytes_of(to.type()))
        return false;
      const Part same = part->second;
      parts_.emplace(node, same);
      return true;
    };
    for (size_t i = units.size(); i-- > 0;) {
      const Unit& unit = units[i];
      if (unit.epilogue.residual && !is_operand(*unit.call, unit.epilogue.residual))
        pass(unit.epilogue.residual, {unit.epilogue.result, 0});
      if (const Value base = scattered_base(unit.call)) pass(base, {unit.call, 0});
      for (const Value& output : unit.group.outputs) {
        if (output.node->info().kind == ir::Kind::reduce) continue;
        for (size_t k = 0; k < unit.group.inputs.size(); ++k) {
          if (unit.group.aligned[k] && pass(unit.group.inputs[k], output)) break;
        }
      }
    }
  }

  // What a scatter_add adds to, if that is a whole value which the launch reads nowhere else: the rows can be added
  // where it lies.
  static Value scattered_base(const ir::NodeRef& call) {
    if (!call || call->op() != Op::scatter_add) return {};
    const Seen seen = look_through(call->input(0));
    const bool is_whole = seen.map.is_contiguous() && ir::count(seen.base.shape()) == ir::count(call->type().shape);
    for (const size_t other : {1, 2}) {
      if (base_of(call->input(other)).node == seen.base.node) return {};
    }
    return is_whole ? seen.base : Value();
  }

  static bool is_operand(const Node& call, const Value& value) {
    const auto inputs = call.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value& v) { return base_of(v).node == value.node; });
  }

  uint32_t root_of(uint32_t slot) const {
    return plan_.slots[slot].within == Plan::kNone ? slot : plan_.slots[slot].within;
  }

  // Whether what lies in a slot is read for the last time now, and the whole slot with it.
  bool dies_now(const Value& value, uint32_t slot) const {
    const Slot& s = plan_.slots[slot];
    return s.place == Slot::Place::temporary && !parts_.contains(value.node.get()) && !is_read_later(value.node.get()) &&
           value.node->results() == 1 && plan_.slots[root_of(slot)].bytes == s.bytes;
  }

  uint32_t slot_taking_over(const Value& value, uint32_t old) {
    const auto id = static_cast<uint32_t>(plan_.slots.size());
    slots_.emplace(Key{value.node.get(), value.index}, id);
    Slot slot = plan_.slots[old];
    slot.within = root_of(old);
    slot.replaces = true;
    plan_.slots.push_back(slot);
    last_reader_.push_back(static_cast<uint32_t>(plan_.launches.size()));
    return id;
  }

  // Whether two slots are the same bytes; a result that overwrites a leaf is that leaf.
  bool same_memory(uint32_t a, uint32_t b) const {
    const auto place_of = [&](uint32_t id) {
      const Slot& s = plan_.slots[id];
      if (s.place == Slot::Place::result && plan_.overwritten[s.index] != Plan::kNone)
        return std::tuple(Slot::Place::leaf, plan_.overwritten[s.index], s.offset, s.bytes);
      const uint32_t which = s.place == Slot::Place::temporary ? root_of(id) : s.index;
      return std::tuple(s.place, which, s.offset, s.bytes);
    };
    return place_of(a) == place_of(b);
  }

  // The slot of the state that a store of a whole buffer may overwrite from now on; kNone if something still needs it.
  // What runs now may read it too, if only `aligned`.
  uint32_t state_to_overwrite(const Node& store, bool aligned) {
    if (store.op() != Op::store) return Plan::kNone;
    const Value old = store.input(0);
    if (!may_overwrite(store, old) || (is_read_now(old.node.get()) && !aligned)) return Plan::kNone;
    taken_.insert(old.node.get());
    const uint32_t last = static_cast<uint32_t>(plan_.launches.size());
    const uint32_t slot = slot_of_input(old);
    last_reader_[slot] = last;
    return slot;
  }

  bool may_overwrite(const Node& store, const Value& old) const {
    return faults_left_ == 0 && keep_.contains(&store) && old.node->op() == Op::buffer && old.node->evaluated() &&
           !is_read_later(old.node.get()) && !taken_.contains(old.node.get()) && request_.may_overwrite &&
           request_.may_overwrite(*old.node);
  }

  uint32_t slot_of_output(Group& group, size_t output, const Launch& launch) {
    const Value& value = group.outputs[output];
    // One value per element, not per row or column.
    const bool is_whole = value.node->info().kind != ir::Kind::reduce &&
                          (value.shape() == group.shape || is_regrouped(group.shape, group.axes, value.shape()));
    if (const auto part = parts_.find(value.node.get()); part != parts_.end()) {
      const Node* state = part->second.whole->op() == Op::store ? part->second.whole->input(0).node.get() : nullptr;
      bool aligned = is_whole;
      for (size_t k = 0; k < group.inputs.size(); ++k) {
        if (group.inputs[k].node.get() == state) aligned = aligned && group.aligned[k];
      }
      return slot_of_part(value, part->second, aligned);
    }
    if (is_whole && request_.limits.fuses && !keep_.contains(value.node.get())) {
      for (size_t k = 0; k < group.inputs.size(); ++k) {
        const auto in_use = [&](uint32_t taken) { return taken == k; };
        if (!group.aligned[k] || std::any_of(group.in_place.begin(), group.in_place.end(), in_use)) continue;
        if (bytes_of(group.inputs[k].type()) == bytes_of(value.type()) && dies_now(group.inputs[k], launch.args[k]))
          return slot_taking_over(value, launch.args[k]);
      }
    }
    return slot_of_result(value, Plan::kNone);
  }

  // A store that is kept, or the launch that writes what it stores.
  template <typename Item>
  bool writes_state(const Item& item) const {
    const Node* call = call_of(item);
    if (call && call->op() == Op::store && keep_.contains(call)) return true;
    const std::vector<Value> results = results_of(item);
    return std::any_of(results.begin(), results.end(), [&](const Value& result) {
      const auto part = parts_.find(result.node.get());
      return part != parts_.end() && part->second.whole->op() == Op::store && keep_.contains(part->second.whole.get());
    });
  }

  void add_group(Group group) {
    Launch launch;
    for (const Value& input : group.inputs) launch.args.push_back(slot_of_input(input));
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      const uint32_t slot = slot_of_output(group, i, launch);
      for (uint32_t k = 0; k < group.inputs.size(); ++k) {
        if (!same_memory(slot, launch.args[k])) continue;
        group.in_place.resize(group.outputs.size(), Group::kFresh);
        group.in_place[i] = k;
      }
      launch.args.push_back(slot);
    }
    launch.kernel = static_cast<uint32_t>(plan_.kernels.size());
    launch.makes = group.outputs[0].node;
    plan_.kernels.push_back(std::move(group));
    plan_.launches.push_back(std::move(launch));
  }

  void add_call(const ir::NodeRef& node, const Epilogue& epilogue = {}) {
    if (node->info().kind == ir::Kind::indexed) --faults_left_;
    ir::Call call;
    call.op = node->op();
    call.attrs = node->attrs();
    Launch launch;
    for (const Value& input : node->inputs()) {
      Seen seen = look_through(input);
      launch.args.push_back(slot_of_input(seen.base));
      call.inputs.push_back({seen.base.dtype(), std::move(seen.map)});
    }
    const auto add_operand = [&](const Value& value, const ir::IndexMap& map) {
      launch.args.push_back(slot_of_input(value));
      call.inputs.push_back({value.dtype(), map});
    };
    call.epilogue = {static_cast<bool>(epilogue.bias), static_cast<bool>(epilogue.residual)};
    if (epilogue.bias) add_operand(epilogue.bias, epilogue.bias_map);
    if (epilogue.residual) add_operand(epilogue.residual, ir::IndexMap(node->type().shape));
    if (epilogue.result) {
      call.outputs.push_back({epilogue.result->type().dtype, node->type().shape});
      const Value result{epilogue.result, 0};
      const bool takes_over = epilogue.residual && !parts_.contains(result.node.get()) &&
                              !keep_.contains(result.node.get()) && !is_operand(*node, epilogue.residual) &&
                              bytes_of(result.type()) == bytes_of(epilogue.residual.type()) &&
                              dies_now(epilogue.residual, launch.args.back());
      launch.args.push_back(takes_over ? slot_taking_over(result, launch.args.back())
                                       : slot_of_result(result, Plan::kNone));
      launch.kernel = kernel_index(std::move(call));
      launch.makes = epilogue.result;
      plan_.launches.push_back(std::move(launch));
      return;
    }
    if (const Value base = scattered_base(node); base && !parts_.contains(node.get()) && !keep_.contains(node.get()) &&
                                                 request_.limits.fuses && dies_now(base, launch.args[0])) {
      call.outputs.push_back(node->type());
      launch.args.push_back(slot_taking_over({node, 0}, launch.args[0]));
      launch.kernel = kernel_index(std::move(call));
      launch.makes = node;
      plan_.launches.push_back(std::move(launch));
      return;
    }
    const bool in_place = node->op() == Op::store && can_overwrite(*node, call);
    if (in_place) taken_.insert(node->input(0).node.get());
    for (uint32_t i = 0; i < node->results(); ++i) {
      call.outputs.push_back(node->type(i));
      launch.args.push_back(slot_of_result({node, i}, in_place ? launch.args[0] : Plan::kNone));
    }
    launch.kernel = kernel_index(std::move(call));
    launch.makes = node;
    plan_.launches.push_back(std::move(launch));
  }

  bool can_overwrite(const Node& node, const ir::Call& call) const {
    const Value& old = node.input(0);
    return call.inputs[0].map.is_contiguous() && base_of(node.input(1)).node.get() != old.node.get() &&
           may_overwrite(node, old);
  }

  uint32_t slot_of_input(const Value& base) {
    auto [entry, fresh] = slots_.try_emplace({base.node.get(), base.index}, static_cast<uint32_t>(plan_.slots.size()));
    if (fresh) {  // not written by an earlier launch, so it exists already
      plan_.slots.push_back({Slot::Place::leaf, static_cast<uint32_t>(plan_.leaves.size()), 0, bytes_of(base.type())});
      plan_.leaves.push_back(base);
      last_reader_.push_back(0);
    }
    last_reader_[entry->second] = static_cast<uint32_t>(plan_.launches.size());
    return entry->second;
  }

  uint32_t slot_of_result(const Value& value, uint32_t overwritten_slot) {
    if (const auto part = parts_.find(value.node.get()); part != parts_.end())
      return slot_of_part(value, part->second, false);
    const auto id = static_cast<uint32_t>(plan_.slots.size());
    slots_.emplace(Key{value.node.get(), value.index}, id);
    Slot slot{Slot::Place::temporary, 0, 0, bytes_of(value.type())};
    if (keep_.contains(value.node.get())) {
      slot.place = Slot::Place::result;
      slot.index = static_cast<uint32_t>(plan_.results.size());
      plan_.results.push_back(value);
      plan_.overwritten.push_back(overwritten_slot == Plan::kNone ? Plan::kNone : plan_.slots[overwritten_slot].index);
    } else {
      slot.index = static_cast<uint32_t>(temporaries_.size());
      temporaries_.push_back({id, static_cast<uint32_t>(plan_.launches.size())});
    }
    plan_.slots.push_back(slot);
    last_reader_.push_back(static_cast<uint32_t>(plan_.launches.size()));
    return id;
  }

  // `aligned`: what runs now reads the state that the whole replaces, if at all, at the elements that it writes.
  uint32_t slot_of_part(const Value& value, const Part& part, bool aligned) {
    const auto found = slots_.find(Key{part.whole.get(), 0});
    const uint32_t whole = found != slots_.end()
                               ? found->second
                               : slot_of_result({part.whole, 0}, state_to_overwrite(*part.whole, aligned));
    const auto id = static_cast<uint32_t>(plan_.slots.size());
    slots_.emplace(Key{value.node.get(), value.index}, id);
    Slot slot = plan_.slots[whole];
    slot.offset = part.begin;
    slot.bytes = bytes_of(value.type());
    slot.within = whole;
    slot.replaces = false;
    plan_.slots.push_back(slot);
    last_reader_.push_back(static_cast<uint32_t>(plan_.launches.size()));
    return id;
  }

  uint32_t kernel_index(ir::Call call) {
    const uint64_t h = ir::hash(call);
    auto [first, last] = kernels_.equal_range(h);
    for (; first != last; ++first) {
      if (std::get<ir::Call>(plan_.kernels[first->second]) == call) return first->second;
    }
    const auto index = static_cast<uint32_t>(plan_.kernels.size());
    kernels_.emplace(h, index);
    plan_.kernels.push_back(std::move(call));
    return index;
  }

  void lay_out_temporaries() {
    for (size_t id = plan_.slots.size(); id-- > 0;) {
      const uint32_t whole = plan_.slots[id].within;
      if (whole != Plan::kNone) last_reader_[whole] = std::max(last_reader_[whole], last_reader_[id]);
    }
    std::vector<Interval> intervals;
    intervals.reserve(temporaries_.size());
    for (const Temporary& t : temporaries_)
      intervals.push_back({t.written, last_reader_[t.slot], plan_.slots[t.slot].bytes});
    const Arena arena = lay_out(intervals, request_.limits.alignment);
    for (size_t i = 0; i < temporaries_.size(); ++i) plan_.slots[temporaries_[i].slot].offset = arena.offsets[i];
    for (Slot& slot : plan_.slots) {
      if (slot.within != Plan::kNone) slot.offset += plan_.slots[slot.within].offset;
    }
    plan_.arena_bytes = arena.bytes;
    plan_.peak_live_bytes = arena.peak_live_bytes;
  }

  struct Temporary {
    uint32_t slot, written;
  };

  const Request& request_;
  Plan plan_;
  Assemblies assemblies_;
  std::unordered_map<const Node*, Part> parts_;  // of assemblies: where they are written
  std::unordered_set<const Node*> keep_;
  std::unordered_map<Key, uint32_t, ValueHash> slots_;
  std::unordered_multimap<uint64_t, uint32_t> kernels_;
  size_t at_ = 0;  // the unit, or without fusion the node, that is being added
  std::unordered_map<const Node*, size_t> last_item_;  // the last of them that reads a node
  std::unordered_set<const Node*> taken_;              // leaves whose memory a store has taken over
  size_t faults_left_ = 0;                             // launches still to come that may find a bad index
  std::vector<uint32_t> last_reader_;
  std::vector<Temporary> temporaries_;
};

bool transparent(const Node& node) {
  return !node.evaluated() && (node.info().kind == ir::Kind::movement || node.info().is(ir::kPassThrough));
}

}  // namespace

Value base_of(const Value& value) {
  Value base = value;
  while (transparent(*base.node)) {
    Value next = base.node->input(base.node->op() == Op::custom ? base.index : 0);  // before `base` lets its node go
    base = std::move(next);
  }
  return base;
}

Seen look_through(const Value& value) {
  std::vector<const Node*> moves;
  Value base = value;
  while (transparent(*base.node)) {
    if (base.node->info().kind == ir::Kind::movement) moves.push_back(base.node.get());
    Value next = base.node->input(base.node->op() == Op::custom ? base.index : 0);
    base = std::move(next);
  }
  Seen seen{base, ir::IndexMap(base.shape())};
  for (size_t i = moves.size(); i-- > 0;) seen.map.apply(ir::move_of(moves[i]->op(), moves[i]->attrs()));
  return seen;
}

Plan make_plan(const Request& request) { return Planner(request).run(); }

namespace {

std::string describe(const ir::Call& call) {
  std::string text = fmt::format("{:<18}", ir::name(call.op));
  for (const ir::Operand& operand : call.inputs)
    text += fmt::format(" {}{}", tenon::name(operand.dtype), operand.map.to_string());
  if (call.epilogue.bias) text += " + bias";
  if (call.epilogue.residual) text += " + residual";
  text += " ->";
  for (const ir::Type& type : call.outputs) text += " " + ir::to_string(type);
  return text;
}

// The ops that a group computes, operands first.
std::string describe(const Group& group) {
  std::unordered_set<const Node*> inputs;
  for (const Value& input : group.inputs) inputs.insert(input.node.get());
  const auto order = ir::topological_order(
      group.outputs, [&](const Node& node) { return node.evaluated() || inputs.contains(&node); });
  std::string text = fmt::format("fused {}", ir::to_string(group.shape));
  if (!group.axes.empty()) text += fmt::format(" over {}", ir::to_string(group.axes));
  text += ":";
  for (const ir::NodeRef& node : order) {
    if (launches(*node) && !node->evaluated() && !inputs.contains(node.get()))
      text += fmt::format(" {}", ir::name(node->op()));
  }
  text += " ->";
  for (const Value& output : group.outputs) text += " " + ir::to_string(output.type());
  return text;
}

}  // namespace

std::string Plan::print() const {
  std::string text;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Kernel& kernel = kernels[launches[i].kernel];
    const size_t inputs = std::holds_alternative<Group>(kernel) ? std::get<Group>(kernel).inputs.size()
                                                                : std::get<ir::Call>(kernel).inputs.size();
    size_t read = 0, written = 0;
    for (size_t a = 0; a < launches[i].args.size(); ++a)
      (a < inputs ? read : written) += slots[launches[i].args[a]].bytes;
    text += fmt::format("{:>5}  {}  read {} written {}\n", i,
                        std::visit([](const auto& k) { return describe(k); }, kernel), read, written);
  }
  return text;
}

std::string Plan::memory() const {
  std::vector<size_t> holders;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].place == Slot::Place::temporary && slots[i].within == kNone) holders.push_back(i);
  }
  std::stable_sort(holders.begin(), holders.end(), [&](size_t a, size_t b) { return slots[a].bytes > slots[b].bytes; });
  std::string text = fmt::format("arena {} bytes, {} live at the peak, {} temporaries\n", arena_bytes, peak_live_bytes,
                                 holders.size());
  holders.resize(std::min<size_t>(holders.size(), 10));
  for (const size_t holder : holders) {
    size_t first = launches.size(), last = 0;
    for (size_t i = 0; i < launches.size(); ++i) {
      const auto touches = [&](uint32_t slot) { return slot == holder || slots[slot].within == holder; };
      if (std::none_of(launches[i].args.begin(), launches[i].args.end(), touches)) continue;
      first = std::min(first, i);
      last = i;
    }
    const Kernel& kernel = kernels[launches[first].kernel];
    const auto* call = std::get_if<ir::Call>(&kernel);
    text += fmt::format("  {} bytes at {}, written by launch {} ({}), last used by {}\n", slots[holder].bytes,
                        slots[holder].offset, first, call ? ir::name(call->op) : "fused", last);
  }
  return text;
}

}  // namespace tenon::plan
