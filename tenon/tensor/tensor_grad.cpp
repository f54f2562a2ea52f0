// Gradients of a tensor: which tensors are leaves, what they have collected, and backward().

#include <algorithm>
#include <mutex>

#include "tenon/exec/eval.h"
#include "tenon/grad/grad.h"
#include "tenon/ir/composition.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/hooks.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"
#include "tenon/tensor/unread.h"

namespace tenon {

using base::fail;

bool Tensor::requires_grad() const { return value_of(*this).needs_grad() || impl_->history_released; }
bool Tensor::is_leaf() const { return !requires_grad() || impl_->leaf; }

Tensor& Tensor::requires_grad_(bool on) {
  if (const Trace* trace = Trace::current(); trace && on != requires_grad() && trace->is_outside(*impl_))
    fail("requires_grad_", "a tensor from outside cannot be changed so inside a captured function; do it before");
  if (!on) {
    if (!is_leaf()) fail("requires_grad_", "only leaves can stop requiring grad; use detach()");
    if (impl_->leaf) {
      const ir::Value inner = value_of(*this).node->input(0);  // outlives the node that is let go
      impl_->value = inner;
      impl_->frozen = std::move(impl_->leaf);
    }
    impl_->leaf = nullptr;
    return *this;
  }
  if (!is_float(dtype())) {
    fail("requires_grad_", "only floating-point tensors can require grad, this one is {}", name(dtype()));
  }
  if (value_of(*this).needs_grad()) return *this;
  impl_->leaf = impl_->frozen ? std::move(impl_->frozen) : std::make_shared<Leaf>();
  impl_->value = ir::param(value_of(*this), impl_->leaf);
  return *this;
}

namespace {

// What a captured function leaves is carried out when it has returned.
Tensor grad_of(const std::shared_ptr<Leaf>& leaf) {
  if (Trace* trace = Trace::current()) return trace->grad_of(leaf);
  std::lock_guard lock(leaf->mutex);
  return leaf->grad;
}

void set_grad_of(const std::shared_ptr<Leaf>& leaf, const Tensor& gradient) {
  if (Trace* trace = Trace::current()) return trace->set_grad(leaf, gradient);
  std::lock_guard lock(leaf->mutex);
  leaf->grad = gradient;
}

// The first gradient is taken as it is; later ones are added to the same tensor, which may be held elsewhere.
void accumulate(const std::shared_ptr<Leaf>& leaf, const ir::Value& gradient, bool differentiable) {
  const unread::Pause a_leaf_keeps_it;
  // Several threads may add to one leaf.
  std::optional<std::lock_guard<std::mutex>> lock;
  Trace* trace = Trace::current();
  if (!trace) lock.emplace(leaf->mutex);
  Tensor before = trace ? trace->grad_of(leaf) : leaf->grad;
  if (before.defined() && !differentiable) {
    NoGrad accumulating;
    before.add_(tensor_of(gradient));
    return;
  }
  const Tensor next = before.defined() ? add(before, tensor_of(gradient)) : tensor_of(gradient);
  if (trace)
    trace->set_grad(leaf, next);
  else
    leaf->grad = next;
}

}  // namespace

namespace {

// Tensors that are no leaves and keep their gradients; those that are gone make room.
struct Retaining {
  std::mutex mutex;
  std::vector<std::weak_ptr<TensorImpl>> tensors;

  std::vector<std::shared_ptr<TensorImpl>> alive() {
    std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<TensorImpl>> found;
    std::erase_if(tensors, [&](const std::weak_ptr<TensorImpl>& weak) {
      auto tensor = weak.lock();
      if (tensor) found.push_back(tensor);
      return !tensor;
    });
    return found;
  }
};
Retaining& retaining() {
  static auto* tensors = new Retaining;
  return *tensors;
}

void retain(const std::shared_ptr<TensorImpl>& tensor, const ir::Value& gradient) {
  std::lock_guard lock(retaining().mutex);
  NoGrad accumulating;
  *tensor->retained = tensor->retained->defined() ? add(*tensor->retained, tensor_of(gradient)) : tensor_of(gradient);
}

}  // namespace

void note_retained(TensorImpl& tensor, const ir::Value& value) {
  if (!value.needs_grad()) return;
  ir::Value home = with_all_uses(value);
  std::lock_guard lock(retaining().mutex);  // several threads may use one tensor
  std::swap(tensor.retained_of, home);
}

namespace {

// A gradient of what a tensor was, as that of what it is after a change of shape in place.
Tensor reshaped_with(const Tensor& gradient, const TensorImpl& from, const TensorImpl& to) {
  const std::vector<ir::Move> before = path_to(from), now = path_to(to);
  const auto [end, rest] = std::ranges::mismatch(before, now);
  if (!gradient.defined() || end != before.end()) return gradient;
  return tensor_of(ir::moved(value_of(gradient), std::span(rest, now.end())));
}

}  // namespace

void move_retained(const std::shared_ptr<TensorImpl>& from, const std::shared_ptr<TensorImpl>& to) {
  const ir::Value value = value_of(tensor_of(to));
  *from->retained = reshaped_with(*from->retained, *from, *to);
  {
    std::lock_guard lock(retaining().mutex);
    to->retained = std::move(from->retained);
    from->retained_of = {};
    std::erase_if(retaining().tensors, [&](const std::weak_ptr<TensorImpl>& weak) { return weak.lock() == from; });
    retaining().tensors.push_back(to);
  }
  note_retained(*to, value);
  if (to->root) root_of(to)->is_watched_through_views = true;
}

std::vector<ir::Value> gradients_and_retained(std::span<const ir::Value> roots, std::span<const ir::Value> seeds,
                                              std::span<const ir::Value> wanted, bool create_graph) {
  const auto retained = without_values() ? std::vector<std::shared_ptr<TensorImpl>>() : retaining().alive();
  std::vector<ir::Value> passed;
  for (const auto& tensor : retained) {
    std::lock_guard lock(retaining().mutex);
    passed.push_back(tensor->retained_of);
  }
  std::vector<ir::Value> grads = autodiff::gradients(roots, seeds, wanted, false, passed);
  for (size_t i = 0; i < passed.size(); ++i) {
    const ir::Value& gradient = grads[wanted.size() + i];
    if (gradient) retain(retained[i], create_graph ? gradient : ir::detach(gradient));
  }
  grads.resize(wanted.size());
  return grads;
}

void Tensor::retain_grad() {
  if (!requires_grad()) fail("retain_grad", "this tensor does not require grad");
  if (impl_->leaf || impl_->retained) return;
  if (Trace::current()) fail("retain_grad", "a captured function keeps no graph; use grad() inside it");
  impl_->retained = std::make_shared<Tensor>();
  note_retained(*impl_, value_of(*this));
  if (impl_->root) root_of(impl_)->is_watched_through_views = true;
  std::lock_guard lock(retaining().mutex);
  retaining().tensors.push_back(impl_);
}

Tensor Tensor::grad() const {
  require_defined(*this);
  if (impl_->retained) {
    std::lock_guard lock(retaining().mutex);
    return *impl_->retained;
  }
  const auto& holder = impl_->gradient_holder();
  return holder ? grad_of(holder) : Tensor();
}

void Tensor::set_grad(const Tensor& gradient) {
  require_defined(*this);
  const auto& holder = impl_->gradient_holder();
  if (!holder) fail("set_grad", "only leaves that require grad hold one");
  if (gradient.defined()) {
    record::require_same_device("set_grad", *this, gradient);
    if (!(value_of(gradient).type() == value_of(*this).type())) {
      fail("set_grad", "a gradient of {}{} does not fit a tensor of {}{}", name(gradient.dtype()),
           ir::to_string(gradient.shape()), name(dtype()), ir::to_string(shape()));
    }
  }
  set_grad_of(holder, gradient);
}

void Tensor::zero_grad() {
  require_defined(*this);
  if (const auto& holder = impl_->gradient_holder()) set_grad_of(holder, Tensor());
}

namespace {

void require_start(const Tensor& x, const Tensor& gradient, const TensorImpl* impl) {
  if (impl && impl->history_released) {
    fail("backward", "the graph of this tensor was used up by an earlier backward(); pass retain_graph to keep it");
  }
  if (!value_of(x).needs_grad()) fail("backward", "this tensor does not depend on any that requires grad");
  if (!gradient.defined() && x.numel() != 1) {
    fail("backward", "a tensor of shape {} is not a single number: pass its gradient", ir::to_string(x.shape()));
  }
  if (!gradient.defined()) return;
  if (gradient.shape() != x.shape())
    fail("backward", "a gradient of shape {} does not fit {}", ir::to_string(gradient.shape()),
         ir::to_string(x.shape()));
  if (gradient.device() != x.device())
    fail("backward", "a gradient on {} does not fit a tensor on {}; move it with to()", gradient.device().name(),
         x.device().name());
}

// Gradients that many backward() have added to, and nobody has read, would grow without end: the graph, and what is
// computed of every pass before it is added up.
void bound_gradients_of(std::span<const ir::Value> params) {
  constexpr uint64_t kMany = 64, kSome = 16;
  const bool is_long = std::ranges::any_of(params, [](const ir::Value& param) {
    const auto leaf = leaf_of(param);
    const Tensor gradient = leaf ? grad_of(leaf) : Tensor();
    if (!gradient.defined()) return false;
    const uint64_t written = root_of(impl_of(gradient))->version;
    if (written == 0 || written % kSome != 0) return false;
    const ir::Value value = value_of(gradient);
    if (value.node->evaluated() || value.node->depth() < kSome) return false;
    return (written % kMany == 0 && value.node->depth() >= kMany) || has_large_graph(value);
  });
  if (is_long) unread::compute_all();
}

}  // namespace

void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients, bool retain_graph,
              bool create_graph) {
  if (Mapping::current())
    fail("backward", "a function that vmap() maps leaves no gradients of single examples; use grad() inside it");
  if (gradients.size() > tensors.size())
    fail("backward", "{} gradients are too many for {} tensors", gradients.size(), tensors.size());
  std::vector<ir::Value> roots, seeds;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &x = tensors[i], none, &gradient = i < gradients.size() ? gradients[i] : none;
    TensorImpl* impl = impl_of(x).get();
    require_start(x, gradient, impl);
    roots.push_back(value_of(x));
    seeds.push_back(gradient.defined() ? ir::cast(record::in(gradient), x.dtype()) : ir::full_like(roots.back(), 1));
    if (impl->retained) note_retained(*impl, roots.back());
  }
  const std::vector<ir::Value> wanted = autodiff::params_below(roots);
  const std::vector<ir::Value> grads = gradients_and_retained(roots, seeds, wanted, create_graph);
  const auto kept = [&](const ir::Value& value) { return create_graph ? value : ir::detach(value); };
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto leaf = leaf_of(wanted[i]);
    if (leaf && grads[i])
      accumulate(leaf, kept(leaf->hooks ? leaf->hooks->applied(0, grads[i]) : grads[i]), create_graph);
  }
  if (!create_graph && !Trace::current()) bound_gradients_of(wanted);
  if (retain_graph || create_graph) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorImpl& impl = *impl_of(tensors[i]);
    if (is_param(roots[i])) continue;
    if (const Trace* trace = Trace::current(); trace && (trace->is_outside(impl) || impl.root)) continue;
    impl.value = exec::settle(ir::detach(roots[i]));
    impl.history_released = true;
  }
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) {
  tenon::backward({this, 1}, {&gradient, 1}, retain_graph, create_graph);
}

}  // namespace tenon
