// The cuda device over a driver that checks every call: memory, transfers, order, tickets, recordings, faults, loss,
// absence. Nothing here needs a GPU.

#include <stdlib.h>

#include <thread>

#include "on_stand_in.h"
#include "tenon/backends/cuda/api.h"
#include "tenon/backends/cuda/cuda_device.h"
#include "tenon/base/error.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using backends::cuda::Results;
using device::Buffer;
using device::Command;
using device::Copy;
using device::Download;
using device::Fill;
using device::Ticket;

class CudaDevice : public OnStandIn {};

std::vector<uint8_t> counting(size_t bytes, uint8_t from = 0) {
  std::vector<uint8_t> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(from + i * 7 + i / 251);
  return out;
}

bool has_compiler() { return backends::cuda::nvrtc() != nullptr; }

// ---- transfers ----

TEST_F(CudaDevice, GivesBackWhatWasUploadedAtAnyOffset) {
  const Buffer buffer = make(256);
  const std::vector<uint8_t> bytes = counting(13);
  run({Fill{{buffer, 0, 256}, std::byte{9}}, upload(bytes, buffer, 101)});
  EXPECT_EQ(read(buffer, 101, 13), bytes);
  EXPECT_EQ(read(buffer, 100, 1), std::vector<uint8_t>{9});
  EXPECT_EQ(read(buffer, 114, 1), std::vector<uint8_t>{9});
  device_->release(buffer);
}

TEST_F(CudaDevice, RunsCommandsInTheirOrder) {
  const Buffer a = make(4), b = make(4);
  std::vector<uint8_t> first(4), second(4);
  const auto to = [](std::vector<uint8_t>& out) { return std::as_writable_bytes(std::span(out)); };
  run({Fill{{a, 0, 4}, std::byte{1}}, Copy{{a, 0, 4}, {b, 0, 4}}, Fill{{a, 0, 4}, std::byte{2}},
       Download{{b, 0, 4}, to(first)}, Copy{{a, 0, 4}, {b, 0, 4}}, Download{{b, 0, 4}, to(second)}});
  EXPECT_EQ(first, (std::vector<uint8_t>{1, 1, 1, 1}));
  EXPECT_EQ(second, (std::vector<uint8_t>{2, 2, 2, 2}));
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaDevice, CopiesBetweenOverlappingRangesAsIfThroughAnother) {
  const Buffer a = make(8);
  const std::vector<uint8_t> bytes = {0, 1, 2, 3, 4, 5, 6, 7};
  run({upload(bytes, a), Copy{{a, 0, 6}, {a, 2, 6}}});
  EXPECT_EQ(read(a, 0, 8), (std::vector<uint8_t>{0, 1, 0, 1, 2, 3, 4, 5}));
  device_->release(a);
}

TEST_F(CudaDevice, TakesCommandsOfNoBytes) {
  const Buffer a = make(4);
  run({Fill{{a, 0, 4}, std::byte{5}}, Fill{{a, 4, 0}}, Copy{{a, 0, 0}, {a, 4, 0}}, device::Upload{{}, {a, 0, 0}},
       Download{{a, 0, 0}, {}}});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{5, 5, 5, 5}));
  device_->release(a);
}

TEST_F(CudaDevice, UploadsMoreThanItCanStageAtOnce) {
  constexpr size_t kBytes = (size_t{11} << 20) + 13;
  const Buffer a = make(kBytes);
  const std::vector<uint8_t> bytes = counting(kBytes);
  run({upload(bytes, a)});
  EXPECT_EQ(read(a, 0, kBytes), bytes);
  device_->release(a);
}

// The main stream waits for the one that uploads, which waits for nobody until its ring has been filled once.
TEST_F(CudaDevice, UploadsTheNextBatchWhileItStillComputes) {
  constexpr size_t kBytes = size_t{1} << 20;
  const Buffer batch = make(kBytes), kept = make(kBytes);
  constexpr uint8_t kBatches = 6;
  std::vector<std::vector<uint8_t>> seen(kBatches, std::vector<uint8_t>(kBytes));
  Ticket last;
  for (uint8_t i = 0; i < kBatches; ++i) {
    const std::vector<uint8_t> bytes = counting(kBytes, i);
    const std::vector<Command> step = {upload(bytes, batch), Copy{{batch, 0, kBytes}, {kept, 0, kBytes}},
                                       Download{{kept, 0, kBytes}, std::as_writable_bytes(std::span(seen[i]))}};
    last = device_->send(step, false);
    if (i == 3) {
      EXPECT_EQ(stand_in().calls("cuStreamWaitEvent"), 4);
    }
  }
  EXPECT_EQ(stand_in().calls("cuStreamWaitEvent"), 6 + 2);
  device_->wait(last);
  for (uint8_t i = 0; i < kBatches; ++i) EXPECT_EQ(seen[i], counting(kBytes, i)) << int{i};
  device_->release(batch);
  device_->release(kept);
}

TEST_F(CudaDevice, UploadsInTheOrderOfCommandsWhereThereIsNoOtherStream) {
  stand_in().fail("cuStreamCreate", Results::kOutOfMemory, 0);
  const Buffer a = make(1 << 20);
  const std::vector<uint8_t> bytes = counting(1 << 20);
  run({Fill{{a, 0, 1 << 20}}, upload(bytes, a)});
  EXPECT_EQ(read(a, 0, 1 << 20), bytes);
  EXPECT_EQ(stand_in().calls("cuStreamWaitEvent"), 0);
  device_->release(a);
}

// The stand-in reads staged bytes as late as a device may.
TEST_F(CudaDevice, StagesManySmallUploadsWithoutMixingThem) {
  constexpr size_t kEach = 9973, kMany = 1500;  // three times around the ring
  const Buffer a = make(kEach * kMany);
  std::vector<uint8_t> all;
  Ticket last;
  for (size_t i = 0; i < kMany; ++i) {
    std::vector<uint8_t> bytes = counting(kEach, static_cast<uint8_t>(i * 31));
    all.insert(all.end(), bytes.begin(), bytes.end());
    const Command one = upload(bytes, a, i * kEach);
    last = device_->send({&one, 1}, false);
    bytes.assign(kEach, 0xEE);
  }
  device_->wait(last);
  EXPECT_EQ(read(a, 0, kEach * kMany), all);
  device_->release(a);
}

// What changes from step to step is one launch, and its source is free at once.
TEST_F(CudaDevice, UploadsFewBytesAsArgumentsOfOneKernel) {
  if (!has_compiler()) GTEST_SKIP() << backends::cuda::why_no_compiler();
  const Buffer a = make(256);
  std::vector<uint8_t> first = counting(64), second = counting(3, 90), third = counting(5, 11);
  const std::vector<Command> commands = {upload(first, a), upload(second, a, 70), upload(third, a, 71)};
  const Ticket ticket = device_->send(commands, false);
  const std::vector<uint8_t> expected = {second[0], third[0], third[1], third[2], third[3], third[4]};
  second.assign(3, 0xEE);
  device_->wait(ticket);
  EXPECT_EQ(read(a, 0, 64), first);
  EXPECT_EQ(read(a, 70, 6), expected);  // the third one writes over the second and waits for it
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 2);
  EXPECT_EQ(stand_in().calls("cuMemcpyHtoDAsync"), 0);
  device_->release(a);
}

// ---- tickets ----

TEST_F(CudaDevice, KnowsATicketToBeDoneOnceSomebodyWaitedForALaterOne) {
  const Buffer a = make(4);
  const Command fill = Fill{{a, 0, 4}};
  const Ticket first = device_->send({&fill, 1}, false), second = device_->send({&fill, 1}, false);
  EXPECT_FALSE(device_->is_done(first));
  device_->wait(second);
  EXPECT_TRUE(device_->is_done(first));
  EXPECT_TRUE(device_->is_done(second));
  EXPECT_FALSE(device_->is_known_to_fail(second));
  device_->release(a);
}

TEST_F(CudaDevice, TakesThousandsOfTicketsWithFewEvents) {
  constexpr size_t kMany = 3000;
  const Buffer a = make(kMany);
  Ticket last;
  for (size_t i = 0; i < kMany; ++i) {
    const Command fill = Fill{{a, i, 1}, static_cast<std::byte>(i % 251)};
    last = device_->send({&fill, 1}, false);
  }
  EXPECT_LE(stand_in().alive("events"), 100);
  device_->wait(last);
  std::vector<uint8_t> expected(kMany);
  for (size_t i = 0; i < kMany; ++i) expected[i] = static_cast<uint8_t>(i % 251);
  EXPECT_EQ(read(a, 0, kMany), expected);
  device_->release(a);
}

TEST_F(CudaDevice, ServesManyThreadsAtOnce) {
  constexpr size_t kThreads = 6, kTimes = 60, kBytes = 70000;
  std::vector<std::thread> threads;
  std::atomic<size_t> wrong{0};
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Buffer a = make(kBytes), b = make(kBytes);
      for (size_t i = 0; i < kTimes; ++i) {
        const std::vector<uint8_t> bytes = counting(kBytes, static_cast<uint8_t>(t * 41 + i));
        run({upload(bytes, a), Copy{{a, 0, kBytes}, {b, 0, kBytes}}});
        wrong += read(b, 0, kBytes) != bytes;
      }
      device_->release(a);
      device_->release(b);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

// ---- memory ----

TEST_F(CudaDevice, MayLetGoOfABufferThatIsInUse) {
  constexpr size_t kBytes = size_t{1} << 20;
  const Buffer kept = make(kBytes);
  for (uint8_t i = 0; i < 20; ++i) {
    const Buffer passing = make(kBytes);
    const std::vector<Command> commands = {Fill{{passing, 0, kBytes}, std::byte{i}},
                                           Copy{{passing, 0, kBytes}, {kept, 0, kBytes}}};
    if (i % 2 == 0)
      device_->send(commands, false);
    else
      device_->enqueue(commands);
    device_->release(passing);
  }
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(kept, 0, kBytes), std::vector<uint8_t>(kBytes, 19));
  device_->release(kept);
}

TEST_F(CudaDevice, RefusesMoreMemoryThanThereIsAndGoesOn) {
  const std::string text = text_of([&] { device_->allocate(size_t{1} << 50); });
  EXPECT_EQ(text.find("[memory] the cuda device cannot allocate 1125899906842624 bytes; it has 8589934592, of which "),
            0u)
      << text;
  EXPECT_THROW(device_->pool().take(size_t{1} << 50), Error);
  EXPECT_FALSE(device_->is_lost());
  const Buffer a = make(4);
  run({Fill{{a, 0, 4}, std::byte{5}}});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{5, 5, 5, 5}));
  device_->release(a);
}

TEST_F(CudaDevice, ThePoolGivesBackWhatItKeepsBeforeItSaysThatThereIsNoMore) {
  const Buffer kept = device_->pool().take(1 << 20);
  device_->pool().give_back(kept);
  stand_in().fail("cuMemAlloc", Results::kOutOfMemory, 0);
  const Buffer made = device_->pool().take(3 << 20);
  EXPECT_GE(made.bytes, size_t{3} << 20);
  EXPECT_EQ(device_->pool().cached_bytes(), 0u);
  device_->release(made);
}

TEST_F(CudaDevice, SaysWhatThereIsAndWhoHasItWhereThereIsNoMore) {
  const Buffer held = device_->pool().take(3 << 20), kept = device_->pool().take(1 << 20);
  device_->pool().give_back(kept);
  const std::string text = text_of([&] { device_->pool().take(size_t{16} << 30); });
  EXPECT_EQ(text.find("[memory] 17179869184 bytes asked for, but the device has no more: 3145728 in use, 0 kept for "
                      "reuse, "),
            0u)
      << text;
  EXPECT_NE(text.find(" available; largest: 1 x 3145728 bytes"), std::string::npos) << text;
  device_->pool().give_back(device_->pool().take(1 << 20));
  device_->pool().give_back(held);
  device_->pool().trim();
}

TEST_F(CudaDevice, KeepsToAMemoryLimit) {
  device_->pool().set_limit(4 << 20);
  const Buffer held = device_->pool().take(3 << 20);
  const std::string text = text_of([&] { device_->pool().take(2 << 20); });
  EXPECT_EQ(text.find("[memory] 2097152 bytes asked for, but the memory limit is reached: 3145728 in use of at most "
                      "4194304 (set_memory_limit or device.memory_limit), 0 kept for reuse, "),
            0u)
      << text;
  EXPECT_NE(text.find(" available; largest: 1 x 3145728 bytes"), std::string::npos) << text;
  EXPECT_EQ(text_of([&] { device_->pool().set_limit(size_t{9} << 30); }),
            "[memory] a limit of 9663676416 bytes is more than the device has, 8589934592; take less, or 0 for none "
            "(set_memory_limit or device.memory_limit)");
  device_->pool().give_back(held);
  device_->pool().give_back(device_->pool().take(2 << 20));
  device_->pool().trim();
}

TEST_F(CudaDevice, LeavesNothingBehind) {
  const Buffer a = make(1 << 20);
  const std::vector<uint8_t> bytes = counting(1 << 20);
  run({upload(bytes, a), Copy{{a, 0, 100}, {a, 50, 100}}});
  device_->release(a);
  device_.reset();
  for (const char* kind : {"memory", "host memory", "streams", "events", "modules", "graphs", "runnable graphs"})
    EXPECT_EQ(stand_in().alive(kind), 0) << kind;
}

// ---- recordings ----

TEST_F(CudaDevice, ReplaysARecordingAsAGraphFromTheSecondTimeOn) {
  const Buffer a = make(4), b = make(8);
  const std::vector<Command> commands = {Copy{{b, 0, 4}, {b, 4, 4}}, Copy{{a, 0, 4}, {b, 0, 4}}};
  const auto recording = device_->record(commands);
  for (const uint8_t value : {1, 2, 3, 4}) {
    const std::vector<uint8_t> bytes(4, value);
    const Command changes = upload(bytes, a);
    recording->replay({&changes, 1}, false);
  }
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(b, 0, 8), (std::vector<uint8_t>{4, 4, 4, 4, 3, 3, 3, 3}));
  EXPECT_EQ(stand_in().calls("cuStreamBeginCapture"), 1);
  EXPECT_EQ(stand_in().calls("cuGraphInstantiate"), 2);  // they run in turn
  EXPECT_EQ(stand_in().calls("cuGraphLaunch"), 3);
  device_->release(a);
  device_->release(b);
}

class CudaSpans : public device::Listener {
 public:
  void on_span(const device::Span& span) override { all.push_back(span); }
  std::vector<device::Span> all;
};

TEST_F(CudaDevice, GivesTheTimeOfTransfersWhileSomebodyListens) {
  const Buffer a = make(1 << 20), b = make(1 << 20);
  CudaSpans spans;
  const uint64_t before = device::now_ns();
  spans.listen();
  run({Fill{{a, 0, 1 << 20}, std::byte{7}}, Copy{{a, 0, 1 << 20}, {b, 0, 1 << 20}}});
  spans.unlisten();
  run({Fill{{a, 0, 1 << 20}, std::byte{8}}});
  ASSERT_EQ(spans.all.size(), 2u);
  EXPECT_EQ(spans.all[0].kind, device::Span::Kind::fill);
  EXPECT_EQ(spans.all[1].kind, device::Span::Kind::copy);
  for (const device::Span& span : spans.all) {
    EXPECT_EQ(span.bytes, 1u << 20);
    EXPECT_EQ(span.ns(), 250'000u);  // as the stand-in says
    EXPECT_GE(span.begin_ns, before);
  }
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaDevice, AGraphStaysForTheReplaysAfterAProfile) {
  const Buffer a = make(4), b = make(4);
  const Command copies = Copy{{a, 0, 4}, {b, 0, 4}};
  const auto recording = device_->record({&copies, 1});
  for (int i = 0; i < 3; ++i) recording->replay({}, false);
  const int launched = stand_in().calls("cuGraphLaunch");
  EXPECT_GT(launched, 0);
  CudaSpans spans;
  spans.listen();
  recording->replay({}, false);
  device_->wait(device_->submit(true));
  spans.unlisten();
  EXPECT_EQ(stand_in().calls("cuGraphLaunch"), launched);
  EXPECT_EQ(spans.all.size(), 1u);
  recording->replay({}, false);
  EXPECT_EQ(stand_in().calls("cuGraphLaunch"), launched + 1);
  EXPECT_EQ(stand_in().calls("cuStreamBeginCapture"), 1);
  device_->wait(device_->submit(true));
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaDevice, AGraphThatThereMayBeButOnceIsRunAgainAndAgain) {
  const Buffer a = make(4), b = make(4);
  const Command copy = Copy{{a, 0, 4}, {b, 0, 4}};
  const auto recording = device_->record({&copy, 1});
  stand_in().fail("cuGraphInstantiate", Results::kInvalidValue, 1);
  for (const uint8_t value : {1, 2, 3, 4}) {
    const Command fill = Fill{{a, 0, 4}, std::byte{value}};
    recording->replay({&fill, 1}, false);
  }
  EXPECT_EQ(read(b, 0, 4), (std::vector<uint8_t>{4, 4, 4, 4}));
  EXPECT_EQ(stand_in().calls("cuGraphLaunch"), 3);
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaDevice, AGraphHasTheMemoryBetweenItsCommands) {
  const Buffer a = make(8);
  const std::vector<uint8_t> bytes = {0, 1, 2, 3, 4, 5, 6, 7};
  run({upload(bytes, a)});
  const Command shift = Copy{{a, 0, 6}, {a, 2, 6}};
  const auto recording = device_->record({&shift, 1});
  for (int i = 0; i < 3; ++i) recording->replay({}, false);
  EXPECT_EQ(read(a, 0, 8), (std::vector<uint8_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  device_->release(a);
}

TEST_F(CudaDevice, ARecordingThatIsNoGraphIsStartedCommandByCommand) {
  for (const char* function : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate"}) {
    const Buffer a = make(4), b = make(4);
    const Command copy = Copy{{a, 0, 4}, {b, 0, 4}};
    const auto recording = device_->record({&copy, 1});
    stand_in().fail(function, Results::kInvalidValue, 0);
    for (const uint8_t value : {1, 2, 3}) {
      const Command fill = Fill{{a, 0, 4}, std::byte{value}};
      recording->replay({&fill, 1}, false);
    }
    EXPECT_EQ(read(b, 0, 4), (std::vector<uint8_t>{3, 3, 3, 3})) << function;
    EXPECT_EQ(stand_in().calls("cuGraphLaunch"), 0) << function;
    device_->release(a);
    device_->release(b);
  }
}

TEST_F(CudaDevice, ARecordingMayGoWhileItRuns) {
  const Buffer a = make(4), b = make(4);
  const Command copy = Copy{{a, 0, 4}, {b, 0, 4}};
  auto recording = device_->record({&copy, 1});
  for (const uint8_t value : {1, 2, 3}) {
    const Command fill = Fill{{a, 0, 4}, std::byte{value}};
    recording->replay({&fill, 1}, false);
  }
  recording.reset();
  EXPECT_EQ(read(b, 0, 4), (std::vector<uint8_t>{3, 3, 3, 3}));
  device_->release(a);
  device_->release(b);
}

// ---- states ----

TEST_F(CudaDevice, CopiesIntoStateWhereThereIsNoFault) {
  if (!has_compiler()) GTEST_SKIP() << backends::cuda::why_no_compiler();
  const Buffer a = make(512), b = make(512);
  const std::vector<uint8_t> bytes = counting(512);
  run({upload(bytes, a), Fill{{b, 0, 512}}, Copy{{a, 4, 400}, {b, 8, 400}, true}, Copy{{a, 1, 3}, {b, 2, 3}, true},
       Copy{{a, 16, 64}, {b, 432, 64}, true}});
  EXPECT_EQ(read(b, 8, 400), std::vector<uint8_t>(bytes.begin() + 4, bytes.begin() + 404));
  EXPECT_EQ(read(b, 0, 6), (std::vector<uint8_t>{0, 0, bytes[1], bytes[2], bytes[3], 0}));
  EXPECT_EQ(read(b, 432, 64), std::vector<uint8_t>(bytes.begin() + 16, bytes.begin() + 80));
  device_->release(a);
  device_->release(b);
}

// ---- loss ----

TEST_F(CudaDevice, IsLostWhenItsContextIs) {
  const Buffer a = make(4);
  stand_in().fail("cuEventSynchronize", Results::kIllegalAddress, 0);
  const Command fill = Fill{{a, 0, 4}};
  const Ticket ticket = device_->send({&fill, 1}, false);
  EXPECT_EQ(text_of([&] { device_->wait(ticket); }),
            "[device] 'cuda' is lost: CUDA_ERROR_ILLEGAL_ADDRESS (a wait); tensors on it are gone, others are not");
  EXPECT_TRUE(device_->is_lost());
  EXPECT_THROW(device_->allocate(4), device::Lost);
  EXPECT_THROW(device_->send({&fill, 1}, false), device::Lost);
  EXPECT_THROW(device_->record({&fill, 1}), device::Lost);
  device_->release(a);
  device_.reset();
  stand_in().reset();  // whatever the end of a lost device did is no fault of it
}

TEST_F(CudaDevice, ACommandThatIsRefusedForItselfLosesNothing) {
  const Buffer a = make(4);
  const Command fill = Fill{{a, 0, 4}, std::byte{3}};
  stand_in().fail("cuMemsetD8Async", Results::kLaunchOutOfResources, 0);
  EXPECT_EQ(text_of([&] {
              device_->send({&fill, 1}, false);
            }),
            "[cuda] Stand-in GPU refused a command: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (a fill)");
  EXPECT_FALSE(device_->is_lost());
  run({fill});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{3, 3, 3, 3}));
  device_->release(a);
}

// ---- names ----

TEST_F(CudaDevice, IsListedWithTheOthersOfItsKind) {
  const std::vector<std::string> names = device::names();
  EXPECT_NE(std::find(names.begin(), names.end(), "cuda"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "cuda:1"), names.end());
  EXPECT_TRUE(device::is_for_tests(device::find("cuda_unfused")));
  EXPECT_FALSE(device::is_for_tests(device::find("cuda")));
  EXPECT_THROW(device::find("cuda:2"), Error);
}

TEST_F(CudaDevice, SaysWhatItIsAndHasTheLimitsOfItsChip) {
  EXPECT_EQ(device_->describe().find("Stand-in GPU, compute capability 9.0, driver for CUDA 13.0: 8.6 GB, 132 "
                                     "processors, 1024 threads a block, 227 KiB shared"),
            0u)
      << device_->describe();
  const ir::Limits& limits = device_->limits();
  EXPECT_EQ(limits.subgroup, 32u);
  EXPECT_EQ(limits.processors, 132u);
  EXPECT_EQ(limits.shared_bytes, 227u << 10);
  EXPECT_TRUE(limits.tile_dtypes.contains(DType::bf16));
}

void expect_absence(const char* variable, const char* value, const std::string& why) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not looked for devices yet
  EXPECT_EXIT(
      {
        setenv(variable, value, 1);
        std::fputs(text_of([] { device::find("cuda"); }).c_str(), stderr);
        std::exit(device::open(device::find("cpu")).is_lost() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "\\[device\\] 'cuda' is not there: " + why);
}

TEST(CudaAbsence, WithoutADriverIsTold) {
  expect_absence("TENON_CUDA_DRIVER", "libno_such_driver.so.1",
                 "no NVIDIA driver \\(libno_such_driver.so.1 was not found\\)");
}
TEST(CudaAbsence, WithoutAGpuIsTold) { expect_absence("STAND_IN_CUDA", "none", "the driver finds no NVIDIA GPU"); }
TEST(CudaAbsence, BehindAStubIsTold) { expect_absence("STAND_IN_CUDA", "stub", "libcuda.so.1 is a stub"); }

[[noreturn]] void exit_with_work_under_way() {
  device::Device& device = device::open(device::find("cuda"));
  const Buffer a = device.allocate(1 << 20);
  static std::vector<std::byte>& to = *new std::vector<std::byte>(1);
  std::atexit([] { std::fprintf(stderr, "read %d", static_cast<int>(to[0])); });
  device::open(device::find("cuda:1"));  // what was arranged last comes first: a wait for all
  const std::vector<Command> commands = {Fill{{a, 0, 1 << 20}, std::byte{42}}, Download{{a, 0, 1}, to}};
  device.send(commands, false);
  std::exit(0);
}

TEST(CudaProfile, HasTheTimeOfEachKernel) {
  if (!has_compiler()) GTEST_SKIP() << backends::cuda::why_no_compiler();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto profiled = [] {
    setenv("TENON_PROFILE", "1", 1);
    const Device cuda("cuda");
    for (int i = 0; i < 3; ++i) (ones({64}, Options(cuda)) * static_cast<float>(i)).eval();
    std::exit(0);
  };
  EXPECT_EXIT(profiled(), testing::ExitedWithCode(0), "ms on the cuda device");
}

TEST(CudaExit, WaitsForWhatIsUnderWay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_work_under_way(), testing::ExitedWithCode(0), "read 42");
}

}  // namespace
}  // namespace tenon
