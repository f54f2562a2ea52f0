// refill gives what a new tensor would give, and leaves alone what others hold.

#include "tenon/tensor/refill.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

std::span<const std::byte> bytes_of(const Floats& values) { return std::as_bytes(std::span(values)); }

TEST(Refill, TakesNoOtherMemory) {
  Tensor x = tensor({1.0F, 2.0F}).eval();
  const float* before = x.data_ptr<float>();
  refill(x, bytes_of({3, 4}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(x.data_ptr<float>(), before);
}

TEST(Refill, ResultsOfBeforeStay) {
  Tensor x = tensor({1.0F, 2.0F}).eval();
  const Tensor doubled = x * 2, view = x.slice(0, 1, 2), same = x;
  refill(x, bytes_of({3, 4}));
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 4}));
  EXPECT_EQ(doubled.to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(view.to_vector<float>(), (Floats{2}));
  EXPECT_EQ(same.to_vector<float>(), (Floats{1, 2}));
}

TEST(Refill, ACapturedFunctionSeesIt) {
  auto doubled = compile([](const Tensor& x) { return x * 2; });
  Tensor x = tensor({0.0F, 0.0F}).eval();
  std::vector<Tensor> held;
  for (int i = 0; i < 6; ++i) {
    refill(x, bytes_of({static_cast<float>(i), 1}));
    held.push_back(doubled(x));
  }
  for (size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(held[i].to_vector<float>(), (Floats{2 * static_cast<float>(i), 2})) << i;
}

TEST(Refill, IndicesAreStillCheckedWhenTheyAreUsed) {
  Tensor index = tensor({int64_t{0}, int64_t{1}});
  const std::vector<int64_t> wrong{0, 7};
  refill(index, std::as_bytes(std::span(wrong)));
  EXPECT_ANY_THROW(static_cast<void>(gather(tensor({1.0F, 2.0F}), 0, index).to_vector<float>()));
}

TEST(Refill, AnotherNumberOfBytesIsRefused) {
  Tensor x = tensor({1.0F, 2.0F}).eval();
  try {
    refill(x, bytes_of({3, 4, 5}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[tensor] 12 bytes given, f32(2,) takes 8");
  }
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
}

}  // namespace
}  // namespace tenon
