// From a call to the loops that compute it.

#include "tenon/backends/cpu/pooling/pooling.h"

#include <algorithm>

#include "tenon/backends/cpu/calls/kernels.h"

namespace tenon::backends::cpu {
namespace {

constexpr ir::ConvAxis kNoAxis{.image = 1, .kernel = 1, .out = 1};

int64_t planes_of(const Dims& shape) { return shape[0] * shape[1]; }

class MaxPool : public CallKernel {
 public:
  explicit MaxPool(const ir::Call& call)
      : in_(call.inputs[0], Input::Wanted::contiguous),
        place_(call.outputs[1].dtype),
        plan_(plan_pool(std::get<ir::PoolAttrs>(call.attrs), planes_of(in_.shape()))) {}

  void run(const Arguments& args) const override {
    if (plan_.planes == 0) return;
    const Input::Bound in(in_, args[0]);
    find_largest({&plan_, in.data(), args[1], args[2], in_.dtype(), place_});
  }

 private:
  Input in_;
  DType place_;
  PoolPlan plan_;
};

class MaxPoolBackward : public CallKernel {
 public:
  explicit MaxPoolBackward(const ir::Call& call)
      : in_(call.inputs[0], Input::Wanted::contiguous),
        places_(call.inputs[1], Input::Wanted::contiguous),
        plan_(plan_pool(std::get<ir::PoolAttrs>(call.attrs), planes_of(in_.shape()))) {}

  void run(const Arguments& args) const override {
    if (plan_.planes == 0) return;
    const Input::Bound in(in_, args[0]), places(places_, args[1]);
    spread_largest({&plan_, in.data(), args[2], const_cast<std::byte*>(places.data()), in_.dtype(), places_.dtype()});
  }

 private:
  Input in_, places_;
  PoolPlan plan_;
};

}  // namespace

PoolPlan plan_pool(const ir::PoolAttrs& attrs, int64_t planes) {
  PoolPlan plan;
  plan.planes = planes;
  plan.rows = attrs.axes.size() == 2 ? attrs.axes[0] : kNoAxis;
  plan.columns = attrs.axes.back();
  int64_t most_column_shift = 0;
  for (int64_t y = 0; y < plan.rows.kernel; ++y) {
    for (int64_t x = 0; x < plan.columns.kernel; ++x) {
      const int64_t row = y * plan.rows.dilation, column = x * plan.columns.dilation;
      plan.taps.push_back({row % plan.rows.stride * plan.columns.stride + column % plan.columns.stride,
                           row / plan.rows.stride, column / plan.columns.stride});
      plan.most_row_shift = std::max(plan.most_row_shift, plan.taps.back().row_shift);
      most_column_shift = std::max(most_column_shift, plan.taps.back().column_shift);
    }
  }
  plan.pitch = plan.columns.out + most_column_shift;
  plan.overlaps = plan.most_row_shift > 0 || most_column_shift > 0;
  plan.has_padding = plan.rows.padding > 0 || plan.columns.padding > 0;
  return plan;
}

std::unique_ptr<CallKernel> compile_max_pool(const ir::Call& call) { return std::make_unique<MaxPool>(call); }
std::unique_ptr<CallKernel> compile_max_pool_backward(const ir::Call& call) {
  return std::make_unique<MaxPoolBackward>(call);
}

}  // namespace tenon::backends::cpu
