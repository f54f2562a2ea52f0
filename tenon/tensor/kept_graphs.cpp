// Old weights are known by what evaluations have replaced and is still in memory; which graphs keep them is looked up
// only when those are many, so that a training that keeps no graphs pays for a few weak references a step.

#include "tenon/tensor/kept_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/flat_map.h"
#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon::kept_graphs {
namespace {

// Linear models in a few lines may ask for gradients across steps, as PyTorch lets them.
constexpr size_t kFewBytes = 256 << 10;

struct OldState {
  std::weak_ptr<ir::Data> memory;
  uint64_t version;  // one that was overwritten in place has another by now
  size_t bytes;
  uint64_t step;
};

struct List {
  std::vector<std::weak_ptr<TensorImpl>> tensors;  // in the order in which they were made
  size_t room = kLeast;
  std::vector<OldState> states;
  uint64_t step = 0;
  static constexpr size_t kLeast = 64;
};

List& kept_list() {
  thread_local List all;
  return all;
}

using States = base::FlatMap<const ir::Data*, size_t>;  // and where in a list they stand

/// An old state that a value's gradient would read as a weight, and the op that it would read it for.
struct Weight {
  size_t state;
  const ir::Node *param, *reader;
};

std::vector<Weight> weights_below(const ir::Value& value, const States& states) {
  struct Step {
    const ir::Node *node, *reader;
  };
  std::vector<Weight> found;
  base::FlatSet<const ir::Node*> seen;
  std::vector<Step> waiting{{value.node.get(), value.node.get()}};
  while (!waiting.empty()) {
    const auto [node, reader] = waiting.back();
    waiting.pop_back();
    if (node->op() == ir::Op::param) {
      const size_t* place = states.find(exec::memory_of(node->input(0)).get());
      const auto is_it = [&](const Weight& weight) { return weight.state == *place; };
      if (place && std::ranges::none_of(found, is_it)) found.push_back({*place, node, reader});
      continue;
    }
    const bool computes = node->info().kind != ir::Kind::movement && !ir::is_transparent(*node);
    for (const ir::Value& input : node->inputs()) {
      if (input.node->needs_grad() && seen.insert(input.node.get()))
        waiting.push_back({input.node.get(), computes ? node : reader});
    }
  }
  return found;
}

/// The bytes that one step has replaced, of the step that has replaced most of these states; of those that have users,
/// where these are given.
size_t most_of_a_step(const std::vector<OldState>& states, const std::vector<size_t>& users) {
  size_t most = 0;
  base::FlatMap<uint64_t, size_t> of_steps;
  for (size_t i = 0; i < states.size(); ++i) {
    if (users.empty() || users[i] > 0) most = std::max(most, of_steps[states[i].step] += states[i].bytes);
  }
  return most;
}

std::string described(const ir::Node& node) {
  const std::string module = base::describe_label(node.label());
  return fmt::format("{}{}", ir::name(node.op()), module.empty() ? "" : fmt::format(" (in {})", module));
}

/// Why backward() is refused: what was written, and which op needs it as it was.
std::string refusal(const ir::Value& value, const Weight& weight) {
  return fmt::format(
      "{} needs its operand {} {} as it was, which has been written several times since; the graph of this tensor, {} "
      "made by {}, is kept no longer: call backward() before weights are written, or detach() what is only added up or "
      "looked at",
      described(*weight.reader), name(weight.param->type().dtype), ir::to_string(weight.param->type().shape),
      ir::to_string(value.shape()), described(*value.node));
}

/// The value alone. It still asks for gradients, so that nobody takes the gradient of a part for that of the whole.
ir::Value without_graph(const ir::Value& value, const Weight& weight) {
  const auto refuse = [text = refusal(value, weight)](std::span<const ir::Value>,
                                                      std::span<const ir::Value>) -> std::vector<ir::Value> {
    base::fail("backward", "{}", text);
  };
  const auto rule = std::make_shared<const ir::CustomRule>(ir::CustomRule{"let_go", refuse});
  static const auto nobody = std::make_shared<ir::Param>();
  const ir::Value asks = ir::param(ir::constant(0, value.dtype(), value.device()), nobody);
  const ir::Value alone = exec::settle(ir::detach(value));
  return {ir::Node::make(ir::Op::custom, {alone, asks}, ir::CustomAttrs{rule, 1}), 0};
}

bool may_let_go(const TensorImpl& tensor, const ir::Value& value) {
  return value && value.needs_grad() && !tensor.root && !tensor.leaf && !tensor.retained &&
         !tensor.is_watched_through_views && exec::is_evaluated(value);
}

}  // namespace

void add(const std::shared_ptr<TensorImpl>& tensor) {
  List& all = kept_list();
  if (all.tensors.size() >= all.room) {
    std::erase_if(all.tensors, [](const auto& weak) { return weak.expired(); });
    all.room = std::max(List::kLeast, 2 * all.tensors.size());
  }
  all.tensors.push_back(tensor);
}

void note_replaced(std::span<const ir::DataRef> states) {
  List& all = kept_list();
  ++all.step;
  for (const ir::DataRef& state : states) {
    const auto storage = device::storage_of(state);
    all.states.push_back({state, storage->version(), storage->bytes(), all.step});
  }
}

void bound() {
  List& all = kept_list();
  size_t bytes = 0;
  std::erase_if(all.states, [&](const OldState& state) {
    const ir::DataRef memory = state.memory.lock();
    const bool is_old = memory && device::storage_of(memory)->version() == state.version;
    bytes += is_old ? state.bytes : 0;
    return !is_old;
  });
  if (bytes < std::max(2 * most_of_a_step(all.states, {}), kFewBytes)) return;
  States places;
  for (size_t i = 0; i < all.states.size(); ++i) {
    if (const ir::DataRef memory = all.states[i].memory.lock()) places.emplace(memory.get(), i);
  }

  struct Kept {
    std::shared_ptr<TensorImpl> tensor;
    std::vector<Weight> weights;
  };
  std::vector<Kept> kept;
  std::vector<size_t> users(all.states.size());
  for (const auto& weak : all.tensors) {
    auto tensor = weak.lock();
    if (!tensor) continue;
    const ir::Value value = tensor->held();
    if (!value || !value.needs_grad()) continue;
    std::vector<Weight> weights = weights_below(value, places);
    if (weights.empty()) continue;
    for (const Weight& weight : weights) ++users[weight.state];
    kept.push_back({std::move(tensor), std::move(weights)});
  }
  size_t in_all = 0;
  for (size_t i = 0; i < users.size(); ++i) in_all += users[i] == 0 ? 0 : all.states[i].bytes;
  const size_t most = std::max(2 * most_of_a_step(all.states, users), kFewBytes);
  base::FlatSet<const TensorImpl*> done;
  for (const Kept& one : kept) {
    if (in_all < most) break;
    const ir::Value value = one.tensor->held();
    if (!may_let_go(*one.tensor, value)) continue;
    one.tensor->let_go(value, without_graph(value, one.weights.front()));
    one.tensor->drop_what_views_show();
    done.insert(one.tensor.get());
    for (const Weight& weight : one.weights) {
      if (--users[weight.state] == 0) in_all -= all.states[weight.state].bytes;
    }
  }
  std::erase_if(all.tensors, [&](const auto& weak) { return done.contains(weak.lock().get()); });
}

}  // namespace tenon::kept_graphs
