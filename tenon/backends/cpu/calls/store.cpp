// `store` and `contiguous`: copies into a view, and into row-major order.

#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/calls/kernels.h"

namespace tenon::backends::cpu {
namespace {

class Contiguous : public CallKernel {
 public:
  explicit Contiguous(const ir::Call& call) : packer_(call.inputs[0].map, size_of(call.inputs[0].dtype)) {}
  void run(const Arguments& args) const override { packer_.run(args[0], args[1]); }

 private:
  Packer packer_;
};

// out = base, except for the target view, which becomes value.
class Store : public CallKernel {
 public:
  explicit Store(const ir::Call& call)
      : bytes_(size_of(call.outputs[0].dtype)),
        base_(call.inputs[0].map, bytes_),
        base_in_place_(call.inputs[0].map.is_contiguous()),
        target_(target_of(call)),
        count_(ir::count(call.outputs[0].shape)),
        value_(call.inputs[1], target_.is_strided() ? Input::Wanted::strided : Input::Wanted::contiguous) {
    const ir::IndexMap& base = call.inputs[0].map;
    if (base.is_strided() && !base.views()[0].masked()) {
      const ir::View& view = base.views()[0];
      base_is_one_place_ = count_ > 1 && std::ranges::all_of(view.strides, [](int64_t stride) { return stride == 0; });
      base_offset_ = view.offset * static_cast<int64_t>(bytes_);
    }
    if (!target_.is_strided() || value_.count() == 0) return;
    const ir::View& view = target_.views()[0];
    offset_ = view.offset;
    copy_ = StridedCopy(view.shape, value_.strides(), view.strides, bytes_);
  }

  void run(const Arguments& args) const override {
    std::byte* out = args[2];
    if (base_is_one_place_) {
      fill(out, args[0] + base_offset_);
    } else if (out != args[0] || !base_in_place_) {
      base_.run(args[0], out);
    }
    if (value_.count() == 0) return;
    const Input::Bound value(value_, args[1]);
    if (target_.is_strided())
      copy_.run(value.data(), out + offset_ * static_cast<int64_t>(bytes_));
    else
      store_one_by_one(value.data(), out);
  }

 private:
  static ir::IndexMap target_of(const ir::Call& call) {
    ir::IndexMap target(call.outputs[0].shape);
    target.apply(std::get<ir::StoreAttrs>(call.attrs).target);
    return target;
  }

  void fill(std::byte* out, const std::byte* element) const {
    const bool is_one_byte = std::all_of(element, element + bytes_, [&](std::byte byte) { return byte == *element; });
    if (is_one_byte) {  // zeros, as a rule
      std::memset(out, static_cast<int>(*element), static_cast<size_t>(count_) * bytes_);
      return;
    }
    const auto with = [&]<typename T>(T value) {
      std::memcpy(&value, element, sizeof(T));
      std::fill_n(reinterpret_cast<T*>(out), count_, value);
    };
    switch (bytes_) {
      case 8: return with(uint64_t{});
      case 4: return with(uint32_t{});
      case 2: return with(uint16_t{});
      default: return with(uint8_t{});
    }
  }

  void store_one_by_one(const std::byte* value, std::byte* out) const {
    const auto bytes = static_cast<int64_t>(bytes_);
    target_.for_each([&](int64_t from, int64_t to) { std::memcpy(out + to * bytes, value + from * bytes, bytes_); });
  }

  size_t bytes_;
  Packer base_;
  bool base_in_place_;
  bool base_is_one_place_ = false;
  int64_t base_offset_ = 0;
  ir::IndexMap target_;
  int64_t count_;
  Input value_;
  int64_t offset_ = 0;
  StridedCopy copy_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_contiguous(const ir::Call& call) { return std::make_unique<Contiguous>(call); }
std::unique_ptr<CallKernel> compile_store(const ir::Call& call) { return std::make_unique<Store>(call); }

}  // namespace tenon::backends::cpu
