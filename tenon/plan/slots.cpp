// One pass over the units: each gets a slot per value it reads or writes.

#include "tenon/plan/slots.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "tenon/base/hash.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/order.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

using Key = std::pair<const Node*, uint32_t>;
struct KeyHash {
  size_t operator()(const Key& key) const { return base::mix(reinterpret_cast<uintptr_t>(key.first), key.second); }
};

// Which bytes of a value that is put together from pieces have been written, and when first.
class Written {
 public:
  // Pieces come in the order of the launches that write them; one may be written again.
  void add(const Stretch& piece) {
    size_t at = piece.begin;
    const size_t end = piece.begin + piece.bytes;
    auto next = stretches_.upper_bound(at);
    if (next != stretches_.begin()) at = std::max(at, end_of(*std::prev(next)));
    while (at < end) {
      const size_t until = next == stretches_.end() ? end : std::min(end, next->first);
      if (until > at) stretches_.emplace(at, Stretch{at, until - at, piece.first});
      if (next == stretches_.end()) return;
      at = std::max(at, end_of(*next++));
    }
  }

  std::vector<Stretch> later_than(uint32_t launch) const {
    std::vector<Stretch> later;
    for (const auto& [begin, stretch] : stretches_) {
      if (stretch.first > launch) later.push_back(stretch);
    }
    return later;
  }

 private:
  static size_t end_of(const std::pair<const size_t, Stretch>& one) { return one.first + one.second.bytes; }
  std::map<size_t, Stretch> stretches_;  // by begin
};

class Assigner {
 public:
  Assigner(std::vector<Unit> units, const Request& request, const Nodes& kept, const Parts& parts)
      : units_(std::move(units)), request_(request), kept_(kept), parts_(parts) {}

  Plan run() {
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const Node* node : nodes_read_by(units_[i])) last_unit_[node] = i;
      if (may_fault(units_[i])) ++faults_left_;
    }
    for (Unit& unit : units_) {
      const size_t faults = may_fault(unit) ? 1 : 0;
      if (unit.call) faults_left_ -= faults;  // it looks at all indices before it writes; a kernel at each on its way
      const bool is_read = unit.call || !unit.fused.outputs.empty();  // else what would read it was folded away
      const bool is_written = unit.call && !unit.pieces.empty();      // pieces have been written where they belong
      if (!unit.call && is_read)
        add_fused(std::move(unit.fused));
      else if (unit.call && !is_written)
        add_call(unit);
      if (!unit.call) faults_left_ -= faults;
      ++at_;
    }
    lay_out_temporaries();
    find_state_writers();
    return std::move(plan_);
  }

 private:
  struct Made {
    uint32_t slot, at;
  };

  // ---- what is still needed ----

  bool is_read_later(const Node* node) const {
    const size_t* last = last_unit_.find(node);
    return last && *last > at_;
  }
  bool is_read_now(const Node* node) const {
    const size_t* last = last_unit_.find(node);
    return last && *last == at_;
  }

  uint32_t root_of(uint32_t slot) const {
    return plan_.slots[slot].within == Plan::kNone ? slot : plan_.slots[slot].within;
  }

  // Whether what lies in a slot is read for the last time now, and the whole slot with it.
  bool dies_now(const Value& value, uint32_t slot) const {
    const Slot& s = plan_.slots[slot];
    return s.place == Slot::Place::temporary && !parts_.find(value.node.get()) && !is_read_later(value.node.get()) &&
           value.node->results() == 1 && plan_.slots[root_of(slot)].bytes == s.bytes &&
           !is_read_by_another_name(value.node.get(), slot);
  }

  // What a store writes is read as the store or as what it was given: one memory, two names, even in one launch.
  bool is_read_by_another_name(const Node* node, uint32_t slot) const {
    const auto parts = parts_in_.find(root_of(slot));
    return parts != parts_in_.end() && std::any_of(parts->second.begin(), parts->second.end(), [&](const Node* part) {
             return part != node && (is_read_now(part) || is_read_later(part));
           });
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

  // ---- slots ----

  uint32_t add_slot(const Value& value, const Slot& slot) {
    const auto id = static_cast<uint32_t>(plan_.slots.size());
    slots_.emplace(Key{value.node.get(), value.index}, id);
    plan_.slots.push_back(slot);
    last_reader_.push_back(static_cast<uint32_t>(plan_.launches.size()));
    first_writer_.push_back(last_reader_.back());
    return id;
  }

  uint32_t slot_of_input(const Value& base) {
    const auto known = slots_.find(Key{base.node.get(), base.index});
    if (known != slots_.end()) {
      last_reader_[known->second] = static_cast<uint32_t>(plan_.launches.size());
      return known->second;
    }
    // Not written by an earlier launch, so it exists already.
    const auto index = static_cast<uint32_t>(plan_.leaves.size());
    plan_.leaves.push_back(base);
    return add_slot(base, {Slot::Place::leaf, index, 0, bytes_of(base.type())});
  }

  uint32_t slot_of_result(const Value& value, uint32_t overwritten_slot = Plan::kNone) {
    if (const Part* part = parts_.find(value.node.get())) return slot_of_part(value, *part, false);
    Slot slot{Slot::Place::temporary, 0, 0, bytes_of(value.type())};
    if (kept_.contains(value.node.get())) {
      slot.place = Slot::Place::result;
      slot.index = static_cast<uint32_t>(plan_.results.size());
      plan_.results.push_back(value);
      plan_.overwritten.push_back(overwritten_slot == Plan::kNone ? Plan::kNone : plan_.slots[overwritten_slot].index);
    } else {
      slot.index = static_cast<uint32_t>(temporaries_.size());
      temporaries_.push_back({static_cast<uint32_t>(plan_.slots.size()), static_cast<uint32_t>(plan_.launches.size())});
    }
    return add_slot(value, slot);
  }

  // `aligned`: what runs now reads the state that the whole replaces, if at all, at the elements that it writes.
  uint32_t slot_of_part(const Value& value, const Part& part, bool aligned) {
    const auto found = slots_.find(Key{part.whole.get(), 0});
    const uint32_t whole = found != slots_.end()
                               ? found->second
                               : slot_of_result({part.whole, 0}, state_to_overwrite(*part.whole, aligned));
    assembled_.insert(whole);
    Slot slot = plan_.slots[whole];
    slot.offset = part.begin;
    slot.bytes = bytes_of(value.type());
    slot.within = whole;
    slot.replaces = false;
    for (uint32_t outer = whole; outer != Plan::kNone; outer = plan_.slots[outer].within)
      parts_in_[outer].push_back(value.node.get());
    return add_slot(value, slot);
  }

  uint32_t slot_taking_over(const Value& value, uint32_t old) {
    Slot slot = plan_.slots[old];
    slot.within = root_of(old);
    slot.replaces = true;
    return add_slot(value, slot);
  }

  // ---- state that is overwritten ----

  bool may_overwrite(const Node& store, const Value& old) const {
    return faults_left_ == 0 && kept_.contains(&store) && old.node->op() == Op::buffer && old.node->evaluated() &&
           !is_read_later(old.node.get()) && !taken_.contains(old.node.get()) && request_.may_overwrite &&
           request_.may_overwrite(*old.node);
  }

  // The slot of the state that a store of a whole buffer may overwrite from now on; kNone if something still needs it.
  // What runs now may read it too, if only `aligned`.
  uint32_t state_to_overwrite(const Node& store, bool aligned) {
    if (store.op() != Op::store) return Plan::kNone;
    const Value old = store.input(0);
    if (!may_overwrite(store, old) || (is_read_now(old.node.get()) && !aligned)) return Plan::kNone;
    taken_.insert(old.node.get());
    return slot_of_input(old);
  }

  // A store of a part of a buffer, which runs as a call: of several into one value each finds what those before it
  // have written.
  bool writes_over_base(const Node& node, const ir::Call& call) const {
    if (node.op() != Op::store || !call.inputs[0].map.is_contiguous()) return false;
    const Value& base = ir::base_of(node.input(0));
    return ir::bytes_of(base.type()) == bytes_of(node.type()) && ir::base_node(node.input(1)) != base.node.get();
  }
  bool can_overwrite(const Node& node, const ir::Call& call) const {
    return writes_over_base(node, call) && may_overwrite(node, node.input(0));
  }

  // ---- launches ----

  void add_launch(Launch launch, uint32_t kernel, const Node& first) {
    launch.kernel = kernel;
    launch.op = first.op();
    launch.label = first.label();
    plan_.launches.push_back(std::move(launch));
  }

  template <typename T>
  uint32_t kernel_index(T kernel) {
    const uint64_t h = ir::hash(kernel);
    for (auto [at, end] = kernels_.equal_range(h); at != end; ++at) {
      const T* same = std::get_if<T>(&plan_.kernels[at->second]);
      if (same && *same == kernel) return at->second;
    }
    const auto index = static_cast<uint32_t>(plan_.kernels.size());
    kernels_.emplace(h, index);
    plan_.kernels.push_back(std::move(kernel));
    return index;
  }

  void add_fused(FusedKernel kernel) {
    Launch launch;
    launch.inputs = static_cast<uint32_t>(kernel.inputs.size());
    launch.numbers = std::move(kernel.numbers);
    for (size_t i = 0; i < kernel.inputs.size(); ++i)
      launch.args.push_back({slot_of_input(kernel.inputs[i]), kernel.touched[i].begin, kernel.touched[i].size()});
    std::vector<uint32_t>& in_place = kernel.nest.in_place;
    for (size_t i = 0; i < kernel.outputs.size(); ++i) {
      const uint32_t slot = slot_of_output(kernel, i, launch);
      for (uint32_t k = 0; k < kernel.inputs.size(); ++k) {
        if (!same_memory(slot, launch.args[k].slot)) continue;
        in_place.resize(kernel.outputs.size(), ir::LoopNest::kFresh);
        in_place[i] = k;
      }
      launch.args.push_back({slot, 0, bytes_of(kernel.outputs[i].type())});
      launch.makes.push_back(kernel.outputs[i].type());
    }
    if (!in_place.empty()) move_stores_back(kernel.nest);
    const uint32_t index = kernel_index(std::move(kernel.nest));
    add_launch(std::move(launch), index, *kernel.outputs[0].node);
  }

  uint32_t slot_of_output(const FusedKernel& kernel, size_t output, const Launch& launch) {
    const Value& value = kernel.outputs[output];
    if (const Part* part = parts_.find(value.node.get())) {
      const Node* state = part->whole->op() == Op::store ? part->whole->input(0).node.get() : nullptr;
      bool aligned = kernel.whole[output];
      for (size_t k = 0; k < kernel.inputs.size(); ++k) {
        if (kernel.inputs[k].node.get() == state) aligned = aligned && kernel.aligned[k];
      }
      return slot_of_part(value, *part, aligned);
    }
    if (kernel.whole[output] && request_.limits.fuses && !kept_.contains(value.node.get())) {
      const std::vector<uint32_t>& taken = kernel.nest.in_place;
      for (uint32_t k = 0; k < kernel.inputs.size(); ++k) {
        const Value& input = kernel.inputs[k];
        if (!kernel.aligned[k] || std::find(taken.begin(), taken.end(), k) != taken.end()) continue;
        if (bytes_of(input.type()) == bytes_of(value.type()) && dies_now(input, launch.args[k].slot))
          return slot_taking_over(value, launch.args[k].slot);
      }
    }
    return slot_of_result(value);
  }

  void add_call(const Unit& unit) {
    const NodeRef& node = unit.call;
    const Addends& addends = unit.addends;
    ir::Call call;
    call.op = node->op();
    call.attrs = node->attrs();
    Launch launch;
    launch.numbers = ir::take_numbers(call);
    const auto add_operand = [&](const Value& base, ir::IndexMap map) {
      const ir::ByteRange range = start_at_first_byte(map, base.dtype(), request_.limits.alignment);
      launch.args.push_back({slot_of_input(base), range.begin, range.size()});
      call.inputs.push_back({base.dtype(), std::move(map)});
    };
    for (const Value& input : node->inputs()) {
      ir::Seen seen = ir::look_through(input);
      add_operand(seen.base, std::move(seen.map));
    }
    using Activation = ir::Epilogue::Activation;
    const Activation activation = addends.activated  ? Activation::gelu
                                  : addends.slope_at ? Activation::gelu_slope
                                  : addends.relu     ? Activation::relu
                                                     : Activation::none;
    call.epilogue = {static_cast<bool>(addends.bias), static_cast<bool>(addends.residual), activation};
    if (addends.bias) add_operand(addends.bias, addends.bias_map);
    if (addends.residual) add_operand(addends.residual, ir::IndexMap(node->type().shape));
    if (addends.slope_at) {
      add_operand(addends.slope_at, ir::IndexMap(node->type().shape));
      // Rounded once, behind the product.
      std::get<ir::ContractAttrs>(call.attrs).result = accumulator(node->type().dtype);
    }
    launch.inputs = static_cast<uint32_t>(launch.args.size());
    const auto add_output = [&](const ir::Type& type, uint32_t slot) {
      launch.args.push_back({slot, 0, bytes_of(type)});
      launch.makes.push_back(type);
      call.outputs.push_back(type);
    };
    if (addends.activated) {
      const Value result{addends.activated, 0}, before{addends.result, 0};
      add_output({result.dtype(), node->type().shape}, slot_of_result(result));
      if (kept_.contains(before.node.get()) || is_read_later(before.node.get()))
        add_output({before.dtype(), node->type().shape}, slot_of_result(before));
      const uint32_t index = kernel_index(std::move(call));
      return add_launch(std::move(launch), index, *result.node);
    }
    if (addends.result) {
      const Value result{addends.result, 0};
      add_output({result.dtype(), node->type().shape}, slot_of_sum(*node, addends, result, launch.args.back().slot));
      const uint32_t index = kernel_index(std::move(call));
      return add_launch(std::move(launch), index, *result.node);
    }
    const Value base = writes_over_base(*node, call) ? ir::base_of(node->input(0)) : scattered_base(node);
    const Part* part = parts_.find(node.get());
    if (base && !part && !kept_.contains(node.get()) && request_.limits.fuses && dies_now(base, launch.args[0].slot)) {
      add_output(node->type(), slot_taking_over({node, 0}, launch.args[0].slot));
    } else if (base && part && node->op() != Op::store && part->whole->op() == Op::store &&
               part->whole->input(0) == base) {
      add_output(node->type(), slot_of_part({node, 0}, *part, true));  // adds to the state where it lies
    } else {
      const bool in_place = node->op() == Op::store && can_overwrite(*node, call);
      if (in_place) taken_.insert(node->input(0).node.get());
      for (uint32_t i = 0; i < node->results(); ++i)
        add_output(node->type(i), slot_of_result({node, i}, in_place ? launch.args[0].slot : Plan::kNone));
    }
    const uint32_t index = kernel_index(std::move(call));
    add_launch(std::move(launch), index, *node);
  }

  // A product with addends may write over the matrix that it adds, if nobody else reads that.
  uint32_t slot_of_sum(const Node& contract, const Addends& addends, const Value& result, uint32_t last_operand) {
    const bool takes_over = addends.residual && !parts_.find(result.node.get()) && !kept_.contains(result.node.get()) &&
                            !is_operand(contract, addends.residual) &&
                            bytes_of(result.type()) == bytes_of(addends.residual.type()) &&
                            dies_now(addends.residual, last_operand);
    return takes_over ? slot_taking_over(result, last_operand) : slot_of_result(result);
  }

  // ---- the arena ----

  // By slot: what is written of it when, if only its parts are ever written.
  std::unordered_map<uint32_t, Written> pieces_of_assembled() const {
    std::unordered_map<uint32_t, Written> written;
    if (assembled_.empty()) return written;
    for (uint32_t id = 0; id < plan_.slots.size(); ++id) {
      const Slot& slot = plan_.slots[id];
      if (slot.within == Plan::kNone || assembled_.contains(id)) continue;
      uint32_t whole = slot.within;
      while (plan_.slots[whole].within != Plan::kNone) whole = plan_.slots[whole].within;
      if (assembled_.contains(whole)) written[whole].add({slot.offset, slot.bytes, first_writer_[id]});
    }
    return written;
  }

  void lay_out_temporaries() {
    for (size_t id = plan_.slots.size(); id-- > 0;) {
      const uint32_t whole = plan_.slots[id].within;
      if (whole != Plan::kNone) last_reader_[whole] = std::max(last_reader_[whole], last_reader_[id]);
    }
    for (Slot& slot : plan_.slots) {  // counted from the whole, which may be a part itself
      if (slot.within != Plan::kNone) slot.offset += plan_.slots[slot.within].offset;
    }
    std::unordered_map<uint32_t, Written> written = pieces_of_assembled();
    for (const Made& made : temporaries_) {
      Interval life{made.at, last_reader_[made.slot], plan_.slots[made.slot].bytes};
      if (const auto found = written.find(made.slot); found != written.end())
        life.later = found->second.later_than(made.at);
      plan_.temporaries.push_back({made.slot, std::move(life)});
    }
    lay_out_with_scratch(plan_, request_.limits, {});
  }

  void find_state_writers() {
    for (Launch& launch : plan_.launches) {
      for (size_t i = launch.inputs; i < launch.args.size(); ++i) {
        const Slot& slot = plan_.slots[launch.args[i].slot];
        if (slot.place == Slot::Place::result && plan_.overwritten[slot.index] != Plan::kNone)
          launch.writes_state = true;
      }
    }
  }

  std::vector<Unit> units_;
  const Request& request_;
  const Nodes& kept_;
  const Parts& parts_;
  Plan plan_;
  size_t at_ = 0;             // the unit that is being added
  ByNode<size_t> last_unit_;  // the last unit that reads a node
  size_t faults_left_ = 0;    // launches still to come that may find a bad index
  Nodes taken_;               // leaves whose memory a store has taken over
  std::unordered_map<Key, uint32_t, KeyHash> slots_;
  std::unordered_multimap<uint64_t, uint32_t> kernels_;
  std::vector<uint32_t> last_reader_;                                // per slot: the last launch that touches it
  std::vector<uint32_t> first_writer_;                               // per slot
  std::unordered_set<uint32_t> assembled_;                           // slots that only their parts write
  std::unordered_map<uint32_t, std::vector<const Node*>> parts_in_;  // by the slot of the whole, however deep inside
  std::vector<Made> temporaries_;
};

}  // namespace

void lay_out_with_scratch(Plan& plan, const ir::Limits& limits, std::span<const size_t> scratch) {
  std::vector<Interval> intervals;
  std::vector<uint32_t> owners;  // a temporary, or behind those a launch
  const auto temporaries = static_cast<uint32_t>(plan.temporaries.size());
  uint32_t next = 0;
  const auto add = [&](const Interval& life, uint32_t owner) {
    intervals.push_back(life);
    owners.push_back(owner);
  };
  const auto add_until = [&](uint32_t launch) {
    for (; next < temporaries && plan.temporaries[next].life.first <= launch; ++next)
      add(plan.temporaries[next].life, next);
  };
  for (uint32_t i = 0; i < scratch.size(); ++i) {
    if (scratch[i] == 0) continue;
    add_until(i);
    add({i, i, scratch[i]}, temporaries + i);
  }
  add_until(~0u);
  const size_t slab = limits.max_binding / limits.alignment * limits.alignment;
  const Arena arena = lay_out(intervals, limits.alignment, slab);
  std::vector<size_t> moved(plan.slots.size(), 0);  // wraps around where that is down
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] >= temporaries) {
      plan.launches[owners[i] - temporaries].scratch_offset = arena.offsets[i];
      continue;
    }
    Slot& slot = plan.slots[plan.temporaries[owners[i]].slot];
    moved[plan.temporaries[owners[i]].slot] = arena.offsets[i] - slot.offset;
    slot.offset = arena.offsets[i];
  }
  for (size_t id = 0; id < plan.slots.size(); ++id) {  // wholes come before their parts
    Slot& slot = plan.slots[id];
    if (slot.within == Plan::kNone) continue;
    moved[id] = moved[slot.within];
    slot.offset += moved[id];
  }
  plan.arena_bytes = arena.bytes;
  plan.slab_bytes = slab;
  plan.peak_live_bytes = arena.peak_live_bytes;
}

Plan assign_slots(std::vector<Unit> units, const Request& request, const Nodes& kept, const Parts& parts) {
  return Assigner(std::move(units), request, kept, parts).run();
}

}  // namespace tenon::plan
