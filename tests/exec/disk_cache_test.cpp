// Compiled programs on disk: found again, never believed, shared by processes.

#include "tenon/exec/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "tenon/exec/program_cache.h"

namespace tenon::exec {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(const std::optional<std::vector<std::byte>>& bytes) {
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "none";
}

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string name = (fs::temp_directory_path() / "tenon-cache-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }
  void change(const fs::path& path, std::streamoff at, char to) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put(to);
  }

  fs::path folder_;
};

TEST_F(DiskCacheTest, FindsWhatAnotherProcessKept) {
  DiskCache(folder_).keep("kernel a", bytes_of("program a"));
  DiskCache second(folder_);
  EXPECT_EQ(text_of(second.find("kernel a")), "program a");
  EXPECT_EQ(text_of(second.find("kernel b")), "none");
  EXPECT_EQ(second.stats().hits, 1u);
  EXPECT_EQ(second.stats().misses, 1u);
}

TEST_F(DiskCacheTest, SaysWhetherItCouldKeepSomething) {
  EXPECT_TRUE(DiskCache(folder_).keep("a", bytes_of("1")));
  std::ofstream(folder_ / "file") << "no folder";
  EXPECT_FALSE(DiskCache(folder_ / "file" / "below").keep("a", bytes_of("1")));
  const auto same = [](const auto&) { return std::vector<std::byte>(1); };
  EXPECT_FALSE(DiskCache(folder_ / "file" / "below").update("a", same));
}

TEST_F(DiskCacheTest, SaysWhyItCouldKeepNothing) {
  DiskCache good(folder_), bad(folder_ / "file" / "below");
  EXPECT_TRUE(good.keep("a", bytes_of("1")));
  EXPECT_EQ(good.why_not_kept(), "");
  std::ofstream(folder_ / "file") << "no folder";
  EXPECT_FALSE(bad.keep("a", bytes_of("1")));
  EXPECT_EQ(bad.why_not_kept(), (folder_ / "file" / "below").string() + ": Not a directory");
}

// Each adds its letters one by one to what is there.
TEST_F(DiskCacheTest, NothingIsLostThatSeveralProcessesAdd) {
  constexpr int kProcesses = 4, kTimes = 25;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    DiskCache cache(folder_);
    for (int k = 0; k < kTimes; ++k) {
      cache.update("letters", [&](const std::optional<std::vector<std::byte>>& before) {
        std::vector<std::byte> all = before.value_or(std::vector<std::byte>());
        all.push_back(static_cast<std::byte>('a' + i));
        return all;
      });
    }
    ::_exit(0);
  }
  for (const pid_t one : children) ::waitpid(one, nullptr, 0);
  std::string letters = text_of(DiskCache(folder_).find("letters"));
  std::sort(letters.begin(), letters.end());
  EXPECT_EQ(letters,
            std::string(kTimes, 'a') + std::string(kTimes, 'b') + std::string(kTimes, 'c') + std::string(kTimes, 'd'));
}

TEST_F(DiskCacheTest, MakesItsFolderOnlyWhenItHasSomethingToKeep) {
  DiskCache cache(folder_ / "deeper" / "still");
  EXPECT_EQ(text_of(cache.find("a")), "none");
  EXPECT_FALSE(fs::exists(folder_ / "deeper"));
  cache.keep("a", bytes_of("1"));
  EXPECT_EQ(text_of(cache.find("a")), "1");
}

TEST_F(DiskCacheTest, ADamagedFileIsAMissAndGoes) {
  DiskCache cache(folder_);
  cache.keep("kernel", bytes_of("a program of some length"));
  const std::string whole = [&] {
    std::ifstream in(files().at(0), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at >= 12 && at < 16) continue;  // reserved
    cache.keep("kernel", bytes_of("a program of some length"));
    change(files().at(0), static_cast<std::streamoff>(at), static_cast<char>(whole[at] ^ 0x10));
    ASSERT_EQ(text_of(cache.find("kernel")), "none") << "byte " << at;
    ASSERT_TRUE(files().empty()) << "byte " << at;
  }
  EXPECT_EQ(cache.stats().damaged, whole.size() - 4);
}

TEST_F(DiskCacheTest, ATruncatedFileIsAMiss) {
  DiskCache cache(folder_);
  for (const uintmax_t size : {0, 7, 39, 40, 46, 52}) {
    cache.keep("kernel", bytes_of("program"));
    ASSERT_GT(fs::file_size(files().at(0)), size);
    fs::resize_file(files().at(0), size);
    EXPECT_EQ(text_of(cache.find("kernel")), "none") << size;
  }
}

TEST_F(DiskCacheTest, AnotherKernelUnderTheSameFileNameIsAMiss) {
  DiskCache cache(folder_);
  cache.keep("kernel", bytes_of("program"));
  const fs::path name = files().at(0);
  fs::remove(name);
  cache.keep("other", bytes_of("another program"));
  fs::rename(files().at(0), name);
  EXPECT_EQ(text_of(cache.find("kernel")), "none");
}

TEST_F(DiskCacheTest, TheProgramOfAnotherKernelIsNeverTaken) {
  DiskCache cache(folder_);
  cache.keep("kernel", bytes_of("program"));
  const fs::path own = files().at(0);
  cache.keep("wanted", bytes_of("margorp"));
  for (const fs::path& file : files()) {
    if (file == own) continue;
    constexpr std::streamoff kProgram = 40 + 6;  // behind header and name, of the same lengths in both
    for (std::streamoff i = 0; i < 7; ++i) change(file, kProgram + i, "program"[i]);
  }
  EXPECT_EQ(text_of(cache.find("wanted")), "none");
  EXPECT_EQ(cache.stats().damaged, 1u);
}

// A program runs with the rights of who loads it.
TEST_F(DiskCacheTest, WhatOthersMayWriteIsPassedOver) {
  DiskCache cache(folder_);
  cache.keep("kernel", bytes_of("program"));
  const fs::path file = files().at(0);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  testing::internal::CaptureStderr();
  EXPECT_EQ(text_of(cache.find("kernel")), "none");
  EXPECT_EQ(text_of(cache.find("kernel")), "none");
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "[tenon] " + file.string() +
          ": belongs to another user, or others may write it, and is not used. Set TENON_CACHE_DIR to a folder of "
          "your own.\n");
  EXPECT_EQ(cache.stats().foreign, 2u);
  EXPECT_TRUE(fs::exists(file));  // not ours to remove
  fs::permissions(file, fs::perms::group_write, fs::perm_options::remove);
  EXPECT_EQ(text_of(cache.find("kernel")), "program");
}

TEST_F(DiskCacheTest, WhatAnotherUserOwnsIsPassedOver) {
  DiskCache cache(folder_);
  cache.keep("kernel", bytes_of("program"));
  constexpr uid_t kSomebody = 65533;
  if (::chown(files().at(0).c_str(), kSomebody, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ(text_of(cache.find("kernel")), "none");
  EXPECT_EQ(cache.stats().foreign, 1u);
  cache.keep("kernel", bytes_of("mine"));
  EXPECT_EQ(text_of(cache.find("kernel")), "mine");
}

TEST_F(DiskCacheTest, StaysWithinItsBoundAndDropsWhatWasUsedLeastLately) {
  DiskCache cache(folder_, 4000);
  const std::string program(1000, 'x');
  const auto age = [&](int hours) {
    for (const fs::path& path : files())
      fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(hours));
  };
  for (const char* name : {"a", "b", "c"}) {
    cache.keep(name, bytes_of(program));
    age(1);
  }
  EXPECT_NE(text_of(cache.find("a")), "none");  // b is now the oldest
  cache.keep("d", bytes_of(program));
  EXPECT_EQ(cache.stats().removed, 1u);
  EXPECT_EQ(text_of(cache.find("b")), "none");
  EXPECT_NE(text_of(cache.find("a")), "none");
  EXPECT_NE(text_of(cache.find("d")), "none");
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenCostsNothingButTime) {
  DiskCache cache("/proc/no/such/folder");
  cache.keep("kernel", bytes_of("program"));
  EXPECT_EQ(text_of(cache.find("kernel")), "none");
}

// Every process keeps and finds the same names, removing some on the way; whatever is found is right.
TEST_F(DiskCacheTest, ManyProcessesShareOneFolder) {
  constexpr int kProcesses = 4, kRounds = 300;
  const auto program_of = [](int i) {
    return std::string(static_cast<size_t>(200 + 37 * i), static_cast<char>('a' + i));
  };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache(folder_, 6000);
      int wrong = 0, found = 0;
      for (int round = 0; round < kRounds; ++round) {
        // Each twice: a process that runs alone has pushed it out before its turn comes again.
        const int i = (round / 2 * 7 + p) % 20;
        const auto bytes = cache.find("kernel " + std::to_string(i));
        if (bytes) ++found;
        if (bytes && text_of(bytes) != program_of(i)) ++wrong;
        if (!bytes) cache.keep("kernel " + std::to_string(i), bytes_of(program_of(i)));
      }
      ::_exit(wrong > 0 || found == 0 || cache.stats().damaged > 0 ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// A device whose programs are text, and which counts how often it compiles.
class TextDevice final : public device::Device, public device::Compiler {
 public:
  struct Text : device::Program {
    explicit Text(std::string t) : text(std::move(t)) {}
    std::string text;
  };

  bool compiles_in_parallel() const override { return is_slow; }
  device::ProgramRef compile(const device::Kernel& kernel) override {
    {
      std::lock_guard lock(mutex_);
      ++compiled;
      begun.push_back(saved_as(kernel).size());
    }
    return std::make_shared<Text>("code of " + saved_as(kernel));
  }
  std::string saved_as(const device::Kernel& kernel) const override {
    const auto op = static_cast<size_t>(std::get<ir::Call>(kernel).op);
    return "op " + std::string(op, '+') + " by " + compiler_version;
  }
  std::vector<std::byte> save(const device::Program& program) const override {
    const std::string& text = dynamic_cast<const Text&>(program).text;
    return {bytes_of(text).begin(), bytes_of(text).end()};
  }
  device::ProgramRef load(const device::Kernel&, std::span<const std::byte> bytes) override {
    return std::make_shared<Text>(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  const ir::Limits& limits() const override { return limits_; }
  device::Compiler& compiler() override { return *this; }
  device::Buffer allocate(size_t) override { return {}; }
  void release(const device::Buffer&) override {}
  void enqueue(std::span<const device::Command>) override {}
  device::Ticket submit(bool) override { return {}; }
  bool is_done(device::Ticket) override { return true; }
  void wait(device::Ticket) override {}

  bool is_slow = false;
  int compiled = 0;
  std::vector<size_t> begun;  // lengths of what was compiled, in this order
  std::string compiler_version = "compiler 1";

 private:
  std::mutex mutex_;
  ir::Limits limits_;
};

ir::Call call_of(ir::Op op) {
  ir::Call call;
  call.op = op;
  return call;
}

TEST_F(DiskCacheTest, AKernelIsCompiledOnceOnAMachine) {
  DiskCache disk(folder_);
  TextDevice device;
  const auto text = [&](ProgramCache& cache, ir::Op op) {
    return std::dynamic_pointer_cast<const TextDevice::Text>(cache.get(device, call_of(op)))->text;
  };
  ProgramCache first(&disk), second(&disk);
  const std::string made = text(first, ir::Op::add);
  EXPECT_EQ(text(first, ir::Op::add), made);
  EXPECT_EQ(text(second, ir::Op::add), made);  // as another process would
  EXPECT_EQ(device.compiled, 1);
  EXPECT_EQ(second.loaded(), 1u);
  text(second, ir::Op::mul);
  EXPECT_EQ(device.compiled, 2);
}

TEST_F(DiskCacheTest, AnotherCompilerVersionCompilesAnew) {
  DiskCache disk(folder_);
  TextDevice device;
  ProgramCache first(&disk), second(&disk);
  first.get(device, call_of(ir::Op::add));
  device.compiler_version = "compiler 2";
  second.get(device, call_of(ir::Op::add));
  EXPECT_EQ(device.compiled, 2);
  EXPECT_EQ(second.loaded(), 0u);
}

// Begun last, the longest would keep all others waiting.
TEST_F(DiskCacheTest, WhatTakesLongestIsCompiledFirst) {
  DiskCache disk(folder_);
  TextDevice device;
  device.is_slow = true;
  std::vector<device::Kernel> kernels;
  for (size_t op = 0; op < 40; ++op) kernels.emplace_back(call_of(static_cast<ir::Op>(op)));
  ProgramCache cache(&disk);
  cache.get_all(device, kernels);
  ASSERT_EQ(device.begun.size(), 40u);
  const size_t at_once = std::min<size_t>(40, std::max(1u, std::thread::hardware_concurrency()));
  EXPECT_GE(device.begun.front(), device.saved_as(kernels[40 - at_once]).size());
  // Each thread may have been kept from what it had chosen.
  const auto late = std::count_if(device.begun.end() - 10, device.begun.end(),
                                  [&](size_t size) { return size >= device.saved_as(kernels[20]).size(); });
  EXPECT_LE(static_cast<size_t>(late), at_once);
}

TEST_F(DiskCacheTest, WithoutADiskEveryProcessCompiles) {
  TextDevice device;
  ProgramCache first(nullptr), second(nullptr);
  first.get(device, call_of(ir::Op::add));
  second.get(device, call_of(ir::Op::add));
  EXPECT_EQ(device.compiled, 2);
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace tenon::exec
