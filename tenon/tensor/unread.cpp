// One list a thread, of weak references: whoever lets go of a tensor needs its value no more.

#include "tenon/tensor/unread.h"

#include <algorithm>
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

// Small values and writes that hold much: a metric holds the batches that it was made of.
void compute_what_holds_data() {
  constexpr size_t kMuchSmaller = 16, kBytesOfANode = 512;
  List& all = list();
  all.drop_gone();
  std::vector<std::shared_ptr<TensorImpl>> tensors = pending_writes::tensors();
  for (const Waiting& entry : all.entries) {
    if (auto tensor = entry.tensor.lock()) tensors.push_back(std::move(tensor));
  }
  std::vector<ir::Value> values;
  base::FlatSet<const ir::Node*> known;
  std::erase_if(tensors, [&](const std::shared_ptr<TensorImpl>& tensor) {
    ir::Value value = tensor->held();
    if (!may_be_computed_early(value)) return true;
    if (known.insert(value.node.get())) values.push_back(std::move(value));
    return false;
  });
  size_t nodes = 0;
  const size_t held = bytes_held_for(values, &nodes);
  all.since_look = all.brought = 0;
  all.next_look = std::max({List::kFewTensors, nodes, tensors.size()});  // several may be of one node
  all.next_brought = std::max(List::kFewBytes, held);
  if (held < std::max(List::kFewBytes, nodes * kBytesOfANode)) return;
  const auto is_large = [&](const ir::Value& value) {
    return ir::bytes_of(ir::base_of(value).type()) > held / kMuchSmaller;
  };
  std::erase_if(values, is_large);
  if (values.empty()) return;
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
  if (++all.since_look >= all.next_look) compute_what_holds_data();
}

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
