// Views: tensors that show the memory of another through moves, and what becomes of them when a tensor is given other
// data.
//
// A view has its root and the moves from it. It looks at the root's value when it is read, and again after the root was
// written: see TensorImpl::refresh.

#include <algorithm>
#include <mutex>

#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/pending_writes.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/reshaped.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"
#include "tenon/tensor/unread.h"

namespace tenon {

using base::fail;
using Impl = std::shared_ptr<TensorImpl>;

std::mutex& views_mutex() {
  static std::mutex mutex;
  return mutex;
}

namespace {

// A captured step asks the views of a state to look again; those that are gone make room.
void remember_view(TensorImpl& root, const std::shared_ptr<TensorImpl>& view) {
  std::lock_guard lock(views_mutex());  // of all roots: several threads may look at one tensor
  if (root.views.size() == root.views.capacity())
    std::erase_if(root.views, [](const std::weak_ptr<TensorImpl>& other) { return other.expired(); });
  root.views.push_back(view);
}

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

const Dims& shape_of(const Impl& impl) { return impl->knows_type() ? impl->type.shape : tensor_of(impl).shape(); }

uint64_t version_of(const std::shared_ptr<TensorImpl>& tensor) {
  Trace* trace = Trace::current();
  return trace ? trace->version_of(tensor) : tensor->current_version();
}

using Path = base::SmallVector<ir::Move, 1>;

// Where a view of a tensor hangs, and the moves from there to the tensor.
struct Place {
  Impl root;
  Path path;
};

// Gradients of views of a leaf pass through the leaf; a view cut from them hangs on the owner alone.
Place place_of(const Impl& impl, bool detached) {
  if (detached) {
    const std::vector<ir::Move> path = path_to(*impl);
    return {root_of(impl), {path.begin(), path.end()}};
  }
  if (!impl->leaf && impl->root) return {impl->root, impl->moves};
  return {impl, {}};
}

// Other moves from the root to the same view, where they show it by strides of the owner's memory, too.
std::optional<Path> moves_to(const ir::View& view, const Impl& root) {
  const auto made = ir::moves_to(view, shape_of(root));
  if (!made) return {};
  ir::IndexMap map(shape_of(root_of(root)));
  map.apply(path_to(*root));
  map.apply(*made);
  if (!map.is_strided()) return {};
  return Path{made->begin(), made->end()};
}

// Views of views of views: a long way is replaced by one that is as long as the rank asks for.
void shorten(Path& path, const Impl& root) {
  constexpr size_t kLong = 16;
  if (path.size() < kLong) return;
  ir::IndexMap map(shape_of(root));
  map.apply({path.data(), path.size()});
  if (!map.is_strided()) return;
  std::optional<Path> made = moves_to(map.views()[0], root);
  if (made && made->size() < path.size()) path = std::move(*made);
}

// The moves from the root to what `relaid` makes of the way a tensor lies, if strides can express that.
std::optional<Path> relaid_path(const Place& place, const Relaid& relaid) {
  ir::IndexMap map(shape_of(place.root));
  map.apply({place.path.data(), place.path.size()});
  return map.is_strided() ? moves_to(relaid(map.views()[0]), place.root) : std::nullopt;
}

}  // namespace

Tensor Tensor::detach() const { return viewed(*this, {}); }

Tensor viewed(const Tensor& tensor, std::span<const ir::Move> moves, const Relaid& relaid) {
  require_defined(tensor);
  const Impl& impl = impl_of(tensor);
  const bool cut = moves.empty();  // detach()
  const bool may_wait = !Trace::current() && !cut;
  const bool is_there = may_wait && !impl->root && !impl->picked && impl->holds_buffer();
  const ir::Value now = is_there ? ir::Value() : value_of(tensor);
  const bool detached = cut || (!impl->leaf && impl->detached) || !grad_enabled();
  const std::vector<ir::Move> path = path_to(*impl);
  Impl view;
  const auto moved = [&](ir::Value value) {
    for (const ir::Move& move : moves) value = ir::move(value, move);
    return value;
  };
  Place place = place_of(impl, detached);
  bool shares = shares_memory(shape_of(root_of(impl)), path, moves);
  if (shares) {
    for (const ir::Move& move : moves) place.path.push_back(move);
    shorten(place.path, place.root);
  } else if (relaid) {
    if (auto way = relaid_path(place, relaid)) {
      shares = true;
      place.path = std::move(*way);
    }
  }
  if (!shares) {
    view = impl_of(tensor_of(moved(record::in(tensor))));
  } else {
    // What nobody has asked for is not recorded: a view of a value that is there is looked up when it is read.
    const bool waits = is_there || (may_wait && now.node->op() == ir::Op::buffer);
    if (waits) {
      view = std::make_shared<TensorImpl>();
    } else {
      view = impl_of(tensor_of(cut ? cut_from_history(now) : moved(record::in(tensor))));
    }
    view->detached = detached;
    view->made_under_no_grad = !cut && (!grad_enabled() || (impl->made_under_no_grad && !impl->leaf));
    view->root = std::move(place.root);
    view->moves = std::move(place.path);
    view->range_version = version_of(view->root);
    view->seen_version = waits ? TensorImpl::kNever : view->range_version;
    view->root_leaf = view->root->leaf_id();
    remember_view(*root_of(impl), view);
    if (cut && !without_values()) unread::add_cut(view);
  }
  view->range = impl->range;  // bounds of all elements bound those of a part
  const bool cuts =
      std::any_of(moves.begin(), moves.end(), [](const ir::Move& move) { return move.op == ir::Op::shrink; });
  view->range_is_exact = impl->range_is_exact && !cuts;
  return tensor_of(std::move(view));
}

Tensor owner_of(const Tensor& view) { return impl_of(view)->root ? tensor_of(root_of(impl_of(view))) : Tensor(); }

bool shows_stretch(const Tensor& view, const Tensor& whole, int64_t begin) {
  const TensorImpl& impl = *impl_of(view);
  if (impl.root != impl_of(whole)) return false;
  ir::IndexMap shown(whole.shape()), stretch(whole.shape());
  shown.apply(impl.moves);
  const std::vector<ir::Move> moves{{ir::Op::shrink, ir::ShrinkAttrs{{begin}, {view.numel()}, {1}}},
                                    {ir::Op::reshape, ir::ShapeAttrs{view.shape()}}};
  stretch.apply(moves);
  return shown == stretch;
}

namespace {

enum class Views { stay, follow };

// Takes the views of a tensor from it, and makes them views of `past`, if there is one.
std::vector<Impl> taken_views(const Impl& impl, const Impl& past) {
  std::vector<Impl> taken;
  std::lock_guard lock(views_mutex());
  for (const std::weak_ptr<TensorImpl>& weak : root_of(impl)->views) {
    const Impl view = weak.lock();
    if (!view || view->root != impl) continue;
    if (past) view->root = past;
    taken.push_back(view);
  }
  if (!impl->root) impl->views.clear();
  return taken;
}

// Makes it a view again of a tensor that lies elsewhere now. One that is cut from its history hangs on the owner alone.
void follow(const Impl& view, const Impl& moved) {
  {
    std::lock_guard lock(views_mutex());
    if (view->detached) {
      std::vector<ir::Move> path = path_to(*view);
      view->root = root_of(moved);
      view->moves = {path.begin(), path.end()};
    }
    view->value = {};
    std::atomic_ref<uint64_t>(view->seen_version).store(TensorImpl::kNever, std::memory_order_release);
  }
  remember_view(*root_of(moved), view);
}

// What the tensor was goes on as a tensor without handles: graphs keep the old value, and so do views that stay.
void give_data(const char* op, const Impl& impl, const Tensor& data, Views views) {
  if (Trace::current()) fail(op, "a tensor cannot be given other data inside a captured function");
  const Tensor tensor = tensor_of(impl), shown = data.detach();
  if (!tensor.is_leaf()) fail(op, "only leaves can be given other data; this tensor is the result of an op");
  if (impl->leaf && !is_float(data.dtype()))
    fail(op, "a tensor that requires grad holds floating-point values, got {}", name(data.dtype()));
  if (impl_of(data) == impl) return;
  const bool same_type = value_of(tensor).type() == value_of(data).type() && tensor.device() == data.device();

  const auto past = std::make_shared<TensorImpl>(*impl);
  past->is_pending = false;
  past->recordings = 0;
  if (impl->is_pending) pending_writes::add(past);
  ++root_of(impl)->data_replacements;
  const std::vector<Impl> taken = taken_views(impl, views == Views::stay ? past : nullptr);

  const TensorImpl& source = *impl_of(shown);
  impl->root = source.root;
  impl->moves = source.moves;
  impl->detached = true;
  impl->range = source.range;
  impl->range_is_exact = source.range_is_exact;
  impl->is_pending = impl->is_in_place_of_root = false;
  // Graphs recorded before give gradients of the old type to the old leaf.
  if (impl->leaf && !same_type) impl->leaf = std::make_shared<Leaf>();
  if (!same_type) impl->frozen = nullptr;
  impl->look_at_root();
  impl->type_is_known = false;
  impl->range_version = impl->seen_version;
  remember_view(*root_of(impl), impl);
  if (views == Views::follow) {
    for (const Impl& view : taken) follow(view, impl);
  }
}

}  // namespace

void Tensor::set_data(const Tensor& data) { give_data("set_data", impl_, data, Views::stay); }

void move_into(const Tensor& tensor, const Tensor& place) {
  give_data("move_into", impl_of(tensor), place, Views::follow);
}

namespace {

// From a view that shows every element of its root once to that root, where its moves can be taken back one by one.
std::optional<std::vector<ir::Move>> moves_back(const TensorImpl& view, Dims shape) {
  std::vector<ir::Move> back;
  for (const ir::Move& move : view.moves) {
    if (move.op == ir::Op::reshape) {
      back.insert(back.begin(), {ir::Op::reshape, ir::ShapeAttrs{shape}});
    } else if (move.op == ir::Op::permute) {
      const Dims& axes = std::get<ir::AxesAttrs>(move.attrs).axes;
      Dims inverse(axes);
      for (size_t i = 0; i < axes.size(); ++i) inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
      back.insert(back.begin(), {ir::Op::permute, ir::AxesAttrs{inverse}});
    } else {
      return {};
    }
    shape = ir::moved_shape(move, shape);
  }
  return back;
}

}  // namespace

void pass_through(TensorImpl& root, TensorImpl& reshaped, ir::Value seen) {
  const std::vector<ir::Move> back = moves_back(reshaped, root.value.shape()).value();
  ir::Value whole = seen;
  for (const ir::Move& move : back) whole = ir::move(whole, move);
  root.value = std::move(whole);
  ++root.version;
  root.drop_what_views_show();
  std::lock_guard lock(views_mutex());
  reshaped.value = std::move(seen);
  std::atomic_ref<uint64_t>(reshaped.seen_version).store(root.version, std::memory_order_release);
}

namespace {

bool is_changeable(const Impl& owner) {
  const Trace* trace = Trace::current();
  const Mapping* mapping = Mapping::current();
  return !(trace && trace->is_outside(*owner)) && !(mapping && owner->mapping != mapping->id);
}

// As after a write that changes nothing: views look at their owner again, past the gradients that others of them have.
// The one that was changed in place keeps its way to the owner, as in PyTorch.
void look_again(const Impl& owner, const Impl& changed) {
  if (!owner->value.needs_grad()) return;
  std::vector<std::pair<Impl, ir::Value>> kept;
  for (const Impl& one : {changed, owner->replacement()}) {
    if (one) kept.emplace_back(one, value_of(tensor_of(one)));
  }
  ++owner->version;
  owner->drop_what_views_show();
  std::lock_guard lock(views_mutex());
  for (auto& [one, value] : kept) {
    one->value = std::move(value);
    std::atomic_ref<uint64_t>(one->seen_version).store(owner->version, std::memory_order_release);
  }
}

}  // namespace

void replace_by(std::string_view op, Tensor& tensor, const Tensor& reshaped) {
  require_defined(tensor);
  require_defined(reshaped);
  const Impl before = impl_of(tensor), &view = impl_of(reshaped), &owner = root_of(view);
  if (grad_enabled() && before->root && writes_a_leaf(*before))
    fail(op, "a view of a leaf that requires grad cannot be changed in place; make another view of it");
  tensor = reshaped;
  if (view->leaf) return;
  if (view->detached) {
    if (before->detached && is_changeable(owner)) look_again(owner, view);
    return;
  }
  if (before != view && before->retained) move_retained(before, view);
  if (!is_changeable(owner)) return;
  if (before != owner && owner->replacement() != before) return look_again(owner, view);  // a view stays one
  if (before == view || view->root != owner || !moves_back(*view, shape_of(owner))) return;
  before->is_in_place_of_root = false;
  view->is_in_place_of_root = owner->is_replaced = true;
  if (reshaped.requires_grad()) pass_through(*owner, *view, value_of(reshaped));
}

namespace {

// How a tensor shows the memory of its owner; none where it has memory of its own.
std::optional<ir::View> layout_of(const Tensor& tensor) {
  require_defined(tensor);
  const Impl& impl = impl_of(tensor);
  if (!impl->root) return {};
  ir::IndexMap map(shape_of(root_of(impl)));
  map.apply(path_to(*impl));
  return map.is_strided() ? std::optional(map.views()[0]) : std::nullopt;
}

}  // namespace

Dims Tensor::strides() const {
  const std::optional<ir::View> layout = layout_of(*this);
  if (!layout) return ir::row_major_strides(shape());
  Dims strides = layout->strides;
  // Of a size of 1 it says nothing: what it would be in row-major order.
  for (size_t i = strides.size(); i-- > 0;) {
    if (layout->shape[i] == 1) strides[i] = i + 1 < strides.size() ? strides[i + 1] * layout->shape[i + 1] : 1;
  }
  return strides;
}
int64_t Tensor::storage_offset() const {
  const std::optional<ir::View> layout = layout_of(*this);
  return layout ? layout->offset : 0;
}
int64_t Tensor::stride(int64_t dim) const { return strides()[record::axis("stride", dim, shape().size())]; }

// Wherever the first element lies: as in PyTorch, a slice of rows is contiguous.
bool Tensor::is_contiguous() const {
  std::optional<ir::View> layout = layout_of(*this);
  if (!layout) return true;
  layout->offset = 0;
  return layout->is_contiguous();
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

namespace {

const std::shared_ptr<const ir::CustomRule>& history_rule() {
  static const auto rule = std::make_shared<const ir::CustomRule>(ir::CustomRule{
      "write",
      [](std::span<const ir::Value>, std::span<const ir::Value> grads) { return std::vector<ir::Value>{grads[0]}; }});
  return rule;
}

// Views that have a history keep theirs, too: a gradient with respect to one may have been recorded.
void lay_out_with_history(TensorImpl& owner) {
  ir::Value packed = ir::contiguous(ir::detach(owner.value));
  exec::eval({&packed, 1});
  packed = exec::settle(packed);
  std::vector<std::pair<Impl, ir::Value>> histories;
  {
    std::lock_guard lock(views_mutex());
    for (const std::weak_ptr<TensorImpl>& weak : owner.views) {
      const Impl view = weak.lock();
      if (!view || view->leaf || view->root.get() != &owner || view->seen_version != owner.version) continue;
      if (view->value.needs_grad()) histories.emplace_back(view, view->value);
    }
  }
  owner.value = own(with_history(packed, owner.value));
  ++owner.version;
  owner.drop_what_views_show();
  std::lock_guard lock(views_mutex());
  for (auto& [view, history] : histories) {
    ir::Value shown = packed;
    for (const ir::Move& move : view->moves) shown = ir::move(shown, move);
    view->value = own(with_history(shown, history));
    std::atomic_ref<uint64_t>(view->seen_version).store(owner.version, std::memory_order_release);
  }
}

}  // namespace

ir::Value with_history(const ir::Value& data, const ir::Value& history) {
  return {ir::Node::make(ir::Op::custom, {ir::detach(data), history}, ir::CustomAttrs{history_rule(), 1}), 0};
}

ir::Value with_all_uses(ir::Value value) {
  while (value.node->op() == ir::Op::custom && value.node->attrs_as<ir::CustomAttrs>().rule == history_rule()) {
    ir::Value history = value.node->input(1);
    value = std::move(history);
  }
  return value;
}

// Of a tensor whose value lies in memory in another order, or as a part of something larger, the value is first laid
// out by itself.
const std::byte* Tensor::host_address() const {
  if (Trace::current())
    fail("data_ptr", "a value cannot be read inside a captured function; return it and read it outside");
  wait({*this});
  const Impl& owner = root_of(impl_);
  device::StorageRef memory = packed_memory(owner->held());
  if (memory.use_count() == 1) {  // a copy that nobody else has
    const bool is_leaf = owner->leaf != nullptr;
    if (owner->value.needs_grad() && !is_leaf) {
      lay_out_with_history(*owner);
    } else {
      const ir::Value packed = exec::settle(ir::contiguous(is_leaf ? owner->value.node->input(0) : owner->value));
      owner->value = is_leaf ? ir::param(packed, owner->leaf) : packed;
      ++owner->version;
      owner->drop_what_views_show();
    }
    memory = packed_memory(owner->held());
  }
  memory->wait();
  if (!memory->buffer().host) {
    fail("data_ptr", "the host cannot address the memory of device {}; use to_vector() or to(\"cpu\")",
         device().name());
  }
  const std::optional<ir::View> layout = layout_of(*this);
  const int64_t first = layout ? layout->offset : 0;
  return memory->buffer().host + first * static_cast<int64_t>(size_of(dtype()));
}

}  // namespace tenon
