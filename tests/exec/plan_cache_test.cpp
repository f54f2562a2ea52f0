// Plans are found again by the shape of their graph, and only then.

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// Plans made by an action.
size_t planned(auto&& action) {
  const size_t before = stats().plan_misses;
  action();
  return stats().plan_misses - before;
}

TEST(PlanCache, TheSameProgramOnOtherBuffersIsPlannedOnce) {
  const auto program = [](float start) {
    const Tensor x = from_vector(Floats{start, 2, 3}, {3});
    return sum(exp(x * 0.5) + x).item<float>();
  };
  program(1);
  EXPECT_EQ(planned([&] { program(2); }), 0u);
  EXPECT_NE(program(1), program(2));
}

TEST(PlanCache, AnotherShapeDtypeOrOutputIsAnotherPlan) {
  const auto program = [](const Dims& shape, DType dtype) { return (ones(shape, Options(dtype)).clone() + 1).eval(); };
  program({3, 7}, DType::f32);
  EXPECT_EQ(planned([&] { program({3, 7}, DType::f32); }), 0u);
  EXPECT_GE(planned([&] { program({7, 3}, DType::f32); }), 1u);
  EXPECT_GE(planned([&] { program({3, 7}, DType::f64); }), 1u);
  const Tensor x = rand({5, 3}).eval();
  const auto two = [&](bool both) {
    const Tensor y = x * 3, z = y + 1;
    if (both)
      eval({y, z});
    else
      eval({z});
  };
  two(false);
  EXPECT_EQ(planned([&] { two(false); }), 0u);
  EXPECT_EQ(planned([&] { two(true); }), 1u);
}

TEST(PlanCache, OperandsThatAreOneTensorAreNotTwo) {
  const Tensor a = tensor<float>({1, 2}).eval(), b = tensor<float>({3, 4}).eval();
  EXPECT_EQ((a * 2 + b).to_vector<float>(), (Floats{5, 8}));
  EXPECT_EQ((a * 2 + a).to_vector<float>(), (Floats{3, 6}));
  EXPECT_EQ((b * 2 + a).to_vector<float>(), (Floats{7, 10}));
}

TEST(PlanCache, ALiteralThatChangesBecomesAnArgument) {
  const Tensor x = tensor<float>({1, 2, 3}).eval();
  const auto step = [&](double rate) { return (x - x * rate * 2).to_vector<float>(); };
  EXPECT_EQ(step(0.5), (Floats{0, 0, 0}));
  EXPECT_EQ(planned([&] { EXPECT_EQ(step(0.25), (Floats{0.5, 1, 1.5})); }), 1u);
  EXPECT_EQ(planned([&] {
              EXPECT_EQ(step(1.5), (Floats{-2, -4, -6}));
              EXPECT_EQ(step(0.5), (Floats{0, 0, 0}));
            }),
            0u);
}

TEST(PlanCache, LiteralsOfEveryDtypeCanBeArguments) {
  const auto run = [](DType dtype, double number) {
    return (full({2}, 3, dtype).clone() * Number(number) + full({2}, number, dtype)).to(DType::f64).to_vector<double>();
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const double number : {2.0, 0.5, -4.0, 1.5})
      EXPECT_EQ(run(dtype, number), (std::vector<double>(2, 4 * number)));
  }
  for (const int64_t number : {2, 5, -7, 100}) {
    const Tensor x = full({2}, 3, DType::i64).clone();
    EXPECT_EQ((x * number + number).to_vector<int64_t>(), (std::vector<int64_t>(2, 4 * number)));
  }
}

TEST(PlanCache, ALoopThatDrawsRandomNumbersIsPlannedOnce) {
  Generator generator(1), twin(1);
  std::vector<std::vector<float>> drawn;
  for (int i = 0; i < 3; ++i) drawn.push_back(rand({6}, {}, &generator).to_vector<float>());
  EXPECT_EQ(planned([&] { drawn.push_back(rand({6}, {}, &generator).to_vector<float>()); }), 0u);
  EXPECT_NE(drawn[2], drawn[3]);
  // Read at once or later: the same numbers.
  std::vector<Tensor> later;
  for (int i = 0; i < 4; ++i) later.push_back(rand({6}, {}, &twin));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(later[i].to_vector<float>(), drawn[i]) << i;
}

TEST(PlanCache, LaunchesOfOneKernelDrawEachItsOwnNumbers) {
  for (const char* device : {"cpu", "cpu_unfused", "reference", "remote"}) {
    Generator generator(1), twin(1);
    const Options there(DType::f32, device);
    const Tensor x = full({4, 4}, 0.5, there).clone().eval();
    std::vector<Tensor> together, alone;
    for (int i = 0; i < 3; ++i) together.push_back(matmul(rand({4, 4}, there, &generator), x));
    eval(together);
    for (int i = 0; i < 3; ++i) alone.push_back(matmul(rand({4, 4}, there, &twin).eval(), x).eval());
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(together[i].to_bytes(), alone[i].to_bytes()) << device << i;
    EXPECT_NE(together[0].to_bytes(), together[1].to_bytes()) << device;
  }
}

TEST(Stats, CountWhatAnEvaluationDoes) {
  const Tensor x = rand({100}).eval();
  wait({x});
  const Stats before = stats();
  const float total = sum(x * 2).item<float>();
  const Stats after = stats();
  EXPECT_GT(total, 0);
  EXPECT_EQ(after.evaluations - before.evaluations, 1u);
  EXPECT_EQ(after.launches - before.launches, 1u);
  EXPECT_EQ(after.submits - before.submits, 1u);
  EXPECT_EQ(after.bytes_downloaded - before.bytes_downloaded, 4u);
  EXPECT_GE(after.device_allocations, after.pool_hits);
  EXPECT_GT(after.host_ns, before.host_ns);
}

}  // namespace
}  // namespace tenon
