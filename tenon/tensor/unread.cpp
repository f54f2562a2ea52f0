// One list a thread, of weak references: whoever lets go of a tensor needs its value no more.

#include "tenon/tensor/unread.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "tenon/base/error.h"
#include "tenon/base/flat_map.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"

namespace tenon::unread {
namespace {

struct Waiting {
  std::weak_ptr<TensorImpl> tensor;
  uint32_t looks = 0;  // how often it was given in vain
  uint32_t waits = 0;  // evaluations before it is given again
};

struct List {
  std::vector<Waiting> entries;
  size_t room = kLeast;  // those that are gone are dropped when it is used up
  bool is_paused = false;
  size_t since_look = 0, brought = 0;  // tensors recorded and bytes brought in since it was looked what they hold
  size_t next_look = kFewTensors, next_brought = kFewBytes;
  static constexpr size_t kLeast = 32, kFewTensors = 256, kFewBytes = 4 << 20;

  void drop_gone() {
    std::erase_if(entries, [](const Waiting& entry) { return entry.tensor.expired(); });
    room = std::max(kLeast, 2 * entries.size());
  }
};

List& list() {
  thread_local List tensors;
  return tensors;
}

bool is_cut_from_a_history(const TensorImpl& view) {
  if (!view.root || !view.detached || view.made_under_no_grad) return false;
  const TensorImpl& root = *view.root;
  const bool is_watched = root.retained || root.is_watched_through_views;
  return !root.root && !root.leaf && !is_watched && root.held().needs_grad();
}

// A tensor that only views cut from its history keep has one that nobody can ask for.
bool keeps_a_history(TensorImpl& view) {
  if (!is_cut_from_a_history(view)) return false;
  TensorImpl& root = *view.root;
  long cut_views = 0;
  {
    std::lock_guard lock(views_mutex());
    cut_views = std::count_if(root.views.begin(), root.views.end(), [&](const std::weak_ptr<TensorImpl>& weak) {
      const auto other = weak.lock();
      return other && other->root == view.root && other->detached && !other->made_under_no_grad;
    });
  }
  if (view.root.use_count() > cut_views) return true;
  const ir::Value now = root.held();
  root.let_go(now, cut_from_history(now));
  return false;
}

// Those whose gradients may be asked for keep what they are made of in any case.
bool may_be_computed_early(const ir::Value& value) {
  return value && !value.needs_grad() && !exec::is_evaluated(value) && !value.node->waits_alone() &&
         !exec::reads_a_part(value);
}

// What this thread holds, or has written, and may be computed early: the tensors, and their values without repetition.
struct Early {
  std::vector<std::shared_ptr<TensorImpl>> tensors = pending_writes::tensors();
  std::vector<ir::Value> values;

  Early() {
    list().drop_gone();  // no more: a write may be under way, whose tensor is to stay as it is
    for (const Waiting& entry : list().entries) {
      if (auto tensor = entry.tensor.lock()) tensors.push_back(std::move(tensor));
    }
    base::FlatSet<const ir::Node*> known;
    std::erase_if(tensors, [&](const std::shared_ptr<TensorImpl>& tensor) {
      ir::Value value = tensor->held();
      if (!may_be_computed_early(value)) return true;
      if (known.insert(value.node.get())) values.push_back(std::move(value));
      return false;
    });
  }

  void compute(size_t most_bytes_of_each) {
    std::erase_if(values, [&](const ir::Value& value) {
      return ir::bytes_of(ir::base_of(value).type()) > most_bytes_of_each;
    });
    if (values.empty()) return;
    List& all = list();
    all.next_look = List::kFewTensors;
    all.next_brought = List::kFewBytes;
    try {
      exec::eval(values, false, pending_writes::stores(), nullptr,
                 [](std::span<const ir::DataRef>) { return unread::values(); });
    } catch (const Error&) {  // raised again where it is read
      for (const ir::Value& value : values) value.node->set_waits_alone();
      return;
    }
    for (const auto& tensor : tensors) {
      if (exec::is_evaluated(tensor->held())) forget_how_made(*tensor);
    }
    forget_histories();
    all.next_look = std::max(all.next_look, all.entries.size());
  }
};

constexpr size_t kBytesOfANode = 512;  // with its operands, attributes and place in the intern table, measured

// Small values and writes that hold much: a metric holds the batches that it was made of. And lists of results that
// are many and read by nobody: their graph is larger than they are.
void compute_what_holds_data() {
  constexpr size_t kMuchSmaller = 16, kLargeGraph = 4 << 20, kMany = 1024;
  List& all = list();
  Early early;
  size_t nodes = 0;
  const size_t held = bytes_held_for(early.values, &nodes), graph = nodes * kBytesOfANode;
  all.since_look = all.brought = 0;
  // Several may be of one node. Near the limit one looks again before as much has come again.
  const size_t left = (kLargeGraph - std::min(graph, kLargeGraph)) / kBytesOfANode;
  const size_t until_limit = left > 0 ? std::min(nodes, left) : nodes;
  all.next_look = std::max({List::kFewTensors, until_limit, early.tensors.size(), all.entries.size() / 4});
  all.next_brought = std::max(List::kFewBytes, held);
  if (held >= std::max(List::kFewBytes, graph))
    early.compute(held / kMuchSmaller);
  else if (graph >= kLargeGraph && early.values.size() >= kMany)
    early.compute(graph / kMuchSmaller);
}

// The longest chain of operations below a value that no gradient passes, and is longer by far than what gradients
// pass below it: of a sum, say, that is carried from step to step. The chains of backward() are not.
uint32_t length_carried(const ir::Value& value) {
  constexpr uint32_t kLongerByFar = 8;
  const ir::Node* node = value.node.get();
  uint32_t length = 0;
  while (!node->evaluated() && !node->needs_grad()) {
    ++length;
    const auto inputs = node->inputs();
    const auto depth_of = [](const ir::Value& input) { return input.node->evaluated() ? 0 : input.node->depth() + 1; };
    const auto deepest = std::ranges::max_element(inputs, {}, depth_of);
    if (deepest == inputs.end()) return length;
    node = deepest->node.get();
  }
  const uint32_t below = node->evaluated() ? 0 : node->depth();
  return below * kLongerByFar < length ? length : 0;
}

// Deeper than the models of which somebody reads something in every step, and cut at the same place in every loop: the
// plan of the next part is that of the last. A chain whose every link is the result of a model is cut when it has a
// large graph: it is looked at whenever it has become twice as long.
void compute_long_chain(const ir::Value& value) {
  constexpr uint32_t kLong = 4096, kNotShort = 256, kMostOfALink = 8;
  constexpr size_t kMostBytesOfEach = 1 << 20;
  const uint32_t depth = value.node->depth();
  if (depth < kNotShort || value.needs_grad()) return;
  const bool has_doubled = depth - std::bit_floor(depth) < kMostOfALink;
  if (depth < kLong && !has_doubled) return;
  // Below the chain may lie what was computed since it was recorded.
  if (length_carried(value) < (depth < kLong ? std::bit_floor(depth) / 2 : kLong)) return;
  if (!may_be_computed_early(value) || (depth < kLong && !has_large_graph(value))) return;
  Early early;
  if (std::ranges::find(early.values, value) == early.values.end()) early.values.push_back(value);
  early.compute(std::max(kMostBytesOfEach, ir::bytes_of(ir::base_of(value).type())));
}

}  // namespace

void add(const std::shared_ptr<TensorImpl>& tensor) {
  List& all = list();
  const ir::Node& node = *tensor->value.node;
  if (all.is_paused) return;
  if (node.inputs().empty()) {
    if (node.op() == ir::Op::buffer) all.brought += ir::bytes_of(node.type());
    if (all.brought >= all.next_brought) compute_what_holds_data();
    return;
  }
  if (node.evaluated()) return;
  if (all.entries.size() >= all.room) all.drop_gone();
  all.entries.push_back({tensor, 0, 0});
  compute_long_chain(tensor->value);
  if (++all.since_look >= all.next_look) compute_what_holds_data();
}

void compute_all() { Early().compute(~size_t{0}); }

void add_cut(const std::shared_ptr<TensorImpl>& view) {
  if (view->value.node->evaluated() && is_cut_from_a_history(*view)) list().entries.push_back({view, 0, 0});
}

std::vector<ir::Value> values() {
  constexpr uint32_t kMostLooks = 10;
  std::vector<ir::Value> found;
  std::erase_if(list().entries, [&](Waiting& entry) {
    const auto tensor = entry.tensor.lock();
    if (!tensor) return true;
    if (entry.waits > 0) {
      --entry.waits;
      return false;
    }
    entry.waits = (1u << entry.looks) - 1;
    entry.looks = std::min(entry.looks + 1, kMostLooks);
    if (ir::Value value = tensor->held(); value && !exec::is_evaluated(value)) found.push_back(std::move(value));
    return false;
  });
  return found;
}

void forget_histories() {
  std::erase_if(list().entries, [](const Waiting& entry) {
    const auto tensor = entry.tensor.lock();
    if (!tensor) return true;
    const ir::Value value = tensor->held();
    if (!value || !exec::is_evaluated(value)) return false;
    forget_how_made(*tensor);
    return !keeps_a_history(*tensor);
  });
}

Pause::Pause() : before_(std::exchange(list().is_paused, true)) {}
Pause::~Pause() { list().is_paused = before_; }

}  // namespace tenon::unread
