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

void undo(TensorImpl& owner) {
  const ir::Value old = value_before(owner.value);
  if (old == owner.value) return;
  owner.value = old;
  ++owner.version;
}

void undo(std::span<const ir::Value> failed) {
  for (const std::weak_ptr<TensorImpl>& weak : list()) {
    const auto tensor = weak.lock();
    if (tensor && std::ranges::find(failed, data_of(*tensor)) != failed.end()) undo(*tensor);
  }
}

}  // namespace tenon::pending_writes
