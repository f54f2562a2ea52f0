#include "tenon/tensor/share.h"

#include "tenon/exec/capture.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/ir/view.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/settle.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

ir::Value data_of(const ir::Value& value) { return is_param(value) ? value.node->input(0) : value; }

void mark(TensorImpl& owner) {
  owner.is_shared = true;
  data_of(owner.value).node->set_reads_shared();
  if (is_param(owner.value)) owner.value.node->set_reads_shared();
  owner.range.reset();  // others may write other numbers
}

}  // namespace

SharedMemory share_memory(const Tensor& tensor) {
  const auto* first =
      dispatch(tensor.dtype(), [&]<typename T>() { return reinterpret_cast<const std::byte*>(tensor.data_ptr<T>()); });
  TensorImpl& owner = *root_of(impl_of(tensor));
  const device::StorageRef memory = packed_memory(owner.value);
  // A value that has its history, or that is a part of something larger, gets a leaf of its own: it is written there.
  if (!owner.value.needs_grad() || owner.leaf) {
    if (data_of(owner.value).node->op() != ir::Op::buffer) {
      const ir::Value leaf = exec::leaf_of(memory, owner.value.type(), owner.value.device());
      owner.value = owner.leaf ? ir::param(leaf, owner.leaf) : leaf;
      ++owner.version;
      owner.drop_what_views_show();
    }
  }
  mark(owner);
  for (const std::weak_ptr<TensorImpl>& weak : owner.views) {
    if (const auto view = weak.lock()) view->range.reset();
  }
  return {const_cast<std::byte*>(first), std::make_shared<const device::Pin>(memory)};
}

Tensor over_shared_memory(std::byte* address, std::shared_ptr<const void> owner, const Dims& shape,
                          const Options& options) {
  ir::require_shape("tensor", shape);
  const ir::Type type{options.dtype.value_or(DType::f32), shape};
  const size_t bytes = ir::bytes_of(type);
  if (reinterpret_cast<uintptr_t>(address) % size_of(type.dtype) != 0)
    base::fail("tensor", "memory at an address that is no multiple of {} bytes cannot be shared as {}; copy it",
               size_of(type.dtype), name(type.dtype));
  const ir::Value leaf = exec::upload_or_adopt({address, bytes}, std::move(owner), type, options.device.id);
  Tensor made = tensor_of(leaf);
  if (bytes > 0 && device::storage_of(leaf.node->data())->buffer().host != address)
    base::fail("tensor", "device {} does not work on host memory; copy it there", options.device.name());
  mark(*impl_of(made));
  if (options.requires_grad) made.requires_grad_();
  return made;
}

std::optional<Tensor> over_strided_memory(std::byte* first, std::shared_ptr<const void> owner, const Dims& shape,
                                          const Dims& strides, const Options& options) {
  ir::require_shape("tensor", shape);
  const ir::View wanted{shape, strides, 0, {}, {}};
  if (wanted.is_contiguous()) return over_shared_memory(first, std::move(owner), shape, options);
  int64_t reach = 1;  // elements of memory from the first one shown to the last
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t distance = 0;
    if (shape[i] == 1) continue;
    if (strides[i] <= 0) return std::nullopt;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &distance) ||
        __builtin_add_overflow(reach, distance, &reach) || reach > ir::kMostElements)
      return std::nullopt;
  }
  constexpr int64_t kMostReached = int64_t{1} << 47;  // bytes; more than a process can address
  if (reach > kMostReached / static_cast<int64_t>(size_of(options.dtype.value_or(DType::f32)))) return std::nullopt;
  const auto moves = ir::moves_to(wanted, {reach});
  if (!moves) return std::nullopt;
  Options flat = options;
  flat.requires_grad = false;
  Tensor made = viewed(over_shared_memory(first, std::move(owner), {reach}, flat), *moves);
  if (options.requires_grad) made.requires_grad_();
  return made;
}

bool is_shared(const Tensor& tensor) {
  require_defined(tensor);
  return root_of(impl_of(tensor))->is_shared;
}

Tensor as_of_now(const Tensor& tensor) {
  Tensor made = tensor_of(record::in(tensor));
  if (const auto range = known_range(tensor))
    set_known_range(made, range->first, range->second, known_range_is_exact(tensor));
  return made;
}

void write_shared(TensorImpl& owner, const device::StorageRef& home) {
  const ir::Value data = data_of(owner.value);
  exec::wait({&data, 1});
  device::StorageRef memory = packed_memory(data);
  memory->wait();
  if (memory->buffer().host != home->buffer().host) {
    const device::StorageRef seat = exec::move_holders_to_own_memory(home);
    exec::copy_into(seat, memory);
    seat->wait();
    memory = seat;
  }
  const ir::Value leaf = exec::leaf_of(memory, data.type(), data.device());
  owner.value = owner.leaf ? ir::param(leaf, owner.leaf) : leaf;
  mark(owner);
}

}  // namespace tenon
