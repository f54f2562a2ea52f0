// The handle itself: sharing of memory between views, reading, writing in place, gradients of leaves.
//
// A tensor either owns its value or shows a root tensor through moves. Writing gives the root a new value (a store into
// the old one) and a new version; views notice the version and look at the new value. Graphs recorded before keep the
// old value: laziness is never visible.

#include "tenon/tensor/tensor.h"

#include <ostream>

#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/grad/grad.h"
#include "tenon/ir/topology.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/record.h"

namespace tenon {

struct TensorImpl {
  ir::Value value;
  std::shared_ptr<TensorImpl> root;  // set when this is a view
  std::vector<ir::Move> moves;       // from the root's value to this one's
  uint64_t version = 0;              // of a root: how often it was written
  uint64_t seen_version = 0;         // of a view: the root's version `value` was made of
  std::optional<std::pair<int64_t, int64_t>> range;
  bool detached = false;          // of a view: cut from the root's history
  bool history_released = false;  // backward() has used the graph up

  void refresh() {
    if (!root || seen_version == root->version) return;
    value = detached ? ir::detach(root->value) : root->value;
    for (const ir::Move& move : moves) value = ir::move(value, move);
    seen_version = root->version;
    range.reset();
  }
};

namespace {

using base::fail;

bool is_param(const ir::Value& value) { return value.node->op() == ir::Op::param; }

// True when the value sits in a buffer whose address should stay: a leaf, or stores into one.
bool has_home(const ir::Value& value) {
  return value.node->op() == ir::Op::buffer || (value.node->op() == ir::Op::store && !value.needs_grad());
}

ir::Value written(const ir::Value& old, const ir::Value& next, const std::vector<ir::Move>& target) {
  if (is_param(old)) {
    return ir::param(written(old.node->input(0), ir::detach(next), target), old.node->attrs_as<ir::ParamAttrs>().param);
  }
  const ir::Value base = grad_enabled() ? old : ir::detach(old);
  if (target.empty() && (next.needs_grad() || !has_home(base))) return next;
  return ir::store(base, next, target);
}

ir::Value settled(const ir::Value& value) {
  if (!is_param(value)) return exec::settle(value);
  const ir::Value inner = exec::settle(value.node->input(0));
  return inner == value.node->input(0) ? value : ir::param(inner, value.node->attrs_as<ir::ParamAttrs>().param);
}

}  // namespace

Device::Device() : id(device::default_device()) {}
Device::Device(std::string_view name) : id(device::find(name)) {}

IndexEntry::IndexEntry(const Tensor& positions) : index(std::make_shared<const Tensor>(positions)) {}

Tensor::Tensor(ir::Value value) : impl_(std::make_shared<TensorImpl>()) { impl_->value = std::move(value); }

void Tensor::check_defined() const {
  if (!impl_) fail("tensor", "this tensor is undefined; assign one before using it");
}

const ir::Value& Tensor::value() const {
  check_defined();
  impl_->refresh();
  return impl_->value;
}

const Dims& Tensor::shape() const { return value().shape(); }
int64_t Tensor::size(int64_t dim) const { return shape()[record::axis("size", dim, shape().size())]; }
int64_t Tensor::numel() const { return ir::count(shape()); }
DType Tensor::dtype() const { return value().dtype(); }
Device Tensor::device() const { return value().device(); }

// ---- reading ----

const Tensor& Tensor::eval() const {
  const ir::Value& now = value();
  exec::eval({&now, 1});
  settle();
  return *this;
}

// Lets go of how an evaluated value was made.
void Tensor::settle() const {
  impl_->value = settled(impl_->value);
  if (impl_->root) impl_->root->value = settled(impl_->root->value);
}

void eval(std::span<const Tensor> tensors) {
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.value());
  exec::eval(values);
  for (const Tensor& tensor : tensors) tensor.settle();
}

void eval(std::initializer_list<Tensor> tensors) { eval(std::span(tensors.begin(), tensors.size())); }

bool Tensor::is_evaluated() const { return exec::is_evaluated(value()); }

std::vector<std::byte> Tensor::to_bytes() const {
  eval();
  return exec::read(value());
}

std::string Tensor::to_string() const {
  if (!defined()) return "undefined";
  std::vector<double> real;
  std::vector<int64_t> whole;
  if (is_float(dtype()))
    real = to_vector<double>();
  else
    whole = to_vector<int64_t>();
  return format_array(shape(), dtype(), real, whole);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }

// ---- gradients ----

bool Tensor::requires_grad() const { return value().needs_grad() || impl_->history_released; }
bool Tensor::is_leaf() const { return !requires_grad() || is_param(value()); }

Tensor& Tensor::requires_grad_(bool on) {
  if (!on) {
    if (!is_leaf()) fail("requires_grad_", "only leaves can stop requiring grad; use detach()");
    if (is_param(value())) impl_->value = impl_->value.node->input(0);
    return *this;
  }
  if (!is_float(dtype()))
    fail("requires_grad_", "only floating-point tensors can require grad, this one is {}", name(dtype()));
  if (value().needs_grad()) return *this;
  impl_->value = ir::param(value(), std::make_shared<ir::Param>());
  impl_->root = nullptr;
  return *this;
}

namespace {

ir::Param& param_of(const ir::Value& value) { return *value.node->attrs_as<ir::ParamAttrs>().param; }

void accumulate(ir::Param& param, const ir::Value& gradient) {
  std::lock_guard lock(param.mutex);
  param.grad = param.grad ? ir::add(exec::settle(param.grad), gradient) : gradient;
}

}  // namespace

Tensor Tensor::grad() const {
  if (!is_param(value())) return Tensor();
  ir::Param& param = param_of(value());
  std::lock_guard lock(param.mutex);
  if (!param.grad) return Tensor();
  param.grad = exec::settle(param.grad);
  return Tensor(param.grad);
}

void Tensor::set_grad(const Tensor& gradient) {
  if (!is_param(value())) fail("set_grad", "only leaves that require grad hold one");
  if (gradient.defined() && !(gradient.value().type() == value().type())) {
    fail("set_grad", "a gradient of {}{} does not fit a tensor of {}{}", name(gradient.dtype()),
         ir::to_string(gradient.shape()), name(dtype()), ir::to_string(shape()));
  }
  ir::Param& param = param_of(value());
  std::lock_guard lock(param.mutex);
  param.grad = gradient.defined() ? gradient.value() : ir::Value();
}

void Tensor::zero_grad() {
  if (is_param(value())) set_grad(Tensor());
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) {
  if (impl_ && impl_->history_released) {
    fail("backward", "the graph of this tensor was used up by an earlier backward(); pass retain_graph to keep it");
  }
  if (!value().needs_grad()) fail("backward", "this tensor does not depend on any that requires grad");
  if (!gradient.defined() && numel() != 1) {
    fail("backward", "a tensor of shape {} is not a single number: pass its gradient", ir::to_string(shape()));
  }
  if (gradient.defined() && gradient.shape() != shape()) {
    fail("backward", "a gradient of shape {} does not fit {}", ir::to_string(gradient.shape()), ir::to_string(shape()));
  }
  const ir::Value root = value();
  const ir::Value seed = gradient.defined() ? ir::cast(record::in(gradient), dtype()) : ir::full_like(root, 1);
  const std::vector<ir::Value> leaves = autodiff::params_below({&root, 1});
  const std::vector<ir::Value> grads = autodiff::gradients({&root, 1}, {&seed, 1}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (grads[i]) accumulate(param_of(leaves[i]), create_graph ? grads[i] : ir::detach(grads[i]));
  }
  if (retain_graph || create_graph || is_param(root)) return;
  impl_->value = ir::detach(root);
  impl_->history_released = true;
}

Tensor Tensor::detach() const { return viewed({}, true); }

// ---- views and writing ----

Tensor Tensor::viewed(std::span<const ir::Move> moves, bool same_elements) const {
  const ir::Value& now = value();
  const bool cut = moves.empty();  // detach()
  Tensor view(cut ? ir::detach(now) : record::in(*this));
  for (const ir::Move& move : moves) view.impl_->value = ir::move(view.impl_->value, move);
  // Only what strides express shares memory; the rest is a value of its own, as reshape of a transpose is in PyTorch.
  const auto& root = impl_->root ? impl_->root : impl_;
  std::vector<ir::Move> path = impl_->moves;
  path.insert(path.end(), moves.begin(), moves.end());
  ir::IndexMap map(root->value.shape());
  map.apply(path);
  if (map.is_strided()) {
    view.impl_->root = root;
    view.impl_->moves = std::move(path);
    view.impl_->seen_version = root->version;
    view.impl_->detached = cut || impl_->detached || !grad_enabled();
  }
  if (same_elements) view.impl_->range = impl_->range;
  return view;
}

void Tensor::write(ir::Value next) {
  value();  // a view must be up to date before it is written through
  TensorImpl& target = impl_->root ? *impl_->root : *impl_;
  if (grad_enabled() && !impl_->detached && is_param(target.value)) {
    fail("write", "a leaf that requires grad cannot be written in place; put the update under NoGrad");
  }
  if (impl_->root) {
    ir::IndexMap map(target.value.shape());
    map.apply(impl_->moves);
    const ir::View& view = map.views()[0];
    for (size_t i = 0; i < view.shape.size(); ++i) {
      if (view.strides[i] == 0 && view.shape[i] > 1) {
        fail("write", "several elements of this expanded view are one element of memory; clone() it first");
      }
    }
  }
  target.value = written(target.value, next, impl_->moves);
  ++target.version;
  target.range.reset();
}

Tensor& Tensor::copy_(const Operand& source) {
  if (!source.is_tensor()) return fill_(source.number());
  const Tensor& from = source.tensor();
  const ir::Value here = from.device() == device() ? record::in(from) : ir::copy(record::in(from), device().id);
  write(ir::cast(record::expanded("copy_", here, shape()), dtype()));
  return *this;
}

Tensor& Tensor::fill_(Number value) {
  write(full(shape(), value, Options(dtype(), device())).value());
  return *this;
}

Tensor& Tensor::zero_() { return fill_(0); }
Tensor& Tensor::add_(const Operand& other) { return copy_(add(*this, other)); }
Tensor& Tensor::sub_(const Operand& other) { return copy_(sub(*this, other)); }
Tensor& Tensor::mul_(const Operand& other) { return copy_(mul(*this, other)); }
Tensor& Tensor::div_(const Operand& other) { return copy_(div(*this, other)); }
Tensor& Tensor::index_put_(std::initializer_list<IndexEntry> entries, const Operand& source) {
  index(entries).copy_(source);
  return *this;
}

std::optional<std::pair<int64_t, int64_t>> Tensor::known_range() const {
  value();  // drops a range that a write has outdated
  return impl_->range;
}
void Tensor::set_known_range(int64_t low, int64_t high) { impl_->range = {low, high}; }

// ---- conversion ----

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  Tensor made(ir::cast(record::in(*this), dtype));
  if (dtype == DType::i32 || dtype == DType::i64) made.impl_->range = impl_->range;
  return made;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  Tensor made(ir::copy(record::in(*this), device.id));
  made.impl_->range = impl_->range;
  return made;
}

Tensor Tensor::clone() const {
  Tensor made(ir::contiguous(record::in(*this)));
  made.impl_->range = impl_->range;
  return made;
}

Tensor Tensor::contiguous() const {
  if (!value().node->evaluated() && ir::is_movement(value().node->op())) return clone();
  return *this;
}

}  // namespace tenon
