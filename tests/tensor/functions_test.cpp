// What holds for every function of one tensor in tensor/functions.def: the method gives the bits of the function, and the
// form in place leaves them in the tensor and its views.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon {
namespace {

struct OfOneTensor {
  const char* name;
  Tensor (*function)(const Tensor&);
  Tensor (*method)(const Tensor&);
};
struct WrittenInPlace {
  const char* name;
  Tensor (*function)(const Tensor&);
  Tensor& (Tensor::*method)();
};

const std::vector<OfOneTensor> kFunctions = {
#define FUNCTION(name)                                                   \
  {#name, [](const Tensor& x) { return Tensor(tenon::name(x)); }, \
   [](const Tensor& x) { return Tensor(x.name()); }},
#define IN_PLACE(name)
#include "tests/tensor/function_table.inc"
#undef FUNCTION
#undef IN_PLACE
};

const std::vector<WrittenInPlace> kInPlace = {
#define FUNCTION(name)
#define IN_PLACE(name) {#name, [](const Tensor& x) { return Tensor(tenon::name(x)); }, &Tensor::name##_},
#include "tests/tensor/function_table.inc"
#undef FUNCTION
#undef IN_PLACE
};

// A matrix, so that functions of matrices have one; positive and above 1, below -1 and between, and whole for bits.
std::vector<Tensor> samples() {
  return {tensor({{0.25, 0.5}, {0.75, 0.125}}), tensor({{-0.5, 1.5}, {2.0, -3.25}}), tensor({{1, 0}, {5, 3}}),
          tensor({{true, false}, {true, true}})};
}

// The bytes of a result, or what the call said.
template <typename F>
std::string outcome(F&& f) {
  try {
    const Tensor made = f();
    const std::vector<std::byte> bytes = made.to_bytes();
    return std::string(name(made.dtype())) + ir::to_string(made.shape()) +
           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(FunctionsOfTheTable, HaveMethodsThatGiveTheSameBits) {
  EXPECT_GT(kFunctions.size(), 60u);
  for (const OfOneTensor& one : kFunctions) {
    for (const Tensor& x : samples())
      EXPECT_EQ(outcome([&] { return one.function(x); }), outcome([&] { return one.method(x); })) << one.name;
  }
}

TEST(FunctionsOfTheTable, InPlaceLeaveTheirResultInTheTensorAndItsViews) {
  EXPECT_GT(kInPlace.size(), 40u);
  for (const WrittenInPlace& one : kInPlace) {
    for (const Tensor& x : samples()) {
      if (x.dtype() != DType::f32) continue;
      std::string wanted;
      try {
        wanted = outcome([&] { return one.function(x).to(x.dtype()); });
      } catch (const Error&) {
        continue;
      }
      Tensor written = x.clone();
      const Tensor view = written.reshape({4});
      const std::string found = outcome([&]() -> Tensor { return (written.*one.method)(); });
      if (wanted.starts_with("[")) continue;  // bits of real numbers: refused by both, under two names
      EXPECT_EQ(found, wanted) << one.name;
      EXPECT_EQ(outcome([&] { return view.reshape({2, 2}); }), wanted) << one.name;
    }
  }
}

TEST(Numbers, BesideSixteenBitTensorsAreRoundedOnceWithTheResult) {
  const Tensor x = tensor({3.0, 1.0}, bfloat16);
  EXPECT_EQ(mul(x, 0.1).to(float32).to_vector<float>(), (std::vector<float>{0.30078125f, 0.10009765625f}));
  EXPECT_EQ(mul(tensor({0.5}, float16), 65536 * 1.5).to(float32).to_vector<float>(), (std::vector<float>{49152}));
  Tensor y = x.clone();
  y += 0.1;
  EXPECT_EQ(y.to(float32).to_vector<float>(), add(x, 0.1).to(float32).to_vector<float>());
  EXPECT_EQ(y.dtype(), bfloat16);
}

TEST(Numbers, AsBoundsOfIntegersMayLieBeyondTheirDtype) {
  const Tensor x = tensor({0, 7, 255}, uint8);
  EXPECT_EQ(x.clamp(-1, 300).to_vector<int64_t>(), (std::vector<int64_t>{0, 7, 255}));
  EXPECT_EQ(x.clamp_max(100).to_vector<int64_t>(), (std::vector<int64_t>{0, 7, 100}));
  EXPECT_THROW(x.clamp_min(300), Error);
}

TEST(Numbers, ZeroDividesNoIntegers) {
  Tensor x = tensor({1, 2});
  EXPECT_THROW(x.remainder(0), Error);
  EXPECT_THROW(floor_divide(x, 0), Error);
  EXPECT_THROW(x.fmod_(0), Error);
  EXPECT_EQ(x.floor_divide(0.0).dtype(), float32);  // of real numbers: infinite
}

TEST(Functions, OfTheTablesNewRows) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.fliplr().to_vector<int64_t>(), (std::vector<int64_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(x.flipud().to_vector<int64_t>(), (std::vector<int64_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(x.roll({1, 1}, {0, 1}).to_vector<int64_t>(), (std::vector<int64_t>{6, 4, 5, 3, 1, 2}));
  EXPECT_EQ(roll(x, Dims{1}).to_vector<int64_t>(), (std::vector<int64_t>{6, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tensor({1, 2}).tile({2, 1}).shape(), (Dims{2, 2}));
  EXPECT_EQ(x.ravel().shape(), (Dims{6}));
  EXPECT_EQ(swapaxes(x, 0, 1).shape(), (Dims{3, 2}));
  EXPECT_EQ(x.reshape({1, 2, 1, 3}).squeeze(Dims{0, 1, 2}).shape(), (Dims{2, 3}));
  EXPECT_EQ(x.rsub(10).to_vector<int64_t>(), (std::vector<int64_t>{9, 8, 7, 6, 5, 4}));
  EXPECT_EQ(rsub(x, 10, 2).to_vector<int64_t>(), (std::vector<int64_t>{8, 6, 4, 2, 0, -2}));
  EXPECT_EQ(div(tensor({-7, 7}), 2, "trunc").to_vector<int64_t>(), (std::vector<int64_t>{-3, 3}));
  EXPECT_EQ(div(tensor({-7, 7}), 2, "floor").to_vector<int64_t>(), (std::vector<int64_t>{-4, 3}));
  EXPECT_EQ(true_divide(tensor({1}), 2).to_vector<float>(), (std::vector<float>{0.5f}));
  EXPECT_EQ(bitwise_left_shift(tensor({1, 3}), 2).to_vector<int64_t>(), (std::vector<int64_t>{4, 12}));
  EXPECT_EQ(bitwise_right_shift(tensor({8, 3}), 1).to_vector<int64_t>(), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(sum(tensor({true, true}), {}, false, float32).dtype(), float32);
  EXPECT_EQ(softmax(tensor({1.0, 1.0}, bfloat16), 0, float32).to_vector<float>(), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(cumprod(tensor({1, 2, 3}), 0, float64).dtype(), float64);
  EXPECT_EQ(diff(tensor({3, 5}), 1, -1, tensor({0}), tensor({9})).to_vector<int64_t>(), (std::vector<int64_t>{3, 2, 4}));
  EXPECT_EQ(isin(tensor({1, 2, 3}), 2, false, true).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(searchsorted(tensor({5, 1, 3}), 3, true, false, "right", tensor({1, 2, 0})).item<int64_t>(), 2);
  EXPECT_EQ(take_along_dim(x, tensor({{5, 0}})).to_vector<int64_t>(), (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(scatter(zeros({3}), 0, tensor({0, 0}), 2.0, "add").to_vector<float>(), (std::vector<float>{4, 0, 0}));
  EXPECT_EQ(one_hot(tensor({0, 2})).shape(), (Dims{2, 3}));
  EXPECT_EQ(split_with_sizes(x, {1, 2}, 1)[1].shape(), (Dims{2, 2}));
  EXPECT_EQ(narrow(x, 1, 1, 2).shape(), (Dims{2, 2}));
  EXPECT_EQ(select(x, 0, -1).to_vector<int64_t>(), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(t(x).shape(), (Dims{3, 2}));
  EXPECT_EQ(x.view_as(zeros({3, 2})).shape(), x.reshape_as(zeros({3, 2})).shape());
}

}  // namespace
}  // namespace tenon
