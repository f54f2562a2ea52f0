#include "tenon/data/host_bytes.h"

#include "tenon/base/half.h"

namespace tenon::data {
namespace {

const void* address_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f64: return tensor.data_ptr<double>();
    case DType::f32: return tensor.data_ptr<float>();
    case DType::f16: return tensor.data_ptr<base::Half>();
    case DType::bf16: return tensor.data_ptr<base::BFloat16>();
    case DType::i64: return tensor.data_ptr<int64_t>();
    case DType::i32: return tensor.data_ptr<int32_t>();
    case DType::u8: return tensor.data_ptr<uint8_t>();
    default: return tensor.data_ptr<bool>();
  }
}

}  // namespace

HostBytes::HostBytes(const Tensor& tensor) : kept_(tensor) {
  if (tensor.device() == host() && tensor.is_contiguous() && tensor.is_evaluated()) {
    bytes_ = {static_cast<const std::byte*>(address_of(tensor)), static_cast<size_t>(tensor.nbytes())};
  } else {
    own_ = tensor.to_bytes();
    bytes_ = own_;
  }
}

std::string shown_type(const Tensor& tensor) {
  return std::string(name(tensor.dtype())) + ir::to_string(tensor.shape());
}

Device host() {
  static const Device cpu("cpu");
  return cpu;
}

}  // namespace tenon::data
