// The handle itself: what it holds, what is known of its elements, and conversions. Reading, gradients, views and
// writes have files of their own: tensor_read, tensor_grad, tensor_views, tensor_write.
//
// A tensor either owns its value or shows a root tensor through moves.

#include "tenon/tensor/tensor.h"

#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {

using base::fail;
using Impl = std::shared_ptr<TensorImpl>;

Device::Device() : id(device::default_device()) {}
Device::Device(std::string_view name) : id(device::find(name)) {}

IndexEntry::IndexEntry(const Tensor& positions) : index(std::make_shared<const Tensor>(positions)) {}

Tensor::Tensor(ir::Value value) : impl_(std::make_shared<TensorImpl>()) {
  impl_->value = std::move(value);
  if (Trace* trace = Trace::current())
    trace->makes(impl_);
  else
    evaluate_growth(impl_->value);
}

const ir::Value& value_of_root(const Impl& root) {
  Trace* trace = Trace::current();
  return trace ? trace->value_of(root) : root->value;
}

Tensor Tensor::of(std::shared_ptr<TensorImpl> impl) {
  Tensor tensor;
  tensor.impl_ = std::move(impl);
  return tensor;
}

void Tensor::check_defined() const {
  if (!impl_) fail("tensor", "this tensor is undefined; assign one before using it");
}

const ir::Value& Tensor::value() const {
  check_defined();
  if (Trace* trace = Trace::current()) return trace->value_of(impl_);
  impl_->refresh();
  if (can_settle(impl_->value)) impl_->value = settled(impl_->value);
  return impl_->value;
}

const Dims& Tensor::shape() const { return value().shape(); }
int64_t Tensor::size(int64_t dim) const { return shape()[record::axis("size", dim, shape().size())]; }
int64_t Tensor::numel() const { return ir::count(shape()); }
DType Tensor::dtype() const { return value().dtype(); }
Device Tensor::device() const { return value().device(); }

<<<<<<< HEAD
// ---- reading ----

Tensor Tensor::eval() const {
  tenon::eval({this, 1});
  return *this;
}

// A write that failed is undone, so that the error is raised once and the old value stays.
void Tensor::undo_writes() const {
  TensorImpl& owner = *root_of(impl_);
  const ir::Value old = before_writes(owner.value);
  if (old == owner.value) return;
  owner.value = old;
  ++owner.version;
}

// Lets go of how an evaluated value was made. A view looks at its root's value, so that there is one leaf for both.
void Tensor::settle() const {
  std::vector<TensorImpl*> path;
  for (TensorImpl* impl = impl_.get(); impl; impl = impl->root.get()) path.push_back(impl);
  // Only what changes is written: other threads may read the same tensor.
  const auto let_go = [](TensorImpl& impl) {
    ir::Value next = settled(impl.value);
    if (!(next == impl.value)) impl.value = std::move(next);
  };
  let_go(*path.back());
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (exec::is_evaluated(path[i + 1]->value))
      path[i]->look_at_root();
    else
      let_go(*path[i]);
  }
}

void eval_all(std::span<const Tensor> tensors, bool caller_waits) {
  if (Trace::current())
    fail("compile", "a value cannot be read inside a captured function; return it and read it outside");
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.value());
  try {
    exec::eval(values, caller_waits, Pending::stores());
  } catch (const Error&) {
    for (const Tensor& tensor : tensors) tensor.undo_writes();
    throw;
  }
  for (const Tensor& tensor : tensors) tensor.settle();
}

void eval(std::span<const Tensor> tensors) { eval_all(tensors, false); }
void eval(std::initializer_list<Tensor> tensors) { eval_all(std::span(tensors.begin(), tensors.size()), false); }

void wait(std::span<const Tensor> tensors) {
  const bool all_there = !Trace::current() && std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    const ir::Node* node = tensor.value().node.get();
    if (node->op() == ir::Op::custom)
      node = node->input(tensor.value().index).node.get();  // a result without its graph
    return node->op() == ir::Op::buffer && node->evaluated();
  });
  if (all_there) {  // the result of a replay, say: nothing but waiting is left
    for (const Tensor& tensor : tensors) exec::wait_for(tensor.value());
    return;
  }
  eval_all(tensors, true);
  std::vector<ir::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.value());
  exec::wait(values);
}
void wait(std::initializer_list<Tensor> tensors) { wait(std::span(tensors.begin(), tensors.size())); }
void synchronize(Device device) { exec::synchronize(device.id); }
void synchronize() { exec::synchronize(); }

bool Tensor::is_evaluated() const { return exec::is_evaluated(value()); }

std::vector<std::byte> Tensor::to_bytes() const {
  eval_all({this, 1}, true);
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
bool Tensor::is_leaf() const { return !requires_grad() || impl_->leaf; }

Tensor& Tensor::requires_grad_(bool on) {
  if (const Trace* trace = Trace::current(); trace && on != requires_grad() && trace->is_outside(*impl_))
    fail("requires_grad_", "a tensor from outside cannot be changed so inside a captured function; do it before");
  if (!on) {
    if (!is_leaf()) fail("requires_grad_", "only leaves can stop requiring grad; use detach()");
    if (impl_->leaf) {
      const ir::Value inner = value().node->input(0);  // outlives the node that is let go
      impl_->value = inner;
    }
    impl_->leaf = nullptr;
    return *this;
  }
  if (!is_float(dtype())) {
    fail("requires_grad_", "only floating-point tensors can require grad, this one is {}", name(dtype()));
  }
  if (value().needs_grad()) return *this;
  impl_->leaf = std::make_shared<Leaf>();
  impl_->value = ir::param(value(), impl_->leaf);
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
  // Several threads may add to one leaf.
  std::optional<std::lock_guard<std::mutex>> lock;
  Trace* trace = Trace::current();
  if (!trace) lock.emplace(leaf->mutex);
  Tensor before = trace ? trace->grad_of(leaf) : leaf->grad;
  if (before.defined() && !differentiable) {
    NoGrad accumulating;
    before.add_(Tensor(gradient));
    return;
  }
  const Tensor next = before.defined() ? add(before, Tensor(gradient)) : Tensor(gradient);
  if (trace)
    trace->set_grad(leaf, next);
  else
    leaf->grad = next;
}

}  // namespace

Tensor Tensor::grad() const {
  check_defined();
  return impl_->leaf ? grad_of(impl_->leaf) : Tensor();
}

void Tensor::set_grad(const Tensor& gradient) {
  check_defined();
  if (!impl_->leaf) fail("set_grad", "only leaves that require grad hold one");
  if (gradient.defined()) {
    record::require_same_device("set_grad", *this, gradient);
    if (!(gradient.value().type() == value().type())) {
      fail("set_grad", "a gradient of {}{} does not fit a tensor of {}{}", name(gradient.dtype()),
           ir::to_string(gradient.shape()), name(dtype()), ir::to_string(shape()));
    }
  }
  set_grad_of(impl_->leaf, gradient);
}

void Tensor::zero_grad() {
  check_defined();
  if (impl_->leaf) set_grad_of(impl_->leaf, Tensor());
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
    const auto leaf = leaf_of(leaves[i]);
    if (leaf && grads[i]) accumulate(leaf, create_graph ? grads[i] : ir::detach(grads[i]), create_graph);
  }
  if (retain_graph || create_graph || is_param(root)) return;
  if (const Trace* trace = Trace::current(); trace && (trace->is_outside(*impl_) || impl_->root)) return;
  impl_->value = exec::settle(ir::detach(root));
  impl_->history_released = true;
}

Tensor Tensor::detach() const { return viewed({}); }

// ---- views and writing ----

namespace {

// A captured step asks the views of a state to look again; those that are gone make room.
void remember_view(TensorImpl& root, const std::shared_ptr<TensorImpl>& view) {
  std::lock_guard lock(views_mutex());  // of all roots: several threads may look at one tensor
  if (root.views.size() == root.views.capacity())
    std::erase_if(root.views, [](const std::weak_ptr<TensorImpl>& other) { return other.expired(); });
  root.views.push_back(view);
}

}  // namespace

namespace {

// Whether strides express the moves from the owner of the memory. The rest is a value of its own, as reshape of a
// transpose is in PyTorch.
bool shares_memory(const Dims& owner, const std::vector<ir::Move>& path, std::span<const ir::Move> moves) {
  const bool stays_whole = path.empty() && moves.size() == 1 && moves[0].op == ir::Op::reshape;
  const bool may_break = !stays_whole && std::any_of(moves.begin(), moves.end(), [](const ir::Move& move) {
    return move.op == ir::Op::reshape || move.op == ir::Op::pad;  // strides survive all others
  });
  if (!may_break) return true;
  ir::IndexMap map(owner);
  map.apply(path);
  map.apply(moves);
  return map.is_strided();
}

}  // namespace

Tensor Tensor::viewed(std::span<const ir::Move> moves) const {
  const ir::Value& now = value();
  const bool cut = moves.empty();  // detach()
  const std::vector<ir::Move> path = path_to(*impl_);
  Tensor view;
  if (!shares_memory(value_of_root(root_of(impl_)).shape(), path, moves)) {
    view = Tensor(record::in(*this));
    for (const ir::Move& move : moves) view.impl_->value = ir::move(view.impl_->value, move);
  } else {
    const bool detached = cut || (!impl_->leaf && impl_->detached) || !grad_enabled();
    // What nobody has asked for is not recorded: a view of a value that is there is looked up when it is read.
    const bool waits = !Trace::current() && !cut && now.node->op() == ir::Op::buffer;
    if (waits) {
      view.impl_ = std::make_shared<TensorImpl>();
    } else {
      view = Tensor(cut ? ir::detach(now) : record::in(*this));
      for (const ir::Move& move : moves) view.impl_->value = ir::move(view.impl_->value, move);
    }
    view.impl_->detached = detached;
    // Gradients of views of a leaf pass through the leaf; a view cut from them hangs on the owner alone.
    view.impl_->root = impl_;
    if (view.impl_->detached) {
      while (view.impl_->root->root) view.impl_->root = view.impl_->root->root;
      view.impl_->moves = {path.begin(), path.end()};
    } else if (!impl_->leaf && impl_->root) {
      view.impl_->root = impl_->root;
      view.impl_->moves = impl_->moves;
    }
    for (const ir::Move& move : moves) view.impl_->moves.push_back(move);
    view.impl_->range_version = version_of(view.impl_->root);
    view.impl_->seen_version = waits ? TensorImpl::kNever : view.impl_->range_version;
    view.impl_->root_leaf = view.impl_->root->leaf_id();
    remember_view(*root_of(impl_), view.impl_);
  }
  view.impl_->range = impl_->range;  // bounds of all elements bound those of a part
  const bool cuts =
      std::any_of(moves.begin(), moves.end(), [](const ir::Move& move) { return move.op == ir::Op::shrink; });
  view.impl_->range_is_exact = impl_->range_is_exact && !cuts;
  return view;
}

// What the tensor was goes on as a tensor without handles: views taken before, and graphs, keep the old value.
void Tensor::set_data(const Tensor& data) {
  if (Trace::current()) fail("set_data", "a tensor cannot be given other data inside a captured function");
  const Tensor shown = data.detach();
  if (!is_leaf()) fail("set_data", "only leaves can be given other data; this tensor is the result of an op");
  if (impl_->leaf && !is_float(data.dtype()))
    fail("set_data", "a tensor that requires grad holds floating-point values, got {}", name(data.dtype()));
  if (data.impl_ == impl_) return;
  const bool same_type = value().type() == data.value().type() && device() == data.device();

  const auto past = std::make_shared<TensorImpl>(*impl_);
  past->is_pending = false;
  past->recordings = 0;
  if (impl_->is_pending) Pending::add(past);
  TensorImpl& owner = *root_of(impl_);
  ++owner.departures;
  {
    std::lock_guard lock(views_mutex());
    for (const std::weak_ptr<TensorImpl>& weak : owner.views) {
      const auto view = weak.lock();
      if (view && view->root == impl_) view->root = past;
    }
    if (!impl_->root) impl_->views.clear();  // they are those of the past
  }

  const TensorImpl& source = *shown.impl_;
  impl_->root = source.root;
  impl_->moves = source.moves;
  impl_->detached = true;
  impl_->range = source.range;
  impl_->range_is_exact = source.range_is_exact;
  impl_->is_pending = false;
  // Graphs recorded before give gradients of the old type to the old leaf.
  if (impl_->leaf && !same_type) impl_->leaf = std::make_shared<Leaf>();
  impl_->look_at_root();
  impl_->range_version = impl_->seen_version;
  remember_view(*root_of(impl_), impl_);
}

namespace {

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

}  // namespace

void Tensor::write(ir::Value next) {
  const Impl& owner = root_of(impl_);
  Trace* trace = Trace::current();
  if (trace && trace->is_argument(*owner))
    fail("compile", "an argument is written inside the captured function; capture the tensor instead of passing it");
  value();  // a view must be up to date before it is written through
  if (grad_enabled() && writes_a_leaf(*impl_)) {
    fail("write", "a leaf that requires grad cannot be written in place; put the update under NoGrad");
  }
  if (grad_enabled() && next.needs_grad() && !is_tracked(*impl_)) {
    fail("write",
         "values that need gradients are written into a tensor that is cut from them (detach(), or a view made "
         "under NoGrad); clone() it first");
  }
  if (!trace && can_settle(owner->value)) owner->value = settled(owner->value);
  const ir::Value old = value_of_root(owner);
  std::vector<ir::Move> path = path_to(*impl_);
  ir::IndexMap map(old.shape());
  map.apply(path);
  const ir::View& view = map.views()[0];
  for (size_t i = 0; i < view.shape.size() && numel() > 0; ++i) {
    if (view.strides[i] == 0 && view.shape[i] > 1) {
      fail("write", "several elements of this expanded view are one element of memory; clone() it first");
    }
  }
  if (map.is_contiguous() && numel() == ir::count(old.shape())) {  // everything, in another shape
    next = ir::reshape(next, old.shape());
    path.clear();
  }
  ir::Value made = written(old, next, path, is_tracked(*impl_), owner->leaf);
  if (trace && trace->is_outside(*owner)) return trace->write(owner, std::move(made));
  owner->value = std::move(made);
  if (!trace) {
    evaluate_growth(owner->value);
    Pending::add(owner);
  }
  ++owner->version;
  owner->range.reset();
  owner->drop_what_views_show();  // or the old value would stay in memory for their sake
}

// Arithmetic in place keeps the dtype: a result of a higher category does not fit.
Tensor& Tensor::assign(std::string_view op, const Tensor& result) {
  const auto category = [](DType dtype) { return is_float(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; };
  if (category(result.dtype()) > category(dtype())) {
    fail(op, "a result of {} cannot be stored in {}", name(result.dtype()), name(dtype()));
  }
  write(ir::cast(record::expanded(op, record::in(result), shape()), dtype()));
  return *this;
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
Tensor& Tensor::add_(const Operand& other) { return assign("add_", add(*this, other)); }
Tensor& Tensor::sub_(const Operand& other) { return assign("sub_", sub(*this, other)); }
Tensor& Tensor::mul_(const Operand& other) { return assign("mul_", mul(*this, other)); }
Tensor& Tensor::div_(const Operand& other) { return assign("div_", div(*this, other)); }
Tensor& Tensor::index_put_(std::initializer_list<IndexEntry> entries, const Operand& source) {
  for (const IndexEntry& entry : entries) {
    if (std::holds_alternative<std::shared_ptr<const Tensor>>(entry.index)) {
      fail("index_put_", "positions given as a tensor cannot be written through; use scatter_add or where");
    }
  }
  index(entries).copy_(source);
  return *this;
}

=======
>>>>>>> traintables
std::optional<std::pair<int64_t, int64_t>> Tensor::known_range() const {
  if (Trace* trace = Trace::current(); trace && trace->is_outside(*impl_)) {
    const Impl& owner = root_of(impl_);
    const bool is_outdated = trace->is_written(owner) || (impl_->root && impl_->range_version != owner->version);
    return is_outdated ? std::nullopt : impl_->range;
  }
  value();  // drops a range that a write has outdated
  return impl_->range;
}
bool Tensor::known_range_is_exact() const { return known_range() && impl_->range_is_exact; }
void Tensor::set_known_range(int64_t low, int64_t high, bool exact) {
  impl_->range = {low, high};
  impl_->range_is_exact = exact;
}

// ---- conversion ----

void Tensor::keep_range(const Tensor& other) {
  if (const auto range = other.known_range())
    set_known_range(range->first, range->second, other.known_range_is_exact());
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  Tensor made(ir::cast(record::in(*this), dtype));
  const auto range = known_range();
  const auto fits_i32 = [&] { return range->first >= INT32_MIN && range->second <= INT32_MAX; };
  if (range && (dtype == DType::i64 || (dtype == DType::i32 && fits_i32()))) made.keep_range(*this);
  return made;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  Tensor made(ir::copy(record::in(*this), device.id));
  made.keep_range(*this);
  return made;
}

Tensor Tensor::clone() const {
  Tensor made(ir::contiguous(record::in(*this)));
  made.keep_range(*this);
  return made;
}

}  // namespace tenon
