// `store` and `contiguous`: copies into a view, and into row-major order.

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
        value_(call.inputs[1], target_.is_strided() ? Input::Wanted::strided : Input::Wanted::contiguous) {
    if (!target_.is_strided() || value_.count() == 0) return;
    const ir::View& view = target_.views()[0];
    offset_ = view.offset;
    copy_ = StridedCopy(view.shape, value_.strides(), view.strides, bytes_);
  }

  void run(const Arguments& args) const override {
    std::byte* out = args[2];
    if (out != args[0] || !base_in_place_) base_.run(args[0], out);
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

  void store_one_by_one(const std::byte* value, std::byte* out) const {
    const auto bytes = static_cast<int64_t>(bytes_);
    target_.for_each([&](int64_t from, int64_t to) { std::memcpy(out + to * bytes, value + from * bytes, bytes_); });
  }

  size_t bytes_;
  Packer base_;
  bool base_in_place_;
  ir::IndexMap target_;
  Input value_;
  int64_t offset_ = 0;
  StridedCopy copy_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_contiguous(const ir::Call& call) { return std::make_unique<Contiguous>(call); }
std::unique_ptr<CallKernel> compile_store(const ir::Call& call) { return std::make_unique<Store>(call); }

}  // namespace tenon::backends::cpu
