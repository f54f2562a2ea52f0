// Shadows are told to be up to date by counting writes: whoever writes the tensor with its shadow writes both once, so
// the difference of their versions stays. A write to the tensor alone changes it, and the next product converts the whole
// tensor once.

#include "tenon/tensor/autocast.h"

#include <utility>

#include "tenon/ir/build.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

std::optional<DType>& current() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

uint64_t distance_of(const TensorImpl& owner) { return owner.version - owner.shadow->impl()->version; }

// The tensor's values in the lower type, without history.
Tensor lower_values(const Tensor& x, DType dtype) {
  const NoGrad values_only;
  std::vector<ir::Move> path;
  TensorImpl* owner = x.impl().get();
  while (owner->root) {
    path.insert(path.begin(), owner->moves.begin(), owner->moves.end());
    owner = owner->root.get();
  }
  if (!owner->shadow || owner->shadow->dtype() != dtype) return x.to(dtype);
  if (!shadow_is_current(*owner)) {
    if (Trace::current()) return x.to(dtype);  // a replay would convert it too
    renew_shadow(*owner);
  }
  if (Trace::current()) static_cast<void>(x.value());  // the recording looks after the tensor itself, too
  Tensor shown = *owner->shadow;
  return path.empty() ? shown : shown.viewed(path);
}

}  // namespace

Autocast::Autocast(DType dtype, bool enabled) : before_(current()) {
  if (dtype != DType::bf16 && dtype != DType::f16)
    base::fail("autocast", "takes bf16 or f16, not {}", name(dtype));
  current() = enabled ? std::optional(dtype) : std::nullopt;
}
Autocast::~Autocast() { current() = before_; }

std::optional<DType> autocast_dtype() { return current(); }

Tensor autocast(const Tensor& x) {
  const auto dtype = autocast_dtype();
  return dtype && x.dtype() == DType::f32 ? x.to(*dtype) : x;
}

Tensor autocast_product(const Tensor& x, const Tensor& weight, DType dtype) {
  const int64_t inner = x.size(-1), rows = inner == 0 ? ir::count(Dims(x.shape().begin(), x.shape().end() - 1))
                                                      : x.numel() / inner;
  const Tensor low = x.to(dtype).reshape({rows, inner});
  const Tensor low_weight = lower_values(weight, dtype);
  const auto product = [](const Tensor& a, const Tensor& b, DType result) {
    return Tensor(ir::contract(record::in(a), record::in(b), result));
  };
  const CustomFunction function{
      "autocast_product",
      [&](std::span<const Tensor> in) { return std::vector<Tensor>{product(in[0], low_weight, DType::f32)}; },
      [product, low_weight, dtype](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor g = grads[0].to(dtype);
        return std::vector<Tensor>{product(g, low_weight.t(), dtype), product(in[0].t(), g, DType::f32)};
      }};
  const Tensor flat = tenon::apply(function, std::vector<Tensor>{low, weight})[0];
  Dims shape = x.shape();
  shape.back() = weight.size(-1);
  return flat.reshape(shape);
}

void keep_shadow(Tensor& tensor, DType dtype) {
  TensorImpl& owner = *tensor.impl();
  if (owner.root) base::fail("keep_shadow", "this tensor is a view; give its root the shadow");
  const NoGrad values_only;
  owner.shadow = std::make_shared<Tensor>(tensor.to(dtype).eval());
  owner.shadow_distance = distance_of(owner);
}

void write_with_shadow(Tensor& tensor, const Tensor& value) {
  tensor.copy_(value);
  TensorImpl& owner = *tensor.impl();
  if (!owner.shadow) return;
  owner.shadow->copy_(value.to(owner.shadow->dtype()));
  owner.shadow_distance = distance_of(owner);
}

Tensor shadow_of(const Tensor& tensor) { return tensor.impl()->shadow ? *tensor.impl()->shadow : Tensor(); }

bool shadow_is_current(const TensorImpl& owner) { return distance_of(owner) == owner.shadow_distance; }

void renew_shadow(TensorImpl& owner) {
  const NoGrad values_only;
  const ir::Value data = owner.value.node->op() == ir::Op::param ? owner.value.node->input(0) : owner.value;
  owner.shadow->copy_(Tensor(ir::cast(data, owner.shadow->dtype())));
  owner.shadow_distance = distance_of(owner);
}

}  // namespace tenon
