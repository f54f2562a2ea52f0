// The contract for memory that the host cannot see: what launches say, uploads, faults, scratch, absence, loss. Mostly
// on devices like `remote`, which keep to it and no more.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/backends/null/null_device.h"
#include "tenon/backends/reference/reference_device.h"
#include "tenon/backends/remote/remote_device.h"
#include "tenon/base/error.h"
#include "tenon/device/faults.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/exec/eval.h"
#include "tenon/exec/compile_progress.h"
#include "tenon/exec/program_cache.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"
#include "tests/test_name.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;
using backends::remote::Behaviour;
using namespace std::chrono_literals;

constexpr const char* kNothing = "nothing was thrown";

// A device that runs nothing before somebody waits.
std::unique_ptr<device::Device> open_lazy(std::string name) {
  return backends::remote::open(backends::cpu::open(), {.name = std::move(name), .latest = 3600s});
}

Device lazy_device() {
  static const ir::DeviceId id = device::add({"lazy", [] { return open_lazy("lazy"); }, true});
  return id;
}

// Passes everything on, and keeps the launches and copies it has seen.
class Watched : public device::Device {
 public:
  explicit Watched(std::unique_ptr<device::Device> inner) : inner_(std::move(inner)) {}
  const ir::Limits& limits() const override { return inner_->limits(); }
  device::Compiler& compiler() override { return inner_->compiler(); }
  device::Buffer allocate(size_t bytes) override { return inner_->allocate(bytes); }
  void release(const device::Buffer& buffer) override { inner_->release(buffer); }
  void enqueue(std::span<const device::Command> commands) override {
    for (const device::Command& command : commands) {
      if (const auto* launch = std::get_if<device::Launch>(&command)) launches.push_back(*launch);
      if (const auto* copy = std::get_if<device::Copy>(&command)) copies.push_back(*copy);
    }
    inner_->enqueue(commands);
  }
  device::Ticket submit(bool caller_waits) override { return inner_->submit(caller_waits); }
  bool is_done(device::Ticket ticket) override { return inner_->is_done(ticket); }
  void wait(device::Ticket ticket) override { inner_->wait(ticket); }

  std::vector<device::Launch> launches;
  std::vector<device::Copy> copies;

 private:
  std::unique_ptr<device::Device> inner_;
};

Device watched_device() {
  static const ir::DeviceId id =
      device::add({"watched", [] { return std::make_unique<Watched>(backends::cpu::open()); }, true});
  return id;
}
Watched& watched() { return static_cast<Watched&>(device::open(watched_device().id)); }

Tensor on(Device device, const Floats& values) {
  return from_vector(values, {static_cast<int64_t>(values.size())}, device);
}

// An index that only the device knows.
Tensor bad_gather(const Tensor& table) {
  return index_select(table, 0, full({2}, 7, Options(DType::i64, table.device())).clone() + 1);
}
constexpr const char* kBadIndex = "[index_select] index 8 is out of range for axis 0 of size 3";

// ---- what a launch says ----

TEST(Launches, SayWhatTheyReadAndHowManyBytes) {
  const Tensor a = on(watched_device(), {1, 2, 3}), b = on(watched_device(), {4, 5, 6});
  watched().launches.clear();
  (a + b).eval();
  ASSERT_EQ(watched().launches.size(), 1u);
  const device::Launch& launch = watched().launches[0];
  EXPECT_EQ(launch.inputs, 2u);
  ASSERT_EQ(launch.args.size(), 3u);
  for (const device::Arg& arg : launch.args) EXPECT_EQ(arg.bytes, 12u);
  EXPECT_FALSE(launch.writes_state);
}

TEST(Launches, SayThatTheyOverwriteAState) {
  Tensor state = on(watched_device(), {1, 2, 3});
  state.eval();
  watched().launches.clear();
  state.add_(1);
  state.eval();
  ASSERT_EQ(watched().launches.size(), 1u);
  EXPECT_TRUE(watched().launches[0].writes_state);
  EXPECT_EQ(state.to_vector<float>(), (Floats{2, 3, 4}));
}

TEST(Launches, OfAReplaySayThatTheyOverwriteAState) {
  Tensor state = on(watched_device(), {1, 2, 3}).clone().eval();
  const Tensor x = on(watched_device(), {1, 1, 1}).eval();
  auto step = compile([&](const Tensor& by) {
    state.add_(by);
    return by * 2;
  });
  for (int i = 0; i < 3; ++i) step(x);
  watched().launches.clear();
  watched().copies.clear();
  step(x);
  size_t writing = 0;
  for (const device::Launch& launch : watched().launches) writing += launch.writes_state;
  for (const device::Copy& copy : watched().copies) writing += copy.writes_state;
  EXPECT_EQ(writing, 1u);
  EXPECT_EQ(state.to_vector<float>(), (Floats{5, 6, 7}));
}

TEST(Launches, GetTheirScratchFromThePlan) {
  const int64_t wide = 64;
  Tensor table = zeros({5, wide}, Options(DType::f32, watched_device())).clone().eval();
  table.requires_grad_();
  const Tensor index = from_vector(std::vector<int64_t>{1, 3, 1}, {3}, watched_device()).eval();
  watched().launches.clear();
  const Tensor gradient = grad(exp(index_select(table, 0, index)).sum(), table);
  EXPECT_EQ(gradient.sum({1}).to_vector<float>(), (Floats{0, 2 * wide, 0, wide, 0}));
  size_t with_scratch = 0;
  for (const device::Launch& launch : watched().launches) {
    const size_t bytes = launch.program->scratch_bytes();
    if (bytes == 0) continue;
    ++with_scratch;
    const device::Arg& scratch = launch.args.back();
    EXPECT_EQ(scratch.bytes, bytes);
    EXPECT_EQ(scratch.offset % watched().limits().alignment, 0u);
    EXPECT_LE(scratch.offset + scratch.bytes, scratch.buffer.bytes);
    for (size_t i = 0; i + 1 < launch.args.size(); ++i) {  // it meets no argument
      const device::Arg& arg = launch.args[i];
      EXPECT_TRUE(arg.buffer.handle != scratch.buffer.handle || arg.offset + arg.bytes <= scratch.offset ||
                  scratch.offset + scratch.bytes <= arg.offset);
    }
  }
  EXPECT_EQ(with_scratch, 1u);
}

// ---- uploads ----

std::vector<std::byte> downloaded(device::Device& device, const device::Buffer& from) {
  std::vector<std::byte> bytes(from.bytes);
  const device::Command command = device::Download{{from, 0, from.bytes}, bytes};
  device.wait(device.send({&command, 1}, true));
  return bytes;
}

TEST(Uploads, AreCopiedBeforeEnqueueReturns) {
  const auto devices = [] {
    std::vector<std::unique_ptr<device::Device>> all;
    all.push_back(backends::cpu::open());
    all.push_back(backends::reference::open());
    all.push_back(open_lazy("lazy"));
    return all;
  }();
  for (const auto& device : devices) {
    for (const size_t bytes : {size_t{16}, size_t{3} << 20}) {
      const device::Buffer buffer = device->allocate(bytes);
      std::vector<std::byte> source(bytes, std::byte{7});
      const device::Command upload = device::Upload{source, {buffer, 0, bytes}};
      device->enqueue({&upload, 1});
      std::fill(source.begin(), source.end(), std::byte{8});
      device->submit(false);
      EXPECT_EQ(downloaded(*device, buffer), std::vector<std::byte>(bytes, std::byte{7}));
      device->release(buffer);
    }
  }
}

TEST(Uploads, OfManyBytesWaitForNothing) {
  const Device device = lazy_device();
  const Tensor x = (on(device, {1, 2, 3}) * 2).eval();
  const device::Ticket before = device::open(device.id).submit(false);
  Floats many(1 << 20, 3.0f);
  const Tensor large = from_vector(many, {1 << 20}, device);
  std::fill(many.begin(), many.end(), 9.0f);
  EXPECT_FALSE(device::open(device.id).is_done(before));
  EXPECT_EQ(large.sum().item<float>(), 3.0f * (1 << 20));
  EXPECT_EQ(x.to_vector<float>(), (Floats{2, 4, 6}));
}

// ---- faults ----

std::exception_ptr error_of(const char* text) { return std::make_exception_ptr(Error(text)); }

TEST(Faults, FailTheirTicketAndAllUntilSomebodyIsTold) {
  device::Faults faults;
  faults.set(3, error_of("bad"));
  EXPECT_FALSE(faults.has_failed(2));
  EXPECT_TRUE(faults.has_failed(3));
  EXPECT_TRUE(faults.has_failed(9));
  faults.raise(2, 5);  // not concerned, and nobody is told
  EXPECT_TRUE(faults.has_failed(9));
  EXPECT_FALSE(faults.is_known_to_fail(4));
  EXPECT_EQ(text_of([&] { faults.raise(4, 5); }), "bad");
  EXPECT_TRUE(faults.is_known_to_fail(4));
  EXPECT_TRUE(faults.has_failed(5));
  EXPECT_FALSE(faults.has_failed(6));
  EXPECT_EQ(text_of([&] { faults.raise(3, 8); }), "bad");  // again, for whoever asks
  EXPECT_FALSE(faults.has_failed(6));
}

TEST(Faults, OnlyTheFirstOfSeveralCounts) {
  device::Faults faults;
  faults.set(3, error_of("first"));
  faults.set(4, error_of("follows from it"));
  EXPECT_EQ(text_of([&] { faults.raise(4, 4); }), "first");
  faults.set(6, error_of("another"));
  EXPECT_EQ(text_of([&] { faults.raise(6, 7); }), "another");
  EXPECT_EQ(text_of([&] { faults.raise(3, 7); }), "first");
  EXPECT_EQ(text_of([&] { faults.raise(5, 7); }), kNothing);
}

// Where work runs long after it was submitted, and the cpu, where it may.
std::vector<std::string> devices_with_faults() {
  std::vector<std::string> names = device::names();
  std::erase_if(names, [](const std::string& name) {
    return name != "cpu" && name != "remote" && name != "opencl" && name != "vulkan" && name != "cuda";
  });
  return names;
}

class FaultsOn : public testing::TestWithParam<std::string> {
 protected:
  Device device_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Devices, FaultsOn, testing::ValuesIn(devices_with_faults()),
                         [](const auto& row) { return test_name(row.param); });

// Runs an action that may or may not notice the fault already.
void try_to(const auto& action) {
  try {
    action();
  } catch (const Error&) {
  }
}

TEST_P(FaultsOn, StatesKeepTheirValueUntilTheFaultIsKnown) {
  Tensor w = on(device_, {1, 2, 3}).clone().eval(), other = on(device_, {5}).clone().eval();
  wait({w, other});
  const Tensor bad = bad_gather(on(device_, {1, 2, 3}));
  try_to([&] {
    bad.eval();
    w.add_(10);  // submitted after the fault, by somebody who does not know of it
    w.eval();
    other.mul_(2);
    other.eval();
  });
  EXPECT_EQ(text_of([&] { bad.to_vector<float>(); }), kBadIndex);
  const float first = w.to_vector<float>()[0];
  EXPECT_TRUE(first == 1 || GetParam() == "cpu") << first;  // the cpu may have told before w was written
  EXPECT_EQ(text_of([&] { bad.to_vector<float>(); }), kBadIndex);
  w.add_(100);
  EXPECT_EQ(w.to_vector<float>()[0], first + 100);
}

TEST_P(FaultsOn, WhatIsSubmittedAfterItIsKnownRuns) {
  const Tensor x = on(device_, {1, 2, 3});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(text_of([&] { bad_gather(x * 1).to_vector<float>(); }), kBadIndex);
    EXPECT_EQ((x + i).to_vector<float>()[0], 1.0f + static_cast<float>(i));
  }
}

// A sum that a failed step should have made is either as it was or not there, however many steps fail behind it.
TEST_P(FaultsOn, WhatWasNeverComputedIsNotReadByLaterSteps) {
  const Tensor table = on(device_, {1, 2, 3}).eval();
  Tensor sum = zeros({1}, device_);
  wait({table, sum});
  for (int i = 0; i < 3; ++i) {
    try_to([&] {
      const Tensor picked = bad_gather(table * 1);
      sum.add_(picked.sum());
      eval({picked, sum});
      wait({picked});
    });
    float seen = 0;
    try_to([&] { seen = sum.to_vector<float>()[0]; });
    EXPECT_EQ(seen, 0) << i;
  }
}

TEST_P(FaultsOn, AReplayThatFindsABadIndexLeavesItsStates) {
  Tensor w = on(device_, {1, 2, 3}).clone().eval();
  auto step = compile([&](const Tensor& at) {
    const Tensor picked = index_select(w, 0, at + 0);
    w.add_(1);
    return picked;
  });
  const auto index = [&](int64_t i) { return from_vector(std::vector<int64_t>{i}, {1}, device_).eval(); };
  const Tensor good = index(2), bad = index(8);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(good).item<float>(), 3.0f + static_cast<float>(i));
  Tensor never;
  try_to([&] {
    never = step(bad);
    step(good);
    step(good);
  });
  if (never.defined()) {  // or the cpu has told at once
    EXPECT_EQ(text_of([&] { synchronize(device_); }), kBadIndex);
    EXPECT_EQ(text_of([&] { never.item<float>(); }), kBadIndex);
  }
  EXPECT_EQ(w.to_vector<float>(), (Floats{5, 6, 7}));
  EXPECT_EQ(step(good).item<float>(), 7);
  EXPECT_EQ(w.to_vector<float>(), (Floats{6, 7, 8}));
}

// What is added in place, too: all indices are looked at before anything is.
TEST_P(FaultsOn, AReplayThatScattersToABadIndexLeavesItsState) {
  Tensor w = on(device_, {1, 2, 3}).clone().eval();
  const Tensor ten = full({2}, 10.0, device_).eval();
  auto step = compile([&](const Tensor& at) {
    w.scatter_add_(0, at + 0, ten);
    return w.sum();
  });
  const auto index = [&](int64_t i, int64_t k) { return from_vector(std::vector<int64_t>{i, k}, {2}, device_).eval(); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step(index(2, 2)).item<float>(), 26.0f + 20 * static_cast<float>(i));
  EXPECT_EQ(text_of([&] {
              step(index(0, 8));
              synchronize(device_);
            }),
            "[scatter_add] index 8 is out of range for axis 0 of size 3");
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2, 83}));
  EXPECT_EQ(step(index(0, 1)).item<float>(), 106);
}

TEST_P(FaultsOn, TheResultOfAReplayThatFailedRaisesItAgain) {
  const Tensor table = on(device_, {1, 2, 3}).eval();
  auto pick = compile([&](const Tensor& at) { return index_select(table, 0, at + 0); });
  const auto index = [&](int64_t i) { return from_vector(std::vector<int64_t>{i}, {1}, device_).eval(); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pick(index(1)).item<float>(), 2);
  Tensor never;
  try_to([&] { never = pick(index(8)); });
  if (!never.defined()) return;  // the cpu has told at once
  for (int i = 0; i < 3; ++i) EXPECT_EQ(text_of([&] { never.item<float>(); }), kBadIndex);
}

// The loss still reads the old weights when the new ones are made, so that these lie elsewhere.
TEST_P(FaultsOn, AStepThatFindsABadIndexLeavesTheWeightsAlthoughNobodyCapturedIt) {
  for (const bool by_hand : {true, false}) {
    Tensor w = on(device_, {1, 2, 3}).clone().requires_grad_();
    optim::SGD optimizer({w}, {.lr = 1});
    const auto step = [&](int64_t at) {
      Tensor loss = index_select(w, 0, from_vector(std::vector<int64_t>{at}, {1}).to(device_) + 0).sum();
      loss.backward();
      if (by_hand) {
        const NoGrad updating;
        w.sub_(w.grad());
      } else {
        optimizer.step();
      }
      w.zero_grad();
      return loss;
    };
    EXPECT_EQ(step(0).item<float>(), 1);
    EXPECT_NE(text_of([&] { step(8).item<float>(); }), kNothing);
    EXPECT_EQ(step(0).item<float>(), 0) << "by hand: " << by_hand;
    EXPECT_EQ(w.to_vector<float>(), (Floats{-1, 2, 3}));
    // Nobody looks until other steps have followed.
    try_to([&] {
      step(8);
      step(1);
    });
    try_to([&] { synchronize(device_); });
    try_to([&] { w.to_vector<float>(); });
    step(2).item<float>();
    EXPECT_EQ(w.to_vector<float>()[2], 2);
  }
}

TEST_P(FaultsOn, AWriteThatFailsIsRaisedOnce) {
  const Tensor table = on(device_, {1, 2, 3}).eval();
  Tensor state = on(device_, {7}).clone().eval();
  state.copy_(index_select(table, 0, from_vector(std::vector<int64_t>{4}, {1}).to(device_) * 2));
  EXPECT_EQ(text_of([&] { (state * 1).to_vector<float>(); }), kBadIndex);
  EXPECT_EQ((state * 2).to_vector<float>(), (Floats{14}));
  EXPECT_EQ(state.to_vector<float>(), (Floats{7}));
}

// The state is written before the index that is made of it is found to be bad.
TEST_P(FaultsOn, AStateThatABadIndexIsMadeOfKeepsItsValue) {
  const Tensor table = on(device_, {1, 2, 3}).eval();
  Tensor at = from_vector(std::vector<int64_t>{0}, {1}, device_).clone().eval();
  auto advance = compile([&](const Tensor& by) {
    at.add_(by);
    return index_select(table, 0, at);
  });
  const auto step = [&](int64_t i) { return from_vector(std::vector<int64_t>{i}, {1}, device_).eval(); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(advance(step(i % 2 ? -1 : 1)).item<float>(), i % 2 ? 1 : 2);
  EXPECT_EQ(text_of([&] { advance(step(8)).item<float>(); }), kBadIndex);
  EXPECT_EQ(at.item<int64_t>(), 0);
  EXPECT_EQ(advance(step(2)).item<float>(), 3);
}

TEST(Faults, AreToldByAStateIfNobodyKnows) {
  const Device device("remote");
  Tensor w = on(device, {1, 2, 3}).clone().eval(), other = on(device, {4}).clone().eval();
  wait({w, other});
  const Tensor bad = bad_gather(on(device, {1, 2, 3})).eval();
  w.add_(1);
  other.add_(1);
  eval({w, other});
  EXPECT_EQ(text_of([&] { w.to_vector<float>(); }), kBadIndex);
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_EQ(other.item<float>(), 4);
}

TEST(Faults, AreRaisedBySynchronizeOnce) {
  const Device device("remote");
  const Tensor bad = bad_gather(on(device, {1, 2, 3})).eval();
  EXPECT_EQ(text_of([&] { synchronize(device); }), kBadIndex);
  EXPECT_EQ(text_of([&] { synchronize(device); }), kNothing);
  EXPECT_EQ(text_of([&] { synchronize(); }), kNothing);
  EXPECT_EQ(text_of([&] { bad.to_vector<float>(); }), kBadIndex);
}

TEST(Faults, OfOneDeviceDoNotConcernAnother) {
  const Tensor bad = bad_gather(on(Device("remote"), {1, 2, 3})).eval();
  EXPECT_EQ((on(Device("cpu"), {1}) + 1).item<float>(), 2);
  EXPECT_EQ(text_of([&] { synchronize(); }), kBadIndex);
}

// ---- remote keeps to the contract and no more ----

TEST(Remote, ShowsNoAddresses) { EXPECT_EQ(device::open(Device("remote").id).pool().take(64).host, nullptr); }

TEST(Remote, RunsNothingBeforeItsTime) {
  const auto device = open_lazy("lazy");
  const device::Buffer buffer = device->allocate(4);
  std::vector<std::byte> into(4, std::byte{1});
  const std::vector<std::byte> from(4, std::byte{2});
  const std::vector<device::Command> both{device::Upload{from, {buffer, 0, 4}}, device::Download{{buffer, 0, 4}, into}};
  const device::Ticket ticket = device->send(both, false);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(into[0], std::byte{1});
  EXPECT_FALSE(device->is_done(ticket));
  device->wait(ticket);
  EXPECT_EQ(into, from);
  EXPECT_TRUE(device->is_done(ticket));
}

TEST(Remote, FillsFreshAndDiscardedMemoryWithGarbage) {
  const auto device = open_lazy("lazy");
  const device::Buffer buffer = device->pool().take(64);
  EXPECT_EQ(downloaded(*device, buffer)[63], std::byte{0xFF});
  const device::Command zero = device::Fill{{buffer, 0, 64}, std::byte{0}};
  device->send({&zero, 1}, false);
  EXPECT_EQ(downloaded(*device, buffer)[63], std::byte{0});
  device->pool().give_back(buffer);
  const device::Buffer again = device->pool().take(64);
#ifndef __SANITIZE_ADDRESS__  // where the pool keeps nothing
  EXPECT_EQ(again.handle, buffer.handle);
#endif
  EXPECT_EQ(downloaded(*device, again)[63], std::byte{0xFF});
}

TEST(Remote, KeepsMemoryThatWorkUnderWayNeeds) {
  const auto device = open_lazy("lazy");
  const device::Buffer buffer = device->allocate(4);
  const std::vector<std::byte> from(4, std::byte{2});
  std::vector<std::byte> into(4);
  const std::vector<device::Command> both{device::Upload{from, {buffer, 0, 4}}, device::Download{{buffer, 0, 4}, into}};
  const device::Ticket ticket = device->send(both, false);
  device->release(buffer);
  device->wait(ticket);
  EXPECT_EQ(into, from);
  EXPECT_EQ(text_of([&] { device->enqueue(both); }), "[remote] buffer 1 is not alive");
}

// ---- several devices ----

// Work of a device waits here until it is let through, at most so long that a test which hangs ends.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    is_reached_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, 60s, [&] { return is_open_; });
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_reached_ = false, is_open_ = false;
};

TEST(Crossing, AnotherThreadEvaluatesWhileACopyWaitsForASlowDevice) {
  static Gate gate;
  static const ir::DeviceId slow = device::add(
      {"slow",
       [] { return backends::remote::open(backends::cpu::open(), {.name = "slow", .before = [] { gate.pass(); }}); },
       true});
  const Tensor far = on(Device(slow), {1, 2, 3}) * 2;
  std::atomic<bool> has_crossed = false;
  std::thread crossing([&] {
    EXPECT_EQ((far.to(Device("cpu")) + 1).to_vector<float>(), (Floats{3, 5, 7}));
    has_crossed = true;
  });
  gate.wait_until_reached();
  for (int i = 0; i < 10; ++i) EXPECT_EQ((on(Device("cpu"), {1}) + i).item<float>(), 1 + static_cast<float>(i));
  EXPECT_FALSE(has_crossed);
  gate.open();
  crossing.join();
}

TEST(Crossing, SeveralThreadsBringOverTheSameValue) {
  const Tensor far = on(Device("remote"), {1, 2, 3}) * 2, near = far.to(Device("cpu"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] { EXPECT_EQ((near + t).to_vector<float>()[2], 6 + static_cast<float>(t)); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Crossing, RemoteAndCpuDoNotMix) {
  EXPECT_EQ(text_of([&] { on(Device("cpu"), {1}) * on(Device("remote"), {1}); }),
            "[mul] tensors are on devices cpu and remote; move one with to()");
}

// ---- a device that is not there ----

TEST(Absence, IsToldWithItsReasonAndNothingElseFails) {
  int asked = 0;
  const ir::DeviceId id = device::add({"absentee", backends::null::open, false, [&] {
                                         ++asked;
                                         return std::string("no driver (libabsent.so.1 was not found)");
                                       }});
  const std::vector<std::string> names = device::names();
  EXPECT_EQ(std::find(names.begin(), names.end(), "absentee"), names.end());
  const std::string expected = "[device] 'absentee' is not there: no driver (libabsent.so.1 was not found)";
  EXPECT_EQ(text_of([] { device::find("absentee"); }), expected);
  EXPECT_EQ(text_of([] { ones({2}, Options(Device("absentee"))); }), expected);
  EXPECT_EQ(text_of([&] { device::open(id); }), expected);
  bool is_listed = false;
  for (const device::Absent& one : device::absent())
    is_listed = is_listed || (one.name == "absentee" && one.why == "no driver (libabsent.so.1 was not found)");
  EXPECT_TRUE(is_listed);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(ones({3}).sum().item<float>(), 3);
}

TEST(Absence, IsNotTheCaseWhereNoReasonIsGiven) {
  device::add({"present", backends::null::open, false, [] { return std::string(); }});
  EXPECT_NO_THROW(device::open(device::find("present")));
}

// ---- a device that is lost ----

class Loss : public testing::Test {
 protected:
  // Each test loses a device of its own.
  Device device_ = [] {
    static int count = 0;
    const std::string name = "loser-" + std::to_string(++count);
    return device::add({name, [name] { return open_lazy(name); }, true});
  }();
  std::string lost_ = std::string("[device] '") + device_.id.name +
                      "' is lost: the driver was reset; tensors on it are gone, others are not";

  void lose() { backends::remote::lose(device::open(device_.id), "the driver was reset"); }
};

TEST_F(Loss, IsOneClearErrorForEverythingOnTheDevice) {
  Tensor there = on(device_, {1, 2, 3}).clone().eval(), under_way = (there * 2).eval();
  EXPECT_EQ(there.to_vector<float>(), (Floats{1, 2, 3}));
  lose();
  EXPECT_EQ(text_of([&] { there.to_vector<float>(); }), lost_);
  EXPECT_EQ(text_of([&] { under_way.to_vector<float>(); }), lost_);
  EXPECT_EQ(text_of([&] { (there + 1).eval(); }), lost_);
  EXPECT_EQ(text_of([&] { there.add_(1).eval(); }), lost_);
  EXPECT_EQ(text_of([&] { on(device_, {1}).eval(); }), lost_);
  EXPECT_EQ(text_of([&] { there.to(Device("cpu")).to_vector<float>(); }), lost_);
  EXPECT_EQ(text_of([&] { synchronize(device_); }), lost_);
  EXPECT_EQ(text_of([&] { synchronize(); }), kNothing);
  EXPECT_THROW(there.to_vector<float>(), device::Lost);
  EXPECT_EQ((on(Device("cpu"), {1, 2}) + 1).to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ((on(Device("remote"), {1, 2}) + 1).to_vector<float>(), (Floats{2, 3}));
}

TEST_F(Loss, WakesWhoeverWaits) {
  const ir::DeviceId slow = device::add(
      {"slow-loser",
       [] {
         return backends::remote::open(backends::cpu::open(),
                                       {.name = "slow-loser", .before = [] { std::this_thread::sleep_for(50ms); }});
       },
       true});
  const Tensor x = on(Device(slow), {1, 2, 3});
  std::thread reader([&] {
    EXPECT_THROW(
        {
          for (int i = 0; i < 100; ++i) (x + i).eval();
          (x * 2).to_vector<float>();
        },
        device::Lost);
  });
  std::this_thread::sleep_for(20ms);
  backends::remote::lose(device::open(slow), "the driver was reset");
  reader.join();
}

TEST_F(Loss, LetsTensorsAndRecordingsGo) {
  const size_t before = memory_stats().live_buffers;
  {
    Tensor w = on(device_, {1, 2, 3}).clone().eval();
    auto step = compile([&](const Tensor& x) {
      w.add_(x);
      return w * 2;
    });
    const Tensor x = on(device_, {1, 1, 1}).eval();
    for (int i = 0; i < 4; ++i) step(x);
    w.to_vector<float>();
    lose();
    EXPECT_EQ(text_of([&] { step(x); }), lost_);
    EXPECT_EQ(text_of([&] { step(x); }), lost_);
    EXPECT_EQ(text_of([&] { w.to_vector<float>(); }), lost_);
  }
  EXPECT_EQ(memory_stats().live_buffers, before);
  EXPECT_EQ(memory_stats(device_).live_buffers, 0u);
  trim_memory();
}

// ---- memory of each device ----

TEST(MemoryOfADevice, IsCountedByItself) {
  const Device device("remote");
  const MemoryStats before = memory_stats(device), all = memory_stats();
  device::reset_peak();
  {
    const Tensor x = on(device, Floats(1000, 1.0f)).eval();
    EXPECT_EQ(memory_stats(device).live_bytes, before.live_bytes + 4000);
    EXPECT_EQ(memory_stats().live_bytes, all.live_bytes + 4000);
    const Tensor y = on(Device("cpu"), Floats(500, 1.0f)).eval();
    EXPECT_EQ(memory_stats(device).live_bytes, before.live_bytes + 4000);
    EXPECT_EQ(memory_stats().live_bytes, all.live_bytes + 6000);
  }
  EXPECT_EQ(memory_stats(device).live_bytes, before.live_bytes);
  EXPECT_EQ(memory_stats(device).peak_bytes, before.live_bytes + 4000);
  EXPECT_EQ(memory_stats().peak_bytes, all.live_bytes + 6000);
}

TEST(MemoryOfADevice, IsGivenBackByItself) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the pool keeps nothing under the address sanitizer";
#endif
  const Device here("cpu"), there("remote");
  for (const Device& device : {here, there}) wait({on(device, Floats(1000, 1.0f)) * 2});
  ASSERT_GT(memory_stats(there).cached_bytes, 0u);
  trim_memory(there);
  EXPECT_EQ(memory_stats(there).cached_bytes, 0u);
  EXPECT_GT(memory_stats(here).cached_bytes, 0u);
}

// Grants what is asked for and counts it.
class Counting : public device::Device {
 public:
  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { throw Error("none"); }
  device::Buffer allocate(size_t bytes) override {
    if (held + bytes > most) base::fail("counting", "no more");
    held += bytes;
    ++allocations;
    return {++handle_, bytes, nullptr};
  }
  void release(const device::Buffer& buffer) override { held -= buffer.bytes; }
  void enqueue(std::span<const device::Command>) override {}
  device::Ticket submit(bool) override { return {}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

  size_t held = 0, most = ~size_t{0};
  int allocations = 0;

 private:
  ir::Limits limits_;
  uint64_t handle_ = 0;
};

#ifndef __SANITIZE_ADDRESS__  // where nothing is kept
TEST(Pool, KeepsAnArenaHoweverLargeFromStepToStep) {
  Counting device;
  for (int step = 0; step < 5; ++step) {
    const device::Buffer arena = device.pool().take(size_t{20} << 30), weights = device.pool().take(size_t{6} << 30);
    device.pool().give_back(arena);
    device.pool().give_back(weights);
  }
  EXPECT_EQ(device.allocations, 2);
}

TEST(Pool, KeepsNoMoreThanWasInUseAtOnce) {
  Counting device;
  for (size_t gib = 10; gib < 20; ++gib) device.pool().give_back(device.pool().take(gib << 30));
  EXPECT_EQ(device.held, size_t{19} << 30);  // the last one: the others made room
  device.pool().trim();
  EXPECT_EQ(device.held, 0u);
}

TEST(Pool, GivesBackWhatItKeepsWhenTheDeviceHasNoMore) {
  Counting device;
  device.most = size_t{8} << 30;
  device.pool().give_back(device.pool().take(size_t{3} << 30));
  device.pool().give_back(device.pool().take(size_t{6} << 30));
  EXPECT_EQ(device.held, size_t{6} << 30);
}
#endif

TEST(Pool, RoundsLargeRequestsByLessThanTwoPercent) {
  for (size_t bytes : {(size_t{1} << 20) + 1, size_t{1} << 21, (size_t{3} << 20) + 17, size_t{1000000007},
                       size_t{5} << 32, (size_t{1} << 40) + 1}) {
    EXPECT_GE(device::size_class(bytes), bytes);
    EXPECT_LE(device::size_class(bytes), bytes + bytes / 50) << bytes;
    EXPECT_EQ(device::size_class(device::size_class(bytes)), device::size_class(bytes));
  }
  for (size_t bytes : {size_t{65}, size_t{1000}, size_t{1} << 20})
    EXPECT_LE(device::size_class(bytes), std::max<size_t>(bytes + bytes / 8, 128)) << bytes;
}

// ---- compiling ----

// Compiles slowly, or refuses; counts how many do so at once.
class Slow : public Counting, public device::Compiler {
 public:
  explicit Slow(bool parallel) : parallel_(parallel) {}
  device::Compiler& compiler() override { return *this; }
  bool compiles_in_parallel() const override { return parallel_; }
  device::ProgramRef compile(const device::Kernel& kernel) override {
    const int now = ++running;
    for (int seen = most_at_once; seen < now && !most_at_once.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(30ms);
    --running;
    const ir::Op op = std::get<ir::Call>(kernel).op;
    if (op == ir::Op::mul || op == ir::Op::sin) base::fail(ir::name(op), "refused");
    ++compiled;
    return std::make_shared<device::Program>();
  }

  std::atomic<int> running{0}, most_at_once{0}, compiled{0};

 private:
  bool parallel_;
};

std::vector<device::Kernel> kernels_of(std::initializer_list<ir::Op> ops) {
  std::vector<device::Kernel> kernels;
  for (const ir::Op op : ops) {
    ir::Call call;
    call.op = op;
    kernels.emplace_back(call);
  }
  return kernels;
}

TEST(Compiling, HappensOnSeveralThreadsWhereItTakesLong) {
  Slow device(true), serial(false);
  exec::ProgramCache cache(nullptr);
  const auto kernels = kernels_of({ir::Op::add, ir::Op::exp, ir::Op::add, ir::Op::log, ir::Op::max});
  const auto programs = cache.get_all(device, kernels);
  EXPECT_EQ(device.compiled, 4);
  EXPECT_EQ(programs[0], programs[2]);
  EXPECT_NE(programs[0], programs[1]);
  const bool has_cores = std::thread::hardware_concurrency() > 1;
  EXPECT_TRUE(!has_cores || device.most_at_once > 1);
  EXPECT_EQ(cache.get_all(device, kernels), programs);
  EXPECT_EQ(device.compiled, 4);
  cache.get_all(serial, kernels);
  EXPECT_EQ(serial.most_at_once, 1);
}

TEST(Compiling, TellsWhoWatchesHowFarItIs) {
  using Seen = std::vector<std::pair<size_t, size_t>>;
  Slow device(true), serial(false);
  exec::ProgramCache cache(nullptr);
  Seen seen, outer;
  const exec::WatchCompiling watching_outside([&](size_t compiled, size_t of) { outer.emplace_back(compiled, of); });
  {
    const exec::WatchCompiling watching([&](size_t compiled, size_t of) { seen.emplace_back(compiled, of); });
    cache.get_all(device, kernels_of({ir::Op::add, ir::Op::exp}));
    std::ranges::sort(seen);
    EXPECT_EQ(seen, (Seen{{0, 2}, {1, 2}, {2, 2}}));
    cache.get_all(device, kernels_of({ir::Op::exp, ir::Op::add}));  // known
    cache.get_all(serial, kernels_of({ir::Op::log}));               // too quick to be told of
    EXPECT_EQ(seen.size(), 3U);
  }
  cache.get_all(device, kernels_of({ir::Op::max}));
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_EQ(outer, (Seen{{0, 1}, {1, 1}}));
}

TEST(Compiling, FailsWithTheFirstKernelOfTheListThatFails) {
  for (const bool parallel : {true, false}) {
    Slow device(parallel);
    exec::ProgramCache cache(nullptr);
    const auto kernels = kernels_of({ir::Op::add, ir::Op::sin, ir::Op::exp, ir::Op::mul});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(text_of([&] { cache.get_all(device, kernels); }), "[sin] refused");
    EXPECT_EQ(cache.size(), 1u) << "what compiled before the error is kept";
  }
}

}  // namespace
}  // namespace tenon
