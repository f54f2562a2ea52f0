// Sums of picked rows: up to 32 of one target are added in the order of their indices and have the cpu's bits, more of
// them in segments of 32, whose sums are added in order. The gradient of a lookup is such a sum.

#include "../error_text.h"
#include "on_opencl.h"

namespace tenon::kernels_test {
namespace {

using Scatter = OnOpenCl;

std::vector<int64_t> picked(int64_t count, int64_t rows) {
  std::vector<int64_t> made;
  for (const float each : scrambled(count, 1 << 20)) made.push_back((static_cast<int64_t>(each) + (1 << 20)) % rows);
  return made;
}

// The gradient of looking up rows along an axis of a table, where each looked-up number counts by its weight.
Tensor slope(const Device& device, const Dims& table_shape, int64_t axis, const std::vector<int64_t>& index,
             DType dtype = DType::f32) {
  Tensor table = zeros(table_shape, Options(dtype, device)).requires_grad_();
  const auto picks = static_cast<int64_t>(index.size());
  Dims shape = table_shape;
  shape[static_cast<size_t>(axis)] = picks;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<float> weights = scrambled(count, 1000);
  for (float& each : weights) each /= 7;  // so that the order of the sums shows
  Tensor rows = index_select(table, axis, from_vector(index, {picks}, Options(DType::i64, device)));
  rows.backward(from_vector(weights, shape, Options(dtype, device)));
  return table.grad();
}

TEST_F(Scatter, AddsEveryRowInTheOrderOfItsIndices) {
  for (const int64_t picks : {1, 2, 31, 100}) {
    const auto index = picked(picks, 9);
    EXPECT_TRUE(same_bits(slope("opencl", {9, 5}, 0, index), slope("cpu", {9, 5}, 0, index))) << picks;
  }
}

TEST_F(Scatter, SortsMorePicksThanABlockHolds) {
  for (const int64_t picks : {1025, 5000}) {
    const auto index = picked(picks, 900);
    EXPECT_TRUE(same_bits(slope("opencl", {900, 33}, 0, index), slope("cpu", {900, 33}, 0, index))) << picks;
  }
}

// The rows of one target in segments of 32, each added one after another, and the segments likewise.
std::vector<float> sum_of_segments(const std::vector<float>& rows, size_t first, size_t end, size_t width) {
  std::vector<float> sum(width, 0);
  for (size_t segment = first; segment < end; segment += 32) {
    std::vector<float> part = segment == first ? sum : std::vector<float>(width, 0);
    for (size_t i = segment; i < std::min(segment + 32, end); ++i) {
      for (size_t c = 0; c < width; ++c) part[c] += rows[i * width + c];
    }
    for (size_t c = 0; c < width; ++c) sum[c] = segment == first ? part[c] : sum[c] + part[c];
  }
  return sum;
}

TEST_F(Scatter, AddsLongRunsInSegments) {
  for (const size_t run : {32, 33, 64, 65, 300, 1100}) {
    for (const char* device : {"opencl", "simulated"}) {
      if (device == std::string_view("opencl") && run != 33 && run != 1100) continue;  // each is six kernels to compile
      // Five picks of target 0 and `run` of target 2, so that segments begin anywhere among the sorted picks.
      std::vector<int64_t> index(run, 2);
      index.insert(index.end(), 5, 0);
      std::vector<float> rows = scrambled(static_cast<int64_t>(index.size()) * 3, 1000);
      for (float& each : rows) each /= 7;
      const std::vector<float> got = slope(device, {4, 3}, 0, index).to_vector<float>();
      const std::vector<float> wanted = sum_of_segments(rows, 0, run, 3);
      EXPECT_EQ(std::vector<float>(got.begin() + 6, got.begin() + 9), wanted) << device << ", " << run;
      EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 3), sum_of_segments(rows, run, run + 5, 3)) << device;
    }
  }
}

TEST_F(Scatter, AddsManyLongRunsAlongEveryAxis) {
  const auto index = picked(700, 3);
  for (const Dims& shape : {Dims{3, 40}, Dims{2, 3, 5}}) {
    const auto axis = static_cast<int64_t>(shape.size()) - 2;
    for (const char* device : {"opencl", "simulated"})
      EXPECT_TRUE(close(slope(device, shape, axis, index), slope("cpu", shape, axis, index), 5e-5)) << device;
  }
}

TEST_F(Scatter, AddsAlongAMiddleAxis) {
  const auto index = picked(40, 6);
  EXPECT_TRUE(same_bits(slope("opencl", {3, 6, 17}, 1, index), slope("cpu", {3, 6, 17}, 1, index)));
  EXPECT_TRUE(same_bits(slope("opencl", {20, 6}, 1, index), slope("cpu", {20, 6}, 1, index)));
}

TEST_F(Scatter, RoundsSumsOf16BitsOnce) {
  const auto index = picked(60, 3);
  for (const DType dtype : {DType::f16, DType::bf16})
    EXPECT_TRUE(same_bits(slope("opencl", {3, 20}, 0, index, dtype), slope("cpu", {3, 20}, 0, index, dtype)));
}

TEST_F(Scatter, AddsToWhatIsThere) {
  const auto sum = [](const Device& device) {
    const Tensor x = full({4}, 100, Options(DType::i32, device));
    return scatter_add(x, 0, from_vector(std::vector<int64_t>{3, 1, 3}, {3}, Options(DType::i64, device)),
                       from_vector(std::vector<int32_t>{1, 2, 4}, {3}, Options(DType::i32, device)));
  };
  EXPECT_EQ(sum("opencl").to_vector<int32_t>(), (std::vector<int32_t>{100, 102, 100, 105}));
}

// The second gradient is added to the first where that lies.
TEST_F(Scatter, AddsToAGradientInPlace) {
  const auto twice_looked_up = [](const Device& device) {
    Tensor table = zeros({6, 40}, Options(DType::f32, device)).requires_grad_();
    for (const std::vector<int64_t>& index : {std::vector<int64_t>{5, 1, 5}, std::vector<int64_t>{1, 2, 1}}) {
      Tensor rows = index_select(table, 0, from_vector(index, {3}, Options(DType::i64, device)));
      rows.backward(from_vector(scrambled(120, 1000), {3, 40}, Options(DType::f32, device)) / 7);
      table.grad().to_bytes();
    }
    return table.grad();
  };
  EXPECT_TRUE(same_bits(twice_looked_up("opencl"), twice_looked_up("cpu")));
}

// An index that is computed is not known before the kernel reads it; outside of its axis it is -1 in the flat tensor.
Tensor sum_at_odd_places(const Device& device, const std::vector<int64_t>& halves) {
  const auto picks = static_cast<int64_t>(halves.size());
  const Tensor index = from_vector(halves, {picks}, Options(DType::i64, device)) * 2 + 1;
  return scatter_add(zeros({8}, Options(DType::f32, device)), 0, index, ones({picks}, Options(DType::f32, device)));
}

TEST_F(Scatter, RefusesABadIndexAsTheCpuDoes) {
  const auto refusal = [](const Device& device) {
    return text_of([&] { sum_at_odd_places(device, {1, 4, 2}).to_bytes(); });
  };
  EXPECT_EQ(refusal("opencl"), refusal("cpu"));
  EXPECT_EQ(refusal("opencl"), "[scatter_add] index 9 is out of range for axis 0 of size 8");
  EXPECT_EQ(sum_at_odd_places("opencl", {1, 3, 1}).to_vector<float>(), (std::vector<float>{0, 0, 0, 2, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace tenon::kernels_test
