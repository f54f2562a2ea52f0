// The OpenCL and Vulkan devices without kernels: memory, transfers, order, tickets, names, absence. Where there is no
// device its tests are skipped, saying why.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "tenon/device/gpu_files.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using device::Buffer;
using device::Command;
using device::Copy;
using device::Download;
using device::Fill;
using device::Ticket;
using device::Upload;

std::string why_absent(const std::string& name) {
  for (const device::Absent& one : device::absent()) {
    if (one.name == name) return one.why;
  }
  return {};
}

class Gpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = why_absent(GetParam()); !why.empty()) GTEST_SKIP() << why;
    device_ = &device::open(device::find(GetParam()));
  }

  Buffer make(size_t bytes) { return device_->allocate(bytes); }
  void run(const std::vector<Command>& commands) { device_->wait(device_->send(commands, true)); }
  std::vector<uint8_t> read(const Buffer& buffer, size_t offset, size_t bytes) {
    std::vector<uint8_t> out(bytes);
    run({Download{{buffer, offset, bytes}, std::as_writable_bytes(std::span(out))}});
    return out;
  }
  static Upload upload(std::span<const uint8_t> from, const Buffer& to, size_t offset = 0) {
    return {std::as_bytes(from), {to, offset, from.size()}};
  }

  device::Device* device_ = nullptr;
};

std::vector<uint8_t> counting(size_t bytes, uint8_t from = 0) {
  std::vector<uint8_t> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(from + i * 7 + i / 251);
  return out;
}

// ---- transfers ----

TEST_P(Gpu, GivesBackWhatWasUploaded) {
  const Buffer buffer = make(64);
  const std::vector<uint8_t> bytes = counting(64);
  run({upload(bytes, buffer)});
  EXPECT_EQ(read(buffer, 0, 64), bytes);
  device_->release(buffer);
}

TEST_P(Gpu, MovesBytesAtOddOffsets) {
  const Buffer buffer = make(256);
  const std::vector<uint8_t> bytes = counting(13);
  run({Fill{{buffer, 0, 256}, std::byte{9}}, upload(bytes, buffer, 101)});
  EXPECT_EQ(read(buffer, 101, 13), bytes);
  EXPECT_EQ(read(buffer, 100, 1), std::vector<uint8_t>{9});
  EXPECT_EQ(read(buffer, 114, 1), std::vector<uint8_t>{9});
  device_->release(buffer);
}

TEST_P(Gpu, RunsCommandsInTheirOrder) {
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

TEST_P(Gpu, RunsWhatWasEnqueuedBeforeWhatIsSent) {
  const Buffer a = make(4);
  const Command fill = Fill{{a, 0, 4}, std::byte{1}};
  device_->enqueue({&fill, 1});
  run({Copy{{a, 0, 1}, {a, 3, 1}}, Fill{{a, 0, 2}, std::byte{2}}});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{2, 2, 1, 1}));
  device_->release(a);
}

TEST_P(Gpu, CopiesBetweenOverlappingRangesAsIfThroughAnother) {
  const Buffer a = make(8);
  const std::vector<uint8_t> bytes = {0, 1, 2, 3, 4, 5, 6, 7};
  run({upload(bytes, a), Copy{{a, 0, 6}, {a, 2, 6}}});
  EXPECT_EQ(read(a, 0, 8), (std::vector<uint8_t>{0, 1, 0, 1, 2, 3, 4, 5}));
  device_->release(a);
}

TEST_P(Gpu, CopiesIntoStateWhereThereIsNoFault) {
  const Buffer a = make(512), b = make(512);
  const std::vector<uint8_t> bytes = counting(512);
  run({upload(bytes, a), Fill{{b, 0, 512}}, Copy{{a, 4, 400}, {b, 8, 400}, true}, Copy{{a, 1, 3}, {b, 2, 3}, true}});
  EXPECT_EQ(read(b, 8, 400), std::vector<uint8_t>(bytes.begin() + 4, bytes.begin() + 404));
  EXPECT_EQ(read(b, 0, 6), (std::vector<uint8_t>{0, 0, bytes[1], bytes[2], bytes[3], 0}));
  EXPECT_EQ(read(b, 408, 104), std::vector<uint8_t>(104));
  device_->release(a);
  device_->release(b);
}

TEST_P(Gpu, TakesCommandsOfNoBytes) {
  const Buffer a = make(4);
  run({Fill{{a, 0, 4}, std::byte{5}}, Fill{{a, 4, 0}}, Copy{{a, 0, 0}, {a, 4, 0}}, Upload{{}, {a, 0, 0}},
       Download{{a, 0, 0}, {}}});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{5, 5, 5, 5}));
  device_->release(a);
}

// ---- staging ----

TEST_P(Gpu, MayForgetAnUploadWhenItWasEnqueued) {
  const Buffer a = make(1000);
  {
    std::vector<uint8_t> bytes(1000, 3);
    const Command one = upload(bytes, a);
    device_->enqueue({&one, 1});
    bytes.assign(1000, 4);
  }
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(a, 0, 1000), std::vector<uint8_t>(1000, 3));
  device_->release(a);
}

TEST_P(Gpu, UploadsMoreThanItCanStageAtOnce) {
  constexpr size_t kBytes = (size_t{11} << 20) + 13;
  const Buffer a = make(kBytes);
  const std::vector<uint8_t> bytes = counting(kBytes);
  run({upload(bytes, a)});
  EXPECT_EQ(read(a, 0, kBytes), bytes);
  device_->release(a);
}

TEST_P(Gpu, StagesManySmallUploadsWithoutMixingThem) {
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

// ---- tickets ----

TEST_P(Gpu, KnowsATicketToBeDoneOnceSomebodyWaitedForALaterOne) {
  const Buffer a = make(4);
  const Command fill = Fill{{a, 0, 4}};
  const Ticket first = device_->send({&fill, 1}, false), second = device_->send({&fill, 1}, false);
  EXPECT_LT(first.serial, second.serial);
  device_->wait(second);
  EXPECT_TRUE(device_->is_done(first));
  EXPECT_TRUE(device_->is_done(second));
  EXPECT_FALSE(device_->is_known_to_fail(second));
  device_->wait(first);  // at once
  device_->release(a);
}

TEST_P(Gpu, TakesThousandsOfTicketsThatNobodyWaitsFor) {
  constexpr size_t kMany = 3000;
  const Buffer a = make(kMany);
  Ticket last;
  for (size_t i = 0; i < kMany; ++i) {
    const Command fill = Fill{{a, i, 1}, static_cast<std::byte>(i % 251)};
    last = device_->send({&fill, 1}, false);
  }
  device_->wait(last);
  std::vector<uint8_t> expected(kMany);
  for (size_t i = 0; i < kMany; ++i) expected[i] = static_cast<uint8_t>(i % 251);
  EXPECT_EQ(read(a, 0, kMany), expected);
  device_->release(a);
}

// Drivers may hold short commands back while the device is busy; nothing that follows makes them begin but the wait.
TEST_P(Gpu, RunsShortCommandsBehindLongOnesWhenSomebodyWaits) {
  constexpr size_t kBytes = size_t{32} << 20;
  const Buffer large = make(kBytes), small = make(4);
  for (uint8_t turn = 0; turn < 3; ++turn) {
    for (uint8_t i = 0; i < 4; ++i) {
      const Command fill = Fill{{large, 0, kBytes}, std::byte{i}};
      device_->send({&fill, 1}, false);
    }
    const Command fill = Fill{{small, 0, 4}, std::byte{turn}};
    const Ticket one = device_->send({&fill, 1}, false);
    device_->send({&fill, 1}, false);
    device_->wait(one);
    EXPECT_TRUE(device_->is_done(one));
    EXPECT_EQ(read(small, 0, 4), std::vector<uint8_t>(4, turn));
  }
  device_->release(large);
  device_->release(small);
}

TEST_P(Gpu, ReplaysARecordingManyTimesAheadOfTheDevice) {
  constexpr size_t kBytes = size_t{1} << 20, kTimes = 100;
  const Buffer a = make(kBytes * 2);
  std::vector<Command> commands;
  for (size_t i = 0; i < 3; ++i) commands.push_back(Copy{{a, i * 4, 4}, {a, i * 4 + 4, 4}});  // one after another
  const auto recording = device_->record(commands);
  for (size_t i = 0; i < kTimes; ++i) {
    const Command fill = Fill{{a, 0, 4}, static_cast<std::byte>(i)};
    recording->replay({&fill, 1}, false);
  }
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(a, 0, 16), std::vector<uint8_t>(16, kTimes - 1));
  device_->release(a);
}

TEST_P(Gpu, ServesManyThreadsAtOnce) {
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

TEST_P(Gpu, ReplaysARecordingBehindWhatComesWithIt) {
  const Buffer a = make(4), b = make(8);
  const std::vector<Command> commands = {Copy{{b, 0, 4}, {b, 4, 4}}, Copy{{a, 0, 4}, {b, 0, 4}}};
  const auto recording = device_->record(commands);
  for (const uint8_t value : {1, 2, 3}) {
    const Command fill = Fill{{a, 0, 4}, std::byte{value}};
    recording->replay({&fill, 1}, false);
  }
  device_->wait(device_->submit(true));
  EXPECT_EQ(read(b, 0, 8), (std::vector<uint8_t>{3, 3, 3, 3, 2, 2, 2, 2}));
  device_->release(a);
  device_->release(b);
}

// ---- memory ----

TEST_P(Gpu, MayLetGoOfABufferThatIsInUse) {
  constexpr size_t kBytes = size_t{4} << 20;
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

TEST_P(Gpu, RefusesMoreMemoryThanThereIsAndGoesOn) {
  const size_t largest = device_->limits().max_binding;
  const std::string said = fmt::format(
      "[memory] {} bytes asked for at once, but the device takes no single buffer above {}: split the tensor along an "
      "axis, or use a smaller batch or another device",
      largest + 1, largest);
  EXPECT_EQ(text_of([&] { device_->allocate(largest + 1); }), said);
  EXPECT_EQ(text_of([&] { device_->pool().take(largest + 1); }), said);
  EXPECT_FALSE(device_->is_lost());
  const Buffer a = make(4);
  run({Fill{{a, 0, 4}, std::byte{5}}});
  EXPECT_EQ(read(a, 0, 4), (std::vector<uint8_t>{5, 5, 5, 5}));
  device_->release(a);
}

TEST_P(Gpu, HasMemoryWithoutAnAddressAndAnAlignmentForArenas) {
  const Buffer a = make(64);
  EXPECT_EQ(a.host, nullptr);
  EXPECT_EQ(a.bytes, 64u);
  EXPECT_EQ(device_->limits().alignment, 128u);
  EXPECT_GE(device_->limits().max_threads, 1u);
  device_->release(a);
}

// ---- names ----

TEST_P(Gpu, IsListedWithItsUnfusedTwinForTests) {
  const std::vector<std::string> names = device::names();
  EXPECT_NE(std::find(names.begin(), names.end(), GetParam()), names.end());
  const ir::DeviceId twin = device::find(std::string(GetParam()) + "_unfused");
  EXPECT_TRUE(device::is_for_tests(twin));
  EXPECT_FALSE(device::is_for_tests(device::find(GetParam())));
  EXPECT_FALSE(device::open(twin).limits().fuses);
  EXPECT_TRUE(device_->limits().fuses);
}

TEST_P(Gpu, SaysWhatItIs) { EXPECT_NE(device_->describe().find("driver"), std::string::npos) << device_->describe(); }

std::string device_name(const testing::TestParamInfo<const char*>& tested) { return tested.param; }
INSTANTIATE_TEST_SUITE_P(Devices, Gpu, testing::Values("opencl", "vulkan"), device_name);

// ---- absence ----

struct Hidden {
  std::string device, variable, said;
};
class GpuAbsence : public testing::TestWithParam<Hidden> {};

TEST_P(GpuAbsence, IsToldWithItsReason) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not looked for devices yet
  const std::filesystem::path empty = testing::TempDir() + "tenon_no_drivers";
  std::filesystem::create_directories(empty);
  EXPECT_EXIT(
      {
        setenv(GetParam().variable.c_str(), empty.c_str(), 1);
        try {
          device::find(GetParam().device);
          std::fputs("the loader finds devices elsewhere", stderr);
        } catch (const Error& error) {
          std::fputs(error.what(), stderr);
        }
        std::exit(device::open(device::find("cpu")).is_lost() ? 1 : 0);
      },
      testing::ExitedWithCode(0),
      "\\[device\\] '" + GetParam().device + "' is not there: (no " + GetParam().said + "|built without " +
          GetParam().said + ")|the loader finds devices elsewhere");
}
INSTANTIATE_TEST_SUITE_P(Devices, GpuAbsence,
                         testing::Values(Hidden{"opencl", "OCL_ICD_VENDORS", "OpenCL"},
                                         Hidden{"vulkan", "VK_ICD_FILENAMES", "Vulkan"}),
                         [](const testing::TestParamInfo<Hidden>& tested) { return tested.param.device; });

TEST(FurtherDevices, AreNotNamedWhereThereAreNone) {
  EXPECT_THROW(device::find("opencl:99"), Error);
  EXPECT_THROW(device::find("vulkan:99"), Error);
}

TEST(AutoDevice, IsAGpuOrTheCpuAndSaysWhy) {
  const device::Choice choice = device::choose();
  EXPECT_EQ(device::find("auto"), choice.id);
  EXPECT_FALSE(choice.why.empty());
  for (const char* name : {"cuda", "vulkan", "opencl"}) {
    if (choice.id.name == std::string(name)) break;
    const std::string why = why_absent(name);
    const bool has_no_gpu = name != std::string("cuda") && !device::may_have_gpu();
    EXPECT_NE(choice.why.find(name + (has_no_gpu    ? " finds no GPU"
                                      : why.empty() ? " would run on the cpu itself"
                                                    : " is not there (" + why + ")")),
              std::string::npos)
        << choice.why;
  }
}

// Drivers are asked only where there is a file of a GPU.
TEST(AutoDevice, LooksForDeviceFiles) {
#ifdef __linux__
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("tenon-gpu-files-{}", ::getpid());
  const auto has_gpu_with = [&](const std::string& file) {
    fs::remove_all(folder);
    fs::create_directories((folder / file).parent_path());
    std::ofstream(folder / file) << "";
    return device::may_have_gpu(folder);
  };
  EXPECT_TRUE(has_gpu_with("nvidia0"));
  EXPECT_TRUE(has_gpu_with("kfd"));
  EXPECT_TRUE(has_gpu_with("dri/renderD128"));
  EXPECT_FALSE(has_gpu_with("dri/card0"));  // a display without a processor of its own
  EXPECT_FALSE(has_gpu_with("null"));
  fs::remove_all(folder);
  EXPECT_FALSE(device::may_have_gpu(folder));
#endif
}

}  // namespace
}  // namespace tenon
