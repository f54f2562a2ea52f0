// The OpenCL and Vulkan devices with kernels: programs on disk, copies into state behind a fault, recordings.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using device::Buffer;
using device::Command;
using device::Copy;
using device::Download;
using device::Fill;
using device::Launch;

class GpuKernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const device::Absent& one : device::absent()) {
      if (one.name == GetParam()) GTEST_SKIP() << one.why;
    }
    device_ = &device::open(device::find(GetParam()));
  }

  // Turns a matrix of two rows.
  static device::Kernel turn() {
    ir::Call call;
    call.op = ir::Op::contiguous;
    ir::IndexMap map(Dims{2, 3});
    map.apply({ir::Op::permute, ir::AxesAttrs{Dims{1, 0}}});
    call.inputs.push_back({DType::f32, map});
    call.outputs.push_back({DType::f32, Dims{3, 2}});
    return call;
  }
  Buffer upload(const std::vector<float>& values) {
    const Buffer made = device_->allocate(values.size() * 4);
    const Command command = device::Upload{std::as_bytes(std::span(values)), {made, 0, values.size() * 4}};
    device_->send({&command, 1}, false);
    return made;
  }
  std::vector<float> read(const Buffer& buffer) {
    std::vector<float> values(buffer.bytes / 4);
    const Command command = Download{{buffer, 0, buffer.bytes}, std::as_writable_bytes(std::span(values))};
    device_->wait(device_->send({&command, 1}, true));
    return values;
  }
  Launch launch(const device::ProgramRef& program, const Buffer& from, const Buffer& to) const {
    Launch made{program, {}, 1};
    made.args.push_back({from, 0, from.bytes});
    made.args.push_back({to, 0, to.bytes});
    return made;
  }

  device::Device* device_ = nullptr;
};

const std::vector<float> kRows = {1, 2, 3, 4, 5, 6}, kTurned = {1, 4, 2, 5, 3, 6};

TEST_P(GpuKernels, APlainProgramRuns) {
  const device::ProgramRef program = device_->compiler().compile(turn());
  const Buffer from = upload(kRows), to = upload({0, 0, 0, 0, 0, 0});
  const Command command = launch(program, from, to);
  device_->wait(device_->send({&command, 1}, true));
  EXPECT_EQ(read(to), kTurned);
  device_->release(from);
  device_->release(to);
}

TEST_P(GpuKernels, ASavedProgramRunsAgain) {
  device::Compiler& compiler = device_->compiler();
  const std::string name = compiler.saved_as(turn());  // nothing where the driver keeps programs itself
  EXPECT_TRUE(name.empty() || name.find("void ") != std::string::npos) << name;
  const std::vector<std::byte> saved = compiler.save(*compiler.compile(turn()));
  const device::ProgramRef program = compiler.load(turn(), saved);
  ASSERT_NE(program, nullptr);
  const Buffer from = upload(kRows), to = upload({0, 0, 0, 0, 0, 0});
  const Command command = launch(program, from, to);
  device_->wait(device_->send({&command, 1}, true));
  EXPECT_EQ(read(to), kTurned);
  device_->release(from);
  device_->release(to);
}

TEST_P(GpuKernels, DamagedProgramsAreNotLoaded) {
  device::Compiler& compiler = device_->compiler();
  std::vector<std::byte> saved = compiler.save(*compiler.compile(turn()));
  EXPECT_EQ(compiler.load(turn(), {}), nullptr);
  EXPECT_EQ(compiler.load(turn(), std::span(saved).first(saved.size() / 2)), nullptr);
}

TEST_P(GpuKernels, ARecordingKeepsItsArguments) {
  const device::ProgramRef program = device_->compiler().compile(turn());
  const Buffer from = upload(kRows), to = upload({0, 0, 0, 0, 0, 0}), elsewhere = upload({0, 0, 0, 0, 0, 0});
  const Command recorded = launch(program, from, to), other = launch(program, to, elsewhere);
  const auto recording = device_->record({&recorded, 1});
  device_->send({&other, 1}, false);  // the same program with other arguments in between
  const Command clear = Fill{{to, 0, to.bytes}};
  device_->wait(recording->replay({&clear, 1}, true));
  EXPECT_EQ(read(to), kTurned);
  EXPECT_EQ(read(elsewhere), (std::vector<float>(6)));
  for (const Buffer& each : {from, to, elsewhere}) device_->release(each);
}

TEST_P(GpuKernels, ACopyIntoStateDoesNothingBehindAFault) {
  const Device device(GetParam());
  const Buffer value = upload({7}), state = upload({1}), result = upload({1});
  const Tensor table = from_vector(std::vector<float>{1, 2, 3}, {3}, device);
  const Tensor bad = index_select(table, 0, full({2}, 7, Options(DType::i64, device)).clone() + 1).eval();
  const std::vector<Command> copies = {Copy{{value, 0, 4}, {state, 0, 4}, true}, Copy{{value, 0, 4}, {result, 0, 4}}};
  const device::Ticket ticket = device_->send(copies, false);
  EXPECT_EQ(text_of([&] { device_->wait(ticket); }), "[index_select] index 8 is out of range for axis 0 of size 3");
  EXPECT_TRUE(device_->is_known_to_fail(ticket));
  EXPECT_EQ(read(state), std::vector<float>{1});
  EXPECT_EQ(read(result), std::vector<float>{7});
  device_->wait(device_->send(copies, false));
  EXPECT_EQ(read(state), std::vector<float>{7});
  for (const Buffer& each : {value, state, result}) device_->release(each);
}

// What waits to be submitted when a fault becomes known was never meant to fail.
TEST_P(GpuKernels, WhatWasEnqueuedBeforeAFaultIsKnownAndSubmittedAfterRuns) {
  const Device device(GetParam());
  const Buffer value = upload({7}), state = upload({1});
  const Tensor table = from_vector(std::vector<float>{1, 2, 3}, {3}, device);
  const Tensor bad = index_select(table, 0, full({2}, 7, Options(DType::i64, device)).clone() + 1).eval();
  const device::Ticket failed = device_->submit(true);
  const Command copy = Copy{{value, 0, 4}, {state, 0, 4}, true};
  device_->enqueue({&copy, 1});
  EXPECT_THROW(device_->wait(failed), Error);
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(state), std::vector<float>{7});
  for (const Buffer& each : {value, state}) device_->release(each);
}

/// The largest distance from what f64 gives, in units of the last place, over every 10,007th float between the two.
double worst_of(const Device& device, Tensor (*ours)(const Tensor&), double (*truth)(double), float low, float high) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 10007) {
    const auto each = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (low <= each && each <= high) x.push_back(each);
  }
  const std::vector<float> got =
      ours(from_vector(x, {static_cast<int64_t>(x.size())}, Options(DType::f32, device))).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = truth(x[i]);
    const auto size = std::abs(static_cast<float>(want));
    const double unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - static_cast<double>(size);
    worst = std::max(worst, std::abs(got[i] - want) / unit);
  }
  return worst;
}

// Drivers promise 3 + 2 |x| places of 2^x; of what lies below the smallest normal number, nothing.
TEST_P(GpuKernels, ExponentialsAndLogarithmsAreWithinFourPlaces) {
  const Device device(GetParam());
  constexpr float kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  EXPECT_LE(worst_of(
                device, [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }, -87, 88.7f),
            4);
  EXPECT_LE(
      worst_of(
          device, [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, kSmallest, kLargest),
      4);
  const std::vector<float> ends =
      exp(from_vector(std::vector<float>{-INFINITY, INFINITY, NAN, 1000, -1000, 0}, {6}, Options(DType::f32, device)))
          .to_vector<float>();
  EXPECT_EQ(ends[0], 0);
  EXPECT_EQ(ends[1], INFINITY);
  EXPECT_TRUE(std::isnan(ends[2]));
  EXPECT_EQ(ends[3], INFINITY);
  EXPECT_EQ(ends[4], 0);
  EXPECT_EQ(ends[5], 1);
}

/// The largest distance from what long double gives, in units of the last place.
double worst_of_f64(const Device& device, Tensor (*ours)(const Tensor&), long double (*truth)(long double), double low,
                    double high) {
  constexpr int kCount = 2000;
  std::vector<double> x;
  for (int i = 0; i <= kCount; ++i) x.push_back(low + (high - low) * i / kCount);
  const std::vector<double> got =
      ours(from_vector(x, {static_cast<int64_t>(x.size())}, Options(DType::f64, device))).to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = truth(x[i]);
    const double size = std::abs(static_cast<double>(want)), unit = std::nextafter(size, INFINITY) - size;
    worst = std::max(worst, static_cast<double>(std::abs(got[i] - want) / unit));
  }
  return worst;
}

TEST_P(GpuKernels, FunctionsOfF64AreWithinFourPlaces) {
  const Device device(GetParam());
  if (device_->limits().missing_dtypes.contains(DType::f64)) GTEST_SKIP() << GetParam() << " has no f64";
  using Real = long double;
  struct Case {
    const char* name;
    Tensor (*ours)(const Tensor&);
    Real (*truth)(Real);
    double low, high;
  };
  const Case cases[] = {
      {"exp", [](const Tensor& x) { return exp(x); }, [](Real x) { return std::exp(x); }, -700, 709},
      {"expm1", [](const Tensor& x) { return expm1(x); }, [](Real x) { return std::expm1(x); }, -2, 2},
      {"log", [](const Tensor& x) { return log(x); }, [](Real x) { return std::log(x); }, 1e-3, 4},
      {"log1p", [](const Tensor& x) { return log1p(x); }, [](Real x) { return std::log1p(x); }, -0.9, 3},
      {"tanh", [](const Tensor& x) { return tanh(x); }, [](Real x) { return std::tanh(x); }, -20, 20},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, [](Real x) { return 1 / (1 + std::exp(-x)); }, -40, 40},
      {"erf", [](const Tensor& x) { return erf(x); }, [](Real x) { return std::erf(x); }, -6, 6},
      {"sin", [](const Tensor& x) { return sin(x); }, [](Real x) { return std::sin(x); }, -100, 100},
      {"cos", [](const Tensor& x) { return cos(x); }, [](Real x) { return std::cos(x); }, -100, 100},
  };
  for (const Case& each : cases)
    EXPECT_LE(worst_of_f64(device, each.ours, each.truth, each.low, each.high), 4) << each.name;
}

TEST_P(GpuKernels, TanhAndSigmoidAreWithinFourPlaces) {
  const Device device(GetParam());
  constexpr float kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  const auto of_tanh = [&](float low, float high) {
    return worst_of(
        device, [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, low, high);
  };
  EXPECT_LE(of_tanh(kSmallest, kLargest), 4);
  EXPECT_LE(of_tanh(-kLargest, -kSmallest), 4);
  EXPECT_LE(worst_of(
                device, [](const Tensor& x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); },
                -87, kLargest),
            4);
  const Tensor x = from_vector(std::vector<float>{-INFINITY, INFINITY, NAN, 0}, {4}, Options(DType::f32, device));
  const std::vector<float> ends = tanh(x).to_vector<float>(), of_sigmoid = sigmoid(x).to_vector<float>();
  EXPECT_EQ(ends[0], -1);
  EXPECT_EQ(ends[1], 1);
  EXPECT_TRUE(std::isnan(ends[2]));
  EXPECT_EQ(ends[3], 0);
  EXPECT_EQ(of_sigmoid[0], 0);
  EXPECT_EQ(of_sigmoid[1], 1);
  EXPECT_TRUE(std::isnan(of_sigmoid[2]));
  EXPECT_EQ(of_sigmoid[3], 0.5f);
}

INSTANTIATE_TEST_SUITE_P(Devices, GpuKernels, testing::Values("opencl", "vulkan"),
                         [](const testing::TestParamInfo<const char*>& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace tenon
