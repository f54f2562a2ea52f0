// Hooks on gradients, and gradients that tensors keep although they are no leaves.
//
// The graph is immutable: a tensor that gets a hook becomes the same value behind a gradient rule that calls it, so the
// hook lives as long as the graph does. Uses recorded before lead past it, and are refused.

#include "tenon/tensor/hooks.h"

#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

using base::fail;

HookHandle Hooks::add(Function f) {
  std::lock_guard lock(mutex_);
  entries_.push_back({std::make_shared<bool>(true), std::move(f)});
  return HookHandle(entries_.back().is_on);
}

ir::Value Hooks::applied(const ir::Value& gradient) {
  std::vector<Entry> now;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return !*entry.is_on; });
    now = entries_;
  }
  Tensor passed = tensor_showing(gradient);
  for (const Entry& entry : now) {
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

ir::Value hooked(const ir::Value& value, const std::shared_ptr<const ir::CustomRule>& rule) {
  return {ir::Node::make(ir::Op::custom, {ir::detach(value), value}, ir::CustomAttrs{rule, 1}), 0};
}

namespace {

// Holds the hooks: the graph keeps them when the tensor is gone.
std::shared_ptr<const ir::CustomRule> rule_of(const std::shared_ptr<Hooks>& hooks) {
  auto rule = std::make_shared<ir::CustomRule>();
  rule->name = "hook";
  rule->backward = [hooks](std::span<const ir::Value>, std::span<const ir::Value> grads) {
    return std::vector<ir::Value>{hooks->applied(grads[0])};
  };
  return rule;
}

}  // namespace

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
  if (!impl_->hooks) {
    const ir::Value value = value_of(*this);
    const bool is_used = value.node->results() == 1 && value.node->references() > 2;  // this tensor and `value`
    if (is_used) fail("register_hook", "this tensor has been used already; register the hook before its first use");
    impl_->hooks = std::make_shared<Hooks>();
    impl_->hook_rule = rule_of(impl_->hooks);
    impl_->value = hooked(value, impl_->hook_rule);
  }
  return impl_->hooks->add(std::move(f));
}

}  // namespace tenon
