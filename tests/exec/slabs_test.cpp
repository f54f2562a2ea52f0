// A device whose kernels reach only so much of a buffer: the arena is made of several.

#include <gtest/gtest.h>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

Device with_slabs() {
  static const ir::DeviceId id = device::add({"cpu_slabs", [] {
                                                ir::Limits limits;
                                                limits.max_binding = 64 << 10;
                                                return backends::cpu::open_with(limits);
                                              }});
  static_cast<void>(id);
  return Device("cpu_slabs");
}

// Products keep twelve matrices of 36 KiB alive; the sort and the table of sums need memory of their own.
std::vector<float> run(const Device& device, bool captured) {
  manual_seed(1);
  const Tensor x = (randn({96, 96}) * 0.1).to(device).eval();
  std::vector<int64_t> numbers(500);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * 7 % 11);
  const Tensor ids = from_vector(numbers, {500}, Options(device));
  const auto work = [&](const Tensor& first) {
    std::vector<Tensor> kept{first};
    for (int i = 0; i < 12; ++i) kept.push_back(tanh(matmul(kept.back(), first)) + first);
    Tensor sum = kept[0];
    for (size_t i = 12; i > 0; --i) sum = matmul(sum, kept[i]);
    const Tensor picked = sort(sum.reshape({9216}).narrow(0, 0, 500)).first;
    return sum.sum() + scatter_add(zeros({11}, device), 0, ids, picked).sum();
  };
  auto replayed = compile(work);
  std::vector<float> seen;
  for (int i = 0; i < 4; ++i) seen.push_back((captured ? replayed(x) : work(x)).item<float>());
  return seen;
}

TEST(Slabs, ChangeNoBit) {
  const std::vector<float> expected = run(Device("cpu"), false);
  EXPECT_EQ(run(with_slabs(), false), expected);
  EXPECT_EQ(run(with_slabs(), true), expected);
}

TEST(Slabs, AValueThatFitsNoneIsAClearError) {
  const Tensor x = rand({200, 2}).to(with_slabs()), y = rand({2, 200}).to(with_slabs());
  EXPECT_EQ(text_of([&] { matmul(matmul(x, y), x).eval(); }),
            "[memory] a value of 160000 bytes is larger than the 65536 bytes that a kernel of the device can reach at "
            "once");
}

// The largest buffer may be used whole.
TEST(Slabs, ABufferThatTheDeviceDoesNotTakeIsAClearError) {
  EXPECT_EQ(zeros({16384}, with_slabs()).clone().eval().sum().item<float>(), 0);
  EXPECT_EQ(text_of([&] { zeros({16385}, with_slabs()).clone().eval(); }),
            "[memory] 65540 bytes asked for at once, but the device takes no single buffer above 65536: split the "
            "tensor along an axis, or use a smaller batch or another device");
  EXPECT_EQ(text_of([&] { zeros({int64_t{5} << 28}, Device("simulated")).clone().eval(); }),
            "[memory] 5368709120 bytes asked for at once, but the device takes no single buffer above 4294967296: "
            "split the tensor along an axis, or use a smaller batch or another device");
}

}  // namespace
}  // namespace tenon
