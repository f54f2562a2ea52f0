// Fourier transforms: PyTorch's values and slopes (tests/golden/fft.json), inverses, gradients, sizes, and what is
// refused.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using nlohmann::json;

Tensor drawn(const Dims& shape, DType dtype = DType::f64) {
  Generator generator(1);
  return randn(shape, dtype, &generator);
}

/// The numbers of the golden file.
Tensor waves(const Dims& shape) { return (arange(ir::count(shape), DType::f64) * 0.7).sin().reshape(shape); }

void flatten(const json& from, std::vector<double>& into, Dims& shape, size_t depth = 0) {
  if (!from.is_array()) return into.push_back(from.get<double>());
  if (shape.size() == depth) shape.push_back(static_cast<int64_t>(from.size()));
  for (const json& part : from) flatten(part, into, shape, depth + 1);
}
Tensor tensor_of(const json& numbers) {
  std::vector<double> flat;
  Dims shape;
  flatten(numbers, flat, shape);
  return from_vector(flat, shape);
}

double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return a.numel() == 0 ? 0 : (a - b).abs().max().to(DType::f64).item<double>();
}

Dims dims_of(const json& list) { return Dims(list.get<std::vector<int64_t>>()); }

Tensor called(const json& one, const Tensor& x) {
  const json& arguments = one["arguments"];
  const std::string name = one["name"], norm = arguments["norm"];
  const auto size = arguments.contains("n") ? fft::Size(arguments["n"].get<int64_t>()) : fft::Size();
  const auto sizes = arguments.contains("s") ? fft::Sizes(dims_of(arguments["s"])) : fft::Sizes();
  const bool is_one = name.back() == 't';
  const int64_t dim = is_one && arguments.contains("dim") ? arguments["dim"].get<int64_t>() : -1;
  const auto dims = !is_one && arguments.contains("dim") ? fft::Sizes(dims_of(arguments["dim"])) : fft::Sizes();
  const Dims two = dims.value_or(Dims{-2, -1});
  if (name == "fft") return fft::fft(x, size, dim, norm);
  if (name == "ifft") return fft::ifft(x, size, dim, norm);
  if (name == "rfft") return fft::rfft(x, size, dim, norm);
  if (name == "irfft") return fft::irfft(x, size, dim, norm);
  if (name == "fft2") return fft::fft2(x, sizes, two, norm);
  if (name == "ifft2") return fft::ifft2(x, sizes, two, norm);
  if (name == "rfft2") return fft::rfft2(x, sizes, two, norm);
  if (name == "irfft2") return fft::irfft2(x, sizes, two, norm);
  if (name == "fftn") return fft::fftn(x, sizes, dims, norm);
  if (name == "ifftn") return fft::ifftn(x, sizes, dims, norm);
  if (name == "rfftn") return fft::rfftn(x, sizes, dims, norm);
  EXPECT_EQ(name, "irfftn");
  return fft::irfftn(x, sizes, dims, norm);
}

TEST(Transforms, GivePyTorchsValuesAndSlopes) {
  const json cases = json::parse(std::ifstream(TENON_SOURCE_DIR "/tests/golden/fft.json"));
  EXPECT_EQ(cases.size(), 144u);
  for (const json& one : cases) {
    SCOPED_TRACE(one["name"].get<std::string>() + one["shape"].dump() + one["arguments"].dump());
    const Tensor x = waves(dims_of(one["shape"])).requires_grad_();
    const Tensor y = called(one, x);
    EXPECT_LT(distance(y.detach(), tensor_of(one["result"])), 1e-11);
    EXPECT_LT(distance(grad((y * waves(y.shape())).sum(), x), tensor_of(one["slope"])), 1e-10);
    EXPECT_LT(distance(called(one, x.detach().to(DType::f32)).to(DType::f64), y.detach()), 1e-5);
  }
}

TEST(Transforms, HaveGradientsOfEveryOrder) {
  const auto first = [](const Tensor& x) { return fft::irfft2(fft::rfft2(x) * fft::rfft2(x), Dims{4, 5}); };
  const Tensor x = drawn({2, 4, 5}).requires_grad_();
  EXPECT_TRUE(gradcheck(first, x));
  const auto second = [&](const Tensor& y) {
    const EnableGrad of_differences_too;
    const Tensor place = y.requires_grad() ? y : y.detach().requires_grad_();
    return grad(square(first(place)).sum(), place, true);
  };
  EXPECT_TRUE(gradcheck(second, x, 1e-6, 1e-4, 1e-3));
  EXPECT_TRUE(gradcheck([](const Tensor& y) { return fft::ifft(fft::fft(y, 7, 0), 3, 1, "ortho"); },
                        drawn({5, 4, 2}).requires_grad_()));
}

TEST(Transforms, AreUndoneByTheirInverses) {
  const Tensor pairs = drawn({3, 17, 2}), reals = drawn({3, 17});
  for (const char* norm : {"backward", "ortho", "forward"}) {
    EXPECT_LT(distance(fft::ifft(fft::fft(pairs, {}, -1, norm), {}, -1, norm), pairs), 1e-13);
    EXPECT_LT(distance(fft::irfft(fft::rfft(reals, {}, -1, norm), 17, -1, norm), reals), 1e-13);
    EXPECT_LT(distance(fft::irfftn(fft::rfftn(reals, {}, {}, norm), Dims{3, 17}, {}, norm), reals), 1e-13);
  }
}

TEST(Transforms, OfViewsAndWholeNumbersAndNothing) {
  const Tensor x = drawn({6, 8});
  EXPECT_LT(distance(fft::rfft(x.t()), fft::rfft(x.t().clone())), 1e-15);
  EXPECT_EQ(fft::rfft(ones({4}, DType::i64)).dtype(), DType::f32);
  EXPECT_EQ(fft::fft(zeros({0, 4, 2})).shape(), (Dims{0, 4, 2}));
}

TEST(Transforms, MakeAProductOfAConvolution) {
  const Tensor a = drawn({1000}), b = waves({1000});
  const Tensor A = fft::rfft(a, 2000), B = fft::rfft(b, 2000);
  const Tensor re = A.select(1, 0) * B.select(1, 0) - A.select(1, 1) * B.select(1, 1);
  const Tensor im = A.select(1, 0) * B.select(1, 1) + A.select(1, 1) * B.select(1, 0);
  const Tensor product = fft::irfft(stack(std::vector{re, im}, -1), 2000);
  EXPECT_NEAR(product[999].item<double>(), dot(a, b.flip({0})).item<double>(), 1e-10);
}

TEST(Transforms, OfManyAreThoseOfEach) {
  const Tensor x = drawn({5000, 12});
  const Tensor all = fft::rfft(x);
  EXPECT_EQ(distance(all.slice(0, 4321, 4322), fft::rfft(x.slice(0, 4321, 4322))), 0);
}

TEST(Frequencies, ArePyTorchs) {
  EXPECT_EQ(fft::fftfreq(5, 0.5).to_vector<float>(), (std::vector<float>{0, 0.4f, 0.8f, -0.8f, -0.4f}));
  EXPECT_EQ(fft::fftfreq(4).to_vector<float>(), (std::vector<float>{0, 0.25f, -0.5f, -0.25f}));
  EXPECT_EQ(fft::rfftfreq(4).to_vector<float>(), (std::vector<float>{0, 0.25f, 0.5f}));
}

TEST(Refusals, AreOneLine) {
  EXPECT_EQ(text_of([] { fft::fft(ones({4})); }),
            "[fft.fft] takes complex numbers as pairs, of shape (..., 2), got (4,); rfft() takes real numbers");
  EXPECT_EQ(text_of([] { fft::rfft(ones({4}, DType::bf16)); }),
            "[fft.rfft] takes f32 or f64, got bf16; convert it with to()");
  EXPECT_EQ(text_of([] { fft::rfft(ones({4}), 0); }), "[fft.rfft] cannot transform 0 elements");
  EXPECT_EQ(text_of([] { fft::rfft(ones({4}), {}, -1, "both"); }),
            "[fft.rfft] norm is \"backward\", \"forward\" or \"ortho\", not \"both\"");
  EXPECT_EQ(text_of([] { fft::fft2(ones({4, 4, 2}), {}, Dims{0, -2}); }), "[fft.fft2] dim -2 appears more than once");
  EXPECT_EQ(
      text_of([] {
        vmap([](const Tensor& row) { return fft::rfft(row); }, ones({2, 4}));
      }),
      "[fft.rfft] is computed by the host, which needs values that a function that vmap() maps does not have; do it "
      "outside");
  auto step = compile([](const Tensor& x) { return fft::rfft(x); });
  EXPECT_NE(text_of([&] { step(ones({4})); }).find("needs values that a captured function does not have"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
