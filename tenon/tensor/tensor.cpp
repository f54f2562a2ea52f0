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
