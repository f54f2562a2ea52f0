// A leaf that one tensor alone refers to may get other content: nobody can tell it from a new one.

#include "tenon/tensor/refill.h"

#include "tenon/device/storage.h"
#include "tenon/exec/capture.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

// Bounds of whole numbers are noted when they are sent, so those are made anew.
bool can_stay(const Tensor& tensor, size_t bytes) {
  const std::shared_ptr<TensorImpl>& impl = impl_of(tensor);
  if (impl.use_count() != 1 || impl->root || impl->leaf || impl->shadow || impl->is_pending || Trace::current())
    return false;
  const ir::Value& value = impl->value;
  if (value.node->op() != ir::Op::buffer || !value.node->evaluated() || value.node->references() != 1) return false;
  if (!is_float(value.dtype()) || ir::bytes_of(value.type()) != bytes) return false;
  const device::StorageRef memory = device::storage_of(value.node->data(value.index));
  return memory.use_count() == 2 + memory->pins();  // the leaf's and this one
}

}  // namespace

void refill(Tensor& tensor, std::span<const std::byte> bytes) {
  if (can_stay(tensor, bytes.size()))
    exec::refill(impl_of(tensor)->value, bytes);
  else
    tensor = from_bytes(bytes, tensor.shape(), Options(tensor.dtype(), tensor.device()));
}

}  // namespace tenon
