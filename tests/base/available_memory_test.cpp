// What a process can still take, on machines that are made up of the texts of their files.

#include "tenon/base/available_memory.h"

#include <gtest/gtest.h>

#include <map>

namespace tenon::base {
namespace {

constexpr uint64_t kMiB = 1 << 20;

HostMemory on_machine(std::map<std::string, std::string> files) {
  return host_memory([files = std::move(files)](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}

const char* const kMeminfo =
    "MemTotal:        8388608 kB\n"
    "MemFree:          524288 kB\n"
    "MemAvailable:    2097152 kB\n"
    "SwapTotal:       4194304 kB\n"
    "SwapFree:        4194304 kB\n";

TEST(Meminfo, GivesKilobytesAsBytes) {
  EXPECT_EQ(kilobytes_of(kMeminfo, "MemAvailable"), 2048 * kMiB);
  EXPECT_EQ(kilobytes_of(kMeminfo, "SwapFree"), 4096 * kMiB);
}

TEST(Meminfo, IsSilentAboutWhatItDoesNotHold) {
  EXPECT_EQ(kilobytes_of(kMeminfo, "Mem"), std::nullopt);
  EXPECT_EQ(kilobytes_of("MemAvailable:\n", "MemAvailable"), std::nullopt);
  EXPECT_EQ(kilobytes_of("MemAvailable", "MemAvailable"), std::nullopt);
  EXPECT_EQ(kilobytes_of("", "MemAvailable"), std::nullopt);
  EXPECT_EQ(kilobytes_of("MemAvailable: many kB\n", "MemAvailable"), std::nullopt);
  EXPECT_EQ(kilobytes_of("MemAvailable: 99999999999999999999999 kB", "MemAvailable"), std::nullopt);
  EXPECT_EQ(kilobytes_of("MemAvailable: 18446744073709551615 kB", "MemAvailable"), kUnlimited);
}

TEST(Numbers, AreFoundByTheirWholeName) {
  EXPECT_EQ(number_of("inactive_file 7\nactive_file 5\n", "active_file"), 5u);
  EXPECT_EQ(number_of("active_file_x 7\n", "active_file"), std::nullopt);
}

// A folder can be opened and not read, as the system's files are where something is wrong with it.
TEST(SystemFiles, ThatCannotBeReadAreNoText) {
  EXPECT_EQ(system_file_text("/"), std::nullopt);
  EXPECT_EQ(system_file_text("/proc/no/such/file"), std::nullopt);
  EXPECT_EQ(system_file_text("/dev/null"), "");
}

TEST(AvailableMemory, IsWhatTheMachineHasWithoutSwap) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo}}).available, 2048 * kMiB);
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo}}).total, 8192 * kMiB);
}

TEST(AvailableMemory, HasNoEndWhereNobodySays) { EXPECT_EQ(on_machine({}).available, kUnlimited); }

TEST(AvailableMemory, IsWhatTheGroupLeaves) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "0::/job\n"},
                        {"/sys/fs/cgroup/job/memory.max", "1073741824\n"},
                        {"/sys/fs/cgroup/job/memory.current", "268435456\n"}})
                .available,
            768 * kMiB);
}

TEST(AvailableMemory, PagesOfFilesAreGivenUp) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "0::/job\n"},
                        {"/sys/fs/cgroup/job/memory.max", "1073741824\n"},
                        {"/sys/fs/cgroup/job/memory.current", "1073741824\n"},
                        {"/sys/fs/cgroup/job/memory.stat",
                         "anon 536870912\nfile 536870912\ninactive_file 268435456\nactive_file 134217728\n"}})
                .available,
            384 * kMiB);
}

TEST(AvailableMemory, GroupsAboveCountToo) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "0::/users/job\n"},
                        {"/sys/fs/cgroup/users/job/memory.max", "max\n"},
                        {"/sys/fs/cgroup/users/job/memory.current", "1048576\n"},
                        {"/sys/fs/cgroup/users/memory.max", "104857600\n"},
                        {"/sys/fs/cgroup/users/memory.current", "4194304\n"}})
                .available,
            96 * kMiB);
}

// In a container the path is that of the host, and the files lie at the root.
TEST(AvailableMemory, AContainersOwnGroupIsTheRoot) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "0::/docker/1234\n"},
                        {"/sys/fs/cgroup/memory.max", "536870912\n"},
                        {"/sys/fs/cgroup/memory.current", "536870912\n"}})
                .available,
            0u);
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "0::/\n"},
                        {"/sys/fs/cgroup/memory.max", "536870912\n"},
                        {"/sys/fs/cgroup/memory.current", "0\n"}})
                .available,
            512 * kMiB);
}

TEST(AvailableMemory, OldGroupsHaveOtherNames) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/\n0::/\n"},
                        {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n"},
                        {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "536870912\n"},
                        {"/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 268435456\n"}})
                .available,
            768 * kMiB);
}

TEST(AvailableMemory, AnOldGroupWithoutALimitLeavesTheMachines) {
  EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo},
                        {"/proc/self/cgroup", "4:memory:/\n"},
                        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                        {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n"}})
                .available,
            2048 * kMiB);
}

TEST(AvailableMemory, BrokenTextsLimitNothing) {
  for (const char* broken : {"", "\n", ":", "::", "0:", "no colons\n", "0::\n", "4:memory:\n", "\n\n0::/a/../b//\n"}) {
    EXPECT_EQ(on_machine({{"/proc/meminfo", kMeminfo}, {"/proc/self/cgroup", broken}}).available, 2048 * kMiB)
        << broken;
  }
}

TEST(TouchedMemory, IsWhatIsResidentAndWhatIsSwappedOut) {
  EXPECT_EQ(on_machine({{"/proc/self/status", "Name:\tx\nVmRSS:\t 9000 kB\nRssAnon:\t 1024 kB\nVmSwap:\t 2048 kB\n"}})
                .touched,
            3 * kMiB);
  EXPECT_EQ(on_machine({{"/proc/self/status", "Name:\tx\n"}}).touched, kUnlimited);
}

TEST(HostMemoryOfThisMachine, IsBetweenNothingAndAnExbibyte) {
  const HostMemory now = host_memory();
  EXPECT_GT(now.available, 0u);
#ifdef __linux__
  EXPECT_LT(now.available, uint64_t{1} << 60);
  EXPECT_LT(now.touched, uint64_t{1} << 60);
#endif
}

}  // namespace
}  // namespace tenon::base
