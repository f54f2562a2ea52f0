// One list a thread, of weak references: a tensor that is gone needs its write no more.

#include "tenon/tensor/pending_writes.h"

#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/settle.h"

namespace tenon::pending_writes {
namespace {

std::vector<std::weak_ptr<TensorImpl>>& list() {
  thread_local std::vector<std::weak_ptr<TensorImpl>> tensors;
  return tensors;
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
    const ir::Value data = is_param(tensor->value) ? tensor->value.node->input(0) : tensor->value;
    if (!exec::is_evaluated(data)) {
      values.push_back(data);
      return false;
    }
    tensor->is_pending = false;
    return true;
  });
  return values;
}

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

}  // namespace tenon::pending_writes
