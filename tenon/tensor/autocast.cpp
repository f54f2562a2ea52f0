// Shadows are told to be up to date by counting writes: whoever writes the tensor with its shadow writes both once, so
// the difference of their versions stays. A write to the tensor alone changes it, and the next product converts the
// whole tensor once.

#include "tenon/tensor/autocast.h"

#include <atomic>
#include <utility>

#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/record.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon {
namespace {

std::optional<DType>& current() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

std::optional<bool>& may_be_tf32() {
  thread_local std::optional<bool> allowed;
  return allowed;
}

std::atomic<bool>& may_be_tf32_elsewhere() {
  static std::atomic<bool> allowed = false;
  return allowed;
}

using Impl = std::shared_ptr<TensorImpl>;

// A captured function counts its writes apart.
uint64_t version_of(const Impl& root) {
  Trace* trace = Trace::current();
  return trace ? trace->version_of(root) : root->version;
}

uint64_t distance_of(const Impl& owner) { return version_of(owner) - version_of(impl_of(*owner->shadow)); }

// The tensor's values in the lower type, without history.
Tensor lower_values(const Tensor& x, DType dtype) {
  const NoGrad values_only;
  const std::vector<ir::Move> path = path_to(*impl_of(x));
  const Impl& owner = root_of(impl_of(x));
  if (!owner->shadow || owner->shadow->dtype() != dtype) return x.to(dtype);
  static_cast<void>(value_of(x));  // a recording looks after the tensor itself, too
  if (!shadow_is_current(owner)) {
    if (Trace::current()) return x.to(dtype);  // the function has written it without its shadow
    renew_shadow(owner);
  }
  Tensor shown = *owner->shadow;
  return path.empty() ? shown : viewed(shown, path);
}

}  // namespace

Autocast::Autocast(DType dtype, bool enabled) : before_(current()) {
  if (dtype != DType::bf16 && dtype != DType::f16) base::fail("autocast", "takes bf16 or f16, not {}", name(dtype));
  current() = enabled ? std::optional(dtype) : std::nullopt;
}
Autocast::~Autocast() { current() = before_; }

std::optional<DType> autocast_dtype() { return current(); }

AllowTf32::AllowTf32(bool allowed) : before_(std::exchange(may_be_tf32(), allowed)) {}
AllowTf32::~AllowTf32() { may_be_tf32() = before_; }

void set_tf32_allowed(bool allowed) { may_be_tf32_elsewhere() = allowed; }
bool tf32_allowed() { return may_be_tf32().value_or(may_be_tf32_elsewhere()); }

bool is_autocast(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

Tensor autocast(const Tensor& x) {
  const auto dtype = autocast_dtype();
  return dtype && is_autocast(x.dtype()) ? x.to(*dtype) : x;
}

Tensor autocast_values(const Tensor& weight) {
  const auto dtype = autocast_dtype();
  return dtype && is_autocast(weight.dtype()) ? lower_values(weight, *dtype) : weight;
}

// Without it a second derivative would miss the way over the product's gradient, which the weight is a factor of.
Tensor with_history_of(const Tensor& weight, const Tensor& low) {
  const CustomFunction function{"autocast", [&](std::span<const Tensor>) { return std::vector<Tensor>{low}; },
                                [dtype = weight.dtype()](std::span<const Tensor>, std::span<const Tensor> grads) {
                                  return std::vector<Tensor>{grads[0].to(dtype)};
                                }};
  return tenon::apply(function, std::vector<Tensor>{weight})[0];
}

Tensor autocast_wide(const Tensor& x) {
  const auto dtype = autocast_dtype();
  return dtype && is_autocast(x.dtype()) ? x.to(DType::f32) : x;
}

namespace {

Tensor product(const Tensor& a, const Tensor& b, DType result) {
  return tensor_of(record::product(record::in(a), record::in(b), result));
}

// Lies in memory, where products read it.
Tensor lower_bias(const Tensor& bias, DType dtype) {
  const NoGrad values_only;
  const Tensor low = lower_values(bias, dtype);
  return bias.dtype() == dtype || root_of(impl_of(bias))->shadow ? low : tensor_of(ir::contiguous(record::in(low)));
}

}  // namespace

// The rows are flattened inside, so that the gradient of a bias is summed in the shape of what surrounds the product.
Tensor autocast_product(const Tensor& x, const Tensor& weight, const Tensor& bias, DType dtype) {
  const int64_t inner = weight.size(0), outer = weight.size(1);
  Dims shape = x.shape(), leading;
  shape.back() = outer;
  for (int64_t axis = 0; axis + 1 < x.dim(); ++axis) leading.push_back(axis);
  const int64_t rows = ir::count(Dims(shape.begin(), shape.end() - 1));
  const Tensor low_weight = lower_values(weight, dtype);
  const Tensor row = bias.defined() ? lower_bias(bias, dtype) : Tensor();
  const CustomFunction function{
      "autocast_product",
      [&](std::span<const Tensor> in) {
        const Tensor flat = in[0].reshape({rows, inner});
        if (!row.defined()) return std::vector<Tensor>{product(flat, low_weight, dtype).reshape(shape)};
        const Tensor sums = add(product(flat, low_weight, DType::f32), row.to(DType::f32));
        return std::vector<Tensor>{sums.to(dtype).reshape(shape)};
      },
      [dtype, rows, inner, outer, leading](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor g = grads[0].to(dtype), flat = g.reshape({rows, outer});
        const Tensor slope = product(in[0].reshape({rows, inner}).t(), flat, DType::f32);
        const Tensor factor = with_history_of(in[1], in[2]).t();
        std::vector<Tensor> slopes{product(flat, factor, dtype).reshape(in[0].shape()), slope.to(in[1].dtype()),
                                   Tensor()};
        if (in.size() > 3) {
          const Tensor wide = g.to(DType::f32);
          slopes.push_back((leading.empty() ? wide : sum(wide, leading)).to(in[3].dtype()));
        }
        return slopes;
      }};
  std::vector<Tensor> operands{x.to(dtype), weight, low_weight.detach()};
  if (bias.defined()) operands.push_back(bias);
  return tenon::apply(function, operands)[0];
}

void keep_shadow(Tensor& tensor, DType dtype) {
  const Impl& owner = impl_of(tensor);
  if (dtype != DType::bf16 && dtype != DType::f16) base::fail("keep_shadow", "takes bf16 or f16, not {}", name(dtype));
  if (owner->root) base::fail("keep_shadow", "this tensor is a view; give its root the shadow");
  if (Trace::current()) base::fail("keep_shadow", "call it once, outside of the captured function");
  const NoGrad values_only;
  owner->shadow = std::make_shared<Tensor>(tensor.to(dtype).eval());
  note_shadow(owner);
}

void write_with_shadow(Tensor& tensor, const Tensor& value) {
  tensor.copy_(value);
  const Impl& owner = impl_of(tensor);
  if (!owner->shadow) return;
  owner->shadow->copy_(value.to(owner->shadow->dtype()));
  note_shadow(owner);
}

Tensor shadow_of(const Tensor& tensor) { return impl_of(tensor)->shadow ? *impl_of(tensor)->shadow : Tensor(); }

bool shadow_is_current(const Impl& owner) {
  Trace* trace = Trace::current();
  const uint64_t noted = trace && trace->is_outside(*owner) ? trace->shadow_distance(owner) : owner->shadow_distance;
  return distance_of(owner) == noted;
}

void note_shadow(const Impl& owner, bool is_current) {
  constexpr uint64_t kNever = uint64_t{1} << 63;  // no number of writes leads there
  const uint64_t distance = is_current ? distance_of(owner) : kNever;
  Trace* trace = Trace::current();
  if (trace && trace->is_outside(*owner))
    trace->set_shadow_distance(owner, distance);
  else
    owner->shadow_distance = distance;
}

void renew_shadow(const Impl& owner) {
  const NoGrad values_only;
  const ir::Value held = owner->held();
  const ir::Value data = held.node->op() == ir::Op::param ? held.node->input(0) : held;
  owner->shadow->copy_(tensor_of(ir::cast(data, owner->shadow->dtype())));
  note_shadow(owner);
}

}  // namespace tenon
