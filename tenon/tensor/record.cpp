// Broadcasting, promotion and the checks that precede recording.

#include "tenon/tensor/record.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/out_of_range.h"
#include "tenon/device/registry.h"
#include "tenon/ir/walk.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/autocast.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/mapping.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/trace.h"

namespace tenon::record {
namespace {

using base::fail;

// How a lower-priority dtype changes a higher-priority one: only by raising its category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || is_float(*higher)) return higher;
  if (*higher == DType::boolean || is_float(*lower)) return promote(*higher, *lower);
  return higher;
}

}  // namespace

// Devices without tf32 record what they would record anyway, so that no bit changes there.
bool is_tf32(DType dtype, ir::DeviceId device) {
  return dtype == DType::f32 && tf32_allowed() && device::open(device).limits().tf32;
}

Tensor apart(const Tensor& view) { return tensor_of(in(view)); }

ir::Value in(const Tensor& x) {
  ir::Value value = value_of(x);
  const ir::Node& node = *value.node;
  // What a write of everything leaves behind is what it writes: readers need not wait for the memory. What changes a
  // few places does so in that memory, and whoever holds it by another name would keep it from that.
  const bool rewritten = node.op() == ir::Op::store && !node.evaluated() && !value.needs_grad() &&
                         node.attrs_as<ir::StoreAttrs>().target.empty();
  const auto is_scattered = [](const ir::Node* base) {
    return base->op() == ir::Op::scatter || base->op() == ir::Op::scatter_add;
  };
  if (rewritten && !is_scattered(ir::base_node(node.input(1)))) return node.input(1);
  if (!grad_enabled()) return ir::detach(value);
  if (impl_of(x)->retained) note_retained(*impl_of(x), value);
  return value;
}

size_t axis(std::string_view op, int64_t dim, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (dim < -n || dim >= n) {
    if (rank == 0) base::fail_range(op, "dim {} is out of range for a tensor of rank 0", dim);
    base::fail_range(op, "dim {} is out of range for a tensor of rank {} (use {} to {})", dim, rank, -n, n - 1);
  }
  return static_cast<size_t>(dim < 0 ? dim + n : dim);
}

Dims axes(std::string_view op, const Dims& dims, size_t rank) {
  if (dims.empty()) return ir::iota_dims(rank);
  Dims sorted;
  for (int64_t dim : dims) {
    if (rank == 0 && (dim == 0 || dim == -1)) continue;  // PyTorch lets a 0-d tensor be reduced along its imaginary dim
    sorted.push_back(static_cast<int64_t>(axis(op, dim, rank)));
  }
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] == sorted[i - 1]) fail(op, "dim {} appears more than once", sorted[i]);
  }
  return sorted;
}

Dims broadcast(std::string_view op, const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims shape(rank);
  for (size_t back = 1; back <= rank; ++back) {
    const int64_t x = back <= a.size() ? a[a.size() - back] : 1, y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) {
      fail(op, "shapes {} and {} do not broadcast: sizes {} and {} differ at dim -{}", ir::to_string(a),
           ir::to_string(b), x, y, back);
    }
    shape[rank - back] = x == 1 ? y : x;
  }
  ir::require_shape(op, shape);
  return shape;
}

ir::Value expanded(std::string_view op, const ir::Value& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  Dims padded(shape.size(), 1);
  if (x.rank() > shape.size())
    fail(op, "shape {} does not broadcast to {}", ir::to_string(x.shape()), ir::to_string(shape));
  for (size_t i = 0; i < x.rank(); ++i) {
    const size_t to = shape.size() - x.rank() + i;
    padded[to] = x.shape()[i];
    if (padded[to] != 1 && padded[to] != shape[to]) {
      fail(op, "shape {} does not broadcast to {}", ir::to_string(x.shape()), ir::to_string(shape));
    }
  }
  ir::require_shape(op, shape);
  return ir::expand(ir::reshape(x, padded), shape);
}

DType result_type(std::span<const Operand> operands) {
  std::optional<DType> tensors, singles, numbers;
  const auto join = [](std::optional<DType>& total, DType dtype) { total = total ? promote(*total, dtype) : dtype; };
  for (const Operand& operand : operands) {
    if (!operand.is_tensor())
      join(numbers, operand.number().dtype());
    else
      join(operand.tensor().dim() == 0 ? singles : tensors, operand.tensor().dtype());
  }
  return *combine(tensors, combine(singles, numbers));
}

Device common_device(std::string_view op, std::span<const Operand> operands) {
  static const Device host("cpu");
  const auto joins_any = [](const Tensor& x) { return x.dim() == 0 && x.device() == host; };
  const Tensor* chosen = nullptr;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const Tensor& x = operand.tensor();
    if (!chosen || (chosen->dim() == 0 && chosen->device() == x.device()))
      chosen = &x;
    else if (chosen->device() == x.device() || joins_any(x))
      continue;
    else if (joins_any(*chosen))
      chosen = &x;
    else
      require_same_device(op, *chosen, x);
  }
  if (!chosen) fail(op, "takes at least one tensor");
  return chosen->device();
}

// From f64, which not every device has, to the wanted dtype before it travels.
ir::Value brought(std::string_view op, const Operand& operand, DType dtype, Device device) {
  if (!operand.is_tensor()) return number(op, operand.number(), dtype, device.id);
  const ir::Value value = ir::cast(in(operand.tensor()), dtype);
  return operand.tensor().device() == device ? value : ir::copy(value, device.id);
}

std::vector<ir::Value> unified(std::string_view op, std::span<const Operand> operands, std::optional<DType> dtype) {
  const Device device = common_device(op, operands);
  std::optional<Dims> shape;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    shape = shape ? broadcast(op, *shape, operand.tensor().shape()) : operand.tensor().shape();
  }
  const DType type = dtype ? *dtype : result_type(operands);
  std::vector<ir::Value> values;
  for (const Operand& operand : operands) values.push_back(expanded(op, brought(op, operand, type, device), *shape));
  return values;
}

DType real_type(DType dtype) { return is_float(dtype) ? dtype : DType::f32; }

Device with_f64(Device device) {
  return device::open(device.id).limits().missing_dtypes.contains(DType::f64) ? Device("cpu") : device;
}

namespace {
// Of one pixel, channels last.
ir::Call smallest_convolution(DType dtype, DType result) {
  ir::ConvAttrs attrs;
  attrs.axes = {{.image = 1, .kernel = 1, .out = 1}};
  attrs.result = result;
  attrs.channels_last = true;
  ir::Call made;
  made.op = ir::Op::conv;
  made.attrs = attrs;
  for (int i = 0; i < 2; ++i) made.inputs.push_back({dtype, ir::IndexMap(Dims{1, 1, 8})});
  made.outputs.push_back({result, Dims{1, 1, 1}});
  return made;
}
}  // namespace

DType convolution_sums(DType dtype, ir::DeviceId id) {
  device::Device& device = device::open(id);
  const DType wide = accumulator(dtype);
  if (wide == dtype || !device.limits().channels_last) return wide;
  return device.compiler().takes(smallest_convolution(dtype, wide)) ? wide : dtype;
}

ir::Value product(const ir::Value& a, const ir::Value& b, DType result) {
  return ir::contract(a, b, ir::ContractAttrs{result, is_tf32(a.dtype(), a.device())});
}

int64_t quick_size(const Tensor& x, int64_t size) {
  if (x.dtype() != DType::bf16 && x.dtype() != DType::f16 && !is_tf32(x.dtype(), x.device().id)) return size;
  const int64_t granule = device::open(x.device().id).limits().product_granule;
  const auto rounded_up = [&](int64_t to) { return (size + to - 1) / to * to; };
  const bool is_large = rounded_up(granule) - size <= size / 50;
  return rounded_up(is_large ? granule : std::min<int64_t>(granule, 8));
}

void require_same_device(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.device() == b.device()) return;
  fail(op, "tensors are on devices {} and {}; move one with to()", a.device().name(), b.device().name());
}

Tensor shared_evenly(std::string_view op, const Tensor& x, const Tensor& value) {
  const CustomFunction function{
      std::string(op), [](std::span<const Tensor> in) { return std::vector{in[1]}; },
      [](std::span<const Tensor> in, std::span<const Tensor> grads) {
        const Tensor found = logical_or(eq(in[0], in[1]), logical_and(isnan(in[0]), isnan(in[1])));
        return std::vector{where(found, div(grads[0], sum(found).to(in[0].dtype())), 0.0), Tensor()};
      }};
  return apply(function, std::vector{x, value.detach()})[0];
}

Tensor with_flat_part(const Tensor& y, const Tensor& x) {
  if (!grad_enabled() || !x.requires_grad()) return y;
  static const CustomFunction function{"flat", [](std::span<const Tensor> in) { return std::vector{in[0].detach()}; },
                                       [](std::span<const Tensor> in, std::span<const Tensor> grads) {
                                         return std::vector{grads[0], zeros_like(in[1])};
                                       }};
  return apply(function, std::vector{y, x})[0];
}

void require_storable(std::string_view op, DType result, DType target) {
  const auto category = [](DType dtype) { return is_float(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; };
  if (category(result) > category(target))
    fail(op, "a result of {} cannot be stored in {}", name(result), name(target));
}

void require_float(std::string_view op, const Tensor& x) {
  if (!is_float(x.dtype()))
    fail(op, "takes floating-point values, got {}; convert with to(DType::f32)", name(x.dtype()));
}

void require_mask(std::string_view op, std::string_view what, const Tensor& mask) {
  if (mask.dtype() == DType::boolean || is_float(mask.dtype())) return;
  fail(op, "{} must be bool or floating-point, got {}; convert it with to(DType::boolean)", what, name(mask.dtype()));
}

ir::Value number(std::string_view op, const Number& number, DType dtype, ir::DeviceId device) {
  if (!number.is_real()) return ir::constant_int(number.as_int(), dtype, device);
  if (is_integer(dtype) && !std::isfinite(number.as_double())) {
    fail(op, "{} cannot be stored in {}", number.as_double(), name(dtype));
  }
  return ir::constant(number.as_double(), dtype, device);
}

bool is_single(std::string_view op, const Tensor& x, int64_t dim) {
  if (x.dim() != 0) return false;
  if (dim != 0 && dim != -1) axis(op, dim, 0);  // fails
  return true;
}

std::vector<int64_t> suspects(const Tensor& index, int64_t size) {
  const auto range = known_range(index);
  if (range && range->first >= 0 && range->second < size) return {};
  if (Trace::current()) return {};  // what a captured function is given changes from call to call
  return index.is_evaluated() ? index.detach().to_vector<int64_t>() : std::vector<int64_t>();
}

void require_known_values(std::string_view op, std::string_view what) {
  const char* who = without_values();
  if (who) fail(op, "the shape of what {} gives depends on values, which {} does not have; do it outside", what, who);
}

void require_range(std::string_view op, const Tensor& index, int64_t dim, int64_t size) {
  const auto bounds = [&] { return std::vector<int64_t>{known_range(index)->first, known_range(index)->second}; };
  for (int64_t i : known_range_is_exact(index) ? bounds() : suspects(index, size)) {
    if (i < 0 || i >= size) base::fail_range(op, "index {} is out of range for dim {} of size {}", i, dim, size);
  }
}

void require_positions(std::string_view op, const Tensor& index, int64_t dim, int64_t size) {
  const auto range = known_range(index);
  if (!range || (range->first >= -size && range->second < size)) return;
  std::vector<int64_t> positions;
  if (known_range_is_exact(index))
    positions = {range->first, range->second};
  else if (!without_values())
    positions = index.detach().to_vector<int64_t>();
  for (const int64_t i : positions) {
    if (i < -size || i >= size) base::fail_range(op, "index {} is out of range for dim {} of size {}", i, dim, size);
  }
}

Tensor from_start(const Tensor& index, int64_t size) {
  const Tensor position = index.to(DType::i64);
  const auto range = known_range(index);
  if (range && range->first >= 0) return position;
  Tensor counts_back = lt(position, 0);
  if (!range || range->first < -size) counts_back = logical_and(counts_back, ge(position, -size));
  return where(counts_back, add(position, size), position);
}

Tensor looked_at(const Tensor& index, size_t axis, int64_t size) {
  const auto range = known_range(index);
  const bool is_empty = size == 0 || index.numel() == 0;
  if (is_empty || (range && range->first >= 0 && range->second < size)) return index;
  Dims along(axis + 1, 1);
  along[axis] = size;
  const Tensor numbers = arange(size, Options(index.dtype(), index.device())).reshape(along);
  return tensor_of(ir::reshape(ir::gather(value_of(numbers), value_of(index), axis), index.shape()));
}

}  // namespace tenon::record
