// Writing a tensor in place.
//
// Writing gives the root a new value (a store into the old one) and a new version; views notice the version and look at
// the new value. Graphs recorded before keep the old value: laziness is never visible.

#include "tenon/ir/build.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

using base::fail;
using Impl = std::shared_ptr<TensorImpl>;

namespace {

// True when the value sits in a buffer whose address should stay: a leaf, or stores into one.
bool has_home(const ir::Value& value) {
  return value.node->op() == ir::Op::buffer || (value.node->op() == ir::Op::store && !value.needs_grad());
}

// New data with an old history: what a write under NoGrad leaves behind.
ir::Value with_history(const ir::Value& data, const ir::Value& history) {
  static const auto rule = std::make_shared<const ir::CustomRule>(ir::CustomRule{
      "write",
      [](std::span<const ir::Value>, std::span<const ir::Value> grads) { return std::vector<ir::Value>{grads[0]}; }});
  return {ir::Node::make(ir::Op::custom, {ir::detach(data), history}, ir::CustomAttrs{rule, 1}), 0};
}

ir::Value stored(const ir::Value& old, const ir::Value& next, const std::vector<ir::Move>& target) {
  if (!target.empty()) return ir::store(old, next, target);
  if (next.needs_grad() || !has_home(old)) return next;
  ir::Value home = old;  // what is replaced as a whole needs none of the writes before
  while (home.node->op() == ir::Op::store && !home.node->evaluated()) {
    ir::Value base = home.node->input(0);
    home = std::move(base);
  }
  return has_home(home) ? ir::store(home, next, {}) : next;
}

// `leaf` is the tensor's own: a value may be that of another tensor's leaf, which x * 1 is of x.
ir::Value written(const ir::Value& old, const ir::Value& next, const std::vector<ir::Move>& target, bool tracked,
                  const std::shared_ptr<Leaf>& leaf) {
  if (leaf) return ir::param(stored(old.node->input(0), ir::detach(next), target), leaf);
  if (tracked || !old.needs_grad()) return stored(old, tracked ? next : ir::detach(next), target);
  return with_history(stored(ir::detach(old), ir::detach(next), target), old);
}

// Whether writing through this view would change a leaf that gradients are asked of.
bool writes_a_leaf(const TensorImpl& view) {
  for (const TensorImpl* impl = &view; impl; impl = impl->root.get()) {
    if (impl->leaf) return true;
    if (impl->detached) return false;
  }
  return false;
}

bool is_tracked(const TensorImpl& view) {
  for (const TensorImpl* impl = &view; impl; impl = impl->root.get()) {
    if (impl->detached) return false;
  }
  return grad_enabled();
}

void write(const Tensor& tensor, ir::Value next) {
  const Impl& impl = impl_of(tensor);
  const Impl& owner = root_of(impl);
  Trace* trace = Trace::current();
  if (trace && trace->is_argument(*owner))
    fail("compile", "an argument is written inside the captured function; capture the tensor instead of passing it");
  value_of(tensor);  // a view must be up to date before it is written through
  if (grad_enabled() && writes_a_leaf(*impl)) {
    fail("write", "a leaf that requires grad cannot be written in place; put the update under NoGrad");
  }
  if (grad_enabled() && next.needs_grad() && !is_tracked(*impl)) {
    fail("write",
         "values that need gradients are written into a tensor that is cut from them (detach(), or a view made "
         "under NoGrad); clone() it first");
  }
  if (!trace && can_settle(owner->value)) owner->value = settled(owner->value);
  const ir::Value old = value_of_root(owner);
  std::vector<ir::Move> path = path_to(*impl);
  ir::IndexMap map(old.shape());
  map.apply(path);
  const ir::View& view = map.views()[0];
  for (size_t i = 0; i < view.shape.size() && tensor.numel() > 0; ++i) {
    if (view.strides[i] == 0 && view.shape[i] > 1) {
      fail("write", "several elements of this expanded view are one element of memory; clone() it first");
    }
  }
  if (map.is_contiguous() && tensor.numel() == ir::count(old.shape())) {  // everything, in another shape
    next = ir::reshape(next, old.shape());
    path.clear();
  }
  ir::Value made = written(old, next, path, is_tracked(*impl), owner->leaf);
  if (trace && trace->is_outside(*owner)) return trace->write(owner, std::move(made));
  owner->value = std::move(made);
  if (!trace) {
    evaluate_growth(owner->value);
    pending_writes::add(owner);
  }
  ++owner->version;
  owner->range.reset();
  owner->drop_what_views_show();  // or the old value would stay in memory for their sake
}

// Arithmetic in place keeps the dtype: a result of a higher category does not fit.
Tensor& assign(std::string_view op, Tensor& tensor, const Tensor& result) {
  const auto category = [](DType dtype) { return is_float(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; };
  if (category(result.dtype()) > category(tensor.dtype())) {
    fail(op, "a result of {} cannot be stored in {}", name(result.dtype()), name(tensor.dtype()));
  }
  write(tensor, ir::cast(record::expanded(op, record::in(result), tensor.shape()), tensor.dtype()));
  return tensor;
}

}  // namespace

Tensor& Tensor::copy_(const Operand& source) {
  if (!source.is_tensor()) return fill_(source.number());
  const Tensor& from = source.tensor();
  // From f64, which not every device has, to the own dtype before it travels.
  const ir::Value there = from.dtype() == DType::f64 && !(from.device() == device())
                              ? ir::cast(record::in(from), dtype())
                              : record::in(from);
  const ir::Value here = from.device() == device() ? there : ir::copy(there, device().id);
  write(*this, ir::cast(record::expanded("copy_", here, shape()), dtype()));
  return *this;
}

Tensor& Tensor::fill_(Number value) {
  write(*this, value_of(full(shape(), value, Options(dtype(), device()))));
  return *this;
}

Tensor& Tensor::zero_() { return fill_(0); }
Tensor& Tensor::add_(const Operand& other) { return assign("add_", *this, add(*this, other)); }
Tensor& Tensor::sub_(const Operand& other) { return assign("sub_", *this, sub(*this, other)); }
Tensor& Tensor::mul_(const Operand& other) { return assign("mul_", *this, mul(*this, other)); }
Tensor& Tensor::div_(const Operand& other) { return assign("div_", *this, div(*this, other)); }
Tensor& Tensor::index_put_(std::initializer_list<IndexEntry> entries, const Operand& source) {
  for (const IndexEntry& entry : entries) {
    if (std::holds_alternative<std::shared_ptr<const Tensor>>(entry.index)) {
      fail("index_put_", "positions given as a tensor cannot be written through; use scatter_add or where");
    }
  }
  index(entries).copy_(source);
  return *this;
}

}  // namespace tenon
