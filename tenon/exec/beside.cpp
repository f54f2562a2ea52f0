// Each walks what hangs on the values that may join, at most once an evaluation.

#include "tenon/exec/beside.h"

#include <algorithm>

#include "tenon/ir/topology.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {
namespace {

using ir::bytes_of;
using ir::Node;
using ir::Op;
using ir::Value;

constexpr uint32_t kLong = 64;  // of a chain of operations
constexpr uint32_t kOften = 2;  // computed on the way to something else

bool is_recomputed(const Node& node) {
  const bool is_work = node.op() != Op::constant && node.op() != Op::store && node.info().kind != ir::Kind::movement &&
                       node.results() == 1;
  return node.times_computed() >= kOften && !node.evaluated() && is_work && !node.reads_shared();
}

// Before its value was computed.
bool is_cut_early(const Node& node) { return node.op() == Op::detach && !ir::base_node(node.input(0))->evaluated(); }

}  // namespace

// Stores that need something that is computed now join in, or it would be computed again for them: a step that reads
// its loss updates its weights and moments as well. So do those that have grown long: a sum of losses that is written
// in place and read after an epoch would be looked through in every step. Those that wait for another device do not.
bool add_pending(std::vector<Value>& values, const std::vector<ir::NodeRef>& order, std::span<const Value> pending) {
  std::vector<Value> waiting;
  for (const Value& store : pending) {
    const bool may_join = !store.node->evaluated() && !store.node->waits_alone();
    if (may_join && store.device() == values[0].device()) waiting.push_back(store);
  }
  if (waiting.empty()) return false;
  base::FlatSet<const Node*> shares;
  for (const ir::NodeRef& node : order) {
    const bool is_work = node->op() != Op::constant && node->info().kind != ir::Kind::movement;
    if (!node->evaluated() && is_work) shares.insert(node.get());
  }
  base::FlatSet<const Node*> elsewhere;
  for (const ir::NodeRef& node : ir::order_of_evaluation(waiting)) {
    if (node->evaluated()) continue;
    const auto inputs = node->inputs();
    const auto reads_any_of = [&](const base::FlatSet<const Node*>& nodes) {
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](const Value& input) { return nodes.contains(input.node.get()); });
    };
    if (reads_any_of(shares)) shares.insert(node.get());
    if (is_waiting_copy(*node) || (elsewhere.size() > 0 && reads_any_of(elsewhere))) elsewhere.insert(node.get());
  }
  const size_t before = values.size();
  for (const Value& store : waiting) {
    const bool joins = shares.contains(store.node.get()) || store.node->depth() >= kLong;
    if (joins && !elsewhere.contains(store.node.get())) values.push_back(store);
  }
  return values.size() > before;
}

namespace {

// What an evaluation begins with that others keep or carry on.
struct Begun {
  base::FlatMap<const ir::Data*, size_t> replaced;  // memory of states whose content is replaced, and the bytes of each
  base::FlatSet<const ir::Data*> carried;           // memory of values that an earlier step has carried here
  base::FlatSet<const Node*> cut;  // values cut from their history before they were computed, and those computed again

  explicit Begun(const std::vector<ir::NodeRef>& order) {
    for (const ir::NodeRef& node : order) {
      if (node->evaluated()) {
        const auto* memory = static_cast<const device::Storage*>(node->data().get());
        if (memory && memory->is_carried()) carried.insert(memory);
      } else if (node->op() == Op::store && node->input(0).node->evaluated()) {
        replaced.emplace(node->input(0).node->data().get(), bytes_of(node->type()));
      } else if (is_cut_early(*node) || is_recomputed(*node)) {
        cut.insert(node.get());
      }
    }
  }

  bool is_carried(const Node& node) const {
    return node.evaluated() ? carried.contains(node.data().get()) : cut.contains(&node);
  }
};

// Without references to the states when this returns: who alone has one may be overwritten.
std::vector<Value> unread_beside(const std::vector<ir::NodeRef>& order, const Unread& unread) {
  std::vector<ir::DataRef> replaced;
  for (const ir::NodeRef& node : order) {
    if (node->op() == Op::store && !node->evaluated() && node->input(0).node->evaluated())
      replaced.push_back(node->input(0).node->data());
  }
  return unread(replaced);
}

// What is known of the nodes below values that may join.
struct Below {
  base::FlatSet<const Node*> reads_old, reads_history, reads_carried, is_trained, elsewhere;

  Below(const std::vector<Value>& values, const std::vector<ir::NodeRef>& order, const Begun& begun) {
    base::FlatSet<const Node*> carried_out;
    for (const ir::NodeRef& node : order) {
      if (node->op() == Op::store) carried_out.insert(node.get());
    }
    for (const ir::NodeRef& node : ir::order_of_evaluation(values)) {
      if (begun.is_carried(*node)) reads_carried.insert(node.get());
      if (node->evaluated()) {
        if (begun.replaced.contains(node->data().get())) reads_old.insert(node.get());
        if (node->needs_grad()) reads_history.insert(node.get());
        continue;
      }
      if (is_waiting_copy(*node)) elsewhere.insert(node.get());
      if (node->needs_grad()) is_trained.insert(node.get());
      if (carried_out.contains(node.get())) continue;  // whoever reads it reads the new content
      for (const Value& input : node->inputs()) pass_on(*input.node, *node);
    }
  }

 private:
  void pass_on(const Node& below, const Node& node) {
    for (base::FlatSet<const Node*>* set : {&reads_old, &reads_history, &reads_carried, &is_trained, &elsewhere}) {
      if (set->contains(&below)) set->insert(&node);
    }
  }
};

}  // namespace

// Values that tensors hold and nobody has read would keep the old content of a state in memory: the loss of every step
// all the weights of its step. They are computed with what replaces it, unless they are larger and no gradients are
// about: then the old content is the lesser burden. So are those that keep a history although no gradient can be asked
// of them, and long sums.
//
// A loop that hands a state to its next step, cut from its history, and reads what it makes of it: the new state is
// computed with what is read, or every step would begin at the first one.
size_t add_unread(std::vector<Value>& values, const std::vector<ir::NodeRef>& order, const Unread& unread) {
  if (!unread) return 0;
  const Begun begun(order);
  const bool replaces = begun.replaced.size() > 0;
  if (!replaces && begun.carried.size() == 0 && begun.cut.size() == 0) return 0;
  std::vector<Value> waiting;
  for (const Value& value : unread_beside(order, unread)) {
    const bool may_join = !value.node->waits_alone() && !reads_a_part(value) && !value.node->reads_shared();
    if (may_join && value.device() == values[0].device()) waiting.push_back(value);
  }
  if (waiting.empty()) return 0;
  const Below below(waiting, order, begun);
  size_t bytes_replaced = 0;
  for (const auto& [memory, bytes] : begun.replaced) bytes_replaced += bytes;
  base::FlatSet<const Node*> wanted;
  for (const Value& value : values) wanted.insert(ir::base_node(value));
  const auto join = [&](const Value& value) {
    const Value& base = ir::base_of(value);
    if (!below.elsewhere.contains(value.node.get()) && !base.node->evaluated() && wanted.insert(base.node.get()))
      values.push_back(base);
  };
  for (const Value& value : waiting) {
    const Node* node = value.node.get();
    const bool holds_history = !value.needs_grad() && below.reads_history.contains(node);
    const bool is_worth_it = below.is_trained.contains(node) || bytes_of(ir::base_of(value).type()) <= bytes_replaced;
    const bool holds_old = below.reads_old.contains(node) && is_worth_it;
    if (replaces && (holds_old || holds_history || node->depth() >= kLong)) join(value);
  }
  const size_t before = values.size();
  for (const Value& value : waiting) {
    if (below.reads_carried.contains(value.node.get())) join(value);
  }
  return values.size() - before;
}

// What was computed twice on the way to other values, and is wanted once more for a new one, is kept: a loop that
// carries a state and reads only what follows from it would begin at its first step in every step. What numpy may
// write is not: it has the value of the moment in which it is read.
void keep_recomputed(std::vector<Value>& values, const std::vector<ir::NodeRef>& order) {
  base::FlatSet<const Node*> often;
  for (const ir::NodeRef& node : order) {
    if (is_recomputed(*node)) often.insert(node.get());
  }
  if (often.size() == 0) return;
  for (const ir::NodeRef& node : order) {
    if (node->evaluated()) continue;
    for (const Value& input : node->inputs()) {
      const Value& base = ir::base_of(input);
      const bool is_wanted = often.contains(base.node.get()) && base.node->times_computed() > node->times_computed();
      if (is_wanted && base.device() == values[0].device() && std::ranges::find(values, base) == values.end())
        values.push_back(base);
    }
  }
}

}  // namespace tenon::exec
