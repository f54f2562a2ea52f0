// One list a thread, of weak references: a tensor that is gone needs its write no more.

#include "tenon/tensor/pending_writes.h"

#include <algorithm>

#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/settle.h"

namespace tenon::pending_writes {
namespace {

std::vector<std::weak_ptr<TensorImpl>>& list() {
  thread_local std::vector<std::weak_ptr<TensorImpl>> tensors;
  return tensors;
}

ir::Value data_of(const TensorImpl& tensor) {
  return is_param(tensor.value) ? tensor.value.node->input(0) : tensor.value;
}

// The value before the writes that have not been carried out.
ir::Value value_before(const ir::Value& value) {
  if (is_param(value)) {
    const auto leaf = leaf_of(value);
    return leaf ? ir::param(value_before(value.node->input(0)), leaf) : value;
  }
  ir::Value old = value;
  while (old.node->op() == ir::Op::store && !old.node->evaluated()) {
    ir::Value base = old.node->input(0);
    old = std::move(base);
  }
  return old;
}

}  // namespace

void add(const std::shared_ptr<TensorImpl>& tensor) {
  if (tensor->is_pending) return;
  tensor->is_pending = true;
  list().push_back(tensor);
}

std::vector<ir::Value> stores() {
  std::vector<ir::Value> values;
  std::erase_if(list(), [&](const std::weak_ptr<TensorImpl>& weak) {
    const auto tensor = weak.lock();
    if (!tensor || tensor->root) return true;  // a tensor that was given other data shows another's
    const ir::Value data = data_of(*tensor);
    if (!exec::is_evaluated(data)) {
      values.push_back(data);
      return false;
    }
    tensor->is_pending = false;
    return true;
  });
  return values;
}

std::vector<std::shared_ptr<TensorImpl>> tensors() {
  std::vector<std::shared_ptr<TensorImpl>> found;
  for (const std::weak_ptr<TensorImpl>& weak : list()) {
    if (auto tensor = weak.lock()) found.push_back(std::move(tensor));
  }
  return found;
}

namespace {

bool is_waiting_store(const ir::Value& value) { return value.node->op() == ir::Op::store && !value.node->evaluated(); }

// The value before the writes that fail: those below them are carried out.
ir::Value last_sound(const ir::Value& value) {
  ir::Value old = value;
  while (is_waiting_store(old)) {
    old = ir::Value(old.node->input(0));
    if (!is_waiting_store(old)) break;
    try {
      exec::eval({&old, 1}, true);
      break;
    } catch (const Error&) {
    }
  }
  return old;
}

void set_back(TensorImpl& owner, ir::Value old) {
  if (old == owner.value) return;
  owner.value = std::move(old);
  ++owner.version;
}

void undo_replaced(TensorImpl& owner) {
  if (!owner.before) return;
  const ir::Value data = data_of(owner);
  try {
    exec::eval({&data, 1}, true);
    exec::wait({&data, 1});
  } catch (const Error&) {
    set_back(owner, std::exchange(owner.before, {}));
  }
}

}  // namespace

void undo(TensorImpl& owner) {
  const ir::Value data = data_of(owner);
  if (is_waiting_store(data)) {
    const ir::Value old = last_sound(data);
    const auto leaf = leaf_of(owner.value);
    if (!is_param(owner.value))
      set_back(owner, old);
    else if (leaf)
      set_back(owner, ir::param(old, leaf));
  }
  undo_replaced(owner);
}

void undo_replaced() {
  for (const std::weak_ptr<TensorImpl>& weak : std::vector(list())) {
    if (const auto tensor = weak.lock()) undo_replaced(*tensor);
  }
}

void undo(std::span<const ir::Value> joined) {
  if (joined.empty()) return;
  try {
    exec::eval(joined, true);
    return;  // what failed was somebody else
  } catch (const Error&) {
  }
  for (const std::weak_ptr<TensorImpl>& weak : list()) {
    const auto tensor = weak.lock();
    if (tensor && std::ranges::find(joined, data_of(*tensor)) != joined.end())
      set_back(*tensor, value_before(tensor->value));
  }
}

}  // namespace tenon::pending_writes
