// What every op does before it records: gradient mode, dims, broadcasting, promotion, and the errors of each.

#pragma once

#include "tenon/ir/build.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/tensor.h"

namespace tenon::record {

/// The tensor's value, cut from its history when gradients are off.
ir::Value in(const Tensor& x);

/// The same value as a tensor of its own, for results that are views of what a function made on its way: a hook on it, or a
/// write to it, concerns no other tensor.
Tensor apart(const Tensor& view);

/// dim in 0..rank-1, from a possibly negative one.
size_t axis(std::string_view op, int64_t dim, size_t rank);
/// True for a 0-d tensor, which PyTorch lets be asked about dims 0 and -1; fails for other dims of it.
bool is_single(std::string_view op, const Tensor& x, int64_t dim);
/// Sorted axes without repetition; all of them when dims is empty.
Dims axes(std::string_view op, const Dims& dims, size_t rank);

/// The shape two shapes broadcast to.
Dims broadcast(std::string_view op, const Dims& a, const Dims& b);
/// Shows a value in a shape that it broadcasts to.
ir::Value expanded(std::string_view op, const ir::Value& x, const Dims& shape);

/// The dtype PyTorch gives an op on these: tensors decide before 0-d tensors, those before numbers.
DType result_type(std::span<const Operand> operands);
/// The device an op on these runs on. A single number on the cpu joins tensors of any device, as in PyTorch.
Device common_device(std::string_view op, std::span<const Operand> operands);
/// The operand's value in this dtype on this device.
ir::Value brought(std::string_view op, const Operand& operand, DType dtype, Device device);
/// Operands on one device, in one shape and dtype (result_type unless given).
std::vector<ir::Value> unified(std::string_view op, std::span<const Operand> operands, std::optional<DType> dtype = {});
/// f32 for integers and bool; the dtype itself for floats.
DType real_type(DType dtype);

/// The device itself where it computes in f64, else the cpu: for values that are made or read through f64 whatever the
/// tensor's dtype is.
Device with_f64(Device device);

/// A product, of tf32 where that is allowed and the device has it.
ir::Value product(const ir::Value& a, const ir::Value& b, DType result);
/// Whether products of this dtype, and convolutions, are to be of tf32 there.
bool is_tf32(DType dtype, ir::DeviceId device);
/// The dtype in which convolutions of this dtype give their sums there: f32 for 16 bits, but that a library which sums
/// in f32 may give no others than rounded ones.
DType convolution_sums(DType dtype, ir::DeviceId device);
/// The least size, from this one on, at which products with the tensor are quick on its device.
int64_t quick_size(const Tensor& x, int64_t size);

void require_same_device(std::string_view op, const Tensor& a, const Tensor& b);
void require_float(std::string_view op, const Tensor& x);
/// Attention's masks: bool, or numbers that are added to the scores. Integers could mean either.
void require_mask(std::string_view op, std::string_view what, const Tensor& mask);
/// Fails where what arithmetic made does not fit into what it is written to: reals in integers, integers in bool.
void require_storable(std::string_view op, DType result, DType target);
/// A number as a constant; fails when an integer dtype cannot hold it.
ir::Value number(std::string_view op, const Number& number, DType dtype, ir::DeviceId device);
/// The elements of an index that may lie outside of 0..size-1: none when its bounds say that all lie inside, else
/// all of it if it exists already.
std::vector<int64_t> suspects(const Tensor& index, int64_t size);
/// Fails when an index that exists already lies outside of 0..size-1. One still to be computed is checked on the
/// device.
void require_range(std::string_view op, const Tensor& index, int64_t dim, int64_t size);
/// The same for positions that may count from the end, as far as their bounds are known.
void require_positions(std::string_view op, const Tensor& index, int64_t dim, int64_t size);
/// Positions that may count from the end, as i64 from the start. One that is out of range stays as it is, so that the
/// device names the one that was given.
Tensor from_start(const Tensor& index, int64_t size);
/// The index itself, looked up in 0, 1, ... along the axis on its way unless it is known to be in range: a fault of the
/// device then names the index, axis and size that the user knows.
Tensor looked_at(const Tensor& index, size_t axis, int64_t size);

/// Fails inside a captured function: `what` has a shape that depends on values.
void require_known_values(std::string_view op, std::string_view what);

/// One of x's elements, the value: those that equal it share its gradient, or the NaN ones where it is NaN.
Tensor shared_evenly(std::string_view op, const Tensor& x, const Tensor& value);
/// y, of which x is a part that changes nothing: x gets a gradient of zeros.
Tensor with_flat_part(const Tensor& y, const Tensor& x);

/// Computes f in f32 where x is f16 or bf16 and rounds the result once, as PyTorch's kernels do.
template <typename F>
Tensor in_wide(const Tensor& x, F&& f) {
  const DType wide = accumulator(x.dtype());
  if (wide == x.dtype()) return f(x);
  return f(x.to(wide)).to(x.dtype());
}

}  // namespace tenon::record
