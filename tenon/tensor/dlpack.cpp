#include "tenon/tensor/dlpack.h"

#include <memory>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/share.h"

// The structures of DLPack 0.8 and 1, as its specification lays them out in memory.
extern "C" {

enum DLDeviceType : int32_t { kDLCPU = 1 };
struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};
enum DLDataTypeCode : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLPackVersion {
  uint32_t major, minor;
};
constexpr uint64_t DLPACK_FLAG_BITMASK_READ_ONLY = 1;
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace tenon {
namespace {

struct Exported {
  DLManagedTensor managed;
  SharedMemory memory;
  std::vector<int64_t> shape, strides;
};

DLDataType dl_type(DType dtype) {
  const auto bits = static_cast<uint8_t>(size_of(dtype) * 8);
  switch (dtype) {
    case DType::bf16: return {kDLBfloat, bits, 1};
    case DType::u8: return {kDLUInt, bits, 1};
    case DType::boolean: return {kDLBool, bits, 1};
    case DType::i32:
    case DType::i64: return {kDLInt, bits, 1};
    default: return {kDLFloat, bits, 1};
  }
}

DType dtype_of_dlpack(const DLDataType& type) {
  for (const DType dtype : kAllDTypes) {
    const DLDataType known = dl_type(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  base::fail("dlpack", "there is no dtype for type {} of {} bits", type.code, type.bits);
}

constexpr uint64_t kMostAddressable = uint64_t{1} << 47;  // more than a process can address
constexpr int32_t kMostDims = 64;                         // numpy's, and more than anybody's

/// Anybody may have made it.
Dims checked_shape(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMostDims)
    base::fail("dlpack", "a tensor has 0 to {} dims, this one has {}", kMostDims, tensor.ndim);
  if (tensor.ndim > 0 && !tensor.shape) base::fail("dlpack", "the tensor has no shape");
  const Dims shape(tensor.shape, tensor.shape + tensor.ndim);
  const auto count = ir::checked_count(shape);
  if (!count) base::fail("dlpack", "no tensor has the shape {}", ir::to_string(shape));
  if (*count > 0 && !tensor.data) base::fail("dlpack", "the tensor has elements, and no memory");
  return shape;
}

/// A tensor over memory that `owner` keeps.
Tensor over(const DLTensor& tensor, std::shared_ptr<const void> owner) {
  if (tensor.device.device_type != kDLCPU)
    base::fail("dlpack", "only tensors in the memory of the host are shared; move it to the cpu first");
  const Options options(dtype_of_dlpack(tensor.dtype), Device("cpu"));
  const Dims shape = checked_shape(tensor);
  if (ir::count(shape) == 0) return zeros(shape, options);
  if (tensor.byte_offset > kMostAddressable) base::fail("dlpack", "the tensor begins beyond all memory");
  const Dims strides =
      tensor.strides ? Dims(tensor.strides, tensor.strides + tensor.ndim) : ir::row_major_strides(shape);
  auto* first = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (const auto made = over_strided_memory(first, owner, shape, strides, options)) return *made;
  base::fail("dlpack", "strides {} of shape {} are not those of slices of contiguous memory; copy the tensor",
             ir::to_string(strides), ir::to_string(shape));
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  if (tensor.requires_grad()) base::fail("dlpack", "a tensor that requires grad is not shared; call detach() first");
  if (tensor.device().name() != "cpu")
    base::fail("dlpack", "a tensor on {} is not shared with the host; move it to the cpu first",
               tensor.device().name());
  auto made = std::make_unique<Exported>();
  made->memory = share_memory(tensor);
  const Dims strides = tensor.strides();
  made->shape.assign(tensor.shape().begin(), tensor.shape().end());
  made->strides.assign(strides.begin(), strides.end());
  made->managed.dl_tensor = {made->memory.address,
                             {kDLCPU, 0},
                             static_cast<int32_t>(made->shape.size()),
                             dl_type(tensor.dtype()),
                             made->shape.data(),
                             made->strides.data(),
                             0};
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](DLManagedTensor* managed) { delete static_cast<Exported*>(managed->manager_ctx); };
  return &made.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  return over(managed->dl_tensor, std::shared_ptr<DLManagedTensor>(managed, [](auto* one) { release_dlpack(one); }));
}

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  const std::shared_ptr<DLManagedTensorVersioned> owner(managed, [](auto* one) { release_dlpack(one); });
  if (managed->version.major != 1)  // but for the deleter, all may lie elsewhere
    base::fail("dlpack", "the tensor is of DLPack {}.{}; those of DLPack 1 and before are taken",
               managed->version.major, managed->version.minor);
  if (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
    base::fail("dlpack", "the tensor is read-only, and tensors may be written; share a copy of it");
  return over(managed->dl_tensor, owner);
}

void release_dlpack(DLManagedTensor* managed) {
  if (managed->deleter) managed->deleter(managed);
}
void release_dlpack(DLManagedTensorVersioned* managed) {
  if (managed->deleter) managed->deleter(managed);
}

}  // namespace tenon
