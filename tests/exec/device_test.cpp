// The registry, copies between devices, the checks of the null device, and evaluation by many threads.

#include "tenon/device/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "tenon/backends/null/null_device.h"
#include "tenon/backends/reference/reference_device.h"
#include "tenon/base/error.h"
#include "tenon/device/registry.h"
#include "tenon/device/storage.h"
#include "tenon/exec/eval.h"
#include "tenon/ir/build.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// Another reference device under its own name, made once.
Device second_device() {
  static const ir::DeviceId id = device::add({"reference-2", backends::reference::open});
  return id;
}

// ---- the registry ----

TEST(Registry, KnowsTheBackendsOfTheList) {
  const std::vector<std::string> names = device::names();
  EXPECT_NE(std::find(names.begin(), names.end(), "reference"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "null"), names.end());
  EXPECT_STREQ(device::find("reference").name, "reference");
}

TEST(Registry, TheFirstOfAKindHasANumberToo) { EXPECT_EQ(device::find("cpu:0"), device::find("cpu")); }

TEST(Registry, NamesTheNearestDeviceAndAllThatAreNotForTests) {
  const std::string text = text_of([] { device::find("referense"); });
  EXPECT_EQ(text.find("[device] unknown device 'referense', did you mean 'reference'?; known: "), 0u) << text;
  for (const std::string& name : device::names()) {
    const bool is_named = text.find(" " + name, text.find("known:")) != std::string::npos;
    EXPECT_TRUE(is_named || device::is_for_tests(device::find(name))) << name << ": " << text;
  }
  EXPECT_EQ(text.find(" null", text.find("known:")), std::string::npos) << text;
}

TEST(Registry, ListsDevicesForWork) {
  const std::vector<Device> there = devices();
  ASSERT_FALSE(there.empty());
  EXPECT_EQ(there[0].name(), "cpu");
  for (const Device& each : there) EXPECT_FALSE(device::is_for_tests(each.id)) << each.name();
}

TEST(Registry, SuggestsNothingWhenNothingIsNear) {
  // One that is not there is near all the same.
  EXPECT_NE(text_of([] { device::find("cudda"); }).find("did you mean 'cuda'?"), std::string::npos);
  const std::string text = text_of([] { device::find("zzzzzzzz"); });
  EXPECT_EQ(text.find("[device] unknown device 'zzzzzzzz'; known: "), 0u) << text;
  const std::string lines = text_of([] { device::find("zzzz\nzzzz"); });
  EXPECT_EQ(lines.find("[device] unknown device 'zzzz?zzzz'; known: "), 0u) << lines;
}

TEST(Registry, RefusesTheSameNameTwice) {
  second_device();
  EXPECT_EQ(text_of([] {
              device::add({"reference-2", backends::reference::open});
            }),
            "[device] 'reference-2' is already registered");
  EXPECT_EQ(text_of([] { device::add({"null", backends::null::open}); }), "[device] 'null' is already registered");
}

TEST(Registry, OpensADeviceOnceAndOnFirstUse) {
  int opened = 0;
  const ir::DeviceId id = device::add({"counted", [&] { return ++opened, backends::null::open(); }});
  EXPECT_EQ(opened, 0);
  device::Device& first = device::open(id);
  EXPECT_EQ(&device::open(id), &first);
  EXPECT_EQ(opened, 1);
}

TEST(Registry, ADeviceThatFailsToOpenCanBeTriedAgain) {
  int tries = 0;
  const ir::DeviceId id = device::add({"flaky", [&] {
                                         if (++tries == 1) base::fail("flaky", "no driver");
                                         return backends::null::open();
                                       }});
  EXPECT_EQ(text_of([&] { device::open(id); }), "[flaky] no driver");
  EXPECT_NO_THROW(device::open(id));
}

TEST(Registry, NamesStayWhereTheyAreWhenDevicesAreAdded) {
  const char* before = device::find("reference").name;
  for (int i = 0; i < 50; ++i) device::add({"filler-" + std::to_string(i), backends::null::open});
  EXPECT_EQ(device::find("reference").name, before);
  EXPECT_STREQ(before, "reference");
}

TEST(Registry, TheDefaultDeviceIsWhereTensorsAreMade) {
  const ir::DeviceId before = device::default_device();
  device::set_default_device(second_device().id);
  const Tensor x = tensor({1.0f});
  device::set_default_device(before);
  EXPECT_EQ(x.device().name(), "reference-2");
}

TEST(Registry, AnUnknownNameFailsWhereADeviceIsWanted) {
  EXPECT_THROW(Device("no such device"), Error);
  EXPECT_THROW(tensor({1.0f}).to("no such device"), Error);
}

// ---- several devices ----

class TwoDevices : public testing::Test {
 protected:
  Device here_{"reference"}, there_ = second_device();
  Tensor make(const Floats& values, Device where) {
    return from_vector(values, {static_cast<int64_t>(values.size())}, where);
  }
};

TEST_F(TwoDevices, ACopyHasTheSameValues) {
  const Tensor x = make({1, 2, 3}, here_), y = x.to(there_);
  EXPECT_EQ(y.device(), there_);
  EXPECT_EQ(y.to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_EQ(y.to(here_).to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_F(TwoDevices, ACopyIsLazyAndComputesWhatItCopies) {
  const Tensor x = make({1, 2, 3}, here_), y = (x * 2).to(there_) + 1;
  EXPECT_FALSE(y.is_evaluated());
  EXPECT_EQ(y.to_vector<float>(), (Floats{3, 5, 7}));
}

TEST_F(TwoDevices, ViewsAreCopiedInTheirOrder) {
  const Tensor x = from_vector(Floats{1, 2, 3, 4, 5, 6}, {2, 3}, here_);
  EXPECT_EQ(x.transpose(0, 1).to(there_).to_vector<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x.to(there_).transpose(0, 1).to_vector<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x.slice(1, 1, 2).to(there_).to_vector<float>(), (Floats{2, 5}));
}

TEST_F(TwoDevices, WorkMayGoBackAndForth) {
  Tensor x = make({1, 2}, here_);
  for (int i = 0; i < 10; ++i) x = (x + 1).to(i % 2 ? here_ : there_);
  EXPECT_EQ(x.device(), here_);
  EXPECT_EQ(x.to_vector<float>(), (Floats{11, 12}));
}

TEST_F(TwoDevices, OutputsOfBothAreEvaluatedTogether) {
  const Tensor a = make({1}, here_) + 1, b = make({2}, there_) + 1, c = a.to(there_) * b;
  exec::eval(std::vector{value_of(a), value_of(b), value_of(c)});
  EXPECT_TRUE(a.is_evaluated() && b.is_evaluated() && c.is_evaluated());
  EXPECT_EQ(c.item<float>(), 6);
}

TEST_F(TwoDevices, MemoryLivesOnItsDevice) {
  const Tensor x = make({1}, there_);
  EXPECT_EQ(&device::storage_of(value_of(x).node->data())->device(), &device::open(there_.id));
}

TEST_F(TwoDevices, OpsRefuseToMixThem) {
  EXPECT_EQ(text_of([&] { make({1}, here_) + make({1}, there_); }),
            "[add] tensors are on devices reference and reference-2; move one with to()");
}

TEST_F(TwoDevices, OpsOfManyKindsRefuseToMixThem) {
  const Tensor a = make({1, 2}, here_), b = make({1, 2}, there_);
  const auto refusal = [](const auto& action) {
    const std::string text = text_of(action);
    return text.substr(text.find(']') + 2);
  };
  const std::string mixed = "tensors are on devices reference and reference-2; move one with to()";
  EXPECT_EQ(refusal([&] { matmul(a.unsqueeze(0), b.unsqueeze(1)); }), mixed);
  EXPECT_EQ(refusal([&] { where(a > 0, a, b); }), mixed);
  EXPECT_EQ(refusal([&] { cat({a, b}, 0); }), mixed);
  EXPECT_EQ(refusal([&] { Tensor(a).add_(b); }), mixed);
  EXPECT_EQ(refusal([&] { index_select(a, 0, b.to(DType::i64)); }), mixed);
}

// A store that waits for another device stays behind when something it shares work with is read.
TEST_F(TwoDevices, AStoreThatNeedsAnotherDeviceIsCarriedOutWhenItIsRead) {
  Tensor w = make({1, 2}, here_).clone().eval();
  const Tensor far = make({10, 20}, there_), shared = exp(make({0, 0}, here_));
  w.add_(shared * far.to(here_));
  EXPECT_EQ((shared * 2).to_vector<float>(), (Floats{2, 2}));
  EXPECT_EQ(w.to_vector<float>(), (Floats{11, 22}));
}

TEST_F(TwoDevices, GradientsComeBack) {
  Tensor x = make({1, 2}, here_).requires_grad_();
  (x.to(there_) * make({3, 4}, there_)).sum().backward();
  EXPECT_EQ(x.grad().device(), here_);
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{3, 4}));
  x.zero_grad();
}

TEST_F(TwoDevices, CopyIntoATensorCrosses) {
  Tensor x = make({1, 2}, here_);
  x.copy_(make({5, 6}, there_));
  EXPECT_EQ(x.device(), here_);
  EXPECT_EQ(x.to_vector<float>(), (Floats{5, 6}));
}

TEST_F(TwoDevices, AnEmptyTensorCrosses) { EXPECT_EQ(make({}, here_).to(there_).to_vector<float>(), Floats{}); }

// ---- the null device ----

class NullDevice : public testing::Test {
 protected:
  std::unique_ptr<device::Device> device_ = backends::null::open();

  std::string enqueue(device::Command command) {
    return text_of([&] { device_->enqueue({&command, 1}); });
  }
  // exp of `count` numbers of f32.
  device::ProgramRef exp_program(int64_t count) {
    ir::Call call;
    call.op = ir::Op::exp;
    call.inputs.push_back({DType::f32, ir::IndexMap({count})});
    call.outputs.push_back({DType::f32, {count}});
    return device_->compiler().compile(call);
  }
};

constexpr const char* kNothing = "nothing was thrown";

TEST_F(NullDevice, TakesCommandsInsideOfLiveBuffers) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(32);
  std::vector<std::byte> host(32, std::byte{1});
  EXPECT_EQ(enqueue(device::Upload{host, {a, 32, 32}}), kNothing);
  EXPECT_EQ(enqueue(device::Copy{{a, 16, 32}, {b, 0, 32}}), kNothing);
  EXPECT_EQ(enqueue(device::Fill{{b, 0, 32}, std::byte{0}}), kNothing);
  EXPECT_EQ(enqueue(device::Download{{a, 0, 32}, host}), kNothing);
  EXPECT_EQ(host, std::vector<std::byte>(32));  // reads are zeros
  EXPECT_EQ(enqueue(device::Launch{exp_program(8), {{a, 32, 32}, {b, 0, 32}}, 1}), kNothing);
}

TEST_F(NullDevice, RefusesBytesOutsideOfTheBuffer) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(32);
  std::vector<std::byte> host(32);
  EXPECT_EQ(enqueue(device::Upload{host, {a, 40, 32}}), "[null] bytes 40..72 lie outside of buffer 1 of 64 bytes");
  EXPECT_EQ(enqueue(device::Download{{b, 1, 32}, host}), "[null] bytes 1..33 lie outside of buffer 2 of 32 bytes");
  EXPECT_EQ(enqueue(device::Copy{{a, 0, 33}, {b, 0, 33}}), "[null] bytes 0..33 lie outside of buffer 2 of 32 bytes");
  EXPECT_EQ(enqueue(device::Fill{{b, 32, 1}, std::byte{0}}), "[null] bytes 32..33 lie outside of buffer 2 of 32 bytes");
  EXPECT_EQ(enqueue(device::Launch{exp_program(9), {{a, 0, 36}, {b, 0, 36}}, 1}),
            "[null] bytes 0..36 lie outside of buffer 2 of 32 bytes");
}

TEST_F(NullDevice, RefusesAnOffsetSoLargeThatItsEndWrapsAround) {
  const device::Buffer a = device_->allocate(64);
  EXPECT_NE(enqueue(device::Fill{{a, std::numeric_limits<size_t>::max() - 7, 16}, std::byte{0}}), kNothing);
}

TEST_F(NullDevice, RefusesADeadBuffer) {
  const device::Buffer a = device_->allocate(64);
  device_->release(a);
  EXPECT_EQ(enqueue(device::Fill{{a, 0, 1}, std::byte{0}}), "[null] buffer 1 is not alive");
  EXPECT_EQ(enqueue(device::Fill{{{77, 64, nullptr}, 0, 1}, std::byte{0}}), "[null] buffer 77 is not alive");
}

TEST_F(NullDevice, RefusesToReleaseTwice) {
  const device::Buffer a = device_->allocate(64);
  device_->release(a);
  EXPECT_EQ(text_of([&] { device_->release(a); }), "[null] buffer 1 was released twice");
}

TEST_F(NullDevice, RefusesAKernelArgumentThatIsNotAligned) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(64);
  EXPECT_EQ(enqueue(device::Launch{exp_program(4), {{a, 2, 16}, {b, 0, 16}}, 1}),
            "[null] offset 2 is not aligned to 4");
}

TEST_F(NullDevice, RefusesTheWrongNumberOfArguments) {
  const device::Buffer a = device_->allocate(64);
  EXPECT_EQ(enqueue(device::Launch{exp_program(4), {{a, 0, 16}}, 1}),
            "[null] a launch has 1 arguments, its kernel takes 2");
}

TEST_F(NullDevice, RefusesAKernelThatReachesBeyondItsArgument) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(64);
  EXPECT_EQ(enqueue(device::Launch{exp_program(4), {{a, 0, 12}, {b, 0, 16}}, 1}),
            "[null] a command reaches 16 bytes into an argument of 12");
  EXPECT_EQ(enqueue(device::Launch{exp_program(4), {{a, 0, 16}, {b, 0, 12}}, 1}),
            "[null] a command reaches 16 bytes into an argument of 12");
}

TEST_F(NullDevice, RefusesALaunchThatDoesNotSayWhatItReads) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(64);
  EXPECT_EQ(enqueue(device::Launch{exp_program(4), {{a, 0, 16}, {b, 0, 16}}}),
            "[null] a launch reads 0 arguments, its kernel 1");
}

TEST_F(NullDevice, RefusesALaunchWithoutTheNumbersOfItsKernel) {
  const device::Buffer a = device_->allocate(64), b = device_->allocate(64);
  ir::Call call;
  call.op = ir::Op::random_bits;
  call.attrs = ir::RandomAttrs{4, 0};
  call.inputs.push_back({DType::i64, ir::IndexMap({2})});
  call.outputs.push_back({DType::i32, {4}});
  device::Launch launch{device_->compiler().compile(call), {{a, 0, 16}, {b, 0, 16}}, 1};
  EXPECT_EQ(enqueue(launch), "[null] a launch brings 0 numbers, its kernel takes 1");
  launch.numbers.push_back(12);
  EXPECT_EQ(enqueue(launch), kNothing);
}

TEST_F(NullDevice, KnowsHowFarAViewReaches) {
  const device::Buffer a = device_->allocate(40), b = device_->allocate(400);
  const auto launch = [&](const std::vector<ir::Move>& moves) {
    ir::IndexMap map({10});
    map.apply(moves);
    ir::Call call;
    call.op = ir::Op::exp;
    call.inputs.push_back({DType::f32, map});
    call.outputs.push_back({DType::f32, map.shape()});
    const std::string whole = enqueue(device::Launch{device_->compiler().compile(call), {{a, 0, 40}, {b, 0, 400}}, 1});
    const std::string cut = enqueue(device::Launch{device_->compiler().compile(call), {{a, 0, 39}, {b, 0, 400}}, 1});
    EXPECT_EQ(whole, kNothing);
    return cut != kNothing;  // true when the last byte matters
  };
  EXPECT_TRUE(launch({}));
  EXPECT_TRUE(launch({{ir::Op::flip, ir::AxesAttrs{{0}}}}));
  EXPECT_TRUE(launch({{ir::Op::pad, ir::PadAttrs{{3}, {4}}}}));
  EXPECT_FALSE(launch({{ir::Op::shrink, ir::ShrinkAttrs{{0}, {9}, {1}}}}));
  EXPECT_FALSE(launch({{ir::Op::shrink, ir::ShrinkAttrs{{0}, {5}, {2}}}}));  // 0, 2, 4, 6, 8
  EXPECT_TRUE(launch({{ir::Op::shrink, ir::ShrinkAttrs{{1}, {5}, {2}}}}));
  EXPECT_FALSE(launch({{ir::Op::shrink, ir::ShrinkAttrs{{0}, {0}, {1}}}}));
}

TEST_F(NullDevice, RunsWholeGraphs) {
  const Tensor x = from_vector(Floats(24, 1.0f), {2, 3, 4}, Device("null"));
  const Tensor y = softmax(matmul(x, x.transpose(1, 2)), -1), z = cat({y, y}, 0).sum({1});
  EXPECT_EQ(z.to_vector<float>(), Floats(12, 0.0f));
}

TEST_F(NullDevice, ReplaysARecording) {
  const device::Buffer a = device_->allocate(64);
  const device::Command command = device::Fill{{a, 0, 64}, std::byte{0}};
  const auto recording = device_->record({&command, 1});
  EXPECT_NO_THROW(recording->replay({}, true));
  device_->release(a);
  EXPECT_EQ(text_of([&] { recording->replay({}, true); }), "[null] buffer 1 is not alive");
}

TEST_F(NullDevice, RefusesToReadWhatWasOverwrittenOrNeverWritten) {
  const device::Buffer a = device_->allocate(256), b = device_->allocate(256);
  const auto copy = [&](size_t from, uint64_t version, size_t bytes) {
    return enqueue(device::Copy{{a, from, bytes, version}, {b, 0, bytes, 9}});
  };
  EXPECT_EQ(copy(0, 7, 64), "[null] byte 0 of buffer 1 does not hold version 7: it was overwritten, or never written");
  EXPECT_EQ(enqueue(device::Fill{{a, 0, 128, 7}, std::byte{0}}), kNothing);
  EXPECT_EQ(copy(0, 7, 128), kNothing);
  EXPECT_EQ(enqueue(device::Fill{{a, 32, 32, 8}, std::byte{0}}), kNothing);
  EXPECT_EQ(copy(0, 7, 32), kNothing);
  EXPECT_EQ(copy(0, 7, 128),
            "[null] byte 32 of buffer 1 does not hold version 7: it was overwritten, or never written");
  EXPECT_EQ(copy(32, 8, 32), kNothing);
  EXPECT_EQ(copy(64, 7, 64), kNothing);
  EXPECT_EQ(copy(64, 7, 65),
            "[null] byte 128 of buffer 1 does not hold version 7: it was overwritten, or never written");
  EXPECT_EQ(copy(0, 0, 256), kNothing);  // 0 asks for no check
}

// ---- storages ----

TEST(Storage, CountsBuffersAndBytes) {
  device::Device& device = device::open(device::find("reference"));
  const device::MemoryStats before = device::memory_stats();
  device::reset_peak();
  {
    const device::Storage a(device, 1000), b(device, 24);
    EXPECT_NE(a.id(), b.id());
    EXPECT_EQ(device::memory_stats().live_buffers, before.live_buffers + 2);
    EXPECT_EQ(device::memory_stats().live_bytes, before.live_bytes + 1024);
  }
  const device::MemoryStats after = device::memory_stats();
  EXPECT_EQ(after.live_buffers, before.live_buffers);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.peak_bytes, before.live_bytes + 1024);
  EXPECT_EQ(after.allocations, before.allocations + 2);
}

TEST(Storage, SurvivesARequestThatIsTooLarge) {
#ifndef __SANITIZE_ADDRESS__  // whose allocator ends the process instead
  device::Device& device = device::open(device::find("reference"));
  const device::MemoryStats before = device::memory_stats();
  EXPECT_THROW(device::Storage(device, size_t{1} << 60), Error);
  EXPECT_EQ(device::memory_stats().live_bytes, before.live_bytes);
  EXPECT_EQ(device::memory_stats().live_buffers, before.live_buffers);
#endif
}

// ---- threads ----

TEST(Threads, EvaluateIndependentGraphs) {
  constexpr size_t kThreads = 4;
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  const size_t nodes = ir::live_nodes(), bytes = device::memory_stats().live_bytes;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &wrong] {
      try {
        float expected = static_cast<float>(t);
        Tensor x = from_vector(Floats(64, expected), {8, 8}, Device("reference"));
        for (int i = 0; i < 300; ++i) {
          x = x.transpose(0, 1) * 0.5 + static_cast<double>(t);
          expected = expected * 0.5f + static_cast<float>(t);
          if (i % 3 == 0 && x.to_vector<float>() != Floats(64, expected))
            wrong[t] = fmt::format("thread {} step {}", t, i);
          if (i % 5 == 0) x.slice(0, 0, 4).add_(0);
        }
      } catch (const std::exception& error) {
        wrong[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
  EXPECT_EQ(ir::live_nodes(), nodes);
  EXPECT_EQ(device::memory_stats().live_bytes, bytes);
}

// All threads read the same leaf and record the same graph, so they evaluate the same nodes.
TEST(Threads, EvaluateTheSameGraph) {
  constexpr size_t kThreads = 4;
  const Tensor x = from_vector(Floats{1, 2, 3, 4}, {4}, Device("reference"));
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Tensor y = x;
        for (int k = 0; k < 5; ++k) y = y * 2 + static_cast<double>(i);
        const auto offset = static_cast<float>(31 * i);
        if (y.to_vector<float>() != Floats{32 + offset, 64 + offset, 96 + offset, 128 + offset})
          wrong[t] = fmt::format("round {}", i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

// One thread writes in place what the others still read: each has recorded its reader before.
TEST(Threads, StoresSpareReadersOnOtherThreads) {
  for (int round = 0; round < 100; ++round) {
    Tensor x = from_vector(Floats{1, 2, 3, 4}, {4}, Device("reference"));
    std::vector<Tensor> readers;
    for (int t = 0; t < 3; ++t) readers.push_back(x * static_cast<double>(t + 1));
    x.fill_(0);
    std::vector<Floats> read(readers.size());
    std::vector<std::thread> threads;
    threads.emplace_back([&] { x.eval(); });
    for (size_t t = 0; t < readers.size(); ++t)
      threads.emplace_back([&, t] { read[t] = readers[t].to_vector<float>(); });
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < readers.size(); ++t) {
      const auto by = static_cast<float>(t + 1);
      ASSERT_EQ(read[t], (Floats{by, 2 * by, 3 * by, 4 * by})) << "round " << round;
    }
    ASSERT_EQ(x.to_vector<float>(), Floats(4, 0.0f));
  }
}

// Weights that several threads compute with: views of one tensor, which nobody has looked at before.
TEST(Threads, ReadViewsOfOneTensorForTheFirstTime) {
  for (int round = 0; round < 50; ++round) {
    const Tensor weights = (ones({4, 64}) * 3).eval();
    const Tensor row = weights[1], turned = weights.t();
    std::vector<double> sums(4);
    std::vector<std::thread> threads;
    for (double& sum : sums) threads.emplace_back([&] { sum = (row.sum() + turned.sum()).item<double>(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sums, std::vector<double>(4, 3 * 64 + 3 * 256));
  }
}

// The first who reads a tensor replaces how it was made by its buffer, while others read it.
TEST(Threads, ReadOneTensorThatNobodyHasReadBefore) {
  for (int round = 0; round < 200; ++round) {
    const Tensor weights = ones({4, 64}) * 3, beside = weights * 2;
    const Tensor row = weights[1];
    if (round % 2 == 1) beside.eval();  // weights is computed on the way, and looked at by nobody
    std::vector<double> sums(4);
    std::vector<std::thread> threads;
    for (double& sum : sums) {
      threads.emplace_back([&] {
        const Dims& shape = weights.shape();
        weights.eval();
        sum = (row.sum() + weights.sum() + beside.sum()).item<double>() + static_cast<double>(shape[1]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(sums, std::vector<double>(4, 3 * 64 + 3 * 256 + 6 * 256 + 64));
  }
}

// A reference to a shape outlives the op that made the tensor.
TEST(Shapes, StayWhereTheyAreWhenTheTensorIsComputed) {
  const Tensor made = ones({3, 5}) + 1;
  const Dims& shape = made.shape();
  made.eval();
  std::vector<Tensor> others;
  for (int i = 0; i < 100; ++i) others.push_back(ones({7, 7, 7}) + static_cast<double>(i));  // takes freed memory
  EXPECT_EQ(shape, (Dims{3, 5}));
}

}  // namespace
}  // namespace tenon
