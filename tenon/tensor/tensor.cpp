// The handle itself: what it holds, what is known of its elements, and conversions. Reading, gradients, views and
// writes have files of their own: tensor_read, tensor_grad, tensor_views, tensor_write.
//
// A tensor either owns its value or shows a root tensor through moves.

#include "tenon/tensor/tensor.h"

#include "tenon/device/registry.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/kept_graphs.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"
#include "tenon/tensor/unread.h"

namespace tenon {

using base::fail;
using Impl = std::shared_ptr<TensorImpl>;

Device::Device() : id(device::default_device()) {}
Device::Device(std::string_view name) : id(device::find(name)) {}

std::vector<Device> devices() {
  std::vector<Device> there;
  for (const std::string& name : device::names()) {
    const Device each(name);
    if (!device::is_for_tests(each.id)) there.push_back(each);
  }
  return there;
}

IndexEntry::IndexEntry(const Tensor& positions) : index(std::make_shared<const Tensor>(positions)) {}

Tensor tensor_of(ir::Value value) { return tensor_showing(own(std::move(value))); }

Tensor tensor_showing(ir::Value value) {
  auto impl = std::make_shared<TensorImpl>();
  impl->value = std::move(value);
  impl->type = impl->value.type();
  impl->device = impl->value.device();
  impl->type_is_known = true;
  const Mapping* mapping = Mapping::current();
  if (mapping) impl->mapping = mapping->id;
  if (Trace* trace = Trace::current()) {
    trace->makes(impl);
  } else if (!mapping) {
    evaluate_growth(impl->value);
    unread::add(impl);
    if (impl->value.needs_grad()) kept_graphs::add(impl);
  }
  return tensor_of(std::move(impl));
}

ir::Value value_of_root(const Impl& root) {
  Trace* trace = Trace::current();
  return trace ? trace->value_of(root) : root->held();
}

void require_defined(const Tensor& tensor) {
  if (!tensor.defined()) fail("tensor", "this tensor is undefined; assign one before using it");
}

ir::Value value_of(const Tensor& tensor) {
  require_defined(tensor);
  const Impl& impl = impl_of(tensor);
  if (impl->picked) pick_now(*impl);
  if (Trace* trace = Trace::current()) return trace->value_of(impl);
  impl->refresh();
  ir::Value now = impl->held();
  return can_settle(now) ? impl->let_go(now, settled(now)) : now;
}

namespace {

// The impl, which knows type and device.
const TensorImpl& typed(const Tensor& tensor) {
  require_defined(tensor);
  TensorImpl& impl = *impl_of(tensor);
  if (!impl.knows_type()) impl.note_type(value_of(tensor));
  return impl;
}

}  // namespace

const Dims& Tensor::shape() const { return typed(*this).type.shape; }
int64_t Tensor::size(int64_t dim) const { return shape()[record::axis("size", dim, shape().size())]; }
int64_t Tensor::numel() const { return ir::count(shape()); }
DType Tensor::dtype() const { return typed(*this).type.dtype; }
Device Tensor::device() const { return typed(*this).device; }
int64_t Tensor::nbytes() const { return numel() * static_cast<int64_t>(size_of(dtype())); }

std::optional<std::pair<int64_t, int64_t>> known_range(const Tensor& tensor) {
  const Impl& impl = impl_of(tensor);
  if (Trace* trace = Trace::current(); trace && trace->is_outside(*impl)) {
    const Impl& owner = root_of(impl);
    const bool is_outdated = trace->is_written(owner) || (impl->root && impl->range_version != owner->version);
    return is_outdated ? std::nullopt : impl->range;
  }
  value_of(tensor);  // drops a range that a write has outdated
  return impl->range;
}
bool known_range_is_exact(const Tensor& tensor) { return known_range(tensor) && impl_of(tensor)->range_is_exact; }
void set_known_range(Tensor& tensor, int64_t low, int64_t high, bool exact) {
  impl_of(tensor)->range = {low, high};
  impl_of(tensor)->range_is_exact = exact;
}

// ---- conversion ----

namespace {

// The same elements, in another type or place.
void take_range(Tensor& made, const Tensor& from) {
  if (const auto range = known_range(from))
    set_known_range(made, range->first, range->second, known_range_is_exact(from));
}

}  // namespace

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  // A device without f64 can hold it; the cpu converts it.
  if (this->dtype() == DType::f64 && !(record::with_f64(device()) == device()))
    return to(Device("cpu")).to(dtype).to(device());
  Tensor made = tensor_of(ir::cast(record::in(*this), dtype));
  const auto range = known_range(*this);
  const auto fits_i32 = [&] { return range->first >= INT32_MIN && range->second <= INT32_MAX; };
  if (range && (dtype == DType::i64 || (dtype == DType::i32 && fits_i32()))) take_range(made, *this);
  return made;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  Tensor made = tensor_of(ir::copy(record::in(*this), device.id));
  take_range(made, *this);
  return made;
}

// f64 is no stop on the way: not every device has it.
Tensor Tensor::to(Device device, DType dtype) const {
  return dtype == DType::f64 ? to(device).to(dtype) : to(dtype).to(device);
}

Tensor Tensor::clone() const {
  Tensor made = tensor_of(ir::contiguous(record::in(*this)));
  take_range(made, *this);
  return made;
}

}  // namespace tenon
