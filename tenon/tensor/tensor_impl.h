// What a tensor handle points at; for the files of this room only.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "tenon/base/spin_lock.h"
#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/ir/node.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/in_place.h"

namespace tenon {

struct Picked;  // index.cpp: where a tensor was picked from
struct Hooks;   // hooks.h: what is done with gradients that arrive at a tensor

// A differentiable leaf and what it has collected.
struct Leaf : ir::Param {
  std::mutex mutex;
  Tensor grad;  // undefined until a backward pass reaches it
  std::shared_ptr<Hooks> hooks;
};

/// Guards the lists of views.
std::mutex& views_mutex();

/// New data with an old history: what a write under NoGrad leaves, or data_ptr() that has laid a value out.
ir::Value with_history(const ir::Value& data, const ir::Value& history);
/// The value at which gradients of all uses of a tensor arrive: those recorded before its data were replaced, too.
ir::Value with_all_uses(ir::Value value);

/// The value without gradients, and without the nodes that lead to it where it is evaluated.
inline ir::Value cut_from_history(const ir::Value& value) {
  ir::Value cut = ir::detach(value);
  return cut.node->op() == ir::Op::detach ? exec::settle(cut) : cut;
}

/// The value for one tensor: where gradients pass, under an identity of its own.
inline ir::Value own(ir::Value value) { return value.needs_grad() ? ir::Node::apart(std::move(value)) : value; }

// Threads that only read may find that a value was evaluated and replace it by its buffer: what they read, they copy by
// held(), and they replace by let_go(). Whoever writes a tensor is alone with it and touches `value` itself.
struct TensorImpl {
  ir::Value value;  // of a view: none until somebody asks
  mutable base::SpinLock value_lock;
  std::shared_ptr<TensorImpl> root;      // set when this is a view
  base::SmallVector<ir::Move, 1> moves;  // from the root's value to this one's
  uint64_t version = 0;                  // of a root: how often it was written
  uint64_t seen_version = 0;             // of a view: the root's version `value` was made of, or kNever
  uint64_t range_version = 0;            // of a view: the root's version `range` is about
  std::shared_ptr<Leaf> leaf;            // set when this is a differentiable leaf
  std::shared_ptr<Leaf> frozen;          // what was the leaf before requires_grad_(false): its gradient stays
  uint64_t root_leaf = 0;                // of a view: which leaf its root was when the view was taken
  bool detached = false;                 // of a view: cut from the root's history
  bool made_under_no_grad = false;       // of a view: the reason why it is
  bool history_released = false;         // backward() has used the graph up
  std::optional<std::pair<int64_t, int64_t>> range;
  bool range_is_exact = false;                   // both bounds are among the elements
  uint64_t trace = 0;                            // the trace in which it was made, if any
  uint64_t mapping = 0;                          // the same of a function that vmap() maps
  uint32_t recordings = 0;                       // references of recordings, which look whether anybody else has one
  std::vector<std::weak_ptr<TensorImpl>> views;  // of a root
  std::shared_ptr<Tensor> shadow;                // of a root: its values in a lower type, see autocast.h
  uint64_t shadow_distance = 0;                  // between the versions of the two when the shadow was written last
  bool is_shared = false;                        // of a root: others see its memory and may write it, see share.h
  ir::Value before;                              // of a root: what a write that may fail has replaced
  bool is_pending = false;                       // of a root: written, and the write is not carried out yet
  std::shared_ptr<Picked> picked;                // set where tensors of positions have picked it
  std::shared_ptr<Tensor> retained;              // of a tensor that is no leaf: its gradient, if it keeps it
  ir::Value retained_of;                         // the value whose gradient that is
  bool is_watched_through_views = false;         // of a root: a view of it has had hooks, or keeps its gradient
  bool is_replaced = false;                      // of a root: a view has taken its place, when its shape was changed
  bool is_in_place_of_root = false;              // of that view
  uint64_t data_replacements =
      0;  // of a root: how often a tensor that shows it, itself among them, was given other data

  ir::Type type;  // of the value, and its device: they stay, and a reference to them, when others replace the value
  ir::DeviceId device;
  bool type_is_known = false;  // of a view: once somebody has asked

  ir::Value held() const {
    std::lock_guard lock(value_lock);
    return value;
  }
  bool holds_buffer() const {
    std::lock_guard lock(value_lock);
    return value.node->op() == ir::Op::buffer;
  }
  /// Replaces what was held a moment ago by what is equal to it. Gives what is held now.
  ir::Value let_go(const ir::Value& seen, ir::Value equal) {
    std::lock_guard lock(value_lock);
    if (value == seen) std::swap(value, equal);  // the old one ends behind the lock
    return value;
  }

  uint64_t leaf_id() const { return leaf ? leaf->id : 0; }
  /// Where its gradient is, of a leaf that requires grad or did once.
  const std::shared_ptr<Leaf>& gradient_holder() const { return leaf ? leaf : frozen; }
  uint64_t current_version() const { return root ? root->current_version() : version; }

  void refresh() {
    if (!root) return;
    const uint64_t now = root->current_version();
    if (has_seen(now)) return;
    root->refresh();
    std::lock_guard lock(views_mutex());  // several threads may read one view for the first time
    if (has_seen(now)) return;
    look_at_root();
    if (range_version != now) range.reset();
    range_version = now;
  }
  /// Then `value` is there, and nobody who only reads changes it.
  bool has_seen(uint64_t version_of_root) {
    return std::atomic_ref<uint64_t>(seen_version).load(std::memory_order_acquire) == version_of_root;
  }

  /// Notes what stays of the value for as long as the tensor is not given other data.
  void note_type(const ir::Value& now) {
    std::lock_guard lock(value_lock);
    if (type_is_known) return;
    type = now.type();
    device = now.device();
    std::atomic_ref<bool>(type_is_known).store(true, std::memory_order_release);
  }
  bool knows_type() { return std::atomic_ref<bool>(type_is_known).load(std::memory_order_acquire); }

  /// The view that has taken the place of a root.
  std::shared_ptr<TensorImpl> replacement() const {
    if (!is_replaced) return nullptr;
    std::lock_guard lock(views_mutex());
    for (const std::weak_ptr<TensorImpl>& view : views) {
      auto alive = view.lock();
      if (alive && alive->is_in_place_of_root && alive->root.get() == this) return alive;
    }
    return nullptr;
  }

  /// Views let go of what they show and look again when they are asked.
  void drop_what_views_show() {
    std::lock_guard lock(views_mutex());
    for (const std::weak_ptr<TensorImpl>& view : views) {
      const auto alive = view.lock();
      if (!alive || alive->seen_version == kNever) continue;
      alive->value = {};
      alive->seen_version = kNever;
    }
  }
  static constexpr uint64_t kNever = ~uint64_t{0};

  /// What a view shows of its root's value.
  ir::Value shown(const ir::Value& of_root) const {
    const bool follows = !detached && !leaf && root_leaf == root->leaf_id();
    ir::Value seen = follows ? of_root : cut_from_history(of_root);
    for (const ir::Move& move : moves) seen = ir::move(seen, move);
    return leaf ? ir::param(seen, leaf) : own(std::move(seen));
  }

  void look_at_root() {
    ir::Value seen = shown(root->held());
    if (!(held() == seen)) {
      std::lock_guard lock(value_lock);
      std::swap(value, seen);
    }
    std::atomic_ref<uint64_t>(seen_version).store(root->current_version(), std::memory_order_release);
  }
};

/// The tensor that owns the memory a view shows.
inline const std::shared_ptr<TensorImpl>& root_of(const std::shared_ptr<TensorImpl>& view) {
  const std::shared_ptr<TensorImpl>* root = &view;
  while ((*root)->root) root = &(*root)->root;
  return *root;
}

/// What a tensor that owns its memory holds; what a captured function has made of it stands in the trace.
ir::Value value_of_root(const std::shared_ptr<TensorImpl>& root);

/// The moves from it to the view.
inline std::vector<ir::Move> path_to(const TensorImpl& view) {
  std::vector<ir::Move> path;
  for (const TensorImpl* impl = &view; impl->root; impl = impl->root.get())
    path.insert(path.begin(), impl->moves.begin(), impl->moves.end());
  return path;
}

/// Writes a value that was made of what the tensor held before.
void write_over(const Tensor& tensor, const ir::Value& next);
/// Whether writing through this view would change a leaf that gradients are asked of.
bool writes_a_leaf(const TensorImpl& view);
/// Lets gradients of what a root holds pass the view that has taken its place, which now has the value `seen`.
void pass_through(TensorImpl& root, TensorImpl& reshaped, ir::Value seen);
/// From now on `to` keeps the gradient that `from` kept.
void move_retained(const std::shared_ptr<TensorImpl>& from, const std::shared_ptr<TensorImpl>& to);
/// As in PyTorch, a view that keeps its gradient keeps that of the value it was last used with.
void note_retained(TensorImpl& tensor, const ir::Value& value);
/// The gradients of the wanted values; tensors that keep theirs, and that they pass, get them.
std::vector<ir::Value> gradients_and_retained(std::span<const ir::Value> roots, std::span<const ir::Value> seeds,
                                              std::span<const ir::Value> wanted, bool create_graph);

/// Carries out at once what was written to a root that is shared, in the memory that others see.
void write_shared(TensorImpl& owner, const device::StorageRef& home);

/// Computes which elements masks pick, where that has waited until somebody asks.
void pick_now(TensorImpl& impl);

/// Whether the shadow of a root holds what the root does.
bool shadow_is_current(const std::shared_ptr<TensorImpl>& owner);
/// From now on it does, until one of them is written alone; or, with `is_current` off, it does not.
void note_shadow(const std::shared_ptr<TensorImpl>& owner, bool is_current = true);
/// Converts the root once more.
void renew_shadow(const std::shared_ptr<TensorImpl>& owner);

}  // namespace tenon
