// From a call to the loops that compute it.

#include "tenon/backends/cpu/convolution/convolution.h"

#include <algorithm>

#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/convolution/onednn.h"
#include "tenon/base/divide.h"

namespace tenon::backends::cpu {
namespace {

using base::ceil_div;
using ir::ConvAxis;

constexpr ConvAxis kNoAxis{.image = 1, .kernel = 1, .out = 1, .stride = 1, .padding = 0, .dilation = 1};

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

// Along one axis: the places of a phase and the elements of the kernel that they use.
struct AxisPhase {
  int64_t places = 0, first = 0, step = 1;
  struct Use {
    int64_t kernel, remainder, shift;
  };
  std::vector<Use> uses;
};

std::vector<AxisPhase> windows_of(const ConvAxis& axis) {
  AxisPhase all{axis.out, 0, 1, {}};
  for (int64_t k = 0; k < axis.kernel; ++k) {
    const int64_t at = k * axis.dilation - axis.padding, shift = floor_div(at, axis.stride);
    all.uses.push_back({k, at - shift * axis.stride, shift});
  }
  return {all};
}

// Place i of the image gets what the results j with j * stride + k * dilation - padding = i say: those k that leave the
// right remainder, at distances that are the same for all i of one remainder.
std::vector<AxisPhase> transposed_of(const ConvAxis& axis) {
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(axis.stride, axis.image); ++first) {
    AxisPhase phase{ceil_div(axis.image - first, axis.stride), first, axis.stride, {}};
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t at = first + axis.padding - k * axis.dilation, shift = floor_div(at, axis.stride);
      if (shift * axis.stride == at) phase.uses.push_back({k, 0, shift});
    }
    phases.push_back(phase);
  }
  return phases;
}

void combine(ConvPlan& plan, const std::vector<AxisPhase>& rows, const std::vector<AxisPhase>& columns,
             int64_t kernel_columns) {
  for (const AxisPhase& down : rows) {
    for (const AxisPhase& across : columns) {
      ConvPhase phase{down.places, across.places, down.first, across.first, down.step, across.step, {}, 0};
      for (const AxisPhase::Use& y : down.uses) {
        for (const AxisPhase::Use& x : across.uses)
          phase.taps.push_back(
              {y.kernel * kernel_columns + x.kernel, y.remainder * plan.column_step + x.remainder, y.shift, x.shift});
      }
      plan.phases.push_back(std::move(phase));
    }
  }
  int64_t columns_most = 0, least = 0, most = 0;
  for (const ConvPhase& phase : plan.phases) {
    plan.most_rows = std::max(plan.most_rows, phase.rows);
    columns_most = std::max(columns_most, phase.columns);
    for (const ConvTap& tap : phase.taps) {
      plan.least_row_shift = std::min(plan.least_row_shift, tap.row_shift);
      plan.most_row_shift = std::max(plan.most_row_shift, tap.row_shift);
      least = std::min(least, tap.column_shift);
      most = std::max(most, tap.column_shift);
    }
  }
  plan.filled = std::min(ceil_div(plan.in_columns, plan.column_step), columns_most + most);
  plan.in_front = -least;
  plan.pitch = std::max<int64_t>({plan.filled - least, columns_most + most, 1});
}

ConvAxis row_axis(const ir::ConvAttrs& attrs) { return attrs.axes.size() == 2 ? attrs.axes[0] : kNoAxis; }

bool is_f64(const ir::Call& call) { return call.inputs[0].dtype == DType::f64 || call.outputs[0].dtype == DType::f64; }

// The side that is read in windows: `conv` of images, `conv_transpose` of results.
class Windows : public CallKernel {
 public:
  explicit Windows(const ir::Call& call)
      : in_(call.inputs[0], Input::Wanted::contiguous),
        weights_(call.inputs[1], Input::Wanted::contiguous),
        out_(call.outputs[0].dtype),
        is_f64_(is_f64(call)),
        bias_(call) {
    const auto& attrs = std::get<ir::ConvAttrs>(call.attrs);
    const Dims& w = weights_.shape();
    const int64_t outer = w[0] / attrs.groups, kernel = ir::count(Dims(w.begin() + 2, w.end()));
    const bool is_transposed = call.op == ir::Op::conv_transpose;
    plan_ = is_transposed ? plan_transposed(attrs, in_.shape()[0], w[1], outer)
                          : plan_windows(attrs, in_.shape()[0], w[1], outer);
    strides_.dtype = weights_.dtype();
    strides_.group = outer * w[1] * kernel;
    strides_.row = is_transposed ? kernel : w[1] * kernel;
    strides_.inner = is_transposed ? w[1] * kernel : kernel;
    packed_bytes_ = packed_weights_bytes(plan_, is_f64_);
  }

  size_t scratch_bytes() const override { return packed_bytes_; }

  void run(const Arguments& args) const override {
    if (plan_.images == 0) return;
    const Input::Bound in(in_, args[0]), weights(weights_, args[1]);
    const size_t result = bias_.result();
    ConvProblem problem{&plan_, in.data(), args[result],   strides_,    in_.dtype(),
                        out_,   nullptr,   bias_.of(args), bias_.relu()};
    problem.weights.data = weights.data();
    if (packed_bytes_ > 0) problem.packed = args[result + 1];
    run_windows(problem, is_f64_);
  }

 private:
  Input in_, weights_;
  DType out_;
  bool is_f64_;
  ConvBias bias_;
  ConvPlan plan_;
  ConvWeights strides_;
  size_t packed_bytes_ = 0;
};

class Weights : public CallKernel {
 public:
  explicit Weights(const ir::Call& call)
      : images_(call.inputs[0], Input::Wanted::contiguous),
        results_(call.inputs[1], Input::Wanted::contiguous),
        out_(call.outputs[0].dtype),
        is_f64_(is_f64(call)) {
    const auto& attrs = std::get<ir::ConvAttrs>(call.attrs);
    const Dims& w = call.outputs[0].shape;
    kernel_ = ir::count(Dims(w.begin() + 2, w.end()));
    plan_ = plan_windows(attrs, images_.shape()[0], w[1], w[0] / attrs.groups);
    // By the shape alone, because bits depend on it: sums of few images each, as long as they take little memory.
    constexpr size_t kMostBytes = size_t{64} << 20;
    constexpr int64_t kMostParts = 16;
    const size_t bytes = weight_sums_bytes(plan_, is_f64_);
    parts_ = std::clamp<int64_t>(plan_.images, 1, kMostParts);
    while (parts_ > 1 && bytes * static_cast<size_t>(parts_) > kMostBytes) parts_ /= 2;
    bytes_ = bytes * static_cast<size_t>(parts_);
  }

  size_t scratch_bytes() const override { return bytes_; }

  void run(const Arguments& args) const override {
    if (bytes_ == 0) return;
    const Input::Bound images(images_, args[0]), results(results_, args[1]);
    run_weights({&plan_, images.data(), results.data(), args[2], kernel_, images_.dtype(), out_, parts_, args[3]},
                is_f64_);
  }

 private:
  Input images_, results_;
  DType out_;
  bool is_f64_;
  ConvPlan plan_;
  int64_t kernel_ = 1, parts_ = 1;
  size_t bytes_ = 0;
};

}  // namespace

ConvBias::ConvBias(const ir::Call& call)
    : is_there_(call.epilogue.bias), relu_(call.epilogue.activation == ir::Epilogue::Activation::relu) {
  if (is_there_) offset_ = call.inputs[2].map.views()[0].offset;
}

double ConvPlan::work() const {
  double taps = 0;
  for (const ConvPhase& phase : phases)
    taps += static_cast<double>(phase.rows * phase.columns) * static_cast<double>(phase.taps.size());
  return taps * static_cast<double>(images * groups) * static_cast<double>(in_channels * out_channels);
}

ConvPlan plan_windows(const ir::ConvAttrs& attrs, int64_t images, int64_t channels, int64_t outer) {
  const ConvAxis rows = row_axis(attrs), columns = attrs.axes.back();
  ConvPlan plan{images,        attrs.groups, channels,    outer,       rows.image,
                columns.image, rows.out,     columns.out, rows.stride, columns.stride};
  combine(plan, windows_of(rows), windows_of(columns), columns.kernel);
  return plan;
}

ConvPlan plan_transposed(const ir::ConvAttrs& attrs, int64_t images, int64_t channels, int64_t outer) {
  const ConvAxis rows = row_axis(attrs), columns = attrs.axes.back();
  ConvPlan plan{images, attrs.groups, outer, channels, rows.out, columns.out, rows.image, columns.image};
  combine(plan, transposed_of(rows), transposed_of(columns), columns.kernel);
  return plan;
}

std::unique_ptr<CallKernel> compile_convolution(const ir::Call& call) {
  return compile_convolution_with(call, chosen_engine());
}

std::unique_ptr<CallKernel> compile_convolution_with(const ir::Call& call, MatmulEngine engine) {
  if (engine == MatmulEngine::automatic || engine == MatmulEngine::onednn) {
    if (auto kernel = compile_convolution_onednn(call, engine == MatmulEngine::onednn)) return kernel;
  }
  if (call.op == ir::Op::conv_weight) return std::make_unique<Weights>(call);
  return std::make_unique<Windows>(call);
}

}  // namespace tenon::backends::cpu
