// What no stand-in can show: products of cuBLASLt on a GPU. Run by scripts/check_cuda.sh, which names the real driver
// in TENON_CUDA_DRIVER; skipped otherwise.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <string_view>

#include "tenon/backends/cuda/api.h"
#include "tenon/backends/cuda/product.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

class RealCuda : public testing::Test {
 protected:
  void SetUp() override {
    const char* driver = getenv("TENON_CUDA_DRIVER");
    if (!driver || !std::string_view(driver).starts_with("libcuda.so")) GTEST_SKIP() << "scripts/check_cuda.sh runs it";
    for (const device::Absent& one : device::absent()) {
      if (one.name == "cuda") GTEST_SKIP() << one.why;
    }
  }
  static Tensor random(Dims shape, DType dtype, double scale = 1) {
    const Device cuda("cuda");
    return (randn({shape.begin(), shape.end()}, Options(DType::f32, cuda)) * scale).to(dtype).eval();
  }
  static std::vector<float> values(const Tensor& x) { return x.to(DType::f32).to_vector<float>(); }
  // The largest difference, as a part of the largest value.
  static double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
      largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    }
    return most / std::max(largest, 1e-30);
  }
};

TEST_F(RealCuda, HasTheLibraryAndTheCompiler) {
  EXPECT_NE(backends::cuda::lt(), nullptr);
  EXPECT_NE(backends::cuda::nvrtc(), nullptr) << backends::cuda::why_no_compiler();
  std::fprintf(stderr, "%s\n", device::open(device::find("cuda")).describe().c_str());
  if (backends::cuda::lt()) std::fprintf(stderr, "cuBLASLt %zu\n", backends::cuda::lt()->version());
}

// A program without a kernel of ours: the library has taken the product.
TEST_F(RealCuda, TheProductsOfGpt2GoToTheLibrary) {
  device::Compiler& compiler = device::open(device::find("cuda")).compiler();
  const auto call = [](int64_t rows, int64_t depth, int64_t columns, DType dtype, bool turns_left, bool turns_right,
                       DType out, bool has_bias) {
    ir::Call made;
    made.op = ir::Op::contract;
    ir::ContractAttrs attrs;
    attrs.result = DType::f32;
    made.attrs = attrs;
    const auto map = [](int64_t lines, int64_t length, bool turned) {
      ir::IndexMap whole(turned ? Dims{length, lines} : Dims{lines, length});
      if (turned) whole.apply(ir::Op::permute, ir::AxesAttrs{Dims{1, 0}});
      return whole;
    };
    made.inputs.push_back({dtype, map(rows, depth, turns_left)});
    made.inputs.push_back({dtype, map(depth, columns, turns_right)});
    if (has_bias) made.inputs.push_back({out, ir::IndexMap(Dims{columns})});
    made.epilogue = {has_bias, false};
    made.outputs.push_back({out, Dims{rows, columns}});
    return made;
  };
  for (const auto& [columns, depth] : {std::pair{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}, {50304, 768}}) {
    for (const int64_t rows : {512, 8192}) {
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
        EXPECT_TRUE(compiler.ways(call(rows, depth, columns, dtype, false, true, dtype, true)).empty())
            << rows << " rows, " << depth << " -> " << columns << " of " << name(dtype);
        EXPECT_TRUE(compiler.ways(call(rows, columns, depth, dtype, false, false, dtype, false)).empty());
        EXPECT_TRUE(compiler.ways(call(columns, rows, depth, dtype, true, false, DType::f32, false)).empty());
      }
    }
  }
}

TEST_F(RealCuda, ProductsAreRight) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{64, 64, 64},
                                  {512, 768, 3072},
                                  {257, 1000, 96},
                                  {1, 768, 768},
                                  {768, 8192, 768},
                                  {33, 1024, 8}}) {
      const Tensor a = random({m, k}, dtype), b = random({k, n}, dtype);
      const Device cpu("cpu");
      const std::vector<float> expected = values(matmul(a.to(cpu).to(DType::f32), b.to(cpu).to(DType::f32)));
      const double tolerance = dtype == DType::f32 ? 8e-6 : dtype == DType::f16 ? 2e-3 : 1e-2;
      EXPECT_LT(difference(values(matmul(a, b)), expected), tolerance) << m << " x " << k << " x " << n;
      const Tensor at = a.transpose(0, 1).contiguous().eval(), bt = b.transpose(0, 1).contiguous().eval();
      EXPECT_LT(difference(values(matmul(at.transpose(0, 1), b)), expected), tolerance);
      EXPECT_LT(difference(values(matmul(a, bt.transpose(0, 1))), expected), tolerance);
    }
  }
}

// The promise of every device: what a product is fused with changes no bit.
TEST_F(RealCuda, ABiasChangesNoBitOfTheSums) {
  const Device cuda("cuda"), unfused("cuda_unfused");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{512, 768, 3072}, {8192, 768, 768}, {64, 256, 64}, {1024, 3072, 768}}) {
      const Tensor a = random({m, k}, dtype), b = random({k, n}, dtype, 0.05), bias = random({n}, dtype);
      const auto together = values(matmul(a, b) + bias);
      const auto apart = values(matmul(a.to(unfused), b.to(unfused)) + bias.to(unfused));
      EXPECT_EQ(std::memcmp(together.data(), apart.data(), together.size() * 4), 0)
          << m << " x " << k << " x " << n << " of " << name(dtype);
    }
  }
}

TEST_F(RealCuda, TheSameProductTwiceHasTheSameBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor a = random({768, 32768}, dtype), b = random({32768, 768}, dtype);
    const auto first = values(matmul(a, b));
    for (int i = 0; i < 3; ++i) {
      const auto again = values(matmul(a * 1.0f, b));
      EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * 4), 0);
    }
  }
}

TEST_F(RealCuda, ACapturedStepIsAGraphWithTheBitsOfTheFunction) {
  const Device cuda("cuda");
  Tensor w = random({256, 256}, DType::f32, 0.1), v = w.clone().eval();
  const Tensor x = random({64, 256}, DType::f32);
  const auto step = [&x](Tensor& state) {
    const Tensor y = tanh(matmul(x, state));
    state.copy_(state - matmul(x.transpose(0, 1), y) * 1e-3);
    return sum(y);
  };
  auto captured = compile([&] { return step(w); });
  for (int i = 0; i < 20; ++i) {
    const float replayed = captured().item<float>(), called = step(v).item<float>();
    EXPECT_EQ(replayed, called) << "step " << i;
  }
  EXPECT_EQ(values(w), values(v));
}

}  // namespace
}  // namespace tenon
