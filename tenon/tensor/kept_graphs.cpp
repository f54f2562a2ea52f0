// Old weights are known by what evaluations have replaced and is still in memory; which graphs keep them is looked up
// only when those are many, so that a training that keeps no graphs pays for a few weak references a step.

#include "tenon/tensor/kept_graphs.h"

#include <algorithm>
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

/// The old states that a value's gradient would read as weights.
std::vector<size_t> weights_below(const ir::Value& value, const States& states) {
  std::vector<size_t> found;
  base::FlatSet<const ir::Node*> seen;
  std::vector<const ir::Node*> waiting{value.node.get()};
  while (!waiting.empty()) {
    const ir::Node& node = *waiting.back();
    waiting.pop_back();
    if (node.op() == ir::Op::param) {
      const size_t* place = states.find(exec::memory_of(node.input(0)).get());
      if (place && std::ranges::find(found, *place) == found.end()) found.push_back(*place);
      continue;
    }
    for (const ir::Value& input : node.inputs()) {
      if (input.node->needs_grad() && seen.insert(input.node.get())) waiting.push_back(input.node.get());
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

/// The value alone. It still asks for gradients, so that nobody takes the gradient of a part for that of the whole.
ir::Value without_graph(const ir::Value& value) {
  static const auto rule = std::make_shared<const ir::CustomRule>(
      ir::CustomRule{"let_go", [](std::span<const ir::Value>, std::span<const ir::Value>) -> std::vector<ir::Value> {
                       base::fail("backward",
                                  "the weights that this tensor was made with have been written several times since, "
                                  "and its graph is kept no longer; call backward() before they are written, or "
                                  "detach() what is only added up or looked at");
                     }});
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
    std::vector<size_t> weights;
  };
  std::vector<Kept> kept;
  std::vector<size_t> users(all.states.size());
  for (const auto& weak : all.tensors) {
    auto tensor = weak.lock();
    if (!tensor) continue;
    const ir::Value value = tensor->held();
    if (!value || !value.needs_grad()) continue;
    std::vector<size_t> weights = weights_below(value, places);
    if (weights.empty()) continue;
    for (const size_t i : weights) ++users[i];
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
    one.tensor->let_go(value, without_graph(value));
    one.tensor->drop_what_views_show();
    done.insert(one.tensor.get());
    for (const size_t i : one.weights) {
      if (--users[i] == 0) in_all -= all.states[i].bytes;
    }
  }
  std::erase_if(all.tensors, [&](const auto& weak) { return done.contains(weak.lock().get()); });
}

}  // namespace tenon::kept_graphs
