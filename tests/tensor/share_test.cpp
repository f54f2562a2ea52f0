// Memory that others see: who writes it, who sees that, and who keeps it. The sanitizers look on in `make test-all`.

#include "tenon/tensor/share.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Reals = std::vector<double>;

Reals reals(const Tensor& x) { return x.to_vector<double>(); }

/// Memory of somebody else's, and whether it is still needed.
struct Array {
  std::shared_ptr<std::vector<float>> values = std::make_shared<std::vector<float>>(4, 1.0f);
  Tensor tensor() const {
    return over_shared_memory(reinterpret_cast<std::byte*>(values->data()), values, {4}, DType::f32);
  }
  long holders() const { return values.use_count() - 1; }
};

TEST(SharedMemory, IsNotCopied) {
  const Array array;
  const Tensor x = array.tensor();
  EXPECT_EQ(x.data_ptr<float>(), array.values->data());
  EXPECT_EQ(share_memory(x).address, reinterpret_cast<std::byte*>(array.values->data()));
  EXPECT_TRUE(is_shared(x.slice(0, 1, 3)));
  EXPECT_FALSE(is_shared(x + 1));
}

TEST(SharedMemory, WritesOfOthersAreSeenByWhatIsComputedLater) {
  const Array array;
  const Tensor x = array.tensor(), recorded = x * 2, computed = (x * 3).eval();
  wait({computed});
  (*array.values)[0] = 5;
  EXPECT_EQ(reals(recorded), Reals({10, 2, 2, 2}));
  EXPECT_EQ(reals(computed), Reals({3, 3, 3, 3}));
  EXPECT_EQ(reals(x * 3), Reals({15, 3, 3, 3}));  // the same formula, but not the same value
}

TEST(SharedMemory, OwnWritesAreThereAtOnceAndChangeNoEarlierValue) {
  const Array array;
  Tensor x = array.tensor();
  const Tensor recorded = x * 2, view = x.slice(0, 2, 4);
  x.add_(1);
  x[0] = 9;
  EXPECT_EQ(*array.values, std::vector<float>({9, 2, 2, 2}));
  EXPECT_EQ(reals(recorded), Reals({2, 2, 2, 2}));
  EXPECT_EQ(reals(view), Reals({2, 2}));
}

TEST(SharedMemory, OfATensorIsWrittenWhereItIsSeen) {
  Tensor x = tensor({1., 2., 3.});
  const Tensor before = x * 10;
  const SharedMemory memory = share_memory(x);
  auto* seen = reinterpret_cast<float*>(memory.address);
  x.mul_(2);
  EXPECT_EQ(seen[2], 6);
  seen[0] = 7;
  EXPECT_EQ(reals(x + 0), Reals({7, 4, 6}));
  EXPECT_EQ(reals(before), Reals({10, 20, 30}));
}

TEST(SharedMemory, OutlivesItsTensor) {
  SharedMemory memory;
  {
    Tensor x = tensor({1., 2., 3.});
    memory = share_memory(x);
    x.add_(1);
    const Tensor readers = x * 2;
    x.add_(1);  // the readers get a copy, and the memory stays where it is
    EXPECT_EQ(reals(readers), Reals({4, 6, 8}));
  }
  trim_memory();
  EXPECT_EQ(reinterpret_cast<float*>(memory.address)[2], 5);
}

TEST(SharedMemory, IsLetGoOfWhenNobodyReadsIt) {
  const Array array;
  Tensor y = array.tensor().slice(0, 1, 3) + 1;
  EXPECT_GT(array.holders(), 0);
  EXPECT_EQ(reals(y), Reals({2, 2}));
  y = Tensor();
  EXPECT_EQ(array.holders(), 0);
}

TEST(SharedMemory, StaysWithWhoSharesItWhenATensorGetsOtherData) {
  Tensor x = tensor({1., 2.}).requires_grad_();
  const SharedMemory memory = share_memory(x);
  x.set_data(tensor({5., 6.}));
  trim_memory();
  EXPECT_EQ(reinterpret_cast<float*>(memory.address)[1], 2);
}

TEST(SharedMemory, IsReadAnewByEveryReplay) {
  const Array array, weights;
  const Tensor x = array.tensor(), w = weights.tensor();
  auto product = compile([&](const Tensor& y) { return y * w; });
  for (int i = 0; i < 6; ++i) {
    array.values->assign(4, static_cast<float>(i));
    weights.values->assign(4, static_cast<float>(i));
    EXPECT_EQ(reals(product(x)), Reals(4, i * i)) << i;
  }
}

TEST(SharedMemory, TakesNoValuesWithGradients) {
  const Array array;
  Tensor x = array.tensor();
  const Tensor w = ones({4}).requires_grad_();
  EXPECT_EQ(
      text_of([&] { x.mul_(w); }),
      "[write] memory that is shared cannot take values with gradients; write under NoGrad, or clone() the tensor");
}

TEST(SharedMemory, OfAFlippedTensorWithHistoryIsLaidOutAndKeepsTheHistory) {
  const Tensor x = from_vector(std::vector<float>{1, 2, 3}, {3}).requires_grad_();
  Tensor y = x.flip({0});
  const Tensor row = y.slice(0, 0, 1), before = sum(y * 2) + sum(row);
  EXPECT_EQ(y.detach().data_ptr<float>()[0], 3);
  const Tensor after = sum(y * 10);
  EXPECT_EQ(grad(before, y).to_vector<float>(), std::vector<float>({3, 2, 2}));
  EXPECT_EQ(grad(before, row).to_vector<float>(), std::vector<float>({1}));
  Tensor all = before + after;
  y.retain_grad();
  all.backward();
  EXPECT_EQ(y.grad().to_vector<float>(), std::vector<float>({13, 12, 12}));
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>({12, 12, 13}));
}

TEST(SharedMemory, MayHaveStrides) {
  const auto values = std::make_shared<std::vector<float>>(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto over = [&](int64_t first, const Dims& shape, const Dims& strides) {
    return over_strided_memory(reinterpret_cast<std::byte*>(values->data() + first), values, shape, strides,
                               DType::f32);
  };
  Tensor x = over(1, {2, 3}, {6, 2}).value();
  EXPECT_EQ(reals(x), Reals({1, 3, 5, 7, 9, 11}));
  (*values)[3] = 30;
  x.slice(0, 1, 2).fill_(-1);
  EXPECT_EQ(reals(x), Reals({1, 30, 5, -1, -1, -1}));
  EXPECT_EQ((*values)[9], -1);
  EXPECT_EQ((*values)[8], 8);
  EXPECT_EQ(reals(over(0, {3, 4}, {1, 3}).value()), reals(over(0, {4, 3}, {3, 1}).value().transpose(0, 1)));
  EXPECT_FALSE(over(0, {3, 2}, {1, 1}).has_value());  // one element of memory twice
  EXPECT_FALSE(over(0, {3, 2}, {2, 0}).has_value());
  EXPECT_FALSE(over(0, {3, 2}, {INT64_MAX, 1}).has_value());
  EXPECT_FALSE(over(0, {3, 2}, {int64_t{1} << 52, 1}).has_value());
}

TEST(DLPack, GivesAndTakesMemory) {
  const Tensor x = arange(6, DType::f32).reshape({2, 3});
  const Tensor y = from_dlpack(to_dlpack(x.transpose(0, 1)));
  EXPECT_EQ(reals(y), reals(x.transpose(0, 1)));
  Tensor written = y;
  written.fill_(7);
  EXPECT_EQ(reals(x), Reals(6, 7.0));
  release_dlpack(to_dlpack(x));
  EXPECT_EQ(from_dlpack(to_dlpack(zeros({0, 3}))).shape(), Dims({0, 3}));
  EXPECT_EQ(text_of([] { to_dlpack(ones({1}).requires_grad_()); }),
            "[dlpack] a tensor that requires grad is not shared; call detach() first");
}

TEST(SharedMemory, MustBeAligned) {
  std::vector<float> values(2);
  auto* odd = reinterpret_cast<std::byte*>(values.data()) + 1;
  EXPECT_EQ(text_of([&] { over_shared_memory(odd, nullptr, {1}, DType::f32); }),
            "[tensor] memory at an address that is no multiple of 4 bytes cannot be shared as f32; copy it");
}

TEST(Interrupts, EndAWaitAndLeaveTheWorkAlone) {
  struct Asked {};
  const Tensor x = rand({700, 700}).eval();
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = matmul(y, x) * 0.01;
  y.eval();
  base::set_interrupt_check([] { throw Asked(); });
  EXPECT_THROW(wait({y}), Asked);
  base::set_interrupt_check(nullptr);
  EXPECT_EQ(y.sum().to_vector<float>().size(), 1u);
}

TEST(OutOfRange, IsToldApart) {
  EXPECT_THROW(ones({2})[2], base::OutOfRange);
  EXPECT_THROW(ones({2}).sum(1), base::OutOfRange);
  EXPECT_THROW(matmul(ones({2, 3}), ones({2, 3})), Error);
}

}  // namespace
}  // namespace tenon
