// Deciding whether an operand is packed, and doing it.

#include "tenon/backends/cpu/calls/input.h"

namespace tenon::backends::cpu {

Input::Input(const ir::Operand& operand, Wanted wanted)
    : dtype_(operand.dtype), shape_(operand.map.shape()), count_(ir::count(shape_)) {
  const bool in_place = wanted == Wanted::contiguous ? operand.map.is_contiguous() : operand.map.is_strided();
  if (in_place && count_ > 0) {
    const ir::View& view = operand.map.views()[0];
    strides_ = view.strides;
    offset_ = view.offset;
    return;
  }
  strides_ = ir::row_major_strides(shape_);
  packs_ = count_ > 0;
  if (packs_) packer_ = Packer(operand.map, size_of(dtype_));
}

Input::Bound::Bound(const Input& input, const std::byte* buffer) : data_(buffer) {
  const auto bytes = static_cast<int64_t>(size_of(input.dtype_));
  if (!input.packs_) {
    data_ += input.offset_ * bytes;
    return;
  }
  packed_.emplace(static_cast<size_t>(input.count_ * bytes));
  input.packer_.run(buffer, packed_->data());
  data_ = packed_->data();
}

}  // namespace tenon::backends::cpu
