// Many tensors side by side: as many copies as there are tensors, whatever they are made of.

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/exec/inspect.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

class Joined : public testing::TestWithParam<const char*> {
 protected:
  Options on(DType dtype = DType::f32) const { return Options(dtype, Device(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Joined, testing::Values("cpu", "cpu_unfused", "reference", "remote", "simulated"),
                         [](const auto& of) { return std::string(of.param); });

// What is there is copied, what is still to be computed is written to its place: element by element the same.
TEST_P(Joined, ValuesThatAreThereAndValuesStillToBeComputedGiveTheSame) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i64, DType::boolean}) {
    for (const int64_t dim : {0, 1, 2}) {
      std::vector<Tensor> there, computed, few;
      for (int64_t i = 0; i < 9; ++i) {
        const Dims shape{dim == 0 ? 1 + i % 3 : 2, dim == 1 ? 1 + i % 3 : 3, dim == 2 ? 1 + i % 3 : 2};
        int64_t count = 1;
        for (const int64_t size : shape) count *= size;
        const Tensor numbers = ((arange(count, on(DType::i64)) + 7 * i) % 5).reshape(shape);
        there.push_back(numbers.to(dtype).clone().eval());
        computed.push_back(((numbers + 1) - 1).to(dtype));
      }
      Tensor expected = there[0];
      for (size_t i = 1; i < there.size(); ++i) expected = cat({expected, there[i]}, dim).eval();
      const std::vector<double> numbers = expected.to_vector<double>();
      EXPECT_EQ(cat(there, dim).to_vector<double>(), numbers) << dim;
      EXPECT_EQ(cat(computed, dim).to_vector<double>(), numbers) << dim;
      EXPECT_EQ(cat(computed, dim).shape(), expected.shape());
    }
  }
}

TEST_P(Joined, AStackAlongEveryDimIsASliceForEachTensor) {
  std::vector<Tensor> there, computed;
  for (int i = 0; i < 6; ++i) {
    there.push_back((arange(6, on()).reshape({2, 3}) * (i + 1.0)).eval());
    computed.push_back(arange(6, on()).reshape({2, 3}) * (i + 1.0));
  }
  there[2] = there[2].t().clone().t();  // lies otherwise
  for (const int64_t dim : {0, 1, 2}) {
    for (const std::vector<Tensor>& tensors : {there, computed}) {
      const Tensor all = stack(tensors, dim);
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(all.select(dim, i).to_vector<float>(), there[static_cast<size_t>(i)].to_vector<float>());
    }
  }
}

TEST_P(Joined, TheSameTensorManyTimesAndEmptyOnesBetween) {
  const Tensor x = tensor<float>({-0.0f, 1.5f}, on()) * 1.0, none = zeros({0}, on());
  const Tensor all = cat({x, none, x, x, none, x, x}, 0);
  const Floats numbers = all.to_vector<float>();
  EXPECT_EQ(numbers, (Floats{0, 1.5, 0, 1.5, 0, 1.5, 0, 1.5, 0, 1.5}));
  for (size_t i = 0; i < numbers.size(); i += 2) EXPECT_TRUE(std::signbit(numbers[i])) << i;
}

TEST_P(Joined, GradientsAreSlices) {
  std::vector<Tensor> leaves, values;
  for (int i = 0; i < 7; ++i) {
    leaves.push_back(full({2}, i + 1.0, on()).clone().requires_grad_());
    values.push_back(leaves.back() * leaves.back());
  }
  const Tensor weights = arange(14, on()).reshape({2, 7});
  Tensor loss = (stack(values, 1) * weights).sum();
  std::vector<Tensor> first;
  for (const Tensor& leaf : leaves) first.push_back(grad(loss, leaf, true));
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(first[static_cast<size_t>(i)].to_vector<float>(), (Floats{2.0f * (i + 1) * i, 2.0f * (i + 1) * (i + 7)}));
  const Tensor second = grad(first[3].sum(), leaves[3]);
  EXPECT_EQ(second.to_vector<float>(), (Floats{6, 20}));
}

// A kernel that chooses among all of them for every element would make as many choices as there are tensors.
TEST(Joining, CostsAsMuchForEachTensorHoweverManyThereAre) {
  const auto instructions_for = [](int64_t count) {
    std::vector<Tensor> computed;
    for (int64_t i = 0; i < count; ++i) computed.push_back(arange(1000).to(DType::f32) * static_cast<double>(i));
    size_t instructions = 0;
    const exec::WatchPlans watching([&](const plan::Plan& plan) {
      for (const plan::Launch& launch : plan.launches) {
        if (const auto* nest = std::get_if<ir::LoopNest>(&plan.kernels[launch.kernel]))
          instructions += nest->code.size();
      }
    });
    stack(computed).eval();
    return instructions;
  };
  const size_t few = instructions_for(16), many = instructions_for(64);
  EXPECT_GT(few, 0u);
  EXPECT_LE(many, 5 * few);
}

}  // namespace
}  // namespace tenon
