// Hooks on gradients, and gradients that tensors keep although they are no leaves.
//
// As in PyTorch, a hook is on the value that a tensor has when it is registered, and sees the gradient of all uses of
// it, those recorded before, too. When the tensor, or the one it is a view of, is written in place, the hook stays with
// the old value. It lives as long as the graph does.

#include "tenon/tensor/hooks.h"

#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

using base::fail;

HookHandle Hooks::add(Function f, uint32_t result) {
  std::lock_guard lock(mutex_);
  entries_.push_back({std::make_shared<bool>(true), std::move(f), result});
  return HookHandle(entries_.back().is_on);
}

ir::Value Hooks::applied(uint32_t result, const ir::Value& gradient) {
  std::vector<Entry> now;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return !*entry.is_on; });
    now = entries_;
  }
  Tensor passed = tensor_showing(gradient);
  for (const Entry& entry : now) {
    if (entry.result != result) continue;
    const Tensor next = entry.f(passed);
    if (!next.defined()) continue;
    if (!(value_of(next).type() == value_of(passed).type()) || next.device() != passed.device()) {
      fail("register_hook", "the hook made {}{} of a gradient of {}{}", name(next.dtype()), ir::to_string(next.shape()),
           name(passed.dtype()), ir::to_string(passed.shape()));
    }
    passed = next;
  }
  return value_of(passed);
}

HookHandle Tensor::register_hook(std::function<Tensor(const Tensor&)> f) {
  if (!requires_grad()) fail("register_hook", "this tensor does not require grad");
  if (impl_->history_released) fail("register_hook", "the graph of this tensor was used up by an earlier backward()");
  if (Trace* trace = Trace::current(); trace && trace->is_outside(*impl_))
    fail("register_hook", "a tensor from outside gets no hook inside a captured function; register it before");
  if (impl_->leaf) {
    std::lock_guard lock(impl_->leaf->mutex);
    if (!impl_->leaf->hooks) impl_->leaf->hooks = std::make_shared<Hooks>();
    return impl_->leaf->hooks->add(std::move(f));
  }
  if (impl_->root) root_of(impl_)->is_watched_through_views = true;
  const ir::Value value = with_all_uses(value_of(*this));
  if (impl_->retained) note_retained(*impl_, value);
  ir::GradientHooks* there = value.node->hooks();
  if (!there) there = &value.node->set_hooks(std::make_unique<Hooks>());
  return static_cast<Hooks*>(there)->add(std::move(f), value.index);
}

}  // namespace tenon
