// What is computed again for the backward pass instead of being kept, and what is not.

#include "tenon/plan/recompute.h"

#include <gtest/gtest.h>

#include "tenon/plan/plan.h"
#include "tenon/tenon.h"
#include "tenon/tensor/access.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 4096, kWidth = 128;

Tensor leaf(const Dims& shape) { return zeros(shape, Device("null")).clone().eval(); }

// Layers of a matrix and an activation, a plain sum at the end.
struct Net {
  Tensor x = leaf({kRows, kWidth});
  std::vector<Tensor> weights;

  explicit Net(int layers) {
    for (int i = 0; i < layers; ++i) weights.push_back(leaf({kWidth, kWidth}).requires_grad_());
  }

  plan::Plan plan(Tensor (*activation)(const Tensor&)) const {
    Tensor h = x;
    for (const Tensor& weight : weights) h = activation(matmul(h, weight));
    const std::vector<Tensor> loss{h.sum()};
    plan::Request request;
    for (const Tensor& slope : grad(loss, weights)) request.outputs.push_back(value_of(slope));
    return plan::make_plan(request);
  }

  // Bytes at the peak, in matrices of one layer.
  double peak(Tensor (*activation)(const Tensor&)) const {
    return static_cast<double>(plan(activation).peak_live_bytes) / (kRows * kWidth * 4);
  }
};

Tensor smooth(const Tensor& x) { return gelu(x, "tanh"); }
Tensor bounded(const Tensor& x) { return tanh(x); }

// Of gelu the operand is kept for its slope: the value itself need not be.
TEST(Recompute, AnActivationIsNotKeptBesideItsOperand) { EXPECT_LE(Net(12).peak(smooth) - Net(11).peak(smooth), 1.1); }

TEST(Recompute, ItTakesNoKernelOfItsOwn) {
  const size_t more = Net(12).plan(smooth).launches.size() - Net(11).plan(smooth).launches.size();
  EXPECT_EQ(more, 5u);  // product, activation, its slope; the gradients of operand and weight
}

// The slope of tanh is made of its value: that alone is kept.
TEST(Recompute, AValueThatItsOwnGradientReadsIsKept) { EXPECT_LE(Net(12).peak(bounded) - Net(11).peak(bounded), 1.1); }

TEST(Recompute, SmallValuesAreKept) {
  const auto written = [](int64_t rows) {
    std::vector<Tensor> weights;
    Tensor h = leaf({rows, 16});
    for (int i = 0; i < 4; ++i) weights.push_back(leaf({16, 16}).requires_grad_());
    for (const Tensor& weight : weights) h = smooth(matmul(h, weight));
    const std::vector<Tensor> loss{h.sum()};
    plan::Request request;
    for (const Tensor& slope : grad(loss, weights)) request.outputs.push_back(value_of(slope));
    size_t values = 0;
    for (const plan::Launch& launch : plan::make_plan(request).launches) values += launch.makes.size();
    return values;
  };
  EXPECT_EQ(written(1 << 16), written(64) + 2);  // two activations twice; the last one's reader is near
}

TEST(Recompute, ChangesNoBit) {
  const auto run = [](const char* device) {
    manual_seed(3);
    std::vector<Tensor> weights;
    for (int i = 0; i < 4; ++i) weights.push_back((randn({64, 64}) * 0.2).to(Device(device)).eval().requires_grad_());
    Tensor h = randn({8192, 64}).to(Device(device)).eval();
    for (const Tensor& weight : weights) h = nn::layer_norm(smooth(matmul(nn::dropout(h, 0.1), weight)), {64});
    const std::vector<Tensor> loss{square(h).sum()};
    std::vector<float> all;
    for (const Tensor& slope : grad(loss, weights)) {
      for (const float value : slope.to_vector<float>()) all.push_back(value);
    }
    return all;
  };
  EXPECT_EQ(run("cpu"), run("cpu_unfused"));
}

}  // namespace
}  // namespace tenon
