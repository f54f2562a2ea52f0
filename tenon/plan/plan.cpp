// The way from a graph to a plan, step by step.

#include "tenon/plan/plan.h"

#include <algorithm>
#include <map>

#include "tenon/base/error.h"
#include "tenon/ir/build.h"
#include "tenon/ir/composition.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"
#include "tenon/plan/fuse.h"
#include "tenon/plan/join.h"
#include "tenon/plan/layout.h"
#include "tenon/plan/operands.h"
#include "tenon/plan/order.h"
#include "tenon/plan/recompute.h"
#include "tenon/plan/rewrite.h"
#include "tenon/plan/simplify.h"
#include "tenon/plan/slots.h"

namespace tenon::plan {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

// The results in the order in which they are best computed: what lies behind everything else leads the way, so the
// gradients of a first micro-batch come before the loss of the second. Starting from the losses would run all forward
// passes first and keep what each needs for its backward pass.
std::vector<Value> deepest_first(std::vector<Value> outputs, const std::vector<NodeRef>& order) {
  if (outputs.size() < 2) return outputs;
  ByNode<uint32_t> depth;
  for (const NodeRef& node : order) {
    uint32_t deepest = 0;
    if (!node->evaluated()) {
      for (const Value& input : node->inputs()) {
        const uint32_t* below = depth.find(input.node.get());
        if (below) deepest = std::max(deepest, *below + 1);
      }
    }
    depth.emplace(node.get(), deepest);
  }
  std::stable_sort(outputs.begin(), outputs.end(),
                   [&](const Value& a, const Value& b) { return depth[a.node.get()] > depth[b.node.get()]; });
  return outputs;
}

std::vector<Unit> one_op_per_unit(const std::vector<NodeRef>& order) {
  std::vector<Unit> units;
  for (const NodeRef& node : order) {
    if (node->evaluated() || ir::is_transparent(*node) || node->op() == Op::buffer) continue;
    units.emplace_back().call = node;
  }
  return units;
}

// Whether a unit makes a store that is kept, or writes what such a store puts together.
bool writes_kept_state(const Unit& unit, const Nodes& kept, const Parts& parts) {
  if (unit.call && unit.call->op() == Op::store && kept.contains(unit.call.get())) return true;
  const NodeList made = nodes_made_by(unit);
  return std::any_of(made.begin(), made.end(), [&](const Node* node) {
    const Part* part = parts.find(node);
    return part && part->whole->op() == Op::store && kept.contains(part->whole.get());
  });
}

// A literal as a leaf in memory: planning needs to know only that it exists.
struct NoData : ir::Data {};

// Literals that are arguments as leaves, each under the node that stands for it; the rest simplified.
std::vector<Value> simplified_graph(const std::vector<Value>& outputs, const Request& request, uint64_t realm,
                                    ByNode<uint32_t>& leaves) {
  const auto rule = [&](const Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
    if (const auto literal = request.literals.find(&node); literal != request.literals.end()) {
      const Value leaf = ir::buffer({literal->second, 0, node.device(), node.type()});
      leaf.node->set_data(0, std::make_shared<NoData>());
      leaves.emplace(leaf.node.get(), literal->second);
      return std::vector<Value>{leaf};
    }
    if (request.limits.one_op_per_kernel) return std::nullopt;  // as it was written
    if (node.op() == Op::custom)
      return std::vector<Value>(in.begin(), in.begin() + static_cast<ptrdiff_t>(node.results()));
    if (auto value = simplified(node, in)) return std::vector<Value>{std::move(*value)};
    return std::nullopt;
  };
  return rewrite(outputs, rule, request.limits.one_op_per_kernel ? 0 : realm);
}

// A gather that kernels can do inside: of a table that lies in memory with even strides, if there is anything to look
// up.
std::optional<std::vector<Value>> with_even_table(const Node& node, std::span<const Value> in) {
  if (ir::count(node.type().shape) == 0)
    return std::vector{ir::full(node.type().shape, 0, node.type().dtype, node.device())};
  if (ir::count(in[0].shape()) == 0 || ir::look_through(in[0]).map.is_strided()) return std::nullopt;
  const Value table = ir::decompose(Op::contiguous, in.first(1), ir::NoAttrs())[0];
  const auto& attrs = node.attrs_as<ir::AxisAttrs>();
  return std::vector{ir::gather(table, in[1], static_cast<size_t>(attrs.axis), attrs.use)};
}

// Calls that the device lacks are taken apart, and what comes of that too. Convolutions are noted: as products of
// windows they take longer than where a device has them.
std::vector<Value> with_calls_of(const ir::Limits& limits, std::vector<Value> outputs, std::vector<Op>& noted) {
  if (limits.missing_calls.empty()) return outputs;
  const auto is_there = [&](const Node& node) {
    const auto* conv = std::get_if<ir::ConvAttrs>(&node.attrs());
    return conv && conv->channels_last && limits.channels_last;
  };
  const auto is_missing = [&](const Node& node) {
    return limits.missing_calls.contains(node.op()) && ir::can_decompose(node.op()) && !is_there(node);
  };
  for (bool found = true; found;) {
    found = false;
    outputs = rewrite(outputs, [&](const Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
      if (node.op() == Op::gather && limits.missing_calls.contains(Op::gather)) {
        auto made = with_even_table(node, in);
        found = found || made;
        return made;
      }
      if (!is_missing(node)) return std::nullopt;
      found = true;
      const bool is_convolution = std::holds_alternative<ir::ConvAttrs>(node.attrs());
      if (is_convolution && std::ranges::find(noted, node.op()) == noted.end()) noted.push_back(node.op());
      return ir::decompose(node.op(), in, node.attrs());
    });
  }
  return outputs;
}

// Compositions as the ops that they are made of, but for those that the device has a kernel for.
std::vector<Value> with_compositions(const ir::Limits& limits, std::vector<Value> outputs) {
  const bool has_routines = limits.fuses && !limits.one_op_per_kernel && !limits.missing_calls.contains(Op::composed);
  const auto is_composed = [&](const Node& node) {
    return !node.evaluated() && node.op() == Op::composed &&
           !(has_routines && node.attrs_as<ir::ComposedAttrs>().what->routine != ir::Routine::none);
  };
  for (;;) {
    const std::vector<NodeRef> order = ir::order_of_evaluation(outputs);
    if (std::ranges::none_of(order, [&](const NodeRef& node) { return is_composed(*node); })) return outputs;
    outputs =
        rewrite(outputs, order, [&](const Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
          if (!is_composed(node)) return std::nullopt;
          return ir::written_out(*node.attrs_as<ir::ComposedAttrs>().what, in);
        });
  }
}

// Recurrent layers step by step. A gradient whose layer is computed here too reads the layer's steps themselves: what
// the layer keeps for it is then nothing that anybody reads.
std::vector<Value> with_steps(const std::vector<Value>& outputs) {
  const std::vector<NodeRef> order = ir::order_of_evaluation(outputs);
  const auto is_layer = [](const Node& node) {
    return node.op() == Op::recurrent || node.op() == Op::recurrent_backward;
  };
  if (std::ranges::none_of(order, [&](const NodeRef& node) { return !node->evaluated() && is_layer(*node); }))
    return outputs;
  ByNode<ir::RecurrentSteps> made;
  return rewrite(outputs, order, [&](const Node& node, std::span<const Value> in) -> std::optional<std::vector<Value>> {
    if (!is_layer(node)) return std::nullopt;
    const auto& attrs = node.attrs_as<ir::RecurrentAttrs>();
    if (node.op() == Op::recurrent) return ir::decompose_recurrent(in, attrs, &made[&node]);
    return ir::decompose_recurrent_backward(in, attrs, made.find(node.input(attrs.operands()).node.get()));
  });
}

void require_f64(const ir::Limits& limits, const std::vector<NodeRef>& order) {
  if (!limits.missing_dtypes.contains(DType::f64)) return;
  const Node* found = nullptr;
  for (const NodeRef& node : order) {
    if (node->evaluated() || ir::is_transparent(*node) || node->op() == Op::buffer) continue;
    const auto is_f64 = [](const Value& value) { return value.dtype() == DType::f64; };
    if (node->type().dtype != DType::f64 && !std::ranges::any_of(node->inputs(), is_f64)) continue;
    // Rather what reads a constant than the constant.
    if (!found || found->info().kind == ir::Kind::leaf) found = node.get();
  }
  if (found) base::fail(ir::name(found->op()), "{} has no f64; use f32, or another device", found->device().name);
}

Plan plan_graph(const Recomputed& graph, const Request& request) {
  const std::vector<Value>& outputs = graph.outputs;
  std::vector<NodeRef> order = ir::order_of_evaluation(outputs);
  require_f64(request.limits, order);
  Nodes kept;
  for (const Value& output : outputs) {
    const Node* base = ir::base_node(output);
    if (!base->evaluated()) kept.insert(base);
  }
  Parts parts;
  std::vector<Unit> units;
  if (request.limits.one_op_per_kernel) {
    units = one_op_per_unit(order);
  } else {
    const std::vector<Value> results = deepest_first(outputs, order);
    if (request.limits.fuses) parts = find_parts(order, outputs, kept);
    order = late_ones_last(std::move(order), graph, parts.assemblies);
    units = fuse(order, kept, parts.assemblies, results, graph.behind, request.limits);
    if (request.limits.fuses) {
      pass_targets_up(parts, units, kept);
      units = shorten_lives(std::move(units), kept, parts.nodes());
    }
  }
  std::vector<bool> writes_state;
  for (const Unit& unit : units) writes_state.push_back(writes_kept_state(unit, kept, parts));
  move_behind_faults(units, writes_state);
  return assign_slots(std::move(units), request, kept, parts);
}

// The values that must exist afterwards: all results of what the outputs are views of.
std::vector<Value> values_kept(const std::vector<Value>& outputs) {
  std::vector<Value> values;
  Nodes seen;
  for (const Value& output : outputs) {
    const Value& base = ir::base_of(output);
    if (base.node->evaluated() || !seen.insert(base.node.get())) continue;
    for (uint32_t i = 0; i < base.node->results(); ++i) values.push_back({base.node, i});
  }
  return values;
}

// The values that are planned in place of those that were asked for. Each is a value of its own, row-major, even where
// another graph shows a view, memory that is there already, or what stands for something else as well.
class StandIns {
 public:
  StandIns(const std::vector<Value>& wanted, std::vector<Value> planned) : planned_(std::move(planned)) {
    for (const Value& value : planned_) ++shown_[value.node.get()];
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (planned_[i] == wanted[i]) wanted_.emplace(Key(planned_[i]), wanted[i]);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (planned_[i] == wanted[i]) continue;
      while (!is_on_its_own(planned_[i]) || !wanted_.emplace(Key(planned_[i]), wanted[i]).second)
        planned_[i] = ir::decompose(Op::contiguous, {&planned_[i], 1}, ir::NoAttrs())[0];
    }
  }

  const std::vector<Value>& planned() const { return planned_; }
  const Value& wanted(const Value& planned) const { return wanted_.at(Key(planned)); }

 private:
  struct Key : std::pair<const Node*, uint32_t> {
    explicit Key(const Value& value) : pair(value.node.get(), value.index) {}
  };

  // Plans keep all results of a node or none.
  bool is_on_its_own(const Value& value) const {
    if (value.node->evaluated() || !(ir::base_of(value) == value) || value.node->op() == Op::buffer) return false;
    const size_t* shown = shown_.find(value.node.get());
    return value.node->results() == 1 || (shown && *shown == value.node->results());
  }

  std::vector<Value> planned_;
  ByNode<size_t> shown_;  // how many results of a node are wanted
  std::map<Key, Value> wanted_;
};

}  // namespace

Plan make_plan(const Request& request) {
  const uint64_t realm = ir::InRealm::next();
  const ir::InRealm nothing_is_evaluated_here(realm);
  const std::vector<Value> wanted = values_kept(request.outputs);
  ByNode<uint32_t> literals;
  std::vector<Value> simple =
      simplified_graph(with_steps(with_compositions(request.limits, wanted)), request, realm, literals);
  if (request.limits.channels_last) simple = with_channels_last(simple, request.takes);
  std::vector<Op> taken_apart;
  Recomputed graph{with_calls_of(request.limits, std::move(simple), taken_apart), {}};
  if (!request.limits.one_op_per_kernel) {
    const bool fuses = request.limits.fuses;
    if (fuses) graph.outputs = join_attention_gradients(graph.outputs);
    graph.outputs = lay_out_operands(graph.outputs);
    if (fuses) graph = recompute(graph.outputs, request.limits);
  }
  const StandIns stand_ins(wanted, std::move(graph.outputs));
  graph.outputs = stand_ins.planned();
  Plan plan = plan_graph(graph, request);
  plan.taken_apart = std::move(taken_apart);
  for (Value& result : plan.results) result = stand_ins.wanted(result);
  for (const Value& leaf : plan.leaves) {
    const uint32_t* literal = literals.find(leaf.node.get());
    plan.literals.push_back(literal ? *literal : Plan::kNone);
  }
  return plan;
}

}  // namespace tenon::plan
