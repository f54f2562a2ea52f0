// A device without f64 computes in f32 whatever the host wants to read.

#include <gtest/gtest.h>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

Device without_f64() {
  static const ir::DeviceId id = device::add({"cpu_without_f64", [] {
                                                ir::Limits limits;
                                                limits.missing_dtypes.insert(DType::f64);
                                                return backends::cpu::open_with(limits);
                                              }});
  return id;
}

TEST(WithoutF64, NumbersAreReadAndPrintedAsOnTheCpu) {
  const Tensor x = from_vector(std::vector<float>{0.1f, 2.5f}, {2}, Options(DType::f32, without_f64())) * 3.0;
  EXPECT_EQ(x.to_vector<double>(), x.to("cpu").to_vector<double>());
  EXPECT_EQ((x.sum()).item<double>(), (x.to("cpu").sum()).item<double>());
  EXPECT_EQ(x.to_string(), x.to("cpu").to_string());
}

TEST(WithoutF64, EvenlySpacedNumbersAreThoseOfTheCpu) {
  EXPECT_EQ(linspace(0, 1, 7, Options(DType::f32, without_f64())).to_vector<float>(),
            linspace(0, 1, 7).to_vector<float>());
  EXPECT_EQ(arange(0.0, 1.0, 0.1, Options(DType::f32, without_f64())).to_vector<float>(),
            arange(0.0, 1.0, 0.1).to_vector<float>());
}

TEST(WithoutF64, WideNumbersOfTheHostMayBeWrittenIntoIt) {
  Tensor x = zeros({2}, Options(DType::f32, without_f64())).clone();
  x.copy_(from_vector(std::vector<double>{0.1, 0.2}, {2}, Options(DType::f64)));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0.1f, 0.2f}));
}

TEST(WithoutF64, WideNumbersOfTheHostBecomeNarrowOnesThere) {
  const Tensor x = from_vector(std::vector<double>{0.1, 2.5, -7}, {3}, Options(DType::f32, without_f64()));
  EXPECT_EQ(x.device(), without_f64());
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0.1f, 2.5f, -7}));
  EXPECT_EQ(from_vector(std::vector<double>{2.5, -7}, {2}, without_f64()).to(DType::i64).to_vector<int64_t>(),
            (std::vector<int64_t>{2, -7}));
}

TEST(WithoutF64, ClosenessIsAskedFor) {
  const Tensor x = ones({2}, Options(DType::f32, without_f64()));
  EXPECT_TRUE(allclose(x, x + 1e-7));
  EXPECT_FALSE(allclose(x, x + 1e-2));
}

TEST(WithoutF64, AWeightIsDrawnFromACutNormal) {
  Tensor x = zeros({64}, Options(DType::f32, without_f64())).clone();
  nn::init::trunc_normal_(x, 0, 1, -2, 2);
  EXPECT_LE(x.abs().amax({}).item<double>(), 2);
  EXPECT_GT(x.abs().amax({}).item<double>(), 0.5);
}

}  // namespace
}  // namespace tenon
