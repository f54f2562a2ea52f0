// Compositions that the cpu device has a kernel for: one call, and the bits of the ops that they are made of.

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tenon/base/threads.h"
#include "tenon/exec/inspect.h"
#include "tenon/nn/resampling.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// Compositions that stay whole in the plans which `f` makes.
template <typename F>
size_t calls_of_routines(F f) {
  size_t found = 0;
  const exec::WatchPlans watch([&](const plan::Plan& plan) {
    for (const auto& launch : plan.launches) found += launch.op == ir::Op::composed;
  });
  f();
  return found;
}

using Bytes = std::vector<std::byte>;

struct SampledCase {
  const char* name;
  Dims images;  // batch, channels, height, width
  int64_t rows, columns;
  nn::GridSampleOptions options;
  DType dtype = DType::f32;
};

std::vector<SampledCase> sampled_cases() {
  return {{"small", {1, 3, 8, 8}, 8, 8, {}},
          {"odd", {2, 5, 7, 11}, 13, 9, {}},
          {"border", {2, 3, 6, 9}, 5, 14, {.border = true}},
          {"corners", {2, 1, 9, 4}, 10, 7, {.align_corners = true}},
          {"both", {1, 4, 5, 6}, 17, 3, {.border = true, .align_corners = true}},
          {"one pixel", {1, 2, 1, 1}, 3, 3, {.border = true}},
          {"channels as rows", {1, 300, 4, 5}, 6, 6, {}},
          {"channels in lanes", {2, 37, 4, 5}, 6, 6, {}},
          {"few places", {1, 37, 4, 5}, 3, 5, {}},
          {"one place", {1, 37, 4, 5}, 1, 1, {}},
          {"one place each", {3, 21, 4, 5}, 1, 1, {}},
          {"f64", {2, 3, 6, 7}, 9, 8, {}, DType::f64}};
}

// Places inside, outside, on the edges and nowhere.
Tensor places(const SampledCase& c) {
  Tensor grid = rand({c.images[0], c.rows, c.columns, 2}, Options(c.dtype)) * 3 - 1.5;
  const double special[] = {
      -1, 1, 0, 1e30, -1e30, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  int64_t column = 0;
  for (const double one : special) grid[0][0][column++ % c.columns][0].fill_(one);
  return grid;
}

// The bits, of which those of a NaN say nothing.
Bytes bits_of(const Tensor& x) { return where(isnan(x), 12345.0, x).to_bytes(); }

// The values and both gradients.
std::vector<Bytes> sampled_on(const char* device, const SampledCase& c, bool of_images, bool of_grid) {
  manual_seed(7);
  Tensor x = randn(c.images, Options(c.dtype)), grid = places(c);
  const Tensor weight = randn({c.images[0], c.images[1], c.rows, c.columns}, Options(c.dtype)).to(Device(device));
  x = x.to(Device(device)).detach().requires_grad_(of_images);
  grid = grid.to(Device(device)).detach().requires_grad_(of_grid);
  const Tensor made = nn::grid_sample(x, grid, c.options);
  std::vector<Bytes> results{bits_of(made.detach())};
  if (of_images || of_grid) (made * weight).sum().backward();
  if (of_images) results.push_back(bits_of(x.grad()));
  if (of_grid) results.push_back(bits_of(grid.grad()));
  return results;
}

TEST(Routine, GridSampleHasTheBitsOfItsOps) {
  for (const SampledCase& c : sampled_cases()) {
    SCOPED_TRACE(c.name);
    for (const bool of_images : {false, true}) {
      for (const bool of_grid : {false, true})
        EXPECT_TRUE(sampled_on("cpu", c, of_images, of_grid) == sampled_on("cpu_unfused", c, of_images, of_grid))
            << of_images << of_grid;
    }
  }
}

TEST(Routine, GridSampleAndItsGradientAreOneCallEach) {
  const SampledCase c{"", {1, 2, 5, 6}, 4, 3, {}};
  EXPECT_EQ(calls_of_routines([&] { sampled_on("cpu", c, false, false); }), 1u);
  EXPECT_GE(calls_of_routines([&] { sampled_on("cpu", c, true, true); }), 1u);
  EXPECT_EQ(calls_of_routines([&] { sampled_on("cpu_unfused", c, true, true); }), 0u);
}

TEST(Routine, GridSampleOfManyThreadsHasTheSameBits) {
  const SampledCase c{"", {4, 8, 33, 31}, 40, 30, {}};
  const int threads = base::num_threads();
  base::set_num_threads(1);
  const auto alone = sampled_on("cpu", c, true, true);
  base::set_num_threads(4);
  EXPECT_TRUE(sampled_on("cpu", c, true, true) == alone);
  base::set_num_threads(threads);
}

TEST(Routine, PlacesOfExtremesAreThoseOfTheirOps) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
    SCOPED_TRACE(name(dtype));
    manual_seed(3);
    Tensor x = (rand({7, 5, 131}) * 40).round();  // many are equal
    if (is_float(dtype)) x.masked_fill_(rand({7, 5, 131}) > 0.99, kNan);
    x = x.to(dtype);
    for (const int64_t dim : {0, 1, 2}) {
      const auto on = [&](const char* device, bool largest) {
        const Tensor there = x.to(Device(device));
        const auto [values, at] = largest ? cummax(there, dim) : cummin(there, dim);
        return std::pair(values.to_bytes(), at.to_bytes());
      };
      for (const bool largest : {true, false})
        EXPECT_TRUE(on("cpu", largest) == on("cpu_unfused", largest)) << dim << largest;
    }
  }
}

TEST(Routine, PlacesOfExtremesAreOneCall) {
  const Tensor x = rand({3, 19}).eval();
  EXPECT_EQ(calls_of_routines([&] { cummax(x, 1).second.eval(); }), 1u);
}

TEST(Routine, ExtremesAlongDimsAreThoseOfTheirOps) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    SCOPED_TRACE(name(dtype));
    manual_seed(4);
    Tensor x = (rand({7, 5, 131}) * 40).round() - (dtype == DType::u8 ? 0 : 20);  // many are equal
    if (is_float(dtype)) x.masked_fill_(rand({7, 5, 131}) > 0.995, kNan);
    x = x.to(dtype);
    for (const int64_t dim : {0, 1, 2}) {
      const auto on = [&](const char* device, bool largest) {
        const Tensor there = x.to(Device(device)).transpose(1, 2).contiguous().transpose(1, 2);
        const auto [values, at] = largest ? max(there, dim) : min(there, dim);
        const Tensor alone = largest ? argmax(there, dim) : argmin(there, dim),
                     whole = largest ? argmax(there) : argmin(there);
        return std::vector{bits_of(values), at.to_bytes(), alone.to_bytes(), whole.to_bytes()};
      };
      for (const bool largest : {true, false})
        EXPECT_TRUE(on("cpu", largest) == on("cpu_unfused", largest)) << dim << largest;
    }
  }
}

TEST(Routine, ExtremesAlongADimAreOneCall) {
  const Tensor x = rand({3, 19}).eval();
  EXPECT_EQ(calls_of_routines([&] { argmax(x, 1).eval(); }), 1u);
  EXPECT_EQ(calls_of_routines([&] { wait({min(x, 0).first, min(x, 0).second}); }), 1u);
}

// Of so many, hundreds agree in the bits that are sorted by, and a few in a whole word.
TEST(Routine, RandpermIsThatOfItsOps) {
  for (const int64_t n : {2, 3, 10, 1000, 100'000, 200'000}) {
    const auto on = [&](const char* device) {
      manual_seed(static_cast<uint64_t>(n));
      return randperm(n, Options(Device(device))).to_bytes();
    };
    EXPECT_TRUE(on("cpu") == on("cpu_unfused")) << n;
  }
  EXPECT_EQ(calls_of_routines([] { randperm(77).eval(); }), 1u);
}

}  // namespace
}  // namespace tenon
