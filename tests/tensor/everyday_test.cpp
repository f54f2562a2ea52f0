// What programs write every day: += on parts, x[i] = y, in-place functions, where elements lie, literals; and numbers
// of the host among tensors of other devices.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;

Reals read(const Tensor& x) { return x.detach().to_vector<double>(); }
Tensor matrix() { return arange(6, float32).reshape({2, 3}); }

// ---- assignment with an operator ----

TEST(CompoundAssignment, WritesInPlace) {
  Tensor x = matrix(), row = x[1];
  x += 1;
  x -= tensor({1., 0., 1.});
  x *= 2;
  EXPECT_EQ(read(x), Reals({0, 4, 4, 6, 10, 10}));
  x /= 4;
  EXPECT_EQ(read(row), Reals({1.5, 2.5, 2.5}));
  x %= 2;
  EXPECT_EQ(read(row), Reals({1.5, 0.5, 0.5}));
}

TEST(CompoundAssignment, OfBits) {
  Tensor x = tensor({true, true, false}), n = tensor({6, 3});
  x &= tensor({true, false, true});
  x |= tensor({false, false, true});
  n ^= 2;
  EXPECT_EQ((~x).to_vector<bool>(), std::vector<bool>({false, true, false}));
  EXPECT_EQ(n.to_vector<int64_t>(), Wholes({4, 1}));
}

TEST(CompoundAssignment, ToAPartWritesTheWhole) {
  Tensor x = matrix();
  x[0] += 10;
  x.slice(1, 2) *= 2;
  x.t()[0] -= 1;
  EXPECT_EQ(read(x), Reals({9, 11, 24, 2, 4, 10}));
  x[tensor({1, 1})] += 1;  // reads once, and writes: a position that is named twice gets one more
  EXPECT_EQ(read(x), Reals({9, 11, 24, 3, 5, 11}));
  x[x > 10] /= 2;
  EXPECT_EQ(read(x), Reals({9, 5.5, 12, 3, 5, 5.5}));
}

TEST(CompoundAssignment, PassesGradientsOn) {
  Tensor w = tensor({1., 2.}).requires_grad_();
  Tensor x = w * 3;
  x *= w;
  x[0] += w[1];
  sum(x).backward();
  EXPECT_EQ(read(w.grad()), Reals({6, 13}));
  EXPECT_EQ(text_of([&] { w += 1; }),
            "[write] a leaf that requires grad cannot be written in place; put the update under NoGrad");
}

TEST(CompoundAssignment, KeepsTheDtype) {
  Tensor n = tensor({1, 2});
  EXPECT_EQ(text_of([&] { n /= 2; }), "[div_] a result of f32 cannot be stored in i64");
  EXPECT_EQ(text_of([&] { n += 0.5; }), "[add_] a result of f32 cannot be stored in i64");
  EXPECT_EQ(text_of([&] { n += ones({2, 2}, int64); }), "[add_] shape (2, 2) does not broadcast to (2,)");
  EXPECT_EQ(text_of([&] { n[n > 1] += 2.0; }), "[add_] a result of f32 cannot be stored in i64");
  EXPECT_EQ(text_of([&] { n[tensor({0})] -= 0.5; }), "[sub_] a result of f32 cannot be stored in i64");
  EXPECT_EQ(text_of([&] { n[n > 1] *= 2.5; }), "[mul_] a result of f32 cannot be stored in i64");
  EXPECT_EQ(text_of([&] { n[n > 1] /= 2; }), "[div_] a result of f32 cannot be stored in i64");
  n[n > 1] = 7.5;  // a plain assignment converts, as in PyTorch
  EXPECT_EQ(read(n), Reals({1, 7}));
}

// ---- assignment through tensors ----

TEST(IndexAssignment, WritesWhereTensorsPoint) {
  Tensor x = matrix();
  x.index({Slice(), tensor({0, 2})}) = tensor({{7., 8.}, {9., 10.}});
  EXPECT_EQ(read(x), Reals({7, 1, 8, 9, 4, 10}));
  x[tensor({1})] = 0;
  EXPECT_EQ(read(x), Reals({7, 1, 8, 0, 0, 0}));
  x.index({tensor({0, 1}), tensor({-1, 0})}) = tensor({5., 6.});
  EXPECT_EQ(read(x), Reals({7, 1, 5, 6, 0, 0}));
  x[0][tensor({1})] = 3;
  EXPECT_EQ(read(x), Reals({7, 3, 5, 6, 0, 0}));
}

TEST(IndexAssignment, TakesMasks) {
  Tensor x = matrix();
  x[x > 3] = -1;
  EXPECT_EQ(read(x), Reals({0, 1, 2, 3, -1, -1}));
  x[x < 0] = tensor({8., 9.});
  EXPECT_EQ(read(x), Reals({0, 1, 2, 3, 8, 9}));
  x.index({Slice(), tensor({true, false, true})}) = tensor({5., 6.});
  EXPECT_EQ(read(x), Reals({5, 1, 6, 5, 8, 6}));
  x.index({tensor({false, true}), Slice(0, 2)}) = 0;
  EXPECT_EQ(read(x), Reals({5, 1, 6, 0, 0, 6}));
}

TEST(IndexAssignment, OfOnePlaceTwiceTakesTheLast) {
  Tensor x = zeros({3});
  x[tensor({1, 1, 0, 1})] = tensor({1., 2., 3., 4.});
  EXPECT_EQ(read(x), Reals({3, 4, 0}));
  x.index_put_({tensor({1, 1, 0, 1})}, tensor({1., 2., 3., 4.}), true);
  EXPECT_EQ(read(x), Reals({6, 11, 0}));
}

TEST(IndexAssignment, BetweenSlicesPutsWhatIsPickedFirst) {
  Tensor x = zeros({2, 2, 2});
  x.index({tensor({0, 1, 1}), Slice(), tensor({1, 0, 1})}) = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  EXPECT_EQ(read(x), Reals({0, 1, 0, 2, 3, 5, 4, 6}));
}

TEST(IndexAssignment, ToACopyWithANameLeavesTheOther) {
  Tensor x = matrix();
  Tensor row = x[tensor({0})];
  row += 1;
  row.zero_();
  row = ones({1});
  EXPECT_EQ(read(x), Reals({0, 1, 2, 3, 4, 5}));
}

TEST(IndexAssignment, ByAMaskComputesNothing) {
  Tensor x = ones({3}) * 2;
  const size_t launches = stats().launches;
  x[x > 1] = 5;
  EXPECT_EQ(stats().launches, launches);
  EXPECT_EQ(read(x), Reals({5, 5, 5}));
}

TEST(IndexAssignment, LaterIsNotSeenByWhatAMaskHasPicked) {
  Tensor x = matrix(), mask = x > 3;
  const Tensor before = x[mask];
  x += 10;
  mask.fill_(true);
  EXPECT_EQ(read(before), Reals({4, 5}));
}

TEST(IndexAssignment, OfACopyWhoseOriginIsGoneIsRefused) {
  const auto part = [] { return matrix()[tensor({0})]; };
  EXPECT_EQ(text_of([&] { part() = 1; }),
            "[index] what tensors pick is written only where it is picked, as in x[i] = y; use index_put_()");
}

TEST(IndexAssignment, LeadingOnesOfAValueDoNotCount) {
  Tensor x = zeros({2, 3});
  x[1] = ones({1, 1, 3});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 0, 0, 1, 1, 1}));
  x.index_put_({Ellipsis()}, full({1, 2, 3}, 2));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 2));
  x.index_put_({tensor({0})}, full({1, 1, 1, 3}, 3));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 3, 3, 2, 2, 2}));
}

TEST(IndexAssignment, AMaskWithoutDimsIsForAll) {
  Tensor one = full({}, 5).clone(), several = ones({2}).clone();
  one[one > 6] = 1;
  EXPECT_EQ(one.item<float>(), 5);
  one[one > 3] = 1;
  EXPECT_EQ(one.item<float>(), 1);
  several[one > 0] = 7;
  EXPECT_EQ(several.to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(several[one > 0].shape(), (Dims{1, 2}));
  EXPECT_EQ(several[one < 0].shape(), (Dims{0, 2}));
  several[one > 0] = tensor({3., 4.});
  EXPECT_EQ(several.to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(IndexAssignment, TakesPositionsAndMasksOfTheHostOnEveryDevice) {
  for (const char* name : {"remote", "simulated"}) {
    const Device device(name);
    Tensor x = matrix().to(device);
    EXPECT_EQ(read(x[tensor({1, 0})]), Reals({3, 4, 5, 0, 1, 2})) << name;
    EXPECT_EQ(read(x.index({tensor({1, 0}), tensor({-1, 0}, Options(int64, device))})), Reals({5, 0})) << name;
    EXPECT_EQ(read(x[(matrix() > 3).eval()]), Reals({4, 5})) << name;
    x[tensor({0})] = 7;
    x.index_put_({tensor({1}), tensor({2})}, 9);
    x.index_put_({tensor({1}), tensor({2})}, ones({1}), true);
    x[matrix() == 3] = 8;
    EXPECT_EQ(read(x), Reals({7, 7, 7, 8, 4, 10})) << name;
    EXPECT_EQ(text_of([&] { x[tensor({2})]; }), "[index] index 2 is out of range for dim 0 of size 2") << name;
    EXPECT_EQ(text_of([&] { matrix()[tensor({1}, Options(int64, device))]; }),
              "[index] tensors are on devices cpu and " + std::string(name) + "; move one with to()");
    const Tensor at = tensor({1, 0});
    auto pick = compile([&](const Tensor& from) { return from[at] * 2; });
    for (int i = 0; i < 4; ++i) EXPECT_EQ(read(pick(x.reshape({3, 2}))), Reals({14, 16, 14, 14})) << name;
  }
}

TEST(IndexAssignment, WorksInCapturedFunctions) {
  Tensor state = zeros({4});
  auto step = compile([&](const Tensor& at, const Tensor& value) {
    state[at] = value;
    state[state > 5] = 0;
    return sum(state);
  });
  Reals totals;
  for (int i = 0; i < 5; ++i) totals.push_back(step(tensor({i % 4}), full({1}, i + 2.0)).item<double>());
  EXPECT_EQ(totals, Reals({2, 5, 9, 14, 12}));
  EXPECT_EQ(read(state), Reals({0, 3, 4, 5}));
}

// ---- in-place functions ----

struct InPlace {
  std::string name;
  Tensor& (*write)(Tensor& x);
  Tensor (*f)(const Tensor& x);
};

TEST(InPlaceFunctions, WriteWhatTheFunctionGives) {
  static const Tensor at = tensor({1, 0}), mask = tensor({true, false, true}), rows = full({2, 3}, 9.0);
#define ROW(name, ...)                                                                                              \
  {                                                                                                                 \
#name, [](Tensor &                                                                                              \
              x) -> Tensor& { return x.name##_(__VA_ARGS__); }, [](const Tensor& x) { return x.name(__VA_ARGS__); } \
  }
  // clang-format off
  const InPlace table[] = {
      ROW(neg), ROW(abs), ROW(sqrt), ROW(rsqrt), ROW(square), ROW(reciprocal), ROW(exp), ROW(log), ROW(sin), ROW(cos),
      ROW(tanh), ROW(sigmoid), ROW(relu), ROW(floor), ROW(ceil), ROW(round), ROW(trunc), ROW(clamp, 1.5, 3),
      ROW(tril), ROW(triu, 1), ROW(masked_fill, mask, 4), ROW(masked_scatter, mask, rows),
      ROW(index_add, 0, at, rows, 2), ROW(index_copy, 0, at, rows), ROW(index_fill, 1, at, 3),
      ROW(scatter, 0, at.reshape({2, 1}), -1), ROW(scatter_add, 0, at.reshape({1, 2}), rows),
      ROW(scatter_reduce, 0, at.reshape({1, 2}), rows, "amax"), ROW(add, 1, 2), ROW(sub, 1, 2), ROW(remainder, 2),
      ROW(fmod, 2), ROW(pow, 2), ROW(lerp, 5.0, 0.5), ROW(addcmul, rows, rows, 2), ROW(addcdiv, rows, rows, 2),
  };
  // clang-format on
#undef ROW
  for (const InPlace& row : table) {
    Tensor x = matrix() + 0.5, seen = x.t();
    Tensor wanted = row.f(x).clone().eval();
    EXPECT_EQ(&row.write(x), &x) << row.name;
    EXPECT_TRUE(equal(x, wanted)) << row.name;
    EXPECT_TRUE(equal(seen, wanted.t())) << row.name << ", seen by a view";
    Tensor whole = ones({3, 4}), part = whole.t().narrow(0, 1, 2);  // strides of 1 and 4
    wanted = row.f(part).clone().eval();
    row.write(part);
    EXPECT_TRUE(equal(whole.t().narrow(0, 1, 2), wanted)) << row.name << ", of a view";
    EXPECT_EQ(read(whole.slice(1, 3)), Reals({1, 1, 1})) << row.name << ", beside a view";
  }
}

TEST(InPlaceFunctions, DrawNumbers) {
  Tensor x = zeros({1000});
  x.uniform_(2, 3);
  EXPECT_GE(x.min().item<float>(), 2);
  EXPECT_LT(x.max().item<float>(), 3);
  EXPECT_NEAR(x.mean().item<float>(), 2.5, 0.05);
  x.normal_(5, 0.5);
  EXPECT_NEAR(x.mean().item<float>(), 5, 0.1);
  EXPECT_NEAR(x.std().item<float>(), 0.5, 0.05);
  x.bernoulli_(0.25);
  EXPECT_NEAR(x.mean().item<float>(), 0.25, 0.06);
  EXPECT_EQ(read(unique(x).values), Reals({0, 1}));
}

TEST(Unique, AlongADimIsOfWholeSlices) {
  const Tensor x = tensor({{3, 1, 2}, {1, 1, 1}, {3, 1, 2}, {1, 0, 5}}).to(DType::i64);
  const Unique rows = unique(x, 0), columns = unique(x.narrow(0, 0, 2), -1);
  EXPECT_EQ(read(rows.values), Reals({1, 0, 5, 1, 1, 1, 3, 1, 2}));
  EXPECT_EQ(read(rows.inverse), Reals({2, 1, 2, 0}));
  EXPECT_EQ(read(rows.counts), Reals({1, 1, 2}));
  EXPECT_EQ(columns.values.shape(), Dims({2, 3}));
  EXPECT_EQ(read(columns.values), Reals({1, 2, 3, 1, 1, 1}));
  EXPECT_EQ(unique(zeros({0, 3}), 0).values.shape(), Dims({0, 3}));
}

// ---- where elements lie ----

TEST(Layout, AnOffsetSaysWhereTheFirstElementLies) {
  const Tensor x = arange(24, float32).reshape({2, 3, 4});
  EXPECT_EQ(x.storage_offset(), 0);
  EXPECT_EQ(x[1].storage_offset(), 12);
  EXPECT_EQ(x.slice(2, 1, 4, 2).narrow(1, 2, 1).storage_offset(), 9);
  EXPECT_EQ(x[1].clone().storage_offset(), 0);
}

TEST(Layout, StridesAreThoseOfTheMemory) {
  const Tensor x = arange(24, float32).reshape({2, 3, 4});
  EXPECT_EQ(x.strides(), Dims({12, 4, 1}));
  EXPECT_EQ(x.transpose(0, 2).strides(), Dims({1, 4, 12}));
  EXPECT_EQ(x.slice(1, 0, 3, 2).strides(), Dims({12, 8, 1}));
  EXPECT_EQ(x[Slice(1, 2)].strides(), Dims({12, 4, 1}));
  EXPECT_EQ(x[1].expand({5, 3, 4}).strides(), Dims({0, 4, 1}));
  EXPECT_EQ((x.transpose(1, 2) + 1).strides(), Dims({12, 3, 1}));
  EXPECT_TRUE(x[1].is_contiguous());
  EXPECT_FALSE(x.transpose(0, 1).is_contiguous());
  EXPECT_TRUE(x.transpose(0, 1).contiguous().is_contiguous());
  EXPECT_EQ(x.nbytes(), 96);
  EXPECT_EQ(x.to(bfloat16).nbytes(), 48);
}

TEST(Layout, DataPtrIsWhereAViewBegins) {
  const Tensor x = arange(6, int64).reshape({2, 3}) * 2;
  const int64_t* data = x.data_ptr<int64_t>();
  EXPECT_EQ(Wholes(data, data + 6), Wholes({0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(x[1].data_ptr<int64_t>(), data + 3);
  EXPECT_EQ(x.t()[2].data_ptr<int64_t>()[x.t()[2].stride(0)], 10);
  const Tensor w = ones({2}).requires_grad_();
  EXPECT_EQ((w * 3).data_ptr<float>()[1], 3);
  const Tensor turned = x.t().reshape({2, 3});  // no view
  EXPECT_EQ(Wholes(turned.data_ptr<int64_t>(), turned.data_ptr<int64_t>() + 6), Wholes({0, 6, 2, 8, 4, 10}));
}

TEST(Layout, DataPtrSaysWhatIsWrong) {
  EXPECT_EQ(text_of([] { ones({2}).data_ptr<double>(); }), "[data_ptr] the elements are f32, not f64");
  EXPECT_EQ(text_of([] { ones({2}, Device("remote")).data_ptr<float>(); }),
            "[data_ptr] the host cannot address the memory of device remote; use to_vector() or to(\"cpu\")");
}

// ---- literals and dtypes ----

TEST(Literals, NestAsDeepAsFour) {
  const Tensor cube = tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9, 10}, {11, 12}}});
  EXPECT_EQ(cube.shape(), Dims({3, 2, 2}));
  EXPECT_EQ(cube.dtype(), int64);
  EXPECT_EQ(cube.sum({1, 2}).to_vector<int64_t>(), Wholes({10, 26, 42}));
  const Tensor four = tensor({{{{0.5, 1.5}}, {{2.5, 3.5}}}});
  EXPECT_EQ(four.shape(), Dims({1, 2, 1, 2}));
  EXPECT_EQ(four.dtype(), float32);
  EXPECT_EQ(text_of([] { tensor({{{1, 2}, {3}}}); }), "[tensor] rows of 2 and 1 elements");
  EXPECT_EQ(text_of([] { tensor({{{1}, {2}}, {{3}}}); }), "[tensor] rows of 2 and 1 elements");
}

TEST(DTypes, PrintTheirNames) {
  EXPECT_EQ(fmt::format("{} {:>5}", float32, boolean), "f32  bool");
  std::ostringstream out;
  out << bfloat16 << " " << uint8;
  EXPECT_EQ(out.str(), "bf16 u8");
}

TEST(Conversion, ToADeviceAndADtype) {
  const Tensor x = tensor({1.5, 2.5}).to("reference", int64);
  EXPECT_EQ(x.device().name(), "reference");
  EXPECT_EQ(x.to("cpu", float64).to_vector<double>(), Reals({1, 2}));
}

// ---- numbers of the host among tensors of another device ----

class HostNumbers : public testing::TestWithParam<const char*> {
 protected:
  const Device there = Device(GetParam());
  const Tensor x = tensor({1., 2., 3.}, there), two = scalar(2.0, Device("cpu"));
};
INSTANTIATE_TEST_SUITE_P(Devices, HostNumbers, testing::Values("reference", "remote", "simulated"),
                         [](const testing::TestParamInfo<const char*>& tested) { return std::string(tested.param); });

TEST_P(HostNumbers, TakePart) {
  EXPECT_EQ((x * two).device(), there);
  EXPECT_EQ(read(two - x), Reals({1, 0, -1}));
  EXPECT_EQ(read(where(x > two, two, x)), Reals({1, 2, 2}));
  EXPECT_EQ(read(masked_fill(x, x < two, two)), Reals({2, 2, 3}));
  EXPECT_EQ(read(clamp(x, two, {})), Reals({2, 2, 3}));
  EXPECT_EQ((two * x[0]).device(), there) << "of two numbers, the other device's counts";
  EXPECT_EQ((x.to(bfloat16) * scalar(2.0, Options(float64, Device("cpu")))).dtype(), bfloat16);
  Tensor y = x.clone();
  y += two;
  EXPECT_EQ(read(y), Reals({3, 4, 5}));
}

TEST_P(HostNumbers, GetTheirGradients) {
  Tensor w = scalar(2.0, Device("cpu")).requires_grad_();
  sum(x * w).backward();
  EXPECT_EQ(w.grad().device().name(), "cpu");
  EXPECT_EQ(read(w.grad()), Reals({6}));
}

TEST_P(HostNumbers, TakePartInCapturedFunctions) {
  Tensor factor = scalar(1.0, Device("cpu"));
  auto f = compile([&](const Tensor& a) { return sum(a * factor); });
  Reals totals;
  for (int i = 0; i < 4; ++i) {
    totals.push_back(f(x).item<double>());
    factor += 1;
  }
  EXPECT_EQ(totals, Reals({6, 12, 18, 24}));
}

TEST_P(HostNumbers, OfAnotherDeviceAreRefused) {
  EXPECT_EQ(text_of([&] { two.reshape({1}) + x; }),
            fmt::format("[add] tensors are on devices cpu and {}; move one with to()", GetParam()));
  EXPECT_EQ(text_of([&] { x[0] + ones({2}, Device("cpu")); }),
            fmt::format("[add] tensors are on devices {} and cpu; move one with to()", GetParam()));
  EXPECT_EQ(text_of([&] { lerp(two, ones({2}, Device("cpu")), x[0]); }),
            fmt::format("[lerp] tensors are on devices cpu and {}; move one with to()", GetParam()));
}

// ---- what is refused ----

TEST(Everyday, ShapesThatDependOnValuesAreRefusedInCapturedFunctions) {
  const auto text = [](const std::string& op, const std::string& what) {
    return fmt::format(
        "[{}] the shape of what {} gives depends on values, which a captured function does not have; do it outside", op,
        what);
  };
  const auto says = [](const std::string& wanted, Tensor (*f)(const Tensor&)) {
    auto captured = compile(f);
    EXPECT_EQ(text_of([&] { captured(tensor({1, 0, 2})); }), wanted);
  };
  says(text("nonzero", "nonzero"), [](const Tensor& x) { return nonzero(x); });
  says(text("unique", "unique"), [](const Tensor& x) { return unique(x).values; });
  says(text("bincount", "bincount"), [](const Tensor& x) { return bincount(x); });
  says(text("masked_select", "masked_select"), [](const Tensor& x) { return masked_select(x, x > 0); });
  says(text("index", "a mask"), [](const Tensor& x) { return x[x > 0]; });
  says(text("repeat_interleave", "a tensor of repeats"), [](const Tensor& x) { return repeat_interleave(x, x); });
}

TEST(Everyday, WhatDoesNotFitIsSaidInOneLine) {
  static const Tensor a = matrix(), b = ones({4, 3}), v = tensor({1., 2., 3.}), i = tensor({0, 2}),
                      mask = tensor({true, false});
  struct Refused {
    std::string text;
    void (*f)();
  };
  const Refused table[] = {
      {"[index] a mask of shape (2,) does not fit shape (2, 3) from dim 1 on",
       [] {
         a.index({Slice(), mask});
       }},
      {"[index] 3 indices for a tensor of rank 2",
       [] {
         a.index({mask, i, i});
       }},
      {"[index] a mask of shape (2,) does not fit shape (2, 3) from dim 1 on",
       [] {
         a.clone().index({Slice(), mask}) = 1;
       }},
      {"[index] tensors of positions are integers, got f32", [] { a[v]; }},
      {"[index] index 2 is out of range for dim 0 of size 2", [] { a[i]; }},
      {"[index_put_] shape (3,) does not broadcast to (1, 2)",
       [] {
         a.clone().index({Slice(0, 1), i}) = v;
       }},
      {"[add] alpha must be an integer for i64", [] { add(i, i, 0.5); }},
      {"[lerp] takes floating-point values, got i64; convert with to(DType::f32)", [] { lerp(i, i, 1); }},
      {"[addcdiv] takes floating-point values, got i64 and i64", [] { addcdiv(v, i, i); }},
      {"[masked_fill] the value must be a single number, got shape (3,)", [] { masked_fill(v, v > 1, v); }},
      {"[diff] n must not be negative, got -1", [] { diff(v, -1); }},
      {"[kthvalue] k = 4 does not lie in 1..3, the size of dim 0", [] { kthvalue(v, 4, 0); }},
      {"[median] dim 0 of shape (0,) is empty", [] { median(zeros({0}), 0); }},
      {"[quantile] q must lie in 0..1, got 1.5", [] { quantile(v, 1.5); }},
      {"[quantile] interpolation is \"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\", not \"cubic\"",
       [] { quantile(v, 0.5, {}, false, "cubic"); }},
      {"[unflatten] sizes (2, 2) do not make up dim 1 of size 3",
       [] {
         unflatten(a, 1, {2, 2});
       }},
      {"[movedim] 2 dims are moved to 1 places",
       [] {
         movedim(a, {0, 1}, 0);
       }},
      {"[movedim] a dim appears more than once",
       [] {
         movedim(a, {0, 0}, {0, 1});
       }},
      {"[diagonal] takes at least a matrix, got shape (3,)", [] { diagonal(v); }},
      {"[diagonal] takes two different dims, got 0 twice", [] { diagonal(a, 0, 0, 0); }},
      {"[diag] takes a vector or a matrix, got shape ()", [] { diag(v[0]); }},
      {"[trace] takes a matrix, got shape (3,)", [] { trace(v); }},
      {"[unfold] windows of 4 do not fit dim 1 of size 3", [] { unfold(a, 1, 4, 1); }},
      {"[unfold] the step must be positive, got 0", [] { unfold(a, 1, 2, 0); }},
      {"[meshgrid] indexing is \"ij\" or \"xy\", not \"ab\"",
       [] {
         meshgrid({v, v}, "ab");
       }},
      {"[meshgrid] takes vectors, got shape (2, 3)", [] { meshgrid({a}); }},
      {"[hstack] takes at least one tensor", [] { hstack({}); }},
      {"[repeat_interleave] repeats must not be negative, got -1", [] { repeat_interleave(v, -1); }},
      {"[repeat_interleave] repeats of shape (2,) do not fit dim 0 of size 3", [] { repeat_interleave(v, i, 0); }},
      {"[scatter] an index of shape (2, 1) needs more than a source of (1, 3)",
       [] {
         scatter(a, 0, tensor({{0}, {0}}), ones({1, 3}));
       }},
      {"[scatter] index 2 is out of range for dim 0 of size 2", [] { scatter(a, 0, tensor({{2}}), 1); }},
      {"[scatter_reduce] dtypes f32 and i64 differ", [] { scatter_reduce(v, 0, i, i, "sum"); }},
      {"[scatter_reduce] reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"max\"",
       [] { scatter_reduce(v, 0, i, v, "max"); }},
      {"[index_add] 2 indices along dim 0 of (3,) take a source of (2,), got (3,)", [] { index_add(v, 0, i, v); }},
      {"[index_copy] the index must be a vector, got shape (1, 2)",
       [] {
         index_copy(v, 0, i.reshape({1, 2}), v);
       }},
      {"[index_fill] indices are i32 or i64, got f32", [] { index_fill(v, 0, v, 1); }},
      {"[take_along_dim] an index of shape (2,) does not fit (2, 3): the ranks differ",
       [] { take_along_dim(a, i, 0); }},
      {"[masked_scatter] the mask takes 3 elements, the source has 2",
       [] {
         masked_scatter(v, (v > 0).eval(), tensor({1., 2.}));
       }},
      {"[masked_scatter] the mask takes 3 elements, the source has 1", [] { masked_scatter(v, v > 0, tensor({1.})); }},
      {"[searchsorted] values of shape (3,) do not fit sorted ones of (2, 3)", [] { searchsorted(a, v); }},
      {"[bincount] counts 0, 1, ..., got -1",
       [] {
         bincount(tensor({0, -1}));
       }},
      {"[bincount] takes integers, got f32", [] { bincount(v); }},
      {"[repeat_interleave] a tensor of shape (3, 9007199254740992) has too many elements",
       [] { repeat_interleave(v, int64_t{1} << 53); }},
      {"[index_select] a single number takes one index, got shape (2,)", [] { index_select(v[0], 0, i); }},
      {"[topk] k = 2 does not lie in 0..1, the size of a single number", [] { topk(v[0], 2); }},
      {"[mm] takes two matrices, got shapes (2, 3) and (3,)", [] { mm(a, v); }},
      {"[mm] shapes (2, 3) and (2, 3) do not fit: inner dimensions 3 and 2 differ", [] { mm(a, a); }},
      {"[mv] shapes (4, 3) and (2,) do not fit: inner dimensions 3 and 2 differ", [] { mv(b, ones({2})); }},
      {"[addmm] shapes (2, 3) and (2, 3) do not fit: inner dimensions 3 and 2 differ", [] { addmm(v, a, a); }},
      {"[vstack] shapes (2, 3) and (1, 2) do not fit along dim 0",
       [] {
         vstack({a, ones({2})});
       }},
      {"[hstack] shapes (2, 3) and (4, 3) do not fit along dim 1",
       [] {
         hstack({a, b});
       }},
      {"[bmm] takes two batches of matrices, got shapes (2, 3) and (4, 3)", [] { bmm(a, b); }},
      {"[mv] takes a matrix and a vector, got shapes (3,) and (3,)", [] { mv(v, v); }},
      {"[addmm] shape (3,) does not broadcast to (2, 4)", [] { addmm(v, a, b.t()); }},
      {"[tensordot] shapes (2, 3) and (4, 3) do not fit: sizes 3 and 4 of dims 1 and 0 differ",
       [] { tensordot(a, b, 1); }},
      {"[cdist] takes (..., P, M) and (..., R, M), got (2, 3) and (3,)", [] { cdist(a, v); }},
      {"[bernoulli_] p must lie in 0..1, got 2", [] { ones({2}).bernoulli_(2); }},
      {"[uniform_] no numbers between 1 and 0", [] { ones({2}).uniform_(1, 0); }},
      {"[exp_] a result of f32 cannot be stored in i64", [] { tensor({1}).exp_(); }},
  };
  for (const Refused& row : table) EXPECT_EQ(text_of(row.f), row.text);
}

// Nothing is begun of what is made at once and fits nowhere.
TEST(Everyday, SaysWhatNoMemoryHolds) {
  const auto says = [](const std::string& front, const std::function<void()>& f) {
    const std::string text = text_of(f);
    EXPECT_TRUE(text.starts_with(front + " numbers do not fit into the ")) << text;
    EXPECT_TRUE(text.ends_with(" bytes that cpu has free: give it smaller values")) << text;
  };
  says("[bincount] 1000000000000001", [] { bincount(tensor({int64_t{1'000'000'000'000'000}})); });
  says("[bincount] 9223372036854775808", [] { bincount(tensor({INT64_MAX})); });
  says("[bincount] 1000000000000000", [] { bincount(tensor({1}), {}, 1'000'000'000'000'000); });
  says("[repeat_interleave] 9223372036854775809", [] { repeat_interleave(ones({2}), tensor({INT64_MAX, 2})); });
  says("[repeat_interleave] 18446744073709551615", [] {
    repeat_interleave(ones({3}), tensor({INT64_MAX, INT64_MAX, INT64_MAX}));
  });
}

}  // namespace
}  // namespace tenon
