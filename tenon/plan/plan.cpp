// The simplest planner that is right: every op that is not a movement becomes one launch, in topological order, with
// its operands seen through their views. Temporaries live in one arena from their launch to their last reader.

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

size_t bytes_of(const ir::Type& type) { return static_cast<size_t>(ir::count(type.shape)) * size_of(type.dtype); }

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
      for (const ir::NodeRef& node : order) {
        if (!node->evaluated() && launches(*node)) add_call(node);
      }
    } else {
      const std::vector<Value> results = deepest_first(order);
      if (request_.limits.fuses) order = with_assemblies(std::move(order));
      std::vector<Unit> units = fuse(order, keep_, assemblies_, results, !request_.limits.fuses);
      if (request_.limits.fuses) {
        std::unordered_set<const Node*> pieces;
        for (const auto& [node, part] : parts_) pieces.insert(node);
        units = shorten_lives(std::move(units), keep_, pieces);
      }
      faults_left_ = stores_behind_faults(units);
      for (Unit& unit : units) {
        if (!unit.pieces.empty()) continue;  // its pieces have been written where they belong
        if (unit.call)
          add_call(unit.call, unit.epilogue);
        else
          add_group(std::move(unit.group));
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
    for (const ir::NodeRef& whole : order) {
      const auto found = assemblies_.find(whole.get());
      if (found == assemblies_.end()) continue;
      for (const Piece& piece : found->second) {
        instead[whole.get()].push_back(piece.value);
        const size_t begin = static_cast<size_t>(piece.begin) * size_of(piece.value.dtype());
        parts_.emplace(base_of(piece.value).node.get(), Part{whole, begin});
      }
    }
    return ir::order_of_evaluation(request_.outputs, [&](const Node& node) -> const std::vector<Value>* {
      const auto found = instead.find(&node);
      return found == instead.end() ? nullptr : &found->second;
    });
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
      const Node* call = call_of(items[i]);
      if (!waits && !(call && call->op() == Op::store && keep_.contains(call))) continue;
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

  void add_group(Group group) {
    Launch launch;
    for (const Value& input : group.inputs) launch.args.push_back(slot_of_input(input));
    for (const Value& output : group.outputs) launch.args.push_back(slot_of_result(output, Plan::kNone));
    launch.kernel = static_cast<uint32_t>(plan_.kernels.size());
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
      launch.args.push_back(slot_of_result({epilogue.result, 0}, Plan::kNone));
      launch.kernel = kernel_index(std::move(call));
      plan_.launches.push_back(std::move(launch));
      return;
    }
    const bool in_place = node->op() == Op::store && can_overwrite(*node, call);
    for (uint32_t i = 0; i < node->results(); ++i) {
      call.outputs.push_back(node->type(i));
      launch.args.push_back(slot_of_result({node, i}, in_place ? launch.args[0] : Plan::kNone));
    }
    launch.kernel = kernel_index(std::move(call));
    plan_.launches.push_back(std::move(launch));
  }

  bool can_overwrite(const Node& node, const ir::Call& call) const {
    const Value base = base_of(node.input(0));
    return faults_left_ == 0 && keep_.contains(&node) && base.node == node.input(0).node && base.node->evaluated() &&
           call.inputs[0].map.is_contiguous() && base_of(node.input(1)).node.get() != base.node.get() &&
           request_.may_overwrite && request_.may_overwrite(*base.node);
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
    if (const auto part = parts_.find(value.node.get()); part != parts_.end()) return slot_of_part(value, part->second);
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

  uint32_t slot_of_part(const Value& value, const Part& part) {
    const auto found = slots_.find(Key{part.whole.get(), 0});
    const uint32_t whole = found != slots_.end() ? found->second : slot_of_result({part.whole, 0}, Plan::kNone);
    const auto id = static_cast<uint32_t>(plan_.slots.size());
    slots_.emplace(Key{value.node.get(), value.index}, id);
    Slot slot = plan_.slots[whole];
    slot.offset = part.begin;
    slot.bytes = bytes_of(value.type());
    slot.within = whole;
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
  size_t faults_left_ = 0;  // launches still to come that may find a bad index
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
